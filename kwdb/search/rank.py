"""How pages are ranked: pure functions over what the index and the tables say.

score = sum over terms of the best phrase's score, plus neighbouring words found together,
        × how much of the query the page covers, × what kind of page it is,
        × how much of the query its title holds; then pages linked with the best are lifted.

The constants were found on judged questions over a corpus of 2,900 pages; each lies on a plateau
(half or twice of it costs under 0.02 nDCG), see docs/search.md.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import pairwise

from kwdb.search.postings import Postings, Scores
from kwdb.search.terms import Term
from kwdb.text import fold

# What a term stands for counts less than what was typed.
_ALIAS = 0.6
_PAIR = 0.4
# Words written as one, such as the name of a function or a file, are meant as one.
_JOINED_PAIR = 2.0
# A page that covers all of the query keeps its score, one that covers little a fifth of it.
_LEAST_COVERAGE = 0.2
_COVERAGE_POWER = 1.5
# A query of which no page covers half, by rarity, is about something else.
FLOOR = 0.5
_TITLE = 1.2
_EXACT = 3.0
# The page of what one of the words stands for, such as ping-pong-scheduling for "pingpong".
_NAMED = 2.0
_LINKED = 0.15
_LINKING = 0.08
_MOST_BY_LINKS = 0.4
LINKING_PAGES = 5
# Synthesis before sources before single pull requests, unless those were asked for.
_TYPE_PRIORS = {"source-pr": 0.3, "source-doc": 0.8, "source-blog": 0.8, "source-contest": 0.8}
_ASKED_PULL_REQUEST = 1.2
_OF_NAMED_REPOSITORY = 0.5
# A source page that is little more than a reference.
STUB_SIGNS = 600
_STUB = 0.25
_HALF_LIFE_DAYS = 365.0
_AGE_OF_UNDATED = 3650

_ENDING = re.compile(r"(?<=[^\W_]{3})(?:ing|ed|es|s|er)$")


@dataclass(frozen=True, slots=True)
class Matches:
    """pages.pk -> score and covered share of the query (0 to 1) of each page found."""

    scores: Scores
    coverage: Scores
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page that matched, with what its rank depends on besides the words.

    `aliases` are those of its own names that the query holds.
    """

    pk: int
    id: str
    type: str
    title: str
    published_on: date | None
    is_stub: bool
    aliases: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Intent:
    """What a query asks for besides its words; `repository`: one is named in it."""

    pull_requests: bool = False
    repository: bool = False
    recent: bool = False


def match_terms(postings: Postings, terms: Sequence[Term], counts: Sequence[int]) -> Matches:
    """Score all pages that hold a term, the rarest first, as far as the budget reaches.

    `counts` says how many pages hold each term. Terms beyond the budget only add to the pages
    found until then; the rarest is always scored, up to the budget.
    """
    is_exact = sum(counts) <= postings.budget
    budget = postings.budget if is_exact else postings.rare_budget
    masses = [postings.rarity(count) for count in counts]
    whole = sum(masses) or 1.0
    matches = Matches({}, {}, is_exact)
    found: dict[str, Scores] = {}
    spent = 0
    for place in sorted(range(len(terms)), key=lambda place: counts[place]):
        spent += counts[place]
        is_rare = spent <= budget or not found
        share = masses[place] / whole
        _add_term(postings, terms[place], share, matches, found, is_rare)
    if is_exact:
        _add_pairs(postings, terms, matches.scores)
    return matches


def _add_term(
    postings: Postings,
    term: Term,
    share: float,
    matches: Matches,
    found: dict[str, Scores],
    is_rare: bool,
) -> None:
    best: Scores = {}
    for place, phrase in enumerate(term.phrases):
        scores = postings.scores(phrase) if is_rare else postings.scores_among(phrase, found)
        best = _bettered(best, scores, _ALIAS) if place else dict(scores)
        if is_rare and scores:
            found[phrase] = scores
    for pk, score in best.items():
        matches.scores[pk] = matches.scores.get(pk, 0.0) + score
        matches.coverage[pk] = matches.coverage.get(pk, 0.0) + share


def _bettered(best: Scores, scores: Scores, factor: float) -> Scores:
    """Return the better of `best` and `factor` times `scores`, page by page."""
    more = {pk: factor * score for pk, score in scores.items()}
    return best | {pk: max(best.get(pk, 0.0), score) for pk, score in more.items()}


def _add_pairs(postings: Postings, terms: Sequence[Term], scores: Scores) -> None:
    for first, second in pairwise(terms):
        if first.end == second.start:
            pair = f"{first.phrases[0]} {second.phrases[0]}"
            weight = _JOINED_PAIR if second.is_joined else _PAIR
            for pk, score in postings.scores(pair).items():
                scores[pk] = scores.get(pk, 0.0) + weight * score


def first_scores(matches: Matches, types: Mapping[int, str], intent: Intent) -> Scores:
    """Return pk -> score by words, coverage and kind of page, for the pages of `types`."""
    scores, coverage = matches.scores, matches.coverage
    of_coverage = {share: _of_coverage(share) for share in set(coverage.values())}
    of_type = {type_: _of_type(type_, intent) for type_ in set(types.values())}
    return {pk: scores[pk] * of_coverage[coverage[pk]] * of_type[types[pk]] for pk in types}


def _of_coverage(share: float) -> float:
    kept: float = min(share, 1.0) ** _COVERAGE_POWER
    return _LEAST_COVERAGE + (1 - _LEAST_COVERAGE) * kept


def _of_type(type_: str, intent: Intent) -> float:
    if type_ == "source-pr" and intent.pull_requests:
        return _ASKED_PULL_REQUEST
    if type_ == "source-pr" and intent.repository:
        return _OF_NAMED_REPOSITORY
    return _TYPE_PRIORS.get(type_, 1.0)


def final_score(
    candidate: Candidate, score: float, query: str, terms: Sequence[Term], intent: Intent, day: date
) -> float:
    """Return `score` times what title, name, fullness and, where asked for, age make of it."""
    wanted, held = stems(query), stems(f"{candidate.title} {candidate.id}")
    score *= 1 + _TITLE * len(wanted & held) / max(1, len(wanted))
    score *= _of_name(candidate, query, terms)
    if candidate.is_stub:
        score *= _STUB
    if intent.recent:
        age = (
            (day - candidate.published_on).days if candidate.published_on else 10 * _HALF_LIFE_DAYS
        )
        score *= 0.5 ** (max(age, 0) / _HALF_LIFE_DAYS)
    return score


def _of_name(candidate: Candidate, query: str, terms: Sequence[Term]) -> float:
    """Return the factor for a page whose name, alias or title the query is, or has as a term."""
    name = _folded(candidate.id.partition("-")[2])
    titles = (_folded(candidate.title), _folded(candidate.id))
    if _folded(query) in (*titles, name, *candidate.aliases):
        return _EXACT
    named = any(one in term.phrases for term in terms for one in (name, *candidate.aliases))
    # `tcgen05-mma` is the page of the tcgen05 that "UMMA" stands for.
    meant = any(name.startswith(f"{one} ") for term in terms for one in term.phrases[1:])
    return _NAMED if named or meant else 1.0


_folded = lru_cache(10_000)(fold)


@lru_cache(10_000)
def stems(text: str) -> frozenset[str]:
    """Return the words of a text without their commonest English endings."""
    return frozenset(_ENDING.sub("", word) for word in fold(text).split())


def link_bonuses(best: Mapping[str, float], links: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return page id -> what it gains by links from or to the best pages (id -> score)."""
    gains: dict[str, float] = {}
    for page, target in links:
        if page in best:
            gains[target] = gains.get(target, 0.0) + _LINKED * best[page]
        if target in best:
            gains[page] = gains.get(page, 0.0) + _LINKING * best[target]
    most = _MOST_BY_LINKS * max(best.values(), default=0.0)
    return {page: min(gain, most) for page, gain in gains.items()}


def stub_bonus(gain: float, *, is_stub: bool) -> float:
    """Return what a linked page gains; a mere reference gains less."""
    return gain * _STUB if is_stub else gain
