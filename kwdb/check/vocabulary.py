"""Rules on terms, aliases, GPUs and the sources of all facts."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from kwdb.check.rules import Case, Rule, Scope
from kwdb.models import metadata, tags
from kwdb.text import fold


def _without_source(scope: Scope) -> Iterator[Case]:
    """Rows of every table that has a column `source` and a name or key of its own."""
    for table in metadata.sorted_tables:
        if "source" not in table.c:
            continue
        label = next(table.c[n] for n in ("key", "name", "display", "tool") if n in table.c)
        query = sa.select(label).where(sa.func.trim(table.c.source) == "")
        for name in scope.connection.execute(query).scalars():
            yield f"{table.name}:{name}", ""


def _alike_terms(scope: Scope) -> Iterator[Case]:
    query = sa.select(tags.c.facet, tags.c.name).order_by(tags.c.facet, tags.c.name)
    first: dict[tuple[str, str], str] = {}
    for facet, name in scope.connection.execute(query):
        other = first.setdefault((facet, fold(name)), name)
        if other != name:
            yield f"{facet}:{name}", f"{other} is spelt alike"


_ALIASES = sa.text(
    "SELECT a.alias, t.facet, t.name, a.basis FROM aliases a JOIN tags t ON t.id = a.tag_id"
)


def _compound_aliases(scope: Scope) -> Iterator[Case]:
    meant: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for alias, facet, name, basis in scope.connection.execute(_ALIASES):
        meant[alias, facet, basis].add(name)
    for (alias, facet, _), names in sorted(meant.items()):
        if len(names) > 1:
            yield f"alias:{alias}", f"{', '.join(sorted(names))} of {facet}"


def _hidden_terms(scope: Scope) -> Iterator[Case]:
    query = sa.select(tags.c.facet, tags.c.name)
    own = {(facet, fold(name)): name for facet, name in scope.connection.execute(query)}
    for alias, facet, name, _ in scope.connection.execute(_ALIASES):
        if own.get((facet, alias), name) != name:
            yield f"alias:{alias}", f"{own[facet, alias]} is a term of {facet}, not {name}"


RULES: Final = (
    Rule(
        "fact-without-source",
        "error",
        "a row states no source",
        "name the document the row comes from",
        _without_source,
    ),
    Rule(
        "term-twice",
        "error",
        "two terms of a facet are spelt alike",
        "keep one and make the other an alias",
        _alike_terms,
    ),
    Rule(
        "term-undescribed",
        "warning",
        "a term of the vocabulary has no description",
        "say in one sentence what it means",
        "SELECT facet || ':' || name, NULL FROM tags WHERE COALESCE(description, '') = ''"
        " AND facet <> 'symptom' ORDER BY 1",
    ),
    Rule(
        "alias-several-terms",
        "notice",
        "an alias stands for several terms of one facet",
        "right for a compound such as MXFP8; else drop one or give it another basis",
        _compound_aliases,
    ),
    Rule(
        "alias-hides-term",
        "error",
        "an alias is the name of another term of its facet",
        "drop the alias: the term's own name wins",
        _hidden_terms,
    ),
    Rule(
        "gpu-capability",
        "error",
        "a GPU's compute capability is not that of its architecture",
        "correct one of the two: 10.3 is sm103",
        "SELECT 'gpu:' || g.name, g.compute_capability || ' is not ' || t.name FROM gpus g"
        " JOIN tags t ON t.id = g.architecture_tag_id WHERE g.vendor = 'NVIDIA'"
        " AND 'sm' || REPLACE(g.compute_capability, '.', '') <> t.name ORDER BY 1",
    ),
    Rule(
        "gpu-peaks-order",
        "error",
        "a GPU's peak of a narrow format is below that of a wider one",
        "peaks are dense: compare the formats of the data sheet",
        "SELECT 'gpu:' || name, NULL FROM gpus WHERE peak_fp8_tflops < peak_fp16_tflops"
        " OR peak_fp4_tflops < peak_fp8_tflops ORDER BY 1",
    ),
)
