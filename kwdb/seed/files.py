"""Read and validate seed files: a list of rows each, every row with a `key` and a `source`.

A row that cannot be used is reported with its file, line and field, and what is allowed there.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from kwdb.errors import InvalidRecordError, nearest

Values = Mapping[str, Collection[str]]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class SeedRow:
    """A row of a seed file with the line on which it begins."""

    path: Path
    line: int
    values: dict[str, Any]

    def fail(self, field: str, problem: str) -> InvalidRecordError:
        """Make the error that says what is wrong with a field of this row."""
        return InvalidRecordError(self.path, self.line, field, problem)


@dataclass(frozen=True, slots=True)
class Field:
    """What a field must be: its types, whether it may be left out, the set it is taken from.

    `choices` names a set that is known when the file is read, such as "facets" or "tags".
    """

    types: tuple[type, ...] = (str,)
    required: bool = True
    choices: str | None = None


TEXT = Field()
OPTIONAL_TEXT = Field(required=False)
NUMBER = Field((int, float), required=False)
INTEGER = Field((int,), required=False)
NAMES = Field((list,), required=False)
DAY = Field((date, str), required=False)


def choice(name: str, *, required: bool = True) -> Field:
    """A text that must be a member of the set `name`."""
    return Field(required=required, choices=name)


def read_rows(path: Path) -> Iterator[SeedRow]:
    """Yield the rows of a seed file with their lines.

    Raises:
        InvalidRecordError: the file is no YAML list of mappings.
    """
    loader = _LOADER(path.read_text(encoding="utf-8"))
    try:
        document = loader.get_single_node()
        for node in document.value if document is not None else ():
            line = node.start_mark.line + 1
            values = loader.construct_document(node)
            if not isinstance(values, dict):
                raise InvalidRecordError(path, line, "-", f"a row is a mapping, not {values!r}")
            yield SeedRow(path, line, values)
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        problem = f"no YAML: {getattr(exc, 'problem', exc)}"
        raise InvalidRecordError(path, mark.line + 1 if mark else None, "-", problem) from exc
    finally:
        loader.dispose()


def validated(path: Path, fields: Mapping[str, Field], known: Values) -> list[SeedRow]:
    """Return the rows of a file after checking names, types, sets and unique keys.

    Raises:
        InvalidRecordError: naming the first row that cannot be used.
    """
    everywhere = {"key": TEXT, "source": TEXT, "note": OPTIONAL_TEXT, "date": DAY}
    allowed = {**everywhere, **fields}
    rows = list(read_rows(path))
    lines: dict[str, int] = {}
    for row in rows:
        _check_row(row, allowed, known)
        if (first := lines.setdefault(row.values["key"], row.line)) != row.line:
            raise row.fail("key", f"{row.values['key']!r} stands at line {first} too")
    return rows


def _check_row(row: SeedRow, fields: Mapping[str, Field], known: Values) -> None:
    for name in row.values.keys() - fields.keys():
        raise row.fail(name, f"unknown field; allowed: {', '.join(fields)}")
    for name, field in fields.items():
        _check_value(row, name, field, known)


def _check_value(row: SeedRow, name: str, field: Field, known: Values) -> None:
    value = row.values.get(name)
    if value is None or value == "":
        if field.required:
            raise row.fail(name, "is missing")
        return
    is_flag = isinstance(value, bool) and bool not in field.types
    if is_flag or not isinstance(value, field.types):
        wanted = " or ".join(kind.__name__ for kind in field.types)
        raise row.fail(name, f"{value!r} is not {wanted}")
    if field.choices and value not in known[field.choices]:
        near = ", ".join(nearest(str(value), known[field.choices]))
        raise row.fail(name, f"unknown value {value!r}; nearest allowed: {near}")
