"""Commands that decide on pull requests: `kwdb classify --all` and `kwdb triage`."""

import enum
import getpass
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwdb.cli.output import JsonFlag, note, print_json
from kwdb.config import load_settings

if TYPE_CHECKING:
    from kwdb.store.verdicts import RepositoryRow


class Decision(enum.StrEnum):
    """What a person may decide."""

    include = "include"
    exclude = "exclude"
    defer = "defer"


def classify_all(*, dry_run: bool, as_json: bool) -> None:
    """Decide again on every stored pull request."""
    from ingest.reclassify import reclassify
    from kwdb.db import open_writer, read_transaction
    from kwdb.queries import list_repositories

    settings = load_settings()
    engine = open_writer(settings.database_url)
    with read_transaction(engine) as connection:
        chosen = [_repository(row) for row in list_repositories(connection)]
    found = asdict(reclassify(engine, settings, chosen, dry_run=dry_run)) | {"dry_run": dry_run}
    if as_json:
        return print_json(found)
    for name in ("seen", "without_diffs", "rows_written"):
        typer.echo(f"{name}  {found[name]}")
    for name in ("decisions", "tags_added", "tags_removed"):
        shown = ", ".join(f"{what} {count}" for what, count in found[name].most_common())
        typer.echo(f"{name}  {shown or 'none'}")
    for row in found["examples"]:
        old, new = row["decision"]
        tags = [*(f"+{name}" for name in row["added"]), *(f"-{name}" for name in row["removed"])]
        typer.echo(f"{row['id']}  {old} -> {new}  {' '.join(tags)}  {row['title']}")


def _repository(row: dict[str, Any]) -> "RepositoryRow":
    from kwdb.store.verdicts import RepositoryRow

    names = ("id", "slug", "full_name", "landing", "default_branch")
    return RepositoryRow(**{name: row[name] for name in names})


def triage(
    name: Annotated[str, typer.Argument(metavar="ID", help="Page id, OWNER/NAME#N or SLUG#N.")],
    decision: Annotated[Decision | None, typer.Argument(help="What you decide.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why; needed with a decision.")] = None,
    by: Annotated[str | None, typer.Option(help="Who decides; else the login name.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Give it back to the rules.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Decide on a pull request yourself; no rule overrides it.

    Examples: kwdb triage vllm#20646 exclude --reason "docs only" · kwdb triage vllm#20646 --undo
    """
    if undo == (decision is not None) or (not undo and not (reason or "").strip()):
        raise typer.BadParameter("give a decision with --reason TEXT, or --undo alone")
    from ingest.reclassify import undo_decision
    from kwdb.db import explained, open_writer, read_transaction, write_transaction
    from kwdb.queries import find_repository, get_pull_request
    from kwdb.store.verdicts import store_persons_decision

    engine = open_writer(load_settings().database_url)
    with read_transaction(engine) as connection:
        row = get_pull_request(connection, name)
        repository = _repository(find_repository(connection, row["full_name"]) or {})
    who = by or getpass.getuser()
    with explained(engine):
        if decision is None:
            outcome = undo_decision(engine, repository, row["id"])
        else:
            outcome = decision.value
            with write_transaction(engine) as connection:
                store_persons_decision(
                    connection, repository, row["id"], outcome, str(reason).strip(), who
                )
    shown = f"{repository.slug}#{row['number']}"
    if as_json:
        return print_json({"id": shown, "decision": outcome, "by": "rules" if undo else who})
    note(f"{shown}: {outcome}, decided by {'the rules' if undo else who}")
