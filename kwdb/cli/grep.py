"""`kwdb grep`: regular expressions over what is stored."""

import enum
from dataclasses import asdict
from typing import Annotated

import typer

from kwdb.cli.output import JsonFlag, note, print_json


class Place(enum.StrEnum):
    """Where to search."""

    wiki = "wiki"
    sources = "sources"
    artifacts = "artifacts"


def grep(
    patterns: Annotated[list[str], typer.Argument(metavar="PATTERN…", help="Regular expressions.")],
    any_: Annotated[
        bool, typer.Option("--any", help="Lines that match any pattern, not all of them.")
    ] = False,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="Case is no matter.")
    ] = False,
    only: Annotated[Place | None, typer.Option(help="Search only here.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Only what this corpus holds.")] = None,
    context: Annotated[int, typer.Option(min=0, max=20, help="Lines shown around each.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="At most so many lines.")] = 50,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    r"""Search bodies of pages and files of code by regular expression, line by line.

    Examples: kwdb grep "tcgen05\.fence" · kwdb grep -i swizzle 128B --only artifacts --context 2
    """
    from kwdb.cli.reading import reading
    from kwdb.grep import Question
    from kwdb.grep import grep as search

    question = Question(patterns, any_, ignore_case, only, corpus, context, limit, timeout)
    with reading() as connection:
        found = search(connection, question)
    if as_json:
        return print_json(asdict(found))
    for line in found.lines:
        for shown in line.before:
            typer.echo(f"{line.id}-  {shown}")
        typer.echo(f"{line.id}:{line.line}:  {line.text}")
        for shown in line.after:
            typer.echo(f"{line.id}-  {shown}")
    more = "" if found.is_complete else f"; stopped by {found.stopped_by}"
    note(f"{len(found.lines)} lines in {found.texts_searched} texts{more}")
