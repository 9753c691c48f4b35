"""Questions about performance claims: lists, leaders, and why one claim says what it says."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kwdb import queries
from kwdb.db import row_dicts
from kwdb.errors import NotFoundError, UnknownValueError
from kwdb.models import (
    claim_dimensions,
    claim_fields,
    claim_relations,
    gpus,
    metrics,
    pages,
    performance_claims,
    pull_requests,
    repositories,
    tags,
)
from kwdb.models.values import claim_origins, claim_statuses
from kwdb.queries import find_gpu, find_repository, list_repositories
from kwdb.text import fold

Found = dict[str, Any]

_c, _p, _r = performance_claims.c, pull_requests.c, repositories.c
_source = pages.alias("source_pages")
_own = pages.alias("own_pages")


@dataclass(frozen=True, slots=True)
class ClaimFilters:
    """What a person asks of the claims listed; None asks nothing."""

    gpu: str | None = None
    op: str | None = None
    dtype: str | None = None
    metric: str | None = None
    status: str | None = None
    origin: str | None = None
    repo: str | None = None
    page: str | None = None


_BY_TRUST: Final = (
    "reproduced supported unreviewed disputed contradicted withdrawn invalidated".split()
)
_ID: Final = re.compile(r"(?:claim:)?(\d{1,18})")
_LISTED: Final = (
    "id origin status status_reason status_by op variant dtype shape gpu_count metric value_text "
    "value value_max unit_as_written value_normalized qualifier statistic direction role "
    "baseline_value baseline_label ratio_of cache_state timing_scope comparable_key claimed_on "
    "evidence evidence_line"
).split()


def list_claims(
    connection: sa.Connection, filters: ClaimFilters, *, limit: int | None = None
) -> tuple[int, list[Found]]:
    """Return how many claims match, and up to `limit` of them, newest first.

    Raises:
        UnknownValueError: a filter has a value that nothing here has; names the nearest.
    """
    conditions = _conditions(connection, filters)
    total = connection.execute(
        sa.select(sa.func.count()).select_from(_joined()).where(*conditions)
    ).scalar_one()
    query = (
        sa.select(*_columns())
        .select_from(_joined())
        .where(*conditions)
        .order_by(_c.claimed_on.is_(None), _c.claimed_on.desc(), _c.id)
        .limit(limit)
    )
    return int(total), row_dicts(connection.execute(query))


def best_claims(
    connection: sa.Connection, filters: ClaimFilters, *, limit: int | None = None
) -> tuple[int, list[Found]]:
    """Return the leaders, one per set of comparable figures; the widest comparisons first.

    Raises:
        UnknownValueError: as list_claims.
    """
    board = sa.table("leaderboard", *(sa.column(name) for name in ("claim_id", "claims_compared")))
    # The view ranks every claim, so it is read once: for the count and for the leaders shown.
    leaders = (
        sa.select(_c.id, board.c.claims_compared)
        .select_from(_joined().join(board, board.c.claim_id == _c.id))
        .where(*_conditions(connection, filters))
        .order_by(board.c.claims_compared.desc(), _c.id)
    )
    ranked = [(key, compared) for key, compared in connection.execute(leaders)]
    shown = dict(ranked[:limit])
    query = sa.select(*_columns()).select_from(_joined()).where(_c.id.in_(shown))
    found = {row["id"]: row for row in row_dicts(connection.execute(query))}
    return len(ranked), [found[key] | {"claims_compared": shown[key]} for key in shown]


def _columns() -> list[sa.ColumnElement[Any]]:
    return [
        *(_c[name] for name in _LISTED),
        gpus.c.name.label("gpu"),
        tags.c.name.label("architecture"),
        metrics.c.unit.label("unit"),
        _r.slug.label("repo"),
        _p.number,
        sa.func.coalesce(_c.page_id, _p.page_id).label("page"),
        _url().label("source_url"),
    ]


def _url() -> sa.ColumnElement[Any]:
    pull = sa.literal("https://github.com/") + _r.full_name + "/pull/" + sa.cast(_p.number, sa.Text)
    return sa.func.coalesce(pull, _source.c.url, _own.c.url)


def _joined() -> sa.Join:
    return (
        sa.join(performance_claims, metrics, metrics.c.name == _c.metric)
        .outerjoin(gpus, gpus.c.id == _c.gpu_id)
        .outerjoin(tags, tags.c.id == _c.architecture_tag_id)
        .outerjoin(pull_requests, _p.id == _c.pull_request_id)
        .outerjoin(repositories, _r.id == _p.repository_id)
        .outerjoin(_source, _source.c.id == _c.source_page_id)
        .outerjoin(_own, _own.c.id == _c.page_id)
    )


def _conditions(connection: sa.Connection, filters: ClaimFilters) -> list[sa.ColumnElement[bool]]:
    wanted: list[sa.ColumnElement[bool]] = [_c.retired_at.is_(None)]
    if filters.gpu is not None:
        wanted.append(_c.gpu_id == _gpu(connection, filters.gpu))
    if filters.repo is not None:
        wanted.append(_p.repository_id == _repository(connection, filters.repo))
    if filters.page is not None:
        wanted.append(_of_page(connection, filters.page))
    closed = (("metric", metrics), ("status", claim_statuses), ("origin", claim_origins))
    for name, values in closed:
        value = getattr(filters, name)
        if value is not None:
            known = connection.execute(sa.select(values.c.name)).scalars()
            wanted.append(_c[name] == _known(name, value, list(known)))
    for name in ("op", "dtype"):
        value = getattr(filters, name)
        if value is not None:
            wanted.append(_c[name].in_(_spellings(connection, name, value)))
    return wanted


def _gpu(connection: sa.Connection, name: str) -> int:
    found = find_gpu(connection, name)
    if found is None:
        known = connection.execute(sa.select(gpus.c.name)).scalars()
        raise UnknownValueError("GPU", name, known)
    return int(found["id"])


def _repository(connection: sa.Connection, name: str) -> int:
    found = find_repository(connection, name)
    if found is None:
        known = [row["slug"] for row in list_repositories(connection)]
        raise UnknownValueError("repository", name, known)
    return int(found["id"])


def _of_page(connection: sa.Connection, name: str) -> sa.ColumnElement[bool]:
    """Claims on a page, by a page, and by the pull request that it stands for."""
    if connection.execute(sa.select(pages.c.pk).where(pages.c.id == name)).first() is None:
        raise NotFoundError(f'no page {name!r}; "kwdb search" finds ids')
    own = sa.select(_p.id).where(_p.page_id == name)
    return sa.or_(_c.page_id == name, _c.source_page_id == name, _c.pull_request_id.in_(own))


def _known(name: str, value: str, known: list[str]) -> str:
    for one in known:
        if fold(one) == fold(value):
            return one
    raise UnknownValueError(name, value, known)


def _spellings(connection: sa.Connection, name: str, value: str) -> list[str]:
    """Every stored spelling of an op or dtype that folds to the same words."""
    column = _c[name]
    query = sa.select(column).distinct().where(column.is_not(None), _c.retired_at.is_(None))
    stored = list(connection.execute(query).scalars())
    same = [one for one in stored if fold(one) == fold(value)]
    if not same:
        raise UnknownValueError(name, value, stored)
    return same


def figures_of_pages(
    connection: sa.Connection, owners: Collection[str], *, each: int
) -> list[Found]:
    """Return up to `each` figures that a page bears, or that it or its pull request makes.

    The most trusted come first, then those that can be compared; counts and computed roofs are
    left out. `owner` is the page; a claim comes once for each of its owners.
    """
    owned = _owned(list(owners)).subquery()
    place = sa.func.row_number().over(
        partition_by=owned.c.owner,
        order_by=(_trust(), _c.comparable_key.is_(None), _c.id),
    )
    ranked = (
        sa.select(owned.c.owner, _c.id, place.label("place"))
        .select_from(sa.join(owned, performance_claims, _c.id == owned.c.id))
        .where(_c.value_normalized.is_not(None), _c.metric != "count")
        .where(sa.func.coalesce(_c.statistic, "") != "model")
        .where(sa.func.coalesce(_c.op, "").not_like("%speed_of_light"))
        .subquery()
    )
    query = (
        sa.select(ranked.c.owner, *_columns())
        .select_from(_joined().join(ranked, ranked.c.id == _c.id))
        .where(ranked.c.place <= each)
        .order_by(ranked.c.owner, ranked.c.place)
    )
    return row_dicts(connection.execute(query))


def _owned(owners: list[str]) -> sa.CompoundSelect[Any]:
    """Pairs of page and claim, without looking through all claims."""
    joined = sa.join(performance_claims, pull_requests, _p.id == _c.pull_request_id)
    places = (
        (_c.page_id, performance_claims),
        (_c.source_page_id, performance_claims),
        (_p.page_id, joined),
    )
    return sa.union(
        *(
            sa.select(owner.label("owner"), _c.id)
            .select_from(place)
            .where(owner.in_(owners), _c.retired_at.is_(None))
            for owner, place in places
        )
    )


def _trust() -> sa.ColumnElement[int]:
    return sa.case({status: place for place, status in enumerate(_BY_TRUST)}, value=_c.status)


def claim_number(name: str) -> int | None:
    """Return N of `N` or `claim:N`; None for anything else."""
    match = _ID.fullmatch(name)
    return int(match[1]) if match else None


def explain(connection: sa.Connection, name: str) -> Found:
    """Return why kwdb says what it says of a page, a pull request or `claim:N`.

    Raises:
        NotFoundError: there is nothing of this name.
    """
    number = claim_number(name)
    return (
        queries.explain(connection, name) if number is None else explain_claim(connection, number)
    )


def explain_claim(connection: sa.Connection, claim_id: int) -> Found:
    """Return a claim with its fields' bases, dimensions, relations and source; retired ones too.

    Raises:
        NotFoundError: there is no claim of this id.
    """
    columns = [*_columns(), _c.retired_at, _c.extractor, _c.claim_key]
    query = sa.select(*columns).select_from(_joined()).where(_c.id == claim_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f'no claim {claim_id}; "kwdb claims" lists ids')
    return {
        **row,
        "dimensions": _parts(connection, claim_dimensions, claim_id),
        "fields": _parts(connection, claim_fields, claim_id),
        "relations": _relations(connection, claim_id),
    }


def _parts(connection: sa.Connection, table: sa.Table, claim_id: int) -> list[Found]:
    columns = [column for column in table.c if column.name != "claim_id"]
    query = sa.select(*columns).where(table.c.claim_id == claim_id).order_by(columns[0])
    return row_dicts(connection.execute(query))


def _relations(connection: sa.Connection, claim_id: int) -> list[Found]:
    """Relations in both directions: `claim_id` is the one that speaks."""
    r = claim_relations.c
    query = (
        sa.select(claim_relations)
        .where(sa.or_(r.claim_id == claim_id, r.other_claim_id == claim_id))
        .where(r.retired_at.is_(None))
        .order_by(r.id)
    )
    return row_dicts(connection.execute(query))
