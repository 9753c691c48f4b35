"""A paragraph as one text, and the figures in it, each in its sentence."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ingest.claims.document import plain
from ingest.claims.figures import Figure, scan
from ingest.claims.text import Line

_END: Final = re.compile(r"(?<=[.;!?])\s+(?=[A-Z(\[`*-])")
# A clause ends at a comma, a bracket or a figure, but not at the digits of a GPU's name.
_AFTER: Final = re.compile(r"[^,;:(]{0,60}")
_BEFORE: Final = re.compile(r"[^,;)]{0,60}$")
_NEAR: Final = 70
_SENTENCE: Final = 600
_TEXT: Final = 16_000


@dataclass(frozen=True, slots=True)
class Text:
    """Joined lines of a paragraph, with the offset at which each begins."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[Line, ...]

    def line_at(self, offset: int) -> Line:
        """The stored line of a place in the text."""
        return self.lines[max(0, bisect_right(self.starts, offset) - 1)]


@dataclass(frozen=True, slots=True)
class Spot:
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
        """A few words to either side."""
        return f"{self.before[-_NEAR:]} {self.after[:_NEAR]}"

    @property
    def window(self) -> str:
        """About a line to either side."""
        return f"{self.before[-2 * _NEAR :]} {self.after[: 2 * _NEAR]}"


def join(lines: Sequence[Line]) -> Text:
    """Join the lines of a paragraph, without their marks."""
    texts = [plain(line.text) for line in lines]
    starts, offset = [], 0
    for text in texts:
        starts.append(offset)
        offset += len(text) + 1
    return Text(" ".join(texts)[:_TEXT], tuple(starts), tuple(lines))


def find_spots(joined: Text) -> Iterator[Spot]:
    """Yield the figures of a text, each in its sentence."""
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
        yield Spot(figure, text[low:high], text[low : figure.start], text[figure.end : high], leads)
