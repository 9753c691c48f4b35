"""Pages of `GET /repos/OWNER/NAME/pulls` as records; parsing only.

Ten requests for 1,000 pull requests: a page of the list holds everything that is stored.
Source of the shape: @octokit/openapi 23.0.2, schema `pull-request-simple`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ingest.github.errors import PayloadError
from kwdb.records import PersonRecord, PullRequestRecord
from kwdb.text import storable

BY_UPDATE = "/repos/{}/pulls?state=all&sort=updated&direction=desc&per_page=100"
BY_CREATION = "/repos/{}/pulls?state=all&sort=created&direction=asc&per_page=100"
ONE = "/repos/{}/pulls/{}"

_GHOST = 10137  # the account that GitHub shows where an author was deleted
_KINDS = {"Bot": "bot", "Organization": "organization"}
_LARGEST = 2**31 - 1

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """The records of a page, and number -> complaint of items that cannot be used."""

    records: list[PullRequestRecord]
    unusable: dict[int, str] = field(default_factory=dict)
    repository: tuple[int, str] | None = None
    """Numeric id and full name of the repository that the items belong to, where they say."""


def parse_page(items: Sequence[Item]) -> Page:
    """Read the items of a page.

    Raises:
        PayloadError: an item has not even a number, so that nobody could ask for it again.
    """
    page = Page([], {}, _repository_of(items))
    for item in items:
        try:
            page.records.append(parse_pull_request(item))
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            complaint = f"GitHub's item cannot be read: {type(exc).__name__} {exc}"
            page.unusable[_number(item)] = storable(complaint)[:200]
    return page


def parse_pull_request(item: Item) -> PullRequestRecord:
    """Read one item.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not of the promised shape.
    """
    merged_at = _time(item["merged_at"])
    return PullRequestRecord(
        number=_number(item),
        title=storable(item["title"]),
        body=None if item["body"] is None else storable(item["body"]),
        author=_person(item["user"]),
        state=_one_of(item["state"], ("open", "closed")),
        is_draft=item.get("draft"),
        base_ref=_optional(item["base"]["ref"]),
        head_sha=_optional(item["head"]["sha"]),
        merge_sha=_optional(item["merge_commit_sha"]) if merged_at else None,
        created_at=_required(_time(item["created_at"])),
        updated_at=_required(_time(item["updated_at"])),
        closed_at=_time(item["closed_at"]),
        merged_at=merged_at,
        labels=tuple(sorted({storable(label["name"]) for label in item["labels"]})),
    )


def _number(item: Item) -> int:
    number = item.get("number")
    if not isinstance(number, int) or not 0 < number <= _LARGEST:
        raise PayloadError(f"GitHub lists a pull request with number {number!r}")
    return number


def _repository_of(items: Sequence[Item]) -> tuple[int, str] | None:
    for item in items:
        base = item.get("base")
        found = base.get("repo") if isinstance(base, dict) else None
        if isinstance(found, dict) and isinstance(found.get("id"), int):
            return found["id"], str(found.get("full_name"))
    return None


def _person(user: Item | None) -> PersonRecord | None:
    if user is None or user["id"] == _GHOST:
        return None
    return PersonRecord(
        storable(user["login"]), user["id"], _KINDS.get(str(user.get("type")), "user")
    )


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    return datetime.fromisoformat(text).astimezone(UTC).replace(microsecond=0)


def _required(value: datetime | None) -> datetime:
    if value is None:
        raise ValueError("a time is missing")
    return value


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _one_of(value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"state {value!r}")
    return value
