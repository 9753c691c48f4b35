"""Agreement with hand-labelled pull requests, from title and paths, where present."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ingest.classify import classify
from kwdb.records import Change, Verdict

LABELS = Path(__file__).resolve().parents[3] / "shared" / "data" / "gold" / "tags_dev.json"
FIELDS = {
    "architectures": "architecture",
    "hardware_features": "hardware_feature",
    "techniques": "technique",
    "kernel_types": "kernel_type",
    "languages": "language",
}
pytestmark = pytest.mark.skipif(not LABELS.is_file(), reason="no labelled pull requests here")


@pytest.fixture(scope="module")
def judged() -> list[tuple[dict[str, Any], Verdict]]:
    rows = json.loads(LABELS.read_text(encoding="utf-8"))
    return [(row, classify(_change(row))) for row in rows]


def _change(row: dict[str, Any]) -> Change:
    paths = tuple(row.get("changed_paths") or ())
    return Change(row["repo"], row["pr"], row.get("pr_title") or "", paths=paths)


def f1(pairs: Iterable[tuple[set[str], set[str]]]) -> float:
    hits = misses = 0
    for wanted, found in pairs:
        hits += len(wanted & found)
        misses += len(wanted ^ found)
    return 2 * hits / max(1, 2 * hits + misses)


def test_triage(judged: list[tuple[dict[str, Any], Verdict]]) -> None:
    pairs = [
        ({"kernel"} if row["relevant"] else set(), {"kernel"} & {_word(verdict)})
        for row, verdict in judged
    ]
    assert f1(pairs) >= 0.85


def _word(verdict: Verdict) -> str:
    return "kernel" if verdict.decision == "include" else "other"


@pytest.mark.parametrize(
    ("field", "least"),
    [
        ("architectures", 0.65),
        ("hardware_features", 0.6),
        ("techniques", 0.45),
        ("kernel_types", 0.8),
        ("languages", 0.8),
    ],
)
def test_tags(judged: list[tuple[dict[str, Any], Verdict]], field: str, least: float) -> None:
    pairs = [
        (set(row[field]), {tag.name for tag in verdict.tags if tag.facet == FIELDS[field]})
        for row, verdict in judged
        if verdict.decision == "include"
    ]
    assert f1(pairs) >= least
