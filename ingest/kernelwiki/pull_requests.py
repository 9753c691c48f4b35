"""Harvested pull requests as KernelWiki pages: true dates, full sha, every path, and evidence."""

from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from ingest.kernelwiki.pages import join
from ingest.kernelwiki.vocabulary import FACETS
from ingest.kernelwiki.written import dump_yaml
from kwdb.models import (
    actors,
    commit_paths,
    corpora,
    pages,
    paths,
    pull_request_commits,
    pull_request_tags,
    pull_requests,
    repositories,
    tags,
)
from kwdb.store.rows import chunks

Row = dict[str, Any]
_BATCH: Final = 500
_STATUSES: Final = {"landed": "merged", "reverted": "reverted", "closed": "closed", "open": "open"}
_DATES: Final = ("created_at", "merged_at", "landed_at", "closed_at", "updated_at")


def pull_request_files(connection: sa.Connection) -> Iterator[tuple[str, str, bytes]]:
    """Yield a page for each pull request that the harvest serves, by repository and number."""
    p, r = pull_requests.c, repositories.c
    query = (
        sa.select(pull_requests, r.full_name, r.slug, actors.c.login)
        .join(repositories, r.id == p.repository_id)
        .join(pages, pages.c.id == p.page_id)
        .join(corpora, corpora.c.id == pages.c.served_from)
        .outerjoin(actors, actors.c.id == p.author_id)
        .where(corpora.c.kind == "harvest", ~pages.c.is_retired)
        .order_by(r.slug, p.number)
    )
    found = [dict(row) for row in connection.execute(query).mappings()]
    for part in chunks(found, _BATCH):
        keys = [row["id"] for row in part]
        touched, given = _paths(connection, keys), _tags(connection, keys)
        for row in part:
            path = f"sources/prs/{row['slug']}/PR-{row['number']}.md"
            yield "pull request", path, _page(row, given[row["id"]], touched[row["id"]])


def _page(row: Row, given: list[Row], touched: list[str]) -> bytes:
    head: Row = {
        "id": row["page_id"],
        "repo": row["full_name"],
        "pr": row["number"],
        "title": row["title"],
        "author": row["login"],
        "date": _day(row["created_at"] or row["landed_at"]),
        **{name: _time(row[name]) for name in _DATES},
        "url": f"https://github.com/{row['full_name']}/pull/{row['number']}",
        "source_category": "upstream-code",
    }
    for field, facet in FACETS.items():
        head[field] = [tag["name"] for tag in given if tag["facet"] == facet]
    head["tags"] = [tag["name"] for tag in given if tag["facet"] != "architecture"]
    head |= {
        "captured_at": _day(row["fetched_at"] or row["landed_at"]),
        "status": _STATUSES.get(row["landed_state"] or "", "open"),
        "merge_sha": row["merge_sha"],
        "inclusion_reason": row["decision_reason"],
        "inclusion_evidence": row["decision_evidence"],
        "changed_paths": touched,
        "changed_paths_total": len(touched),
        "evidence": [_evidence(tag) for tag in given],
    }
    kept = {name: value for name, value in head.items() if value is not None}
    body = f"\n## Summary\n\n{row['body'] or row['title'] or ''}\n"
    return join(None, dump_yaml(kept), body.encode("utf-8", "backslashreplace"))


def _day(value: Any) -> str | None:
    return value.date().isoformat() if value else None


def _time(value: Any) -> str | None:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if value else None


def _evidence(tag: Row) -> Row:
    found = {"tag": tag["name"], **{name: tag[name] for name in ("basis", "rule")}}
    if tag["implied_by"]:
        return found | {"implied_by": tag["implied_by"]}
    return found | {"text": tag["evidence"], "locator": tag["locator"]}


def _tags(connection: sa.Connection, keys: list[int]) -> dict[int, list[Row]]:
    t, implying = pull_request_tags.c, tags.alias("implying")
    names = (t.pull_request_id, tags.c.facet, tags.c.name, t.basis, t.rule, t.evidence, t.locator)
    query = (
        sa.select(*names, implying.c.name.label("implied_by"))
        .join(tags, tags.c.id == t.tag_id)
        .outerjoin(implying, implying.c.id == t.implied_by)
        .where(t.pull_request_id.in_(keys))
        .order_by(t.pull_request_id, tags.c.facet, tags.c.name)
    )
    found: dict[int, list[Row]] = {key: [] for key in keys}
    for row in connection.execute(query).mappings():
        found[row["pull_request_id"]].append(dict(row))
    return found


def _paths(connection: sa.Connection, keys: list[int]) -> dict[int, list[str]]:
    link, touched = pull_request_commits.c, commit_paths.c
    query = (
        sa.select(link.pull_request_id, paths.c.path)
        .distinct()
        .join(commit_paths, touched.commit_id == link.commit_id)
        .join(paths, paths.c.id == touched.path_id)
        .where(link.pull_request_id.in_(keys), link.role == "landed")
        .order_by(link.pull_request_id, paths.c.path)
    )
    found: dict[int, list[str]] = {key: [] for key in keys}
    for key, path in connection.execute(query):
        found[key].append(path)
    return found
