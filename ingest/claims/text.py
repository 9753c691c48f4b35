"""The text of a pull request as lines that can be parsed, each knowing where it came from.

A squash merge wraps the description at 72 columns, tables included: a row runs over two or three
lines, a header is cut from its separator by a blank line, the last pipe stands alone. `logical`
joins such rows again, so that a Markdown parser sees the table that the author wrote:

    | Tokens | Latency (ms) | Speed          ->  | Tokens | Latency (ms) | Speed up |
    up |                                         |---|---|---|
    |---|---|---|                                | 8 | 1.2 | 1.5x |
    | 8 | 1.2 | 1.5x |
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# Limits that no honest description meets: they bound the time a hostile one can take.
MAX_LINE: Final = 4_000
MAX_LINES: Final = 3_000
MAX_CHARACTERS: Final = 100_000
MAX_CELLS: Final = 64
_REACH: Final = 6

_SEPARATOR: Final = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_TAGS: Final = re.compile(
    r"</?(?:details|summary|p|br|b|i|h[1-6]|div|center|strong|em|sub|sup|img|span|hr)\b[^<>]*>",
    re.I,
)
_BOT_START: Final = "auto-generated comment: release notes"
_BOT_END: Final = "end of auto-generated comment"
_BOX: Final = re.compile(r"^\s*\+(?:[-=]{2,}\+)+\s*$")
_NUMERIC: Final = re.compile(r"^[^A-Za-z]*\d+(?:\.\d+)?\s*(?:[mnuµμ]?s|x|×|%)?[^A-Za-z]*$")
# Every code span is matched, lest the end of one and the start of the next be taken for one.
_PROTECTED: Final = re.compile(r"\\\||`[^`]{1,200}`")
_FENCE: Final = re.compile(r"^\s*(?:>\s*)?(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Line:
    """Text to parse and the stored lines `first` to `last` that it was made from."""

    text: str
    first: int
    last: int


def stored_lines(title: str, body: str) -> list[str]:
    """Return the lines that evidence points into: 0 is the title, 1 the first of the body."""
    return [title, *body.split("\n")]


def logical(body: str) -> list[Line]:
    """Return the body's lines without comments and bot notes, wrapped table rows joined."""
    raw = body[:MAX_CHARACTERS].split("\n")[:MAX_LINES]
    kept = [line if len(line) <= MAX_LINE else "" for line in raw]
    cleaned = (_clean(text) for text in _without_comments(kept))
    lines = [Line(text, n, n) for n, text in enumerate(_unboxed(cleaned), 1)]
    return _join_tables(lines)


def cells_of(row: str) -> list[str]:
    """Split a table row at its pipes; an escaped pipe and one inside a code span stay."""
    text = row.strip().lstrip("> \t")
    if "\\|" in text or "`" in text:
        text = _PROTECTED.sub(lambda m: m[0].replace("|", "¦"), text)
    inner = text.removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in inner.split("|")]


def is_separator(text: str) -> bool:
    """Whether a line is the rule under a table's header, such as `|---|:--:|`."""
    return (
        "-" in text and 0 < text.count("|") <= 2 * MAX_CELLS and _SEPARATOR.match(text) is not None
    )


def _clean(text: str) -> str:
    return _TAGS.sub(" ", text.replace("\r", " ").replace("\0", " ")) if text else text


def _unboxed(texts: Iterable[str]) -> Iterator[str]:
    """Turn the second rule of a `+---+---+` box into that of a header and drop the others."""
    rules = 0
    for text in texts:
        if _BOX.match(text):
            rules += 1
            yield text.strip().replace("+", "|").replace("=", "-") if rules == 2 else ""
            continue
        rules = rules if text.lstrip().startswith("|") else 0
        yield text


def _without_comments(lines: Sequence[str]) -> list[str]:
    """Blank HTML comments and what stands between the marks of a release-note bot."""
    kept: list[str] = []
    in_comment = in_bot = in_fence = False
    for line in lines:
        in_fence ^= _FENCE.match(line) is not None
        in_bot = (in_bot or _BOT_START in line) and _BOT_END not in line
        text, in_comment = _strip_comment(line, in_comment)
        kept.append("" if in_bot else text)
    return list(lines) if in_comment and not in_bot else kept


def _strip_comment(line: str, inside: bool) -> tuple[str, bool]:
    kept = ""
    while line:
        mark = "-->" if inside else "<!--"
        before, found, line = line.partition(mark)
        kept += "" if inside else before
        inside ^= bool(found)
    return kept, inside


def _join_tables(lines: list[Line]) -> list[Line]:
    done: list[Line] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if is_separator(line.text):
            index = _take_table(done, lines, index)
        elif 2 <= line.text.count("|") <= MAX_CELLS and (size := _bare_run(lines, index)):
            done += [Line("", line.first, line.first), _flush(line), _rule(line, size)]
            index = _take_rows(done, lines, index + 1, size, piped=line.text.lstrip()[:1] == "|")
        else:
            done.append(line)
            index += 1
    return done


def _take_table(done: list[Line], lines: list[Line], index: int) -> int:
    rule, index = _whole_rule(lines, index)
    width = len(cells_of(rule.text))
    header = _pop_header(done, width)
    piped = (header or rule).text.lstrip().startswith("|")
    header = header or Line("| " * width + "|", rule.first, rule.first)
    done += [Line("", header.first, header.first), header, _flush(rule)]
    return _take_rows(done, lines, index + 1, width, piped=piped)


def _whole_rule(lines: list[Line], index: int) -> tuple[Line, int]:
    """Join a separator that was itself wrapped; its first line has no last pipe."""
    rule = lines[index]
    while index + 1 < len(lines) and is_separator(lines[index + 1].text):
        following = lines[index + 1]
        if rule.text.rstrip().endswith("|") == following.text.lstrip().startswith("|"):
            break
        rule = Line(f"{rule.text.strip()} {following.text.strip()}", rule.first, following.last)
        index += 1
    return rule, index


def _pop_header(done: list[Line], width: int) -> Line | None:
    """Take the header off the end of `done`: the fewest lines that give `width` cells."""
    joined, taken = "", 0
    for taken, line in enumerate(reversed(done[-_REACH:]), 1):
        if not line.text.strip() and (joined or taken > 2):
            return None
        joined = f"{line.text.strip()} {joined}".strip()
        if "|" in joined and len(cells_of(joined)) == width:
            break
    else:
        return None
    header = Line(joined, done[-taken].first, done[-1].last)
    del done[-taken:]
    return header


def _take_rows(done: list[Line], lines: list[Line], index: int, width: int, *, piped: bool) -> int:
    """Append the rows from `index` on, each joined until it has `width` cells."""
    while index < len(lines):
        if not lines[index].text.strip():
            following = lines[index + 1].text if index + 1 < len(lines) else ""
            if not (
                piped and following.lstrip().startswith("|") and not _starts_table(lines, index + 1)
            ):
                break
            index += 1
            continue
        if not _is_row(lines[index].text, piped=piped) or _starts_table(lines, index):
            break
        row, index = _take_row(lines, index, width, piped=piped)
        done.append(row)
    done.append(Line("", done[-1].last, done[-1].last))
    return index


def _is_row(text: str, *, piped: bool) -> bool:
    return text.lstrip(" \t>").startswith("|") if piped else "|" in text


def _starts_table(lines: list[Line], index: int) -> bool:
    """Whether the rule of another table follows within its possible header."""
    for line in lines[index : index + 4]:
        if not line.text.strip():
            return False
        if is_separator(line.text):
            return True
    return False


def _take_row(lines: list[Line], index: int, width: int, *, piped: bool) -> tuple[Line, int]:
    first, joined = lines[index], lines[index].text.strip()
    last = index
    for offset in range(index + 1, min(index + _REACH, len(lines))):
        whole = len(cells_of(joined)) >= width and (joined.endswith("|") or not piped)
        text = lines[offset].text.strip()
        longer = f"{joined} {text}"
        if whole or not text or len(cells_of(longer)) > width or is_separator(text):
            break
        joined, last = longer, offset
    return Line(joined, first.first, lines[last].last), last + 1


def _bare_run(lines: list[Line], index: int) -> int:
    """Return the number of cells where rows of pipes stand without a rule, else 0."""
    header = cells_of(lines[index].text)
    width = len(header)
    if any(map(_NUMERIC.match, header[1:])):
        return 0
    rows = [line.text for line in lines[index + 1 : index + 3]]
    alike = len(rows) == 2 and all("|" in r and len(cells_of(r)) == width for r in rows)
    return width if alike and not any(map(is_separator, rows)) and width > 2 else 0


def _rule(line: Line, width: int) -> Line:
    return Line("|" + "---|" * width, line.first, line.first)


def _flush(line: Line) -> Line:
    return Line(line.text.strip(), line.first, line.last)
