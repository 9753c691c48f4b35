"""What a page's front matter says, as the rows that are served: page, tags, links, aliases.

Field names and shapes are those of KernelWiki's data/schemas.yaml and of its public forks.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

from ingest.kernelwiki.ledgers import day
from ingest.kernelwiki.pages import Page, vendor_of
from ingest.kernelwiki.vocabulary import FACETS, Vocabulary
from ingest.kernelwiki.yamls import clean
from kwdb.text import fold, headings, scrub

Row = dict[str, Any]
Term = tuple[str, str]

LINKS: Final = (
    "sources",
    "related",
    "prerequisites",
    "candidate_techniques",
    "source_refs",
    "evidence_basis",
    "version_sensitive",
)
_TARGETS: Final = ("source_id", "id", "ref", "repo", "path")
_ARCHITECTURES: Final = ("from_arch", "to_arch", "from_architecture", "to_architecture")
_PUBLISHED: Final = ("published_on", "date", "published", "published_at")
_CAPTURED: Final = ("captured_at", "retrieved_at")
_LONGEST_TITLE: Final = 300
_LONGEST_SUMMARY: Final = 400
_LONGEST_TERM: Final = 120
_PROSE: Final = re.compile(r"^(?![#>|`~\-*+<!=\d]|---)\S.*(?:\n(?![#>|`~]|\s*$).*)*", re.MULTILINE)


def describe(page: Page) -> Row:
    """Return the columns of pages that a version fills; home directories are scrubbed."""
    head = page.front_matter or {}
    text = clean(page.body.decode("utf-8", "replace"))
    captured = next((d for name in _CAPTURED if (d := day(head.get(name)))), None)
    return {
        "id": page.id,
        "type": page.type,
        "title": _title(head, text) or page.id,
        "url": _text(head.get("url")),
        "vendor": vendor_of(page),
        "confidence": _value(head.get("confidence")),
        "reproducibility": _value(head.get("reproducibility")),
        "source_category": _value(head.get("source_category")),
        "published_on": next((d for name in _PUBLISHED if (d := day(head.get(name)))), None),
        "captured_at": _midnight(captured),
        "summary": _summary(head, text),
    }


def _midnight(found: date | None) -> datetime | None:
    return datetime.combine(found, time(), UTC) if found else None


def _text(value: Any) -> str | None:
    return scrub(value.strip()) or None if isinstance(value, str) else None


def _value(value: Any) -> str | None:
    """A member of a value set: a short word, or nothing."""
    text = value.strip() if isinstance(value, str) else ""
    return text if 0 < len(text) <= _LONGEST_TERM and text.isprintable() else None


def _title(head: Mapping[str, Any], text: str) -> str:
    given = head.get("title")
    first = str(given) if isinstance(given, (str, int, float)) else headings(text[:20_000])
    line = next((line.strip(" #\t") for line in first.splitlines() if line.strip(" #\t")), "")
    return _cut(scrub(" ".join(line.split())), _LONGEST_TITLE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _summary(head: Mapping[str, Any], text: str) -> str | None:
    given = _text(head.get("description"))
    if given is None:
        found = _PROSE.search(text[:8_000].replace("\r\n", "\n"))
        given = scrub(found[0]) if found else None
    return _cut(" ".join(given.split()), _LONGEST_SUMMARY) if given else None


def terms_of(page: Page, vocabulary: Vocabulary, known: Mapping[str, list[str]]) -> list[Term]:
    """Return (facet, name) of every term in the front matter, each once, in order.

    A word of `tags` has the facets under which the corpus lists it, else those of `known` (name ->
    facets), else it is a topic.
    """
    found = dict.fromkeys(field_terms(page))
    named = {name for _, name in found}
    for name in words((page.front_matter or {}).get("tags")):
        if name not in named:
            facets = vocabulary.facets_of(name) or known.get(name) or ["topic"]
            found.update(dict.fromkeys((facet, name) for facet in facets))
    return list(found)


def field_terms(page: Page) -> Iterator[Term]:
    """Yield (facet, name) of the terms in fields that say their facet: all but `tags`."""
    head = page.front_matter or {}
    for field, facet in FACETS.items():
        yield from ((facet, name) for name in words(head.get(field)))
    for field in _ARCHITECTURES:
        yield from (("architecture", name) for name in words(head.get(field)))


def words(value: Any) -> Iterator[str]:
    """Yield the texts of a list, or of a single value; mappings give their id or name."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            item = next((item[key] for key in ("id", "name") if item.get(key)), None)
        if isinstance(item, (str, int, float)) and not isinstance(item, bool):
            text = " ".join(str(item).split())
            if 0 < len(text) <= _LONGEST_TERM:
                yield text


def links_of(page: Page) -> Iterator[tuple[str, int, str]]:
    """Yield (kind, position, target) of every link in the front matter, as written."""
    head = page.front_matter or {}
    for kind in LINKS:
        given = head.get(kind)
        for position, item in enumerate(given if isinstance(given, list) else [given]):
            if isinstance(item, dict):
                item = next((item[key] for key in _TARGETS if item.get(key)), None)
            if isinstance(item, (str, int)) and not isinstance(item, bool) and str(item).strip():
                yield kind, position, str(item).strip()


def aliases_of(page: Page) -> list[tuple[str, str]]:
    """Return (folded alias, alias as written) of a page's own `aliases`, each once."""
    given = dict.fromkeys(words((page.front_matter or {}).get("aliases")))
    return [(fold(display), display) for display in given if fold(display)]
