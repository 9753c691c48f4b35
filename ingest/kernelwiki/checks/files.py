"""Rules on what an imported corpus holds beside its pages: ledgers, bundles, registries."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from ingest.kernelwiki.checks.gather import ImportedCorpus, each_corpus, imported
from kwdb.check.rules import Case, Rule, Scope
from kwdb.models import bundle_files, bundles, ledger_entries, ledger_skips, repositories

_COUNTS: Final = {"include": "included", "exclude": "excluded", "defer": "deferred"}
_LEDGER_HEAD: Final = (
    "repo",
    "searched_at",
    "keywords_used",
    "total_candidates",
    *_COUNTS.values(),
)
_MODES: Final = frozenset({"verbatim", "extracted", "derived"})
_MANIFEST: Final = ("origin_url", "upstream_repo", "license", "retrieved_at", "asset_mode", "files")
_CODE: Final = (
    ".cu",
    ".cuh",
    ".ptx",
    ".cpp",
    ".h",
    ".hpp",
    ".py",
    ".pyx",
    ".patch",
    ".inl",
    ".hip",
)
_RELEASES: Final = "data/tool-versions.yaml"
_CLAIMS: Final = "data/version-claims.yaml"


def _decided(scope: Scope, corpus: ImportedCorpus) -> dict[tuple[str, int], str]:
    """(Repository in lower case, number) -> latest decision of the corpus's ledgers."""
    e, r = ledger_entries.c, repositories.c
    query = sa.select(r.full_name, e.number, e.decision).join(repositories, r.id == e.repository_id)
    query = query.where(e.corpus_id == corpus.key).order_by(e.id)
    return {(name.lower(), n): decision for name, n, decision in scope.connection.execute(query)}


def _with_page(corpus: ImportedCorpus) -> dict[tuple[str, int], str]:
    return {
        (str(page.head.get("repo")).lower(), page.head["pr"]): page.id
        for page in corpus.pages
        if page.type == "source-pr" and isinstance(page.head.get("pr"), int)
    }


def _ledgers(corpus: ImportedCorpus) -> list[str]:
    return [path for path, (kind, _) in corpus.kinds.items() if kind == "ledger"]


def _heads(corpus: ImportedCorpus) -> Iterator[Case]:
    for path in _ledgers(corpus):
        head = corpus.head_of(path)
        missing = [name for name in _LEDGER_HEAD if name not in head]
        if missing:
            yield path, f"lacks {', '.join(missing)}"


def _counts(scope: Scope) -> Iterator[Case]:
    for corpus in imported(scope):
        per_repo: dict[str, Counter[str]] = {}
        for (repo, _), decision in _decided(scope, corpus).items():
            per_repo.setdefault(repo, Counter())[decision] += 1
        for path in _ledgers(corpus):
            head = corpus.head_of(path)
            found = per_repo.get(str(head.get("repo")).lower(), Counter())
            for decision, name in _COUNTS.items():
                if name in head and head[name] != found[decision]:
                    seen = f"says {name} {head[name]}, has {found[decision]}"
                    yield path, f"{seen} ({corpus.name})"


def _pageless(scope: Scope) -> Iterator[Case]:
    """Included, but neither a page nor a row of the skip audit."""
    for corpus in imported(scope):
        pages = _with_page(corpus)
        s, r = ledger_skips.c, repositories.c
        query = sa.select(r.full_name, s.number).join(repositories, r.id == s.repository_id)
        rows = scope.connection.execute(query.where(s.corpus_id == corpus.key))
        skipped = {(name.lower(), number) for name, number in rows}
        for (repo, number), decision in sorted(_decided(scope, corpus).items()):
            place = (repo, number)
            if decision == "include" and place not in pages and place not in skipped:
                yield f"{repo}#{number}", f"({corpus.name})"


def _undecided(scope: Scope) -> Iterator[Case]:
    for corpus in imported(scope):
        decided = _decided(scope, corpus)
        for place, id_ in sorted(_with_page(corpus).items()) if decided else ():
            decision = decided.get(place)
            if decision != "include":
                yield id_, f"the ledger says {decision or 'nothing'} ({corpus.name})"


def _cutoff(corpus: ImportedCorpus) -> Iterator[Case]:
    found = corpus.document("data/refresh-cutoff.yaml")
    day = str(found.get("cutoff_date"))[:10] if isinstance(found, dict) else "None"
    if day == "None":
        return
    for path in _ledgers(corpus):
        searched = corpus.head_of(path).get("searched_at")
        if searched is not None and str(searched)[:10] != day:
            yield path, f"searched at {searched}, the cutoff is {day}"
    for page in corpus.pages:
        captured = page.head.get("captured_at")
        if page.type == "source-pr" and captured and str(captured)[:10] > day:
            yield page.id, f"captured at {captured}, after the cutoff {day}"


def _bundles(scope: Scope, corpus: ImportedCorpus) -> list[Any]:
    b = bundles.c
    query = sa.select(b.id, b.path, b.page_id, b.asset_mode, b.provenance).where(
        b.corpus_id == corpus.key, b.retired_at.is_(None)
    )
    return list(scope.connection.execute(query.order_by(b.path)))


def _manifests(scope: Scope) -> Iterator[Case]:
    for corpus in imported(scope):
        for row in _bundles(scope, corpus):
            for seen in _manifest(row.path, row.provenance or {}, corpus):
                yield row.path, f"{seen} ({corpus.name})"


def _manifest(path: str, given: Mapping[str, Any], corpus: ImportedCorpus) -> Iterator[str]:
    yield from (f"lacks {name}" for name in _MANIFEST if name not in given)
    mode = given.get("asset_mode")
    if mode not in _MODES:
        yield f"asset_mode {mode!r}; allowed: {', '.join(sorted(_MODES))}"
    if mode == "verbatim" and not given.get("upstream_sha"):
        yield "is verbatim without upstream_sha"
    if mode == "derived":
        sources = given.get("derived_from")
        yield from (
            f"derives from {one}, which the corpus does not have"
            for one in (sources if isinstance(sources, list) else [None])
            if one not in corpus.ids
        )
        if not path.endswith("/variants"):
            yield "is derived, which is for artifacts/kernels/*/variants alone"
    listed = given.get("files")
    for entry in listed if isinstance(listed, list) else ():
        is_extracted = isinstance(entry, dict) and entry.get("mode") == "extracted"
        if is_extracted and not entry.get("heading_path"):
            yield f"{entry.get('local_path')} is extracted without heading_path"


def _digests(scope: Scope) -> Iterator[Case]:
    for corpus in imported(scope):
        for row, file in _files(scope, corpus):
            if file.sha256 is None:
                yield f"{row.path}/{file.path}", f"is missing ({corpus.name})"
            elif file.declared_sha256 and file.declared_sha256 != file.sha256:
                yield f"{row.path}/{file.path}", f"has {file.sha256[:12]} ({corpus.name})"


def _undeclared(scope: Scope) -> Iterator[Case]:
    for corpus in imported(scope):
        for row, file in _files(scope, corpus):
            if not file.role and file.path.endswith(_CODE):
                yield f"{row.path}/{file.path}", f"({corpus.name})"


def _files(scope: Scope, corpus: ImportedCorpus) -> Iterator[tuple[Any, Any]]:
    rows = {row.id: row for row in _bundles(scope, corpus)}
    f = bundle_files.c
    columns = (f.bundle_id, f.path, f.role, f.declared_sha256, f.sha256)
    query = sa.select(*columns).where(f.bundle_id.in_(rows)).order_by(f.bundle_id, f.path)
    for file in scope.connection.execute(query):
        yield rows[file.bundle_id], file


def _orphans(corpus: ImportedCorpus) -> Iterator[Case]:
    for path, (kind, _) in corpus.kinds.items():
        if kind == "file" and path.startswith("artifacts/") and path.endswith(_CODE):
            yield path, ""


def _rows(corpus: ImportedCorpus, path: str, key: str) -> list[dict[str, Any]]:
    found = corpus.document(path)
    rows = found.get(key) if isinstance(found, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _pointers(corpus: ImportedCorpus) -> Iterator[Case]:
    """Pages and version claims name each other."""
    claims = {str(row.get("id")): row for row in _rows(corpus, _CLAIMS, "claims")}
    for page in corpus.pages:
        pointer = page.head.get("version_sensitive")
        pointer = pointer.get("id") if isinstance(pointer, dict) else pointer
        if pointer is not None and pointer not in claims:
            yield page.id, f"names {pointer}, which {_CLAIMS} does not have"
    for id_, row in claims.items():
        for target in row.get("applies_to") or ():
            if str(target).partition("::")[0] not in corpus.paths:
                yield id_, f"applies to {target}, and no such file"
        for source in row.get("source_ids") or ():
            if source not in corpus.ids:
                yield id_, f"rests on {source}, which the corpus does not have"


def _verified_releases(corpus: ImportedCorpus) -> Iterator[Case]:
    releases = {
        (str(tool.get("tool")), str(one.get("name")))
        for tool in _rows(corpus, _RELEASES, "tools")
        for one in tool.get("releases") or ()
        if isinstance(one, dict)
    }
    for row in _rows(corpus, _CLAIMS, "claims") if releases else ():
        named = (str(row.get("tool")), str(row.get("last_verified_release")))
        if named not in releases:
            yield str(row.get("id")), f"was verified with {' '.join(named)}, which is no release"


RULES: Final = (
    Rule(
        "ledger-head",
        "warning",
        "a ledger lacks a field of its head",
        "add it",
        each_corpus(_heads),
    ),
    Rule(
        "ledger-counts",
        "error",
        "a ledger's counts are not those of its rows",
        "count again",
        _counts,
    ),
    Rule(
        "ledger-without-page",
        "error",
        "a ledger includes a pull request that has neither page nor skip row",
        "make the page, or say why not in data/pr-page-skipped.yaml",
        _pageless,
    ),
    Rule(
        "page-not-included",
        "notice",
        "a page's pull request is not included by its ledger",
        "decide again, or drop the page",
        _undecided,
    ),
    Rule(
        "refresh-cutoff",
        "error",
        "a day does not agree with data/refresh-cutoff.yaml",
        "search again, or correct the day",
        each_corpus(_cutoff),
    ),
    Rule(
        "bundle-manifest",
        "error",
        "a PROVENANCE.yaml is not filled in",
        "follow data/schemas.yaml",
        _manifests,
    ),
    Rule(
        "bundle-digest",
        "error",
        "a file of a bundle is not the one its manifest names",
        "restore the file, or correct sha256",
        _digests,
    ),
    Rule(
        "bundle-undeclared",
        "error",
        "a bundle holds code that its manifest does not name",
        "list it under files",
        _undeclared,
    ),
    Rule(
        "code-outside-bundles",
        "error",
        "code under artifacts/ belongs to no bundle",
        "move it into one with a PROVENANCE.yaml",
        each_corpus(_orphans),
    ),
    Rule(
        "version-pointer",
        "error",
        "a page and a version claim do not find each other",
        "correct the id or the path",
        each_corpus(_pointers),
    ),
    Rule(
        "version-release",
        "error",
        "a version claim was verified with a release that is not listed",
        "list it in data/tool-versions.yaml",
        each_corpus(_verified_releases),
    ),
)
