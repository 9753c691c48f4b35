"""The indices of a KernelWiki, queries/by-*.md: which pages stand under which term."""

from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import page_tags, page_versions, pages, tags

_FACETS: Final = {
    "by-architecture": ("Pages by architecture", "architecture"),
    "by-hardware-feature": ("Pages by hardware feature", "hardware_feature"),
    "by-kernel-type": ("Pages by kernel type", "kernel_type"),
    "by-language": ("Pages by language", "language"),
    "by-problem": ("Pages by problem", "symptom"),
    "by-technique": ("Pages by technique", "technique"),
}
_REPO: Final = "by-repo"


def render_indices(connection: sa.Connection, corpus: int | None) -> dict[str, str]:
    """Return path -> Markdown of each index that has entries.

    `corpus` None: every served page with the tags of all corpora.
    """
    rows = connection.execute(_tagged(corpus)).all()
    found = {
        f"queries/{name}.md": _index(title, [(r.name, r) for r in rows if r.facet == facet])
        for name, (title, facet) in _FACETS.items()
    }
    sources = [(repo, row) for row in rows if (repo := _repo(row.url))]
    found[f"queries/{_REPO}.md"] = _index("Pull requests by repository", sources)
    return {path: text for path, text in found.items() if text}


def _tagged(corpus: int | None) -> sa.Select[Any]:
    t, v = page_tags.c, page_versions.c
    columns = (tags.c.facet, tags.c.name, pages.c.id, pages.c.title, pages.c.type, pages.c.url)
    query = (
        sa.select(*columns)
        .distinct()
        .join(page_tags, t.tag_id == tags.c.id)
        .join(pages, pages.c.id == t.page_id)
        .order_by(tags.c.facet, tags.c.name, pages.c.type, pages.c.id)
    )
    if corpus is None:
        return query.where(~pages.c.is_retired)
    held = sa.select(v.page_id).where(v.corpus_id == corpus, v.retired_at.is_(None))
    return query.where(t.corpus_id == corpus, pages.c.id.in_(held))


def _repo(url: str | None) -> str | None:
    parts = (url or "").removeprefix("https://github.com/").split("/")
    return "/".join(parts[:2]) if len(parts) == 4 and parts[2] == "pull" else None


def _index(title: str, entries: list[tuple[str, Any]]) -> str:
    terms: dict[str, dict[str, str]] = {}
    for term, row in entries:
        terms.setdefault(term, {})[row.id] = f"- `{row.id}` [{row.type}] {row.title}"
    parts = [
        f"## {name} ({len(lines)})\n\n" + "\n".join(lines.values()) + "\n"
        for name, lines in sorted(terms.items())
    ]
    return f"# {title}\n\n" + "\n".join(parts) if parts else ""
