"""Commands that take JSON lines and give JSON lines; they need no database."""

import sys
from collections.abc import Callable, Iterable, Iterator


def classify() -> None:
    """Read pull requests as JSON lines, write decisions and tags as JSON lines.

    In: {"id", "repo", "number", "title", "body", "paths": [..], "diff"}. Out: {"id", "decision",
    "tags": [{"name", "facet", "basis", "evidence": {"where", "text", ..}}], ..}.
    """
    from ingest.classify import classify_lines

    _pipe(classify_lines)


def extract() -> None:
    """Read pull requests as JSON lines, write the performance claims in their text as JSON lines.

    In: {"id", "repo", "title", "body"}. Out: {"id", "claims": [{"metric", "unit", "value",
    "baseline_value", "gpu", "direction", "role", "evidence": {"where", "text", "line"}, ..}]}.
    """
    from ingest.claims import extract_lines

    _pipe(extract_lines)


def _pipe(answer: Callable[[Iterable[str]], Iterator[str]]) -> None:
    for line in answer(sys.stdin):
        sys.stdout.write(line.rstrip("\n") + "\n")
