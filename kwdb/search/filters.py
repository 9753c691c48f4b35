"""Filters of a search: what may be asked for, checked against what is known, as SQL conditions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from kwdb.errors import UnknownValueError
from kwdb.models import (
    aliases,
    corpora,
    metadata,
    page_tags,
    page_types,
    pages,
    performance_claims,
    pull_requests,
    repositories,
    tags,
)
from kwdb.text import fold

FAMILY = "family"

Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search may be narrowed by; every filter that is given must hold."""

    type: str | None = None
    tags: tuple[str, ...] = ()
    repo: str | None = None
    architecture: str | None = None
    exact: bool = False
    language: str | None = None
    symptom: str | None = None
    confidence: str | None = None
    since: date | None = None
    has_claims: bool = False


def build_conditions(connection: sa.Connection, filters: Filters) -> list[Condition]:
    """Return the conditions on `pages` that `filters` ask for.

    Raises:
        UnknownValueError: a value that is not known; it names the nearest known ones.
    """
    conditions: list[Condition] = [~pages.c.is_retired]
    if filters.type:
        conditions.append(pages.c.type.in_(_page_types(connection, filters.type)))
    for value, facet, key in _tag_filters(filters):
        found = find_tags(connection, value, facet, key)
        conditions.append(_tagged(found, exact=filters.exact and facet == "architecture"))
    if filters.repo:
        conditions.append(_of_repository(connection, filters.repo))
    if filters.confidence:
        conditions.append(_of_confidence(connection, filters.confidence))
    if filters.since:
        conditions.append(pages.c.published_on >= filters.since)
    if filters.has_claims:
        conditions.append(_with_claims())
    return conditions


def family_only(connection: sa.Connection, filters: Filters) -> Condition | None:
    """Return the condition for what `exact` leaves out: pages known by family name alone."""
    if not (filters.exact and filters.architecture):
        return None
    found = find_tags(connection, filters.architecture, "architecture", "architecture")
    return sa.and_(_tagged(found, exact=False), ~_tagged(found, exact=True))


def without_architecture() -> Condition:
    """Return the condition for pages of which no architecture is known."""
    return ~sa.exists().where(
        page_tags.c.page_id == pages.c.id,
        page_tags.c.tag_id == tags.c.id,
        tags.c.facet == "architecture",
    )


def _tag_filters(filters: Filters) -> list[tuple[str, str | None, str]]:
    named = [
        (filters.architecture, "architecture", "architecture"),
        (filters.language, "language", "language"),
        (filters.symptom, "symptom", "symptom"),
    ]
    plain: list[tuple[str | None, str | None, str]] = [(tag, None, "tag") for tag in filters.tags]
    return [(value, facet, key) for value, facet, key in (*plain, *named) if value]


def find_tags(connection: sa.Connection, value: str, facet: str | None, key: str) -> list[int]:
    """Return the keys of the tags that `value` names: `facet:name`, a name or an alias.

    Raises:
        UnknownValueError: no tag of that name in the facet.
    """
    prefix, separator, rest = value.partition(":")
    if separator and prefix in _facets(connection):
        facet, value = prefix, rest
    known = _tags_by_word(connection, facet)
    if not (found := known.get(fold(value))):
        raise UnknownValueError(key, value, _tag_names(connection, facet))
    return sorted(found)


def _facets(connection: sa.Connection) -> set[str]:
    return set(connection.execute(sa.select(tags.c.facet).distinct()).scalars())


def _tag_names(connection: sa.Connection, facet: str | None) -> list[str]:
    query = sa.select(tags.c.name).where(tags.c.facet == facet if facet else sa.true())
    return list(connection.execute(query).scalars())


def _tags_by_word(connection: sa.Connection, facet: str | None) -> dict[str, set[int]]:
    wanted = tags.c.facet == facet if facet else sa.true()
    words: dict[str, set[int]] = {}
    for name, key in connection.execute(sa.select(tags.c.name, tags.c.id).where(wanted)):
        words.setdefault(fold(name), set()).add(key)
    named = sa.select(aliases.c.alias, tags.c.id).join(tags).where(wanted)
    for alias, key in connection.execute(named):
        words.setdefault(alias, set()).add(key)
    return words


def _page_types(connection: sa.Connection, value: str) -> list[str]:
    known = list(connection.execute(sa.select(page_types.c.name)).scalars())
    found = [name for name in known if value in (name, name.split("-", 1)[-1])]
    if not found:
        raise UnknownValueError("type", value, known)
    return found


def _tagged(found: Sequence[int], *, exact: bool) -> Condition:
    bases = sa.or_(page_tags.c.basis.is_(None), page_tags.c.basis != FAMILY)
    return sa.exists().where(
        page_tags.c.page_id == pages.c.id,
        page_tags.c.tag_id.in_(found),
        *([bases] if exact else []),
    )


def _of_repository(connection: sa.Connection, value: str) -> Condition:
    r = repositories.c
    found = connection.execute(
        sa.select(r.id).where(sa.or_(r.slug == value, sa.func.lower(r.full_name) == value.lower()))
    ).scalars()
    keys = list(found)
    if not keys:
        raise UnknownValueError("repo", value, connection.execute(sa.select(r.slug)).scalars())
    harvested = sa.exists().where(
        pull_requests.c.page_id == pages.c.id, pull_requests.c.repository_id.in_(keys)
    )
    return sa.or_(harvested, _imported_from(connection, keys))


def _imported_from(connection: sa.Connection, repository_ids: Sequence[int]) -> Condition:
    """Pages of imported corpora have no pull request beside them, but its address."""
    r, p = repositories.c, pages.c
    names = connection.execute(sa.select(r.full_name).where(r.id.in_(repository_ids))).scalars()
    imports = sa.select(corpora.c.id).where(corpora.c.kind == "import")
    addresses = (f"https://github.com/{name.lower()}/pull/" for name in names)
    of_one = (sa.func.lower(p.url).startswith(one, autoescape=True) for one in addresses)
    return sa.and_(p.served_from.in_(imports), sa.or_(*of_one))


def _of_confidence(connection: sa.Connection, value: str) -> Condition:
    levels = metadata.tables["confidence_levels"].c.name
    known: Collection[str] = set(connection.execute(sa.select(levels)).scalars())
    if value not in known:
        raise UnknownValueError("confidence", value, known)
    return pages.c.confidence == value


def _with_claims() -> Condition:
    c, p = performance_claims.c, pull_requests.c
    of_pull_request = sa.select(p.id).where(p.page_id == pages.c.id)
    return sa.exists().where(
        sa.or_(c.page_id == pages.c.id, c.pull_request_id.in_(of_pull_request)),
        c.retired_at.is_(None),
    )
