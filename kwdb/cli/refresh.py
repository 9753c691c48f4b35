"""`kwdb refresh`: all repositories brought up to date, unattended, for cron and systemd timers.

First git for all of them, which costs nothing of GitHub's limits, then the API for all; so a
limit that is reached half-way leaves no history unread.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwdb.cli.harvest import github_client, harvest_one, with_hint
from kwdb.cli.output import JsonFlag, note, print_json
from kwdb.config import Settings, load_settings
from kwdb.errors import ConfigError, UserError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ingest.github.client import GitHub

_LOG_BYTES, _OLD_LOGS = 1 << 20, 5
_log = logging.getLogger("kwdb")


@dataclass(slots=True)
class _Outcome:
    """What became of one repository; `problem` is None where all of it is fresh."""

    slug: str
    status: str = "done"
    rows_written: int = 0
    problem: str | None = None
    stages: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "repo": self.slug,
            "status": self.status,
            "message": self.problem,
            "rows_written": self.rows_written,
            "stages": self.stages,
        }


def refresh(
    no_api: Annotated[bool, typer.Option("--no-api", help="Git only.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Read everything again; once a month is plenty.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option(help="Log file; else kwdb.log in the user's log directory.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring all repositories up to date; made for cron: one at a time, never in each other's way.

    What fails for one repository does not stop the others. Exit 0: all is fresh; 3: something is
    missing and will be tried again; 1: nothing could be done, or another refresh is at work.

    Examples: kwdb refresh · kwdb refresh --json · kwdb refresh --full
    """
    from kwdb.db import open_writer, sole_process

    started = time.monotonic()
    settings = load_settings()
    engine = open_writer(settings.database_url)
    with (
        sole_process(engine, settings.cache_dir / "refresh.lock", "refresh"),
        _log_to(log) as place,
        github_client(settings, wanted=not no_api) as client,
    ):
        outcomes = _refresh_all(engine, settings, client, full=full)
    _report(outcomes, round(time.monotonic() - started, 2), place, as_json=as_json)


def _refresh_all(
    engine: "Engine", settings: Settings, client: "GitHub | None", *, full: bool
) -> list[_Outcome]:
    from ingest.job import Options
    from kwdb.db import read_transaction
    from kwdb.queries import list_repositories

    with read_transaction(engine) as connection:
        rows = [row for row in list_repositories(connection) if row["is_followed"]]
    outcomes = {row["id"]: _Outcome(row["slug"]) for row in rows}
    git = Options(command="refresh", full=full)
    api = Options(command="refresh", full=full, git=False)
    for options, asked in ((git, None), *([(api, client)] if client else [])):
        for row in rows:
            run = _harvester(engine, settings, row, options, asked)
            _try(outcomes[row["id"]], settings, run)
    return list(outcomes.values())


def _harvester(
    engine: "Engine", settings: Settings, row: dict[str, Any], options: Any, client: "GitHub | None"
) -> Callable[[], dict[str, Any]]:
    return lambda: harvest_one(engine, settings, row, options, client, say=_log.info)


def _try(outcome: _Outcome, settings: Settings, run: Callable[[], dict[str, Any]]) -> None:
    """Run one half of a repository's harvest and note what became of it."""
    try:
        summary = run()
    except UserError as exc:
        _fail(outcome, with_hint(exc, settings))
    except Exception as exc:  # noqa: BLE001 - a defect in one repository must not stop the others
        _log.exception("%s: this should not happen", outcome.slug)
        _fail(outcome, f"a defect of kwdb, {type(exc).__name__}; the log has its traceback")
    else:
        outcome.rows_written += summary["rows_written"]
        outcome.stages |= summary["stages"]
        if summary["status"] != "done" and outcome.status == "done":
            outcome.status, outcome.problem = summary["status"], summary["message"]


def _fail(outcome: _Outcome, problem: str) -> None:
    outcome.status = "failed"
    outcome.problem = outcome.problem or problem
    _log.error("%s: %s", outcome.slug, problem)


def _report(outcomes: list[_Outcome], seconds: float, log: Path, *, as_json: bool) -> None:
    """Print the outcome, problems beside it, and exit as they demand."""
    problems = [outcome for outcome in outcomes if outcome.problem]
    rows = sum(outcome.rows_written for outcome in outcomes)
    if as_json:
        repositories = [outcome.as_json() for outcome in outcomes]
        print_json(
            {
                "status": _status(outcomes),
                "repositories": repositories,
                "rows_written": rows,
                "seconds": seconds,
                "log": str(log),
            }
        )
    elif problems or sys.stderr.isatty():  # cron mails whatever is said
        fresh = f"{len(outcomes) - len(problems)} of {len(outcomes)} repositories fresh"
        note(f"{fresh}, {rows} rows written in {seconds} s; log: {log}")
    for outcome in problems:
        note(f"kwdb: {outcome.slug}: {outcome.problem}")
    if problems:
        raise typer.Exit(1 if _status(outcomes) == "failed" else 3)


def _status(outcomes: list[_Outcome]) -> str:
    found = {outcome.status for outcome in outcomes}
    if found <= {"done"}:
        return "done"
    return "failed" if found == {"failed"} else "incomplete"


@contextmanager
def _log_to(path: Path | None) -> Iterator[Path]:
    """Let what is said go to a file that turns over at 1 MiB; five old ones are kept.

    Raises:
        ConfigError: the file cannot be written.
    """
    from logging.handlers import RotatingFileHandler

    from platformdirs import user_log_dir

    place = path or Path(user_log_dir("kwdb")) / "kwdb.log"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(place, "a", _LOG_BYTES, _OLD_LOGS, encoding="utf-8")
    except OSError as exc:
        said = f"cannot write {place}: {exc.strerror}; choose another with --log"
        raise ConfigError(said) from exc
    form = logging.Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    form.converter = time.gmtime
    handler.setFormatter(form)
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    logging.raiseExceptions = False  # a full disk under the log is no reason to stop
    try:
        yield place
    finally:
        _log.removeHandler(handler)
        handler.close()
