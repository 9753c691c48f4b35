"""`kwdb check`: what is wrong with the knowledge, for people and for continuous integration."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kwdb.cli.output import JsonFlag, note, print_json

if TYPE_CHECKING:
    from kwdb.check import Finding, Rule


def check(
    rule: Annotated[
        list[str] | None, typer.Option(help="Only this rule; repeat for several.")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Only the pages of this corpus.")] = None,
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules and stop.")] = False,
    baseline: Annotated[
        Path | None, typer.Option(help="Report only what this file does not list.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write what is amiss now to the baseline.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many lines a rule.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Check the knowledge: sources, labels, links, claims; exit 1 when there are errors.

    With --baseline it exits 1 when there are errors or warnings that the file does not list.

    Examples: kwdb check · kwdb check --corpus KernelWiki --json · kwdb check --list
    · kwdb check --baseline known.json --write, later kwdb check --baseline known.json
    """
    from ingest.kernelwiki.checks import RULES as CORPUS_RULES
    from kwdb.check import RULES, find_rules, run_check
    from kwdb.cli.reading import reading

    if write and baseline is None:
        raise typer.BadParameter("--write goes with --baseline FILE")
    rules = find_rules(rule or [], (*RULES, *CORPUS_RULES))
    if list_rules:
        return _print_rules(rules, as_json=as_json)
    with reading() as connection:
        findings = list(run_check(connection, rules, corpus))
    if baseline is not None:
        return _against(baseline, findings, rules, write=write, limit=limit, as_json=as_json)
    _print_findings(findings, rules, limit, as_json=as_json)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _against(
    file: Path,
    findings: list["Finding"],
    rules: Sequence["Rule"],
    *,
    write: bool,
    limit: int,
    as_json: bool,
) -> None:
    from kwdb.check.baseline import beyond, read_baseline, write_baseline

    if write:
        return note(f"{write_baseline(file, findings)} errors and warnings written to {file}")
    new, gone = beyond(findings, read_baseline(file))
    _print_findings(new, rules, limit, as_json=as_json)
    if gone:
        note(f"{gone} of {file} are gone: tighten it with --write")
    if new:
        raise typer.Exit(1)


def _print_rules(rules: Sequence["Rule"], *, as_json: bool) -> None:
    fields = ("id", "severity", "says", "advice")
    shown = [{name: getattr(rule, name) for name in fields} for rule in rules]
    if as_json:
        return print_json({"rules": shown})
    for one in shown:
        typer.echo(f"{one['severity']:8} {one['id']}: {one['says']}; {one['advice']}")


def _print_findings(
    findings: list["Finding"], rules: Sequence["Rule"], limit: int, *, as_json: bool
) -> None:
    from kwdb.check import count_by_severity

    counts = count_by_severity(findings)
    per_rule = Counter(finding.rule for finding in findings)
    if as_json:
        rows = [asdict(one) for one in findings]
        return print_json({"counts": counts, "by_rule": per_rule, "findings": rows})
    seen: Counter[str] = Counter()
    for one in findings:
        seen[one.rule] += 1
        if seen[one.rule] <= limit:
            typer.echo(f"{one.severity}: {one.id}: {one.message} [{one.rule}]; {one.advice}")
        elif seen[one.rule] == per_rule[one.rule]:
            more = per_rule[one.rule] - limit
            typer.echo(f"{one.severity}: … {more} more [{one.rule}]; --limit or --json shows them")
    said = ", ".join(f"{count} {severity}s" for severity, count in counts.items())
    note(f"{len(rules)} rules: {said}")
