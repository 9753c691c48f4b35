"""How well git and the API agree on a repository: the quality report of a harvest."""

import sqlalchemy as sa

from kwdb.models import commits, pull_request_commits, pull_requests


def read_agreement(connection: sa.Connection, repository_id: int) -> dict[str, int | float | None]:
    """Return counts of one repository.

    pull_requests, unknown_to_api (the API was not asked, or does not list the number),
    merged_without_commit (GitHub merged it, no commit of the branch lands it),
    landed_but_not_merged (a commit lands it, GitHub calls it closed), commits,
    commits_without_pull_request, and linked_share of the commits; None where there are none.
    """
    p = pull_requests.c
    landed = _landed(pull_request_commits.c.pull_request_id == p.id)
    asked = p.fetched_at.is_not(None)
    of_it = p.repository_id == repository_id
    found: dict[str, int | float | None] = {
        "pull_requests": _count(connection, of_it),
        "unknown_to_api": _count(connection, of_it, ~asked),
        "merged_without_commit": _count(connection, of_it, p.merged_at.is_not(None), ~landed),
        "landed_but_not_merged": _count(connection, of_it, asked, p.merged_at.is_(None), landed),
    }
    c = commits.c
    linked = _landed(pull_request_commits.c.commit_id == c.id)
    query = sa.select(sa.func.count(), sa.func.count().filter(linked)).where(
        c.repository_id == repository_id, c.is_reachable
    )
    total, with_link = connection.execute(query).one()
    found |= {"commits": total, "commits_without_pull_request": total - with_link}
    return found | {"linked_share": round(with_link / total, 4) if total else None}


def _landed(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    links = pull_request_commits.c
    query = sa.select(links.commit_id).where(condition, links.role.in_(("landed", "relands")))
    return query.exists()


def _count(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(pull_requests).where(*conditions)
    return int(connection.execute(query).scalar_one())
