"""Rules on what the pages of an imported corpus say of each other, and on its vocabulary."""

from collections.abc import Iterator
from typing import Final

from ingest.kernelwiki.checks.gather import ImportedCorpus, ImportedPage, each_corpus, each_page
from ingest.kernelwiki.vocabulary import FACETS
from kwdb.check.rules import Case, Rule
from kwdb.text import fold

_TERMS: Final = (*FACETS, "tags")
_CITABLE: Final = frozenset({"source-doc", "source-blog", "source-contest"})


def _one_way(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    for target in page.names("related"):
        other = corpus.ids.get(target)
        if other is not None and target != page.id and page.id not in other.names("related"):
            yield f"{target} does not name it"


def _related_sources(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    for target in page.names("related"):
        other = corpus.ids.get(target)
        if other is not None and other.type.startswith("source-"):
            yield f"{target} is {other.type}"


def _without_sources(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.is_wiki and page.is_readable and not page.head.get("sources"):
        yield page.type


def _uncited(corpus: ImportedCorpus) -> Iterator[Case]:
    cited = {target for page in corpus.pages for target in page.names("sources")}
    for page in corpus.pages:
        if page.type in _CITABLE and page.id not in cited:
            yield page.id, page.type


def _unused(corpus: ImportedCorpus) -> Iterator[Case]:
    used = {name for page in corpus.pages for field in _TERMS for name in page.names(field)}
    for facet, name in corpus.vocabulary.terms:
        if name not in used:
            yield f"{facet}:{name}", "data/tags.yaml"


def _colliding(corpus: ImportedCorpus) -> Iterator[Case]:
    owners: dict[str, str] = {}
    for page in corpus.pages:
        for alias in page.names("aliases"):
            other = owners.setdefault(fold(alias), page.id)
            if other != page.id:
                yield page.id, f"{alias!r} is an alias of {other}, too"


RULES: Final = (
    Rule(
        "link-one-way",
        "notice",
        "a page names a related page that does not name it",
        "name it there, too, where a reader would want it",
        each_page(_one_way),
    ),
    Rule(
        "related-source",
        "notice",
        "a page names a source as related",
        "move it to sources",
        each_page(_related_sources),
    ),
    Rule(
        "wiki-without-sources",
        "warning",
        "a page of synthesis cites nothing",
        "cite what it rests on",
        each_page(_without_sources),
    ),
    Rule(
        "source-uncited",
        "notice",
        "no page cites a document that the corpus holds",
        "cite it or drop it",
        each_corpus(_uncited),
    ),
    Rule(
        "term-unused",
        "notice",
        "no page uses a term of the vocabulary",
        "drop the term, or tag what it fits",
        each_corpus(_unused),
    ),
    Rule(
        "alias-of-two-pages",
        "warning",
        "an alias belongs to two pages",
        "leave it to one",
        each_corpus(_colliding),
    ),
)
