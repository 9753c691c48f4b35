"""What git alone says of a pull request: its text and whether it stands on the branch; pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.gitlog import split_message
from ingest.linker import LANDED, RELANDS, REVERTS, title_of

_STATES = {LANDED: "landed", RELANDS: "landed", REVERTS: "reverted"}


def describe(subject: str, message: str) -> tuple[str, str]:
    """Return title and body as a landing commit has them.

    A squash has the title in its subject and the body below; the merge commits that GitHub writes
    have the title in their second paragraph. The title may be empty where the message is.
    """
    body = split_message(message)[1]
    if subject.startswith("Merge pull request #") and body:
        title, _, rest = body.partition("\n")
        return title.strip(), rest.lstrip("\n")
    return title_of(subject), body


def settle(key: int, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of pull request `key` after its `events`, oldest first.

    The last event decides the state; text, author and date come from the last landing. Without
    any event nothing is known: the branch may have been rewritten, or the landing lies before it.
    """
    states = [_STATES[event["role"]] for event in events if event["role"] in _STATES]
    landings = [event for event in events if event["role"] == LANDED]
    last: Mapping[str, Any] = landings[-1] if landings else {}
    title, body = describe(last["subject"], last["message"]) if last else (None, None)
    return {
        "id": key,
        "landed_state": states[-1] if states else None,
        "landed_at": last.get("committed_at"),
        "merge_sha": last.get("sha"),
        "author_id": last.get("author_id"),
        "title": title,
        "body": body,
    }
