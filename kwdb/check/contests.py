"""Rules on contests, statements about versions, and releases."""

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from kwdb.check.rules import Case, Rule, Scope
from kwdb.models import contest_problems, pages, version_claims


def _dangling_pages(scope: Scope) -> Iterator[Case]:
    query = sa.select(version_claims.c.key, version_claims.c.applies_to)
    known = set(scope.connection.execute(sa.select(pages.c.id)).scalars())
    found = scope.connection.execute(query.where(version_claims.c.retired_at.is_(None)))
    for key, targets in found:
        yield from ((key, target) for target in targets or () if target not in known)


def _without_shapes(scope: Scope) -> Iterator[Case]:
    p = contest_problems.c
    for key, shapes in scope.connection.execute(
        sa.select(p.key, p.shapes).where(p.retired_at.is_(None))
    ):
        if not any(shape.get("kind") == "benchmark" for shape in shapes or ()):
            yield key, "no benchmark shape"


_TABLES: Final = ("contests", "contest_problems", "contest_submissions")

RULES: Final = (
    Rule(
        "contest-page-dangling",
        "error",
        "a contest, problem or submission names a page that does not exist",
        "add the page, or correct page_id",
        " UNION ALL ".join(
            f"SELECT t.key, t.page_id FROM {name} t LEFT JOIN pages p ON p.id = t.page_id"
            " WHERE t.page_id IS NOT NULL AND t.retired_at IS NULL AND p.id IS NULL"
            for name in _TABLES
        ),
    ),
    Rule(
        "contest-dates",
        "error",
        "a contest ends before it begins",
        "correct starts_on or ends_on",
        "SELECT key, starts_on || ' to ' || ends_on FROM contests WHERE ends_on < starts_on"
        " AND retired_at IS NULL",
    ),
    Rule(
        "problem-shapes",
        "error",
        "a contest problem has no benchmark shape",
        "add the shapes that entries are timed on",
        _without_shapes,
    ),
    Rule(
        "submission-reason",
        "error",
        "a submission is struck, or its code is missing, without a reason",
        "say why in reason",
        "SELECT key, truth FROM contest_submissions WHERE retired_at IS NULL"
        " AND COALESCE(reason, '') = '' AND (is_invalidated OR truth <> 'verbatim') ORDER BY key",
    ),
    Rule(
        "submission-score",
        "error",
        "a submission has a number as score, but not as it was written or without a unit",
        "give score_text and unit",
        "SELECT key, score_text FROM contest_submissions WHERE retired_at IS NULL"
        " AND value IS NOT NULL AND (score_text IS NULL OR unit IS NULL) ORDER BY key",
    ),
    Rule(
        "struck-entry-trusted",
        "error",
        "a claim trusts the score of a struck entry",
        "invalidate the claim",
        "SELECT 'claim:' || c.id, s.key FROM contest_submissions s JOIN contest_problems p"
        " ON p.id = s.contest_problem_id JOIN performance_claims c ON c.value = s.value"
        " AND c.op = p.op AND c.metric = 'latency' WHERE s.is_invalidated"
        " AND s.retired_at IS NULL AND c.retired_at IS NULL"
        " AND c.status IN ('unreviewed', 'supported', 'reproduced') ORDER BY c.id",
    ),
    Rule(
        "version-claim-page",
        "error",
        "a statement about a version applies to a page that does not exist",
        "correct applies_to",
        _dangling_pages,
    ),
    Rule(
        "release-of-dev",
        "error",
        "a development version names no commit",
        "give sha",
        "SELECT tool || ' ' || version, channel FROM tool_releases WHERE channel = 'dev'"
        " AND sha IS NULL AND retired_at IS NULL ORDER BY 1",
    ),
)
