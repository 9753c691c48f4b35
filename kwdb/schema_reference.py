"""Write the schema reference, docs/schema.md, from the sentences that the tables carry."""

import sqlalchemy as sa

from kwdb.models import UTCTime, metadata
from kwdb.sqlite import SCHEMA_REVISION

_VIEWS = {
    "pr_overview": "A pull request a row: repo, number, title, author, landed_at, landed_state,"
    " decision, tags (names, comma-separated), url.",
    "claim_overview": "A claim a row that is not retired: id, page, gpu, dtype, shape, op, variant,"
    " metric, value, unit, value_normalized, normalized_unit, baseline_value, role, status,"
    " status_reason, origin, source_url.",
    "leaderboard": "The best figure of each comparable_key, never an invalidated one: op, shape,"
    " dtype, gpu, metric, variant, value and unit (normalised), status, origin, claim_id,"
    " claims_compared.",
    "page_tag_list": "A tag of a page a row: page_id, facet, tag, origin, corpus, basis, rule,"
    " evidence, locator.",
    "repository_coverage": "A repository a row: commits, pull_requests, landed (once at least,"
    " whether reverted later or not), linked_commits, linked_share (0 to 1), included, excluded,"
    " deferred, claims, last_harvest, gaps.",
}
_HEAD = """# Schema reference

Made by `make docs` from the models; revision {revision}. The same on SQLite and PostgreSQL.
NULL means "not stated". Times are UTC: on SQLite text such as `2026-08-01T12:00:00Z`, on
PostgreSQL timestamptz. Keys named `id` are surrogates; a column `page_id` holds a page's text id.

## Views
"""


def render_schema_reference() -> str:
    """Return the whole page as Markdown: views, then tables by name with all their columns."""
    parts = [_HEAD.format(revision=SCHEMA_REVISION)]
    parts += [f"\n- **{name}** — {sentence}" for name, sentence in _VIEWS.items()]
    parts.append("\n\n## Tables\n")
    for table in sorted(metadata.tables.values(), key=lambda table: table.name):
        parts.append(_render_table(table))
    return "".join(parts)


def _render_table(table: sa.Table) -> str:
    lines = [f"\n### {table.name}\n\n{table.info['doc']}\n", "| column | type | meaning |"]
    lines.append("|---|---|---|")
    lines += [_render_column(column) for column in table.columns]
    return "\n".join(lines) + "\n"


def _render_column(column: sa.Column[object]) -> str:
    targets = [f" → {key.target_fullname}" for key in column.foreign_keys]
    required = "" if column.nullable and not column.primary_key else ", required"
    key = ", key" if column.primary_key else ""
    return f"| {column.name} | {_type(column)}{key or required}{''.join(targets)} | {column.doc} |"


def _type(column: sa.Column[object]) -> str:
    names = (
        (UTCTime, "time"),
        (sa.Boolean, "boolean"),
        (sa.JSON, "JSON"),
        (sa.LargeBinary, "bytes"),
        (sa.Integer, "integer"),
        (sa.Float, "number"),
        (sa.Date, "day"),
    )
    return next((name for kind, name in names if isinstance(column.type, kind)), "text")


if __name__ == "__main__":
    print(render_schema_reference(), end="")  # noqa: T201 - `make docs` redirects it into docs/
