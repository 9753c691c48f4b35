"""`kwdb import` and `kwdb export`: knowledge in the forms that others keep it in."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from kwdb.cli.harvest import progress
from kwdb.cli.output import JsonFlag, note, print_json
from kwdb.config import load_settings

importing = typer.Typer(help="Bring knowledge in.", no_args_is_help=True)
exporting = typer.Typer(help="Write knowledge out.", no_args_is_help=True)

_SHOWN_REMARKS = 40


@importing.command("kernelwiki")
def import_kernelwiki(
    directory: Annotated[Path, typer.Argument(help="Directory that holds wiki/ and sources/.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the corpus; else that of the directory.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Import a KernelWiki or a fork of it: pages, ledgers, vocabulary and everything beside them.

    Doing it again with nothing changed writes nothing. Corpora live beside each other and beside
    the seeds; whatever cannot be used is kept as it is and named in the report. Exit 3 when a file
    could not be read.

    Examples: kwdb import kernelwiki ~/KernelWiki · kwdb import kernelwiki . --name rocm --json
    """
    from ingest.kernelwiki.importing import import_tree
    from kwdb.db import open_writer

    engine = open_writer(load_settings().database_url)
    with progress(name or directory.name) as report:
        summary = import_tree(engine, directory, name, report)
    if as_json:
        print_json(asdict(summary))
    else:
        _print_import(asdict(summary))
    if not summary.is_complete:
        raise typer.Exit(3)


def _print_import(found: dict[str, Any]) -> None:
    typer.echo(f"corpus {found['corpus']}: {found['files']} files")
    for name in ("kinds", "pages", "page_types", "read", "rows"):
        typer.echo(f"{name.replace('_', ' '):<11}{_counts(found[name])}")
    remarks = found["remarks"]
    for remark in remarks[:_SHOWN_REMARKS]:
        typer.echo(f"{remark['kind']}  {remark['path']}: {remark['reason']}")
    if len(remarks) > _SHOWN_REMARKS:
        typer.echo(f"… {len(remarks) - _SHOWN_REMARKS} more remarks: --json shows all")
    note(f"{found['rows_written']} rows written")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items()) or "-"


@exporting.command("kernelwiki")
def export_kernelwiki(
    directory: Annotated[Path, typer.Argument(help="New directory to write.")],
    corpus: Annotated[
        str | None, typer.Option(help="Corpus to write; else every page as it is served.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a KernelWiki: imported pages byte for byte, the rest in the same form, with indices.

    Harvested pull requests get their true dates, full commit ids and the evidence of every tag.

    Examples: kwdb export kernelwiki out --corpus KernelWiki · kwdb export kernelwiki all
    """
    from ingest.kernelwiki.exporting import export_tree
    from kwdb.cli.reading import reading

    with reading() as connection:
        written = export_tree(connection, directory, corpus)
    if as_json:
        return print_json(asdict(written))
    typer.echo(f"{directory}: {_counts(written.files)}")
    for path, other in written.renamed:
        typer.echo(f"{path} was taken: written as {other}")
