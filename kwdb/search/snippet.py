"""Cut the most telling line out of a page's text and mark the words that were asked for."""

import re
from collections.abc import Sequence

from kwdb.search.terms import Term

MARKS = ("«", "»")

_WIDTH = 160
_LINES_READ = 2_000
# Both engines stem; a common beginning is enough to mark "swizzling" for "swizzled".
_STEM = 5


def cut_snippet(text: str, terms: Sequence[Term]) -> str:
    """Return at most about 160 signs of one line of `text`, the words asked for in «marks».

    The line with most different words wins, the first of equals; without any the first line.
    """
    words = {word for term in terms for phrase in term.phrases for word in phrase.split()}
    lines = [line.strip() for line in text.split("\n", _LINES_READ)[:_LINES_READ]]
    beginnings = {word[:_STEM] for word in words}
    telling = [line for line in lines if any(map(line[:2000].lower().__contains__, beginnings))]
    if not telling:
        return _first(lines)
    pattern = _pattern(words)
    best = max(telling, key=lambda line: len({m.lower() for m in pattern.findall(line[:2000])}))
    return _marked(best, pattern) if pattern.search(best) else _first(lines)


def _first(lines: Sequence[str]) -> str:
    """Return the first line that says anything."""
    return next((line[:_WIDTH] for line in lines if any(map(str.isalnum, line))), "")


def _pattern(words: set[str]) -> re.Pattern[str]:
    """Short words match whole, longer ones by their beginning."""
    parts = [
        re.escape(word[:_STEM]) + ("[^\\W_]*" if len(word) >= _STEM else "(?![^\\W_])")
        for word in sorted(words, key=len, reverse=True)
    ]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})", re.IGNORECASE)


def _marked(line: str, pattern: re.Pattern[str]) -> str:
    match = pattern.search(line)
    start = max(0, match.start() - _WIDTH // 3) if match else 0
    part = line[start : start + _WIDTH]
    marked = pattern.sub(lambda found: f"{MARKS[0]}{found[0]}{MARKS[1]}", part)
    return ("…" if start else "") + marked + ("…" if start + _WIDTH < len(line) else "")
