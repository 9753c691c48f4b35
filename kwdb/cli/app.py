"""The `kwdb` command and its one place where errors become messages and exit codes.

Exit codes: 0 done (also when nothing was found), 1 an error with one message, 2 wrong usage,
3 done but incomplete. Commands import what they need when they run, so that `--help` is quick and
nothing needs a GPU library or a driver.
"""

import os
import signal
import sys

import typer

from kwdb import __version__
from kwdb.cli import (
    bench,
    check,
    claims,
    database,
    diagnose,
    exchange,
    grep,
    harvest,
    lines,
    mcp,
    reading,
    refresh,
    triage,
)
from kwdb.errors import UserError

app = typer.Typer(
    name="kwdb",
    help="What is known about GPU-kernel optimisation, and how far each fact can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kwdb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """What is known about GPU-kernel optimisation, and how far each fact can be trusted."""


app.command("init")(database.init)
app.add_typer(database.app, name="db")
app.add_typer(exchange.importing, name="import")
app.add_typer(exchange.exporting, name="export")
app.command("ingest")(harvest.ingest)
app.command("refresh")(refresh.refresh)
for _command in (
    reading.search,
    reading.show,
    reading.resolve,
    reading.explain,
    reading.status,
    reading.sql,
):
    app.command(_command.__name__)(_command)
app.command("grep")(grep.grep)
app.command("classify")(lines.classify)
app.command("extract")(lines.extract)
app.command("check")(check.check)
app.command("diagnose")(diagnose.diagnose)
app.command("claims")(claims.claims)
app.command("mcp")(mcp.mcp)
app.command("triage")(triage.triage)
app.command("bench")(bench.bench)
app.command("bench-doctor")(bench.bench_doctor)
exchange.importing.command("bench")(bench.import_bench)


class _Interrupted(BaseException):
    """Ctrl-C; typer would end a KeyboardInterrupt with 130 and without a word."""


def _interrupt(*_: object) -> None:
    raise _Interrupted


def main() -> None:
    """Run the command line of this process."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        app()
    except UserError as exc:
        sys.exit(_fail(str(exc)))
    except _Interrupted:
        sys.exit(_fail("interrupted; what was stored stays, the same command goes on from there"))
    except BrokenPipeError:
        # The reader has gone, e.g. `kwdb db dump | head`; nothing may be flushed to it any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _fail(message: str) -> int:
    sys.stderr.write(f"kwdb: {message}\n")
    return 1
