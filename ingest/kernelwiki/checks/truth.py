"""Rules that look for truth: does anything on a page say what its labels say?"""

import re
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from ingest.classify.tags import match_tags
from ingest.kernelwiki.checks.families import ANY_FAMILY, families_of
from ingest.kernelwiki.checks.gather import ImportedCorpus, ImportedPage, each_page, imported
from kwdb.check.rules import Case, Rule, Scope
from kwdb.models import pull_requests, repositories
from kwdb.records import Change
from kwdb.text import fold

_LANGUAGES: Final = {
    "cuda-cpp": re.compile(r"cuda|\.cuh?\b"),
    "cpp": re.compile(r"c\+\+|cpp|\.h\b"),
}
_SHORT: Final = 5
_STEM: Final = 4


def _unstated(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    listed = families_of(page.names("architectures"))
    if page.type == "source-pr" and listed and not page.families:
        yield f"says {', '.join(listed)}, and its text names no architecture"


def _other(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    listed = families_of(page.names("architectures"))
    if page.type != "source-pr" or not listed:
        return
    stated = page.families
    unproven = [name for name, family in listed.items() if family not in stated]
    if unproven and stated:
        yield f"says {', '.join(unproven)}, and its text names only {', '.join(sorted(stated))}"


def _disagreement(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.type != "source-pr" or not isinstance(page.head.get("architectures"), list):
        return
    ours = sorted(_classified(page))
    theirs = sorted(set(page.names("architectures")))
    if ours != theirs:
        shown = ", ".join(ours) or "none"
        yield f"says {', '.join(theirs) or 'none'}, the classifier reads {shown}"


def _classified(page: ImportedPage) -> set[str]:
    """Architectures that the classifier finds; it is given the lines that could name one."""
    if not page.families:
        return set()
    lines = [line for line in page.text.splitlines() if ANY_FAMILY.search(line.lower())]
    paths = [path for path in page.names("changed_paths") if ANY_FAMILY.search(path.lower())]
    change = Change(str(page.head.get("repo")), None, page.title, "\n".join(lines), tuple(paths))
    return {tag.name for tag in match_tags(change, None) if tag.facet == "architecture"}


def _stems(term: str) -> set[str]:
    """How the words of a term begin, so that `fused` speaks for kernel-fusion."""
    return {word[:_STEM] for word in fold(term).split()}


def _default_tag(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    given = page.names("tags")
    if page.type != "source-pr" or len(given) != 1:
        return
    if not any(stem in page.visible for stem in _stems(given[0])):
        yield f"{given[0]} is its one tag, and nothing on the page says so"


def _default_language(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    for language in page.names("languages"):
        pattern = _LANGUAGES.get(language)
        if page.type == "source-pr" and pattern and not pattern.search(page.visible):
            yield f"says {language}, and neither a path nor a word does"


def _substring(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    """A short tag that stands on the page only inside longer words: `tma` in softmax."""
    named = dict.fromkeys([*page.names("tags"), *page.names("hardware_features")])
    for tag in named if page.type == "source-pr" else ():
        if len(tag) > _SHORT or not tag.isalpha() or tag not in page.visible:
            continue
        if not _is_word(tag, page.shown):
            inside = re.search(rf"\w*{tag}\w*", page.visible)
            yield f"{tag} stands only inside words such as {inside[0] if inside else tag}"


def _is_word(tag: str, text: str) -> bool:
    """Whether a tag stands in a text by itself, or as a part of CamelCase as in DeepGEMM."""
    alone = re.search(rf"(?<![A-Za-z])(?i:{tag})(?![a-z])", text)
    return bool(alone or re.search(rf"(?<=[a-z]){tag[0].upper()}(?i:{tag[1:]})", text))


_UNCITED: Final = (
    "SELECT c.page_id, c.metric || ' ' || c.value_text || ' is not in ' || c.source_page_id"
    " FROM performance_claims c WHERE c.status_by = 'plausible:citation' AND c.retired_at IS NULL"
    " AND EXISTS (SELECT 1 FROM page_versions v JOIN corpora k ON k.id = v.corpus_id"
    " WHERE v.page_id = c.page_id AND v.retired_at IS NULL AND k.kind = 'import'"
    " AND :corpus IN (0, k.id)) ORDER BY 1, 2"
)


def _harvested(scope: Scope) -> dict[tuple[str, int], Any]:
    p, r = pull_requests.c, repositories.c
    columns = (r.full_name, p.number, p.landed_state, p.landed_at, p.merged_at, p.merge_sha)
    query = sa.select(*columns).join(repositories, r.id == p.repository_id)
    query = query.where(p.landed_state.is_not(None))
    return {(row.full_name.lower(), row.number): row for row in scope.connection.execute(query)}


def _against_harvest(scope: Scope) -> Iterator[tuple[ImportedPage, str, Any]]:
    """Pages of pull requests that were harvested, with the corpus and what we know of them."""
    known = _harvested(scope)
    for corpus in imported(scope) if known else ():
        for page in corpus.pages:
            place = (str(page.head.get("repo")).lower(), page.head.get("pr"))
            if page.type == "source-pr" and place in known:
                yield page, corpus.name, known[place]


def _not_landed(scope: Scope) -> Iterator[Case]:
    for page, corpus, row in _against_harvest(scope):
        status = str(page.head.get("status")).lower()
        if status == "merged" and row.landed_state in ("open", "closed"):
            yield page.id, f"it is {row.landed_state} ({corpus}:{page.path})"


def _other_day(scope: Scope) -> Iterator[Case]:
    for page, corpus, row in _against_harvest(scope):
        at = row.merged_at or row.landed_at
        given = str(page.head.get("date"))[:10]
        if at is not None and given != at.date().isoformat():
            yield page.id, f"{given}, landed {at.date().isoformat()} ({corpus}:{page.path})"


RULES: Final = (
    Rule(
        "architecture-unstated",
        "warning",
        "a page lists an architecture that nothing on it names",
        "leave the list empty: unknown is an answer",
        each_page(_unstated),
    ),
    Rule(
        "architecture-other",
        "warning",
        "a page lists an architecture, but its text names others",
        "list what the text names",
        each_page(_other),
    ),
    Rule(
        "tag-disagreement",
        "warning",
        "a page and the classifier differ on architectures",
        'see "kwdb explain" for a harvested page, then correct the list',
        each_page(_disagreement),
    ),
    Rule(
        "tag-default",
        "warning",
        "a page's one tag looks like a default",
        "drop it, or name what the page is about",
        each_page(_default_tag),
    ),
    Rule(
        "language-default",
        "warning",
        "a language looks like a default",
        "drop it, or name the file that shows it",
        each_page(_default_language),
    ),
    Rule(
        "tag-substring",
        "warning",
        "a tag was found inside a longer word",
        "drop it",
        each_page(_substring),
    ),
    Rule(
        "claim-not-in-source",
        "error",
        "a claim's number does not occur in the page that it cites",
        "correct the number or the citation, or withdraw the claim",
        _UNCITED,
    ),
    Rule(
        "status-not-landed",
        "error",
        "a page calls a pull request merged that did not land",
        "correct status, and drop merge_sha",
        _not_landed,
    ),
    Rule(
        "date-not-landing",
        "notice",
        "a page's date is not the day on which its pull request landed",
        "KernelWiki writes the day it was opened; store both",
        _other_day,
    ),
)
