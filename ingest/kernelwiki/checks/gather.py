"""What the rules on imported corpora look at, read once for all of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from ingest.kernelwiki.checks.families import stated_families
from ingest.kernelwiki.vocabulary import Vocabulary, read_tags
from ingest.kernelwiki.yamls import YamlError, load_yaml
from kwdb.check.rules import Case, Find, Scope
from kwdb.models import bundle_files, bundles, corpora, corpus_files, page_versions, pages

_ROWS: Final = re.compile(
    r"^(?:prs|candidates)\s*:[^\n]*\n?(?:[ \t\-#][^\n]*\n?|\n)*", re.MULTILINE
)


@dataclass(frozen=True)
class ImportedPage:
    """A live page of an imported corpus; `head` is empty where there is no front matter."""

    id: str
    type: str
    path: str
    fences: str | None
    head_text: str | None
    is_readable: bool
    head: Mapping[str, Any]
    raw: bytes

    @cached_property
    def text(self) -> str:
        """The body, bytes that are no UTF-8 as escapes, lines ended by line feeds."""
        return self.raw.decode("utf-8", "backslashreplace").replace("\r\n", "\n")

    @cached_property
    def title(self) -> str:
        """The title as written."""
        return str(self.head.get("title") or "")

    @property
    def shown(self) -> str:
        """Title, body and changed paths: what a reader sees of the thing itself."""
        return "\n".join((self.title, self.text, *self.names("changed_paths")))

    @cached_property
    def visible(self) -> str:
        """What is shown, in lower case."""
        return self.shown.lower()

    @cached_property
    def families(self) -> frozenset[str]:
        """The families of architectures that the visible text names."""
        return stated_families(self.visible)

    @property
    def is_wiki(self) -> bool:
        """Whether it is a page of synthesis."""
        return self.type.startswith("wiki-")

    def names(self, name: str) -> list[str]:
        """The members of a list field that are text; empty where there is no list."""
        value = self.head.get(name)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


@dataclass
class ImportedCorpus:
    """One corpus: its pages, the text of its data files, and which paths it has at all."""

    key: int
    name: str
    pages: list[ImportedPage]
    data: dict[str, bytes]
    paths: set[str]
    kinds: dict[str, tuple[str, str | None]]
    documents: dict[str, Any] = field(default_factory=dict)

    def document(self, path: str) -> Any:
        """The YAML of a data file; None where there is none or it cannot be read."""
        if path not in self.documents:
            try:
                self.documents[path] = load_yaml(self.data.get(path, b""))
            except YamlError:
                self.documents[path] = None
        return self.documents[path]

    def head_of(self, path: str) -> dict[str, Any]:
        """The fields of a ledger beside its rows, which are many."""
        text = self.data.get(path, b"").decode("utf-8", "replace")
        try:
            found = load_yaml(_ROWS.sub("", text, count=1))
        except YamlError:
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """Type of page -> what data/schemas.yaml says of it; empty without such a file."""
        found = self.document("data/schemas.yaml")
        found = found.get("page_types", found) if isinstance(found, dict) else {}
        return {str(n): spec for n, spec in found.items() if isinstance(spec, dict)}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The terms of data/tags.yaml; without terms where there is no such file."""
        found = Vocabulary()
        read_tags(self.document("data/tags.yaml"), found)
        return found

    @cached_property
    def facets(self) -> set[str]:
        """The facets that its vocabulary has terms of."""
        return {facet for facet, _ in self.vocabulary.terms}

    @cached_property
    def topical(self) -> set[str]:
        """The terms that may stand under `tags`: all but architectures."""
        return {name for facet, name in self.vocabulary.terms if facet != "architecture"}

    @cached_property
    def ids(self) -> dict[str, ImportedPage]:
        """Its pages by id."""
        return {page.id: page for page in self.pages}


_gathered: WeakKeyDictionary[Scope, list[ImportedCorpus]] = WeakKeyDictionary()


def imported(scope: Scope) -> list[ImportedCorpus]:
    """Return the imported corpora that are checked, in order of their names."""
    if scope not in _gathered:
        _gathered[scope] = list(_gather(scope))
    return _gathered[scope]


def _gather(scope: Scope) -> Iterator[ImportedCorpus]:
    c = corpora.c
    query = sa.select(c.id, c.name).where(c.kind == "import").order_by(c.name)
    for key, name in scope.connection.execute(query).all():
        if scope.corpus in (0, key):
            yield _corpus(scope.connection, key, name)


def _corpus(connection: sa.Connection, key: int, name: str) -> ImportedCorpus:
    v, f, b = page_versions.c, corpus_files.c, bundles.c
    columns = (
        v.page_id,
        pages.c.type,
        v.path,
        v.fences,
        v.front_matter_text,
        v.front_matter,
        v.body,
    )
    query = (
        sa.select(*columns)
        .join(pages, pages.c.id == v.page_id)
        .where(v.corpus_id == key, v.retired_at.is_(None))
        .order_by(v.path)
    )
    held = [
        ImportedPage(id_, type_, path, fences, text, head is not None, head or {}, body)
        for id_, type_, path, fences, text, head, body in connection.execute(query)
    ]
    rows = connection.execute(
        sa.select(f.path, f.kind, f.reason).where(f.corpus_id == key).order_by(f.path)
    ).all()
    kinds = {row.path: (row.kind, row.reason) for row in rows}
    is_data = sa.or_(f.path.startswith("data/"), f.path.startswith("candidates/"))
    contents = sa.select(f.path, f.content).where(
        f.corpus_id == key, is_data, f.path.endswith(".yaml"), f.content.is_not(None)
    )
    data = dict(connection.execute(contents).all())
    in_bundles = (
        sa.select(b.path, bundle_files.c.path)
        .join(bundles, b.id == bundle_files.c.bundle_id)
        .where(b.corpus_id == key, b.retired_at.is_(None), bundle_files.c.sha256.is_not(None))
    )
    paths = {page.path for page in held} | kinds.keys()
    paths |= {f"{place}/{path}" for place, path in connection.execute(in_bundles)}
    return ImportedCorpus(key, name, held, data, paths, kinds)


def each_page(look: Callable[[ImportedPage, ImportedCorpus], Iterable[str]]) -> Find:
    """Make a rule's function of one that yields what is amiss with a page of a corpus."""

    def find(scope: Scope) -> Iterator[Case]:
        for corpus in imported(scope):
            for page in corpus.pages:
                for seen in look(page, corpus):
                    yield page.id, _placed(seen, corpus.name, page.path)

    return find


def each_corpus(look: Callable[[ImportedCorpus], Iterable[Case]]) -> Find:
    """Make a rule's function of one that yields (id or path, what is amiss) in a corpus."""

    def find(scope: Scope) -> Iterator[Case]:
        for corpus in imported(scope):
            for id_, seen in look(corpus):
                page = corpus.ids.get(id_)
                yield id_, _placed(seen, corpus.name, page.path if page else "")

    return find


def _placed(seen: str, corpus: str, path: str) -> str:
    place = f"({corpus}:{path})" if path else f"({corpus})"
    return f"{seen} {place}" if seen else place


def allowed_values(corpus: ImportedCorpus, section: str) -> set[str]:
    """Return the members that data/tags.yaml gives a value set such as confidence."""
    document = corpus.document("data/tags.yaml")
    found = document.get(section) if isinstance(document, dict) else None
    return {str(one) for one in found} if isinstance(found, list) else set()
