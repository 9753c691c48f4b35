"""Ledgers of triage, candidates/*.yaml, and the audit of what was included but got no page.

Two shapes of rows stand in one file: {number, title, date, decision, reason, files_changed} and a
long one of some thirty fields; the rows stand under `prs` or `candidates`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, TypeGuard

_ROWS: Final = ("prs", "candidates", "rows")
_OWN_COLUMNS: Final = frozenset({"number", "pr", "repo", "decision", "reason", "decided_by"})
FULL_NAME: Final = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}")
DECISIONS: Final = frozenset({"include", "exclude", "defer"})


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One decision on a pull request as a ledger has it; `details` are its further fields."""

    repo: str
    number: int
    decision: str
    reason: str
    decided_on: date | None
    decided_by: str | None
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SkipRow:
    """An included pull request without a page: the stage at which it fell out, and why."""

    repo: str
    number: int
    stage: str
    reason: str
    recorded_on: date | None


@dataclass(frozen=True, slots=True)
class Unusable:
    """A row that cannot be stored as such: where in the file, and why."""

    place: str
    reason: str


def is_ledger(path: str, document: Any) -> bool:
    """Whether a file below candidates/ holds rows of triage."""
    return path.startswith("candidates/") and bool(_rows(document))


def _rows(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    found = [document.get(key) for key in _ROWS] if isinstance(document, dict) else []
    return next((rows for rows in found if isinstance(rows, list)), [])


def read_ledger(document: Any, guessed_repo: str | None) -> Iterator[LedgerRow | Unusable]:
    """Yield the rows of a ledger; `guessed_repo` serves where neither file nor row names one."""
    head = document if isinstance(document, dict) else {}
    searched_on = day(head.get("searched_at"))
    for place, row in enumerate(_rows(document)):
        if not isinstance(row, dict):
            yield Unusable(f"row {place}", f"no mapping but {type(row).__name__}")
            continue
        repo = row.get("repo") or head.get("repo") or guessed_repo
        number = _number(row.get("number", row.get("pr")))
        decision = str(row.get("decision") or "").strip().lower()
        if not is_full_name(repo) or number is None or decision not in DECISIONS:
            yield Unusable(f"row {place}", _complaint(repo, row, decision))
            continue
        details = {key: value for key, value in row.items() if key not in _OWN_COLUMNS}
        reason, who = str(row.get("reason") or ""), row.get("decided_by")
        who = who if isinstance(who, str) else None
        yield LedgerRow(repo, number, decision, reason, searched_on, who, details)


def _complaint(repo: Any, row: dict[str, Any], decision: str) -> str:
    if not is_full_name(repo):
        return f"repository {repo!r}; allowed: OWNER/NAME"
    if decision not in DECISIONS:
        return f"decision {decision!r}; allowed: {', '.join(sorted(DECISIONS))}"
    return f"number {row.get('number', row.get('pr'))!r} is no number of a pull request"


def is_full_name(value: Any) -> TypeGuard[str]:
    """Whether a value is a repository's name of the form OWNER/NAME."""
    return isinstance(value, str) and bool(FULL_NAME.fullmatch(value))


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:12])
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 < value < 1 << 31 else None


def read_skips(document: Any) -> Iterator[SkipRow | Unusable]:
    """Yield the rows of pr-page-skipped.yaml."""
    for place, row in enumerate(_rows(document)):
        repo = row.get("repo") if isinstance(row, dict) else None
        number = _number(row.get("pr_number", row.get("number"))) if repo else None
        if not is_full_name(repo) or number is None:
            yield Unusable(f"row {place}", "names no repository and number of a pull request")
            continue
        stage, reason = str(row.get("stage") or ""), str(row.get("reason") or "")
        yield SkipRow(repo, number, stage, reason, day(row.get("recorded_at")))


def day(value: Any) -> date | None:
    """Return the day that an ISO text begins with, or None."""
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
