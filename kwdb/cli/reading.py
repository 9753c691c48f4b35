"""Commands that read: search, show, resolve, explain, status, sql."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwdb.cli import claims
from kwdb.cli.output import (
    JsonFlag,
    note,
    print_csv,
    print_fields,
    print_json,
    print_markdown,
    print_table,
)
from kwdb.config import load_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PAGE_FIELDS = (
    "type repo number landed_state landed_at decision decision_reason published_on confidence "
    "reproducibility url summary"
).split()

_REASONS = {
    "family": " by --exact: known by family only",
    "unknown": ": no architecture known",
}


@contextmanager
def reading() -> Iterator["Connection"]:
    """Open the database of the settings for one consistent reading."""
    from kwdb.db import open_reader, read_transaction

    engine = open_reader(load_settings().database_url)
    try:
        with read_transaction(engine) as connection:
            yield connection
    finally:
        engine.dispose()


def parse_day(text: str) -> date:
    """Read a day, YYYY-MM-DD; anything else is wrong usage."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError as exc:
        raise typer.BadParameter(f"{text!r} is no day of the form YYYY-MM-DD") from exc


Day = Annotated[
    date | None,
    typer.Option(parser=parse_day, metavar="YYYY-MM-DD", help="Not before this day."),
]


def search(
    text: Annotated[list[str], typer.Argument(help="Words; any text is a query.")],
    type_: Annotated[str | None, typer.Option("--type", help="kernel, wiki-kernel, pr …")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Tag, alias or facet:name; repeat.")] = None,
    repo: Annotated[str | None, typer.Option(help="Repository slug or owner/name.")] = None,
    architecture: Annotated[str | None, typer.Option(help="sm100, B200, Hopper …")] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Leave out pages that only name a family.")
    ] = False,
    language: Annotated[str | None, typer.Option(help="cuda-cpp, triton, cute-dsl …")] = None,
    symptom: Annotated[str | None, typer.Option(help="memory-bound, tail-effect …")] = None,
    confidence: Annotated[str | None, typer.Option(help="verified, source-reported …")] = None,
    since: Day = None,
    has_claims: Annotated[
        bool, typer.Option("--has-claims", help="Only pages with performance claims.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many results.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Find pages by words, with aliases applied.

    Examples: kwdb search "2CTA nvfp4 moe" · kwdb search swizzle --repo cutlass --since 2026-01-01
    """
    from kwdb.search import Filters, search_pages

    filters = Filters(
        type_, tuple(tag or ()), repo, architecture, exact, language, symptom, confidence, since,
        has_claims,
    )  # fmt: skip
    with reading() as connection:
        result = search_pages(connection, " ".join(text), filters, limit=limit)
    if as_json:
        return print_json(asdict(result))
    for hit in result.results:
        typer.echo(f"{hit.id}  [{hit.type}]  {hit.title}")
        typer.echo(f"    {hit.snippet}")
    if result.corrected:
        note(f"looked for {result.corrected!r}")
    about = "" if result.total_is_exact else "about "
    note(f"{len(result.results)} of {about}{result.total} pages")
    for reason, left_out in result.excluded.items():
        if left_out:
            note(f"{left_out} more pages left out{_REASONS[reason]}")


def show(
    name: Annotated[str, typer.Argument(help="Page id, OWNER/NAME#N or SLUG#N.")],
    follow_sources: Annotated[
        bool, typer.Option("--follow-sources", help="Add the pages it cites.")
    ] = False,
    include_code: Annotated[
        bool, typer.Option("--include-code", help="Add the files of code behind it.")
    ] = False,
    corpus: Annotated[str | None, typer.Option(help="Show it as this corpus has it.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a page or pull request with its tags, commits, paths and claims.

    Examples: kwdb show pr-deepgemm-304 · kwdb show vllm-project/vllm#20646 --json
    """
    from kwdb import queries

    with reading() as connection:
        found = queries.show(
            connection,
            name,
            corpus=corpus,
            follow_sources=follow_sources,
            include_code=include_code,
        )
    if as_json:
        return print_json(found)
    typer.echo(f"{found['id']}  {found.get('title') or ''}\n")
    print_fields({field: found.get(field) for field in _PAGE_FIELDS})
    _print_lists(found)
    if found.get("body"):
        typer.echo(f"\n{found['body']}")
    _print_code(found.get("code"))


def _print_code(files: list[dict[str, Any]] | None) -> None:
    if files == []:
        note("no file of code is stored with this page")
    for file in files or ():
        typer.echo(f"\ncode  {file['bundle']}/{file['path']}  sha256 {file['sha256'] or 'missing'}")
        if file["is_cut"]:
            note(f"{file['size_bytes']} bytes, not shown: binary or over the limit of all files")
        elif file["text"] is not None:
            typer.echo(file["text"])


def _print_lists(found: dict[str, Any]) -> None:
    if found["tags"]:
        typer.echo("tags  " + ", ".join(f"{tag['facet']}:{tag['name']}" for tag in found["tags"]))
    for commit in found.get("commits", ()):
        typer.echo(f"{commit['role']}  {commit['sha'][:12]}  {commit['subject']}")
    for version in found.get("versions", ())[1:]:
        typer.echo(f"also in  {version['corpus']}  {version['path']}")
    for source in found.get("sources", ()):
        title = source["title"] or "no such page"
        typer.echo(f"source  {source['id']}  {title}  {source['url'] or ''}")
        for line in (source["excerpt"] or "").splitlines():
            typer.echo(f"        {line}")
    for path in found.get("paths", ()):
        typer.echo(f"path  {path}")
    if (total := found.get("paths_total", 0)) > len(found.get("paths", ())):
        typer.echo(f"path  … {total} in all")


def resolve(
    term: Annotated[str, typer.Argument(help="A word or phrase.")], as_json: JsonFlag = False
) -> None:
    """Say which term of the vocabulary a word or phrase stands for; exit 1 when none.

    Examples: kwdb resolve UMMA · kwdb resolve "cta_group::2" --json
    """
    from kwdb import queries

    with reading() as connection:
        matches = queries.resolve_term(connection, term)
    if as_json:
        print_json({"term": term, "matches": matches})
    elif matches:
        columns = ("tag", "facet", "basis", "alias", "note")
        print_table(columns, ([match[name] for name in columns] for match in matches), widest=90)
    else:
        note(f"nothing known as {term!r}")
    if not matches:
        raise typer.Exit(1)


def explain(
    name: Annotated[str, typer.Argument(help="Page id, OWNER/NAME#N, SLUG#N or claim:N.")],
    as_json: JsonFlag = False,
) -> None:
    """Say why: rule, evidence and place of each tag, decision, landing or claim.

    Examples: kwdb explain pr-vllm-20646 · kwdb explain claim:17
    """
    from kwdb import queries
    from kwdb.claim_queries import claim_number

    with reading() as connection:
        if (key := claim_number(name)) is not None:
            return claims.explain_claim(connection, key, as_json=as_json)
        found = queries.explain(connection, name)
    if as_json:
        return print_json(found)
    typer.echo(f"{found['id']}  {found.get('title') or ''}\n")
    if decision := found.get("decision"):
        landing = ("landed_state", "landed_reason", "landed_at", "api_state", "merged_at")
        print_fields({name: found[name] for name in landing} | decision)
    for commit in found.get("commits", ()):
        typer.echo(
            f"{commit['role']} by rule {commit['rule']}: {commit['sha'][:12]} {commit['subject']}"
        )
    columns = ("facet", "name", "basis", "rule", "evidence", "locator")
    rows = [[_evidence(tag, name) for name in columns] for tag in found["tags"]]
    if rows:
        print_table(columns, rows)


def _evidence(tag: dict[str, Any], name: str) -> Any:
    if name == "evidence" and tag.get("implied_by"):
        return f"implied by {tag['implied_by']}"
    return tag.get(name)


def status(as_json: JsonFlag = False) -> None:
    """Show what is in the database: coverage by repository, gaps, counts."""
    from kwdb import queries

    with reading() as connection:
        found = queries.read_status(connection)
    if as_json:
        return print_json(found)
    repositories = found["repositories"]
    if repositories:
        print_table(list(repositories[0]), (list(row.values()) for row in repositories))
    typer.echo("\n" + ", ".join(f"{count} {name}" for name, count in found["rows"].items()))
    for gap in found["gaps"]:
        typer.echo(f"gap  {gap['repo']} {gap['stage']} {gap['key']}: {gap['reason']}")


class Format(enum.StrEnum):
    """Forms in which rows are printed."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"


def sql(
    query: Annotated[str, typer.Argument(help="One reading SQL statement.")],
    form: Annotated[Format, typer.Option("--format", help="Form of the answer.")] = Format.table,
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 10_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds.")] = 30,
    as_json: JsonFlag = False,
) -> None:
    """Ask the database in SQL; nothing can be written here.

    Example: kwdb sql "SELECT repo, count(*) FROM pr_overview GROUP BY repo" --format markdown
    """
    from kwdb.door import read_only_query

    answer = read_only_query(load_settings().database_url, query, limit=limit, timeout_s=timeout)
    if as_json or form is Format.json:
        names, rows = answer.records()
        print_json({"columns": names, "rows": rows, "is_complete": answer.is_complete})
    elif form is Format.csv:
        print_csv(answer.columns, answer.rows)
    elif form is Format.markdown:
        print_markdown(answer.columns, answer.rows)
    else:
        print_table(answer.columns, answer.rows)
    if not answer.is_complete:
        note(f"cut at {len(answer.rows)} rows: raise --limit or narrow the query")
