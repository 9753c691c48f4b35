"""Commands about the database itself: init, and the group `db`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kwdb.cli.output import JsonFlag, note, print_json
from kwdb.config import load_settings
from kwdb.errors import UserError

app = typer.Typer(help="The database itself.", no_args_is_help=True)


def init(as_json: JsonFlag = False) -> None:
    """Create or upgrade the database and load the seeds; doing it again changes nothing."""
    from kwdb import migrate
    from kwdb.db import open_writer, shown_url
    from kwdb.seed import load_seeds

    url = load_settings().database_url
    migrate.upgrade(url)
    written = load_seeds(open_writer(url))
    total = sum(written.values())
    if as_json:
        return print_json({"database": shown_url(url), "files": written, "rows_written": total})
    note(f"{shown_url(url)} is ready; {total} rows of seeds written")


@app.command()
def upgrade() -> None:
    """Bring the database to the revision of this program."""
    from kwdb import migrate
    from kwdb.sqlite import SCHEMA_REVISION

    found = migrate.upgrade(load_settings().database_url)
    note(f"revision {SCHEMA_REVISION}, was {found or 'empty'}")


@app.command()
def current(as_json: JsonFlag = False) -> None:
    """Show the revision of the database and the one that this program needs."""
    from kwdb import migrate
    from kwdb.sqlite import SCHEMA_REVISION

    found = migrate.current(load_settings().database_url)
    if as_json:
        return print_json({"revision": found, "needed": SCHEMA_REVISION})
    typer.echo(f"{found or 'none'} (needed: {SCHEMA_REVISION})")


@app.command()
def check(as_json: JsonFlag = False) -> None:
    """Check revision, file and foreign keys; exit 1 when something is wrong."""
    from kwdb.db import open_reader, read_transaction
    from kwdb.integrity import find_damage

    with read_transaction(open_reader(load_settings().database_url)) as connection:
        damage = find_damage(connection)
    if as_json:
        print_json({"damage": damage})
    for line in damage:
        note(line)
    if damage:
        raise typer.Exit(1)
    note("no damage found")


@app.command()
def dump(
    canonical: Annotated[  # noqa: ARG001 - the one form there is; named for scripts
        bool, typer.Option("--canonical", help="Natural keys, sorted: equal data, equal bytes.")
    ] = True,
) -> None:
    """Write all knowledge to stdout, one JSON object a line."""
    from kwdb.db import open_reader, read_transaction
    from kwdb.dump import canonical_dump

    with read_transaction(open_reader(load_settings().database_url)) as connection:
        sys.stdout.buffer.writelines(canonical_dump(connection))
        sys.stdout.buffer.flush()


@app.command()
def copy(target: Annotated[str, typer.Argument(help="URL of the database to fill.")]) -> None:
    """Copy everything into another, empty database, on either engine.

    Example: kwdb db copy postgresql://kwdb@localhost/kwdb
    """
    from kwdb.config import complete_url
    from kwdb.copying import copy_database

    rows = copy_database(load_settings().database_url, complete_url(target))
    note(f"{rows} rows copied")


@app.command()
def backup(file: Annotated[Path, typer.Argument(help="File to write; must not exist.")]) -> None:
    """Write a consistent copy of a SQLite database to a file, while others use it."""
    from kwdb.copying import backup_sqlite

    if file.exists():
        raise UserError(f"{file} exists: choose another name or remove it")
    backup_sqlite(load_settings().database_url, file)
    note(f"{file} written")
