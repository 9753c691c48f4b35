"""Rules on pages: what each kind must state, and what its labels promise."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import sqlalchemy as sa

from kwdb.check.rules import Case, PageText, Rule, Scope, each_page
from kwdb.models import page_types, pages, performance_claims
from kwdb.models.values import reproducibility_levels

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "source": ("title", "url", "source_category"),
    "wiki": ("title", "tags", "confidence", "sources"),
    "wiki-technique": ("reproducibility",),
    "wiki-kernel": ("reproducibility",),
    "wiki-language": ("reproducibility",),
    "wiki-pattern": ("symptoms", "candidate_techniques"),
}
"""Layer or type of page -> the fields that such a page states (KernelWiki schema reference)."""

PROOF: Final = frozenset({"official-doc", "upstream-code"})
"""What a verified page cites, unless we measured it ourselves (KernelWiki schema reference)."""

_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)[ \t]*([\w+#-]+)", re.M)
_NO_CODE: Final = frozenset({"text", "txt", "console", "output", "markdown", "md", "mermaid"})


def _prefixes(scope: Scope) -> Iterator[Case]:
    query = sa.select(page_types.c.name, page_types.c.id_prefix)
    prefixes = {row.name: row.id_prefix for row in scope.connection.execute(query)}
    for page in scope.pages:
        prefix = prefixes.get(page.type or "")
        if prefix is None:
            yield page.id, f"type {page.type!r} is not known"
        elif not page.id.startswith(prefix):
            yield page.id, f"{page.type} begins with {prefix}"


def _missing_fields(page: PageText) -> Iterator[str]:
    wanted = (*REQUIRED.get(page.layer or "", ()), *REQUIRED.get(page.type or "", ()))
    yield from (name for name in wanted if page.front_matter.get(name) in (None, "", []))


def _empty_body(page: PageText) -> Iterator[str]:
    if page.layer == "wiki" and not page.raw.strip():
        yield "the body"


def _unproven(scope: Scope) -> Iterator[Case]:
    query = sa.select(pages.c.id, pages.c.source_category)
    categories = {row.id: row.source_category for row in scope.connection.execute(query)}
    measured = _measured_pages(scope)
    for page in scope.pages:
        if page.front_matter.get("confidence") != "verified" or page.id in measured:
            continue
        missing = PROOF - {categories.get(source) for source in page.names("sources")}
        if missing:
            yield page.id, f"no source is {' and none is '.join(sorted(missing))}"


def _measured_pages(scope: Scope) -> set[str]:
    c = performance_claims.c
    query = sa.select(c.page_id).where(
        c.origin == "measured", c.retired_at.is_(None), c.status != "invalidated"
    )
    return {id_ for id_ in scope.connection.execute(query).scalars() if id_}


def _ranks(scope: Scope) -> dict[str, int]:
    query = sa.select(reproducibility_levels.c.name, reproducibility_levels.c.rank)
    return {row.name: row.rank for row in scope.connection.execute(query)}


def _below_minimum(scope: Scope) -> Iterator[Case]:
    ranks = _ranks(scope)
    query = sa.select(page_types.c.name, page_types.c.min_reproducibility)
    least = {row.name: row.min_reproducibility for row in scope.connection.execute(query)}
    for page in scope.pages:
        minimum, level = least.get(page.type or ""), page.front_matter.get("reproducibility")
        if minimum and ranks.get(str(level), 0) < ranks[minimum]:
            yield page.id, f"{level} is less than {minimum}"


def _no_code(scope: Scope) -> Iterator[Case]:
    ranks = _ranks(scope)
    for page in scope.pages:
        level = str(page.front_matter.get("reproducibility"))
        languages = {name.lower() for name in _FENCE.findall(page.body)}
        if ranks.get(level, 0) >= ranks["snippet"] and not languages - _NO_CODE:
            yield page.id, f"reproducibility {level}, but no code block that names a language"


def _unmeasured(scope: Scope) -> Iterator[Case]:
    measured = _measured_pages(scope)
    for page in scope.pages:
        level = page.front_matter.get("reproducibility")
        if level == "benchmarked" and page.id not in measured:
            yield page.id, "reproducibility benchmarked, but no measured claim"


RULES: Final = (
    Rule(
        "page-id-prefix",
        "error",
        "a page's id does not begin as its type wants",
        "rename the page or correct its type",
        _prefixes,
    ),
    Rule(
        "page-field-missing",
        "error",
        "a page lacks a field that its type must state",
        "state it in the front matter",
        each_page(_missing_fields),
    ),
    Rule(
        "page-empty",
        "error",
        "a page has nothing to read",
        "write it or remove it",
        each_page(_empty_body),
    ),
    Rule(
        "page-verified",
        "error",
        "a verified page has neither both kinds of source nor a measurement of ours",
        "cite official documentation and upstream code, or call it source-reported",
        _unproven,
    ),
    Rule(
        "page-reproducibility",
        "error",
        "a page's reproducibility is below the least of its type",
        "add what is missing, such as a fragment that compiles",
        _below_minimum,
    ),
    Rule(
        "page-snippet",
        "error",
        "a page promises code that it does not have",
        "add a fenced block of code, or lower the reproducibility",
        _no_code,
    ),
    Rule(
        "page-benchmarked",
        "error",
        "a page promises a benchmark that is not stored",
        "import the run, or lower the reproducibility",
        _unmeasured,
    ),
)
