"""`kwdb claims`, and what `kwdb explain` says of one claim."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwdb.cli.output import JsonFlag, cell, note, print_fields, print_json, print_table

if TYPE_CHECKING:
    from sqlalchemy import Connection

_SHOWN = "id gpu op dtype shape variant metric value unit_as_written baseline_value".split()
_EXPLAINED = (
    "origin status status_reason status_by metric value_text value value_max unit_as_written "
    "value_normalized unit qualifier statistic direction role baseline_value baseline_label "
    "ratio_of gpu architecture gpu_count dtype op variant shape cache_state timing_scope "
    "comparable_key claimed_on source_url page extractor retired_at"
).split()


def claims(
    gpu: Annotated[str | None, typer.Option(help="B200, H100 …, in any spelling.")] = None,
    op: Annotated[str | None, typer.Option(help="Operation, e.g. gemm or ttft.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Number format, e.g. nvfp4.")] = None,
    metric: Annotated[str | None, typer.Option(help="latency, speedup, bandwidth …")] = None,
    status: Annotated[str | None, typer.Option(help="unreviewed, disputed …")] = None,
    origin: Annotated[str | None, typer.Option(help="reported, extracted or measured.")] = None,
    repo: Annotated[str | None, typer.Option(help="Repository slug or owner/name.")] = None,
    page: Annotated[str | None, typer.Option(help="Page that makes or bears them.")] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Only the best of each set of comparable figures.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many claims.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List performance claims, newest first, or with --best the leaders.

    Examples: kwdb claims --gpu B200 --metric throughput_tflops · kwdb claims --best --gpu H100
    """
    from kwdb import claim_queries
    from kwdb.cli.reading import reading

    filters = claim_queries.ClaimFilters(gpu, op, dtype, metric, status, origin, repo, page)
    ask = claim_queries.best_claims if best else claim_queries.list_claims
    with reading() as connection:
        total, found = ask(connection, filters, limit=limit)
    if as_json:
        return print_json({"total": total, "claims": found})
    _print_claims(found, best=best)
    note(f"{len(found)} of {total} claims")


def _print_claims(found: list[dict[str, Any]], *, best: bool) -> None:
    columns = [*_SHOWN, "role", "status", *(["claims_compared"] if best else []), "source_url"]
    if found:
        rows = [[_short(row[name], name) for name in columns] for row in found]
        print_table([name.replace("_as_written", "") for name in columns], rows)


def _short(value: Any, name: str) -> str:
    text = cell(value)
    most = 60 if name == "source_url" else 28
    return text if len(text) <= most else text[: most - 1] + "…"


def explain_claim(connection: "Connection", key: int, *, as_json: bool) -> None:
    """Print what a claim says, how we know each part of it, and where it stands."""
    from kwdb import claim_queries

    found = claim_queries.explain_claim(connection, key)
    if as_json:
        return print_json(found)
    typer.echo(f"claim {key}\n")
    print_fields({name: found[name] for name in _EXPLAINED})
    for one in found["fields"]:
        typer.echo(f"field  {one['field']}: {one['basis']}, from the {one['place']}")
    for one in found["relations"]:
        typer.echo(_relation(one))
    place = "title" if found["evidence_line"] == 0 else f"body line {found['evidence_line']}"
    typer.echo(f"\nevidence, {place}:\n{found['evidence'] or ''}")


def _relation(one: dict[str, Any]) -> str:
    said = f"claim {one['claim_id']} {one['relation']} claim {one['other_claim_id']}"
    details = [one["differing_fields"], one["evidence"], f"by {one['decided_by']}"]
    return "relation  " + "; ".join([said, *(text for text in details if text)])
