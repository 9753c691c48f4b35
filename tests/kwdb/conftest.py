"""Two small harvested repositories, and a world to read that the session shares."""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from gitrepo import GitRepository

from ingest.harvest import harvest
from ingest.job import Job, Options
from kwdb.config import Settings
from kwdb.db import open_reader, open_writer, read_transaction, write_transaction
from kwdb.models import page_tags, page_versions, pages, performance_claims
from kwdb.queries import find_repository, repository_names
from kwdb.store.harvest import add_repository, now
from kwdb.store.pages import corpus_key, index_pages
from kwdb.store.verdicts import RepositoryRow, tag_keys

REPOSITORIES = ("NVIDIA/cutlass", "acme/kernels")
Harvest = Callable[..., None]


def _cutlass(directory: Path) -> None:
    """Every message says zebrawood, a word that no seed page holds."""
    repository = GitRepository(directory)
    body = (
        "## Layout of zebrawood\n\nUses UMMA with tensor memory.\n\nThe quagga epilogue is fused."
    )
    for message, path in (
        (f"Add tcgen05 GEMM for sm100 (#9472)\n\n{body}", "csrc/gemm/umma_gemm.cu"),
        ("Tune Hopper GEMM kernel (#9473)\n\nzebrawood", "csrc/gemm/tuned_gemm.cu"),
        ("Speed up grouped GEMM on B200 (#9474)\n\nzebrawood", "csrc/gemm/grouped.cu"),
        ("Blackwell attention kernel (#9475)\n\nzebrawood", "csrc/attention/wide.cu"),
        ("docs: explain the okapi (#9476)\n\nzebrawood", "docs/okapi.md"),
        ("Push without a number\n\nzebrawood", "README.md"),
        (
            'Revert "Tune Hopper GEMM kernel (#9473)" (#9477)\n\nzebrawood',
            "csrc/gemm/tuned_gemm.cu",
        ),
    ):
        repository.commit(message, {path: message})


def _kernels(directory: Path) -> None:
    repository = GitRepository(directory)
    repository.commit(
        "Fused MoE kernel in Triton (#1)\n\nzebrawood", {"kernels/fused_moe_triton.py": "1"}
    )
    repository.commit(
        "Swizzle shared memory (#2)\n\nzebrawood: 1.4x faster. Größe ≥ 8 für Ωmega.\n",
        {"csrc/swizzle.cu": "1", 'csrc/odd "name"\n.cu': "1", "csrc/größe.cu": "1"},
    )
    repository.commit(b"Swizzle tiles \x80\x01 of the gnu\n\nzebrawood", {"csrc/gnu.cu": "1"})


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


def _add_manual_page(connection: sa.Connection) -> None:
    """Add kernel-zorse, a page by hand with confidence, symptom and a claim."""
    keys = tag_keys(connection)
    corpus = corpus_key(connection, "seed")
    page = {"pk": 9_000, "id": "kernel-zorse", "type": "wiki-kernel", "title": "The zorse kernel"}
    connection.execute(
        sa.insert(pages),
        page | {"confidence": "verified", "served_from": corpus, "is_retired": False},
    )
    tag_rows = [
        {"page_id": page["id"], "tag_id": keys[tag], "origin": "manual", "corpus_id": corpus}
        for tag in (("symptom", "memory-bound"), ("architecture", "sm120"))
    ]
    connection.execute(sa.insert(page_tags), tag_rows)
    claim = {"id": 9_000, "claim_key": "zorse", "origin": "reported", "status": "unreviewed"}
    connection.execute(
        sa.insert(performance_claims),
        claim | {"page_id": page["id"], "metric": "latency", "value": 12.5},
    )
    text = "# Zorse\n\nA striped hybrid of zebrawood."
    version = {"id": 9_000, "page_id": page["id"], "corpus_id": corpus, "path": "zorse.md"}
    version |= {"body": text.encode(), "body_sha256": "", "captured_at": now()}
    connection.execute(sa.insert(page_versions), version)
    tags = ["memory-bound", "sm120"]
    index_pages(connection, [page | {"tags": tags, "text": text, "paths": []}])


@pytest.fixture(
    scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def world_url(
    request: pytest.FixtureRequest,
    template: Callable[[str, bool], str],
    harvest_into: Harvest,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """Return the URL of a seeded and harvested database that no test may change."""
    source = template(request.param, True)
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("world") / "world.sqlite"
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(path)) as new:
            old.backup(new)
        url = f"sqlite:///{path}"
    else:
        url = str(request.getfixturevalue("postgres_server").create("world", source))
    engine = open_writer(url)
    harvest_into(engine)
    with write_transaction(engine) as connection:
        _add_manual_page(connection)
    engine.dispose()
    return url


@pytest.fixture
def world(world_url: str) -> Iterator[sa.Connection]:
    """Return a reading connection to the world."""
    engine = open_reader(world_url)
    with read_transaction(engine) as connection:
        yield connection
    engine.dispose()
