"""Rules on the form of imported pages: what KernelWiki's own validator asks, by stable ids.

Source: scripts/validate.py and data/schemas.yaml of Waterpine/KernelWiki at 52b8eb06.
"""

from collections.abc import Iterator
from typing import Final

from ingest.kernelwiki.checks.gather import (
    ImportedCorpus,
    ImportedPage,
    allowed_values,
    each_corpus,
    each_page,
)
from ingest.kernelwiki.pages import id_prefix
from ingest.kernelwiki.vocabulary import FACETS
from kwdb.check.rules import Case, Rule

_LISTS: Final = (
    *FACETS,
    *("tags", "related", "sources", "candidate_techniques", "prerequisites", "aliases"),
)
_VALUES: Final = {
    "confidence": "confidence",
    "reproducibility": "reproducibility",
    "source_category": "source_categories",
}
_STATUSES: Final = frozenset({"open", "merged", "closed"})
_HOPPER: Final = frozenset({"sm90", "sm90a"})
_BLACKWELL: Final = frozenset({"sm100", "sm100a", "sm103", "sm120"})


def _unreadable(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.head_text is not None and not page.is_readable:
        yield f"as {page.id}"


def _without_head(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.head_text is None:
        yield f"as {page.id}"


def _without_id(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.is_readable and page.head.get("id") != page.id:
        yield f"has {page.head.get('id')!r}, stored as {page.id}"


def _duplicates(corpus: ImportedCorpus) -> Iterator[Case]:
    for path, (kind, reason) in corpus.kinds.items():
        if kind == "duplicate id":
            yield path, reason or ""


def _by_path(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    parts = page.path.removesuffix(".md").split("/")
    if page.type == "source-pr" and len(parts) > 3:
        wanted = f"pr-{parts[-2]}-{parts[-1].removeprefix('PR-')}"
    else:
        wanted = f"{id_prefix(page.type)}{parts[-1]}"
    nested = f"{id_prefix(page.type)}{'-'.join(parts[2:])}"
    if page.is_readable and page.id not in (wanted, nested, parts[-1]):
        yield f"the path gives {wanted}"


def _required(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    spec = corpus.schemas.get(page.type, {})
    wanted = spec.get("required") or spec.get("required_fields") or ()
    yield from (name for name in wanted if page.is_readable and page.head.get(name) is None)


def _prefix(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    spec = corpus.schemas.get(page.type, {})
    constraints = spec.get("constraints")
    given = constraints.get("id_prefix") if isinstance(constraints, dict) else None
    wanted = given or spec.get("id_prefix") or id_prefix(page.type)
    if page.is_readable and not page.id.startswith(str(wanted)):
        yield f"{page.type} begins with {wanted}"


def _no_lists(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    for name in _LISTS:
        value = page.head.get(name)
        if value is not None and not isinstance(value, list):
            yield f"{name} is {type(value).__name__}"


def _repeated(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    for name in _LISTS:
        given = page.names(name)
        yield from (f"{name}: {one}" for one in dict.fromkeys(given) if given.count(one) > 1)


def _unlisted(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    terms = corpus.vocabulary.terms
    if not terms:
        return
    for name, facet in FACETS.items():
        if facet in corpus.facets:
            yield from (f"{name}: {w}" for w in page.names(name) if (facet, w) not in terms)
    yield from (f"tags: {word}" for word in page.names("tags") if word not in corpus.topical)


def _hardware_tags(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    if isinstance(page.head.get("hardware_features"), list):
        missing = [
            word
            for word in page.names("tags")
            if ("hardware_feature", word) in corpus.vocabulary.terms
            and word not in page.names("hardware_features")
        ]
        if missing:
            yield ", ".join(missing)


def _values(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    for name, section in _VALUES.items():
        value, known = page.head.get(name), allowed_values(corpus, section)
        if value is not None and known and str(value) not in known:
            yield f"{name} {value!r}; allowed: {', '.join(sorted(known))}"
    status = page.head.get("status")
    if page.type == "source-pr" and status is not None and status not in _STATUSES:
        yield f"status {status!r}; allowed: {', '.join(sorted(_STATUSES))}"


def _category(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    constraints = corpus.schemas.get(page.type, {}).get("constraints")
    wanted = constraints.get("source_category") if isinstance(constraints, dict) else None
    given, known = (
        page.head.get("source_category"),
        wanted if isinstance(wanted, list) else [wanted],
    )
    if wanted and given is not None and given not in known:
        yield f"{given!r}; allowed for {page.type}: {', '.join(map(str, known))}"


def _merge_sha(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    sha = page.head.get("merge_sha") or page.head.get("merge_commit")
    if page.head.get("status") == "merged" and page.type == "source-pr" and not sha:
        yield "status is merged"


def _short_sha(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    sha = page.head.get("merge_sha")
    if sha and len(str(sha)) < 40:
        yield f"{sha} has {len(str(sha))} of 40 signs"


def _without_architecture(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.is_readable and page.head.get("architectures") is None:
        yield page.type


def _hopper_only(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    given = set(page.names("architectures"))
    is_alone = given & _HOPPER and not given & _BLACKWELL
    if page.is_wiki and is_alone and "blackwell_relevance" not in page.head:
        yield ", ".join(sorted(given))


RULES: Final = (
    Rule(
        "corpus-yaml",
        "error",
        "a front matter cannot be read",
        "correct its YAML",
        each_page(_unreadable),
    ),
    Rule(
        "corpus-no-front-matter",
        "warning",
        "a page has no front matter",
        "add one with id, title and type",
        each_page(_without_head),
    ),
    Rule(
        "corpus-id-missing",
        "error",
        "a front matter has no usable id",
        "give it one",
        each_page(_without_id),
    ),
    Rule(
        "corpus-id-duplicate",
        "error",
        "two pages have one id",
        "rename one of them",
        each_corpus(_duplicates),
    ),
    Rule(
        "corpus-id-path",
        "notice",
        "an id is not what the path gives",
        "rename one of them, unless scripts rely on it",
        each_page(_by_path),
    ),
    Rule(
        "corpus-id-prefix",
        "error",
        "an id does not begin as the corpus wants",
        "rename the page",
        each_page(_prefix),
    ),
    Rule(
        "corpus-field-required",
        "error",
        "a page lacks a field that its own schema requires",
        "state it, or change data/schemas.yaml",
        each_page(_required),
    ),
    Rule(
        "corpus-field-list",
        "error",
        "a field that must be a list is none",
        "write [value]",
        each_page(_no_lists),
    ),
    Rule(
        "corpus-field-repeats",
        "error",
        "a list names a value twice",
        "remove one",
        each_page(_repeated),
    ),
    Rule(
        "corpus-vocabulary",
        "error",
        "a term is not in data/tags.yaml under its field",
        "use a listed term, or list it",
        each_page(_unlisted),
    ),
    Rule(
        "corpus-hardware-tags",
        "error",
        "tags name hardware features that hardware_features lacks",
        "add them there",
        each_page(_hardware_tags),
    ),
    Rule(
        "corpus-value",
        "error",
        "a field has a value outside its set",
        "use one that is allowed",
        each_page(_values),
    ),
    Rule(
        "corpus-category",
        "error",
        "a source category is not one of its type",
        "correct the category or move the page",
        each_page(_category),
    ),
    Rule(
        "corpus-merge-sha",
        "error",
        "a merged pull request has no merge_sha",
        "add the commit",
        each_page(_merge_sha),
    ),
    Rule(
        "corpus-merge-sha-short",
        "notice",
        "a commit id is cut",
        "write it in full: short ids stop being unique",
        each_page(_short_sha),
    ),
    Rule(
        "corpus-architecture-missing",
        "notice",
        "a page says nothing of architectures",
        "state them, or an empty list for unknown",
        each_page(_without_architecture),
    ),
    Rule(
        "corpus-hopper-only",
        "notice",
        "a page on Hopper alone does not say why it is in a Blackwell wiki",
        "add blackwell_relevance where the wiki's scope asks for it",
        each_page(_hopper_only),
    ),
)
