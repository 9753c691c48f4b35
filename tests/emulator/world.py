"""Repositories, their pull requests, and what people do to them; time moves as the test says."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

EPOCH = 1_760_000_000  # 2025-10-09T08:53:20Z


@dataclass(frozen=True)
class Person:
    login: str
    id: int
    type: str = "User"


JANE = Person("jane", 1234)
BOT = Person("dependabot[bot]", 4321, "Bot")


def fake_sha(*parts: object) -> str:
    return hashlib.sha1(repr(parts).encode()).hexdigest()


@dataclass
class Pull:
    number: int
    title: str
    created: int
    updated: int
    body: str | None = None
    author: Person | None = JANE
    state: str = "open"
    is_draft: bool = False
    base: str = "main"
    head_sha: str = ""
    merge_sha: str | None = None
    closed: int | None = None
    merged: int | None = None
    labels: list[str] = field(default_factory=list)
    review: str | None = None
    merged_by: Person | None = None
    changed_files: int = 1
    closer_sha: str | None = None
    files_are_hidden: bool = False


class Repository:
    """A repository; every act moves the clock of its world and the row that it touches."""

    def __init__(self, world: "World", id_: int, full_name: str) -> None:
        self.world, self.id, self.full_name = world, id_, full_name
        self.former_names: set[str] = set()
        self.default_branch = "main"
        self.pulls: dict[int, Pull] = {}
        self.version = 0
        self.order: dict[tuple[str | None, ...], tuple[int, list[Pull]]] = {}

    def open(self, title: str = "Add a kernel", **fields: object) -> Pull:
        number = len(self.pulls) + 1
        now = self._touch()
        sha = fake_sha(self.full_name, number, "head")
        self.pulls[number] = Pull(number, title, now, now, head_sha=sha, **fields)  # type: ignore[arg-type]
        return self.pulls[number]

    def edit(self, number: int, **fields: object) -> None:
        pull = self.pulls[number]
        for name, value in fields.items():
            assert hasattr(pull, name), name
            setattr(pull, name, value)
        pull.updated = self._touch()

    def label(self, number: int, labels: Iterable[str]) -> None:
        self.edit(number, labels=list(labels))

    def push(self, number: int) -> None:
        self.edit(number, head_sha=fake_sha(self.pulls[number].head_sha))

    def close(self, number: int, *, by_commit: str | None = None) -> None:
        if self.pulls[number].state == "open":
            self.edit(number, state="closed", closed=self.world.now + 1, closer_sha=by_commit)

    def reopen(self, number: int) -> None:
        if self.pulls[number].merged is None:
            self.edit(number, state="open", closed=None)

    def merge(self, number: int, sha: str | None = None) -> None:
        pull = self.pulls[number]
        if pull.state == "open":
            now = self.world.now + 1
            sha = sha or fake_sha(pull.head_sha, "merge")
            self.edit(number, state="closed", closed=now, merged=now, merge_sha=sha, merged_by=BOT)

    def rename(self, full_name: str) -> None:
        self.former_names.add(self.full_name)
        self.full_name = full_name
        self._touch()

    def _touch(self) -> int:
        self.version += 1
        self.world.now += self.world.pace
        return self.world.now


class World:
    """All repositories; `pace` is how many seconds pass from one act to the next."""

    def __init__(self, pace: int = 1) -> None:
        self.now, self.pace = EPOCH, pace
        self.repositories: dict[int, Repository] = {}

    def add(self, full_name: str) -> Repository:
        id_ = 1_000 + len(self.repositories)
        self.repositories[id_] = Repository(self, id_, full_name)
        return self.repositories[id_]

    def find(self, full_name: str) -> tuple[Repository | None, bool]:
        """Return the repository of that name, and whether the name is a former one."""
        found = self.repositories.values()
        for repository in found:
            if repository.full_name.lower() == full_name.lower():
                return repository, False
        former = [r for r in found if full_name in r.former_names]
        return (former[0], True) if former else (None, False)


def stamp(second: int | None) -> str | None:
    if second is None:
        return None
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
