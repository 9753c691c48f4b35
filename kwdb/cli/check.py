"""`kwdb check`: what is wrong with the knowledge, for people and for continuous integration."""

from dataclasses import asdict
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
    as_json: JsonFlag = False,
) -> None:
    """Check the knowledge: sources, labels, links, claims; exit 1 when there are errors.

    Examples: kwdb check · kwdb check --rule link-dangling --json · kwdb check --list
    """
    from kwdb.check import find_rules, run_check
    from kwdb.cli.reading import reading

    rules = find_rules(rule or [])
    if list_rules:
        return _print_rules(rules, as_json=as_json)
    with reading() as connection:
        findings = list(run_check(connection, rules, corpus))
    _print_findings(findings, len(rules), as_json=as_json)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _print_rules(rules: list["Rule"], *, as_json: bool) -> None:
    fields = ("id", "severity", "says", "advice")
    shown = [{name: getattr(rule, name) for name in fields} for rule in rules]
    if as_json:
        return print_json({"rules": shown})
    for one in shown:
        typer.echo(f"{one['severity']:8} {one['id']}: {one['says']}; {one['advice']}")


def _print_findings(findings: list["Finding"], rules: int, *, as_json: bool) -> None:
    from kwdb.check import count_by_severity

    counts = count_by_severity(findings)
    if as_json:
        return print_json({"counts": counts, "findings": [asdict(one) for one in findings]})
    for one in findings:
        typer.echo(f"{one.severity}: {one.id}: {one.message} [{one.rule}]; {one.advice}")
    said = ", ".join(f"{count} {severity}s" for severity, count in counts.items())
    note(f"{rules} rules: {said}")
