"""`kwdb ingest`: harvest repositories, with bars on a terminal and one line a stage elsewhere."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwdb.cli.output import JsonFlag, note, print_json
from kwdb.cli.reading import Day
from kwdb.config import Settings, load_settings
from kwdb.errors import UnknownValueError, UserError
from kwdb.text import without_credentials

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ingest.github.client import GitHub
    from ingest.job import Options

_FULL_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def ingest(
    names: Annotated[
        list[str], typer.Argument(metavar="SLUG|OWNER/NAME|all…", help="What to harvest.")
    ],
    since: Day = None,
    no_api: Annotated[
        bool, typer.Option("--no-api", help="Git only; needs no token and no GitHub API.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Run every stage from its start.")] = False,
    diffs: Annotated[
        bool, typer.Option("--diffs", help="Read changed lines of what was kept or deferred.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Harvest repositories: history, pull requests, tags and pages.

    Twice equals once: what is stored already is not written again. A name of the form OWNER/NAME
    adds a repository that is not known yet. GitHub's API is asked with GITHUB_TOKEN, with the
    token of `gh`, or without any (60 requests an hour); what it does not give is tried again the
    next time, and the exit code is 3.

    Examples: kwdb ingest vllm · kwdb ingest all --no-api · kwdb ingest NVIDIA/cccl
    """
    from ingest.job import Options
    from kwdb.db import open_writer

    started = time.monotonic()
    settings = load_settings()
    engine = open_writer(settings.database_url)
    options = Options(since=since, full=full, diffs=diffs)
    chosen = _choose(engine, names)
    with github_client(settings, wanted=not no_api) as client:
        done, failed = _harvest_each(engine, settings, chosen, options, client)
    if failed and not done:
        raise UserError("; ".join(failed.values()))
    summary = {
        "repositories": done,
        "failed": failed,
        "rows_written": sum(one["rows_written"] for one in done),
        "seconds": round(time.monotonic() - started, 2),
    }
    if as_json:
        print_json(summary)
    else:
        note(f"{summary['rows_written']} rows written in {summary['seconds']} s")
    problems = [*failed.values(), *incomplete(done)]
    for message in problems:
        note(f"kwdb: {message}")
    if problems:
        raise typer.Exit(3)


@contextmanager
def github_client(settings: Settings, *, wanted: bool) -> Iterator["GitHub | None"]:
    """Give a client for GitHub's API with the token that can be found; None where not wanted."""
    if not wanted:
        yield None
        return
    from ingest.github.client import GitHub
    from ingest.github.token import find_token

    with closing(GitHub(settings.github_api_url, find_token(settings))) as client:
        yield client


def incomplete(done: list[dict[str, Any]]) -> list[str]:
    """Say for each harvested repository what is missing of it."""
    return [f"{one['repo']}: {one['message']}" for one in done if one["status"] == "incomplete"]


def _harvest_each(
    engine: "Engine",
    settings: Settings,
    chosen: list[dict[str, Any]],
    options: "Options",
    client: "GitHub | None",
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Harvest one after the other; what fails for one does not stop the others."""
    done: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for repository in chosen:
        try:
            done.append(harvest_one(engine, settings, repository, options, client))
        except UserError as exc:
            failed[repository["slug"]] = f"{repository['slug']}: {with_hint(exc, settings)}"
    return done, failed


def with_hint(error: UserError, settings: Settings) -> str:
    """Return what an error says, and what to do about a remote that does not answer."""
    said = str(error)
    if settings.clone_base.startswith("https://github.com") and said.startswith("git ls-remote"):
        return (
            f"cannot reach GitHub ({said.partition(': ')[2]}); the database stays as it is. "
            "Try again later, or set KWDB_CLONE_BASE to a mirror, e.g. file:///srv/git"
        )
    is_remote = said.startswith(("git ls-remote", "git could not fetch"))
    return (
        f"{said}: check KWDB_CLONE_BASE, now {without_credentials(settings.clone_base)}"
        if is_remote
        else said
    )


def harvest_one(
    engine: "Engine",
    settings: Settings,
    row: dict[str, Any],
    options: "Options",
    client: "GitHub | None",
    say: Callable[[str], None] = note,
) -> dict[str, Any]:
    """Harvest one repository, saying a line for each stage; raises as `ingest.harvest.harvest`."""
    from ingest.harvest import harvest
    from ingest.job import Job
    from kwdb.db import explained, read_transaction
    from kwdb.queries import repository_names
    from kwdb.store.pulls import former_names
    from kwdb.store.verdicts import RepositoryRow

    names = ("id", "slug", "full_name", "landing", "default_branch")
    repository = RepositoryRow(**{name: row[name] for name in names})
    with read_transaction(engine) as connection:
        known_as = repository_names(connection, repository.id)
        former = former_names(connection, repository.id)
    with explained(engine), progress(repository.slug) as report:
        summary = harvest(
            Job(engine, settings, repository, known_as, options, report, say, client, former)
        )
    for stage, counts in summary["stages"].items():
        if "failed" in counts:
            continue  # said once, at the end
        shown = ", ".join(f"{name} {value}" for name, value in counts.items())
        say(f"{repository.slug:<12} {stage:<9} {shown}")
    return summary


def _choose(engine: "Engine", names: list[str]) -> list[dict[str, Any]]:
    """Return the repositories meant, each once, adding OWNER/NAMEs that are new.

    Raises:
        UnknownValueError: a slug that is not known; nothing is added then.
    """
    from kwdb.db import read_transaction
    from kwdb.queries import find_repository, list_repositories

    with read_transaction(engine) as connection:
        everything = list_repositories(connection)
        found = {name: find_repository(connection, name) for name in names if name != "all"}
    for name, row in found.items():
        if row is None and not _FULL_NAME.fullmatch(name):
            known = [*(repository["slug"] for repository in everything), "all", "OWNER/NAME"]
            raise UnknownValueError("repository", name, known)
    chosen = [row or _add(engine, name) for name, row in found.items()]
    _follow(engine, chosen)
    if "all" in names:
        chosen = [*(row for row in everything if row["is_followed"]), *chosen]
    return list({row["id"]: row for row in chosen}.values())


def _follow(engine: "Engine", chosen: list[dict[str, Any]]) -> None:
    """From now on `all` means these, too; until then an import had only named them."""
    from kwdb.db import write_transaction
    from kwdb.store.harvest import follow_repositories

    if named := [row["id"] for row in chosen if not row["is_followed"]]:
        with write_transaction(engine) as connection:
            follow_repositories(connection, named)


def _add(engine: "Engine", full_name: str) -> dict[str, Any]:
    """Add a repository, but only once its remote has answered."""
    from ingest.git import list_remote
    from kwdb.db import write_transaction
    from kwdb.queries import find_repository
    from kwdb.store.harvest import add_repository

    settings = load_settings()
    try:
        list_remote(f"{settings.clone_base}/{full_name}", None)
    except UserError as exc:
        raise UserError(f"{full_name}: {with_hint(exc, settings)}") from exc
    with write_transaction(engine) as connection:
        add_repository(connection, full_name.rpartition("/")[2].lower(), full_name, "squash")
        return find_repository(connection, full_name) or {}


@contextmanager
def progress(slug: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Give a callback that draws bars on a terminal and stays silent elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _stage, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(f"{slug} {stage}", total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report
