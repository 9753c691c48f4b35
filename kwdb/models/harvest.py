"""Bookkeeping of the harvest: what ran, how far each stage is, what could not be read."""

import sqlalchemy as sa

from kwdb.models.base import Text, UTCTime, column, primary_key, reference, table

harvest_runs = table(
    "harvest_runs",
    "One harvest of one repository.",
    primary_key(),
    reference(
        "repository_id", "repositories.id", "the repository", required=True, ondelete="CASCADE"
    ),
    column("command", Text, "ingest or refresh", required=True),
    column("started_at", UTCTime, "when it began", required=True),
    column("finished_at", UTCTime, "when it ended; NULL: it was interrupted"),
    column("status", Text, "running, done, incomplete or failed", required=True),
    column("message", Text, "why it failed or what is missing"),
    column("summary", sa.JSON(none_as_null=True), "counts of each stage"),
    sa.Index(None, "repository_id", "started_at"),
)

harvest_cursors = table(
    "harvest_cursors",
    "How far a stage has come; moves in the transaction that stores the rows.",
    reference(
        "repository_id", "repositories.id", "the repository", required=True, ondelete="CASCADE"
    ),
    column("stage", Text, "name of the stage", required=True),
    column(
        "token_id", Text, "digest of the token that ETags depend on; empty: none", required=True
    ),
    column("cursor", Text, "where to go on"),
    column("etag", Text, "ETag of the first page"),
    column("version", Text, "version of the stage's rules"),
    sa.PrimaryKeyConstraint("repository_id", "stage", "token_id"),
)

harvest_gaps = table(
    "harvest_gaps",
    "Something that could not be read; tried again at the next harvest.",
    reference(
        "repository_id", "repositories.id", "the repository", required=True, ondelete="CASCADE"
    ),
    column("stage", Text, "name of the stage", required=True),
    column("key", Text, "what is missing: a page, a number", required=True),
    column("reason", Text, "what was seen instead", required=True),
    column("tries", sa.Integer, "how often it was tried", required=True),
    column("first_seen_at", UTCTime, "when it was missed first", required=True),
    sa.PrimaryKeyConstraint("repository_id", "stage", "key"),
)
