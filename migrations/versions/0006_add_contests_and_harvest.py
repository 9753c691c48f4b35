"""Contests, tool versions, bundles, and the bookkeeping of the harvest."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "contests",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("page_id", text, nullable=True),
        sa.Column("organizer", text, nullable=True),
        sa.Column("starts_on", sa.Date(), nullable=True),
        sa.Column("ends_on", sa.Date(), nullable=True),
        sa.Column("details", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source", text, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contests")),
        sa.UniqueConstraint("key", name=op.f("uq_contests_key")),
    )
    op.create_table(
        "contest_problems",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("contest_id", sa.Integer(), nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("page_id", text, nullable=True),
        sa.Column("op", text, nullable=True),
        sa.Column("shapes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("details", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["contest_id"],
            ["contests.id"],
            name=op.f("fk_contest_problems_contest_id_contests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contest_problems")),
        sa.UniqueConstraint("key", name=op.f("uq_contest_problems_key")),
    )
    op.create_index(
        op.f("ix_contest_problems_contest_id"), "contest_problems", ["contest_id"], unique=False
    )
    op.create_table(
        "bundles",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("page_id", text, nullable=True),
        sa.Column("path", text, nullable=False),
        sa.Column("asset_mode", text, nullable=True),
        sa.Column("license", text, nullable=True),
        sa.Column("upstream", text, nullable=True),
        sa.Column("provenance", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("retired_at", utc_time, nullable=True),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_bundles_corpus_id_corpora"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bundles")),
        sa.UniqueConstraint("corpus_id", "path", name=op.f("uq_bundles_corpus_id_path")),
    )
    op.create_table(
        "contest_submissions",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("contest_problem_id", sa.Integer(), nullable=True),
        sa.Column("page_id", text, nullable=True),
        sa.Column("rank", text, nullable=True),
        sa.Column("participant", text, nullable=True),
        sa.Column("score_text", text, nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("unit", text, nullable=True),
        sa.Column("truth", text, nullable=True),
        sa.Column("is_invalidated", sa.Boolean(), nullable=False),
        sa.Column("reason", text, nullable=True),
        sa.Column("details", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("source", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["contest_problem_id"],
            ["contest_problems.id"],
            name=op.f("fk_contest_submissions_contest_problem_id_contest_problems"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contest_submissions")),
        sa.UniqueConstraint("key", name=op.f("uq_contest_submissions_key")),
    )
    op.create_index(
        op.f("ix_contest_submissions_contest_problem_id"),
        "contest_submissions",
        ["contest_problem_id"],
        unique=False,
    )
    op.create_table(
        "harvest_cursors",
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("stage", text, nullable=False),
        sa.Column("token_id", text, nullable=False),
        sa.Column("cursor", text, nullable=True),
        sa.Column("etag", text, nullable=True),
        sa.Column("version", text, nullable=True),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_harvest_cursors_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "repository_id", "stage", "token_id", name=op.f("pk_harvest_cursors")
        ),
    )
    op.create_table(
        "harvest_gaps",
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("stage", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("reason", text, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("first_seen_at", utc_time, nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_harvest_gaps_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("repository_id", "stage", "key", name=op.f("pk_harvest_gaps")),
    )
    op.create_table(
        "harvest_runs",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("command", text, nullable=False),
        sa.Column("started_at", utc_time, nullable=False),
        sa.Column("finished_at", utc_time, nullable=True),
        sa.Column("status", text, nullable=False),
        sa.Column("message", text, nullable=True),
        sa.Column("summary", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_harvest_runs_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_harvest_runs")),
    )
    op.create_index(
        op.f("ix_harvest_runs_repository_id_started_at"),
        "harvest_runs",
        ["repository_id", "started_at"],
        unique=False,
    )
    op.create_table(
        "tool_releases",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tool", text, nullable=False),
        sa.Column("version", text, nullable=False),
        sa.Column("channel", text, nullable=False),
        sa.Column("sha", text, nullable=True),
        sa.Column("released_on", sa.Date(), nullable=True),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("source", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_tool_releases_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_releases")),
        sa.UniqueConstraint(
            "corpus_id",
            "tool",
            "version",
            "channel",
            name=op.f("uq_tool_releases_corpus_id_tool_version_channel"),
        ),
    )
    op.create_table(
        "version_claims",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("tool", text, nullable=True),
        sa.Column("version", text, nullable=True),
        sa.Column("statement", text, nullable=False),
        sa.Column("superseded", text, nullable=True),
        sa.Column("applies_to", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("details", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("source", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_version_claims_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_version_claims")),
        sa.UniqueConstraint("corpus_id", "key", name=op.f("uq_version_claims_corpus_id_key")),
    )
    op.create_table(
        "bundle_files",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bundle_id", sa.Integer(), nullable=False),
        sa.Column("path", text, nullable=False),
        sa.Column("role", text, nullable=True),
        sa.Column("declared_sha256", text, nullable=True),
        sa.Column("sha256", text, nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["bundle_id"],
            ["bundles.id"],
            name=op.f("fk_bundle_files_bundle_id_bundles"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bundle_files")),
        sa.UniqueConstraint("bundle_id", "path", name=op.f("uq_bundle_files_bundle_id_path")),
    )
    op.create_table(
        "contest_submission_tags",
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("tag_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"],
            ["contest_submissions.id"],
            name=op.f("fk_contest_submission_tags_submission_id_contest_submissions"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tag_id"],
            ["tags.id"],
            name=op.f("fk_contest_submission_tags_tag_id_tags"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("submission_id", "tag_id", name=op.f("pk_contest_submission_tags")),
    )
    op.create_index(
        op.f("ix_contest_submission_tags_tag_id"),
        "contest_submission_tags",
        ["tag_id"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_table("contest_submission_tags")
    op.drop_table("bundle_files")
    op.drop_table("version_claims")
    op.drop_table("tool_releases")
    op.drop_table("harvest_runs")
    op.drop_table("harvest_gaps")
    op.drop_table("harvest_cursors")
    op.drop_table("contest_submissions")
    op.drop_table("bundles")
    op.drop_table("contest_problems")
    op.drop_table("contests")
