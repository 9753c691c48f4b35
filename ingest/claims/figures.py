"""Figures in a piece of text: numbers with a unit, ranges, and pairs such as `8.4 -> 3.1 us`.

up to 1.27x           Figure(1.27, x, qualifier up_to)
9.7-13.0%             Figure(9.7, %, value_max 13.0)
76.3 → 81.9 tok/s     Figure(81.9, tok/s, baseline 76.3)
737 µs ± 216 ns       Figure(737, µs); what follows ± is skipped
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from ingest.claims import rules
from kwdb.units import Unit, find_unit, spellings

MINUS: Final = str.maketrans({"−": "-", "–": "-", "—": "-", "‑": "-", "﹣": "-"})
ARROW: Final = r"(?:→|⟶|➜|➔|⇒|-{1,2}>|={1,2}>)"
_NUMBER: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|\.\d+"
# `1.0x-1.5x`, `20-35%`, `0.97x to 1.02x`, `1.36 and 1.82x` after "between".
_RANGE: Final = r"(?P<between>\s*(?:-|–|—|~|…|\.{2,3}|\bto\b|\band\b)\s*)"
_SCALES: Final = {"k": 1e3, "K": 1e3, "M": 1e6}
_FROM: Final = re.compile(
    r"(?:(?<!ranges )(?<!ranging )(?<!range )from|reduced|improved|dropp?(?:s|ed))[^0-9]{0,14}$"
)
_NOT_BEFORE: Final = r"(?<![\w.,±])(?<!±\s)(?<![\w)\]][-/])"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number as written, and what its own text says about it."""

    text: str
    value: float
    start: int
    end: int
    unit: Unit | None = None
    unit_text: str | None = None
    value_max: float | None = None
    qualifier: str | None = None
    baseline: float | None = None
    baseline_unit: Unit | None = None
    is_signed: bool = False

    @property
    def is_ratio(self) -> bool:
        """Whether the unit is that of a ratio: a factor or a percentage."""
        return self.unit is not None and self.unit.metric == "speedup"

    @property
    def is_percent(self) -> bool:
        """Whether it is written with a percent sign."""
        return self.unit is not None and self.unit.symbol == "%"


@cache
def _units() -> str:
    """Spellings as an alternation; words before a rate, as in `total tokens/s`, belong to it."""
    forms = [re.escape(form).replace("us", "[uµμ]s") for form in spellings()]
    forms += [rf"(?:total|output|input) {re.escape(form)}" for form in ("tokens/s", "tok/s")]
    return "|".join(sorted(forms, key=len, reverse=True))


@cache
def _figure() -> re.Pattern[str]:
    unit = rf"(?P<unit>{_units()})(?![A-Za-z0-9_=]|/[A-Za-z])"
    return re.compile(
        rf"{_NOT_BEFORE}(?P<approx>[~≈]\s?)?(?P<sign>[-+−–](?=[\d.]))?(?P<low>{_NUMBER})"
        rf"(?P<scale>[kKM](?=\s?tok))?(?:(?P<lowunit>\s?(?:x|×|%|[mnuµμ]?s))?{_RANGE}[~≈+]?"
        rf"(?P<high>{_NUMBER}))?\s*(?:±\s*[\d.,]+\s*)?(?:\s?-\s?(?=us\b|ms\b))?{unit}",
        re.I,
    )


@cache
def _arrow() -> re.Pattern[str]:
    """The first number of a pair, whose unit may be left to the second."""
    return re.compile(
        rf"{_NOT_BEFORE}(?P<low>{_NUMBER})\s*(?P<unit>{_units()})?\s*(?:\([^()]{{0,40}}\)\s*)?{ARROW}\s*[~≈]?\s*$",
        re.I,
    )


@cache
def _keyed() -> re.Pattern[str]:
    """`Mean TTFT (ms): 120.5 -> 110.4`: the unit stands in the key."""
    return re.compile(
        rf"\((?P<unit>{_units()})\)\s*[:=]\s*(?P<low>{_NUMBER})(?:\s*{ARROW}\s*(?P<high>{_NUMBER}))?"
        rf"(?!\s*(?:{_units()})(?![A-Za-z0-9])|[\d.,]*\d)",
        re.I,
    )


_PREFIX: Final = re.compile(
    rf"(?<![\w.])[x×](?P<low>{_NUMBER})(?:\s?[-–~]\s?[x×]?(?P<high>{_NUMBER}))?(?![\w.]|\s?[x×])",
    re.I,
)
_SLASHED: Final = re.compile(rf"(?<![\w.,/±-])(?P<approx>[~≈]\s?)?(?P<low>{_NUMBER})\s/\s[~≈]?\s?$")
_BARE: Final = re.compile(
    rf"^(?P<approx>[~≈<>]\s?)?(?P<sign>[-+](?=[\d.]))?(?P<low>{_NUMBER})(?:\s?±\s?[\d.,]+)?$"
)


def number(text: str) -> float:
    """Return the value of a number as written: thousands commas dropped."""
    return float(text.replace(",", ""))


def scan(text: str) -> list[Figure]:
    """Return the figures of `text` that carry a unit, from left to right, pairs joined."""
    matches = (m for m in _figure().finditer(text) if not _is_product(m, text))
    found = [figure for m in matches for figure in _from_match(m, text)]
    found += [_from_prefix(m) for m in _PREFIX.finditer(text) if _is_factor(m, text)]
    found += [_from_key(m) for m in _keyed().finditer(text)] if "(" in text else []
    found += [first for figure in found for first in _before_slash(figure, text)]
    found.sort(key=lambda figure: figure.start)
    return list(_joined_pairs(found, text))


def _before_slash(figure: Figure, text: str) -> Iterator[Figure]:
    """The figures of `~0.42 / ~1.9 ms` to which the last one lends its unit."""
    start = figure.start
    while (match := _SLASHED.search(text, max(0, start - 24), start)) is not None:
        opens = text[: match.start()].rstrip()[-1:] in ("", *"(,:;=/|")
        if "." not in match["low"] and ("." in figure.text or not opens):
            return
        start = match.start()
        end, qualifier = match.end("low"), "approx" if match["approx"] else None
        value = number(match["low"])
        yield replace(
            figure, text=match["low"], value=value, start=start, end=end, qualifier=qualifier
        )


def bare(text: str) -> Figure | None:
    """Return `text` as one figure without a unit, or None when it is anything else."""
    match = _BARE.match(text.translate(MINUS).strip())
    if match is None:
        return None
    sign = match["sign"] or ""
    value = number(match["low"]) * (-1 if sign == "-" else 1)
    qualifier = "approx" if match["approx"] else None
    return Figure(text.strip(), value, 0, len(text), qualifier=qualifier, is_signed=bool(sign))


def _is_product(match: re.Match[str], text: str) -> bool:
    """`64x Invalid reads`, `8x B200`, `2x[3, 4]`, `B=2 S=512`: a count, a product or a name."""
    after = text[match.end() : match.end() + 24]
    if match["unit"] == "S" or (match["unit"] == "%" and after.lstrip().startswith("percentile")):
        return True
    if match["unit"].casefold() == "times":
        return (
            re.match(r"\s*(?:faster|slower|speed|higher|lower|better|the (?:speed|through))", after)
            is None
        )
    if match["unit"].casefold() not in ("x", "×"):
        return False
    if re.match(r"\d|\s?[\[{]", after):
        return True
    if "." not in match["low"] and _counts(after.lstrip()):
        return True
    spaced = text[match.start("unit") - 1].isspace()
    return spaced and re.match(r"\s*(?:faster|slower|speed|[(|,.;:)]|$)", after) is None


def _counts(after: str) -> bool:
    """Whether a whole number counts what follows it: GPUs, nodes, `LDG.E` instructions."""
    named = rules.gpu_pattern().match(after) or rules.words("counted").match(after)
    return named is not None or re.match(r"[A-Z]{3,}\.[A-Z0-9]", after) is not None


def _from_match(match: re.Match[str], text: str) -> list[Figure]:
    negative = (match["sign"] or "").translate(MINUS) == "-"
    low = number(match["low"]) * _SCALES.get(match["scale"] or "", 1.0)
    unit = find_unit(match["unit"])
    figure = Figure(
        text=match[0].strip(),
        value=-low if negative else low,
        start=match.start(),
        end=match.end(),
        unit=unit,
        unit_text=_written(match["unit"]),
        qualifier=_qualifier(match, text),
        is_signed=bool(match["sign"]),
    )
    return [figure] if match["high"] is None else _with_second(figure, match, text)


def _with_second(figure: Figure, match: re.Match[str], text: str) -> list[Figure]:
    """Read two numbers as a range, as `from A to B`, or drop the first that does not belong."""
    high, word = number(match["high"]), match["between"].strip().casefold()
    before = text[max(0, figure.start - 24) : figure.start].casefold()
    if word == "and" and "between" not in before:
        second = replace(figure, value=high, start=match.start("high"), text=match["high"])
        first = replace(figure, end=match.end("low"), text=match["low"])
        return [first, second] if match["lowunit"] else [second]
    if word == "to" and not figure.is_ratio and _FROM.search(before):
        unit = find_unit(match["lowunit"]) if match["lowunit"] else figure.unit
        return [replace(figure, value=high, baseline=figure.value, baseline_unit=unit)]
    if high < abs(figure.value):
        return [figure]
    return [replace(figure, value_max=high, qualifier="range")]


def _written(unit: str) -> str:
    return "x" if unit in ("×", "X") else unit


def _from_key(match: re.Match[str]) -> Figure:
    pair = match["high"] is not None
    name = "high" if pair else "low"
    unit = find_unit(match["unit"])
    return Figure(
        text=match[name],
        value=number(match[name]),
        start=match.start(name),
        end=match.end(name),
        unit=unit,
        unit_text=match["unit"],
        baseline=number(match["low"]) if pair else None,
        baseline_unit=unit if pair else None,
    )


def _is_factor(match: re.Match[str], text: str) -> bool:
    """`x1.5-3` and `x4 speed-up` are factors; `x86` is not."""
    follows = re.match(
        r"\s*(?:speed|fast|slow|perf|improv|boost)", text[match.end() : match.end() + 12]
    )
    return "." in match[0] or match["high"] is not None or follows is not None


def _from_prefix(match: re.Match[str]) -> Figure:
    high = match["high"]
    return Figure(
        text=match[0],
        value=number(match["low"]),
        start=match.start(),
        end=match.end(),
        unit=find_unit("x"),
        unit_text="x",
        value_max=None if high is None else number(high),
        qualifier="range" if high else None,
    )


def _qualifier(match: re.Match[str], text: str) -> str | None:
    """Words just before the figure qualify it; `geomean` may stand a few words ahead."""
    before = text[max(0, match.start() - 40) : match.start()]
    for name, pattern in rules.table("qualifiers"):
        ends = [found.end() for found in pattern.finditer(before)]
        if ends and (name == "geomean" or not before[ends[-1] :].strip(" (*:~`")):
            return name
    return "approx" if match["approx"] else None


def _joined_pairs(found: list[Figure], text: str) -> Iterator[Figure]:
    """Join `A unit -> B unit`; the first may lack its unit, so it is looked for in the text."""
    previous_end = 0
    kept: list[Figure] = []
    for figure in found:
        gap = text[previous_end : figure.start]
        window = text[max(0, figure.start - 60) : figure.start]
        pair = _arrow().search(window)
        if pair is not None and not figure.is_ratio:
            baseline = number(pair["low"])
            if kept and kept[-1].end > figure.start - 60 and kept[-1].value == baseline:
                kept.pop()
            unit = find_unit(pair["unit"]) if pair["unit"] else figure.unit
            figure = replace(figure, baseline=baseline, baseline_unit=unit)
        elif kept and _says_to(gap, kept[-1], figure):
            first = kept.pop()
            figure = replace(figure, baseline=first.value, baseline_unit=first.unit)
        kept.append(figure)
        previous_end = figure.end
    yield from kept


_TO: Final = re.compile(r"^\s*(?:down |up )?to\s+(?:just |only |about |around |roughly )?$", re.I)


def _says_to(gap: str, first: Figure, second: Figure) -> bool:
    """`from 133us to 103us`; without "from" two ratios and a `to` are a range."""
    same = (
        first.unit is not None
        and second.unit is not None
        and (first.unit.metric == second.unit.metric)
    )
    return same and not first.is_ratio and first.baseline is None and bool(_TO.match(gap))
