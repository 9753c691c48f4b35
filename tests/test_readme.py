"""Every command and every query that the README and the pages below docs/ show is run here."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from kwdb.door import read_only_query
from tests.gitrepo import GitRepository

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def commands(page: Path) -> list[str]:
    return re.findall(r"^\$ (kwdb .+)$", page.read_text(), re.MULTILINE)


PAGES = [ROOT / "README.md", ROOT / "docs" / "database.md"]
QUERIES = [q.strip() for q in re.findall(r"```sql\n(.*?)```", README, re.DOTALL)[0].split(";")]
QUERIES = [query for query in QUERIES if query]


def test_the_readme_is_short_and_shows_ten_queries() -> None:
    assert len(README.splitlines()) < 120
    assert len(QUERIES) == 10
    assert all(len(commands(page)) >= 8 for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_command_that_is_shown_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path
) -> None:
    repository = GitRepository(tmp_path / "git" / "deepseek-ai" / "DeepGEMM")
    sha = repository.commit("Add a tcgen05 kernel for sm_100a (#304)", {"csrc/gemm.cu": "a"})
    repository.pull(304, sha)
    monkeypatch.setenv("KWDB_DATABASE_URL", f"sqlite:///{tmp_path}/k.sqlite")
    monkeypatch.setenv("KWDB_CLONE_BASE", f"file://{tmp_path}/git")
    monkeypatch.setenv("KWDB_CACHE_DIR", str(tmp_path / "cache"))
    program = str(Path(sys.executable).with_name("kwdb"))
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        done = subprocess.run(
            [program, *shlex.split(command)[1:]], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.parametrize("query", QUERIES, ids=[q.splitlines()[0] for q in QUERIES])
def test_every_query_of_the_readme_runs_on_both_engines(database_url: str, query: str) -> None:
    assert read_only_query(database_url, query).is_complete


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("query", QUERIES, ids=[q.splitlines()[0] for q in QUERIES])
def test_no_query_of_the_readme_joins_without_an_index(
    new_engine: Callable[[], sa.Engine], query: str
) -> None:
    """A table may be read once from end to end, but never for each row of another."""
    with new_engine().connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}").all()
    scans: dict[int, int] = {}
    for _, parent, _, step in plan:
        if step.startswith("SCAN") and "VIRTUAL" not in step:
            scans[parent] = scans.get(parent, 0) + 1
    assert all(count == 1 for count in scans.values()), plan
