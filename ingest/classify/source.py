"""A file of rules as YAML gave it, and the complaints about it.

Every mistake in a table is an InvalidRecordError that names the file, the key of the rule, the
field and what is allowed there.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kwdb.errors import InvalidRecordError

FIELDS: Mapping[str, tuple[type, ...]] = {
    "key": (str,),
    "tag": (str,),
    "class": (str,),
    "reason": (str,),
    "basis": (str,),
    "words": (list,),
    "camel": (list,),
    "regex": (list,),
    "literals": (list,),
    "places": (dict,),
    "lines": (int,),
    "file_lines": (int,),
    "rewritten": (int, float),
    "weight": (int, float),
    "unless": (str,),
    "context": (str,),
    "by": (list,),
    "without": (list,),
}


@dataclass(frozen=True, slots=True)
class Source:
    """One file of rules; its methods raise InvalidRecordError for a rule named by its key."""

    path: Path
    data: Mapping[str, Any]

    def refuse(self, key: str, field: str, problem: str) -> InvalidRecordError:
        """Return the error for `field` of the rule `key`."""
        return InvalidRecordError(self.path, None, field, f"rule {key!r}: {problem}")

    def allow(self, key: str, field: str, seen: Iterable[str], allowed: Iterable[str]) -> None:
        """Refuse the first value of `seen` that is not in `allowed`."""
        known = list(allowed)
        for value in seen:
            if value not in known:
                raise self.refuse(key, field, f"{value!r} is not among {', '.join(known)}")

    def section(self, name: str, kind: type) -> Any:
        """Return a part of the file that must be there, as a list or mapping."""
        found = self.data.get(name)
        if not isinstance(found, kind):
            problem = f"a {kind.__name__} is needed at the top level, not {found!r:.40}"
            raise InvalidRecordError(self.path, None, name, problem)
        return found

    def row_key(self, row: object) -> str:
        """Return the key of `row` once its fields are known to exist and to have their types."""
        if not isinstance(row, dict) or not isinstance(row.get("key"), str):
            raise self.refuse(str(row)[:40], "key", "a text that names the rule is needed")
        key: str = row["key"]
        for field, value in row.items():
            self.allow(key, str(field), [field], FIELDS)
            self._typed(key, field, value, FIELDS[field])
        for place, weight in row.get("places", {}).items():
            self._typed(key, f"places.{place}", weight, (int, float))
        return key

    def compiled(self, key: str, field: str, pattern: str | None) -> re.Pattern[str] | None:
        """Return `pattern` as a case-blind regex, None for None."""
        try:
            return re.compile(pattern, re.IGNORECASE) if pattern else None
        except re.error as exc:
            problem = f"{pattern!r} is not a regular expression: {exc}"
            raise self.refuse(key, field, problem) from exc

    def unique(self, keys: list[str]) -> None:
        """Refuse a key that stands twice."""
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise self.refuse(twice[0], "key", "stands twice in this file")

    def _typed(self, key: str, field: str, value: object, types: tuple[type, ...]) -> None:
        names = " or ".join(kind.__name__ for kind in types)
        if not isinstance(value, types) or isinstance(value, bool):
            raise self.refuse(key, field, f"{value!r} is not of type {names}")
        members = value if isinstance(value, list) else []
        if not all(isinstance(member, str) and member for member in members):
            raise self.refuse(key, field, f"{value!r} holds more than texts; quote numbers")


def read_source(path: Path) -> Source:
    """Read one YAML file of rules.

    Raises:
        InvalidRecordError: it is not YAML, or not a mapping.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except yaml.YAMLError as exc:
        raise InvalidRecordError(path, None, "document", f"not YAML: {exc}") from exc
    if not isinstance(data, dict):
        raise InvalidRecordError(path, None, "document", "a mapping is needed at the top")
    return Source(path, data)
