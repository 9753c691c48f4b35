"""Write corpora back as a KernelWiki: what was imported as it was, the rest in the same form.

An imported page is its fences, front matter text and body, byte for byte. Pages of the seeds and
of harvested pull requests get a front matter made from their fields. All of it is written beside
the target first, so that a failure leaves nothing half-written.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

import sqlalchemy as sa

from ingest.kernelwiki.indices import render_indices
from ingest.kernelwiki.pages import join
from ingest.kernelwiki.pull_requests import pull_request_files
from ingest.kernelwiki.written import page_path, vocabulary_files, written_page
from kwdb.errors import UnknownValueError, UserError
from kwdb.models import bundle_files, bundles, corpora, corpus_files, page_versions, pages

_FETCHED_AT_ONCE: Final = 200

File = tuple[str, str, bytes]
"""Kind, path and bytes of a file to write."""


@dataclass(slots=True)
class Written:
    """How many files of each kind were written, and paths that two sources wanted."""

    files: Counter[str] = field(default_factory=Counter)
    renamed: list[tuple[str, str]] = field(default_factory=list)


def export_tree(connection: sa.Connection, directory: Path, corpus: str | None) -> Written:
    """Write one corpus, or without a name every page that is served, into a new directory.

    Raises:
        UnknownValueError: there is no such corpus.
        UserError: `directory` holds something already, or cannot be written.
    """
    kind, key = _find_corpus(connection, corpus)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(f"{directory} is not empty: give a new directory")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as exc:
        raise UserError(f"cannot write beside {directory}: {exc.strerror}") from exc
    try:
        written = _Writer(place).write(_files(connection, kind, key))
        if directory.exists():
            directory.rmdir()
        place.chmod(0o755)
        place.rename(directory)
    except OSError as exc:
        raise UserError(f"cannot write {directory}: {exc.strerror}") from exc
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return written


def _find_corpus(connection: sa.Connection, name: str | None) -> tuple[str | None, int | None]:
    if name is None:
        return None, None
    query = sa.select(corpora.c.name, corpora.c.kind, corpora.c.id)
    found = {row.name: (row.kind, row.id) for row in connection.execute(query)}
    if name not in found:
        raise UnknownValueError("corpus", name, found)
    return found[name]


class _Writer:
    """Writes files below one directory; a path that is taken gets another name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.taken: dict[str, str] = {}
        self.done = Written()

    def write(self, files: Iterator[File]) -> Written:
        for kind, path, content in files:
            chosen = self._free_path(kind, path)
            if chosen is not None:
                place = self.root / chosen
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
                self.done.files[kind] += 1
        return self.done

    def _free_path(self, kind: str, path: str) -> str | None:
        parts = PurePosixPath(path).parts
        if not parts or ".." in parts or path.startswith("/"):
            raise UserError(f"the path {path!r} of a stored file leads out of the directory")
        if path not in self.taken:
            self.taken[path] = kind
            return path
        if kind == "index":  # a corpus's own index is its text, ours can be made again
            return None
        plain = PurePosixPath(path)
        count = 2
        while (other := str(plain.with_name(f"{plain.stem}-{count}{plain.suffix}"))) in self.taken:
            count += 1
        self.taken[other] = kind
        self.done.renamed.append((path, other))
        return other


def _files(connection: sa.Connection, kind: str | None, key: int | None) -> Iterator[File]:
    if kind != "harvest":
        yield from _pages(connection, key)
    if kind in (None, "harvest"):
        yield from pull_request_files(connection)
    if kind in (None, "import"):
        yield from _plain_files(connection, key)
        yield from _bundle_files(connection, key)
    if kind != "import":
        yield from vocabulary_files(connection)
    for path, text in render_indices(connection, key).items():
        yield "index", path, text.encode()


def _pages(connection: sa.Connection, key: int | None) -> Iterator[File]:
    v = page_versions.c
    names = ("page_id", "path", "fences", "front_matter_text", "front_matter", "body")
    wanted = v.corpus_id == key if key else v.corpus_id == pages.c.served_from
    query = (
        sa.select(*(v[name] for name in names), corpora.c.kind, pages.c.type)
        .join(pages, pages.c.id == v.page_id)
        .join(corpora, corpora.c.id == v.corpus_id)
        .where(wanted, v.retired_at.is_(None))
        .order_by(v.path, v.page_id)
        .execution_options(yield_per=_FETCHED_AT_ONCE)
    )
    for row in connection.execute(query).mappings():
        if row["kind"] == "import":
            yield "page", row["path"], join(row["fences"], row["front_matter_text"], row["body"])
        else:
            path = page_path(row["page_id"], row["type"])
            yield "page", path, written_page(row["type"], row["front_matter"], row["body"])


def _plain_files(connection: sa.Connection, key: int | None) -> Iterator[File]:
    c = corpus_files.c
    wanted: Any = c.corpus_id == key if key else sa.true()
    query = (
        sa.select(c.path, c.content, corpora.c.name)
        .join(corpora, corpora.c.id == c.corpus_id)
        .where(wanted, c.content.is_not(None))
        .order_by(c.corpus_id, c.path)
        .execution_options(yield_per=_FETCHED_AT_ONCE)
    )
    for path, content, name in connection.execute(query):
        yield "file", path if key else f"corpora/{name}/{path}", content


def _bundle_files(connection: sa.Connection, key: int | None) -> Iterator[File]:
    b, f = bundles.c, bundle_files.c
    wanted: Any = b.corpus_id == key if key else sa.true()
    query = (
        sa.select(b.path, f.path, f.content, corpora.c.name)
        .join(bundles, b.id == f.bundle_id)
        .join(corpora, corpora.c.id == b.corpus_id)
        .where(wanted, b.retired_at.is_(None), f.content.is_not(None))
        .order_by(b.corpus_id, b.path, f.path)
        .execution_options(yield_per=_FETCHED_AT_ONCE)
    )
    for bundle, path, content, name in connection.execute(query):
        whole = f"{bundle}/{path}"
        yield "bundle file", whole if key else f"corpora/{name}/{whole}", content
