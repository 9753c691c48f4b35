"""What a pattern page leads to, and who has shown it: techniques, pull requests, kernels, claims.

Links and tags count from every corpus that has the page; those of the corpus that serves it come
first.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from kwdb.claim_queries import figures_of_pages
from kwdb.db import row_dicts
from kwdb.diagnosis.symptoms import PATTERN, Pointed, words_of
from kwdb.models import page_links, page_tags, page_versions, pages, pull_requests, tags
from kwdb.text import first_section

Found = dict[str, Any]

_MOST_TECHNIQUES: Final = 8
_MOST_KERNELS: Final = 5
_MOST_PULL_REQUESTS: Final = 3
_MOST_CLAIMS: Final = 3
_MOST_KNOWN: Final = 30
_CONFIRM_SIGNS: Final = 1_500
_SHOWN: Final = (
    "id status status_reason metric value_text value unit op variant dtype shape gpu "
    "baseline_value page source_url"
).split()


def list_patterns(connection: sa.Connection) -> list[Found]:
    """Return id, title and summary of every pattern, by id; at most 30."""
    p = pages.c
    query = sa.select(p.id, p.title, p.summary).where(p.type == PATTERN, ~p.is_retired)
    return row_dicts(connection.execute(query.order_by(p.id).limit(_MOST_KNOWN)))


def describe(connection: sa.Connection, pointed: Sequence[Pointed]) -> list[Found]:
    """Return each page pointed at with confirmation, techniques, kernels and their claims."""
    found = [_describe(connection, one) for one in pointed]
    techniques = [technique for one in found for technique in one["techniques"]]
    showing = _pull_requests(connection, sorted({one["id"] for one in techniques}))
    for technique in techniques:
        technique["pull_requests"] = showing.get(technique["id"], [])
    pulls = [pull for one in techniques for pull in one["pull_requests"]]
    owners = [*pulls, *(kernel for one in found for kernel in one["kernels"])]
    figures = _figures(connection, {one["id"] for one in owners})
    for owner in owners:
        owner["claims"] = figures.get(owner["id"], [])
    return found


def _describe(connection: sa.Connection, pointed: Pointed) -> Found:
    page = _page(connection, pointed.page)
    techniques = _linked(connection, pointed.page, "candidate_techniques") or [dict(page)]
    techniques = techniques[:_MOST_TECHNIQUES]
    return page | {
        "score": pointed.score,
        "matched": pointed.matched,
        "confirm": _confirm(connection, pointed.page),
        "techniques": techniques,
        "kernels": _kernels(connection, pointed.page, [one["id"] for one in techniques]),
    }


def _page(connection: sa.Connection, id_: str) -> Found:
    query = sa.select(pages.c.id, pages.c.title, pages.c.summary).where(pages.c.id == id_)
    return row_dicts(connection.execute(query))[0]


def _confirm(connection: sa.Connection, id_: str) -> str:
    """The first section of a page, which on patterns says how to recognise them."""
    v = page_versions.c
    query = (
        sa.select(v.body)
        .join(pages, (pages.c.id == v.page_id) & (pages.c.served_from == v.corpus_id))
        .where(v.page_id == id_)
    )
    body = connection.execute(query).scalar()
    return first_section((body or b"").decode("utf-8", "replace"), _CONFIRM_SIGNS)


def _linked(connection: sa.Connection, page: str, kind: str) -> list[Found]:
    """The pages that a page names under `kind`, in its order."""
    link, owner = page_links.c, pages.alias("owner")
    query = (
        sa.select(pages.c.id, pages.c.title, pages.c.summary)
        .join(page_links, link.target == pages.c.id)
        .join(owner, owner.c.id == link.page_id)
        .where(link.page_id == page, link.kind == kind, ~pages.c.is_retired)
        .order_by(owner.c.served_from != link.corpus_id, link.corpus_id, link.position)
    )
    found: dict[str, Found] = {}
    for row in row_dicts(connection.execute(query)):
        found.setdefault(row["id"], row)
    return list(found.values())


def _pull_requests(
    connection: sa.Connection, techniques: Sequence[str]
) -> Mapping[str, list[Found]]:
    """Return technique -> pull requests: those that its page cites, then newest of its tag.

    `basis` says why: `cited`, or that of the tag with the text it rests on as `evidence`.
    """
    found: dict[str, dict[str, Found]] = defaultdict(dict)
    for row in (*_cited(connection, techniques), *_tagged(connection, techniques)):
        technique = row.pop("technique")
        if len(found[technique]) < _MOST_PULL_REQUESTS:
            found[technique].setdefault(row["id"], row)
    return {technique: list(rows.values()) for technique, rows in found.items()}


def _pull_request_columns() -> list[sa.ColumnElement[Any]]:
    p = pages.c
    return [p.id, p.title, p.url, p.published_on, pull_requests.c.landed_state]


def _cited(connection: sa.Connection, techniques: Sequence[str]) -> list[Found]:
    link = page_links.c
    query = (
        sa.select(link.page_id.label("technique"), *_pull_request_columns())
        .add_columns(sa.literal("cited").label("basis"), sa.null().label("evidence"))
        .join(pages, pages.c.id == link.target)
        .outerjoin(pull_requests, pull_requests.c.page_id == pages.c.id)
        .where(link.page_id.in_(techniques), link.kind == "sources", ~pages.c.is_retired)
        .where(pages.c.type == "source-pr")
        .order_by(link.corpus_id, link.page_id, link.position)
    )
    return row_dicts(connection.execute(query))


def _tagged(connection: sa.Connection, techniques: Sequence[str]) -> list[Found]:
    owners = _own_tags(connection, techniques)
    t = page_tags.c
    newest = sa.func.row_number().over(
        partition_by=t.tag_id, order_by=(pages.c.published_on.desc(), pages.c.pk.desc())
    )
    ranked = (
        sa.select(t.tag_id, *_pull_request_columns(), t.basis, t.evidence, newest.label("place"))
        .join(pages, pages.c.id == t.page_id)
        .join(pull_requests, pull_requests.c.page_id == pages.c.id)
        .where(t.tag_id.in_(owners), t.basis == "exact", ~pages.c.is_retired)
        .where(pull_requests.c.landed_state == "landed", pages.c.published_on.is_not(None))
        .subquery()
    )
    query = sa.select(ranked).where(ranked.c.place <= _MOST_PULL_REQUESTS)
    rows = row_dicts(connection.execute(query.order_by(ranked.c.tag_id, ranked.c.place)))
    return [
        {name: value for name, value in row.items() if name not in ("tag_id", "place")}
        | {"technique": owners[row["tag_id"]]}
        for row in rows
    ]


def _own_tags(connection: sa.Connection, techniques: Sequence[str]) -> dict[int, str]:
    """Return tag -> page for pages that a tag is named like: technique-swizzling, swizzling."""
    t = page_tags.c
    query = (
        sa.select(t.page_id, tags.c.id, tags.c.name)
        .distinct()
        .join(tags, tags.c.id == t.tag_id)
        .where(t.page_id.in_(techniques))
    )
    return {
        key: page
        for page, key, name in connection.execute(query)
        if words_of(page.partition("-")[2]) == words_of(name)
    }


def _kernels(connection: sa.Connection, pattern: str, techniques: Sequence[str]) -> list[Found]:
    """Kernels that the pattern names, in its order, then those that share most links with it."""
    link = page_links.c
    wanted = (pattern, *techniques)
    query = (
        sa.select(link.page_id, link.target)
        .distinct()
        .where(
            link.kind.in_(("related", "prerequisites")),
            link.target.in_(wanted),
        )
    )
    shared = Counter(page for page, _ in connection.execute(query))
    named = [row["id"] for row in _linked(connection, pattern, "related")]
    place = {id_: place for place, id_ in enumerate(named)}
    is_kernel = sa.and_(pages.c.type == "wiki-kernel", ~pages.c.is_retired)
    kernels = sa.select(pages.c.id, pages.c.title).where(
        pages.c.id.in_([*shared, *place]), is_kernel
    )
    rows = row_dicts(connection.execute(kernels))
    rows.sort(key=lambda row: (place.get(row["id"], len(place)), -shared[row["id"]], row["id"]))
    return rows[:_MOST_KERNELS]


def _figures(connection: sa.Connection, owners: Collection[str]) -> Mapping[str, list[Found]]:
    found: dict[str, list[Found]] = defaultdict(list)
    for row in figures_of_pages(connection, owners, each=_MOST_CLAIMS):
        stated = {name: row[name] for name in _SHOWN if row[name] is not None}
        found[row["owner"]].append(stated)
    return found
