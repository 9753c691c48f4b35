"""Fixed-width tables of console output as table blocks: aligned, tab-separated, pandas, bars.

    batch_size  FlashInfer (us)   vLLM (us)       the header may have one cell less
0          1.0         5.175257    6.727172       (the index) or words apart by one space
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from ingest.claims.cells import read_cell
from ingest.claims.document import Block, Place, Row, plain
from ingest.claims.text import MAX_CELLS, Line

_GAP: Final = re.compile(r"\s{2,}|\t|\s*[|│]\s*")
_RULE: Final = re.compile(r"^[\s\-=+_|:*#─━]*$")
_TITLE_RULE: Final = re.compile(r"^\s*\[-{2,}.*-{2,}\]\s*$|^.{1,40}:\s*-{5,}\s*$")
_CELL: Final = re.compile(r"\S+(?: \S+)*")
_DOTS: Final = re.compile(r"^\s*(?:\.{2,}|…)\s*$")
_UNITS_NOTE: Final = re.compile(r"^\s*Times? (?:are|is|in)\b.*$", re.I)
_TOKEN: Final = re.compile(r"[\d.,]+ (?:ns|us|ms|s)\b|\S+")
_MIN_ROWS: Final = 2
_WIDEST: Final = 1_200


def printed_tables(lines: Sequence[Line], place: Place) -> tuple[list[Block], list[Line]]:
    """Return the tables among console lines, and the lines that belong to none."""
    lines = [line for line in lines if not _DOTS.match(line.text)]
    blocks: list[Block] = []
    rest: list[Line] = []
    index = 0
    while index < len(lines):
        size = _run(lines, index)
        if size < _MIN_ROWS or not rest:
            rest.append(lines[index])
            index += 1
            continue
        rows = lines[index : index + size]
        block = _continued(rows, rest, blocks) or _build(rows, rest, place)
        if block is None:
            rest += lines[index : index + size]
        else:
            blocks.append(replace(block, note=_note(lines, index + size)))
        index += size
    return blocks, rest


def _note(lines: Sequence[Line], after: int) -> str:
    texts = [line.text for line in lines[after : after + 3]]
    return next((text for text in texts if _UNITS_NOTE.match(text)), "")


def split(text: str) -> list[str]:
    """Split a line at tabs, bars and runs of spaces."""
    parts = [plain(part) for part in _GAP.split(text.strip()[:_WIDEST], MAX_CELLS)]
    return [part for part in parts if part][:MAX_CELLS]


def _run(lines: Sequence[Line], index: int) -> int:
    """Return how many lines from `index` on are rows of one table."""
    count = 0
    width = 0
    for line in lines[index:]:
        cells = split(line.text)
        if not _is_row(cells) or (width and abs(len(cells) - width) > 2):
            break
        width = width or len(cells)
        count += 1
    return count


def _is_row(cells: list[str]) -> bool:
    """A label, then mostly figures; a `key:` line is none."""
    if (
        len(cells) < 2
        or cells[0].startswith(("#", "$"))
        or (cells[0].endswith(":") and len(cells) == 2)
    ):
        return False
    numeric = [_is_figure(cell) for cell in cells[1:]]
    return numeric[-1] + sum(numeric) > 1 and sum(numeric) * 2 >= len(numeric)


def _is_figure(cell: str) -> bool:
    return ":" not in cell and bool(read_cell(cell)[0])


def _build(rows: Sequence[Line], above: list[Line], place: Place) -> Block | None:
    """Take the header off the end of the lines above, if one fits the rows."""
    at = len(above) - 1
    while at >= 0 and (_RULE.match(above[at].text) or _TITLE_RULE.match(above[at].text)):
        at -= 1
    if at < 0 or len(above) - at > 4:
        return None
    header, cells = _fitted(above, at, rows)
    if not header:
        return None
    first = above[at].first
    caption = _caption_of(above, at)
    del above[at:]
    table = tuple(Row(tuple(c), line.first, line.last) for c, line in zip(cells, rows, strict=True))
    where = replace(place, caption=caption) if caption else place
    return Block("table", header=tuple(header), rows=table, place=where, header_first=first)


def _continued(rows: Sequence[Line], above: list[Line], blocks: list[Block]) -> Block | None:
    """Rows after a blank line or a rule go on under the header of the table before."""
    ruled = _RULE.match(above[-1].text) or _TITLE_RULE.match(above[-1].text)
    if not blocks or not ruled or above[-1].first < blocks[-1].rows[-1].last:
        return None
    if rows[0].first - blocks[-1].rows[-1].last > 4:
        return None
    width = len(blocks[-1].header)
    cells = [_fit(c, width) for c in (split(line.text) for line in rows)]
    if any(abs(len(split(line.text)) - width) > 1 for line in rows):
        return None
    table = tuple(Row(tuple(c), line.first, line.last) for c, line in zip(cells, rows, strict=True))
    return replace(blocks[-1], rows=table)


def _fitted(above: list[Line], at: int, rows: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows with as many cells as it; an empty header where nothing fits."""
    barred = _barred(above, at, rows)
    if barred is not None:
        return barred
    cells = [split(line.text) for line in rows]
    counts = [len(c) for c in cells]
    width = max(set(counts), key=counts.count)
    header = _aligned(above[at].text, rows, width) or _header(above[at].text, width)
    if header is not None:
        return header, [_fit(c, len(header)) for c in _without_index(cells, len(header))]
    words = above[at].text.split()
    tokens = [_TOKEN.findall(line.text) for line in rows]
    if all(len(t) == len(words) for t in tokens) and not any(map(_is_figure, words)):
        return words, tokens
    return [], []


def _aligned(text: str, rows: Sequence[Line], width: int) -> list[str] | None:
    """Cut a header, whose words stand one space apart, where all rows' right-aligned cells end."""
    ends = {tuple(m.end() for m in _CELL.finditer(line.text)) for line in rows[:8]}
    if len(split(text)) == width or len(ends) != 1 or "|" in text or "\t" in text:
        return None
    places = [0, *ends.pop()]
    cut = any(text[at - 1 : at + 1].strip() == text[at - 1 : at + 1] for at in places[1:-1])
    names = [text[a:b].strip() for a, b in pairwise(places)]
    return None if cut or len(names) != width or not all(names) else names


def _barred(
    above: list[Line], at: int, rows: Sequence[Line]
) -> tuple[list[str], list[list[str]]] | None:
    """Columns between bars that hold several aligned figures, named by the line above the rows.

    Tokens |     A        |     B        |
           |  ms   TFLOPS |  ms   TFLOPS |
         1 | 0.07    10.2 | 0.10     6.8 |
    """
    parts = [[c.split() for c in line.text.split("|")] for line in rows]
    width = len(parts[0])
    heads = [above[n].text.split("|") for n in range(max(0, at - 1), at + 1)]
    heads = [head for head in heads if len(head) == width and not _is_row(head)]
    if width < 3 or not heads or any(len(part) != width for part in parts):
        return None
    sub = [cell.split() for cell in heads[-1]]
    wide = [
        len(sub[n]) if all(len(p[n]) == len(sub[n]) > 1 for p in parts) else 1 for n in range(width)
    ]
    if max(wide) == 1:
        return None
    group = [cell.strip() if len(heads) > 1 else "" for cell in heads[0]]
    header = [
        f"{group[n]} {name}".strip() for n in range(width) for name in _columns(sub[n], wide[n])
    ]
    return header, [[c for n in range(width) for c in _columns(part[n], wide[n])] for part in parts]


def _columns(words: list[str], count: int) -> list[str]:
    return words if count > 1 else [" ".join(words)]


def _caption_of(above: list[Line], at: int) -> Line | None:
    for line in reversed(above[max(0, at - 2) : at]):
        if line.text.strip() and not _RULE.match(line.text):
            return line
    return None


def _header(text: str, width: int) -> list[str] | None:
    """The header's cells: as many as the rows', or one less beside a label or an index."""
    if text.lstrip().startswith(("$", "#!", ">>>")) or len(text) > 400:
        return None
    header = split(text)
    if sum(map(_is_measured, header)):
        return None
    if not any(re.search(r"[A-Za-z%]", cell) for cell in header):
        leads = text[:1].isspace() or text.lstrip().startswith("|")
        return ["", *header] if leads and len(header) == width - 1 else None
    if len(header) in (width, width + 1):
        return header
    single = re.sub(r"\s+(?=[(\[])", "\0", text.strip()).split()
    if len(single) == width:
        return [cell.replace("\0", " ") for cell in single]
    if (len(header) == width - 1 and text[:1].isspace()) or "|" in text:
        return (
            ["", *header]
            if len(header) == width - 1 and len(header) > 1
            else header
            if len(header) == width - 1
            else None
        )
    return None


def _is_measured(cell: str) -> bool:
    """Whether a header's cell is a figure with a unit, which makes it a row."""
    return any(item.figure.unit is not None for item in read_cell(cell)[0])


def _without_index(cells: list[list[str]], width: int) -> list[list[str]]:
    """Drop the running number that pandas prints before each row, or blank its cell."""
    numbers = [row[0] for row in cells]
    if len(numbers) < 2 or numbers != [str(n) for n in range(len(numbers))]:
        return cells
    return [["", *row[1:]] if len(row) == width else row[1:] for row in cells]


def _fit(cells: list[str], width: int) -> list[str]:
    """Align a row to its header from the right; a label cut at a double space is joined again."""
    extra = len(cells) - width
    if extra > 0:
        return ["  ".join(cells[: extra + 1]), *cells[extra + 1 :]]
    return [cells[0], *[""] * -extra, *cells[1:]] if extra < 0 else cells
