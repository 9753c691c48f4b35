"""From what a person typed to terms: words without stop words, aliases with what they stand for.

Any text is a query: everything but letters and digits only separates words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from kwdb.models import aliases, tags
from kwdb.text import fold

_LONGEST_PHRASE = 6
_LONGEST_QUERY = 64
# Those of PostgreSQL's english.stop, which its index leaves out, and a few that questions are
# asked with.
STOP_WORDS = frozenset(
    (
        "a about above after again against all also am an and any are as at be because been"
        " before being below between both but by can could did do does doing don down during"
        " each few for from further get had has have having he her here hers herself him"
        " himself his how i if in into is it its itself just let me more most my myself no nor"
        " not now of off on once only or other our ours ourselves out over own s same she"
        " should so some such t than that the their theirs them themselves then there these"
        " they this those through to too under until up use used using very want was we were"
        " what when where which while who whom why will with would you your yours yourself"
        " yourselves"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing asked for: phrases of folded words, the first as typed; any of them will do.

    `start` and `end` are its place among the words of the query; `is_joined` says that no blank
    stood before it, as in `umma_gemm` or `csrc/fused_moe.cu`.
    """

    phrases: tuple[str, ...]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    is_joined: bool = field(default=False, compare=False)


def parse_terms(connection: sa.Connection, text: str) -> list[Term]:
    """Return the terms of a query in order; empty when it holds nothing but stop words.

    The longest alias at each place wins: "tensor memory" is one term that also stands for tmem.
    """
    words, joined = _split(text)
    known = _meanings(connection, _phrases(words))
    terms: list[Term] = []
    start = 0
    while start < len(words):
        length = _longest_alias(words, start, known)
        end = start + max(length, 1)
        phrase = " ".join(words[start:end])
        if length or phrase not in STOP_WORDS:
            terms.append(Term((phrase, *known.get(phrase, ())), start, end, start in joined))
        start = end
    return list(dict.fromkeys(terms))


def _split(text: str) -> tuple[list[str], set[int]]:
    """Return the words of a query and the places of those that no blank stood before."""
    words: list[str] = []
    joined: set[int] = set()
    for part in text.split()[:_LONGEST_QUERY]:
        found = fold(part).split()
        joined.update(range(len(words) + 1, len(words) + len(found)))
        words += found
    return words[:_LONGEST_QUERY], joined


def _phrases(words: list[str]) -> set[str]:
    return {
        " ".join(words[start : start + length])
        for start in range(len(words))
        for length in range(1, _LONGEST_PHRASE + 1)
    }


def _longest_alias(words: list[str], start: int, known: Mapping[str, tuple[str, ...]]) -> int:
    for length in range(min(_LONGEST_PHRASE, len(words) - start), 0, -1):
        if " ".join(words[start : start + length]) in known:
            return length
    return 0


def _meanings(connection: sa.Connection, phrases: set[str]) -> dict[str, tuple[str, ...]]:
    """Return alias -> folded names of the tags it stands for, leaving out the alias itself."""
    query = (
        sa.select(aliases.c.alias, tags.c.name)
        .join(tags, tags.c.id == aliases.c.tag_id)
        .where(aliases.c.alias.in_(phrases))
        .order_by(aliases.c.alias, tags.c.name)
    )
    found: dict[str, tuple[str, ...]] = {}
    for alias, name in connection.execute(query):
        meaning = fold(name)
        found[alias] = (*found.get(alias, ()), *([meaning] if meaning != alias else []))
    return found
