"""The GraphQL side: queries are validated and executed on GitHub's published schema."""

import json
import lzma
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from graphql import GraphQLSchema, build_schema, graphql_sync

from emulator.faults import Reply
from emulator.world import Person, Pull, World, stamp

_SCHEMA = Path(__file__).parent / "schema" / "schema.graphql.xz"


@cache
def github_schema() -> GraphQLSchema:
    return build_schema(lzma.decompress(_SCHEMA.read_bytes()).decode(), assume_valid=True)


def answer_graphql(world: World, request: Mapping[str, Any]) -> Reply:
    """Answer a query; one that the schema does not allow gives errors, as GitHub does."""
    root = {"repository": lambda _info, **named: _repository(world, **named)}
    done = graphql_sync(
        github_schema(), request["query"], root, variable_values=request.get("variables")
    )
    document: dict[str, Any] = {"data": done.data}
    if done.errors:
        document["errors"] = [error.formatted for error in done.errors]
    return Reply(200, json.dumps(document).encode())


def count_of(request: Mapping[str, Any]) -> int:
    """Return for how many pull requests a query asks."""
    return sum(name.startswith("n") and name[1:].isdigit() for name in request["variables"])


def _repository(
    world: World,
    owner: str,
    name: str,
    followRenames: bool = True,  # noqa: N803 - GitHub's name
) -> dict[str, Any] | None:
    found, is_former = world.find(f"{owner}/{name}")
    if found is None or (is_former and not followRenames):
        return None
    pulls = found.pulls
    return {
        "nameWithOwner": found.full_name,
        "pullRequest": lambda _info, number: _pull(pulls[number]) if number in pulls else None,
    }


def _pull(pull: Pull) -> dict[str, Any]:
    return {
        "number": pull.number,
        "title": pull.title,
        "updatedAt": stamp(pull.updated),
        "reviewDecision": pull.review,
        "changedFiles": 0 if pull.files_are_hidden else pull.changed_files,
        "files": None if pull.files_are_hidden else lambda _i, **_: {"totalCount": 1},
        "mergedBy": _actor(pull.merged_by),
        "timelineItems": lambda _info, **_: {"nodes": _closings(pull)},
    }


def _actor(person: Person | None) -> dict[str, Any] | None:
    if person is None:
        return None
    return {"__typename": person.type, "login": person.login.removesuffix("[bot]")}


def _closings(pull: Pull) -> list[dict[str, Any]]:
    if pull.closed is None and pull.closer_sha is None:
        return []
    closer = {"__typename": "Commit", "oid": pull.closer_sha} if pull.closer_sha else None
    return [{"__typename": "ClosedEvent", "closer": closer}]
