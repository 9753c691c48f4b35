"""What belongs together in printed figures: lines called before and after, and whole prints.

Two prints under captions such as `Main:` and `PR:` are paired line by line.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ingest.claims import rules
from ingest.claims.found import Found

_REACH: Final = 4


def paired_lines(found: Iterable[Found]) -> list[Found]:
    """Join `Before: 1007 us` and `After: 841 us`, two lines of one key but for the side."""
    done: list[Found] = []
    for item in found:
        if done and _are_sides(done[-1], item):
            before = done.pop()
            item = replace(item, baseline=before.figure, baseline_label="before")
        done.append(item)
    return done


def _are_sides(one: Found, two: Found) -> bool:
    sides = (one.role, two.role) == ("before", "after") and one.metric == two.metric
    free = one.baseline is None and two.baseline is None and two.first - one.first <= _REACH
    return sides and free and _without_side(one.key) == _without_side(two.key)


def _without_side(key: str) -> str:
    for side in ("before", "after"):
        key = rules.words(side, "words").sub("", key)
    return " ".join(key.split())


def pair_series(found: list[Found]) -> list[Found]:
    """Pair the figures of a print before with those of a print after, by key and then position."""
    series: dict[int, list[Found]] = defaultdict(list)
    for item in found:
        series[item.series].append(item)
    done = [item for item in found if not item.series]
    groups = [g for n, g in sorted(series.items()) if n]
    pairs = _series_pairs(groups)
    used = {before for _, before in pairs}
    for index, group in enumerate(groups):
        partner = next((b for a, b in pairs if a == index), None)
        if partner is not None:
            done += _merged(group, groups[partner])
        elif index not in used:
            done += group
    return done


def _keys(group: list[Found]) -> list[tuple[str, str, int]]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    keys = []
    for item in group:
        key = (item.metric, item.key)
        keys.append((*key, counts[key]))
        counts[key] += 1
    return keys


def _series_pairs(groups: list[list[Found]]) -> list[tuple[int, int]]:
    """Pair each series called `after` with the nearest free one of the same keys."""
    pairs: list[tuple[int, int]] = []
    sides = [group[0].side for group in groups]
    keys = [set(_keys(group)) for group in groups]
    taken: set[int] = set()
    for after in (n for n, side in enumerate(sides) if side == "after"):
        for wanted in ("before", None):
            free = [n for n in range(len(groups)) if sides[n] == wanted and n not in taken]
            alike = [
                n
                for n in free
                if len(keys[n] & keys[after]) * 2 > min(len(keys[n]), len(keys[after]))
            ]
            if alike and (wanted or len(alike) == 1):
                best = min(alike, key=lambda n: (abs(n - after), n))
                pairs.append((after, best))
                taken.add(best)
                break
    return pairs


def _merged(after: list[Found], before: list[Found]) -> Iterator[Found]:
    partners = dict(zip(_keys(before), before, strict=True))
    for key, item in zip(_keys(after), after, strict=True):
        partner = partners.pop(key, None)
        if partner is None or item.baseline is not None or item.metric == "speedup":
            yield replace(item, role="after" if item.role == "single" else item.role)
            if partner is not None:
                yield partner
            continue
        yield replace(item, role="after", baseline=partner.figure, baseline_label="before")
    yield from (
        replace(item, role="before") if item.role == "single" else item
        for item in partners.values()
    )
