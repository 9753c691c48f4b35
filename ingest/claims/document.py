"""A description as a list of blocks: headings, prose, tables, console output.

Markdown is read by markdown-it with its table rule; HTML tables by the standard library's parser.
Every piece of a block keeps the number of the stored line that it came from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.claims.figures import scan
from ingest.claims.text import MAX_CELLS, Line, cells_of, is_separator, logical

_MARKUP: Final = re.compile(
    r"\*\*|__(?=\S)|(?<=\S)__|`|~~|<br\s*/?>|\\(?=[|*_~<>])|</?\w{1,20}[^<>]*>"
)
_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_SECTION: Final = 16
_CONTEXT: Final = 1_600
_CONTEXT_LINES: Final = 60
_STRUCK: Final = re.compile(r"~~[^~]{1,200}~~")
_ENTITIES: Final = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&nbsp;": " ", "&times;": "×"}
_ENTITY: Final = re.compile("|".join(_ENTITIES))
_BOLD_LINE: Final = re.compile(r"^\s*(?:[-*]\s+)?\*\*[^*]{2,120}\*\*:?\s*$")


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one table row and the stored lines that it covers."""

    cells: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Place:
    """What stands above a block: headings from the outermost, the nearest text, its section."""

    headings: tuple[Line, ...] = ()
    caption: Line | None = None
    section: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """One block; `lines` for prose and console output, `header` and `rows` for a table."""

    kind: str
    lines: tuple[Line, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    place: Place = field(default_factory=Place)
    header_first: int = 0
    note: str = ""


def plain(text: str) -> str:
    """Return Markdown inline text without its marks and without what its author struck out."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: _ENTITIES[match[0]], text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "~~" in text:
        text = _STRUCK.sub("", text)
    return _MARKUP.sub("", text).strip()


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables; no indented code or setext headings, which console prints imitate."""
    parser = MarkdownIt("commonmark", {"maxNesting": 12}).enable("table")
    return parser.disable(["inline", "code", "lheading", "reference", "html_block"])


def read_blocks(body: str) -> list[Block]:
    """Return the blocks of a body in reading order, each with its place."""
    lines, tables = _without_html_tables(logical(body))
    blocks = [*_blocks_of(lines), *tables]
    blocks.sort(key=lambda block: block.lines[0].first if block.lines else block.header_first)
    return list(_placed(blocks))


def _blocks_of(lines: Sequence[Line]) -> Iterator[Block]:
    text = "\n".join(line.text for line in lines)
    tokens = _parser().parse(text)
    for index, token in enumerate(tokens):
        covered = tuple(lines[token.map[0] : token.map[1]]) if token.map else ()
        if token.type == "table_open":
            yield _table_of(tokens, index, lines)
        elif token.type == "fence" and covered:
            yield from _console_blocks(covered[1:])
        elif token.type == "inline" and tokens[index - 1].type in (
            "paragraph_open",
            "heading_open",
        ):
            yield _text_block(tokens[index - 1], covered)


def _text_block(opener: Token, lines: tuple[Line, ...]) -> Block:
    if opener.type == "heading_open":
        return Block("heading", lines, note=opener.tag[1:])
    if len(lines) == 1 and _BOLD_LINE.match(lines[0].text) and not scan(plain(lines[0].text)):
        return Block("heading", lines, note="7")
    return Block("prose", lines)


def _console_blocks(lines: tuple[Line, ...]) -> Iterator[Block]:
    """A fence may hold Markdown tables; all of its other lines are console output."""
    inner = [line for line in lines if not line.text.lstrip().startswith(("```", "~~~"))]
    if not any(is_separator(line.text) for line in inner):
        yield Block("console", tuple(inner))
        return
    tables = [b for b in _blocks_of([_dedent(line) for line in inner]) if b.kind == "table"]
    spans = [(b.header_first, b.rows[-1].last if b.rows else b.header_first) for b in tables]
    inside = {n for first, last in spans for n in range(first, last + 1)}
    rest = tuple(line for line in inner if line.first not in inside)
    yield from ([Block("console", rest)] if rest else [])
    yield from tables


def _dedent(line: Line) -> Line:
    return Line(line.text.lstrip(" >\t"), line.first, line.last)


def _table_of(tokens: Sequence[Token], start: int, lines: Sequence[Line]) -> Block:
    rows: list[Row] = []
    for token in tokens[start + 1 :]:
        if token.type == "table_close":
            break
        if token.type == "tr_open" and token.map:
            line = lines[token.map[0]]
            cells = tuple(plain(cell.replace("¦", "|")) for cell in cells_of(line.text)[:MAX_CELLS])
            rows.append(Row(cells, line.first, line.last))
    header = rows[0] if rows else Row((), 0, 0)
    return Block("table", header=header.cells, rows=tuple(rows[1:]), header_first=header.first)


class _Outline:
    """Headings and text above the current block; a heading ends the text of its level and below."""

    def __init__(self) -> None:
        self.headings: list[tuple[int, Line]] = []
        self.texts: list[tuple[int, Line]] = []
        self.caption: Line | None = None

    def place(self) -> Place:
        near = tuple(line for _, line in self.texts[-_SECTION:])
        return Place(tuple(line for _, line in self.headings), self.caption, near)

    def open(self, level: int, line: Line) -> None:
        self.headings = [*(h for h in self.headings if h[0] < level), (level, line)]
        self.texts = [t for t in self.texts if t[0] < level]
        self.caption = line

    def add(self, line: Line) -> None:
        self.caption = line
        self.texts.append((self.headings[-1][0] if self.headings else 0, line))


def _placed(blocks: list[Block]) -> Iterator[Block]:
    outline = _Outline()
    for block in blocks:
        if block.kind == "heading":
            outline.open(int(block.note), block.lines[0])
            continue
        yield replace(block, place=outline.place())
        if block.kind == "prose":
            outline.add(_joined(block.lines))


def _joined(lines: tuple[Line, ...]) -> Line:
    """A paragraph as one line; of a long one its beginning and its end."""
    text = " ".join(line.text.strip() for line in lines[:_CONTEXT_LINES])
    if len(lines) > _CONTEXT_LINES:
        text = f"{text} {lines[-1].text.strip()}"
    if len(text) > _CONTEXT:
        text = f"{text[: _CONTEXT // 2]} {text[-_CONTEXT // 2 :]}"
    return Line(text, lines[0].first, lines[-1].last)


class _TableReader(HTMLParser):
    """Collects the rows of HTML tables; nesting is read as one flat table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[list[str], int, int]] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        line = self.getpos()[0] - 1
        if tag == "tr":
            self.rows.append(([], line, line))
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None and self.rows:
            cells, first, _ = self.rows[-1]
            if len(cells) < MAX_CELLS:
                cells.append(" ".join("".join(self._cell).split()))
            self.rows[-1] = (cells, first, self.getpos()[0] - 1)
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def _without_html_tables(lines: list[Line]) -> tuple[list[Line], list[Block]]:
    start = next((n for n, line in enumerate(lines) if "<table" in line.text.lower()), None)
    if start is None:
        return lines, []
    ends = [n for n, line in enumerate(lines) if "</table" in line.text.lower()]
    stop = next((n for n in reversed(ends) if n >= start), start)
    region = lines[start : stop + 1]
    blank = [Line("", line.first, line.last) for line in region]
    return lines[:start] + blank + lines[stop + 1 :], _html_table(region)


def _html_table(region: list[Line]) -> list[Block]:
    reader = _TableReader()
    reader.feed("\n".join(line.text for line in region))
    rows = [
        Row(tuple(cells), region[first].first, region[last].last)
        for cells, first, last in reader.rows
        if cells
    ]
    if len(rows) < 2:
        return []
    return [Block("table", header=rows[0].cells, rows=tuple(rows[1:]), header_first=rows[0].first)]
