"""The body of a pull request with everything blanked out that says nothing about its targets.

Templates, checklists, test reports, commands, links and lines about the machine a test ran on are
replaced by blanks of the same length, so that offsets and line numbers stay those of the body.
"""

import re
from functools import lru_cache

from ingest.classify.rules import RULES_DIR, Rule, read_rule
from ingest.classify.source import read_source

# GitHub takes no longer bodies and titles; what goes on beyond is a log and is not read.
MAX_BODY, MAX_TITLE = 1 << 17, 1 << 10
_URL = re.compile(r"https?://[^\s)>\]]+")


@lru_cache(maxsize=1)
def _quiet() -> dict[str, tuple[Rule, ...]]:
    source = read_source(RULES_DIR / "texts.yaml")
    return {
        name: tuple(read_rule(source, row, {"body": 1.0}) for row in source.section(name, list))
        for name in ("lines", "sections")
    }


def quieted(body: str) -> str:
    """Return `body` with its silent parts blanked; what is kept stands at its old offset.

    Characters after the first MAX_BODY are left off.
    """
    if not body.strip():
        return ""
    text = _without_comments(body[:MAX_BODY])
    if "http" in text:
        text = _URL.sub(lambda match: " " * len(match[0]), text)
    return "\n".join(_spoken_lines(text.split("\n")))


def _without_comments(text: str) -> str:
    """Blank HTML comments by hand: a lazy regex is quadratic where comments never close."""
    start = text.find("<!--")
    if start < 0:
        return text
    parts, done = [], 0
    while start >= 0:
        end = text.find("-->", start)
        end = len(text) if end < 0 else end + 3
        parts += [text[done:start], _blank(text[start:end])]
        done, start = end, text.find("<!--", end)
    return "".join([*parts, text[done:]])


def _spoken_lines(texts: list[str]) -> list[str]:
    is_code = is_quiet_section = False
    kept: list[str] = []
    for line in texts:
        stripped = line.lstrip()
        if stripped.startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and _is_heading(stripped):
            is_quiet_section = _is_quiet(stripped[:200], "sections")
        silent = is_code or is_quiet_section or (bool(stripped) and _is_quiet(line[:1000], "lines"))
        kept.append(" " * len(line) if silent else line)
    return kept


@lru_cache(maxsize=1 << 14)
def _is_quiet(line: str, table: str) -> bool:
    return _is_named(line, _quiet()[table])


def _is_named(line: str, rules: tuple[Rule, ...]) -> bool:
    lowered = line.lower()
    return any(
        any(part.literal in lowered and part.regex.search(line) for part in rule.fragments)
        and (rule.context is None or bool(rule.context.search(line)))
        for rule in rules
    )


def _is_heading(line: str) -> bool:
    is_bold = line.startswith("**") and line.rstrip(" :").endswith("**")
    return is_bold or (line.startswith("#") and line.lstrip("#")[:1] == " ")


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))
