"""Pages with their versions, tags and links, by corpus."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "corpora",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("location", text, nullable=True),
        sa.Column("revision", text, nullable=True),
        sa.Column("imported_at", utc_time, nullable=True),
        sa.ForeignKeyConstraint(
            ["kind"],
            ["corpus_kinds.name"],
            name=op.f("fk_corpora_kind_corpus_kinds"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_corpora")),
        sa.UniqueConstraint("name", name=op.f("uq_corpora_name")),
    )
    op.create_table(
        "pages",
        sa.Column("pk", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("type", text, nullable=False),
        sa.Column("title", text, nullable=False),
        sa.Column("url", text, nullable=True),
        sa.Column("vendor", text, nullable=True),
        sa.Column("confidence", text, nullable=True),
        sa.Column("reproducibility", text, nullable=True),
        sa.Column("source_category", text, nullable=True),
        sa.Column("published_on", sa.Date(), nullable=True),
        sa.Column("captured_at", utc_time, nullable=True),
        sa.Column("summary", text, nullable=True),
        sa.Column("served_from", sa.Integer(), nullable=True),
        sa.Column("is_retired", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["confidence"],
            ["confidence_levels.name"],
            name=op.f("fk_pages_confidence_confidence_levels"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["reproducibility"],
            ["reproducibility_levels.name"],
            name=op.f("fk_pages_reproducibility_reproducibility_levels"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["served_from"],
            ["corpora.id"],
            name=op.f("fk_pages_served_from_corpora"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["source_category"],
            ["source_categories.name"],
            name=op.f("fk_pages_source_category_source_categories"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["type"],
            ["page_types.name"],
            name=op.f("fk_pages_type_page_types"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_pages")),
        sa.UniqueConstraint("id", name=op.f("uq_pages_id")),
    )
    op.create_index(op.f("ix_pages_type"), "pages", ["type"], unique=False)
    op.create_table(
        "page_links",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page_id", text, nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("target", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_page_links_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["kind"],
            ["link_kinds.name"],
            name=op.f("fk_page_links_kind_link_kinds"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"], ["pages.id"], name=op.f("fk_page_links_page_id_pages"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_links")),
        sa.UniqueConstraint(
            "page_id",
            "corpus_id",
            "kind",
            "position",
            name=op.f("uq_page_links_page_id_corpus_id_kind_position"),
        ),
    )
    op.create_index(op.f("ix_page_links_target"), "page_links", ["target"], unique=False)
    op.create_table(
        "page_tags",
        sa.Column("page_id", text, nullable=False),
        sa.Column("tag_id", sa.Integer(), nullable=False),
        sa.Column("origin", text, nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("basis", text, nullable=True),
        sa.Column("rule", text, nullable=True),
        sa.Column("evidence", text, nullable=True),
        sa.Column("locator", text, nullable=True),
        sa.CheckConstraint(
            "origin <> 'rule' OR (rule IS NOT NULL AND evidence IS NOT NULL AND locator IS NOT NULL)",
            name=op.f("ck_page_tags_rule_has_evidence"),
        ),
        sa.ForeignKeyConstraint(
            ["basis"],
            ["tag_bases.name"],
            name=op.f("fk_page_tags_basis_tag_bases"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_page_tags_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["origin"],
            ["tag_origins.name"],
            name=op.f("fk_page_tags_origin_tag_origins"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"], ["pages.id"], name=op.f("fk_page_tags_page_id_pages"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["tag_id"], ["tags.id"], name=op.f("fk_page_tags_tag_id_tags"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint(
            "page_id", "tag_id", "origin", "corpus_id", name=op.f("pk_page_tags")
        ),
    )
    op.create_index(
        op.f("ix_page_tags_tag_id_page_id"), "page_tags", ["tag_id", "page_id"], unique=False
    )
    op.create_table(
        "page_versions",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page_id", text, nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("path", text, nullable=False),
        sa.Column("front_matter_text", text, nullable=True),
        sa.Column("front_matter", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("body_sha256", text, nullable=False),
        sa.Column("captured_at", utc_time, nullable=False),
        sa.Column("retired_at", utc_time, nullable=True),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_page_versions_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"],
            ["pages.id"],
            name=op.f("fk_page_versions_page_id_pages"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_versions")),
        sa.UniqueConstraint(
            "corpus_id", "page_id", name=op.f("uq_page_versions_corpus_id_page_id")
        ),
        sa.UniqueConstraint("corpus_id", "path", name=op.f("uq_page_versions_corpus_id_path")),
    )
    op.create_index(op.f("ix_page_versions_page_id"), "page_versions", ["page_id"], unique=False)


def downgrade() -> None:
    op.drop_table("page_versions")
    op.drop_table("page_tags")
    op.drop_table("page_links")
    op.drop_table("pages")
    op.drop_table("corpora")
