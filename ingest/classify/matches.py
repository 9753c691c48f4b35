"""Where the rules of the tag tables match a change: title, body, paths and changed lines.

One mention is enough in a title. In a diff a rule asks for a number of changed lines, in a release
of thousands of lines and hundreds of files for more of both: what is said once there is not its
topic.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from ingest.classify.diff import FileDiff
from ingest.classify.edits import is_comment
from ingest.classify.gate import Gate
from ingest.classify.paths import is_silent, speaking
from ingest.classify.rules import Rule, tag_tables
from ingest.classify.texts import MAX_TITLE, quieted
from kwdb.records import PLACES, Change, Evidence

_LINES_PER_MENTION, _PATHS_PER_MENTION = 700, 50
MAX_LINE = 4_000  # characters of one line
_REACH = 300  # characters on either side of a match where `unless` and `context` look


@dataclass(frozen=True, slots=True)
class Match:
    """What one rule found in one place, with its weight."""

    rule: Rule
    facet: str
    weight: float
    evidence: Evidence


@lru_cache(maxsize=1)
def _rules() -> tuple[tuple[str, Rule], ...]:
    return tuple((table.facet, rule) for table in tag_tables() for rule in table.rules)


@lru_cache(maxsize=len(PLACES))
def _gate(where: str) -> tuple[Gate, tuple[int, ...]]:
    """The gate of the rules that read `where`, and their numbers."""
    numbers = tuple(at for at, (_, rule) in enumerate(_rules()) if where in rule.places)
    return Gate([_rules()[number][1] for number in numbers]), numbers


def find_matches(change: Change, files: tuple[FileDiff, ...] | None) -> list[Match]:
    """Return every rule that matches `change`, at most once for each place."""
    sizes = None if files is None else {file.path: len(file.lines) for file in files}
    return [*_text_matches(change), *_path_matches(change, sizes), *_diff_matches(files or ())]


def _hits(where: str, lines: list[str]) -> Iterator[tuple[int, list[tuple[int, re.Match[str]]]]]:
    """Each rule that matches, by number, with the lines it stands on and the first match there.

    Of a line no more than MAX_LINE characters are read: what goes on beyond is data.
    """
    gate, numbers = _gate(where)
    cut = [line if len(line) <= MAX_LINE else line[:MAX_LINE] for line in lines]
    for position, fragments in gate.candidates(cut):
        rule = _rules()[numbers[position]][1]
        hits: dict[int, re.Match[str]] = {}
        for fragment, candidates in fragments:
            for at in candidates:
                if at not in hits and (match := _first(rule, fragment.regex, cut[at])):
                    hits[at] = match
        if hits:
            yield numbers[position], list(hits.items())


def _first(rule: Rule, regex: re.Pattern[str], line: str) -> re.Match[str] | None:
    """The first match on `line` that the rule admits."""
    if rule.unless is None and rule.context is None:
        return regex.search(line)
    for match in regex.finditer(line):
        if _admits(rule, line[max(0, match.start() - _REACH) : match.end() + _REACH]):
            return match
    return None


def _admits(rule: Rule, line: str) -> bool:
    if rule.unless is not None and rule.unless.search(line):
        return False
    return rule.context is None or rule.context.search(line) is not None


def _text_matches(change: Change) -> Iterator[Match]:
    title = change.title[:MAX_TITLE]
    for where, lines in (("title", [title]), ("body", quieted(change.body).split("\n"))):
        for number, hits in _hits(where, lines):
            facet, rule = _rules()[number]
            at, match = hits[0]
            evidence = Evidence(where, match[0], line=at + 1 if where == "body" else None)
            yield Match(rule, facet, rule.places[where], evidence)


@lru_cache(maxsize=1 << 17)
def _path_hits(path: str) -> tuple[tuple[int, str], ...]:
    """The rules, by number, that match `path`, each with the matched text."""
    return tuple((number, hits[0][1][0]) for number, hits in _hits("path", [path]))


def _path_matches(change: Change, sizes: Mapping[str, int] | None) -> Iterator[Match]:
    """`sizes` are the changed lines of each file: two lines in persistent.cuh are another topic."""
    paths = sorted(speaking(change.paths))
    found: dict[int, list[tuple[str, str]]] = {}
    for path in paths:
        for number, text in _path_hits(path):
            found.setdefault(number, []).append((text, path))
    needed = 1 + len(paths) // _PATHS_PER_MENTION
    for number, hits in sorted(found.items()):
        (facet, rule), (text, path) = _rules()[number], hits[0]
        weight = rule.places["path"] * min(1.0, (len(hits) + 0.5) / needed)
        if sizes is not None and rule.file_lines:
            text, path = max(hits, key=lambda hit: sizes.get(hit[1], 0))
            weight *= min(1.0, sizes.get(path, 0) / rule.file_lines)
        yield Match(rule, facet, weight, Evidence("path", text, path=path))


def _diff_matches(files: Iterable[FileDiff]) -> Iterator[Match]:
    code = [file for file in files if not is_silent(file.path)]
    lines = [(line, file.path) for file in code for line in file.lines if not is_comment(line)]
    for number, found in _hits("diff", [line.text for line, _ in lines]):
        facet, rule = _rules()[number]
        needed = rule.lines + _passing_mentions(len(lines), len(code), rule.spread)
        count = _new_lines(rule, [lines[at][0].sign for at, _ in found])
        at, match = min(found, key=itemgetter(0))
        line, path = lines[at]
        evidence = Evidence("diff", match[0], line=line.number, path=path)
        if count:
            yield Match(rule, facet, rule.places["diff"] * min(1.0, count / needed), evidence)


def _passing_mentions(lines: int, files: int, spread: int) -> int:
    """Mentions to discount in a diff of many lines; in full where it has `spread` files."""
    return int(max(0, lines - 500) / _LINES_PER_MENTION * min(1.0, files / spread))


def _new_lines(rule: Rule, signs: list[str]) -> float:
    """Count lines that bring the token in; of those rewritten around it, a rule's share."""
    added = signs.count("+")
    removed = len(signs) - added
    return max(0, added - removed) + rule.rewritten * min(added, removed)
