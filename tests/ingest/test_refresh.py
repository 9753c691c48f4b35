"""The commands that ask GitHub, as cron would run them: exit codes, locks, logs, secrets."""

import json
import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from emulator import Emulator, Fault
from emulator.subject import TOKEN
from gitrepo import GitRepository

import kwdb.cli.refresh
from ingest.github import client as client_module
from ingest.github.governor import Governor, Patience
from kwdb.cli.app import main
from kwdb.db import read_transaction, sole_process
from kwdb.models import commits, harvest_runs, metadata, pull_requests, repositories
from kwdb.queries import read_status

NAMES = (
    "NVIDIA/cutlass",
    "sgl-project/sglang",
    "vllm-project/vllm",
    "flashinfer-ai/flashinfer",
    "pytorch/pytorch",
    "deepseek-ai/DeepGEMM",
)
PASSWORD = "pa55w0rd"
SQLITE_ALONE = pytest.mark.parametrize("engine_name", ["sqlite"])
Command = Callable[..., "Done"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def six(github: Emulator, tmp_path: Path) -> Emulator:
    """All six repositories, on GitHub and as git remotes, with one pull request each."""
    for name in NAMES:
        git = GitRepository(tmp_path / "remotes" / name)
        sha = git.commit("Add tcgen05 GEMM kernel for sm100 (#1)", {"csrc/gemm/umma.cu": "1"})
        head = git.commit("wip", ref="refs/pull/1/head")
        repository = github.world.add(name)
        repository.open("Add tcgen05 GEMM kernel for sm100")
        repository.edit(1, head_sha=head)
        repository.merge(1, sha)
        repository.open("An open one")
    return github


@pytest.fixture
def command(
    six: Emulator,
    engine: sa.Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Command]:
    """Run `kwdb ARGUMENTS…` in this process, with the patience of a test."""
    opened: list[sa.Engine] = []
    real = sa.create_engine

    def create_engine(*arguments: Any, **named: Any) -> sa.Engine:
        opened.append(real(*arguments, **named))
        return opened[-1]

    monkeypatch.setattr(sa, "create_engine", create_engine)
    quick = Patience(attempts=2, first_wait_s=0.001, limit_deadline_s=0.0)
    monkeypatch.setattr(client_module, "Governor", lambda: Governor(quick))
    url = engine.get_execution_options()["kwdb_url"]
    monkeypatch.setenv("KWDB_DATABASE_URL", url)
    monkeypatch.setenv("KWDB_CLONE_BASE", (tmp_path / "remotes").as_uri())
    monkeypatch.setenv("KWDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KWDB_GITHUB_API_URL", six.url)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["kwdb", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        for one in opened:
            one.dispose()
        code = caught.value.code
        return Done(int(code or 0), *capsys.readouterr())

    yield run
    logging.raiseExceptions = True


def select(engine: sa.Engine, *columns: sa.ColumnElement[Any]) -> list[tuple[Any, ...]]:
    with read_transaction(engine) as connection:
        return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(*columns))]


def log_text(tmp_path: Path) -> str:
    (path,) = (tmp_path / "home").rglob("kwdb.log")
    return path.read_text(encoding="utf-8")


def test_a_refresh_of_all(
    command: Command, six: Emulator, engine: sa.Engine, tmp_path: Path
) -> None:
    done = command("refresh", "--json")
    assert (done.code, done.err, done.json["status"]) == (0, "", "done")
    assert {one["status"] for one in done.json["repositories"]} == {"done"}
    assert len(six.requests) == len(NAMES)
    assert len(select(engine, pull_requests.c.id)) == 2 * len(NAMES)
    runs = select(engine, harvest_runs.c.command, harvest_runs.c.status)
    assert set(runs) == {("refresh", "done")}
    assert "deepgemm     pulls" in log_text(tmp_path)
    assert done.json["log"].endswith("kwdb.log")


@SQLITE_ALONE
def test_a_night_with_nothing_new(command: Command, six: Emulator) -> None:
    command("refresh")
    six.forget()
    again = command("refresh", "--json")
    assert (again.code, again.json["rows_written"]) == (0, 0)
    assert [request.status for request in six.requests] == [304] * len(NAMES)
    assert command("refresh") == Done(0, "", "")


@SQLITE_ALONE
def test_git_comes_first_for_all(command: Command, six: Emulator, tmp_path: Path) -> None:
    mirrors: list[int] = []
    six.between = lambda _count: mirrors.append(len(list((tmp_path / "cache").rglob("*.git"))))
    command("refresh")
    assert set(mirrors) == {len(NAMES)}


@SQLITE_ALONE
def test_one_dead_repository_keeps_the_others_fresh(
    command: Command, six: Emulator, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "remotes" / "vllm-project")
    dead = next(r for r in six.world.repositories.values() if r.full_name.startswith("vllm"))
    del six.world.repositories[dead.id]
    done = command("refresh", "--json")
    assert done.code == 3
    status = {one["repo"]: one["status"] for one in done.json["repositories"]}
    assert status.pop("vllm") == "failed"
    assert set(status.values()) == {"done"}
    assert done.err.startswith("kwdb: vllm: git ls-remote failed")
    assert done.err.count("\n") == 1


@SQLITE_ALONE
def test_all_dead(command: Command, six: Emulator, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "remotes")
    six.world.repositories.clear()
    done = command("refresh", "--json")
    assert (done.code, done.json["status"]) == (1, "failed")


@SQLITE_ALONE
def test_a_defect_in_one_repository_stops_no_other(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = kwdb.cli.refresh.harvest_one

    def harvest_one(
        engine: Any, settings: Any, row: dict[str, Any], *rest: Any, **named: Any
    ) -> Any:
        if row["slug"] == "sglang":
            raise ZeroDivisionError
        return real(engine, settings, row, *rest, **named)

    monkeypatch.setattr(kwdb.cli.refresh, "harvest_one", harvest_one)
    done = command("refresh")
    assert done.code == 3
    assert "kwdb: sglang: a defect of kwdb, ZeroDivisionError; the log has" in done.err
    assert "5 of 6 repositories fresh" in done.err
    assert "Traceback" in log_text(tmp_path)


def test_a_second_refresh_ends_at_once(command: Command, engine: sa.Engine, tmp_path: Path) -> None:
    with sole_process(engine, tmp_path / "other.lock", "refresh"):
        done = command("refresh")
    assert done == Done(1, "", "kwdb: another kwdb is at work on refresh: wait until it ends\n")
    assert command("refresh").code == 0


@SQLITE_ALONE
def test_a_limit_leaves_git_fresh_and_says_when_to_go_on(
    command: Command, six: Emulator, engine: sa.Engine
) -> None:
    six.budget = 2
    done = command("refresh")
    assert done.code == 3
    assert "GitHub's limit of 60 requests an hour is reached" in done.err
    assert len(six.requests) == 2
    assert len(select(engine, commits.c.id)) == len(NAMES)
    six.budget = None
    assert command("refresh").code == 0


@SQLITE_ALONE
def test_the_log_turns_over(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kwdb.cli.refresh, "_LOG_BYTES", 2_000)
    place = tmp_path / "logs" / "night.log"
    for _ in range(4):
        assert command("refresh", "--log", str(place)).code == 0
    names = sorted(path.name for path in place.parent.iterdir())
    assert names[:2] == ["night.log", "night.log.1"]
    assert len(names) <= 6


@SQLITE_ALONE
def test_a_log_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = command("refresh", "--log", str(tmp_path / "file" / "log"))
    assert done.code == 1
    assert "choose another with --log" in done.err


def test_an_unreachable_api_and_a_reachable_mirror(
    command: Command, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KWDB_GITHUB_API_URL", "http://127.0.0.1:9")
    done = command("ingest", "cutlass", "--json")
    assert done.code == 3
    assert "kwdb: cutlass: 1 gap: pulls list: GitHub's API cannot be reached" in done.err
    assert len(select(engine, commits.c.id)) == 1
    assert select(engine, pull_requests.c.number, pull_requests.c.landed_state) == [(1, "landed")]
    with read_transaction(engine) as connection:
        (gap,) = read_status(connection)["gaps"]
    assert (gap["repo"], gap["key"]) == ("cutlass", "list")
    assert done.json["repositories"][0]["status"] == "incomplete"


@SQLITE_ALONE
def test_an_unreachable_api_that_is_not_asked(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KWDB_GITHUB_API_URL", "http://127.0.0.1:9")
    assert command("ingest", "cutlass", "--no-api").code == 0
    assert command("refresh", "--no-api").code == 0


def test_a_refresh_follows_a_new_name(
    command: Command, six: Emulator, engine: sa.Engine, tmp_path: Path
) -> None:
    command("refresh")
    six.world.repositories[1000].rename("NVIDIA/cutlass-next")
    for _ in range(2):
        assert command("refresh").code == 0
    assert ("NVIDIA/cutlass-next",) in select(engine, repositories.c.full_name)
    mirrors = {path.name for path in (tmp_path / "cache" / "mirrors" / "NVIDIA").glob("*.git")}
    assert mirrors == {"cutlass-next.git"}


def everything_stored(engine: sa.Engine) -> str:
    with read_transaction(engine) as connection:
        return "".join(
            str(tuple(row))
            for table in metadata.sorted_tables
            for row in connection.execute(sa.select(table))
        )


def files_below(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("engine_name", "kind"),
    [
        pytest.param("sqlite", "unauthorized"),
        pytest.param("sqlite", "retry_after"),
        pytest.param("sqlite", "object"),
        pytest.param("postgres", "bad_gateway", marks=pytest.mark.postgres),
        pytest.param("postgres", None, marks=pytest.mark.postgres),
    ],
)
def test_no_secret_is_ever_shown_or_stored(
    command: Command,
    six: Emulator,
    engine: sa.Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str | None,
) -> None:
    """Token, header and passwords of addresses: not in output, log, database or any file."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    credentials = f"//jane:{PASSWORD}@"
    monkeypatch.setenv("KWDB_GITHUB_API_URL", six.url.replace("//", credentials))
    six.faults = [Fault(kind, 3)] if kind else []
    shown = [command("ingest", "deepgemm"), command("refresh", "--json"), command("status")]
    monkeypatch.setenv("KWDB_CLONE_BASE", f"http:{credentials}127.0.0.1:9")
    shown += [command("ingest", "cutlass", "--json"), command("ingest", "acme/none")]
    shown += [command("refresh"), command("ingest", "vllm", "--no-api")]
    assert six.requests[0].token == TOKEN
    said = "".join(done.out + done.err for done in shown) + log_text(tmp_path)
    kept = everything_stored(engine).encode() + files_below(tmp_path)
    for secret in ("s3cr3t", "Bearer", PASSWORD):
        assert secret not in said
        assert secret.encode() not in kept
