"""Load contests, their problems and submissions, version claims and tool releases."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from kwdb.errors import nearest
from kwdb.models import (
    contest_problems,
    contest_submission_tags,
    contest_submissions,
    contests,
    metadata,
)
from kwdb.seed.files import (
    DAY,
    NAMES,
    NUMBER,
    OPTIONAL_TEXT,
    TEXT,
    Field,
    SeedRow,
    as_day,
    check_unique,
    choice,
    validated,
)
from kwdb.store.facts import store_facts
from kwdb.store.pages import corpus_key
from kwdb.store.rows import Row, find_keys, replace_owned

_SEED: Final = "seed"
_MAPPING: Final = Field((dict,), required=False)
_SETS: Final = {
    "channels": {"stable", "rc", "dev"},
    "truths": {"verbatim", "partial", "reconstructed-from-blog", "unavailable"},
}
_SHAPE_KINDS: Final = ("test", "benchmark")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A seed file of facts: its fields, the key of its table, the table's columns as they stand.

    `days` are columns that hold a day; `parent` is field, table and column of a foreign key.
    """

    fields: Mapping[str, Field]
    key: tuple[str, ...]
    columns: tuple[str, ...]
    days: tuple[str, ...] = ()
    parent: tuple[str, sa.Table, str] | None = None


_PAGE: Final = choice("pages", required=False)
_KINDS: Final[dict[str, _Kind]] = {
    "contests": _Kind(
        {
            "name": TEXT,
            "page_id": _PAGE,
            "organizer": OPTIONAL_TEXT,
            "starts_on": DAY,
            "ends_on": DAY,
            "details": _MAPPING,
        },
        ("key",),
        ("key", "name", "page_id", "organizer", "details", "source"),
        days=("starts_on", "ends_on"),
    ),
    "contest_problems": _Kind(
        {
            "contest": choice("contests"),
            "name": TEXT,
            "page_id": _PAGE,
            "op": OPTIONAL_TEXT,
            "shapes": Field((list,), items=(dict,)),
            "details": _MAPPING,
        },
        ("key",),
        ("key", "name", "page_id", "op", "shapes", "details", "source"),
        parent=("contest", contests, "contest_id"),
    ),
    "contest_submissions": _Kind(
        {
            "problem": choice("contest_problems"),
            "page_id": _PAGE,
            "rank": OPTIONAL_TEXT,
            "participant": OPTIONAL_TEXT,
            "score_text": OPTIONAL_TEXT,
            "value": NUMBER,
            "unit": OPTIONAL_TEXT,
            "truth": choice("truths", required=False),
            "is_invalidated": Field((bool,)),
            "reason": OPTIONAL_TEXT,
            "tags": NAMES,
            "details": _MAPPING,
        },
        ("key",),
        (
            *("key", "page_id", "rank", "participant", "score_text", "value", "unit", "truth"),
            *("is_invalidated", "reason", "details", "source"),
        ),
        parent=("problem", contest_problems, "contest_problem_id"),
    ),
    "version_claims": _Kind(
        {
            "tool": OPTIONAL_TEXT,
            "version": OPTIONAL_TEXT,
            "statement": TEXT,
            "superseded": OPTIONAL_TEXT,
            "applies_to": NAMES,
            "details": _MAPPING,
        },
        ("corpus_id", "key"),
        (
            *("key", "tool", "version", "statement", "superseded"),
            *("applies_to", "details", "source"),
        ),
    ),
    "tool_releases": _Kind(
        {
            "tool": TEXT,
            "version": TEXT,
            "channel": choice("channels"),
            "sha": OPTIONAL_TEXT,
            "released_on": DAY,
        },
        ("corpus_id", "tool", "version", "channel"),
        ("tool", "version", "channel", "sha", "source"),
        days=("released_on",),
    ),
}


def load_contests(
    connection: sa.Connection, directory: Path, known: Mapping[str, Any]
) -> dict[str, int]:
    """Load the files of this module; returns file -> rows written.

    Raises:
        InvalidRecordError: a row lacks a field or names something that is not known.
    """
    sets = {**known, **_SETS}
    corpus = corpus_key(connection, _SEED)
    written = {}
    for name, kind in _KINDS.items():
        rows = validated(directory / f"{name}.yaml", kind.fields, sets)
        check_unique(rows, *(one for one in kind.key if one != "corpus_id"))
        for row in rows:
            _check_shapes(row)
            _check_tags(row, known["tags"])
        written[name] = _store(connection, metadata.tables[name], kind, rows, corpus)
        sets[name] = {row.values["key"] for row in rows}
        if name == "contest_submissions":
            written[name] += _store_tags(connection, rows, known["tags"])
    return written


def _store(
    connection: sa.Connection, table: sa.Table, kind: _Kind, rows: list[SeedRow], corpus: int
) -> int:
    owner = {"corpus_id": corpus} if "corpus_id" in table.c else {"corpus": _SEED}
    parents = _parents(connection, kind, rows)
    found = [_row(row.values, kind) | owner | parents(row.values) for row in rows]
    owned = sa.and_(*(table.c[name] == value for name, value in owner.items()))
    return store_facts(connection, table, found, kind.key, owned)


def _row(values: Mapping[str, Any], kind: _Kind) -> Row:
    plain = {name: values.get(name) for name in kind.columns}
    return plain | {name: as_day(values.get(name)) for name in kind.days}


def _parents(
    connection: sa.Connection, kind: _Kind, rows: list[SeedRow]
) -> Callable[[Mapping[str, Any]], Row]:
    if kind.parent is None:
        return lambda _: {}
    field, table, column = kind.parent
    keys = find_keys(connection, table, "key", {row.values[field] for row in rows})
    return lambda values: {column: keys[values[field]]}


def _store_tags(connection: sa.Connection, rows: list[SeedRow], tags: Mapping[str, int]) -> int:
    keys = find_keys(connection, contest_submissions, "key", [row.values["key"] for row in rows])
    given = [
        {"submission_id": keys[row.values["key"]], "tag_id": tags[tag]}
        for row in rows
        for tag in dict.fromkeys(row.values.get("tags") or ())
    ]
    owners = list(keys.values())
    return replace_owned(connection, contest_submission_tags, "submission_id", owners, given)


def _check_shapes(row: SeedRow) -> None:
    for shape in row.values.get("shapes") or ():
        if shape.get("kind") not in _SHAPE_KINDS or not isinstance(shape.get("dims"), dict):
            kinds = " or ".join(_SHAPE_KINDS)
            raise row.fail("shapes", f"{shape!r} needs kind ({kinds}) and a mapping dims")


def _check_tags(row: SeedRow, tags: Mapping[str, int]) -> None:
    for tag in row.values.get("tags") or ():
        if tag not in tags:
            near = ", ".join(nearest(tag, tags))
            raise row.fail("tags", f"unknown tag {tag!r}; nearest allowed: {near}")
