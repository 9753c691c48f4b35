"""What became of a pull request: by the commits that name it, else by GitHub's word; pure.

LANDING is raised when these rules change; all pull requests are settled again then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.gitlog import split_message
from ingest.linker import LANDED, RELANDS, REVERTS, title_of

LANDING = "2"
LANDING_FIELDS = ("landed_state", "landed_reason", "landed_at", "merge_sha")

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


@dataclass(frozen=True, slots=True)
class Word:
    """What GitHub's API says of a pull request; empty where it was not asked.

    `is_on_branch` is whether `merge_sha` is a commit of the default branch: None when no commit
    of that id is stored, False when a force-push has taken it away.
    """

    state: str | None = None
    merged_at: datetime | None = None
    merge_sha: str | None = None
    base_ref: str | None = None
    default_branch: str | None = None
    is_on_branch: bool | None = None


def settle(
    key: int, events: Sequence[Mapping[str, Any]], word: Word | None = None
) -> dict[str, Any]:
    """Return the row of pull request `key` after its `events`, oldest first, and GitHub's `word`.

    The last commit that lands, reverts or relands it decides; GitHub's word counts where there is
    none. Text, author and date come from the last landing. Without events and word nothing is
    known: the branch may have been rewritten, or the landing lies before what was read.
    """
    word = word or Word()
    deciding = [event for event in events if event["role"] in _STATES]
    landings = [event for event in events if event["role"] == LANDED]
    last: Mapping[str, Any] = landings[-1] if landings else {}
    title, body = describe(last["subject"], last["message"]) if last else (None, None)
    state, reason = _by_commit(deciding[-1]) if deciding else _by_word(word)
    by_word = state == "landed" and not deciding
    return {
        "id": key,
        "landed_state": state,
        "landed_reason": reason,
        "landed_at": word.merged_at if by_word else last.get("committed_at"),
        "merge_sha": word.merge_sha if by_word else last.get("sha"),
        "author_id": last.get("author_id"),
        "title": title,
        "body": body,
    }


def _by_commit(event: Mapping[str, Any]) -> tuple[str, str]:
    does = {LANDED: "lands", REVERTS: "reverts", RELANDS: "relands"}[event["role"]]
    return _STATES[event["role"]], f"commit {event['sha']} {does} it, by rule {event['rule']}"


def _by_word(word: Word) -> tuple[str | None, str | None]:
    """What GitHub says, where no commit of the branch says more."""
    if word.state == "open":
        return "open", "GitHub shows it as open"
    if word.state is None:
        return None, None
    if word.merged_at is None:
        return "closed", "GitHub shows it as closed; no commit of the branch lands it"
    branch = word.default_branch
    if branch and word.base_ref and word.base_ref != branch:
        return "closed", f"GitHub merged it into {word.base_ref}, not into {branch}"
    if word.is_on_branch is False:
        return "closed", f"GitHub merged it as {word.merge_sha}, which has left the branch"
    return "landed", f"GitHub merged it as {word.merge_sha}; no commit of the branch names it"
