"""Say which pull requests a commit lands, reverts or brings back; pure, table-driven, versioned.

Numbers are believed only when they are this repository's own: a `(#N)` must exist under refs/pull
(where the remote shows these at all), a trailer must name the repository or one of its former
names. What a revert undoes is looked up in what earlier commits did, so that the revert of a
revert brings the first pull request back.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kwdb.records import CommitRecord, LinkRecord

LINKER = "1"

LANDED, REVERTS, RELANDS = "landed", "reverts", "relands"
ORIGINAL, CHERRY_PICK = "original", "cherry_pick"

_SUFFIX = re.compile(r"\(#([0-9]{1,9})\)\s*$")
_NUMBER = re.compile(r"#([0-9]{1,9})\b")
_MERGE = re.compile(r"Merge pull request #([0-9]{1,9}) from ")
_TRAILER = re.compile(
    r"^Pull Request resolved:\s*https://github\.com/([\w.-]+/[\w.-]+)/pull/([0-9]{1,9})\b",
    re.MULTILINE,
)
_PREFIXES = r"(?:\[[^\]]*\]\s*)*"
_REVERT = re.compile(_PREFIXES + r"(?:revert|back(?:ing)?[ -]?out|unland)", re.IGNORECASE)
_RELAND = re.compile(r"\bre-?land", re.IGNORECASE)
_CHERRY_PICK = re.compile(r"\bcherry[ -]?pick", re.IGNORECASE)
_PHABRICATOR_REVERT = re.compile(r"(?:Revert|Back out) D\d+:")
_OPPOSITE = {LANDED: REVERTS, RELANDS: REVERTS, REVERTS: RELANDS}

# How a commit may be called later: the kind of name, and where it stands in its own message.
_LANDMARKS = (
    ("diff", re.compile(r"^Differential Revision:\s*\[?(D\d+)", re.MULTILINE)),
    ("source", re.compile(r"^fbshipit-source-id: ([0-9a-f]{12})", re.MULTILINE)),
)
# How a revert calls what it undoes: rule, kind of name, pattern over subject and message.
_TARGETS = (
    ("reverts_commit", "sha", re.compile(r"^This reverts commit ([0-9a-f]{7,40})", re.MULTILINE)),
    (
        "reverts_url",
        "sha",
        re.compile(r"^D\d+ \(https://github\.com/\S{1,200}/commit/([0-9a-f]{40})", re.MULTILINE),
    ),
    ("reverts_diff", "diff", re.compile(r"^(?:Revert|Back out) (D\d+)\b")),
    (
        "reverts_changeset",
        "source",
        re.compile(r"^Original commit changeset: ([0-9a-f]{12})", re.MULTILINE),
    ),
)
_REVERTS_NUMBER = re.compile(
    r"^(?:This )?reverts?(?: PR| pull request)?\s+(?:([\w.-]+/[\w.-]+))?#([0-9]{1,9})\b",
    re.MULTILINE | re.IGNORECASE,
)
_REVERTS_IN_SUBJECT = re.compile(
    r"\brevert(?:s|ing)?\s{1,9}(?:PR|pull request)?\s{0,9}#?([0-9]{1,9})\b", re.I
)


@dataclass(slots=True)
class History:
    """What the linker knows of a repository while it reads commits oldest first.

    `heads` are the heads of refs/pull; empty when the remote shows none, and then numbers go
    unchecked. `effects` remembers, by every name a later revert may use, what a commit did.
    """

    names: frozenset[str]
    landing: str = "squash"
    heads: Mapping[int, str] = field(default_factory=dict)
    effects: dict[tuple[str, str], dict[int, str]] = field(default_factory=dict)
    numbers_by_head: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the heads by commit; where two share one, the lower number was first."""
        for number in sorted(self.heads, reverse=True):
            self.numbers_by_head[self.heads[number]] = number

    def owns(self, number: int) -> bool:
        """Whether `number` is a pull request here, as far as anyone can say."""
        return not self.heads or number in self.heads

    def remember(self, sha: str, subject: str, message: str, links: Iterable[LinkRecord]) -> None:
        """Keep what a commit did under every name that a later revert may use."""
        done = {link.number: link.role for link in links if link.role in _OPPOSITE}
        if not done:
            return
        for name in _names_of(sha, subject, message):
            self.effects[name] = done
        for number, role in done.items():
            if role == LANDED:
                self.effects["number", str(number)] = done


def title_of(subject: str) -> str:
    """Return the subject without the number it ends in: the title of the pull request."""
    return _SUFFIX.sub("", subject).strip()


def _names_of(sha: str, subject: str, message: str) -> Iterator[tuple[str, str]]:
    yield "title", title_of(subject)
    yield from (("sha", sha[:length]) for length in range(7, 13))
    yield "sha", sha
    for kind, pattern in _LANDMARKS:
        yield from ((kind, name) for name in pattern.findall(message))


def link(commit: CommitRecord, history: History) -> list[LinkRecord]:
    """Return what `commit` does to pull requests; empty for a direct push.

    The caller passes the result to `history.remember` before it links the next commit.
    """
    landed = _landed(commit, history)
    links = {} if landed is None else {landed.number: landed}
    for found in (*_undone(commit, history), *_companions(commit, history, landed)):
        links.setdefault(found.number, found)
    return list(links.values())


def _landed(commit: CommitRecord, history: History) -> LinkRecord | None:
    """The pull request that the commit lands, by the first rule that finds one."""
    found = (rule(commit, history) for rule in _LANDING_RULES[history.landing])
    return next((link for link in found if link is not None), None)


def _by_suffix(commit: CommitRecord, history: History) -> LinkRecord | None:
    """The last `(#N)`, at the very end of the subject: earlier ones are issues or sources."""
    match = _SUFFIX.search(commit.subject)
    if match is None or not history.owns(int(match[1])):
        return None
    return LinkRecord(int(match[1]), LANDED, "suffix" if history.heads else "suffix_unchecked")


def _by_merge(commit: CommitRecord, history: History) -> LinkRecord | None:
    match = _MERGE.match(commit.subject)
    if match is None or not history.owns(int(match[1])):
        return None
    return LinkRecord(int(match[1]), LANDED, "merge")


def _by_head(commit: CommitRecord, history: History) -> LinkRecord | None:
    """A fast-forward or rebase: the head of a pull request is itself a commit of the branch."""
    number = history.numbers_by_head.get(commit.sha)
    return None if number is None else LinkRecord(number, LANDED, "head_on_branch")


def _own_trailers(message: str, history: History) -> list[int]:
    found = _TRAILER.findall(message)
    return [int(number) for name, number in found if name.lower() in history.names]


def _by_trailer(commit: CommitRecord, history: History) -> LinkRecord | None:
    """The trailer of pytorch: `Pull Request resolved: URL`.

    A suffix that is among the trailers wins. Else trymerge, which puts the body first so that a
    quoted trailer stands above its own, is read from the end, and ShipIt from the start.
    """
    numbers = _own_trailers(commit.message, history)
    if not numbers:
        return None
    suffix = _SUFFIX.search(commit.subject)
    if suffix and int(suffix[1]) in numbers:
        return LinkRecord(int(suffix[1]), LANDED, "suffix_and_trailer")
    last = commit.committer == "pytorchmergebot"
    return LinkRecord(numbers[-1 if last else 0], LANDED, "trailer")


_Rule = Callable[[CommitRecord, History], LinkRecord | None]
_LANDING_RULES: dict[str, tuple[_Rule, ...]] = {
    "squash": (_by_suffix, _by_merge, _by_head),
    "merge": (_by_merge, _by_suffix, _by_head),
    "pytorch": (_by_trailer, _by_suffix, _by_merge, _by_head),
}


def _undone(commit: CommitRecord, history: History) -> Iterator[LinkRecord]:
    """What a revert undoes; nothing unless the subject says that the commit is one."""
    if not _REVERT.match(commit.subject):
        return
    for rule, number in _reverted_numbers(commit, history):
        effects = history.effects.get(("number", str(number)), {number: LANDED})
        yield from _opposite(effects, rule)
    if (quoted := _quoted(commit.subject)) and _number_in_title(quoted) is None:
        effects = history.effects.get(("title", title_of(quoted)), {})
        yield from _opposite(effects, "reverts_title")
    for rule, kind, pattern in _TARGETS:
        for text in (commit.subject, commit.message):
            for name in pattern.findall(text):
                yield from _opposite(history.effects.get((kind, _sha_key(name)), {}), rule)


def _sha_key(name: str) -> str:
    """Abbreviations are remembered up to 12 signs, and longer ones cut to that."""
    return name if len(name) == 40 else name[:12]


def _opposite(effects: Mapping[int, str], rule: str) -> Iterator[LinkRecord]:
    return (LinkRecord(number, _OPPOSITE[role], rule) for number, role in effects.items())


def _reverted_numbers(commit: CommitRecord, history: History) -> Iterator[tuple[str, int]]:
    quoted = _quoted(commit.subject)
    match = _REVERTS_IN_SUBJECT.search(commit.subject.partition('"')[0])
    if match and history.owns(int(match[1])):
        yield "reverts_subject", int(match[1])
    if quoted and (number := _number_in_title(quoted)) is not None and history.owns(number):
        yield "reverts_quoted", number
    for name, number_text in _REVERTS_NUMBER.findall(commit.message):
        if history.owns(int(number_text)) and (not name or name.lower() in history.names):
            yield "reverts_number", int(number_text)


def _quoted(subject: str) -> str | None:
    """The title a revert quotes; long ones have lost their closing quotation mark."""
    _, mark, rest = subject.partition('"')
    if not mark:
        return None
    quoted, closing, _ = rest.rpartition('"')
    return quoted if closing else title_of(rest)


def _number_in_title(title: str) -> int | None:
    """The pull request that a quoted title landed; a quoted Phabricator revert landed none."""
    if _PHABRICATOR_REVERT.match(title):
        return None
    match = _SUFFIX.search(title) or _MERGE.search(title)
    return int(match[1]) if match else None


def _companions(
    commit: CommitRecord, history: History, landed: LinkRecord | None
) -> Iterator[LinkRecord]:
    """Other pull requests that a landing names: relanded, cherry-picked or a bot's original."""
    if landed is None:
        return
    others = [n for n in map(int, _NUMBER.findall(commit.subject)) if n != landed.number]
    for pattern, role in ((_RELAND, RELANDS), (_CHERRY_PICK, CHERRY_PICK)):
        if pattern.search(commit.subject) and not _REVERT.match(commit.subject):
            yield from (LinkRecord(n, role, f"{role}_subject") for n in others if history.owns(n))
            return
    if history.landing != "pytorch":
        for number in _own_trailers(commit.message, history):
            yield LinkRecord(number, ORIGINAL, "trailer")
