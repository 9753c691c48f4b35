"""What GraphQL alone says of pull requests, asked for up to 25 of them in one query.

`files` is asked for only because of what its absence means: of very large pull requests GitHub
gives null there, without an error, and then its number of changed files is 0 and wrong.
Source: GitHub's public schema, @octokit/graphql-schema 15.26.1; sizes: spiceai/spiceai#13762,
where 100 a query failed and 25 did not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.github.client import GitHub
from ingest.github.errors import PassingError, PayloadError
from kwdb.records import ExtrasRecord
from kwdb.text import storable

LARGEST_QUERY = 25

_FRAGMENT = """
fragment Extras on PullRequest {
  number
  reviewDecision
  changedFiles
  files(first: 1) { totalCount }
  mergedBy { __typename login }
  timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) {
    nodes { ... on ClosedEvent { closer { __typename ... on Commit { oid } } } }
  }
}
"""


def build_query(count: int) -> str:
    """Return the query for `count` pull requests: variables $owner, $name, $n0, $n1, …."""
    declared = "".join(f", $n{i}: Int!" for i in range(count))
    asked = "".join(f"    p{i}: pullRequest(number: $n{i}) {{ ...Extras }}\n" for i in range(count))
    head = f"query Extras($owner: String!, $name: String!{declared}) {{\n"
    return f"{head}  repository(owner: $owner, name: $name) {{\n{asked}  }}\n}}\n{_FRAGMENT}"


def fetch_extras(client: GitHub, full_name: str, numbers: Sequence[int]) -> list[ExtrasRecord]:
    """Ask for pull requests `numbers`, in one query.

    Raises:
        PassingError: the query failed, or anything of it came back as null: ask for fewer.
        PayloadError: the repository itself is not there for GraphQL.
    """
    owner, _, name = full_name.partition("/")
    variables = {"owner": owner, "name": name, **{f"n{i}": n for i, n in enumerate(numbers)}}
    # One attempt while fewer may be asked for: a smaller query helps more than a later one.
    attempts = 1 if len(numbers) > 1 else None
    data = client.graphql(build_query(len(numbers)), variables, attempts=attempts)
    repository = data.get("repository")
    if repository is None:
        raise PayloadError(f"GraphQL knows no repository {full_name}, or not with this token")
    try:
        return [_record(repository[f"p{i}"], number) for i, number in enumerate(numbers)]
    except (KeyError, TypeError, AttributeError) as exc:
        raise PassingError(f"GraphQL's answer cannot be read: {type(exc).__name__} {exc}") from exc


def _record(node: Mapping[str, Any] | None, number: int) -> ExtrasRecord:
    if node is None or node.get("number") != number:
        raise PassingError(f"GraphQL answered null for pull request {number}")
    files = node["files"]
    return ExtrasRecord(
        number=number,
        review_decision=node["reviewDecision"],
        merged_by=_login(node["mergedBy"]),
        changed_files=None if files is None else node["changedFiles"],
        closed_by_sha=_closer(node["timelineItems"]["nodes"]),
    )


def _login(actor: Mapping[str, Any] | None) -> str | None:
    """GraphQL leaves out what REST ends the logins of bots with."""
    if actor is None:
        return None
    return storable(actor["login"]) + ("[bot]" if actor["__typename"] == "Bot" else "")


def _closer(nodes: Sequence[Mapping[str, Any] | None] | None) -> str | None:
    last = nodes[-1] if nodes else None
    closer = (last or {}).get("closer") or {}
    return closer.get("oid")
