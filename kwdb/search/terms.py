"""From what a person typed to terms: words without stop words, aliases with what they stand for.

Any text is a query: everything but letters and digits only separates words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from kwdb.models import aliases, tags
from kwdb.text import fold

_LONGEST_PHRASE = 6
_LONGEST_QUERY = 64
_STOP_WORDS = frozenset(
    (
        "a about after all also am an and any are as at be because been before being between both"
        " but by can could did do does doing for from get had has have having he her here him his"
        " how i if in into is it its just let me more most my no nor not of off on once"
        " only or other our out over own same she should so some such than that the their them then"
        " there these they this those through to too up use used using very want was we were what"
        " when where which while who whom why will with would you your"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing asked for: phrases of folded words, any of which will do."""

    phrases: tuple[str, ...]


def parse_terms(connection: sa.Connection, text: str) -> list[Term]:
    """Return the terms of a query in order; empty when it holds nothing but stop words.

    The longest alias at each place wins: "tensor memory" is one term that also stands for tmem.
    """
    words = fold(text).split()[:_LONGEST_QUERY]
    known = _meanings(connection, _phrases(words))
    terms: list[Term] = []
    start = 0
    while start < len(words):
        length = _longest_alias(words, start, known)
        phrase = " ".join(words[start : start + max(length, 1)])
        if length or phrase not in _STOP_WORDS:
            terms.append(Term((phrase, *known.get(phrase, ()))))
        start += max(length, 1)
    return list(dict.fromkeys(terms))


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


def to_fts5(terms: Sequence[Term]) -> str:
    """Write terms as an FTS5 query that finds pages with any: `"umma" OR "tcgen05"`."""
    return " OR ".join(f'"{phrase}"' for term in terms for phrase in term.phrases)


def to_tsqueries(terms: Sequence[Term]) -> list[str]:
    """Write each phrase as a PostgreSQL tsquery, e.g. `('tensor' <-> 'memory')`."""
    return [
        "(" + " <-> ".join(f"'{word}'" for word in phrase.split()) + ")"
        for term in terms
        for phrase in term.phrases
    ]
