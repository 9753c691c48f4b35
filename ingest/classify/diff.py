"""Changed lines of a unified diff, with what a reader would skip left out.

context lines      never read
-  old line        kept, unless the same text is added elsewhere: then it was moved
+  new line        kept, unless the same text is removed elsewhere
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class ChangedLine(NamedTuple):
    """One added or removed line: its number in the diff text, sign and text without the sign."""

    number: int
    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The changed lines of one file, moved lines left out; `is_removed` when it is deleted."""

    path: str
    lines: tuple[ChangedLine, ...]
    is_removed: bool = False


def read_diff(diff: str) -> tuple[FileDiff, ...]:
    """Return the changed lines of each file of `diff`, in its order.

    A line whose text, blanks at its ends aside, is both removed and added somewhere in the diff
    was moved or indented: it says nothing about what changed. Text that is not a diff gives ().
    """
    files = list(_files(diff))
    moved = _moved(files)
    return tuple(
        FileDiff(f.path, tuple([x for x in f.lines if x[2].strip() not in moved]), f.is_removed)
        for f in files
    )


def _files(diff: str) -> Iterator[FileDiff]:
    path, is_removed, in_hunk = "", False, False
    lines: list[ChangedLine] = []
    for number, line in enumerate(diff.split("\n"), 1):
        sign = line[:1]
        if sign == "+" or sign == "-":
            if in_hunk:
                lines.append(ChangedLine(number, sign, line[1:]))
        elif sign == "@":
            in_hunk = in_hunk or line.startswith("@@")
        elif line.startswith("diff --git "):
            if path:
                yield FileDiff(path, tuple(lines), is_removed)
            path, lines, is_removed, in_hunk = _path(line), [], False, False
        elif line.startswith("deleted file mode"):
            is_removed = True
    if path:
        yield FileDiff(path, tuple(lines), is_removed)


def _path(header: str) -> str:
    return header.rpartition(" b/")[2] or header.rpartition(' "b/')[2].rstrip('"')


def _moved(files: list[FileDiff]) -> frozenset[str]:
    added = {text.strip() for file in files for _, sign, text in file.lines if sign == "+"}
    removed = {text.strip() for file in files for _, sign, text in file.lines if sign == "-"}
    return frozenset(added & removed)
