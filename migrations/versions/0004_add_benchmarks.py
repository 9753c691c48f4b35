"""Measurements and the machines they were made on."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "kernel_artifacts",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cubin_sha256", text, nullable=True),
        sa.Column("source_sha256", text, nullable=False),
        sa.Column("kernel", text, nullable=False),
        sa.Column("arch", text, nullable=False),
        sa.Column("options", text, nullable=False),
        sa.Column("registers", sa.Integer(), nullable=True),
        sa.Column("spill_bytes", sa.Integer(), nullable=True),
        sa.Column("shared_memory_bytes", sa.Integer(), nullable=True),
        sa.Column("log", text, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kernel_artifacts")),
        sa.UniqueConstraint(
            "source_sha256",
            "arch",
            "options",
            "cubin_sha256",
            name=op.f("uq_kernel_artifacts_source_sha256_arch_options_cubin_sha256"),
        ),
    )
    op.create_table(
        "environments",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fingerprint", text, nullable=False),
        sa.Column("gpu_id", sa.Integer(), nullable=True),
        sa.Column("gpu_name", text, nullable=True),
        sa.Column("compute_capability", text, nullable=True),
        sa.Column("sm_count", sa.Integer(), nullable=True),
        sa.Column("l2_bytes", sa.BigInteger(), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("driver_version", text, nullable=True),
        sa.Column("cuda_driver_version", text, nullable=True),
        sa.Column("nvrtc_version", text, nullable=True),
        sa.Column("context", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("info", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["gpu_id"], ["gpus.id"], name=op.f("fk_environments_gpu_id_gpus"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environments")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_environments_fingerprint")),
    )
    op.create_table(
        "bench_runs",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_key", text, nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=True),
        sa.Column("started_at", utc_time, nullable=False),
        sa.Column("finished_at", utc_time, nullable=True),
        sa.Column("arguments", text, nullable=False),
        sa.Column("status", text, nullable=False),
        sa.Column("kwdb_version", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environments.id"],
            name=op.f("fk_bench_runs_environment_id_environments"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bench_runs")),
        sa.UniqueConstraint("run_key", name=op.f("uq_bench_runs_run_key")),
    )
    op.create_index(
        op.f("ix_bench_runs_environment_id"), "bench_runs", ["environment_id"], unique=False
    )
    op.create_table(
        "bench_cases",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bench_run_id", sa.Integer(), nullable=False),
        sa.Column("kernel_artifact_id", sa.Integer(), nullable=True),
        sa.Column("problem", text, nullable=False),
        sa.Column("kernel", text, nullable=False),
        sa.Column("shape", text, nullable=False),
        sa.Column("input_recipe", text, nullable=False),
        sa.Column("status", text, nullable=True),
        sa.Column("message", text, nullable=True),
        sa.Column("sol_us", sa.Float(), nullable=True),
        sa.Column("sol_basis", text, nullable=True),
        sa.Column("roof_gb_s", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["bench_run_id"],
            ["bench_runs.id"],
            name=op.f("fk_bench_cases_bench_run_id_bench_runs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["kernel_artifact_id"],
            ["kernel_artifacts.id"],
            name=op.f("fk_bench_cases_kernel_artifact_id_kernel_artifacts"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bench_cases")),
        sa.UniqueConstraint(
            "bench_run_id",
            "problem",
            "kernel",
            "shape",
            "input_recipe",
            name=op.f("uq_bench_cases_bench_run_id_problem_kernel_shape_input_recipe"),
        ),
    )
    op.create_index(
        op.f("ix_bench_cases_kernel_artifact_id"),
        "bench_cases",
        ["kernel_artifact_id"],
        unique=False,
    )
    op.create_table(
        "bench_samples",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bench_case_id", sa.Integer(), nullable=False),
        sa.Column("method", text, nullable=False),
        sa.Column("cache_state", text, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("n_discarded", sa.Integer(), nullable=False),
        sa.Column("min_us", sa.Float(), nullable=True),
        sa.Column("p05_us", sa.Float(), nullable=True),
        sa.Column("q1_us", sa.Float(), nullable=True),
        sa.Column("median_us", sa.Float(), nullable=True),
        sa.Column("q3_us", sa.Float(), nullable=True),
        sa.Column("p95_us", sa.Float(), nullable=True),
        sa.Column("mean_us", sa.Float(), nullable=True),
        sa.Column("std_us", sa.Float(), nullable=True),
        sa.Column("ci_low_us", sa.Float(), nullable=True),
        sa.Column("ci_high_us", sa.Float(), nullable=True),
        sa.Column("samples", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["bench_case_id"],
            ["bench_cases.id"],
            name=op.f("fk_bench_samples_bench_case_id_bench_cases"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bench_samples")),
        sa.UniqueConstraint(
            "bench_case_id",
            "method",
            "cache_state",
            name=op.f("uq_bench_samples_bench_case_id_method_cache_state"),
        ),
    )
    op.create_table(
        "correctness_checks",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bench_case_id", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("is_passed", sa.Boolean(), nullable=False),
        sa.Column("max_abs", sa.Float(), nullable=True),
        sa.Column("max_rel", sa.Float(), nullable=True),
        sa.Column("matched_ratio", sa.Float(), nullable=True),
        sa.Column("rtol", sa.Float(), nullable=True),
        sa.Column("atol", sa.Float(), nullable=True),
        sa.Column("message", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["bench_case_id"],
            ["bench_cases.id"],
            name=op.f("fk_correctness_checks_bench_case_id_bench_cases"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_correctness_checks")),
        sa.UniqueConstraint(
            "bench_case_id", "seed", name=op.f("uq_correctness_checks_bench_case_id_seed")
        ),
    )


def downgrade() -> None:
    op.drop_table("correctness_checks")
    op.drop_table("bench_samples")
    op.drop_table("bench_cases")
    op.drop_table("bench_runs")
    op.drop_table("environments")
    op.drop_table("kernel_artifacts")
