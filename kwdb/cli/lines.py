"""Commands that take JSON lines and give JSON lines; they need no database."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import typer

from kwdb.cli.output import JsonFlag


def classify(
    everything: Annotated[
        bool, typer.Option("--all", help="Decide again on all stored pull requests.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --all: say what would change, write nothing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Read pull requests as JSON lines, write decisions and tags as JSON lines.

    In: {"id", "repo", "number", "title", "body", "paths": [..], "diff"}. Out: {"id", "decision",
    "tags": [{"name", "facet", "basis", "evidence": {"where", "text", ..}}], ..}.

    With --all: decide again on what is stored, people's decisions aside; no git is needed.
    """
    if everything:
        from kwdb.cli.triage import classify_all

        return classify_all(dry_run=dry_run, as_json=as_json)
    if dry_run:
        raise typer.BadParameter("--dry-run goes with --all")
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
