"""Run the rules of the check, all of them or some, on one database."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import sqlalchemy as sa

from kwdb.check import claims, contests, links, pages, vocabulary
from kwdb.check.rules import ALL_CORPORA, SEVERITIES, Finding, Rule, Scope
from kwdb.errors import UnknownValueError
from kwdb.models import corpora

RULES: Final[tuple[Rule, ...]] = (
    *vocabulary.RULES,
    *pages.RULES,
    *links.RULES,
    *claims.RULES,
    *contests.RULES,
)


def find_rules(ids: Collection[str]) -> list[Rule]:
    """Return the rules of these ids, all where none is named.

    Raises:
        UnknownValueError: there is no such rule; names the nearest.
    """
    known = {rule.id: rule for rule in RULES}
    for id_ in ids:
        if id_ not in known:
            raise UnknownValueError("rule", id_, known)
    return [known[id_] for id_ in ids] if ids else list(RULES)


def run_check(
    connection: sa.Connection, rules: Iterable[Rule] = RULES, corpus: str | None = None
) -> Iterator[Finding]:
    """Yield what the rules find, in the order of the rules; nothing where all is well.

    Raises:
        UnknownValueError: there is no such corpus.
    """
    scope = Scope(connection, _corpus_key(connection, corpus))
    for rule in rules:
        for id_, seen in rule.cases(scope):
            message = f"{rule.says}: {seen}" if seen else rule.says
            yield Finding(rule.id, rule.severity, id_, message, rule.advice)


def _corpus_key(connection: sa.Connection, name: str | None) -> int:
    if name is None:
        return ALL_CORPORA
    query = sa.select(corpora.c.name, corpora.c.id)
    found = {row.name: row.id for row in connection.execute(query)}
    if name not in found:
        raise UnknownValueError("corpus", name, found)
    return int(found[name])


def count_by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """Return severity -> number of findings, the worst first, zeros included."""
    seen = Counter(finding.severity for finding in findings)
    return {severity: seen[severity] for severity in SEVERITIES}
