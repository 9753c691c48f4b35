"""From what is seen to what to try: symptom, pattern, candidate techniques, kernels, claims.

    "waits at mbarriers" ──► pattern-pipeline-stalls ──► technique-pipeline-stages ──► kernel-…

A pattern page is known by its symptoms as it words them, and by the aliases of its symptom tags; a
symptom that no pattern has leads to the pages that have it. Words weigh by their rarity among those
phrases, and a phrase counts when the text covers half of it.
"""

import difflib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kwdb.db import row_dicts
from kwdb.errors import nearest
from kwdb.models import aliases, metrics, page_links, page_tags, page_versions, pages, tags
from kwdb.models import performance_claims as claims
from kwdb.text import fold

Found = dict[str, Any]

_PATTERN: Final = "wiki-pattern"
_HALF: Final = 0.5
_MOST_PATTERNS: Final = 3
_MOST_KERNELS: Final = 5
_CLAIMS_A_KERNEL: Final = 3
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
_TRUST: Final = (
    "reproduced supported unreviewed disputed contradicted withdrawn invalidated".split()
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A symptom as a page or an alias words it, the page that it points at, and how clearly."""

    page: str
    text: str
    weight: float
    words: frozenset[str]


def diagnose(connection: sa.Connection, text: str) -> Found:
    """Return the patterns that a symptom in plain words points at, best first.

    Each has the symptoms that matched, candidate techniques and kernels with claims. Where nothing
    matches, `total` is 0 and `nearest_symptoms` names known ones that are spelt alike.
    """
    phrases = _read_phrases(connection)
    ranked = _rank(text, phrases)
    found = _describe(connection, ranked)
    known = {phrase.text for phrase in phrases}
    near = [] if found else nearest(text, known, _NEAREST)
    return {"text": text, "total": len(found), "patterns": found, "nearest_symptoms": near}


def _read_phrases(connection: sa.Connection) -> list[Phrase]:
    said = [*_own_words(connection), *_tag_words(connection)]
    weights: dict[tuple[str, str], float] = {}
    for page, text, weight in said:
        weights[page, text] = max(weight, weights.get((page, text), 0.0))
    cut = (Phrase(*pair, weight, _words(pair[1])) for pair, weight in weights.items())
    return [phrase for phrase in cut if phrase.words]


def _own_words(connection: sa.Connection) -> Iterator[tuple[str, str, float]]:
    v = page_versions.c
    query = (
        sa.select(v.page_id, v.front_matter)
        .join(pages, (pages.c.id == v.page_id) & (pages.c.served_from == v.corpus_id))
        .where(pages.c.type == _PATTERN, ~pages.c.is_retired)
    )
    for page, fields in connection.execute(query):
        symptoms = (fields or {}).get("symptoms")
        if isinstance(symptoms, list):
            yield from ((page, str(symptom), 1.0) for symptom in symptoms)


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
    with_pattern = {row.name for row in rows if row.type == _PATTERN}
    for page, type_, name, display in rows:
        if type_ == _PATTERN or name not in with_pattern:
            weight = 1.0 if page.endswith(name) else _SHARED
            yield from ((page, said, weight) for said in (name.replace("-", " "), display or name))


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in fold(text).split() if word not in _SMALL_WORDS)


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= 3 else word


def _rank(text: str, phrases: Sequence[Phrase]) -> list[tuple[str, float, list[str]]]:
    """Return page, score and the symptoms that matched, best first."""
    weights = _rarity(phrases)
    asked = _corrected(_words(text), weights)
    scores: dict[str, float] = defaultdict(float)
    matched: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for phrase in phrases:
        covered = sum(weights[word] for word in phrase.words & asked)
        share = covered / sum(weights[word] for word in phrase.words)
        if share >= _HALF:
            score = covered * share * phrase.weight
            scores[phrase.page] = max(scores[phrase.page], score)
            matched[phrase.page].append((-score, phrase.text))
    best = max(scores.values(), default=0.0)
    return [
        (page, round(score, 3), [said for _, said in sorted(matched[page])[:3]])
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


def _describe(
    connection: sa.Connection, ranked: Sequence[tuple[str, float, list[str]]]
) -> list[Found]:
    described = []
    for pattern, score, matched in ranked:
        page = _page(connection, pattern)
        techniques = _linked(connection, pattern, "candidate_techniques") or [page]
        kernels = _kernels(connection, pattern, [one["id"] for one in techniques])
        head = page | {"score": score, "matched": matched}
        described.append(head | {"techniques": techniques, "kernels": kernels})
    return described


def _page(connection: sa.Connection, id_: str) -> Found:
    query = sa.select(pages.c.id, pages.c.title, pages.c.summary).where(pages.c.id == id_)
    return row_dicts(connection.execute(query))[0]


def _linked(connection: sa.Connection, page: str, kind: str) -> list[Found]:
    """The pages that a page names under `kind`, in its order, as its served corpus has it."""
    link, owner = page_links.c, pages.alias("owner")
    query = (
        sa.select(pages.c.id, pages.c.title, pages.c.summary)
        .join(page_links, link.target == pages.c.id)
        .join(owner, (owner.c.id == link.page_id) & (owner.c.served_from == link.corpus_id))
        .where(link.page_id == page, link.kind == kind, ~pages.c.is_retired)
        .order_by(link.position)
    )
    return row_dicts(connection.execute(query))


def _kernels(connection: sa.Connection, pattern: str, techniques: Sequence[str]) -> list[Found]:
    """Kernels that the pattern names, and those that name the pattern or its techniques."""
    link = page_links.c
    wanted = (pattern, *techniques)
    query = sa.select(link.page_id, link.target).where(
        link.kind.in_(("related", "prerequisites")),
        sa.or_(link.target.in_(wanted), link.page_id == pattern),
    )
    shared: Counter[str] = Counter()
    for page, target in connection.execute(query):
        shared[target if page == pattern else page] += 1
    is_kernel = sa.and_(pages.c.type == "wiki-kernel", ~pages.c.is_retired)
    named = sa.select(pages.c.id, pages.c.title).where(pages.c.id.in_(list(shared)), is_kernel)
    rows = row_dicts(connection.execute(named))
    rows.sort(key=lambda row: (-shared[row["id"]], row["id"]))
    figures = _claims(connection, [row["id"] for row in rows[:_MOST_KERNELS]])
    return [row | {"claims": figures.get(row["id"], [])} for row in rows[:_MOST_KERNELS]]


def _claims(connection: sa.Connection, kernels: Sequence[str]) -> Mapping[str, list[Found]]:
    """Return kernel -> its most trusted figures, no counts and no roofs."""
    c = claims.c
    query = (
        sa.select(c.id, c.page_id, c.value_text, c.metric, c.value, metrics.c.unit, c.variant)
        .add_columns(c.dtype, c.shape, c.status, c.status_reason, c.source_page_id)
        .join(metrics, metrics.c.name == c.metric)
        .where(c.page_id.in_(kernels), c.retired_at.is_(None), c.value_normalized.is_not(None))
        .where(c.metric != "count", sa.func.coalesce(c.op, "").not_like("%speed-of-light"))
        .order_by(c.comparable_key.is_(None), c.id)
    )
    found: dict[str, list[Found]] = defaultdict(list)
    for row in sorted(
        row_dicts(connection.execute(query)), key=lambda r: _TRUST.index(r["status"])
    ):
        if len(found[row["page_id"]]) < _CLAIMS_A_KERNEL:
            found[row["page_id"]].append(row)
    return found
