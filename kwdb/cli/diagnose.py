"""`kwdb diagnose`: from a symptom in plain words to what to try, on one page."""

import textwrap
from typing import Annotated, Any

import typer

from kwdb.cli.output import JsonFlag, cell, note, print_json

_WIDTH = 100


def diagnose(
    text: Annotated[list[str], typer.Argument(help="What you see, in your own words.")],
    as_json: JsonFlag = False,
) -> None:
    """Say which pattern a symptom points at, what to try, and what that brought others.

    Examples: kwdb diagnose "the last wave leaves SMs idle" · kwdb diagnose register spills --json
    """
    from kwdb.cli.reading import reading
    from kwdb.diagnosis import diagnose as ask

    with reading() as connection:
        found = ask(connection, " ".join(text))
    if as_json:
        return print_json(found)
    for pattern in found["patterns"]:
        _print_pattern(pattern)
    if found["total"] == 0:
        _print_unknown(found)


def _print_unknown(found: dict[str, Any]) -> None:
    note(f"no pattern is known for {found['text']!r}; the nearest known symptoms:")
    for symptom in found["nearest_symptoms"]:
        typer.echo(f"  {symptom}")
    typer.echo("known patterns:")
    for pattern in found["known_patterns"]:
        typer.echo(f"  {pattern['id']}: {pattern['title']}")


def _print_pattern(pattern: dict[str, Any]) -> None:
    typer.echo(f"# {pattern['title']}  [{pattern['id']}]\n")
    typer.echo(f"Seen as: {'; '.join(pattern['matched'])}")
    _print_wrapped(cell(pattern["summary"]), "")
    typer.echo("\nFirst, confirm it:\n")
    typer.echo(textwrap.indent(pattern["confirm"], "    "))
    typer.echo("\nThen try, in this order:\n")
    for place, technique in enumerate(pattern["techniques"], start=1):
        _print_technique(place, technique)
    typer.echo("\nKernels that do so:\n")
    for kernel in pattern["kernels"]:
        typer.echo(f"  {kernel['title']}  [{kernel['id']}]")
        _print_claims(kernel["claims"])
    typer.echo(f"\nMore: kwdb show {pattern['id']}; why a claim stands: kwdb explain claim:N\n")


def _print_technique(place: int, technique: dict[str, Any]) -> None:
    typer.echo(f"  {place}. {technique['title']}  [{technique['id']}]")
    _print_wrapped(cell(technique["summary"]), "     ")
    for one in technique["pull_requests"]:
        state = " ".join(cell(part) for part in (one["landed_state"], one["published_on"]) if part)
        why = f", {one['basis']}" + (f" {cell(one['evidence'])!r}" if one["evidence"] else "")
        typer.echo(f"     {one['id']}  {one['title']}  ({state}{why})")
        _print_claims(one["claims"])


def _print_wrapped(text: str, indent: str) -> None:
    if text:
        typer.echo(textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent))


def _print_claims(claims: list[dict[str, Any]]) -> None:
    for claim in claims:
        names = ("metric", "value_text", "variant", "gpu", "dtype", "shape")
        details = ", ".join(cell(claim[name]) for name in names if claim.get(name))
        source = claim.get("source_url") or claim.get("page") or "no source"
        typer.echo(f"       claim:{claim['id']} {claim['status']}: {details}  {source}")
