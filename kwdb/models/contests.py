"""Contests, versioned statements about tools, and bundles of code behind a page."""

from typing import Any

import sqlalchemy as sa

from kwdb.models.base import Text, UTCTime, column, primary_key, reference, table


def _retired() -> sa.Column[Any]:
    return column("retired_at", UTCTime, "when its corpus no longer had it")


def _corpus() -> sa.Column[Any]:
    return column("corpus", Text, "name of the corpus that has the row")


contests = table(
    "contests",
    "A kernel-writing contest.",
    primary_key(),
    column("key", Text, "stable key", required=True),
    column("name", Text, "name of the contest", required=True),
    column("page_id", Text, "its source page"),
    column("organizer", Text, "who holds it"),
    column("starts_on", sa.Date, "first day"),
    column("ends_on", sa.Date, "last day"),
    column("details", sa.JSON(none_as_null=True), "timeline, prizes and rules"),
    column("source", Text, "where the facts come from", required=True),
    _corpus(),
    _retired(),
    sa.UniqueConstraint("key"),
)

contest_problems = table(
    "contest_problems",
    "A problem or track of a contest.",
    primary_key(),
    reference("contest_id", "contests.id", "the contest", required=True, ondelete="CASCADE"),
    column("key", Text, "stable key", required=True),
    column("name", Text, "name of the problem", required=True),
    column("page_id", Text, "its source page"),
    column("op", Text, "operation"),
    column("shapes", sa.JSON(none_as_null=True), "test and benchmark shapes, speed of light in us"),
    column("details", sa.JSON(none_as_null=True), "dates, weights, baselines"),
    column("source", Text, "where the facts come from", required=True),
    _corpus(),
    _retired(),
    sa.UniqueConstraint("key"),
    sa.Index(None, "contest_id"),
)

contest_submissions = table(
    "contest_submissions",
    "A submission to a contest problem.",
    primary_key(),
    column("key", Text, "stable key", required=True),
    reference("contest_problem_id", "contest_problems.id", "the problem", ondelete="CASCADE"),
    column("page_id", Text, "page that lists it"),
    column("rank", Text, "rank as written"),
    column("participant", Text, "name as published"),
    column("score_text", Text, "score as written"),
    column("value", sa.Float, "score as a number"),
    column("unit", Text, "unit of the score"),
    column("truth", Text, "how much of the submission is available"),
    column("is_invalidated", sa.Boolean, "struck from the ranking", required=True),
    column("reason", Text, "why it was struck, or why its code is missing"),
    column("details", sa.JSON(none_as_null=True), "further fields as written"),
    column("source", Text, "where the facts come from", required=True),
    _corpus(),
    _retired(),
    sa.UniqueConstraint("key"),
    sa.Index(None, "contest_problem_id"),
)

contest_submission_tags = table(
    "contest_submission_tags",
    "A technique that a submission uses.",
    reference(
        "submission_id",
        "contest_submissions.id",
        "the submission",
        required=True,
        ondelete="CASCADE",
    ),
    reference("tag_id", "tags.id", "the term", required=True),
    sa.PrimaryKeyConstraint("submission_id", "tag_id"),
    sa.Index(None, "tag_id"),
)

version_claims = table(
    "version_claims",
    "A statement that holds from or up to a version of a tool.",
    primary_key(),
    column("key", Text, "stable key, e.g. vs-triton-3.6-blackwell-tcgen05", required=True),
    column("tool", Text, "the tool"),
    column("version", Text, "version as written"),
    column("statement", Text, "what holds", required=True),
    column("superseded", Text, "what was said before"),
    column("applies_to", sa.JSON(none_as_null=True), "page ids that rest on it"),
    column("details", sa.JSON(none_as_null=True), "further fields as written"),
    reference("corpus_id", "corpora.id", "corpus that says so", required=True),
    column("source", Text, "where the fact comes from", required=True),
    _retired(),
    sa.UniqueConstraint("corpus_id", "key"),
)

tool_releases = table(
    "tool_releases",
    "A release of a tool.",
    primary_key(),
    column("tool", Text, "the tool", required=True),
    column("version", Text, "version as written", required=True),
    column("channel", Text, "stable, rc or dev", required=True),
    column("sha", Text, "commit of a dev version"),
    column("released_on", sa.Date, "day of the release"),
    reference("corpus_id", "corpora.id", "corpus that says so", required=True),
    column("source", Text, "where the fact comes from", required=True),
    _retired(),
    sa.UniqueConstraint("corpus_id", "tool", "version", "channel"),
)

bundles = table(
    "bundles",
    "A directory of code files behind a page.",
    primary_key(),
    reference("corpus_id", "corpora.id", "the corpus", required=True, ondelete="CASCADE"),
    column("page_id", Text, "page that owns it"),
    column("path", Text, "directory within the corpus", required=True),
    column("asset_mode", Text, "verbatim, extracted or derived"),
    column("license", Text, "licence as stated"),
    column("upstream", Text, "repository and commit it comes from"),
    column("provenance", sa.JSON(none_as_null=True), "PROVENANCE file as data"),
    column("retired_at", UTCTime, "when the corpus no longer had it"),
    sa.UniqueConstraint("corpus_id", "path"),
)

bundle_files = table(
    "bundle_files",
    "A file of a bundle.",
    primary_key(),
    reference("bundle_id", "bundles.id", "the bundle", required=True, ondelete="CASCADE"),
    column("path", Text, "file within the bundle", required=True),
    column("role", Text, "what the file is"),
    column("declared_sha256", Text, "digest its manifest gives"),
    column("sha256", Text, "digest of the file found; NULL: missing"),
    column("size_bytes", sa.BigInteger, "size found"),
    column("content", sa.LargeBinary, "the file, up to the importer's limit"),
    sa.UniqueConstraint("bundle_id", "path"),
)
