"""Diffs, re-deciding and people's decisions on a real repository with blobs, on both engines."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from gitrepo import GitRepository

from ingest.classify.rules import RULES_DIR, TAG_FILES
from ingest.classify.triage import triage_table
from ingest.harvest import harvest
from ingest.job import Job, Options
from ingest.reclassify import reclassify, undo_decision
from kwdb.config import Settings, load_settings
from kwdb.db import read_transaction, write_transaction
from kwdb.errors import InvalidRecordError, UserError
from kwdb.models import ledger_entries, pages, pull_request_tags, pull_requests
from kwdb.store.harvest import add_repository
from kwdb.store.verdicts import RepositoryRow, parse_locator, store_persons_decision

SEEDS = Path(__file__).resolve().parents[2] / "seeds" / "tags.yaml"


@pytest.fixture
def work(
    engine: sa.Engine, git_repository: GitRepository, tmp_path: Path, monkeypatch: Any
) -> tuple[sa.Engine, Settings, RepositoryRow, list[str]]:
    monkeypatch.setenv("KWDB_CLONE_BASE", f"file://{tmp_path}/remotes")
    remote = git_repository.directory
    remote.rename(remote.with_suffix(""))
    git_repository.directory = remote.with_suffix("")
    code = '__global__ void k() {\n  tcgen05_mma();\n  asm("tcgen05.mma.cta_group::2");\n}\n' * 3
    git_repository.commit("[Kernel] Faster GEMM kernel (#1)", {"csrc/gemm.cu": code})
    git_repository.commit("Fix docs (#2)", {"docs/a.md": "a"})
    with write_transaction(engine) as connection:
        key = add_repository(connection, "kernels-x", "acme/kernels", "squash")
    repository = RepositoryRow(key, "kernels-x", "acme/kernels", "squash", None)
    return engine, load_settings(), repository, []


def ingest(work: Any, **options: Any) -> dict[str, Any]:
    engine, settings, repository, said = work
    report = lambda *_: None  # noqa: E731
    names = frozenset({"acme/kernels"})
    job = Job(engine, settings, repository, names, Options(**options), report, said.append)
    return harvest(job)["stages"]


def rows(engine: sa.Engine, table: sa.Table) -> list[dict[str, Any]]:
    with read_transaction(engine) as connection:
        return [dict(row) for row in connection.execute(sa.select(table)).mappings()]


def test_diffs_are_read_once_and_kept(work: Any) -> None:
    assert "diffs" not in ingest(work)
    stage = ingest(work, diffs=True)["diffs"]
    assert (stage["pull_requests"], stage["blobs"], stage["fetches"]) == (1, 1, 1)
    assert work[3] == ["kernels-x: 1 blobs to download for 1 pull requests"]
    stored = rows(work[0], pull_request_tags)
    assert any((row["locator"] or "").startswith("diff:csrc/gemm.cu:") for row in stored)
    assert ingest(work)["classify"]["rows_written"] == 0
    assert ingest(work, diffs=True)["diffs"]["pull_requests"] == 0
    changes = reclassify(work[0], work[1], [work[2]], dry_run=False)
    assert (changes.without_diffs, changes.rows_written) == (0, 0)
    assert rows(work[0], pull_request_tags) == stored


def test_a_dry_run_writes_nothing(work: Any) -> None:
    ingest(work)
    with write_transaction(work[0]) as connection:
        connection.execute(sa.update(pull_requests).values(decision="defer", ruleset="old"))
    before = rows(work[0], pull_requests)
    changes = reclassify(work[0], work[1], [work[2]], dry_run=True)
    assert changes.decisions == {"defer -> include": 1, "defer -> exclude": 1}
    assert len(changes.examples) == 2
    assert rows(work[0], pull_requests) == before
    reclassify(work[0], work[1], [work[2]], dry_run=False)
    assert {row["decision"] for row in rows(work[0], pull_requests)} == {"include", "exclude"}


def test_a_person_decides_and_gives_back(work: Any) -> None:
    ingest(work)
    engine, settings, repository, _ = work
    key = next(row["id"] for row in rows(engine, pull_requests) if row["number"] == 1)
    with write_transaction(engine) as connection:
        store_persons_decision(connection, repository, key, "exclude", "not ours", "jane")
    page = next(row for row in rows(engine, pages) if row["id"] == "pr-kernels-x-1")
    assert page["is_retired"]
    reclassify(engine, settings, [repository], dry_run=False)
    row = next(row for row in rows(engine, pull_requests) if row["id"] == key)
    assert (row["decision"], row["decided_by"]) == ("exclude", "person:jane")
    assert undo_decision(engine, repository, key) == "include"
    page = next(row for row in rows(engine, pages) if row["id"] == "pr-kernels-x-1")
    assert not page["is_retired"]
    ours = [row["decision"] for row in rows(engine, ledger_entries) if row["number"] == 1]
    assert ours == ["include", "exclude", "include"]
    with pytest.raises(UserError, match="nothing to undo"):
        undo_decision(engine, repository, key)


@pytest.mark.parametrize("text", ["title", "label", "body:3", "path:a:b.cu", "diff:a:b.cu:7"])
def test_a_locator_reads_back(text: str) -> None:
    assert parse_locator(text, "x").locator == text


@pytest.mark.parametrize("name", TAG_FILES)
def test_rules_use_the_vocabulary_of_the_seeds(name: str) -> None:
    known = {(row["facet"], row["name"]) for row in yaml.safe_load(SEEDS.read_text())}
    table = yaml.safe_load((RULES_DIR / f"{name}.yaml").read_text())
    assert {(table["facet"], term) for term in table["vocabulary"]} <= known


@pytest.mark.parametrize("section", ["rules", "numbers", "reasons"])
def test_a_section_that_is_missing(tmp_path: Path, monkeypatch: Any, section: str) -> None:
    table = yaml.safe_load((RULES_DIR / "triage.yaml").read_text())
    del table[section]
    (tmp_path / "triage.yaml").write_text(yaml.safe_dump(table))
    monkeypatch.setattr("ingest.classify.triage.RULES_DIR", tmp_path)
    with pytest.raises(InvalidRecordError) as caught:
        triage_table.__wrapped__()
    assert caught.value.field == section
