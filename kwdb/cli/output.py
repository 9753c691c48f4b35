"""How answers are printed: JSON for programs, plain aligned text for people."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any

import typer

from kwdb.jsonable import as_json

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def print_json(document: Any) -> None:
    """Print one JSON document; times as ISO 8601 with Z, bytes as hex."""
    typer.echo(json.dumps(document, ensure_ascii=False, indent=1, default=as_json))


def note(message: str) -> None:
    """Say something to the person, beside the answer."""
    typer.echo(message, err=True)


def cell(value: Any) -> str:
    """Return a value as one line of text; None is empty."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e15 else repr(value)
    text = as_json(value) if isinstance(value, (date, bytes)) else str(value)
    return " ".join(str(text).split())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, widest: int = 60) -> None:
    """Print aligned columns, cutting cells at `widest` signs."""
    cells = [[_cut(cell(value), widest) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    lines = [columns, ["-" * width for width in widths], *cells]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        typer.echo("  ".join(padded).rstrip())


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def print_markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    for line in (columns, ["---"] * len(columns), *rows):
        typer.echo("| " + " | ".join(cell(value).replace("|", "\\|") for value in line) + " |")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print RFC 4180 CSV; NULL is an empty field."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_value(value) for value in row] for row in rows)


def _csv_value(value: Any) -> Any:
    return as_json(value) if isinstance(value, (date, bytes)) else value


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print `name: value` lines, leaving out what is not stated."""
    shown = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        typer.echo(f"{name.ljust(width)}  {cell(value)}")
