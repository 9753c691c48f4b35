"""Pages and vocabulary that were never a KernelWiki, in its form."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa
import yaml

from ingest.kernelwiki.pages import join
from ingest.kernelwiki.vocabulary import FACETS
from kwdb.models import aliases, tags

_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LEFT_OUT: Final = frozenset({"key", "tags", "type"})
_DIRECTORIES: Final = {
    "source-pr": "sources/prs",
    "source-doc": "sources/docs",
    "source-blog": "sources/blogs",
    "source-contest": "sources/contests",
    "source-experience": "sources/experiences",
    "source-code": "sources/code",
    "source-ref": "sources/refs",
    "wiki-hardware": "wiki/hardware",
    "wiki-migration": "wiki/migration",
    "wiki-operator-routing": "wiki/routing",
}
_PLURALS: Final = {facet: field for field, facet in FACETS.items()}


def dump_yaml(fields: Mapping[str, Any]) -> str:
    """Return fields as YAML in their order; texts that look like numbers or days are quoted."""
    text: str = yaml.dump(
        dict(fields), Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100
    )
    return text


def page_path(id_: str, type_: str) -> str:
    """Return where a page of this type lives: wiki/techniques/technique-swizzling.md."""
    layer, _, name = type_.partition("-")
    directory = _DIRECTORIES.get(type_, f"{'sources' if layer == 'source' else 'wiki'}/{name}s")
    return f"{directory}/{id_.replace('/', '-')}.md"


def written_page(type_: str, fields: Mapping[str, Any] | None, body: bytes) -> bytes:
    """Return a page of the seeds as a file; its `facet:name` tags become one list a facet."""
    given = fields or {}
    head: dict[str, Any] = {"id": given.get("id"), "title": given.get("title")}
    head["type"] = type_.removeprefix("wiki-") if type_.startswith("wiki-") else type_
    head |= {n: v for n, v in given.items() if n not in _LEFT_OUT and n not in head}
    head |= fields_of_tags(given.get("tags") or ())
    return join(None, dump_yaml(head), b"\n" + body)


def fields_of_tags(names: Any) -> dict[str, list[str]]:
    """Return tags of the form facet:name as one list a facet; `tags` has all but architectures."""
    found: dict[str, list[str]] = {}
    topical: list[str] = []
    for tag in names:
        facet, _, name = str(tag).rpartition(":")
        field = _PLURALS.get(facet, "topics")
        found.setdefault(field, []).append(name)
        if facet != "architecture":
            topical.append(name)
    return found | ({"tags": list(dict.fromkeys(topical))} if topical else {})


def vocabulary_files(connection: sa.Connection) -> Iterator[tuple[str, str, bytes]]:
    """Yield data/tags.yaml and data/aliases.yaml in the plain forms: lists of names."""
    query = sa.select(tags.c.facet, tags.c.name).order_by(tags.c.facet, tags.c.id)
    terms: dict[str, list[str]] = {}
    for facet, name in connection.execute(query):
        terms.setdefault(_PLURALS.get(facet, facet), []).append(name)
    yield "vocabulary", "data/tags.yaml", dump_yaml(terms).encode()
    words: dict[str, list[str]] = {}
    named = sa.select(tags.c.name, aliases.c.display).join(aliases, aliases.c.tag_id == tags.c.id)
    for name, display in connection.execute(named.order_by(tags.c.name, aliases.c.display)):
        words.setdefault(name, []).append(display)
    yield "vocabulary", "data/aliases.yaml", dump_yaml(words).encode()
