"""Figures in bullets and sentences.

    the kernel time improved from ~26.8us to ~9.8us     one claim with its baseline
    1.06x at B1 and 1.08x at B16                        two, under a heading that speaks of speed
    77.1 µs before vs 76.9 µs after                     one claim with its baseline
    8x B200, 64x invalid reads, 2x memory, ~5 minutes to autotune    none

A time needs a sentence that is not about timeouts or compiling; a factor or percentage needs
words of speed near it and none of memory, accuracy or theory.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final

from ingest.claims import rules, skip
from ingest.claims.columns import side_of
from ingest.claims.document import Block, plain
from ingest.claims.figures import Figure, number, scan
from ingest.claims.found import Found
from ingest.claims.text import Line
from kwdb.units import HIGHER, LOWER, direction_of

_END: Final = re.compile(r"(?<=[.;!?])\s+(?=[A-Z(\[`*-])")
_BARE_FIRST: Final = re.compile(r"(?<![\w.,])(?P<value>\d[\d,]*(?:\.\d+)?)\s+vs\.?\s*$", re.I)
_CHECKBOX: Final = re.compile(r"^\s*[-*]\s*\[ \]")
# A clause ends at a comma, a bracket or a figure, but not at the digits of a GPU's name.
_AFTER: Final = re.compile(r"[^,;:(]{0,60}")
_BEFORE: Final = re.compile(r"[^,;)]{0,60}$")
_NEAR: Final = 70
_SENTENCE: Final = 600
_SERIES: Final = 10_000_000
# A paragraph of more lines or figures is no prose; it is read so far.
_LONGEST: Final = 120
_MOST: Final = 200
_TEXT: Final = 16_000
_PARAGRAPH: Final = 4_000


@dataclass(frozen=True, slots=True)
class _Text:
    """Joined lines of a paragraph, with the offset at which each begins."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[Line, ...]

    def line_at(self, offset: int) -> Line:
        return self.lines[max(0, bisect_right(self.starts, offset) - 1)]


@dataclass(frozen=True, slots=True)
class _Spot:
    """A figure in its sentence, with the text to either side."""

    figure: Figure
    sentence: str
    before: str
    after: str
    leads: Figure | None = None

    @property
    def clauses(self) -> tuple[str, str]:
        """What stands after the figure and before it, as far as the next comma or figure."""
        return _AFTER.match(self.after)[0], _BEFORE.search(self.before)[0]  # type: ignore[index]

    @property
    def near(self) -> str:
        return f"{self.before[-_NEAR:]} {self.after[:_NEAR]}"

    @property
    def window(self) -> str:
        return f"{self.before[-2 * _NEAR :]} {self.after[: 2 * _NEAR]}"


def find_in_prose(block: Block, title: str) -> list[Found]:
    """Return the figures of a paragraph, a bullet or a title."""
    lines = [line for line in block.lines[:_LONGEST] if not skip.command(line.text)]
    if not lines or _CHECKBOX.match(lines[0].text):
        return []
    joined = _join(lines)
    spots = list(islice(_spots(joined), _MOST))
    wanted = [spot for spot in spots if _is_claim(spot, block, title)]
    return [_found(spot, pair, joined, block) for spot, pair in _paired(wanted, joined.text)]


def _join(lines: Sequence[Line]) -> _Text:
    texts = [plain(line.text) for line in lines]
    starts, offset = [], 0
    for text in texts:
        starts.append(offset)
        offset += len(text) + 1
    return _Text(" ".join(texts)[:_TEXT], tuple(starts), tuple(lines))


def _spots(joined: _Text) -> Iterator[_Spot]:
    ends = [0, *(m.end() for m in _END.finditer(joined.text)), len(joined.text)]
    last: Figure | None = None
    for figure in scan(joined.text):
        at = bisect_right(ends, figure.start)
        low, high = ends[at - 1], ends[min(at, len(ends) - 1)]
        high = max(high, figure.end)
        low, high = max(low, figure.start - _SENTENCE), min(high, figure.end + _SENTENCE)
        text = joined.text
        is_beside = last is not None and text[last.end : figure.start].strip("* ") == "("
        leads, last = (last if is_beside else None), figure
        yield _Spot(
            figure, text[low:high], text[low : figure.start], text[figure.end : high], leads
        )


def _is_claim(spot: _Spot, block: Block, title: str) -> bool:
    if skip.noise(spot.sentence) or rules.pattern("bound_before").search(spot.before):
        return False
    if spot.figure.is_ratio:
        return _is_ratio(spot, block, title)
    metric = spot.figure.unit.metric if spot.figure.unit else ""
    if metric == "latency":
        return _is_latency(spot, block, title)
    if rules.pattern("spec_after").match(spot.after):
        return False
    if rules.pattern("spec_before").search(spot.before) or _is_specification(spot.before):
        return False
    return not rules.words("not_in_sentence", "rate").search(spot.near)


def _is_specification(before: str) -> bool:
    """`H100 SXM5 80GB (3352 GB/s`: a figure in brackets right after a GPU is the GPU's own."""
    opened = re.search(r"^(.*)[(（][^()（）]{0,24}$", before[-60:])
    if opened is None:
        return False
    named = list(rules.gpu_pattern().finditer(opened[1]))
    return bool(named) and re.search(r"[.;:]|\b[a-z]{3,}\b", opened[1][named[-1].end() :]) is None


def _is_latency(spot: _Spot, block: Block, title: str) -> bool:
    if rules.words("not_in_sentence", "latency").search(spot.window) or rules.pattern(
        "protocol_after"
    ).match(spot.after):
        return False
    above = " ".join([*(line.text for line in block.place.headings[-1:]), title])
    if skip.compiling(above) and not rules.words("performance_words").search(spot.sentence):
        return False
    if "s" in (unit.symbol for unit in (spot.figure.unit, spot.figure.baseline_unit) if unit):
        return (
            rules.words("speed_words").search(spot.near) is not None
            and "requests in" not in spot.near
        )
    return not rules.pattern("future").search(spot.sentence)


def _is_ratio(spot: _Spot, block: Block, title: str) -> bool:
    if spot.figure.is_percent and _is_of_peak(spot):
        return True
    near = spot.near
    if spot.figure.is_percent and re.match(r"\s+(?:of|were|are|cases)\b", spot.after):
        return False
    if rules.words("not_in_sentence", "ratio").search(near) or rules.pattern("future").search(
        spot.sentence
    ):
        return False
    if rules.words("speed_words").search(near) is not None or _change_beside(spot) is not None:
        return True
    if not _is_under_speed(block, title):
        return False
    marked = spot.figure.is_percent and spot.figure.is_signed
    factor = not spot.figure.is_percent and ("." in spot.figure.text or "(" in spot.before[-3:])
    return marked or factor


def _change_beside(spot: _Spot) -> str | None:
    """The metric of `512 ms -> 750 ms (+46%)` where the percentage is that of the change."""
    pair, figure = spot.leads, spot.figure
    if pair is None or pair.unit is None or not pair.baseline or not figure.is_percent:
        return None
    change = (pair.value / pair.baseline - 1) * 100
    return pair.unit.metric if abs(change - figure.value) <= max(1.0, abs(change) / 20) else None


def _is_under_speed(block: Block, title: str) -> bool:
    """Whether the nearest heading, the sentence above or the title is about performance."""
    texts = [title, *(line.text for line in block.place.headings[-1:])]
    texts += [block.place.caption.text] if block.place.caption else []
    return any(rules.words("speed_words").search(text) for text in texts)


def _paired(spots: list[_Spot], text: str) -> Iterator[tuple[_Spot, Figure | None]]:
    """Join `A vs B` and `before: A, after: B`; the figures of a longer chain stay apart."""
    ends = [0, *(spot.figure.end for spot in spots)]
    joins = [_joins(*pair, text, ends[n]) for n, pair in enumerate(pairwise(spots))]
    index = 0
    while index < len(spots):
        verdict = joins[index] if index < len(joins) else None
        chained = verdict is not None and index + 1 < len(joins) and joins[index + 1] is not None
        if verdict is None:
            yield spots[index], _own_pair(spots[index])
            index += 1
        elif chained:
            yield from ((spot, None) for spot in spots[index : index + 2])
            index += 2
        else:
            after, before = spots[index : index + 2][:: 1 if verdict == "after" else -1]
            yield after, before.figure
            index += 2


def _own_pair(spot: _Spot) -> Figure | None:
    """The first of a pair that the figure holds itself."""
    figure = spot.figure
    if figure.baseline is not None:
        return Figure(f"{figure.baseline:g}", figure.baseline, 0, 0, unit=figure.baseline_unit)
    return None


def _joins(first: _Spot, second: _Spot, text: str, previous: int) -> str | None:
    """Say which of two neighbouring figures of one metric is the first one, if they compare.

    A word for a side belongs to the figure that comes next after it, so what stands before the end
    of the `previous` figure says nothing of the first.
    """
    one, two = first.figure, second.figure
    if one.unit is None or two.unit is None or one.unit.metric != two.unit.metric:
        return None
    if one.baseline is not None or two.baseline is not None or one.is_ratio:
        return None
    gap = text[one.end : two.start]
    versus = rules.pattern("versus_gap").match(gap)
    if versus is not None:
        return "before" if side_of(versus["lead"], in_sentence=True) == "before" else "after"
    lead = text[max(previous, one.start - len(first.before)) : one.start]
    sides = tuple(side_of(part[-50:], in_sentence=True) for part in (lead, gap))
    return (
        "before"
        if sides == ("before", "after")
        else "after"
        if sides == ("after", "before")
        else None
    )


def _found(spot: _Spot, baseline: Figure | None, joined: _Text, block: Block) -> Found:
    figure = spot.figure
    bare_first = _BARE_FIRST.search(spot.before) if baseline is None else None
    if bare_first is not None and not figure.is_ratio:
        baseline = figure
        value = number(bare_first["value"])
        figure = replace(figure, value=value, text=bare_first["value"])
    first, last = _lines_of(spot, joined, baseline, len(bare_first[0]) if bare_first else 0)
    metric = _metric(spot)
    delta = _is_delta(spot)
    ratio = metric == "speedup" or delta
    role = "ratio" if ratio else "after" if baseline is not None else _role(spot)
    return Found(
        metric=metric,
        figure=figure,
        first=first,
        last=last,
        role=role,
        direction=_direction(spot, metric, delta=delta) if ratio else None,
        baseline=None if ratio else baseline,
        unit_text=figure.unit_text,
        ratio_of="delta" if delta else None,
        statistic=rules.statistic(spot.before[-40:]),
        qualifier=_qualifier(spot),
        op=rules.first(rules.table("serving_ops"), spot.near),
        dimensions=tuple(re.findall(r"\b([A-Za-z_]\w{0,30})=([\w.]{1,40})", spot.sentence)[:12]),
        near=(
            *(("clause", text) for text in spot.clauses if text.strip()),
            ("sentence", spot.sentence),
            ("paragraph", joined.text[:_PARAGRAPH]),
        ),
        place=block.place,
        side=_opening_side(joined.text),
        series=_SERIES + joined.lines[0].first if _opening_side(joined.text) else 0,
    )


def _qualifier(spot: _Spot) -> str | None:
    """`1.16x kernel geomean`: a mean of the shapes that is named behind its figure."""
    named = rules.table("qualifiers")[0]
    return named[0] if spot.figure.is_ratio and named[1].search(spot.clauses[0][:30]) else None


def _opening_side(text: str) -> str | None:
    """The side that a bullet or paragraph opens with, as in `- Before: 0.016 ms, 73 TFLOPS`."""
    opened = re.match(r"^\W{0,4}([^:.,;\d()]{2,60}?)\s?(?:\([^()]{0,30}\)\s?)?:", text)
    return side_of(opened[1]) if opened else None


def _lines_of(spot: _Spot, joined: _Text, baseline: Figure | None, lead: int) -> tuple[int, int]:
    """The lines from the baseline, else from the figure, to the figure's end."""
    start = spot.figure.start - lead
    if baseline is not None and baseline.end:
        start = min(start, baseline.start)
    low = joined.line_at(start)
    high = joined.line_at(max(spot.figure.end - 1, baseline.end - 1 if baseline else 0))
    return low.first, high.last


def _metric(spot: _Spot) -> str:
    figure = spot.figure
    if figure.is_percent and _is_of_peak(spot):
        return "percent_of_peak"
    return figure.unit.metric if figure.unit else "speedup"


def _is_of_peak(spot: _Spot) -> bool:
    """`87% of DRAM peak`, and a second one in brackets after it."""
    if rules.pattern("of_peak").match(spot.after) or rules.pattern("peak_after").search(
        spot.after[:24]
    ):
        return True
    opened = spot.before.rstrip().endswith("(")
    return opened and re.search(r"%\s+of\s(?:\w+\s){0,3}peak", spot.before[-100:]) is not None


def _is_delta(spot: _Spot) -> bool:
    if spot.figure.is_ratio or spot.figure.baseline is not None:
        return False
    saved = rules.pattern("saving_before").search(spot.before) or rules.pattern(
        "saving_after"
    ).match(spot.after)
    return bool(saved) or spot.figure.is_signed


def _role(spot: _Spot) -> str:
    return side_of(spot.before[-30:], in_sentence=True) or "single"


def _is_worse(spot: _Spot) -> bool:
    """The nearest word of gain or loss decides: after the figure first, then before it."""
    worse, better = rules.pattern("worse"), rules.pattern("better")
    after = spot.after[:44]
    bad, good = worse.search(after), better.search(after)
    if bad or good:
        return bad is not None and (good is None or bad.start() < good.start())
    before = spot.before[-40:]
    return worse.search(before) is not None and better.search(before) is None


def _direction(spot: _Spot, metric: str, *, delta: bool) -> str:
    figure, near = spot.figure, spot.near
    if delta:
        return LOWER if figure.is_signed and metric == "latency" else HIGHER
    changed = _change_beside(spot)
    if changed is not None and figure.is_signed:
        return direction_of(changed)
    if rules.pattern("latency_ratio").search(spot.sentence):
        return LOWER
    if _is_worse(spot):
        return LOWER
    if (
        figure.is_percent
        and figure.is_signed
        and figure.value < 0
        and not rules.pattern("better").search(spot.after[:30])
    ):
        return HIGHER if re.search("throughput|tok/s|qps", near, re.I) else LOWER
    return HIGHER
