"""One row under its table's meaning: what pairs in it, and which way its ratios are better."""

from dataclasses import dataclass

from ingest.claims import rules
from ingest.claims.cells import CellFigure
from ingest.claims.columns import Column
from ingest.claims.document import Block, Row
from ingest.claims.figures import Figure
from ingest.claims.meaning import Meaning
from kwdb.units import HIGHER, LOWER, Unit, direction_of


@dataclass(frozen=True, slots=True)
class Reading:
    """A row under a table's meaning."""

    block: Block
    meaning: Meaning
    row: Row
    figures: tuple[list[CellFigure], ...]
    label: str
    row_unit: tuple[Unit, str] | None
    group_gpus: tuple[str, ...]


def pairs_of(reading: Reading) -> dict[int, int]:
    """Column pairs of this row; where rows name the metric, the row's own values pair."""
    pairs = dict(reading.meaning.pairs)
    if reading.meaning.by_row and not pairs:
        values = [c for c in reading.meaning.columns if c.index and c.role in ("pending", "value")]
        values = [c for c in values if reading.figures[c.index]]
        if len(values) == 2:
            after_first = values[0].side == "after" or values[1].side == "before"
            after, before = values if after_first else values[::-1]
            pairs = {after.index: before.index}
    return {a: b for a, b in pairs.items() if _one_each(reading, a, b)}


def _one_each(reading: Reading, after: int, before: int) -> bool:
    cells = reading.figures[after], reading.figures[before]
    mains = [[c for c in cell if not c.in_brackets] for cell in cells]
    return bool(mains[0]) and len(mains[0]) == len(mains[1])


def ratio_direction(reading: Reading, column: Column, figure: Figure) -> str:
    """Which way is better for a ratio: by its header, by its row, by the arithmetic of its row."""
    name = column.name
    if rules.words("higher_ratio_words").search(name):
        return HIGHER
    if (told := _told_above(reading)) is not None and figure.is_percent:
        return told
    base = _row_direction(reading)
    if figure.unit is None and column.unit is None:
        return LOWER if rules.words("lower_ratio_words").search(name) else HIGHER
    moved = _moved(reading, column, figure)
    if moved is not None:
        return base if moved else HIGHER
    if rules.words("lower_ratio_words").search(name):
        return LOWER
    signed = figure.is_percent and (figure.is_signed or rules.words("ratio_words").search(name))
    return base if signed else HIGHER


def _told_above(reading: Reading) -> str | None:
    """`negative delta means faster`, in the text right above the table."""
    caption = reading.block.place.caption
    text = caption.text[-200:] if caption else ""
    if rules.pattern("negative_is_better").search(text):
        return LOWER
    return HIGHER if rules.pattern("positive_is_better").search(text) else None


def _row_direction(reading: Reading) -> str:
    """The direction of what the row measures; latency where a table of times has no unit."""
    if reading.row_unit is not None:
        return direction_of(reading.row_unit[0].metric)
    for cell in reading.figures:
        for item in cell:
            if item.figure.unit is not None and not item.figure.is_ratio:
                return direction_of(item.figure.unit.metric)
    metrics = [c.metric for c in reading.meaning.columns if c.metric not in (None, "speedup")]
    if metrics and metrics[0]:
        return direction_of(metrics[0])
    return LOWER if reading.meaning.is_latency else _label_direction(reading.label)


def _label_direction(label: str) -> str:
    return LOWER if rules.words("lower_ratio_words").search(label) else HIGHER


def _moved(reading: Reading, column: Column, figure: Figure) -> bool | None:
    """Whether the ratio follows the measured value (new over old), by some pair of its row."""
    values = _row_values(reading, column)
    for new, old in values:
        factor = new / old
        follows = (factor - 1) * 100 if figure.is_percent else factor
        gains = [(1 - factor) * 100, (1 / factor - 1) * 100] if figure.is_percent else [1 / factor]
        slack = max(0.02 * abs(figure.value), 0.11 if figure.is_percent else 0.006)
        near_gain = min(abs(g - figure.value) for g in gains)
        if abs(follows - figure.value) <= slack and abs(follows - figure.value) < near_gain:
            return True
        if near_gain <= slack:
            return False
    return None


def _row_values(reading: Reading, column: Column) -> list[tuple[float, float]]:
    """Candidate (new, old) values: this column's against each other one, then the row's pairs."""
    mains = {
        c.index: reading.figures[c.index][0].figure.value
        for c in reading.meaning.columns
        if c.index and c.role in ("value", "pending") and reading.figures[c.index]
    }
    sides = pairs_of(reading).items()
    pairs = [(mains[a], mains[b]) for a, b in sides if a in mains and b in mains]
    own = mains.get(column.index)
    beside = [(own, value) for index, value in mains.items() if own and index != column.index]
    cell = reading.figures[column.index]
    inside = [(c.figure.value, c.figure.baseline) for c in cell if c.figure.baseline]
    return [(new, old) for new, old in [*inside, *beside, *pairs] if new and old]
