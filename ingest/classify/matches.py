"""Where the rules of the tag tables match a change: title, body, paths and changed lines.

One mention is enough in a title. In a diff a rule asks for a number of changed lines, in a release
of thousands of lines and hundreds of files for more of both: what is said once there is not its
topic.
"""

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ingest.classify.diff import ChangedLine, FileDiff
from ingest.classify.edits import is_comment
from ingest.classify.gate import Gate
from ingest.classify.paths import is_silent, speaking
from ingest.classify.patterns import Fragment
from ingest.classify.rules import Rule, tag_tables
from ingest.classify.texts import MAX_TITLE, quieted
from kwdb.records import Change, Evidence

_LINES_PER_MENTION, _PATHS_PER_MENTION = 700, 50
_REACH = 300  # characters of a line that are read on either side of a literal
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


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


@lru_cache(maxsize=1)
def _gate() -> Gate:
    return Gate([rule for _, rule in _rules()])


def _candidates(where: str, lowered: str) -> Iterator[tuple[int, str, Rule, list[Fragment]]]:
    for number, fragments in _gate().candidates(lowered):
        facet, rule = _rules()[number]
        if where in rule.places:
            yield number, facet, rule, fragments


def find_matches(change: Change, files: tuple[FileDiff, ...] | None) -> list[Match]:
    """Return every rule that matches `change`, at most once for each place."""
    sizes = None if files is None else {file.path: len(file.lines) for file in files}
    return [*_text_matches(change), *_path_matches(change, sizes), *_diff_matches(files or ())]


def _search(fragments: list[Fragment], text: str, lowered: str) -> Iterator[re.Match[str]]:
    for fragment in fragments:
        find = fragment.regex.finditer
        for start, end in _windows(fragment.literal, lowered):
            for match in find(text, start, end):
                if match.end() < end or not text[end : end + 1].isalnum():
                    yield match


def _windows(literal: str, lowered: str) -> Iterator[tuple[int, int]]:
    """The stretches of lines around each `literal`: only there can its fragment match."""
    at, length = lowered.find(literal), len(lowered)
    while at >= 0:
        low = at - _REACH if at > _REACH else 0
        start = lowered.rfind("\n", low, at) + 1 or low
        high = at + _REACH
        end = lowered.find("\n", at, high)
        if end < 0:
            end = high if high < length else length
        yield start, end
        at = lowered.find(literal, end if end > at else at + 1)


def _lowered(text: str) -> str:
    """Lower case with every offset kept: a few letters become two when lowered (İ)."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_LOWER)


def _admits(rule: Rule, line: str) -> bool:
    if rule.unless is not None and rule.unless.search(line):
        return False
    return rule.context is None or rule.context.search(line) is not None


def _text_matches(change: Change) -> Iterator[Match]:
    body = quieted(change.body)
    for where, text, shown in (
        ("title", change.title[:MAX_TITLE], change.title),
        ("body", body, change.body),
    ):
        lowered = _lowered(text)
        for _, facet, rule, fragments in _candidates(where, lowered):
            found = _in_text(rule, _search(fragments, text, lowered), text)
            if found is not None:
                yield Match(rule, facet, rule.places[where], _text_evidence(where, shown, found))


def _text_evidence(where: str, text: str, match: re.Match[str]) -> Evidence:
    line = text.count("\n", 0, match.start()) + 1 if where == "body" else None
    return Evidence(where, text[match.start() : match.end()], line=line)


def _in_text(rule: Rule, found: Iterator[re.Match[str]], text: str) -> re.Match[str] | None:
    for match in found:
        if not (rule.unless or rule.context) or _admits(rule, _line_around(text, match)):
            return match
    return None


def _line_around(text: str, match: re.Match[str]) -> str:
    left, right = max(0, match.start() - _REACH), min(len(text), match.end() + _REACH)
    start = text.rfind("\n", left, match.start()) + 1 or left
    end = text.find("\n", match.end(), right)
    return text[start : right if end < 0 else end]


@lru_cache(maxsize=1 << 17)
def _path_hits(path: str) -> tuple[tuple[int, str], ...]:
    """The rules, by number, that match `path`, each with the matched text."""
    lowered, hits = _lowered(path), []
    for number, _, rule, fragments in _candidates("path", lowered):
        match = next(_search(fragments, path, lowered), None)
        if match is not None and _admits(rule, path):
            hits.append((number, match[0]))
    return tuple(hits)


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
    text = "\n".join(line.text for line, _ in lines)
    lowered, starts = _lowered(text), _starts(lines)
    for _, facet, rule, fragments in _candidates("diff", lowered):
        weight = rule.places["diff"]
        hits = sorted(_hit_lines(rule, _search(fragments, text, lowered), text, starts).items())
        if hits:
            needed = rule.lines + _passing_mentions(len(lines), len(code), rule.spread)
            count = _new_lines(rule, [lines[number][0].sign for number, _ in hits])
            line, path = lines[hits[0][0]]
            evidence = Evidence("diff", hits[0][1], line=line.number, path=path)
            if count:
                yield Match(rule, facet, weight * min(1.0, count / needed), evidence)


def _passing_mentions(lines: int, files: int, spread: int) -> int:
    """Mentions to discount in a diff of many lines; in full where it has `spread` files."""
    return int(max(0, lines - 500) / _LINES_PER_MENTION * min(1.0, files / spread))


def _new_lines(rule: Rule, signs: list[str]) -> float:
    """Count lines that bring the token in; of those rewritten around it, a rule's share."""
    added = signs.count("+")
    removed = len(signs) - added
    return max(0, added - removed) + rule.rewritten * min(added, removed)


def _starts(lines: list[tuple[ChangedLine, str]]) -> list[int]:
    starts, at = [], 0
    for line, _ in lines:
        starts.append(at)
        at += len(line.text) + 1
    return starts


def _hit_lines(
    rule: Rule, found: Iterator[re.Match[str]], text: str, starts: list[int]
) -> dict[int, str]:
    hits: dict[int, str] = {}
    for match in found:
        number = bisect_right(starts, match.start()) - 1
        if number not in hits and _admits(rule, _line_around(text, match)):
            hits[number] = match[0]
    return hits
