"""Value sets, tags, aliases, page types, GPUs and metrics."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "actor_kinds",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_actor_kinds")),
    )
    op.create_table(
        "api_states",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_api_states")),
    )
    op.create_table(
        "claim_field_bases",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim_field_bases")),
    )
    op.create_table(
        "claim_origins",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim_origins")),
    )
    op.create_table(
        "claim_relation_kinds",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim_relation_kinds")),
    )
    op.create_table(
        "claim_roles",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim_roles")),
    )
    op.create_table(
        "claim_statuses",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim_statuses")),
    )
    op.create_table(
        "commit_roles",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_commit_roles")),
    )
    op.create_table(
        "confidence_levels",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_confidence_levels")),
    )
    op.create_table(
        "corpus_kinds",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_corpus_kinds")),
    )
    op.create_table(
        "decisions",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_decisions")),
    )
    op.create_table(
        "facets",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facets")),
    )
    op.create_table(
        "landed_states",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_landed_states")),
    )
    op.create_table(
        "landing_styles",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_landing_styles")),
    )
    op.create_table(
        "link_kinds",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_link_kinds")),
    )
    op.create_table(
        "metrics",
        sa.Column("name", text, nullable=False),
        sa.Column("unit", text, nullable=False),
        sa.Column("direction", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.CheckConstraint(
            "direction IN ('higher_better', 'lower_better')",
            name=op.f("ck_metrics_direction_known"),
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_metrics")),
    )
    op.create_table(
        "reproducibility_levels",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_reproducibility_levels")),
    )
    op.create_table(
        "source_categories",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_source_categories")),
    )
    op.create_table(
        "tag_bases",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tag_bases")),
    )
    op.create_table(
        "tag_origins",
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tag_origins")),
    )
    op.create_table(
        "page_types",
        sa.Column("name", text, nullable=False),
        sa.Column("layer", text, nullable=False),
        sa.Column("id_prefix", text, nullable=False),
        sa.Column("min_reproducibility", text, nullable=True),
        sa.Column("description", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["min_reproducibility"],
            ["reproducibility_levels.name"],
            name=op.f("fk_page_types_min_reproducibility_reproducibility_levels"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_page_types")),
    )
    op.create_table(
        "tags",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("facet", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("description", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["facet"], ["facets.name"], name=op.f("fk_tags_facet_facets"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tags")),
        sa.UniqueConstraint("facet", "name", name=op.f("uq_tags_facet_name")),
    )
    op.create_index(op.f("ix_tags_name"), "tags", ["name"], unique=False)
    op.create_table(
        "aliases",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("alias", text, nullable=False),
        sa.Column("display", text, nullable=False),
        sa.Column("tag_id", sa.Integer(), nullable=False),
        sa.Column("basis", text, nullable=False),
        sa.Column("source", text, nullable=False),
        sa.Column("note", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["basis"],
            ["tag_bases.name"],
            name=op.f("fk_aliases_basis_tag_bases"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["tag_id"], ["tags.id"], name=op.f("fk_aliases_tag_id_tags"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_aliases")),
        sa.UniqueConstraint("alias", "tag_id", name=op.f("uq_aliases_alias_tag_id")),
    )
    op.create_index(op.f("ix_aliases_tag_id"), "aliases", ["tag_id"], unique=False)
    op.create_table(
        "gpus",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("vendor", text, nullable=False),
        sa.Column("architecture_tag_id", sa.Integer(), nullable=False),
        sa.Column("compute_capability", text, nullable=True),
        sa.Column("sm_count", sa.Integer(), nullable=True),
        sa.Column("l2_mib", sa.Float(), nullable=True),
        sa.Column("memory_gib", sa.Float(), nullable=True),
        sa.Column("bandwidth_gb_s", sa.Float(), nullable=True),
        sa.Column("peak_fp16_tflops", sa.Float(), nullable=True),
        sa.Column("peak_fp8_tflops", sa.Float(), nullable=True),
        sa.Column("peak_fp4_tflops", sa.Float(), nullable=True),
        sa.Column("note", text, nullable=True),
        sa.Column("source", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["architecture_tag_id"],
            ["tags.id"],
            name=op.f("fk_gpus_architecture_tag_id_tags"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gpus")),
        sa.UniqueConstraint("name", name=op.f("uq_gpus_name")),
    )
    op.create_table(
        "gpu_aliases",
        sa.Column("alias", text, nullable=False),
        sa.Column("gpu_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["gpu_id"], ["gpus.id"], name=op.f("fk_gpu_aliases_gpu_id_gpus"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("alias", name=op.f("pk_gpu_aliases")),
    )


def downgrade() -> None:
    op.drop_table("gpu_aliases")
    op.drop_table("gpus")
    op.drop_table("aliases")
    op.drop_table("tags")
    op.drop_table("page_types")
    op.drop_table("tag_origins")
    op.drop_table("tag_bases")
    op.drop_table("source_categories")
    op.drop_table("reproducibility_levels")
    op.drop_table("metrics")
    op.drop_table("link_kinds")
    op.drop_table("landing_styles")
    op.drop_table("landed_states")
    op.drop_table("facets")
    op.drop_table("decisions")
    op.drop_table("corpus_kinds")
    op.drop_table("confidence_levels")
    op.drop_table("commit_roles")
    op.drop_table("claim_statuses")
    op.drop_table("claim_roles")
    op.drop_table("claim_relation_kinds")
    op.drop_table("claim_origins")
    op.drop_table("claim_field_bases")
    op.drop_table("api_states")
    op.drop_table("actor_kinds")
