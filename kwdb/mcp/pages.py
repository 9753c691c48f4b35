"""Pages as resources: a list of those that summarise, and each as Markdown."""

from typing import Any, Final

import sqlalchemy as sa

from kwdb import queries
from kwdb.db import row_dicts
from kwdb.freshness import read_freshness
from kwdb.jsonable import as_json
from kwdb.mcp.answers import MAX_BYTES
from kwdb.models import page_types, pages

_MOST_PAGES: Final = 500
_MOST_CLAIMS: Final = 30
_FACTS: Final = (
    "type repo number landed_state landed_at decision decision_reason published_on confidence "
    "reproducibility url summary"
).split()


def list_pages(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return id, title and summary of the pages that summarise, by id; at most 500."""
    p = pages.c
    query = (
        sa.select(p.id, p.title, p.summary)
        .join(page_types, page_types.c.name == p.type)
        .where(page_types.c.layer == "wiki", ~p.is_retired)
        .order_by(p.id)
        .limit(_MOST_PAGES)
    )
    return row_dicts(connection.execute(query))


def render_page(connection: sa.Connection, name: str) -> str:
    """Return a page or pull request as Markdown of at most `MAX_BYTES` bytes.

    Raises:
        NotFoundError: there is none.
    """
    found = queries.show(connection, name)
    parts = [f"# {found.get('title') or found['id']}", _facts(found), found.get("body") or ""]
    parts += [_claims(found["claims"]), _age(connection)]
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    if len(text.encode()) <= MAX_BYTES:
        return text
    kept = text.encode()[:MAX_BYTES].decode(errors="ignore")
    return f"{kept}\n\n(cut here: the tool get_page goes on with body_offset)"


def _facts(found: dict[str, Any]) -> str:
    stated = {"id": found["id"]} | {name: found.get(name) for name in _FACTS}
    stated["tags"] = ", ".join(sorted({f"{tag['facet']}:{tag['name']}" for tag in found["tags"]}))
    return "\n".join(f"- {name}: {_said(value)}" for name, value in stated.items() if value)


def _said(value: Any) -> str:
    return str(value if isinstance(value, (str, int)) else as_json(value))


def _claims(claims: list[dict[str, Any]]) -> str:
    if not claims:
        return ""
    names = "metric value unit_as_written gpu dtype shape variant".split()
    lines = [
        f"- claim:{claim['id']} ({claim['status']}): "
        + " ".join(_said(claim[name]) for name in names if claim[name] is not None)
        for claim in claims[:_MOST_CLAIMS]
    ]
    return "\n".join([f"## Claims ({len(lines)} of {len(claims)})", "", *lines])


def _age(connection: sa.Connection) -> str:
    stated = read_freshness(connection).items()
    said = (f"{name} {_said(value)}" for name, value in stated if value is not None)
    return "Freshness: " + (", ".join(said) or "seeds only, nothing harvested or imported")
