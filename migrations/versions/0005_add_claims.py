"""Performance claims and how they stand to each other."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "performance_claims",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("claim_key", text, nullable=False),
        sa.Column("page_id", text, nullable=True),
        sa.Column("pull_request_id", sa.Integer(), nullable=True),
        sa.Column("source_page_id", text, nullable=True),
        sa.Column("origin", text, nullable=False),
        sa.Column("status", text, nullable=False),
        sa.Column("status_reason", text, nullable=True),
        sa.Column("status_by", text, nullable=True),
        sa.Column("gpu_id", sa.Integer(), nullable=True),
        sa.Column("architecture_tag_id", sa.Integer(), nullable=True),
        sa.Column("gpu_count", sa.Integer(), nullable=True),
        sa.Column("dtype", text, nullable=True),
        sa.Column("op", text, nullable=True),
        sa.Column("variant", text, nullable=True),
        sa.Column("shape", text, nullable=True),
        sa.Column("metric", text, nullable=False),
        sa.Column("unit_as_written", text, nullable=True),
        sa.Column("value_text", text, nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("value_max", sa.Float(), nullable=True),
        sa.Column("value_normalized", sa.Float(), nullable=True),
        sa.Column("qualifier", text, nullable=True),
        sa.Column("statistic", text, nullable=True),
        sa.Column("direction", text, nullable=True),
        sa.Column("role", text, nullable=True),
        sa.Column("baseline_value", sa.Float(), nullable=True),
        sa.Column("baseline_label", text, nullable=True),
        sa.Column("ratio_of", text, nullable=True),
        sa.Column("utilization", text, nullable=True),
        sa.Column("cache_state", text, nullable=True),
        sa.Column("timing_scope", text, nullable=True),
        sa.Column("comparable_key", text, nullable=True),
        sa.Column("confidence", text, nullable=True),
        sa.Column("reproducibility", text, nullable=True),
        sa.Column("evidence", text, nullable=True),
        sa.Column("evidence_line", sa.Integer(), nullable=True),
        sa.Column("extractor", text, nullable=True),
        sa.Column("bench_case_id", sa.Integer(), nullable=True),
        sa.Column("claimed_on", sa.Date(), nullable=True),
        sa.Column("retired_at", utc_time, nullable=True),
        sa.CheckConstraint(
            "direction IN ('higher_better', 'lower_better')",
            name=op.f("ck_performance_claims_direction_known"),
        ),
        sa.CheckConstraint(
            "origin <> 'extracted' OR (pull_request_id IS NOT NULL AND extractor IS NOT NULL AND evidence IS NOT NULL)",
            name=op.f("ck_performance_claims_extracted_has_evidence"),
        ),
        sa.CheckConstraint(
            "origin <> 'measured' OR bench_case_id IS NOT NULL",
            name=op.f("ck_performance_claims_measured_has_case"),
        ),
        sa.CheckConstraint(
            "origin <> 'reported' OR page_id IS NOT NULL OR source_page_id IS NOT NULL",
            name=op.f("ck_performance_claims_reported_has_source"),
        ),
        sa.ForeignKeyConstraint(
            ["architecture_tag_id"],
            ["tags.id"],
            name=op.f("fk_performance_claims_architecture_tag_id_tags"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["bench_case_id"],
            ["bench_cases.id"],
            name=op.f("fk_performance_claims_bench_case_id_bench_cases"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["confidence"],
            ["confidence_levels.name"],
            name=op.f("fk_performance_claims_confidence_confidence_levels"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["gpu_id"],
            ["gpus.id"],
            name=op.f("fk_performance_claims_gpu_id_gpus"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["metric"],
            ["metrics.name"],
            name=op.f("fk_performance_claims_metric_metrics"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["origin"],
            ["claim_origins.name"],
            name=op.f("fk_performance_claims_origin_claim_origins"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"],
            ["pages.id"],
            name=op.f("fk_performance_claims_page_id_pages"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["pull_request_id"],
            ["pull_requests.id"],
            name=op.f("fk_performance_claims_pull_request_id_pull_requests"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["reproducibility"],
            ["reproducibility_levels.name"],
            name=op.f("fk_performance_claims_reproducibility_reproducibility_levels"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["role"],
            ["claim_roles.name"],
            name=op.f("fk_performance_claims_role_claim_roles"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["status"],
            ["claim_statuses.name"],
            name=op.f("fk_performance_claims_status_claim_statuses"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_performance_claims")),
        sa.UniqueConstraint("claim_key", name=op.f("uq_performance_claims_claim_key")),
    )
    op.create_index(
        op.f("ix_performance_claims_comparable_key"),
        "performance_claims",
        ["comparable_key"],
        unique=False,
    )
    op.create_index(
        op.f("ix_performance_claims_gpu_id_metric"),
        "performance_claims",
        ["gpu_id", "metric"],
        unique=False,
    )
    op.create_index(
        op.f("ix_performance_claims_page_id"), "performance_claims", ["page_id"], unique=False
    )
    op.create_index(
        op.f("ix_performance_claims_pull_request_id"),
        "performance_claims",
        ["pull_request_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_performance_claims_source_page_id"),
        "performance_claims",
        ["source_page_id"],
        unique=False,
    )
    op.create_table(
        "claim_dimensions",
        sa.Column("claim_id", sa.Integer(), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("value_number", sa.Float(), nullable=True),
        sa.Column("value_text", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["claim_id"],
            ["performance_claims.id"],
            name=op.f("fk_claim_dimensions_claim_id_performance_claims"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("claim_id", "name", name=op.f("pk_claim_dimensions")),
    )
    op.create_table(
        "claim_fields",
        sa.Column("claim_id", sa.Integer(), nullable=False),
        sa.Column("field", text, nullable=False),
        sa.Column("basis", text, nullable=False),
        sa.Column("place", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["basis"],
            ["claim_field_bases.name"],
            name=op.f("fk_claim_fields_basis_claim_field_bases"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["claim_id"],
            ["performance_claims.id"],
            name=op.f("fk_claim_fields_claim_id_performance_claims"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("claim_id", "field", name=op.f("pk_claim_fields")),
    )
    op.create_table(
        "claim_relations",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("claim_id", sa.Integer(), nullable=False),
        sa.Column("other_claim_id", sa.Integer(), nullable=False),
        sa.Column("relation", text, nullable=False),
        sa.Column("ratio", sa.Float(), nullable=True),
        sa.Column("differing_fields", text, nullable=True),
        sa.Column("evidence", text, nullable=True),
        sa.Column("decided_by", text, nullable=False),
        sa.Column("decided_at", utc_time, nullable=True),
        sa.CheckConstraint(
            "claim_id <> other_claim_id", name=op.f("ck_claim_relations_not_itself")
        ),
        sa.ForeignKeyConstraint(
            ["claim_id"],
            ["performance_claims.id"],
            name=op.f("fk_claim_relations_claim_id_performance_claims"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["other_claim_id"],
            ["performance_claims.id"],
            name=op.f("fk_claim_relations_other_claim_id_performance_claims"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["relation"],
            ["claim_relation_kinds.name"],
            name=op.f("fk_claim_relations_relation_claim_relation_kinds"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_claim_relations")),
        sa.UniqueConstraint(
            "claim_id",
            "other_claim_id",
            "relation",
            name=op.f("uq_claim_relations_claim_id_other_claim_id_relation"),
        ),
    )
    op.create_index(
        op.f("ix_claim_relations_other_claim_id"),
        "claim_relations",
        ["other_claim_id"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_table("claim_relations")
    op.drop_table("claim_fields")
    op.drop_table("claim_dimensions")
    op.drop_table("performance_claims")
