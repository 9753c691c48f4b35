"""An emulated GitHub, and repositories of it that a database follows."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from emulator import Emulator
from emulator.subject import Subject

NewSubject = Callable[..., Subject]


@pytest.fixture
def github() -> Iterator[Emulator]:
    """A running emulator without repositories."""
    with Emulator().running() as emulator:
        yield emulator


@pytest.fixture
def new_subject(github: Emulator, engine: sa.Engine, tmp_path: Path) -> NewSubject:
    """Return a function that adds a repository with `count` pull requests."""

    def make(count: int = 0, name: str = "acme/kernels", **options: object) -> Subject:
        repository = github.world.add(name)
        for number in range(1, count + 1):
            repository.open(f"Add kernel {number}", body=f"Body {number}")
        return Subject(engine, github, repository, tmp_path / "cache", **options)  # type: ignore[arg-type]

    return make
