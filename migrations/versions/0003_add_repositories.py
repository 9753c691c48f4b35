"""Repositories, commits, pull requests and the links between them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "paths",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path_sha256", text, nullable=False),
        sa.Column("path", text, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_paths")),
        sa.UniqueConstraint("path_sha256", name=op.f("uq_paths_path_sha256")),
    )
    op.create_table(
        "actors",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("github_id", sa.BigInteger(), nullable=True),
        sa.Column("login", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["kind"],
            ["actor_kinds.name"],
            name=op.f("fk_actors_kind_actor_kinds"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_actors")),
        sa.UniqueConstraint("login", name=op.f("uq_actors_login")),
    )
    op.create_table(
        "repositories",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slug", text, nullable=False),
        sa.Column("full_name", text, nullable=False),
        sa.Column("github_id", sa.BigInteger(), nullable=True),
        sa.Column("default_branch", text, nullable=True),
        sa.Column("landing", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["landing"],
            ["landing_styles.name"],
            name=op.f("fk_repositories_landing_landing_styles"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repositories")),
        sa.UniqueConstraint("full_name", name=op.f("uq_repositories_full_name")),
        sa.UniqueConstraint("slug", name=op.f("uq_repositories_slug")),
    )
    op.create_table(
        "commits",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("sha", text, nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("committer", text, nullable=False),
        sa.Column("authored_at", utc_time, nullable=False),
        sa.Column("committed_at", utc_time, nullable=False),
        sa.Column("subject", text, nullable=False),
        sa.Column("message", text, nullable=False),
        sa.Column("is_reachable", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["author_id"],
            ["actors.id"],
            name=op.f("fk_commits_author_id_actors"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_commits_repository_id_repositories"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commits")),
        sa.UniqueConstraint("repository_id", "sha", name=op.f("uq_commits_repository_id_sha")),
    )
    op.create_index(op.f("ix_commits_author_id"), "commits", ["author_id"], unique=False)
    op.create_index(op.f("ix_commits_committed_at"), "commits", ["committed_at"], unique=False)
    op.create_table(
        "ledger_entries",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("decision", text, nullable=False),
        sa.Column("reason", text, nullable=False),
        sa.Column("decided_on", sa.Date(), nullable=True),
        sa.Column("decided_by", text, nullable=True),
        sa.Column("ruleset", text, nullable=True),
        sa.Column("corpus_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.id"],
            name=op.f("fk_ledger_entries_corpus_id_corpora"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["decision"],
            ["decisions.name"],
            name=op.f("fk_ledger_entries_decision_decisions"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_ledger_entries_repository_id_repositories"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_entries")),
    )
    op.create_index(
        op.f("ix_ledger_entries_repository_id_number"),
        "ledger_entries",
        ["repository_id", "number"],
        unique=False,
    )
    op.create_table(
        "repository_aliases",
        sa.Column("full_name", text, nullable=False),
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_repository_aliases_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("full_name", name=op.f("pk_repository_aliases")),
    )
    op.create_table(
        "commit_paths",
        sa.Column("commit_id", sa.Integer(), nullable=False),
        sa.Column("path_id", sa.Integer(), nullable=False),
        sa.Column("status", text, nullable=False),
        sa.CheckConstraint(
            "status IN ('A', 'M', 'D', 'T', 'U', 'X')", name=op.f("ck_commit_paths_status_known")
        ),
        sa.ForeignKeyConstraint(
            ["commit_id"],
            ["commits.id"],
            name=op.f("fk_commit_paths_commit_id_commits"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["path_id"],
            ["paths.id"],
            name=op.f("fk_commit_paths_path_id_paths"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("commit_id", "path_id", name=op.f("pk_commit_paths")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_commit_paths_path_id"), "commit_paths", ["path_id"], unique=False)
    op.create_table(
        "pull_requests",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("repository_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", text, nullable=True),
        sa.Column("body", text, nullable=True),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("api_state", text, nullable=True),
        sa.Column("landed_state", text, nullable=True),
        sa.Column("is_draft", sa.Boolean(), nullable=True),
        sa.Column("base_ref", text, nullable=True),
        sa.Column("head_sha", text, nullable=True),
        sa.Column("merge_sha", text, nullable=True),
        sa.Column("created_at", utc_time, nullable=True),
        sa.Column("updated_at", utc_time, nullable=True),
        sa.Column("closed_at", utc_time, nullable=True),
        sa.Column("merged_at", utc_time, nullable=True),
        sa.Column("landed_at", utc_time, nullable=True),
        sa.Column("decision", text, nullable=True),
        sa.Column("decision_reason", text, nullable=True),
        sa.Column("decision_evidence", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("decided_by", text, nullable=True),
        sa.Column("ruleset", text, nullable=True),
        sa.Column("extractor", text, nullable=True),
        sa.Column("page_id", text, nullable=True),
        sa.Column("fetched_at", utc_time, nullable=True),
        sa.ForeignKeyConstraint(
            ["api_state"],
            ["api_states.name"],
            name=op.f("fk_pull_requests_api_state_api_states"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["author_id"],
            ["actors.id"],
            name=op.f("fk_pull_requests_author_id_actors"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["decision"],
            ["decisions.name"],
            name=op.f("fk_pull_requests_decision_decisions"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["landed_state"],
            ["landed_states.name"],
            name=op.f("fk_pull_requests_landed_state_landed_states"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["page_id"],
            ["pages.id"],
            name=op.f("fk_pull_requests_page_id_pages"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_pull_requests_repository_id_repositories"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pull_requests")),
        sa.UniqueConstraint(
            "repository_id", "number", name=op.f("uq_pull_requests_repository_id_number")
        ),
    )
    op.create_index(
        op.f("ix_pull_requests_author_id"), "pull_requests", ["author_id"], unique=False
    )
    op.create_index(
        op.f("ix_pull_requests_landed_at"), "pull_requests", ["landed_at"], unique=False
    )
    op.create_index(op.f("ix_pull_requests_page_id"), "pull_requests", ["page_id"], unique=False)
    op.create_table(
        "pull_request_commits",
        sa.Column("pull_request_id", sa.Integer(), nullable=False),
        sa.Column("commit_id", sa.Integer(), nullable=False),
        sa.Column("role", text, nullable=False),
        sa.Column("rule", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["commit_id"],
            ["commits.id"],
            name=op.f("fk_pull_request_commits_commit_id_commits"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["pull_request_id"],
            ["pull_requests.id"],
            name=op.f("fk_pull_request_commits_pull_request_id_pull_requests"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["role"],
            ["commit_roles.name"],
            name=op.f("fk_pull_request_commits_role_commit_roles"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint(
            "pull_request_id", "commit_id", "role", name=op.f("pk_pull_request_commits")
        ),
    )
    op.create_index(
        op.f("ix_pull_request_commits_commit_id"),
        "pull_request_commits",
        ["commit_id"],
        unique=False,
    )
    op.create_table(
        "pull_request_labels",
        sa.Column("pull_request_id", sa.Integer(), nullable=False),
        sa.Column("label", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["pull_request_id"],
            ["pull_requests.id"],
            name=op.f("fk_pull_request_labels_pull_request_id_pull_requests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("pull_request_id", "label", name=op.f("pk_pull_request_labels")),
    )
    op.create_index(
        op.f("ix_pull_request_labels_label"), "pull_request_labels", ["label"], unique=False
    )
    op.create_table(
        "pull_request_tags",
        sa.Column("pull_request_id", sa.Integer(), nullable=False),
        sa.Column("tag_id", sa.Integer(), nullable=False),
        sa.Column("basis", text, nullable=False),
        sa.Column("rule", text, nullable=False),
        sa.Column("evidence", text, nullable=True),
        sa.Column("locator", text, nullable=True),
        sa.Column("implied_by", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "(basis = 'implied') = (implied_by IS NOT NULL) AND (implied_by IS NOT NULL OR (evidence IS NOT NULL AND locator IS NOT NULL))",
            name=op.f("ck_pull_request_tags_has_evidence"),
        ),
        sa.ForeignKeyConstraint(
            ["basis"],
            ["tag_bases.name"],
            name=op.f("fk_pull_request_tags_basis_tag_bases"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["implied_by"],
            ["tags.id"],
            name=op.f("fk_pull_request_tags_implied_by_tags"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["pull_request_id"],
            ["pull_requests.id"],
            name=op.f("fk_pull_request_tags_pull_request_id_pull_requests"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tag_id"],
            ["tags.id"],
            name=op.f("fk_pull_request_tags_tag_id_tags"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("pull_request_id", "tag_id", name=op.f("pk_pull_request_tags")),
    )
    op.create_index(
        op.f("ix_pull_request_tags_tag_id_pull_request_id"),
        "pull_request_tags",
        ["tag_id", "pull_request_id"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_table("pull_request_tags")
    op.drop_table("pull_request_labels")
    op.drop_table("pull_request_commits")
    op.drop_table("pull_requests")
    op.drop_table("commit_paths")
    op.drop_table("repository_aliases")
    op.drop_table("ledger_entries")
    op.drop_table("commits")
    op.drop_table("repositories")
    op.drop_table("actors")
    op.drop_table("paths")
