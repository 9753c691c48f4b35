"""Room for what an imported corpus holds beside its pages.

Ledgers, vocabulary files and everything else are kept as they are, so that a corpus can be
written back; the skip audit and the further fields of ledger rows become queryable; repositories
that only an import names are not harvested by `ingest all`.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("page_versions", sa.Column("fences", text, nullable=True))
    op.add_column("ledger_entries", sa.Column("details", sa.JSON(none_as_null=True), nullable=True))
    op.add_column(
        "repositories",
        sa.Column("is_followed", sa.Boolean(), server_default=sa.true(), nullable=False),
    )
    op.create_table(
        "corpus_files",
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("path", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("reason", text, nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("sha256", text, nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_corpus_files_corpus_id_corpora"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("corpus_id", "path", name=op.f("pk_corpus_files")),
    )
    op.create_table(
        "ledger_skips",
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("stage", text, nullable=False),
        sa.Column("reason", text, nullable=False),
        sa.Column("recorded_on", sa.Date(), nullable=True),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_ledger_skips_corpus_id_corpora"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_ledger_skips_repository_id_repositories"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint(
            "corpus_id", "repository_id", "number", name=op.f("pk_ledger_skips")
        ),
    )
    op.create_table(
        "page_aliases",
        sa.Column("page_id", text, nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("alias", text, nullable=False),
        sa.Column("display", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_page_aliases_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"],
            ["pages.id"],
            name=op.f("fk_page_aliases_page_id_pages"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("page_id", "corpus_id", "display", name=op.f("pk_page_aliases")),
    )
    op.create_index(op.f("ix_page_aliases_alias"), "page_aliases", ["alias"], unique=False)


def downgrade() -> None:
    for table in ("page_aliases", "ledger_skips", "corpus_files"):
        op.drop_table(table)
    op.drop_column("repositories", "is_followed")
    op.drop_column("ledger_entries", "details")
    op.drop_column("page_versions", "fences")
