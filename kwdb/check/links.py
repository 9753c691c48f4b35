"""Rules on where pages lead: every id exists, no page leans on itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import sqlalchemy as sa

from kwdb.check.rules import Case, Rule, Scope
from kwdb.models import pages

_BODY_LINK: Final = re.compile(r"\]\(([a-z]+-[A-Za-z0-9_.-]*[A-Za-z0-9])\)")


def _prerequisite_circles(scope: Scope) -> Iterator[Case]:
    needs = {page.id: page.names("prerequisites") for page in scope.pages}
    for start in sorted(needs):
        if start in _reached(needs, start):
            yield start, f"by way of {', '.join(needs[start])}"


def _reached(needs: Mapping[str, list[str]], start: str) -> set[str]:
    """The pages that must be read before `start`; holds `start` where there is a circle."""
    seen: set[str] = set()
    waiting = list(needs[start])
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            waiting += needs.get(page, ())
    return seen


def _dead_body_links(scope: Scope) -> Iterator[Case]:
    known = set(
        scope.connection.execute(sa.select(pages.c.id).where(~pages.c.is_retired)).scalars()
    )
    for page in scope.pages:
        for target in dict.fromkeys(_BODY_LINK.findall(page.body)):
            if target not in known:
                yield page.id, f"{target} ({page.corpus}:{page.path})"


# Links of a page that its corpus no longer has are history.
_LIVE: Final = (
    " FROM page_links l JOIN page_versions v ON v.page_id = l.page_id"
    " AND v.corpus_id = l.corpus_id AND v.retired_at IS NULL"
)

RULES: Final = (
    Rule(
        "link-dangling",
        "error",
        "a page names an id that is no page",
        "correct the id, or add the page",
        f"SELECT l.page_id, l.kind || ' names ' || l.target {_LIVE}"
        " LEFT JOIN pages p ON p.id = l.target AND NOT p.is_retired"
        " WHERE p.id IS NULL AND :corpus IN (0, l.corpus_id) ORDER BY 1, 2",
    ),
    Rule(
        "link-to-itself",
        "error",
        "a page names itself",
        "remove the link",
        f"SELECT l.page_id, l.kind {_LIVE}"
        " WHERE l.target = l.page_id AND :corpus IN (0, l.corpus_id) ORDER BY 1, 2",
    ),
    Rule(
        "link-twice",
        "warning",
        "a page names an id twice under one heading",
        "remove one",
        f"SELECT l.page_id, l.kind || ' names ' || l.target {_LIVE}"
        " WHERE :corpus IN (0, l.corpus_id) GROUP BY l.page_id, l.corpus_id, l.kind, l.target"
        " HAVING COUNT(*) > 1 ORDER BY 1, 2",
    ),
    Rule(
        "candidate-kind",
        "error",
        "a candidate technique is no technique, hardware feature or migration",
        "name the page that says what to do; patterns and kernels go under related",
        f"SELECT l.page_id, l.target || ' is ' || p.type {_LIVE}"
        " JOIN pages p ON p.id = l.target WHERE l.kind = 'candidate_techniques'"
        " AND p.type NOT IN ('wiki-technique', 'wiki-hardware', 'wiki-migration')"
        " AND :corpus IN (0, l.corpus_id) ORDER BY 1, 2",
    ),
    Rule(
        "source-kind",
        "warning",
        "a page cites a page of synthesis as its source",
        "cite the document that it rests on; the page goes under related",
        f"SELECT l.page_id, l.target || ' is ' || p.type {_LIVE}"
        " JOIN pages p ON p.id = l.target JOIN page_types t ON t.name = p.type"
        " WHERE l.kind = 'sources' AND t.layer = 'wiki'"
        " AND :corpus IN (0, l.corpus_id) ORDER BY 1, 2",
    ),
    Rule(
        "prerequisite-circle",
        "error",
        "a page is its own prerequisite",
        "cut the circle at the page that is easier to read",
        _prerequisite_circles,
    ),
    Rule(
        "body-link-dangling",
        "warning",
        "a body links to an id that is no page",
        "correct the link, or add the page",
        _dead_body_links,
    ),
)
