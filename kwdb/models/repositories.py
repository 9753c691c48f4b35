"""Repositories, their commits and pull requests, and how these belong together."""

import sqlalchemy as sa

from kwdb.models.base import Text, UTCTime, column, primary_key, reference, table

repositories = table(
    "repositories",
    "A harvested GitHub repository.",
    primary_key(),
    column("slug", Text, "short name that commands take; owner-name when taken", required=True),
    column("full_name", Text, "owner/name as GitHub spells it", required=True),
    column("github_id", sa.BigInteger, "GitHub's numeric id, the identity through renames"),
    column("default_branch", Text, "branch whose history is read; NULL: what HEAD names"),
    reference("landing", "landing_styles.name", "how pull requests land", required=True),
    sa.Column(
        "is_followed",
        sa.Boolean,
        doc="harvested by `ingest all`; false: only named by an import",
        nullable=False,
        server_default=sa.true(),
    ),
    sa.UniqueConstraint("slug"),
    sa.UniqueConstraint("full_name"),
)

repository_aliases = table(
    "repository_aliases",
    "A former name of a repository.",
    sa.Column("full_name", Text, primary_key=True, doc="owner/name that now leads elsewhere"),
    reference(
        "repository_id", "repositories.id", "the repository", required=True, ondelete="CASCADE"
    ),
)

actors = table(
    "actors",
    "A GitHub account; learnt from users.noreply addresses and the API, never with a mail.",
    primary_key(),
    column("github_id", sa.BigInteger, "GitHub's numeric id"),
    column("login", Text, "account name", required=True),
    reference("kind", "actor_kinds.name", "user, bot or organization", required=True),
    sa.UniqueConstraint("login"),
)

pull_requests = table(
    "pull_requests",
    "A pull request: what git shows of it, completed by the API where that was asked.",
    primary_key(),
    reference("repository_id", "repositories.id", "its repository", required=True),
    column("number", sa.Integer, "its number", required=True),
    column("title", Text, "title; from git, the subject without its number"),
    column("body", Text, "description; from git, the rest of the landing message"),
    reference("author_id", "actors.id", "author; NULL where unknown or deleted"),
    reference("api_state", "api_states.name", "open or closed as the API says; NULL: not asked"),
    reference("landed_state", "landed_states.name", "what became of it; NULL: not known"),
    column("is_draft", sa.Boolean, "draft as the API says"),
    column("base_ref", Text, "branch it was made against"),
    column("head_sha", Text, "commit of refs/pull/N/head"),
    column("merge_sha", Text, "commit by which it landed"),
    column("created_at", UTCTime, "opened, as the API says"),
    column("updated_at", UTCTime, "last changed, as the API says"),
    column("closed_at", UTCTime, "closed, as the API says"),
    column("merged_at", UTCTime, "merged, GitHub's own view"),
    column("landed_at", UTCTime, "committer date of the landing commit"),
    reference("decision", "decisions.name", "include, exclude or defer; NULL: not classified"),
    column("decision_reason", Text, "why, in one sentence"),
    column(
        "decision_evidence",
        sa.JSON(none_as_null=True),
        "matched text and its place: {where, text, line?, path?}",
    ),
    column("decided_by", Text, "rule key, or person:NAME, which no rule overrides"),
    column("ruleset", Text, "version of the rules that classified it; NULL: due"),
    column("extractor", Text, "version of the extractor that read its claims; NULL: due"),
    reference("page_id", "pages.id", "its page, where it is landed and included"),
    column("fetched_at", UTCTime, "when the API last said something new of it; NULL: not asked"),
    column("landed_reason", Text, "why landed_state is what it is: commit, rule or GitHub's word"),
    column("api_merge_sha", Text, "merge commit as the API says; NULL unless merged"),
    column("closed_by_sha", Text, "commit that closed it, as GraphQL says"),
    column("review_decision", Text, "APPROVED, CHANGES_REQUESTED or REVIEW_REQUIRED, as GraphQL"),
    column("merged_by", Text, "login of who merged it; NULL: nobody, unknown or deleted"),
    column("changed_files", sa.Integer, "number of files as GraphQL says; NULL: not asked"),
    column("extras_updated_at", UTCTime, "updated_at for which GraphQL was asked; NULL: due"),
    sa.UniqueConstraint("repository_id", "number"),
    sa.Index(None, "page_id"),
    sa.Index(None, "landed_at"),
    sa.Index(None, "author_id"),
)

pull_request_tags = table(
    "pull_request_tags",
    "A tag that the classifier gave a pull request, with its evidence.",
    reference(
        "pull_request_id", "pull_requests.id", "the pull request", required=True, ondelete="CASCADE"
    ),
    reference("tag_id", "tags.id", "the term", required=True),
    reference("basis", "tag_bases.name", "kind of evidence", required=True),
    column("rule", Text, "rule of the classifier", required=True),
    column("evidence", Text, "matched text, as stored; NULL for an implied tag"),
    column("locator", Text, "its place: title, body:12, path:a/b.cu, diff:a/b.cu:7, label"),
    reference("implied_by", "tags.id", "the tag that implies this one"),
    sa.PrimaryKeyConstraint("pull_request_id", "tag_id"),
    sa.CheckConstraint(
        "(basis = 'implied') = (implied_by IS NOT NULL) AND "
        "(implied_by IS NOT NULL OR (evidence IS NOT NULL AND locator IS NOT NULL))",
        name="has_evidence",
    ),
    sa.Index(None, "tag_id", "pull_request_id"),
)

pull_request_labels = table(
    "pull_request_labels",
    "A GitHub label of a pull request.",
    reference(
        "pull_request_id", "pull_requests.id", "the pull request", required=True, ondelete="CASCADE"
    ),
    column("label", Text, "label as GitHub has it", required=True),
    sa.PrimaryKeyConstraint("pull_request_id", "label"),
    sa.Index(None, "label"),
)

commits = table(
    "commits",
    "A commit of the first-parent history of the default branch.",
    primary_key("surrogate key; within a repository it grows in order of landing"),
    reference("repository_id", "repositories.id", "its repository", required=True),
    column("sha", Text, "full hexadecimal id", required=True),
    reference("author_id", "actors.id", "author; NULL where no account is known"),
    column("committer", Text, "committer's name, e.g. GitHub or a merge bot", required=True),
    column("authored_at", UTCTime, "author date", required=True),
    column("committed_at", UTCTime, "committer date", required=True),
    column("subject", Text, "first paragraph of the message on one line", required=True),
    column("message", Text, "whole message; odd bytes as backslash escapes", required=True),
    column(
        "is_reachable", sa.Boolean, "still on the branch; false after a force-push", required=True
    ),
    sa.UniqueConstraint("repository_id", "sha"),
    sa.Index(None, "committed_at"),
    sa.Index(None, "author_id"),
)

paths = table(
    "paths",
    "A file path, stored once.",
    primary_key(),
    column("path_sha256", Text, "hex digest of the path's UTF-8 bytes", required=True),
    column("path", Text, "path from the repository's root", required=True),
    sa.UniqueConstraint("path_sha256"),
)

commit_paths = table(
    "commit_paths",
    "A file that a commit touches.",
    reference("commit_id", "commits.id", "the commit", required=True, ondelete="CASCADE"),
    reference("path_id", "paths.id", "the file", required=True),
    column("status", Text, "git's letter: A added, M modified, D deleted, T type", required=True),
    sa.PrimaryKeyConstraint("commit_id", "path_id"),
    sa.CheckConstraint("status IN ('A', 'M', 'D', 'T', 'U', 'X')", name="status_known"),
    sa.Index(None, "path_id"),
    sqlite_with_rowid=False,
)

pull_request_commits = table(
    "pull_request_commits",
    "What a commit does to a pull request, and the rule of the linker that says so.",
    reference(
        "pull_request_id", "pull_requests.id", "the pull request", required=True, ondelete="CASCADE"
    ),
    reference("commit_id", "commits.id", "the commit", required=True, ondelete="CASCADE"),
    reference("role", "commit_roles.name", "landed, reverts, relands …", required=True),
    column("rule", Text, "rule of the linker", required=True),
    sa.PrimaryKeyConstraint("pull_request_id", "commit_id", "role"),
    sa.Index(None, "commit_id"),
)

ledger_entries = table(
    "ledger_entries",
    "A decision on a pull request as it was made, appended when it changes.",
    primary_key(),
    reference("repository_id", "repositories.id", "the repository", required=True),
    column("number", sa.Integer, "the pull request's number", required=True),
    reference("decision", "decisions.name", "include, exclude or defer", required=True),
    column("reason", Text, "why, as given", required=True),
    column("decided_on", sa.Date, "day of the decision; NULL: not stated"),
    column("decided_by", Text, "rule key, person:NAME or the ledger's own word"),
    column("ruleset", Text, "version of the rules, where rules decided"),
    reference("corpus_id", "corpora.id", "imported ledger it comes from; NULL: ours"),
    column("details", sa.JSON(none_as_null=True), "further fields of an imported row, as written"),
    sa.Index(None, "repository_id", "number"),
)

ledger_skips = table(
    "ledger_skips",
    "A pull request that an imported ledger includes and for which its corpus made no page.",
    reference("corpus_id", "corpora.id", "the corpus", required=True, ondelete="CASCADE"),
    reference("repository_id", "repositories.id", "the repository", required=True),
    column("number", sa.Integer, "the pull request's number", required=True),
    column("stage", Text, "step at which it fell out, as written", required=True),
    column("reason", Text, "why, as written", required=True),
    column("recorded_on", sa.Date, "day of the record; NULL: not stated"),
    sa.PrimaryKeyConstraint("corpus_id", "repository_id", "number"),
)
