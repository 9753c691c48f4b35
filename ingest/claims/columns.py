"""Columns of a table, and what the words of a header or label say: a unit, a side, a peak."""

import re
from dataclasses import dataclass
from typing import Final

from ingest.claims import rules
from ingest.claims.cells import CellFigure
from kwdb.units import Unit, find_unit

Figures = tuple[tuple[list[CellFigure], ...], ...]
"""The cells of a table as figures: rows of columns."""

BRACKETED: Final = re.compile(r"[(\[{]([^()\[\]{}]{0,60})[)\]}]")
_TOKENS: Final = re.compile(r"[^\s,;:|()\[\]]+")
_SHORT: Final = ("s", "x", "×", "%", "times", "t/s")
_IN_UNIT: Final = re.compile(
    r"\b(?:in|unit:?|units:?)\s+[`(]?([a-zµμ]{1,12}(?:/[a-z]{1,6})?)", re.I
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `role` is value, ratio, dimension, pending (no unit known) or skip."""

    index: int
    name: str
    role: str
    unit: Unit | None = None
    unit_text: str | None = None
    side: str | None = None
    group_units: tuple[tuple[Unit, str], ...] = ()

    @property
    def metric(self) -> str | None:
        """The metric of its unit, if a unit is known."""
        return self.unit.metric if self.unit else None


def unit_of_header(name: str) -> tuple[Unit, str] | None:
    """Return the unit that a header or row label names: in brackets, as a word, after `_`.

    A unit of measurement goes before `x` and `%`, which may only annotate it.
    """
    found = [*_bracketed_units(name), *_word_units(name)]
    return next((u for u in found if u[0].metric != "speedup"), found[0] if found else None)


def group_units(name: str) -> tuple[tuple[Unit, str], ...]:
    """Return the units of `(TFLOPS / us)`, one for each group of its cells; else nothing."""
    found = [u for u in _bracketed_units(name) if u[0].metric != "speedup"]
    found = found or [u for u in _word_units(name) if u[0].metric != "speedup"]
    metrics = {unit.metric for unit, _ in found}
    return tuple(found) if "/" in name and len(found) == len(metrics) == 2 else ()


def _bracketed_units(name: str) -> list[tuple[Unit, str]]:
    parts = BRACKETED.findall(name)
    tokens = [t.strip("`* ") for part in parts for t in (part, *_TOKENS.findall(part))]
    known = {token: unit for token in tokens if (unit := find_unit(token)) is not None}
    # In `(T × 8)` the sign multiplies; only alone, as in `(x)`, is it a unit.
    whole = {part.strip("`* ") for part in parts}
    return [(u, t) for t, u in known.items() if u.symbol != "x" or t in whole]


def _word_units(name: str) -> list[tuple[Unit, str]]:
    words = _TOKENS.findall(BRACKETED.sub(" ", name.replace("_per_", "/")))
    words += [word.rpartition("_")[2] for word in words if "_" in word]
    long = [word for word in words if word.casefold() not in _SHORT or word == "%"]
    return [(unit, word) for word in long if (unit := find_unit(word)) is not None]


def unit_in_text(text: str) -> tuple[Unit, str] | None:
    """Return the unit that the sentence above a table names: `(us)`, `in ms`, `TFLOPS`."""
    for match in [*BRACKETED.findall(text), *_IN_UNIT.findall(text)]:
        for token in (match, *_TOKENS.findall(match)):
            unit = find_unit(token)
            if unit is not None and unit.metric != "speedup" and token.casefold() not in _SHORT:
                return unit, token
    for token in _TOKENS.findall(text):
        unit = find_unit(token.strip("`*.,"))
        if unit is not None and "/" in token + "/" * (unit.metric == "throughput_tflops"):
            return unit, token.strip("`*.,")
    return None


def is_peak(text: str) -> bool:
    """Whether a percentage under or beside this text is one of a peak."""
    return rules.pattern("peak").search(text) is not None


def side_of(name: str, *, in_sentence: bool = False) -> str | None:
    """Return `before` or `after` where a name says so; the word that comes first decides."""
    lists = ("words",) if in_sentence else ("words", "header")
    found = [
        (match.start(), -len(match[0]), side)
        for side in ("before", "after")
        for words in lists
        if (match := rules.words(side, words).search(name))
    ]
    return min(found)[2] if found else None
