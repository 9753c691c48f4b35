"""The decision on a change: a sum of weighted evidence against two thresholds.

Paths say most, titles correct them, labels and changed lines have the last word. A change without
known paths is judged by its title alone, which then counts for more (`title_alone`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ingest.classify.diff import FileDiff
from ingest.classify.edits import functional_lines
from ingest.classify.gate import Gate
from ingest.classify.paths import PathClass, path_class
from ingest.classify.patterns import Fragment
from ingest.classify.rules import RULES_DIR, Rule, read_rule
from ingest.classify.source import read_source
from ingest.classify.texts import MAX_TITLE
from kwdb.records import Change, Evidence

_MERGE = re.compile(r"Merge pull request #\d+ from ")


@dataclass(frozen=True, slots=True)
class Sign:
    """One piece of evidence for (weight above 0) or against the change being kernel work."""

    weight: float
    rule: str
    reason: str
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of triage, before tags."""

    decision: str
    sign: Sign


@dataclass(frozen=True, slots=True)
class TriageTable:
    """The rules and numbers of triage.yaml."""

    rules: tuple[Rule, ...]
    numbers: dict[str, float]
    reasons: dict[str, str]


@lru_cache(maxsize=1)
def triage_table() -> TriageTable:
    """Return triage.yaml, read on the first call.

    Raises:
        InvalidRecordError: a rule of the file cannot be used.
    """
    source = read_source(RULES_DIR / "triage.yaml")
    rules = tuple(read_rule(source, row, {}) for row in source.section("rules", list))
    numbers = {name: float(value) for name, value in source.section("numbers", dict).items()}
    return TriageTable(rules, numbers, dict(source.section("reasons", dict)))


def decide(change: Change, files: tuple[FileDiff, ...] | None) -> Decision:
    """Return include, exclude or defer for `change` and the sign that weighed most in it.

    `files` are the changed lines of its diff, None where there is no diff.
    """
    numbers = triage_table().numbers
    signs = [*_path_signs(change.paths), *_word_signs(change), *_diff_signs(files)]
    total = sum(sign.weight for sign in signs)
    if total >= numbers["include"]:
        return Decision("include", max(signs, key=_weight))
    outcome = "defer" if total >= numbers["defer"] else "exclude"
    against = min(signs, key=_weight, default=None)
    if against is None or against.weight >= 0:
        return Decision(outcome, _silence(signs))
    return Decision(outcome, against)


def _weight(sign: Sign) -> float:
    return sign.weight


def _silence(signs: list[Sign]) -> Sign:
    best = max(signs, key=_weight, default=None)
    if best is None:
        return Sign(0.0, "no-sign", triage_table().reasons["no-sign"], None)
    return Sign(best.weight, "weak-signs", triage_table().reasons["weak-signs"], best.evidence)


def _path_signs(paths: tuple[str, ...]) -> Iterator[Sign]:
    """The heaviest class of path counts, less so where few of the changed code files have it."""
    table = triage_table()
    if not paths:
        return
    classed = [(path_class(path), path) for path in paths]
    best, path = min(classed, key=lambda pair: (-pair[0].weight, pair[1]))
    if best.weight <= 0:
        reason = table.reasons["no-kernel-path"]
        yield Sign(0.0, best.rule, reason, Evidence("path", path, path=path))
        return
    share = _share(best.weight, [found for found, _ in classed])
    floor = table.numbers["device_floor" if best.name == "kernel" else "share_floor"]
    weight = best.weight * (floor + (1 - floor) * share)
    yield Sign(weight, best.rule, table.reasons[best.name], Evidence("path", path, path=path))


def _share(weight: float, classes: list[PathClass]) -> float:
    """The part of the code files whose class weighs at least half of `weight`."""
    code = [found for found in classes if found.weight > 0 or found.name == "other"]
    return sum(found.weight >= weight / 2 for found in code) / max(1, len(code))


@lru_cache(maxsize=1)
def _gate() -> Gate:
    return Gate(triage_table().rules)


def _word_signs(change: Change) -> Iterator[Sign]:
    table = triage_table()
    alone = 1.0 if change.paths else table.numbers["title_alone"]
    for where, text, line in _headings(change):
        speaks_as = "label" if where == "label" else "title"
        for position, fragments in _gate().candidates([text]):
            rule = table.rules[position]
            weight = rule.places.get(speaks_as, 0.0)
            found = _matched(rule, fragments, text) if weight else None
            if found is not None:
                factor = alone if weight > 0 else 1.0
                yield Sign(weight * factor, rule.key, rule.name, Evidence(where, found, line=line))


def _headings(change: Change) -> Iterator[tuple[str, str, int | None]]:
    """Title and labels; the subject of a merge names a branch, its body begins with the title."""
    yield "title", change.title[:MAX_TITLE], None
    if _MERGE.match(change.title):
        lines = change.body[:MAX_TITLE].split("\n")
        line = next((number for number, text in enumerate(lines, 1) if text.strip()), None)
        if line is not None:
            yield "body", lines[line - 1], line
    for label in change.labels:
        yield "label", label, None


def _matched(rule: Rule, fragments: list[tuple[Fragment, list[int]]], text: str) -> str | None:
    for fragment, _ in fragments:
        match = fragment.regex.search(text)
        if match and match[0]:
            return None if rule.unless and rule.unless.search(text) else match[0]
    return None


def _diff_signs(files: tuple[FileDiff, ...] | None) -> Iterator[Sign]:
    """A diff can take a change out: nothing but comments, includes, layout or deletions."""
    kernel_files = [file for file in files or () if path_class(file.path).weight > 0]
    if not kernel_files:
        return
    if all(file.is_removed for file in kernel_files):
        yield _against("only-removed", kernel_files[0])
    elif not any(functional_lines(file) for file in kernel_files):
        yield _against("only-layout", kernel_files[0])


def _against(reason: str, file: FileDiff) -> Sign:
    table = triage_table()
    line = next((line for line in file.lines if line.text.strip()), None)
    evidence = Evidence("diff", line.text, line=line.number, path=file.path) if line else None
    return Sign(table.numbers[reason], reason, table.reasons[reason], evidence)
