"""The smaller registries: version claims, tool releases, and the submissions of contest pages."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingest.kernelwiki.ledgers import day
from ingest.kernelwiki.pages import Page
from kwdb.text import fold
from kwdb.units import find_unit

Row = dict[str, Any]

_CLAIM_COLUMNS: Final = frozenset({"id", "tool", "claim_valid_for", "notes", "applies_to"})
_CHANNELS: Final = frozenset({"stable", "rc", "dev"})
_SUBMISSION_COLUMNS: Final = frozenset(
    "rank participant score submission_truth code_unavailable_reason".split()
)
_SCORE: Final = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*([a-zA-Zµμ%×/]+)?")


def _maps(rows: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    listed = rows if isinstance(rows, list) else []
    return ((place, row) for place, row in enumerate(listed) if isinstance(row, dict))


def _of(document: Any, key: str) -> Any:
    return document.get(key) if isinstance(document, dict) else document


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def version_claims(document: Any, path: str) -> list[Row]:
    """Return the rows of version-claims.yaml for the table of that name, without keys."""
    rows = {}
    for _, claim in _maps(_of(document, "claims")):
        if key := _text(claim.get("id")):
            notes = claim.get("notes") or claim.get("statement") or claim.get("claim") or ""
            rows[key] = {
                "key": key,
                "tool": _text(claim.get("tool")),
                "version": _text(claim.get("claim_valid_for")),
                "statement": str(notes).strip(),
                "superseded": _text(claim.get("superseded")),
                "applies_to": claim.get("applies_to"),
                "details": {n: v for n, v in claim.items() if n not in _CLAIM_COLUMNS} or None,
                "source": path,
            }
    return list(rows.values())


def tool_releases(document: Any, path: str) -> list[Row]:
    """Return the rows of tool-versions.yaml for tool_releases; one without a name is left out."""
    rows = {}
    for _, tool in _maps(_of(document, "tools")):
        for _, release in _maps(tool.get("releases")):
            version = _text(release.get("name") or release.get("version"))
            channel = str(release.get("channel") or "stable")
            if version and channel in _CHANNELS:
                name = str(tool.get("tool") or tool.get("name") or "")
                rows[name, version, channel] = {
                    "tool": name,
                    "version": version,
                    "channel": channel,
                    "sha": _text(release.get("dev_branch_sha")),
                    "released_on": day(release.get("released_at")),
                    "source": path,
                }
    return list(rows.values())


def submissions(page: Page, corpus: str) -> list[Row]:
    """Return the submissions that a contest page lists, as rows of contest_submissions.

    `key` is CORPUS/PAGE/rank/participant; a rank may be a word.
    """
    rows: dict[str, Row] = {}
    for place, entry in _maps((page.front_matter or {}).get("submissions")):
        rank, who = _text(entry.get("rank")), _text(entry.get("participant"))
        key = f"{corpus}/{page.id}/{rank or '-'}/{fold(who or '') or '-'}"
        row = _submission(entry, rank, who) | {"page_id": page.id, "source": page.path}
        key = key if key not in rows else f"{key}/{place}"
        rows[key] = row | {"key": key}
    return list(rows.values())


def _submission(entry: Mapping[str, Any], rank: str | None, who: str | None) -> Row:
    score = _text(entry.get("score"))
    value, unit = _score(score)
    said = f"{score} {who}".casefold()
    return {
        "rank": rank,
        "participant": who,
        "score_text": score,
        "value": value,
        "unit": unit,
        "truth": _text(entry.get("submission_truth")),
        "is_invalidated": "invalid" in said or "disqualified" in said,
        "reason": _text(entry.get("code_unavailable_reason")),
        "details": {n: v for n, v in entry.items() if n not in _SUBMISSION_COLUMNS} or None,
    }


def _score(text: str | None) -> tuple[float | None, str | None]:
    """The first figure of a score that carries a known unit; (None, None) where none does."""
    for number, word in _SCORE.findall(text or ""):
        if word and (unit := find_unit(word)):
            return float(number.replace(",", "")), unit.symbol
    return None, None
