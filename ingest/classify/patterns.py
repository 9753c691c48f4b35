r"""Fragments of the rule tables as regular expressions, with a literal that every match contains.

A table writes `words: [warp specializ*]`, not `\b…\b`: identifiers of kernel code are glued by
underscores and capitals, where `\b` sees no edge. Three kinds of fragment exist.

    words   any case; no letter or digit on either side; a space is one optional blank, `_` or `-`;
            a final `*` lets the last word go on; a plural s is accepted
    camel   the case as written (`Tma`, `TMA`); a member of a CamelCase name: `kIsTMAMulticast`
    regex   taken as it is, any case; the rule may name for each a literal that must be present

A plain substring test for the literal comes first: it costs a thirtieth of a regex search.
"""

import re
from dataclasses import dataclass

_EDGE_BEFORE, _EDGE_AFTER = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_GAP = r"[ _-]?"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fragment:
    """One compiled fragment; `literal` is lower case and occurs in every text that matches.

    Each of `parts`, the longest first, occurs inside a word of the line of every match.
    """

    literal: str
    regex: re.Pattern[str]
    parts: tuple[str, ...] = ()


def word(text: str) -> Fragment:
    """Compile a `words` fragment: delimited, case-blind, blanks optional.

    >>> bool(word("umma").regex.search("summary")), bool(word("two cta").regex.search("TWO_CTA"))
    (False, True)
    """
    open_ended, stem = text.endswith("*"), text.removesuffix("*")
    body = _GAP.join(re.escape(part) for part in stem.split())
    tail = "" if open_ended else "s?" + _EDGE_AFTER
    literal = max(stem.lower().split(), key=len)
    regex = re.compile(_EDGE_BEFORE + body + tail, re.IGNORECASE)
    return Fragment(literal, regex, _parts(stem))


def camel(text: str) -> Fragment:
    """Compile a `camel` fragment: a member of a CamelCase name, in the case as written.

    >>> [bool(camel("UMMA").regex.search(name)) for name in ("kNumMathThreads", "SM100UMMADesc")]
    [False, False]
    >>> [bool(camel("Umma").regex.search(name)) for name in ("kUmmaK", "Ummah")]
    [True, False]
    """
    after = r"(?=[A-Z][a-z]|[^A-Za-z]|$)" if text.isupper() else r"(?![a-z])"
    start = rf"(?<![A-Z0-9]){re.escape(text)}{after}"
    lower_start = rf"{_EDGE_BEFORE}{re.escape(text[0].lower() + text[1:])}(?=[A-Z])"
    return Fragment(text.lower(), re.compile(f"{start}|{lower_start}"), _parts(text))


def raw(pattern: str, literal: str) -> Fragment:
    """Compile a `regex` fragment that is looked for where `literal` occurs.

    Raises:
        re.error: the pattern is not a regular expression.
    """
    return Fragment(literal.lower(), re.compile(pattern, re.IGNORECASE), _parts(literal))


def _parts(text: str) -> tuple[str, ...]:
    """The words of `text`, longest first; beside a longer one, one or two letters tell little."""
    words = sorted(set(_WORD.findall(text.lower())), key=lambda part: (-len(part), part))
    return tuple(words[:1] + [part for part in words[1:] if len(part) > 2])
