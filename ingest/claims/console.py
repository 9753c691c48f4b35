"""Figures of console output: serving benchmarks, `key: value` lines, `[PERF]` lines, timeit.

    Mean TTFT (ms):                 16050.72    the key names the unit
    gemm m=1 n=2560: 6.36 TFLOPs/s over 0.0132 ms, 3.18 TB/s
    737 µs ± 216 ns per loop (mean ± std. dev. of 7 runs)

Two prints under captions such as `Main:` and `PR:` are paired line by line.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from ingest.claims import rules, skip
from ingest.claims.columns import is_peak, side_of, unit_of_header
from ingest.claims.context import op_in
from ingest.claims.document import Block, plain
from ingest.claims.figures import Figure, bare, scan
from ingest.claims.found import Found
from ingest.claims.printed import printed_tables
from ingest.claims.tables import find_in_table
from ingest.claims.text import Line
from kwdb.units import HIGHER, LOWER

_KEY_VALUE: Final = re.compile(
    r"^\W{0,6}(?P<key>[A-Za-z#%][^:=]{1,100}?)\s*[:=]\s*(?P<value>[-+]?[\d.,]+(?:[eE][-+]?\d+)?)\s*$"
)
_KEY_ONLY: Final = re.compile(r"^[^:=]{1,80}(?::\s|\s=\s).*\d")
_SETTING: Final = re.compile(r"\b([A-Za-z_]\w{0,30})\s?[=:]\s?(\[[^\[\]]{0,120}\]|[\w.]{1,40})")
_CAPTION_LINE: Final = re.compile(r"^\s*(?:#{1,3}\s|={3,}|-{3,}\s*\w|\*{2,}|//)|:\s*$")
_SERVING: Final = re.compile(r"=+\s*\w[\w ]*\bBenchmark Result|^\s*-{3,}[\w ().-]+-{3,}\s*$", re.I)
_BEHIND: Final = re.compile(
    r"\s?\(([^()]{2,60})\)|\s([A-Za-z][A-Za-z0-9 ]{1,24})(?=\s{0,2}(?:[,;]|$))"
)
_PERF: Final = re.compile(r"\s*\[PERF\]\s*([^\s:]{1,60})\s*::")
_OPTION: Final = re.compile(
    r"\s--?([A-Za-z][\w-]{0,30})[ =](\[[^\[\]]{0,80}\]|[\w.]{1,40})(?=\s|$)"
)
_ASSIGNS: Final = re.compile(r"\W{0,4}[A-Za-z_]\w{0,30}=[\w.\[]{1,40}\s*(?:,|$)")
_TAG: Final = re.compile(r"\s*\[[A-Z]{3,12}\]")
_ROUTINE: Final = re.compile(r"\broutine=(\w+)")
_REACH: Final = 4
_MAX_CAPTION: Final = 120
# No print has more figures than this; the rest of a longer one is not read.
_MOST: Final = 2_000
_HUGE: Final = 1e12
_WIDEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Series:
    """Lines under one caption; `setting` is the last line that told what the next measures."""

    number: int
    side: str | None
    caption: str
    setting: str = ""


def find_in_console(block: Block, title: str, series: int) -> list[Found]:
    """Return the figures of a console block, or of a paragraph that is printed output."""
    lines = _shown(block)
    if block.kind == "prose" and not looks_printed(lines):
        return []
    start = _first_series(block, series * 1000)
    tables, rest = printed_tables(lines, block.place)
    found = [
        item
        for n, table in enumerate(tables)
        for item in _in_series(
            find_in_table(table, title), start.number + 500 + n, _side(table, start)
        )
    ]
    return [*found, *islice(_lines(rest, block, start), _MOST)]


def _in_series(found: list[Found], number: int, side: str | None) -> list[Found]:
    """A table that compares in itself is not held against another."""
    if any(item.baseline is not None or item.role == "ratio" for item in found):
        return found
    return [replace(item, series=number, side=side) for item in found]


def _shown(block: Block) -> list[Line]:
    texts = [line.text for line in block.lines]
    return [
        line
        for n, line in enumerate(block.lines)
        if not skip.evaluation(texts[max(0, n - _REACH) : n + _REACH])
        or "throughput (" in line.text.lower()
        or skip.serving(texts[max(0, n - 40) : n])
    ]


def looks_printed(lines: Sequence[Line]) -> bool:
    """Three lines or more, most of them short and of the form `key: value`."""
    shown = [line.text for line in lines if any(map(str.isalnum, line.text))]
    alike = sum(_is_keyed(text) or "\t" in text for text in shown)
    return (len(shown) > 2 and alike * 10 >= len(shown) * 6) or any(
        "\t" in text for text in shown[1:]
    )


def _is_keyed(text: str) -> bool:
    return _KEY_ONLY.match(text) is not None or _ASSIGNS.match(text) is not None


def _first_series(block: Block, number: int) -> _Series:
    caption = block.place.caption.text[-_MAX_CAPTION:] if block.place.caption else ""
    return _Series(number, side_of(caption), caption)


def _side(table: Block, start: _Series) -> str | None:
    own = side_of(table.place.caption.text) if table.place.caption else None
    return own or start.side


def _lines(lines: Sequence[Line], block: Block, series: _Series) -> Iterator[Found]:
    in_command = False
    for line in lines:
        text = line.text
        is_command, goes_on = in_command or skip.command(text), text.rstrip().endswith("\\")
        if options := _options(text):
            series = replace(series, setting=f"{series.setting if in_command else ''} {options}")
        in_command = goes_on
        if is_command or options or skip.noise(text) or skip.timestamped(text) or not text.strip():
            continue
        found = list(_line(line, block, series))
        yield from found
        if not found:
            series = _next_series(series, text)


def _options(text: str) -> str:
    """What `bench.py --routine mm_fp4 --m 1024` says of the shape, as `routine=mm_fp4 m=1024`."""
    if " --" not in text:
        return ""
    found = _OPTION.findall(text[:_WIDEST])
    return " ".join(f"{n}={v}" for n, v in found if not rules.words("not_options").match(n))


def _next_series(series: _Series, text: str) -> _Series:
    """A line without figures is a caption or tells the setting of the figures that follow."""
    if len(text) > 2 * _MAX_CAPTION or _SERVING.search(text) or _TAG.match(text):
        return series
    side = side_of(text)
    plainly = text.lstrip().startswith("#") or not _SETTING.search(text)
    if plainly and (side or _CAPTION_LINE.search(text)):
        return _Series(series.number + 1, side or series.side, plain(text))
    if not _SETTING.search(text):
        return series
    goes_on = series.setting.endswith(",")
    return replace(series, setting=f"{series.setting if goes_on else ''} {text}".strip())


def _line(line: Line, block: Block, series: _Series) -> Iterator[Found]:
    text = plain(line.text[:_WIDEST])
    keyed = _KEY_VALUE.match(text)
    unit = unit_of_header(keyed["key"]) if keyed else None
    if keyed and unit:
        figure = bare(keyed["value"])
        if (
            figure is not None
            and abs(figure.value) < _HUGE
            and unit[0].metric != "speedup"
            and not skip.row(keyed["key"])
        ):
            figure = replace(figure, unit=unit[0])
            yield _found(line, block, series, figure, unit[1], keyed["key"], "")
        return
    if keyed and skip.row(keyed["key"]):
        return
    figures = scan(text)
    prefix = text[: figures[0].start] if figures else ""
    behind = _labels_behind(text, figures)
    end = 0
    for n, figure in enumerate(figures):
        label = behind[n] if behind else text[end : figure.start]
        after = text[figure.end : figure.end + 40]
        end = figure.end
        if _is_claim(figure, label, after, prefix):
            own = replace(series, side=side_of(label) or series.side) if behind else series
            yield _found(line, block, own, figure, figure.unit_text, prefix, label, after)


def _labels_behind(text: str, figures: Sequence[Figure]) -> list[str]:
    """The labels of `24 ms (this PR), 32 ms (main)` or `9 ms ITL, 3 s e2e`, if each has one."""
    labels = [match[1] or match[2] for f in figures if (match := _BEHIND.match(text, f.end))]
    return labels if len(labels) == len(figures) > 1 and not any(map(scan, labels)) else []


def _is_claim(figure: Figure, label: str, after: str, prefix: str) -> bool:
    if skip.row(label) or skip.row(prefix) or skip.compiling(prefix + label):
        return False
    words = f"{prefix} {label} {after}"
    if figure.is_ratio:
        return is_peak(label + after[:16]) or rules.words("speed_words").search(words) is not None
    if figure.unit is not None and figure.unit.symbol == "s":
        return rules.pattern("slow_seconds").search(words) is not None
    return True


def _found(
    line: Line,
    block: Block,
    series: _Series,
    figure: Figure,
    unit_text: str | None,
    prefix: str,
    label: str,
    after: str = "",
) -> Found:
    metric = _metric(figure, label + after[:16])
    words = f"{prefix} {label} {after if not label.strip() else ''}"
    side = series.side or side_of(words)
    role = "ratio" if metric == "speedup" else (side or "single")
    own = figure.baseline
    return Found(
        metric=metric,
        figure=figure,
        first=line.first,
        last=line.last,
        role="after" if own is not None else role,
        direction=_ratio_direction(words) if metric == "speedup" else None,
        baseline=Figure(f"{own:g}", own, 0, 0, unit=figure.baseline_unit)
        if own is not None
        else None,
        unit_text=unit_text,
        variant=_backend(line.text) or plain(label.strip(" ,;:|()=")) or _last_words(prefix),
        statistic=rules.statistic(f"{prefix} {label}"),
        op=_op(series.setting, words),
        dimensions=tuple(_SETTING.findall(f"{series.setting} {prefix}")[:12]),
        near=(
            ("cell", line.text),
            ("label", words[:200]),
            ("header", series.setting),
            ("header", series.caption),
        ),
        place=block.place,
        key=f"{series.setting}|{prefix if label != prefix else ''}|{label}",
        side=side,
        series=series.number,
        origin="console",
    )


def _op(setting: str, words: str) -> str | None:
    routine = _ROUTINE.search(setting)
    if routine:
        return op_in(routine[1]) or routine[1]
    return rules.first(rules.table("serving_ops"), words)


def _backend(text: str) -> str | None:
    """The name in `[PERF] cudnn :: median time 0.014 ms; ...`, which is that of all its figures."""
    match = _PERF.match(text)
    return match[1] if match else None


def _metric(figure: Figure, words: str) -> str:
    if figure.is_percent and is_peak(words):
        return "percent_of_peak"
    return figure.unit.metric if figure.unit else "latency"


def _ratio_direction(words: str) -> str:
    if rules.words("higher_ratio_words").search(words):
        return HIGHER
    return LOWER if rules.words("lower_ratio_words").search(words) else HIGHER


def _last_words(prefix: str) -> str | None:
    return plain(prefix.strip(" ,;:|()="))[-80:] or None


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
