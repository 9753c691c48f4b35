"""The rule tables of ingest/rules, read once, checked and compiled."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ingest.classify import patterns
from ingest.classify.source import Source, read_source
from kwdb.records import PLACES

RULES_DIR = Path(__file__).resolve().parent.parent / "rules"
FACETS = ("architecture", "hardware_feature", "technique", "kernel_type", "language")
BASES = ("exact", "product", "family")
_FILES_OF_RELEASE = 20
TAG_FILES = ("architectures", "hardware", "techniques", "kernels", "languages")


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table: what it looks for, where, and what a match there weighs.

    `lines` changed lines give the full weight, in long diffs of `spread` files more; one that was
    rewritten around the token counts `rewritten`. A path gives it where `file_lines` of its file
    change, if they are known. A line counts if it matches `context` and does not match `unless`.
    """

    key: str
    name: str
    basis: str
    fragments: tuple[patterns.Fragment, ...]
    places: Mapping[str, float]
    lines: int = 1
    rewritten: float = 0.0
    file_lines: int = 0
    spread: int = _FILES_OF_RELEASE
    unless: re.Pattern[str] | None = None
    context: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Implication:
    """`tag` follows from any tag of `by`, unless one of `without` stands beside it."""

    key: str
    tag: str
    by: tuple[str, ...]
    without: frozenset[str]


@dataclass(frozen=True, slots=True)
class TagTable:
    """The rules of one facet; `heading` is the factor for tags that a title passes over."""

    facet: str
    rules: tuple[Rule, ...]
    implied: tuple[Implication, ...]
    heading: float = 1.0


def read_rule(source: Source, row: Mapping[str, Any], defaults: Mapping[str, float]) -> Rule:
    """Check and compile one row; `defaults` are the weights per place of its table.

    Raises:
        InvalidRecordError: a field is missing, unknown, of another type, or does not compile.
    """
    key = source.row_key(row)
    places = {**defaults, **row.get("places", {})}
    source.allow(key, "places", places, PLACES)
    basis = row.get("basis", "exact")
    source.allow(key, "basis", [basis], BASES)
    return Rule(
        key=key,
        name=row.get("tag") or row.get("reason") or row.get("class") or key,
        basis=basis,
        fragments=_fragments(source, key, row),
        places={place: float(weight) for place, weight in places.items() if weight},
        lines=row.get("lines", source.data.get("lines", 1)),
        rewritten=float(row.get("rewritten", source.data.get("rewritten", 0.0))),
        spread=source.data.get("spread", _FILES_OF_RELEASE),
        file_lines=row.get("file_lines", 0),
        unless=source.compiled(key, "unless", row.get("unless")),
        context=source.compiled(key, "context", row.get("context")),
    )


def read_table(path: Path) -> TagTable:
    """Read the tag rules of one facet.

    Raises:
        InvalidRecordError: the file or a rule of it cannot be used.
    """
    source = read_source(path)
    facet = source.data.get("facet", "")
    source.allow("(table)", "facet", [facet], FACETS)
    defaults = source.data.get("places", {})
    rules = tuple(_tag_rule(source, row, defaults) for row in source.data.get("rules", []))
    implied = tuple(_implication(source, row) for row in source.data.get("implied", []))
    source.unique([rule.key for rule in rules] + [rule.key for rule in implied])
    return TagTable(facet, rules, implied, float(source.data.get("heading", 1.0)))


@lru_cache(maxsize=1)
def tag_tables() -> tuple[TagTable, ...]:
    """Return the tables of all facets, read on the first call."""
    return tuple(read_table(RULES_DIR / f"{name}.yaml") for name in TAG_FILES)


@lru_cache(maxsize=1)
def ruleset() -> str:
    """Return the name of the rules in force: the version of triage.yaml, then a content hash.

    The hash (8 hex digits of sha256) covers the bytes of every table, so a decision stored under
    this name was made by exactly these rules.
    """
    names = sorted([*TAG_FILES, "triage", "paths", "texts"])
    digest = hashlib.sha256(b"\0".join((RULES_DIR / f"{n}.yaml").read_bytes() for n in names))
    version = read_source(RULES_DIR / "triage.yaml").data["version"]
    return f"{version}-{digest.hexdigest()[:8]}"


def _tag_rule(source: Source, row: Mapping[str, Any], defaults: Mapping[str, float]) -> Rule:
    """Texts are long, so a rule that reads them must name the literals that its regexes need."""
    rule = read_rule(source, row, defaults)
    source.allow(rule.key, "tag", [row.get("tag", "")], source.data.get("vocabulary", []))
    if not all(re.search(r"\w", fragment.literal) for fragment in rule.fragments):
        raise source.refuse(rule.key, "literals", "each regex needs one, with a letter or digit")
    return rule


def _fragments(source: Source, key: str, row: Mapping[str, Any]) -> tuple[patterns.Fragment, ...]:
    regexes: list[str] = row.get("regex", [])
    for pattern in regexes:
        source.compiled(key, "regex", pattern)
    literals: list[str] = row.get("literals", [])
    if "literals" not in row and regexes:
        regexes, literals = ["|".join(f"(?:{pattern})" for pattern in regexes)], [""]
    if len(literals) != len(regexes):
        raise source.refuse(key, "literals", "one literal is needed for each regex")
    found = [patterns.word(text) for text in row.get("words", ())]
    found += [patterns.camel(text) for text in row.get("camel", ())]
    found += map(patterns.raw, regexes, literals)
    if not found:
        raise source.refuse(key, "words", "nothing to look for: give words, camel or regex")
    return tuple(found)


def _implication(source: Source, row: Mapping[str, Any]) -> Implication:
    key = source.row_key(row)
    names = [row.get("tag", ""), *row.get("by", []), *row.get("without", [])]
    source.allow(key, "tag", names, source.data.get("vocabulary", []))
    return Implication(key, row["tag"], tuple(row["by"]), frozenset(row.get("without", ())))
