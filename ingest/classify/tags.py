"""Tags of a change: the matches of each rule, weighed per place and added up per tag.

A tag is given when its sum reaches 1. The evidence shown is the match that weighed most; basis
`path` or `diff` says where a plain token stood, `product` and `family` stay what they are wherever
they stand. Rules with a `context` ask for a second thing on the same line, `unless` forbids one.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ingest.classify.diff import FileDiff
from ingest.classify.matches import Match, find_matches
from ingest.classify.rules import tag_tables
from kwdb.records import Change, TagVerdict

THRESHOLD = 1.0
_ORDER = ("title", "path", "diff", "body", "label")


def match_tags(change: Change, files: tuple[FileDiff, ...] | None) -> tuple[TagVerdict, ...]:
    """Return the tags of `change`, stated ones first, then implied ones, each by facet and name."""
    stated = _weigh(find_matches(change, files))
    return (*stated, *_imply(stated))


def _weigh(matches: list[Match]) -> tuple[TagVerdict, ...]:
    headings = _headings(matches)
    by_tag: dict[tuple[str, str], list[Match]] = {}
    for match in matches:
        key = (match.facet, match.rule.name)
        by_tag.setdefault(key, []).append(_under_heading(match, headings))
    given = [(key, found) for key, found in sorted(by_tag.items()) if _total(found) >= THRESHOLD]
    return tuple(_verdict(facet, name, found) for (facet, name), found in given)


def _headings(matches: list[Match]) -> dict[str, set[str]]:
    """The tags that the title names, by facet."""
    named: dict[str, set[str]] = {}
    for match in matches:
        if match.evidence.where == "title":
            named.setdefault(match.facet, set()).add(match.rule.name)
    return named


def _under_heading(match: Match, headings: dict[str, set[str]]) -> Match:
    """A title that names another tag of the facet makes paths and changed lines weigh less."""
    named = headings.get(match.facet)
    if not named or match.rule.name in named or match.evidence.where not in ("path", "diff"):
        return match
    return replace(match, weight=match.weight * _heading_factors()[match.facet])


@lru_cache(maxsize=1)
def _heading_factors() -> dict[str, float]:
    return {table.facet: table.heading for table in tag_tables()}


def _total(matches: list[Match]) -> float:
    """A place counts once, with its heaviest rule: five words for one thing prove it no better."""
    best: dict[str, float] = {}
    for match in matches:
        where = match.evidence.where
        best[where] = max(best.get(where, match.weight), match.weight)
    return sum(best.values()) + 1e-9


def _verdict(facet: str, name: str, matches: list[Match]) -> TagVerdict:
    best = max(matches, key=lambda m: (m.weight, -_ORDER.index(m.evidence.where)))
    basis = best.rule.basis
    if basis == "exact" and best.evidence.where in ("path", "diff"):
        basis = best.evidence.where
    return TagVerdict(name, facet, basis, best.rule.key, best.evidence)


def _imply(stated: tuple[TagVerdict, ...]) -> Iterator[TagVerdict]:
    known = {(tag.facet, tag.name) for tag in stated}
    names = {tag.name for tag in stated}
    for table in tag_tables():
        for rule in table.implied:
            by = next((name for name in rule.by if name in names), None)
            fresh = (table.facet, rule.tag) not in known
            if by is not None and fresh and not names & rule.without:
                known.add((table.facet, rule.tag))
                names.add(rule.tag)
                yield TagVerdict(rule.tag, table.facet, "implied", rule.key, implied_by=by)
