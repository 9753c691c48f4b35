"""`kwdb triage` and `kwdb ingest --diffs` as people run them, on both engines and on real git."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from gitrepo import GitRepository, git

from ingest.diffs import MAX_COMMIT, MAX_FILE, bring_blobs, list_needed, read_patches
from kwdb.cli.app import main
from kwdb.db import open_writer, read_transaction, write_transaction
from kwdb.errors import IngestError
from kwdb.models import harvest_runs, ledger_entries, pull_request_tags, pull_requests
from kwdb.store.harvest import add_repository

CODE = '__global__ void k() {\n  asm("tcgen05.mma.cta_group::2");\n}\n'
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def url(
    engine_name: str,
    new_database: Callable[[str | None], str],
    template: Callable[[str, bool], str],
) -> str:
    return new_database(template(engine_name, True))


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    opened = open_writer(url)
    yield opened
    opened.dispose()


@pytest.fixture
def command(
    url: str,
    engine: sa.Engine,
    git_repository: GitRepository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Return `kwdb ARGUMENT…` over a repository with two pull requests: (exit, stdout, stderr).

    The command line runs in this process, where it starts ten times as fast as in one of its own.
    """
    remote = git_repository.directory
    remote.rename(remote.with_suffix(""))
    git_repository.directory = remote.with_suffix("")
    monkeypatch.setenv("KWDB_CLONE_BASE", f"file://{tmp_path}/remotes")
    monkeypatch.setenv("KWDB_DATABASE_URL", url)
    git_repository.commit("[Kernel] Faster GEMM kernel (#1)", {"csrc/gemm.cu": CODE})
    git_repository.commit("Fix docs (#2)", {"docs/a.md": "a"})
    with write_transaction(engine) as connection:
        add_repository(connection, "kernels-x", "acme/kernels", "squash")

    opened: list[sa.Engine] = []
    create = sa.create_engine

    def remembered(*words: Any, **options: Any) -> sa.Engine:
        opened.append(create(*words, **options))
        return opened[-1]

    monkeypatch.setattr(sa, "create_engine", remembered)  # a process would end its connections

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kwdb", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
            sys.exit(0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while opened:
            opened.pop().dispose()
        said = capfd.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else int(bool(code)), said.out, said.err

    return run


def stored(engine: sa.Engine, table: sa.Table) -> list[dict[str, Any]]:
    with read_transaction(engine) as connection:
        return [dict(row) for row in connection.execute(sa.select(table)).mappings()]


def ledger(engine: sa.Engine, number: int) -> list[tuple[str, str]]:
    found = stored(engine, ledger_entries)
    return [(row["decision"], row["decided_by"]) for row in found if row["number"] == number]


def test_a_decision_is_written_once_and_given_back(command: Command, engine: sa.Engine) -> None:
    assert command("ingest", "kernels-x", "--no-api")[0] == 0
    words = ("triage", "kernels-x#1", "exclude", "--reason", "not ours", "--by", "jane", "--json")
    first = command(*words)
    assert (first[0], json.loads(first[1])["decision"]) == (0, "exclude")
    once = ledger(engine, 1)
    assert command(*words)[:2] == first[:2]
    assert ledger(engine, 1) == once
    assert once[-1] == ("exclude", "person:jane")
    command("classify", "--all")
    assert "exclude" in command("explain", "kernels-x#1")[1]
    given_back = command("triage", "kernels-x#1", "--undo", "--json")
    assert json.loads(given_back[1]) == {
        "id": "kernels-x#1", "decision": "include", "by": "rules",
    }  # fmt: skip
    assert [decision for decision, _ in ledger(engine, 1)] == ["include", "exclude", "include"]
    code, _, said = command("triage", "kernels-x#1", "--undo")
    assert (code, said.count("\n")) == (1, 1)


def test_another_reason_is_another_entry(command: Command, engine: sa.Engine) -> None:
    command("ingest", "kernels-x", "--no-api")
    for reason in ("a kernel in the docs", "seen again"):
        command("triage", "kernels-x#2", "include", "--reason", reason, "--by", "jane")
    assert [decision for decision, _ in ledger(engine, 2)] == ["exclude", "include", "include"]


REFUSED = (
    ("kernels-x#1", "include"),
    ("kernels-x#1", "include", "--reason", "  "),
    ("kernels-x#1", "include", "--reason", "x", "--undo"),
    ("kernels-x#1", "perhaps", "--reason", "x"),
    ("kernels-x#77", "include", "--reason", "x"),
)


def test_decisions_that_cannot_be_taken(command: Command, engine: sa.Engine) -> None:
    command("ingest", "kernels-x", "--no-api")
    before = stored(engine, ledger_entries)
    for words in REFUSED:
        code, _, said = command("triage", *words)
        assert code in (1, 2), words
        assert "Traceback" not in said, words
        assert stored(engine, ledger_entries) == before, words


def test_explain_shows_the_tags_of_what_was_left_out(command: Command) -> None:
    command("ingest", "kernels-x", "--no-api")
    command("triage", "kernels-x#1", "exclude", "--reason", "not ours", "--by", "jane")
    _, said, _ = command("explain", "kernels-x#1")
    assert all(word in said for word in ("exclude", "not ours", "gemm", "csrc/gemm.cu"))


def test_a_remote_that_keeps_blobs_back(
    command: Command, engine: sa.Engine, git_repository: GitRepository
) -> None:
    command("ingest", "kernels-x", "--no-api")
    before = stored(engine, pull_requests), stored(engine, pull_request_tags)
    blob = git("rev-parse", "main~1:csrc/gemm.cu", directory=git_repository.directory)
    kept = git_repository.directory / "objects" / blob[:2] / blob[2:]
    content = kept.read_bytes()
    kept.unlink()
    code, _, said = command("ingest", "kernels-x", "--no-api", "--diffs")
    assert code == 3
    runs = stored(engine, harvest_runs)
    assert [row["status"] for row in runs] == ["done", "incomplete"]
    assert "changed lines not read" in runs[-1]["message"]
    assert said.count("changed lines not read") == 1
    assert "Traceback" not in said
    assert (stored(engine, pull_requests), stored(engine, pull_request_tags)) == before
    kept.write_bytes(content)
    assert command("ingest", "kernels-x", "--no-api", "--diffs")[0] == 0
    assert stored(engine, harvest_runs)[-1]["status"] == "done"
    places = [row["locator"] or "" for row in stored(engine, pull_request_tags)]
    assert any(place.startswith("diff:csrc/gemm.cu:") for place in places)


def mirror_of(remote: Path, place: Path) -> Path:
    git("clone", "-q", "--bare", "--filter=blob:none", f"file://{remote}", str(place),
        directory=remote)  # fmt: skip
    return place


def own_diff(remote: Path, *revisions: str) -> bytes:
    """What git says of one commit alone, asked in the full repository."""
    words = [
        "-c",
        "core.quotePath=false",
        "diff-tree",
        "-r",
        "-p",
        "-U0",
        "--full-index",
        "--no-renames",
        "--root",
        "--no-commit-id",
    ]
    return subprocess.run(
        ["git", "-C", str(remote), *words, *revisions], capture_output=True, check=True
    ).stdout


def test_patches_equal_those_of_git_commit_by_commit(
    git_repository: GitRepository, tmp_path: Path
) -> None:
    root = git_repository.commit("Root", {"a.cu": CODE, "größe.cu": "1\n"})
    side = git_repository.commit("Side", {"b.cu": "side\n"}, ref="refs/heads/side")
    plain = git_repository.commit("Plain", {"a.cu": CODE + "// \r more\n", "bin": "\0\1"})
    merge = git_repository.commit("Merge", {"b.cu": "side\n"}, merge=side)
    remote = git_repository.directory
    mirror = mirror_of(remote, tmp_path / "mirror")
    needed = list_needed(mirror, [root, plain, merge])
    assert bring_blobs(mirror, needed.missing) == 1
    found = dict(read_patches(mirror, [root, plain, merge], needed.parents))
    said = {
        root: own_diff(remote, root),
        plain: own_diff(remote, root, plain),
        merge: own_diff(remote, plain, merge),
    }
    assert {sha: text.encode() for sha, text in found.items()} == said
    assert "+side" in found[merge]
    assert bring_blobs(mirror, list_needed(mirror, [root, plain, merge]).missing) == 0


def test_a_huge_file_is_cut_and_the_next_file_read(
    git_repository: GitRepository, tmp_path: Path
) -> None:
    line = "x" * 1023 + "\n"
    sha = git_repository.commit("Big", {"a.cu": line * (MAX_FILE // 512), "b.cu": "tail\n"})
    mirror = mirror_of(git_repository.directory, tmp_path / "mirror")
    needed = list_needed(mirror, [sha])
    bring_blobs(mirror, needed.missing)
    ((_, text),) = read_patches(mirror, [sha], needed.parents)
    assert MAX_FILE // 2 < len(text) < MAX_COMMIT
    assert text.endswith("+tail\n")


def test_what_the_remote_lacks_is_named(git_repository: GitRepository, tmp_path: Path) -> None:
    git_repository.commit("One", {"a.cu": CODE})
    mirror = mirror_of(git_repository.directory, tmp_path / "mirror")
    with pytest.raises(IngestError, match="blobs"):
        bring_blobs(mirror, ["1" * 40])
