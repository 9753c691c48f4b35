"""Read a whole tree: what each file is, and what the report has to say of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.kernelwiki import bundles as bundling
from ingest.kernelwiki.bundles import Bundle
from ingest.kernelwiki.ledgers import (
    LedgerRow,
    SkipRow,
    Unusable,
    is_ledger,
    read_ledger,
    read_skips,
)
from ingest.kernelwiki.pages import LAYERS, Page, is_page, read_page
from ingest.kernelwiki.registries import tool_releases, version_claims
from ingest.kernelwiki.tree import FILE_BYTES, Remark, Tree, TreeFile, read
from ingest.kernelwiki.vocabulary import Vocabulary, read_aliases, read_tags
from ingest.kernelwiki.yamls import YAML_BYTES, YamlError, load_yaml
from kwdb.errors import UserError

PAGE_BYTES: Final = 4 << 20
ALL_PAGES_BYTES: Final = 160 << 20
"""Pages are held in memory at once; what is beyond this is named in the report, not kept."""

Report = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class Corpus:
    """A tree as read; `files` are those to keep as they are: path -> (kind, reason)."""

    tree: Tree
    pages: dict[str, Page] = field(default_factory=dict)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    ledger: list[LedgerRow] = field(default_factory=list)
    skips: list[SkipRow] = field(default_factory=list)
    version_claims: list[dict[str, Any]] = field(default_factory=list)
    tool_releases: list[dict[str, Any]] = field(default_factory=list)
    bundles: list[Bundle] = field(default_factory=list)
    files: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    remarks: list[Remark] = field(default_factory=list)
    page_bytes: int = 0

    def remark(self, path: str, kind: str, reason: str) -> None:
        """Name something in the report."""
        self.remarks.append(Remark(path, kind, reason))

    def keep(self, path: str, kind: str, reason: str | None = None) -> None:
        """Keep a file as it is; one with a reason is named in the report."""
        self.files[path] = (kind, reason)
        self.kinds[kind] += 1
        if reason is not None:
            self.remark(path, kind, reason)


def read_corpus(tree: Tree, guess_repo: Callable[[str], str | None], report: Report) -> Corpus:
    """Read all files of a tree; contents of plain files and bundles are not read yet.

    `guess_repo` gives OWNER/NAME for the stem of a ledger that names no repository.

    Raises:
        UserError: the tree has neither wiki/ nor sources/.
    """
    _refuse_other_trees(tree)
    corpus = Corpus(tree)
    for remark in tree.refused:
        corpus.kinds["refused"] += 1
        corpus.remarks.append(remark)
    for done, (path, file) in enumerate(sorted(tree.files.items())):
        _read_file(corpus, path, file, guess_repo)
        if done % 500 == 0:
            report("read", done, len(tree.files))
    taken = bundling.assign_files(corpus.bundles, tree)
    bundling.assign_pages(corpus.bundles, corpus.pages.values())
    for path in taken & corpus.files.keys():
        corpus.kinds[corpus.files.pop(path)[0]] -= 1
        corpus.kinds["bundle file"] += 1
    return corpus


def _refuse_other_trees(tree: Tree) -> None:
    tops = {path.partition("/")[0] for path in tree.files if "/" in path}
    if tops & LAYERS.keys():
        return
    below = sorted(
        {path.split("/")[0] for path in tree.files if set(path.split("/")[1:-1]) & LAYERS.keys()}
    )
    hint = f"; {below[0]}/ has them: import that" if below else ""
    raise UserError(f"{tree.root} holds neither wiki/ nor sources/, so it is no KernelWiki{hint}")


def _read_file(
    corpus: Corpus, path: str, file: TreeFile, guess_repo: Callable[[str], str | None]
) -> None:
    if is_page(path):
        _read_page(corpus, path, file)
    elif bundling.is_manifest(path):
        document = _document(corpus, path, file, "bundle manifest")
        corpus.bundles.append(bundling.read_bundle(path, document))
    elif path.startswith(("candidates/", "data/")) and path.endswith((".yaml", ".yml")):
        _read_data(corpus, path, file, guess_repo)
    else:
        corpus.keep(path, "file")


def _read_page(corpus: Corpus, path: str, file: TreeFile) -> None:
    data = read(file, PAGE_BYTES)
    if isinstance(data, Remark):
        is_kept = data.kind == "too large" and file.size <= FILE_BYTES
        reason = f"{file.size} bytes, too many for a page; kept as a file"
        corpus.keep(path, data.kind, reason if is_kept else data.reason)
        return
    page = read_page(path, data)
    if page.front_matter_text is None and b"\0" in data[:8192]:
        corpus.keep(path, "binary", "binary, so no page; kept as it is")
    elif page.id in corpus.pages:
        other = corpus.pages[page.id].path
        corpus.keep(path, "duplicate id", f"{page.id!r} is {other}; kept as a file, not as a page")
    elif corpus.page_bytes + len(data) > ALL_PAGES_BYTES:
        reason = f"more than {ALL_PAGES_BYTES} bytes of pages; kept as a file"
        corpus.keep(path, "too many pages", reason)
    else:
        corpus.pages[page.id] = page
        corpus.page_bytes += len(data)
        corpus.kinds["page"] += 1
        if page.problem:
            corpus.remark(path, "page", f"{page.problem}; stored as {page.id}")


def _document(corpus: Corpus, path: str, file: TreeFile, kind: str) -> Any:
    """Return the YAML of a file, which is kept in any case; None where it cannot be used."""
    data = read(file, YAML_BYTES)
    if isinstance(data, Remark):
        corpus.keep(path, data.kind, data.reason)
        return None
    try:
        document = load_yaml(data)
    except YamlError as exc:
        corpus.keep(path, kind, str(exc))
        return None
    corpus.keep(path, kind)
    return document


def _read_data(
    corpus: Corpus, path: str, file: TreeFile, guess_repo: Callable[[str], str | None]
) -> None:
    directory, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0]
    kind = _KINDS.get(stem, "data") if directory == "data" else "ledger"
    document = _document(corpus, path, file, kind)
    if is_ledger(path, document):
        _add_rows(corpus, path, corpus.ledger, read_ledger(document, guess_repo(stem)))
    elif kind == "skip audit":
        _add_rows(corpus, path, corpus.skips, read_skips(document))
    elif kind == "version claims":
        corpus.version_claims = version_claims(document, path)
    elif kind == "tool versions":
        corpus.tool_releases = tool_releases(document, path)
    elif stem == "tags" and kind == "vocabulary":
        read_tags(document, corpus.vocabulary)
    elif kind == "vocabulary":
        read_aliases(document, corpus.vocabulary)
    elif directory != "data" and document is not None:
        corpus.remark(path, "ledger", "holds no rows under prs or candidates; kept as a file")


_KINDS: Final = {
    "tags": "vocabulary",
    "aliases": "vocabulary",
    "version-claims": "version claims",
    "tool-versions": "tool versions",
    "pr-page-skipped": "skip audit",
}


def _add_rows(corpus: Corpus, path: str, rows: list[Any], found: Any) -> None:
    for row in found:
        if isinstance(row, Unusable):
            corpus.remark(path, "row", f"{row.place}: {row.reason}; kept in the file only")
        else:
            rows.append(row)
