"""`kwdb diagnose`: from a symptom in plain words to what to try."""

from typing import Annotated, Any

import typer

from kwdb.cli.output import JsonFlag, cell, note, print_json


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
        note(f"no pattern is known for {found['text']!r}; known symptoms that are spelt alike:")
        for symptom in found["nearest_symptoms"]:
            typer.echo(f"  {symptom}")


def _print_pattern(pattern: dict[str, Any]) -> None:
    typer.echo(f"{pattern['title']}  [{pattern['id']}]")
    typer.echo(f"  seen as: {'; '.join(pattern['matched'])}")
    typer.echo(f"  {cell(pattern['summary'])}")
    typer.echo("  try:")
    for technique in pattern["techniques"]:
        typer.echo(f"    {technique['id']}: {technique['title']}")
    typer.echo("  done in:")
    for kernel in pattern["kernels"]:
        typer.echo(f"    {kernel['id']}: {kernel['title']}")
        for claim in kernel["claims"]:
            typer.echo(f"      {_claim(claim)}")
    typer.echo("")


def _claim(claim: dict[str, Any]) -> str:
    said = [claim["metric"], claim["value_text"], claim["variant"], claim["dtype"], claim["shape"]]
    details = ", ".join(cell(one) for one in said if one)
    return f"claim:{claim['id']} {details} ({claim['status']}, {claim['source_page_id']})"
