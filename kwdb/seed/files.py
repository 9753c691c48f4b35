"""Read and validate seed files: a list of rows each, every row with a `key` and a `source`.

A row that cannot be used is reported with its file, line and field, and what is allowed there.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

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

    `items` are the types of the members of a list; `choices` names a set that is known when the
    file is read, such as "facets" or "tags".
    """

    types: tuple[type, ...] = (str,)
    required: bool = True
    choices: str | None = None
    items: tuple[type, ...] = (str,)


TEXT = Field()
OPTIONAL_TEXT = Field(required=False)
NUMBER = Field((int, float), required=False)
INTEGER = Field((int,), required=False)
NAMES = Field((list,), required=False)
DAY = Field((date, str), required=False)


_TYPE_NAMES: Final[dict[type, str]] = {str: "text", dict: "mapping"}


def as_day(value: date | str | None) -> date | None:
    """Return a day of a checked row as a date; None stays None."""
    return date.fromisoformat(value) if isinstance(value, str) else value


def choice(name: str, *, required: bool = True) -> Field:
    """A text that must be a member of the set `name`."""
    return Field(required=required, choices=name)


def read_rows(path: Path) -> Iterator[SeedRow]:
    """Yield the rows of a seed file, a list of mappings, with their lines.

    Raises:
        InvalidRecordError: the file is no YAML list of mappings.
    """
    for line, values in _read_items(path):
        if not isinstance(values, dict):
            raise InvalidRecordError(path, line, "-", f"a row is a mapping, not {values!r}")
        yield SeedRow(path, line, values)


def read_page(path: Path) -> SeedRow:
    """Return the one mapping of a page file; raises as `read_rows`."""
    values = _parse(path, lambda loader: loader.get_single_data())
    if not isinstance(values, dict):
        raise InvalidRecordError(path, 1, "-", f"a page is a mapping, not {values!r}")
    return SeedRow(path, 1, values)


def _read_items(path: Path) -> list[tuple[int, Any]]:
    def items(loader: Any) -> list[tuple[int, Any]]:
        document = loader.get_single_node()
        if document is None:
            return []
        if not isinstance(document, yaml.SequenceNode):
            raise InvalidRecordError(path, 1, "-", "a seed file is a list of rows")
        return [
            (node.start_mark.line + 1, loader.construct_document(node)) for node in document.value
        ]

    found: list[tuple[int, Any]] = _parse(path, items)
    return found


def _parse(path: Path, read: Callable[[Any], Any]) -> Any:
    try:
        loader = _LOADER(path.read_text(encoding="utf-8"))
        try:
            return read(loader)
        finally:
            loader.dispose()
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        problem = f"no YAML: {getattr(exc, 'problem', exc)}"
        raise InvalidRecordError(path, mark.line + 1 if mark else None, "-", problem) from exc
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as exc:
        raise InvalidRecordError(path, None, "-", f"cannot be read: {exc}") from exc


def validated(path: Path, fields: Mapping[str, Field], known: Values) -> list[SeedRow]:
    """Return the rows of a file after checking names, types, sets and unique keys.

    Raises:
        InvalidRecordError: naming the first row that cannot be used.
    """
    everywhere = {"key": TEXT, "source": TEXT, "note": OPTIONAL_TEXT, "date": DAY}
    rows = list(read_rows(path))
    for row in rows:
        check_row(row, {**everywhere, **fields}, known)
    check_unique(rows, "key")
    return rows


def check_unique(rows: Sequence[SeedRow], *names: str) -> None:
    """Refuse two rows with the same values in the fields `names`."""
    first: dict[tuple[Any, ...], SeedRow] = {}
    for row in rows:
        values = tuple(row.values.get(name) for name in names)
        if (other := first.setdefault(values, row)) is not row:
            shown = ":".join(str(value) for value in values)
            place = f"line {other.line}"
            if other.path != row.path:
                place = f"{other.path.name} {place}"
            raise row.fail(names[-1], f"{shown!r} stands at {place} too")


def check_row(row: SeedRow, fields: Mapping[str, Field], known: Values) -> None:
    """Refuse unknown fields, missing ones, wrong types and values outside their sets."""
    for name in sorted(map(str, row.values.keys() - fields.keys())):
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
    if isinstance(value, list) and not all(isinstance(item, field.items) for item in value):
        wanted = " or ".join(_TYPE_NAMES.get(kind, kind.__name__) for kind in field.items)
        raise row.fail(name, f"{value!r} holds something that is no {wanted}")
    if field is DAY and isinstance(value, str):
        _check_day(row, name, value)
    if field.choices and value not in known[field.choices]:
        near = ", ".join(nearest(str(value), known[field.choices]))
        raise row.fail(name, f"unknown value {value!r}; nearest allowed: {near}")


def _check_day(row: SeedRow, name: str, value: str) -> None:
    try:
        date.fromisoformat(value)
    except ValueError as exc:
        raise row.fail(name, f"{value!r} is no day of the form YYYY-MM-DD") from exc
