"""The figures of one table cell: alone, in brackets, in pairs, in groups.

118 (23%) / 91 (55%)       two groups, each a figure and one in brackets
12.77 → 10.53 (**−17.5%**) a pair and a ratio
268.3 (pad 16) (+24.8%)    a figure and a ratio; the note says nothing
**-4.91%** [-4.93, -4.89]  one figure; the interval is not a second
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ingest.claims.figures import ARROW, MINUS, Figure, bare, number, scan

_INTERVAL: Final = re.compile(r"\[[^\[\]]{0,80}\]")
_BRACKETS: Final = re.compile(r"\(([^()]{0,120})\)")
_ARROW_PAIR: Final = re.compile(
    rf"^[~≈]?\s*(?P<first>[\d.,]+)\s*{ARROW}\s*[~≈]?\s*(?P<second>[\d.,]*\d)$"
)
_DECORATION: Final = re.compile(r"^[^\w.+\-~≈<>]+|[^\w.%)×+]+$")
_WORDY: Final = 7


@dataclass(frozen=True, slots=True)
class CellFigure:
    """A figure, the group of the cell that it stands in, and whether it stands in brackets."""

    figure: Figure
    group: int = 0
    in_brackets: bool = False


def read_cell(text: str) -> tuple[list[CellFigure], int]:
    """Return the figures of a cell and the number of its groups; none for text and gaps."""
    text = text.translate(MINUS)
    if not any(map(str.isdigit, text)):
        return [], 1
    without = _INTERVAL.sub(" ", text) if "[" in text else text
    groups = (
        [part.strip() for part in re.split(r"\s/\s", without)] if " / " in without else [without]
    )
    if len(groups) > 1 and not all(map(_leads_with_number, groups)):
        groups = [without]
    figures = [f for number_, part in enumerate(groups) for f in _read_group(part, number_)]
    return (_shared_unit(figures) if len(groups) > 1 else figures), len(groups)


def _shared_unit(figures: list[CellFigure]) -> list[CellFigure]:
    """`46.2 / 76.4 us`: the unit after the last group is that of the others."""
    last = next((f.figure for f in reversed(figures) if not f.in_brackets), None)
    if last is None or last.unit is None:
        return figures
    return [
        replace(f, figure=replace(f.figure, unit=last.unit, unit_text=last.unit_text))
        if f.figure.unit is None and not f.in_brackets
        else f
        for f in figures
    ]


def _leads_with_number(text: str) -> bool:
    return re.match(r"[~≈+-]?\s?[\d.]", text) is not None or text in ("", "-", "n/a", "N/A")


def _read_group(text: str, group: int) -> Iterator[CellFigure]:
    main = _BRACKETS.sub(" ", text).strip()
    for figure in _main_figures(main):
        yield CellFigure(figure, group)
    for match in _BRACKETS.finditer(text):
        for figure in scan(match[1]):
            yield CellFigure(figure, group, in_brackets=True)


def _main_figures(main: str) -> list[Figure]:
    cleaned = _DECORATION.sub("", main)
    single = bare(cleaned)
    if single is not None:
        return [single]
    pair = _ARROW_PAIR.match(cleaned)
    if pair is not None:
        second = number(pair["second"])
        return [Figure(main, second, 0, len(main), baseline=number(pair["first"]))]
    found = scan(main)
    return found if len(main.split()) <= _WORDY + 3 * len(found) else []
