"""From words to patterns: which symptom is meant, and which page is known by it.

A pattern page is known by its symptoms as it words them, in every corpus that has it, and by the
aliases of its symptom tags; a symptom that no pattern has leads to the pages that have it. Words
weigh by their rarity among those phrases, and a phrase counts when the text covers half of it.
"""

import difflib
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import sqlalchemy as sa

from kwdb.errors import nearest
from kwdb.models import aliases, page_tags, page_versions, pages, tags
from kwdb.text import fold

PATTERN: Final = "wiki-pattern"
_HALF: Final = 0.5
_MOST_PATTERNS: Final = 3
_NEAREST: Final = 6
_LIKE: Final = 0.84
# A symptom that stands for several patterns says less than the one that a pattern is named for.
_SHARED: Final = 0.8
_SMALL_WORDS: Final = frozenset(
    "a an and are as at be but by do does for from get gets has have i in is it its me my not of on"
    " or our so than that the there they this to too very we when why with"
    " kernel kernels slow slower".split()
)
# Endings, British and American alike, so that "utilised" and "utilization" are one word.
_ENDING: Final = re.compile(r"(?:i[sz]ations?|i[sz](?:e|es|ed|ing)|ings?|ed|es|s|e)$")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A symptom as a page or an alias words it, the page that it points at, and how clearly."""

    page: str
    text: str
    weight: float
    words: frozenset[str]


class Pointed(NamedTuple):
    """A page that a text points at, how strongly, and the symptoms that matched, best first."""

    page: str
    score: float
    matched: list[str]


def point(connection: sa.Connection, text: str) -> tuple[list[Pointed], list[str]]:
    """Return the pages that a text points at, best first, or else the nearest known symptoms.

    Nearest are those that share a word with the text, by its rarity, and then those spelt alike.
    """
    phrases = _read_phrases(connection)
    ranked = _rank(text, phrases)
    return ranked, [] if ranked else _nearest(text, phrases)


def _nearest(text: str, phrases: Sequence[Phrase]) -> list[str]:
    weights = _rarity(phrases)
    asked = _corrected(words_of(text), weights)
    distinct = {one.words: one for one in sorted(phrases, key=lambda one: one.text)}
    shared = {
        one.text: sum(weights[word] for word in words & asked) for words, one in distinct.items()
    }
    sharing = sorted((said for said in shared if shared[said]), key=lambda s: (-shared[s], s))
    alike = nearest(text, set(shared) - set(sharing), _NEAREST)
    return [*sharing, *alike][:_NEAREST]


def _read_phrases(connection: sa.Connection) -> list[Phrase]:
    said = [*_own_words(connection), *_tag_words(connection)]
    weights: dict[tuple[str, str], float] = {}
    for page, text, weight in said:
        weights[page, text] = max(weight, weights.get((page, text), 0.0))
    cut = (Phrase(*pair, weight, words_of(pair[1])) for pair, weight in weights.items())
    return [phrase for phrase in cut if phrase.words]


def _own_words(connection: sa.Connection) -> Iterator[tuple[str, str, float]]:
    v = page_versions.c
    is_served = (pages.c.served_from == v.corpus_id).label("is_served")
    query = (
        sa.select(v.page_id, v.front_matter, is_served)
        .join(pages, pages.c.id == v.page_id)
        .where(pages.c.type == PATTERN, ~pages.c.is_retired, v.retired_at.is_(None))
    )
    for page, fields, served in connection.execute(query):
        symptoms = (fields or {}).get("symptoms")
        if isinstance(symptoms, list):
            weight = 1.0 if served else _SHARED
            yield from ((page, _spaced(str(symptom)), weight) for symptom in symptoms)


def _spaced(symptom: str) -> str:
    """Imported pages name tags, `register-spilling`, where ours write words."""
    return symptom if " " in symptom else symptom.replace("-", " ")


def _tag_words(connection: sa.Connection) -> Iterator[tuple[str, str, float]]:
    a, t, pt = aliases.c, tags.c, page_tags.c
    query = (
        sa.select(pt.page_id, pages.c.type, t.name, a.display)
        .join(pages, pages.c.id == pt.page_id)
        .join(tags, t.id == pt.tag_id)
        .outerjoin(aliases, a.tag_id == t.id)
        .where(t.facet == "symptom", ~pages.c.is_retired)
        .order_by(pt.page_id, a.id)
    )
    rows = connection.execute(query).all()
    with_pattern = {row.name for row in rows if row.type == PATTERN}
    for page, type_, name, display in rows:
        if type_ == PATTERN or name not in with_pattern:
            weight = 1.0 if page.endswith(name) else _SHARED
            yield from ((page, said, weight) for said in (name.replace("-", " "), display or name))


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    return frozenset(_stem(word) for word in fold(text).split() if word not in _SMALL_WORDS)


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= 3 else word


def _rank(text: str, phrases: Sequence[Phrase]) -> list[Pointed]:
    """Return page, score and the symptoms that matched, best first."""
    weights = _rarity(phrases)
    asked = _corrected(words_of(text), weights)
    scores: dict[str, float] = defaultdict(float)
    matched: dict[str, dict[frozenset[str], tuple[float, str]]] = defaultdict(dict)
    for phrase in phrases:
        covered = sum(weights[word] for word in phrase.words & asked)
        share = covered / sum(weights[word] for word in phrase.words)
        if share >= _HALF:
            score = covered * share * phrase.weight
            scores[phrase.page] = max(scores[phrase.page], score)
            matched[phrase.page].setdefault(phrase.words, (-score, phrase.text))
    best = max(scores.values(), default=0.0)
    return [
        Pointed(page, round(score, 3), [said for _, said in sorted(matched[page].values())[:3]])
        for page, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        if score >= _HALF * best
    ][:_MOST_PATTERNS]


def _rarity(phrases: Sequence[Phrase]) -> dict[str, float]:
    """Return word -> weight: the fewer pages speak of it, the more it says."""
    spoken: dict[str, set[str]] = defaultdict(set)
    for phrase in phrases:
        for word in phrase.words:
            spoken[word].add(phrase.page)
    total = len({phrase.page for phrase in phrases})
    return {word: math.log(1 + total / len(speakers)) for word, speakers in spoken.items()}


def _corrected(words: Iterable[str], known: Collection[str]) -> set[str]:
    """Take the word most like a long unknown one, so that a slip of the finger costs nothing."""
    found = set()
    for word in words:
        near = (
            []
            if word in known or len(word) < 5
            else difflib.get_close_matches(word, known, 1, _LIKE)
        )
        found.add(near[0] if near else word)
    return found
