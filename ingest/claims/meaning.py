"""What a table means, decided once: the role, unit and side of each of its columns.

The header speaks first, then what the cells look like, then the text above. A column of bare
numbers is a figure only if a unit is known from somewhere or the table plainly compares.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ingest.claims import rules, skip
from ingest.claims.cells import CellFigure, read_cell
from ingest.claims.columns import (
    Column,
    Figures,
    group_units,
    is_peak,
    side_of,
    unit_in_text,
    unit_of_header,
)
from ingest.claims.document import Block
from ingest.claims.figures import Figure
from ingest.claims.pairs import find_pairs, rises_with_gain
from kwdb.units import Unit

_MAX_CELLS: Final = 6_000
_EACH_CELL: Final = re.compile(r"\beach cell (?:is|gives|holds|shows)\b[^.;]{0,80}speed-?up", re.I)
_LETTER: Final = re.compile(r"^[A-Z][a-z]?\d?$")
_LONGEST_SETTING: Final = 64
_SIZE: Final = re.compile(r"\d\s?[KMG]i?B\b")
_RATE: Final = re.compile(r"throughput|flops|bandwidth|/s\b|qps|per sec", re.I)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The columns of a table, its cells as figures, and what is compared with what."""

    columns: tuple[Column, ...]
    figures: Figures
    pairs: tuple[tuple[int, int], ...] = ()
    by_row: bool = False
    is_latency: bool = False


def decide(block: Block, title: str) -> Meaning | None:
    """Return what a table means, or None where it holds no figures of performance."""
    if skip.table(block, title) or not block.rows:
        return None
    width = max([1, len(block.header), *(len(row.cells) for row in block.rows)])
    block = replace(block, rows=block.rows[: _MAX_CELLS // width + 1])
    figures = tuple(_row_figures(row.cells, width) for row in block.rows)
    columns = [_column(block, index, [row[index] for row in figures]) for index in range(width)]
    by_row = _is_by_row(block, columns)
    columns, is_latency = _settle(block, columns, figures, title, by_row=by_row)
    pairs = [] if _rows_are_sides(block) else find_pairs(columns, figures, title)
    if is_latency and rises_with_gain(columns, figures, pairs):
        columns = [replace(c, role="skip") if c.role == "value" else c for c in columns]
        pairs = []
    return Meaning(tuple(columns), figures, tuple(pairs), by_row, is_latency)


def _rows_are_sides(block: Block) -> bool:
    """Whether the two rows, `before PR` and `after PR`, are what is compared."""
    sides = [side_of(row.cells[0], in_sentence=True) for row in block.rows if row.cells]
    return sorted(map(str, sides)) == ["after", "before"]


def _row_figures(cells: Sequence[str], width: int) -> tuple[list[CellFigure], ...]:
    return tuple(read_cell(cells[i])[0] if i < len(cells) else [] for i in range(width))


def _column(block: Block, index: int, cells: list[list[CellFigure]]) -> Column:
    name = block.header[index] if index < len(block.header) else ""
    heads = [found[0].figure for found in cells if found]
    filled = sum(bool(row.cells[index].strip()) for row in block.rows if index < len(row.cells))
    named = unit_of_header(name)
    column = Column(index, name, "skip", side=side_of(name))
    measured = sum(f.unit is not None and not f.is_ratio for f in heads) * 2 > len(heads)
    if skip.column(name, has_unit=named is not None or measured):
        return column if index else replace(column, role="dimension")
    if len(heads) * 3 < filled and not named:
        return (
            replace(column, role="dimension") if not index or _is_setting(block, index) else column
        )
    if named and named[0].metric != "speedup":
        return replace(
            column, role="value", unit=named[0], unit_text=named[1], group_units=group_units(name)
        )
    annotated = any(f.in_brackets and f.figure.is_ratio for cell in cells for f in cell)
    caption = block.place.caption
    above = caption.text if caption else ""
    return _by_cells(column, heads, named, above, annotated=annotated)


def _by_cells(
    column: Column,
    heads: list[Figure],
    named: tuple[Unit, str] | None,
    above: str,
    *,
    annotated: bool,
) -> Column:
    """Decide by what most cells look like."""
    if not heads:
        return column
    ratios = [f for f in heads if f.is_ratio]
    units = [f for f in heads if f.unit is not None and not f.is_ratio]
    is_ratio_name = _names_ratio(column) and not annotated
    if len(ratios) * 2 > len(heads):
        is_share = _is_share(column.name, ratios) and not _tells_gain(above)
        return column if is_share else replace(column, role="ratio")
    if units and len(units) * 2 >= len(heads):
        return replace(column, role="value", unit=units[0].unit)
    if named or is_ratio_name:
        unit, text = named or (None, None)
        return replace(column, role="ratio", unit=unit, unit_text=text)
    broken = any(figure.value % 1 for figure in heads)
    if column.index == 0 or (skip.dimension(column.name) and not broken):
        return replace(column, role="dimension")
    return replace(column, role="pending")


def _is_setting(block: Block, index: int) -> bool:
    """Whether a column of words tells the rows apart: short cells, not notes or links."""
    cells = [row.cells[index] for row in block.rows if index < len(row.cells)]
    named = block.header[index] if index < len(block.header) else ""
    short = all(len(cell) <= _LONGEST_SETTING and "http" not in cell for cell in cells)
    return bool(named) and short and not rules.words("not_settings").search(named)


def _names_ratio(column: Column) -> bool:
    """`Speedup`, `vs NCCL`, `this PR / base`; a bare `diff` may be the changed side itself."""
    name = column.name
    if column.index == 0 or name.casefold() == "diff":
        return False
    both = all(rules.words(side, "words").search(name) for side in ("before", "after"))
    return rules.words("ratio_words").search(name) is not None or ("/" in name and both)


def _is_share(name: str, ratios: list[Figure]) -> bool:
    """Percentages without a sign under a name of no comparison are parts of a whole."""
    unsigned = all(figure.is_percent and not figure.is_signed for figure in ratios)
    compares = rules.words("ratio_words").search(name) or rules.words("higher_ratio_words").search(
        name
    )
    return unsigned and not compares and not is_peak(name)


def _tells_gain(above: str) -> bool:
    """`Geomean latency reduction across the sweep:` says what the percentages below are."""
    opens = above.rstrip("* ").endswith(":")
    return opens and rules.words("higher_ratio_words").search(above[-90:]) is not None


def _is_by_row(block: Block, columns: list[Column]) -> bool:
    """Whether the rows, not the columns, name what is measured."""
    if any(c.role == "value" and unit_of_header(c.name) for c in columns):
        return False
    labels = [row.cells[0] for row in block.rows if row.cells]
    named = sum(unit_of_header(label) is not None for label in labels)
    head = block.header[0].strip().casefold() if block.header else ""
    is_metric = head in ("metric", "metrics", "measurement", "benchmark", "stat", "")
    return (
        named * 2 >= len(labels)
        or (named > 0)
        or (is_metric and any(rules.words("latency_words").search(label) for label in labels))
    )


def _settle(
    block: Block,
    columns: list[Column],
    figures: Figures,
    title: str,
    *,
    by_row: bool,
) -> tuple[list[Column], bool]:
    """Give columns of bare numbers the unit of the text above, or leave them out."""
    pending = [c for c in columns if c.role == "pending"]
    if not pending or by_row:
        return columns, False
    columns = [_as_setting(c, figures) if c.role == "pending" else c for c in columns]
    pending = [c for c in columns if c.role == "pending"]
    unit = _unit_above(block) or _unit_beside(columns, pending, figures)
    if unit is not None:
        return [_with_unit(c, unit) if c.role == "pending" else c for c in columns], False
    has_ratios = any(c.role == "ratio" for c in columns) or _is_annotated(pending, figures)
    if _says_speedup(block) and not has_ratios:
        return [replace(c, role="ratio") if c.role == "pending" else c for c in columns], False
    plain = _is_plain_latency(block, columns, pending, figures, title)
    told = {c.index for c in pending if plain and not _RATE.search(c.name)}
    first = min([c.index for c in columns if c.role in ("value", "ratio")], default=0)
    return [
        replace(c, role="value" if c.index in told else _untold(c, figures, first))
        if c.role == "pending"
        else c
        for c in columns
    ], plain


def _untold(column: Column, figures: Figures, first: int) -> str:
    """Whole numbers left of the first figures tell the case, if no side of a comparison."""
    told = column.side is None and column.index < first and _is_whole(column, figures)
    return "dimension" if told else "skip"


def _is_whole(column: Column, figures: Figures) -> bool:
    heads = [found[0].figure for row in figures if (found := row[column.index])]
    return all(f.unit is None and f.value >= 0 and not f.value % 1 for f in heads)


def _as_setting(column: Column, figures: Figures) -> Column:
    """Whole numbers under one letter or word of the shape, as in `| K | N | T |`, tell the case."""
    named = _LETTER.match(column.name) is not None
    return replace(column, role="dimension") if named and _is_whole(column, figures) else column


def _with_unit(column: Column, unit: tuple[Unit, str]) -> Column:
    return replace(column, role="value", unit=unit[0], unit_text=unit[1])


def _unit_above(block: Block) -> tuple[Unit, str] | None:
    above = [block.header[0] if block.header else "", block.note]
    above += [block.place.caption.text] if block.place.caption else []
    above += [line.text for line in reversed(block.place.headings)]
    return next((unit for text in above if (unit := unit_in_text(text))), None)


def _unit_beside(
    columns: list[Column],
    pending: list[Column],
    figures: Figures,
) -> tuple[Unit, str] | None:
    """The unit of the first measured column, for numbers that carry a ratio to it in brackets."""
    measured = next((c for c in columns if c.role == "value" and c.unit and c.unit_text), None)
    annotated = all(
        any(f.in_brackets and f.figure.is_ratio for row in figures for f in row[c.index])
        for c in pending
    )
    if measured is None or not annotated or measured.unit is None or measured.unit_text is None:
        return None
    return measured.unit, measured.unit_text


def _is_annotated(columns: list[Column], figures: Figures) -> bool:
    """Whether figures carry a ratio in brackets, such as `428.5 (1.10x)`."""
    cells = (row[column.index] for row in figures for column in columns)
    return any(f.in_brackets and f.figure.is_ratio for cell in cells for f in cell)


def _says_speedup(block: Block) -> bool:
    texts = [
        block.header[0] if block.header else "",
        block.place.caption.text if block.place.caption else "",
    ]
    each = any(_EACH_CELL.search(line.text) for line in block.place.section)
    return each or any(re.search(r"speed-?ups?\b", text, re.I) for text in texts)


def _is_plain_latency(
    block: Block,
    columns: list[Column],
    pending: list[Column],
    figures: Figures,
    title: str,
) -> bool:
    """Bare numbers are times without a unit where two sides or a ratio show a comparison."""
    numbers = [found[0].figure for row in figures for c in pending if (found := row[c.index])]
    decimals = sum("." in figure.text for figure in numbers)
    compared = any(c.role == "ratio" for c in columns) or any(c.side for c in pending)
    compared |= len(pending) > 1 and any(rules.words("rivals").search(c.name) for c in pending)
    compared |= block.place.caption is not None and side_of(block.place.caption.text) is not None
    compared |= _is_annotated(columns, figures)
    sized = any(_SIZE.search(cell) for row in block.rows for cell in row.cells)
    return (
        compared and not sized and decimals * 2 > len(numbers) and skip.is_about_speed(block, title)
    )
