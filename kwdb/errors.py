"""What can go wrong, as classes; the command line shows each as one message and exits 1.

    UserError
    ├── ConfigError            a setting, file or directory cannot be used
    ├── DatabaseError          the database cannot be opened, read or written
    │   └── SchemaVersionError it was made by another version of kwdb
    ├── NotFoundError          a named thing does not exist
    ├── UnknownValueError      a value outside a closed set; names the nearest known ones
    ├── InvalidRecordError     a row of a file that cannot be used: file, line, field
    ├── QueryError             an ad-hoc query that is refused, wrong or too slow
    └── IngestError            the outside world did not answer as it should

Messages say what was seen, where, what is allowed and what to do next. Anything else that is
raised is a bug and shows its traceback.
"""

import difflib
from collections.abc import Iterable
from pathlib import Path


class UserError(Exception):
    """A condition that the person at the keyboard can do something about."""


class ConfigError(UserError):
    """A setting, file or directory cannot be used."""


class DatabaseError(UserError):
    """The database cannot be opened, read or written."""


class SchemaVersionError(DatabaseError):
    """The database was made by another version of kwdb."""

    def __init__(self, found: str | None, needed: str, url: str) -> None:
        self.found, self.needed, self.url = found, needed, url
        super().__init__(self._message())

    def _message(self) -> str:
        if self.found is None:
            return f'no kwdb database at {self.url}: run "kwdb init"'
        if self.found < self.needed:
            step = 'run "kwdb db upgrade"'
        else:
            step = "it is newer than this program: upgrade kwdb"
        return (
            f"database is at revision {self.found}, code needs {self.needed}: {step} ({self.url})"
        )


class NotFoundError(UserError):
    """A named thing does not exist."""


class UnknownValueError(UserError):
    """A value outside a closed set.

    The message names the three nearest known values, or all where there are few.
    """

    def __init__(self, key: str, value: str, allowed: Iterable[str], where: str = "") -> None:
        self.key, self.value, self.allowed = key, value, sorted(set(allowed))
        place = f" in {where}" if where else ""
        super().__init__(f"unknown {key} {value!r}{place}; {self._known()}")

    def _known(self) -> str:
        if len(self.allowed) <= 8:
            return f"known: {', '.join(self.allowed) or 'none'}"
        near = nearest(self.value, self.allowed)
        return f"nearest known: {', '.join(near)} ({len(self.allowed)} in all)"


class InvalidRecordError(UserError):
    """A row of a file that cannot be used."""

    def __init__(self, path: Path | str, line: int | None, field: str, problem: str) -> None:
        self.path, self.line, self.field, self.problem = str(path), line, field, problem
        place = f"{path}:{line}" if line else f"{path}"
        super().__init__(f"{place}: field {field!r}: {problem}")


class QueryError(UserError):
    """An ad-hoc query that is refused, wrong or too slow."""


class IngestError(UserError):
    """The outside world did not answer as it should."""


def nearest(value: str, allowed: Iterable[str], count: int = 3) -> list[str]:
    """Return the `count` members of `allowed` most like `value`, best first; never fewer.

    Likeness is difflib's ratio on case-folded text, so a wrong capital costs nothing.
    """
    folded = value.casefold()

    def likeness(known: str) -> float:
        return difflib.SequenceMatcher(None, folded, known.casefold()).ratio()

    return sorted(sorted(set(allowed)), key=likeness, reverse=True)[:count]
