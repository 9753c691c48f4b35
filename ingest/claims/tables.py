"""Figures of one table: its meaning applied to its rows."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ingest.claims import rules, skip
from ingest.claims.cells import CellFigure
from ingest.claims.columns import Column, is_peak, side_of, unit_of_header
from ingest.claims.context import gpus_in, slash_gpus
from ingest.claims.document import Block
from ingest.claims.figures import Figure, scan
from ingest.claims.found import Found
from ingest.claims.meaning import Meaning, decide
from ingest.claims.ratios import Reading, pairs_of, ratio_direction
from kwdb.units import Unit, find_unit


def find_in_table(block: Block, title: str) -> list[Found]:
    """Return the figures of a table; an empty list where it holds no claims."""
    meaning = decide(block, title)
    if meaning is None:
        return []
    gpus = slash_gpus(block.place)
    found: list[Found] = []
    for row, figures in zip(block.rows, meaning.figures, strict=False):
        label = row.cells[0] if row.cells and not _leads(meaning, 0) else ""
        if skip.row(label) or skip.noise(" | ".join(row.cells)):
            continue
        unit = unit_of_header(label) if meaning.by_row else None
        found += _row(Reading(block, meaning, row, figures, label, unit, gpus))
    return _paired_rows(block, found)


def _paired_rows(block: Block, found: list[Found]) -> list[Found]:
    """Join two rows, one called before and one after, column by column."""
    sides = {side_of(row.cells[0]): row.first for row in block.rows if row.cells}
    is_paired = any(item.baseline is not None for item in found)
    if is_paired or len(block.rows) != 2 or set(sides) != {"before", "after"}:
        return found
    old = {item.variant: item for item in found if item.first == sides["before"]}
    joined = []
    for item in found:
        other = old.get(item.variant)
        if item.first == sides["before"] or item.role == "ratio" or other is None:
            continue
        joined.append(replace(item, role="after", baseline=other.figure, baseline_label="before"))
        del old[item.variant]
    kept = [item for item in found if item.role == "ratio" and item.first != sides["before"]]
    return [*joined, *kept, *old.values()] if joined else found


def _leads(meaning: Meaning, index: int) -> bool:
    """Whether a column holds figures, so that its cell is no label."""
    return meaning.columns[index].role in ("value", "ratio")


def _row(reading: Reading) -> Iterator[Found]:
    paired = pairs_of(reading)
    baselines = set(paired.values())
    for column in reading.meaning.columns:
        cell = reading.figures[column.index]
        if not cell or not _wanted(reading, column) or not _is_sane(column, cell[0].figure):
            continue
        if column.index in baselines and _plain(cell):
            continue
        partner = reading.figures[paired[column.index]] if column.index in paired else []
        yield from _cell(reading, column, cell, partner)


def _plain(cell: list[CellFigure]) -> bool:
    return all(not c.figure.is_ratio and c.figure.baseline is None for c in cell)


def _wanted(reading: Reading, column: Column) -> bool:
    if reading.meaning.by_row and column.role in ("pending", "value", "ratio"):
        heads = reading.figures[column.index]
        has_unit = heads[0].figure.unit is not None or column.unit is not None
        return reading.row_unit is not None or has_unit
    return column.role in ("value", "ratio")


def _cell(
    reading: Reading, column: Column, cell: list[CellFigure], partner: list[CellFigure]
) -> Iterator[Found]:
    mains = [c for c in cell if not c.in_brackets]
    others = [c for c in partner if not c.in_brackets]
    if not mains and column.role == "value":
        yield from (
            _value(reading, column, c, None)
            for c in cell
            if c.figure.unit and not c.figure.is_ratio
        )
        return
    if _is_slash_pair(reading, column, mains):
        first, second = column.name.rsplit("/", 1)
        swapped = side_of(first[-24:]) == "before" and side_of(second) != "before"
        mains, others = (mains[1:], mains[:1]) if swapped else (mains[:1], mains[1:])
    for position, main in enumerate(mains):
        other = others[position] if position < len(others) else None
        if other is not None and _clashes(main.figure, other.figure):
            other = None
        item = _value(reading, column, main, other)
        yield replace(item, utilization=_utilization(column, cell, main))
    bracketed = [c for c in cell if c.in_brackets]
    partners = [c for c in partner if c.in_brackets]
    for position, extra in enumerate(bracketed):
        other = partners[position] if position < len(partners) else None
        yield from _bracketed(reading, column, extra, other)


def _utilization(column: Column, cell: list[CellFigure], main: CellFigure) -> float | None:
    """The percentage of a peak that stands in brackets after a figure."""
    if not _is_rate(main.figure.unit or column.unit):
        return None
    beside = [c.figure for c in cell if c.in_brackets and c.group == main.group]
    return next((f.value for f in beside if f.is_percent and not f.is_signed), None)


def _is_share_of_peak(reading: Reading, column: Column, item: CellFigure) -> bool:
    """`5.42 TB/s (68%)`: without a sign, beside a rate of the hardware, and no gain of its row."""
    cell = reading.figures[column.index]
    mains = [c.figure for c in cell if not c.in_brackets and c.group == item.group]
    unit = (mains[0].unit or column.unit) if mains else None
    return _is_rate(unit) and not item.figure.is_signed and item.figure.value <= 100


def _is_rate(unit: Unit | None) -> bool:
    return unit is not None and unit.metric in ("bandwidth", "throughput_tflops")


def _clashes(first: Figure, second: Figure) -> bool:
    return bool(first.unit and second.unit and first.unit.metric != second.unit.metric)


def _is_slash_pair(reading: Reading, column: Column, mains: list[CellFigure]) -> bool:
    """`1808 / 1698` under `TFLOPS (dsl/native)`: the header names two sides."""
    two = len(mains) == 2 and mains[0].group != mains[1].group
    sides = column.name.replace(column.unit_text, " ") if column.unit_text else column.name
    named = column.role == "value" and "/" in sides and not column.group_units
    return two and named and not reading.group_gpus


def _is_sane(column: Column, figure: Figure) -> bool:
    """A factor without a sign of its own is a decimal of moderate size, not a count."""
    marked = figure.unit is not None or column.unit is not None or column.role != "ratio"
    decimal = "." in figure.text and "e" not in figure.text.casefold()
    return marked or (decimal and 0.01 <= abs(figure.value) <= 1000)


def _value(reading: Reading, column: Column, item: CellFigure, other: CellFigure | None) -> Found:
    figure, unit, written = _with_unit(reading, column, item)
    if column.role == "ratio" or (unit is not None and unit.metric == "speedup"):
        return _ratio(reading, column, item, figure, written)
    metric = unit.metric if unit is not None else "latency"
    side = _side(reading, column)
    baseline = _own_baseline(figure) or (other.figure if other else None)
    role = "after" if baseline else (side or _unpaired_role(reading, column, metric))
    return _found(reading, column, item, figure, metric, written, role, baseline=baseline)


def _own_baseline(figure: Figure) -> Figure | None:
    if figure.baseline is None:
        return None
    return Figure(f"{figure.baseline:g}", figure.baseline, 0, 0, unit=figure.baseline_unit)


def _side(reading: Reading, column: Column) -> str | None:
    return column.side or side_of(reading.label)


def _unpaired_role(reading: Reading, column: Column, metric: str) -> str:
    """Among several backends without a word for either side, nobody is before or after."""
    paired = {i for pair in reading.meaning.pairs for i in pair}
    is_rival = rules.words("rivals").search(column.name) is not None
    siblings = sum(
        c.role == "value" and (c.metric or metric) == metric for c in reading.meaning.columns
    )
    return (
        "before"
        if siblings > 1 and (paired or is_rival) and column.index not in paired
        else "single"
    )


def _with_unit(
    reading: Reading, column: Column, item: CellFigure
) -> tuple[Figure, Unit | None, str | None]:
    """The figure's own unit, else the row's, else the header's, by group where it names two."""
    figure = item.figure
    if figure.unit is not None:
        return figure, figure.unit, figure.unit_text
    if item.group < len(column.group_units):
        return figure, *column.group_units[item.group]
    if reading.row_unit is not None and column.unit is None and column.role != "ratio":
        return figure, *reading.row_unit
    return figure, column.unit, column.unit_text


def _ratio(
    reading: Reading, column: Column, item: CellFigure, figure: Figure, written: str | None
) -> Found:
    if is_peak(column.name) and written == "%":
        return _found(reading, column, item, figure, "percent_of_peak", written, "single")
    way = ratio_direction(reading, column, figure)
    return _found(reading, column, item, figure, "speedup", written, "ratio", direction=way)


def _bracketed(
    reading: Reading, column: Column, item: CellFigure, other: CellFigure | None
) -> Iterator[Found]:
    figure = item.figure
    if figure.is_percent and (is_peak(column.name) or _is_share_of_peak(reading, column, item)):
        yield _found(reading, column, item, figure, "percent_of_peak", "%", "single")
    elif figure.is_ratio:
        way = ratio_direction(reading, column, figure)
        yield _found(
            reading, column, item, figure, "speedup", figure.unit_text, "ratio", direction=way
        )
    elif figure.unit is not None:
        yield _value(reading, column, item, other)


def _found(
    reading: Reading,
    column: Column,
    item: CellFigure,
    figure: Figure,
    metric: str,
    written: str | None,
    role: str,
    *,
    direction: str | None = None,
    baseline: Figure | None = None,
) -> Found:
    header, label = column.name, reading.label
    words = f"{label} | {header}"
    return Found(
        metric=metric,
        figure=_signed_unit(figure, written),
        first=reading.row.first,
        last=reading.row.last,
        role=_delta_role(column, figure, role),
        direction=direction,
        baseline=baseline,
        baseline_label=_baseline_label(reading, column) if baseline or role == "ratio" else None,
        unit_text=written,
        ratio_of="delta" if _is_delta(column.name) and role != "ratio" else None,
        variant=header or None,
        statistic=rules.statistic(words),
        qualifier=figure.qualifier or _geomean(reading, words),
        op=rules.first(rules.table("serving_ops"), words),
        dimensions=_dimensions(reading),
        near=_near(reading, column),
        place=reading.block.place,
        gpu=_group_gpu(reading, item, header),
        key=f"{label}|{header}",
        origin="table",
    )


def _signed_unit(figure: Figure, written: str | None) -> Figure:
    unit = figure.unit or (find_unit(written) if written else None)
    return replace(figure, unit=unit, unit_text=written)


def _is_delta(name: str) -> bool:
    return "delta" in name.casefold() or " - " in name or "Δ" in name or "saving" in name.casefold()


def _delta_role(column: Column, figure: Figure, role: str) -> str:
    return "ratio" if _is_delta(column.name) and figure.is_signed else role


def _geomean(reading: Reading, words: str) -> str | None:
    caption = reading.block.place.caption
    above = caption.text[-90:] if caption and not _tells_figures(caption.text) else ""
    text = f"{words} {above} {' '.join(reading.block.header[:1])}"
    named = rules.table("qualifiers")[0]
    return named[0] if named[1].search(text) else None


@lru_cache(maxsize=256)
def _tells_figures(text: str) -> bool:
    """Whether a text above a table has figures of its own, which its `geomean` is then about."""
    return bool(scan(text))


def _baseline_label(reading: Reading, column: Column) -> str | None:
    pairs = dict(reading.meaning.pairs)
    index = pairs.get(column.index)
    if index is None and pairs:
        index = next(iter(pairs.values()))
    return reading.meaning.columns[index].name or None if index is not None else None


def _dimensions(reading: Reading) -> tuple[tuple[str, str], ...]:
    cells = reading.row.cells
    return tuple(
        (c.name or "case", cells[c.index])
        for c in reading.meaning.columns
        if c.index < len(cells)
        and cells[c.index]
        and (c.role == "dimension" or (c.index == 0 and c.role in ("skip", "pending")))
    )


def _near(reading: Reading, column: Column) -> tuple[tuple[str, str], ...]:
    row = " | ".join(reading.row.cells)
    return (
        ("cell", row),
        ("label", reading.label),
        ("header", column.name),
        ("header", " | ".join(reading.block.header)),
    )


def _group_gpu(reading: Reading, item: CellFigure, header: str) -> str | None:
    groups = 1 + max((c.group for cell in reading.figures for c in cell), default=0)
    named = tuple(gpu.name for gpu in gpus_in(header))
    for gpus in (named, reading.group_gpus):
        if len(gpus) == groups > 1:
            return gpus[item.group]
    return None
