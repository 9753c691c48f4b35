"""JSON lines in, JSON lines out: the classifier without a database.

    in   {"id", "repo", "number", "title", "body", "paths": [..], "diff": str|null, "labels": [..]}
    out  {"id", "decision", "reason", "rule", "evidence", "ruleset",
          "tags": [{"name", "facet", "basis", "rule", "evidence" | "implied_by"}]}

Only `id` and `title` must be there.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ingest.classify.rules import ruleset
from ingest.classify.verdict import classify
from kwdb.errors import InvalidRecordError
from kwdb.records import Change, TagVerdict, Verdict

_INPUT = "input"
_TEXT = (str,)
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "id": (str, int),
    "repo": _TEXT,
    "number": (int, type(None)),
    "title": _TEXT,
    "body": (str, type(None)),
    "paths": (list, type(None)),
    "labels": (list, type(None)),
    "diff": (str, type(None)),
}


def classify_lines(lines: Iterable[str]) -> Iterator[str]:
    """Classify each JSON line and yield the answer as a JSON line; blank lines are skipped.

    Raises:
        InvalidRecordError: a line is not a JSON object of the form above; names line and field.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            row = _row(line, number)
            verdict = classify(_change(row))
            yield json.dumps(_answer(row["id"], verdict), ensure_ascii=False)


def _row(line: str, number: int) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as exc:
        raise InvalidRecordError(_INPUT, number, "line", f"not JSON: {exc}") from exc
    if not isinstance(row, dict):
        raise InvalidRecordError(_INPUT, number, "line", f"a JSON object is needed: {line[:40]!r}")
    for field in ("id", "title"):
        if field not in row:
            raise InvalidRecordError(_INPUT, number, field, "is missing")
    for field, types in _FIELDS.items():
        _check(row, field, types, number)
    return row


def _check(row: Mapping[str, Any], field: str, types: tuple[type, ...], number: int) -> None:
    value = row.get(field)
    if field in row and (not isinstance(value, types) or isinstance(value, bool)):
        names = " or ".join(kind.__name__ for kind in types)
        raise InvalidRecordError(_INPUT, number, field, f"{value!r} is not {names}")
    if isinstance(value, list) and not all(isinstance(part, str) for part in value):
        raise InvalidRecordError(_INPUT, number, field, f"{value!r} holds more than texts")


def _change(row: Mapping[str, Any]) -> Change:
    return Change(
        repo=row.get("repo") or "",
        number=row.get("number"),
        title=row["title"],
        body=row.get("body") or "",
        paths=tuple(row.get("paths") or ()),
        labels=tuple(row.get("labels") or ()),
        diff=row.get("diff"),
    )


def _answer(identifier: str | int, verdict: Verdict) -> dict[str, Any]:
    return {
        "id": identifier,
        "decision": verdict.decision,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "evidence": verdict.evidence.as_json() if verdict.evidence else None,
        "ruleset": ruleset(),
        "tags": [_tag(tag) for tag in verdict.tags],
    }


def _tag(tag: TagVerdict) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": tag.name, "facet": tag.facet, "basis": tag.basis}
    shown["rule"] = tag.rule
    if tag.evidence is not None:
        shown["evidence"] = tag.evidence.as_json()
    if tag.implied_by is not None:
        shown["implied_by"] = tag.implied_by
    return shown
