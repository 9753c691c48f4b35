"""Edits that change no behaviour: comments, includes, imports, decorators, layout.

A file whose lines, without blanks and comments, read the same before and after was reformatted.
"""

import re

from ingest.classify.diff import ChangedLine, FileDiff

_INERT = re.compile(
    r"""^\s*(?:
        //.* | \#\s*include\b.* | \#\s*pragma\s+once\b.*
        | \#(?!\s*(?:if|el|en|define|undef|pragma)).*
        | /\*.* | \*(?:/|\s.*)?$ | import\s.* | from\s+[\w.]+\s+import\b.* | @[\w.]+(?:\(\s*\))?\s*$
        | using\s+namespace\b.* | \"\"\".*\"\"\"\s*$ | [\s{}()\[\];,]*$
    )""",
    re.VERBOSE,
)
_COMMENT_LINE = re.compile(r"\s*(?://|/\*|\*\s|#\s)")
_COMMENT = re.compile(r"//.*|(?<!['\"])#\s.*")
_BLANK = re.compile(r"\s+")


def is_comment(line: ChangedLine) -> bool:
    """Tell whether `line` holds nothing but a comment of C++ or Python."""
    return _COMMENT_LINE.match(line.text) is not None


def is_inert(line: ChangedLine) -> bool:
    """Tell whether `line` alone cannot change what a kernel does."""
    return _INERT.match(line.text[:500]) is not None


def functional_lines(file: FileDiff) -> list[ChangedLine]:
    """Return the changed lines of `file` that may change behaviour; [] for a reformatted file."""
    lines = [line for line in file.lines if not is_inert(line)]
    before, after = _squeezed(lines, "-"), _squeezed(lines, "+")
    return [] if before == after else lines


def _squeezed(lines: list[ChangedLine], sign: str) -> str:
    texts = (_COMMENT.sub("", line.text) for line in lines if line.sign == sign)
    return "".join(_BLANK.sub("", text) for text in texts)
