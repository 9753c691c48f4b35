"""Which columns of a table are the two sides of one comparison."""

import re

from ingest.claims import rules
from ingest.claims.columns import BRACKETED, Column, Figures
from kwdb.units import find_unit

_GAIN = re.compile(r"\b(?:gain|speed-?up|uplift|improvement|faster|boost)", re.I)


def find_pairs(columns: list[Column], figures: Figures, title: str) -> list[tuple[int, int]]:
    """Return (after, before) column pairs of one metric and unit."""
    pairs: list[tuple[int, int]] = []
    values = [c for c in columns if c.role == "value" and not _holds_pairs(c, figures)]
    for key in dict.fromkeys((c.metric, c.unit.symbol if c.unit else None) for c in values):
        same = [c for c in values if (c.metric, c.unit.symbol if c.unit else None) == key]
        pairs += _pair_group(same, columns, figures, title)
    return pairs


def _holds_pairs(column: Column, figures: Figures) -> bool:
    """Whether the cells are pairs themselves, such as `2.75 -> 2.37`."""
    cells = [row[column.index] for row in figures if row[column.index]]
    return sum(cell[0].figure.baseline is not None for cell in cells) * 2 > len(cells)


def rises_with_gain(columns: list[Column], figures: Figures, pairs: list[tuple[int, int]]) -> bool:
    """Whether a written gain goes with larger numbers, so that these cannot be times."""
    gains = [c for c in columns if c.role == "ratio" and _GAIN.search(c.name)]
    if not gains or not pairs:
        return False
    (after, before), votes = pairs[0], 0
    for row in figures:
        cells = [row[i][0].figure for i in (after, before, gains[0].index) if row[i]]
        if len(cells) == 3 and cells[0].value != cells[1].value:
            gained = cells[2].value > (0 if cells[2].is_percent else 1)
            votes += 1 if gained == (cells[0].value > cells[1].value) else -1
    return votes > 0


def _pair_group(
    same: list[Column],
    columns: list[Column],
    figures: Figures,
    title: str,
) -> list[tuple[int, int]]:
    befores = [c for c in same if c.side == "before"]
    afters = [c for c in same if c.side == "after"]
    if len(same) == 2:
        return _pair_two(same[0], same[1], columns, figures, title)
    if len(befores) == 1 and len(afters) == 1:
        return [(afters[0].index, befores[0].index)]
    if len(befores) == len(afters) > 1:
        return [(a.index, b.index) for a, b in zip(afters, befores, strict=True)]
    if len(befores) == 1:
        stem = _stem(befores[0].name)
        kin = [c for c in same if c is not befores[0] and stem and _stem(c.name) & stem]
        return [(kin[0].index, befores[0].index)] if len(kin) == 1 else []
    return []


def _stem(name: str) -> set[str]:
    bare_name = BRACKETED.sub(" ", name).casefold()
    return {t for t in re.findall(r"[a-z][a-z0-9]{2,}", bare_name) if find_unit(t) is None}


def _pair_two(
    first: Column,
    second: Column,
    columns: list[Column],
    figures: Figures,
    title: str,
) -> list[tuple[int, int]]:
    if first.side == second.side and first.side is not None:
        return []
    if first.side == "before" or second.side == "after":
        return [(second.index, first.index)]
    if first.side == "after" or second.side == "before":
        return [(first.index, second.index)]
    ratio = next((c for c in columns if c.role == "ratio"), None)
    points = [_standing(c.name, title) for c in (first, second)]
    if points[0] != points[1]:
        after, before = (first, second) if points[0] > points[1] else (second, first)
        return [(after.index, before.index)]
    if ratio is None:
        return []
    inverse = _fits(figures, second.index, first.index, ratio.index, first.metric)
    return [(first.index, second.index)] if inverse else [(second.index, first.index)]


def _standing(name: str, title: str) -> int:
    """Higher for what the title is about, lower for the usual rivals."""
    words_ = _stem(name)
    in_title = bool(words_ & _stem(title.replace("_", " ").replace("-", " ")))
    return 2 * in_title - (rules.words("rivals").search(name) is not None)


def _fits(
    figures: Figures,
    after: int,
    before: int,
    ratio: int,
    metric: str | None,
) -> bool:
    """Whether most written factors are those of `before` gaining over `after`, not the reverse."""
    votes = 0
    for row in figures:
        cells = [row[i][0].figure for i in (after, before, ratio) if row[i]]
        if len(cells) < 3 or not cells[0].value or not cells[1].value or cells[2].is_percent:
            continue
        gain = (
            cells[1].value / cells[0].value
            if metric in ("latency", None)
            else cells[0].value / cells[1].value
        )
        votes += 1 if abs(1 / gain - cells[2].value) < abs(gain - cells[2].value) else -1
    return votes > 0
