"""Two small harvested repositories: one world to read, shared by the session, and new ones to change."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from gitrepo import GitRepository

from ingest.harvest import Job, Options, harvest
from kwdb.config import Settings
from kwdb.db import open_reader, open_writer, read_transaction, write_transaction
from kwdb.queries import find_repository, repository_names
from kwdb.store.harvest import add_repository
from kwdb.store.verdicts import RepositoryRow

REPOSITORIES = ("NVIDIA/cutlass", "acme/kernels")
Harvest = Callable[..., None]


def _cutlass(directory: Path) -> None:
    repository = GitRepository(directory)
    body = "## Layout of zebrawood\n\nUses UMMA with tensor memory.\n\nThe quagga epilogue is fused."
    repository.commit(
        f"Add tcgen05 GEMM for sm100 (#2472)\n\n{body}", {"csrc/gemm/umma_gemm.cu": "1"}
    )
    repository.commit("Tune Hopper GEMM kernel (#2473)", {"csrc/gemm/tuned_gemm.cu": "1"})
    repository.commit("Speed up grouped GEMM on B200 (#2474)", {"csrc/gemm/grouped.cu": "1"})
    repository.commit("Blackwell attention kernel (#2475)", {"csrc/attention/wide.cu": "1"})
    repository.commit("docs: explain the okapi (#2476)", {"docs/okapi.md": "1"})
    repository.commit("Push without a number", {"README.md": "1"})
    repository.commit(
        'Revert "Tune Hopper GEMM kernel (#2473)" (#2477)', {"csrc/gemm/tuned_gemm.cu": "2"}
    )


def _kernels(directory: Path) -> None:
    repository = GitRepository(directory)
    repository.commit("Fused MoE kernel in Triton (#1)", {"kernels/fused_moe_triton.py": "1"})
    repository.commit(
        "Swizzle shared memory (#2)\n\nNo more bank conflicts: 1.4x faster. Größe ≥ 8 für Ωmega.\n",
        {"csrc/swizzle.cu": "1", 'csrc/odd "name"\n.cu': "1", "csrc/größe.cu": "1"},
    )
    repository.commit("Swizzle tiles \udc80 of the gnu".encode("utf-8", "surrogateescape"))


@pytest.fixture(scope="session")
def remotes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with NVIDIA/cutlass and acme/kernels."""
    directory = tmp_path_factory.mktemp("remotes")
    _cutlass(directory / "NVIDIA" / "cutlass")
    _kernels(directory / "acme" / "kernels")
    return directory


def _job(engine: sa.Engine, settings: Settings, full_name: str) -> Job:
    with write_transaction(engine) as connection:
        if find_repository(connection, full_name) is None:
            add_repository(connection, full_name.rpartition("/")[2], full_name, "squash")
        row = find_repository(connection, full_name) or {}
        known_as = repository_names(connection, row["id"])
    names = ("id", "slug", "full_name", "landing", "default_branch")
    repository = RepositoryRow(**{name: row[name] for name in names})
    return Job(engine, settings, repository, known_as, Options(), lambda *_: None)


@pytest.fixture(scope="session")
def harvest_into(remotes: Path) -> Iterator[Harvest]:
    """Return a function that harvests repositories, in the order given, into an engine."""
    cache = Path(tempfile.mkdtemp(prefix="kwdb-cache-"))
    settings = Settings("", remotes.as_uri(), "", cache)

    def run(engine: sa.Engine, full_names: Sequence[str] = REPOSITORIES) -> None:
        for full_name in full_names:
            harvest(_job(engine, settings, full_name))

    yield run
    shutil.rmtree(cache)


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def world_url(
    request: pytest.FixtureRequest,
    template: Callable[[str, bool], str],
    harvest_into: Harvest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Return the URL of a seeded and harvested database that no test may change."""
    source = template(request.param, True)
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("world") / "world.sqlite"
        shutil.copy(source, path)
        url = f"sqlite:///{path}"
    else:
        url = request.getfixturevalue("postgres_server").create("world", source)
    engine = open_writer(url)
    harvest_into(engine)
    engine.dispose()
    yield url


@pytest.fixture
def world(world_url: str) -> Iterator[sa.Connection]:
    """Return a reading connection to the world."""
    engine = open_reader(world_url)
    with read_transaction(engine) as connection:
        yield connection
    engine.dispose()
