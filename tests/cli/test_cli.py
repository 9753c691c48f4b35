"""The installed command as a person runs it: output, messages, exit codes, interruptions."""

import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from gitrepo import GitRepository, git

KWDB = Path(sys.executable).with_name("kwdb")
Done = subprocess.CompletedProcess[str]


@dataclass
class Place:
    """A directory with remotes, a cache and a database, and the command that uses them."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.file = self.directory / "data" / "kwdb.sqlite"
        self.remotes = self.directory / "remotes"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "KWDB_DATABASE_URL": f"sqlite:///{self.file}",
            "KWDB_CLONE_BASE": self.remotes.as_uri(),
            "KWDB_CACHE_DIR": str(self.directory / "cache"),
        }

    def run(self, *arguments: str, **environment: str) -> Done:
        return subprocess.run(
            [KWDB, *arguments],
            cwd=self.directory,
            env=self.environment | environment,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def document(self, *arguments: str) -> Any:
        """Run a command that must succeed and print one JSON document and nothing else."""
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, done.stderr if "ingest" in arguments else "")
        return json.loads(done.stdout)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [KWDB, *arguments],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def content(self) -> list[str]:
        """Return all of the database as SQL, bookkeeping of the harvest apart."""
        if not self.file.is_file():
            return []
        with closing(sqlite3.connect(self.file)) as connection:
            lines = list(connection.iterdump())
        return [line for line in lines if "harvest_" not in line]


def fill(remotes: Path) -> None:
    cutlass = GitRepository(remotes / "NVIDIA" / "cutlass")
    cutlass.commit("Add quagga GEMM for sm100 (#9472)", {"csrc/quagga.cu": "1"})
    cutlass.commit("docs: explain the okapi (#9473)", {"docs/okapi.md": "1"})
    kernels = GitRepository(remotes / "acme" / "kernels")
    kernels.commit("Blackwell | Größe of quagga (#1)", {"csrc/größe.cu": "1"})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A harvested place that tests only read."""
    place = Place(tmp_path_factory.mktemp("filled"))
    fill(place.remotes)
    assert place.run("init").returncode == 0
    assert place.run("ingest", "cutlass", "acme/kernels", "--no-api").returncode == 0
    return place


@pytest.fixture
def place(filled: Place, tmp_path: Path) -> Place:
    """A copy of it that a test may change."""
    shutil.copytree(filled.directory, tmp_path / "place")
    return Place(tmp_path / "place")


@pytest.fixture
def bare(tmp_path: Path) -> Place:
    """A place without a database, with remotes."""
    place = Place(tmp_path / "bare")
    fill(place.remotes)
    return place


def test_init_makes_the_database_once(bare: Place) -> None:
    first = bare.run("init")
    assert (first.returncode, first.stdout, first.stderr.count("\n")) == (0, "", 1)
    assert first.stderr.startswith(f"sqlite:///{bare.file} is ready; ")
    again = bare.run("init", "--json")
    assert json.loads(again.stdout)["rows_written"] == 0


def test_ingest_twice_equals_once(place: Place) -> None:
    before = place.content()
    again = place.run("ingest", "cutlass", "acme/kernels", "--no-api", "--json")
    found = json.loads(again.stdout)
    assert (again.returncode, found["rows_written"], found["failed"]) == (0, 0, {})
    assert [one["repo"] for one in found["repositories"]] == ["cutlass", "kernels"]
    assert place.content() == before


def test_ingest_prints_one_line_a_stage(place: Place) -> None:
    done = place.run("ingest", "cutlass", "--no-api")
    stages = [line.split()[1] for line in done.stderr.splitlines()[:-1]]
    assert stages == "refs mirror commits link classify reconcile extract".split()
    assert done.stderr.splitlines()[-1].startswith("0 rows written in ")
    assert (done.returncode, done.stdout) == (0, "")


def test_search(filled: Place) -> None:
    done = filled.run("search", "quagga")
    assert done.stdout.splitlines()[::2] == [
        "pr-cutlass-9472  [source-pr]  Add quagga GEMM for sm100",
        "pr-kernels-1  [source-pr]  Blackwell | Größe of quagga",
    ]
    assert (done.returncode, done.stderr) == (0, "2 of 2 pages\n")
    found = json.loads(filled.run("search", "quagga", "--limit", "1", "--json").stdout)
    assert list(found) == ["total", "total_is_exact", "results", "corrected", "excluded"]
    assert (found["total"], list(found["results"][0])) == (
        2,
        ["id", "type", "title", "score", "snippet"],
    )


def test_search_says_what_exact_left_out(filled: Place) -> None:
    done = filled.run("search", "quagga", "--architecture", "sm100", "--exact")
    assert done.stderr.splitlines() == [
        "1 of 1 pages",
        "1 more pages left out by --exact: known by family only",
    ]


def test_nothing_found_is_no_error(filled: Place) -> None:
    done = filled.run("search", "xylophagous", "--json")
    assert (done.returncode, json.loads(done.stdout)["total"]) == (0, 0)
    assert filled.run("sql", "SELECT 1 WHERE 1 = 0").returncode == 0


def test_show_explain_status_resolve_in_json(filled: Place) -> None:
    shown = filled.document("show", "NVIDIA/cutlass#9472", "--json")
    assert (shown["id"], shown["landed_at"]) == ("pr-cutlass-9472", "2023-11-14T22:13:20Z")
    explained = filled.document("explain", "cutlass#9473", "--json")
    assert (explained["id"], explained["decision"]["decision"]) == (
        "NVIDIA/cutlass#9473",
        "exclude",
    )
    status = filled.document("status", "--json")
    assert [(r["repo"], r["commits"]) for r in status["repositories"] if r["commits"]] == [
        ("cutlass", 2),
        ("kernels", 1),
    ]
    assert filled.document("resolve", "UMMA", "--json") == {
        "term": "UMMA",
        "matches": [
            {
                "tag": "tcgen05",
                "facet": "hardware_feature",
                "basis": "exact",
                "alias": "UMMA",
                "note": None,
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("show", "cutlass#9472"), "pr-cutlass-9472  Add quagga GEMM for sm100"),
        (("show", "cutlass#9473"), "NVIDIA/cutlass#9473"),
        (("explain", "pr-cutlass-9472"), "landed by rule suffix_unchecked"),
        (("status",), ", 3 pull_requests, 3 commits, "),
        (("resolve", "Blackwell"), "sm100"),
        (("sql", "SELECT 1 AS one"), "one\n---\n1\n"),
        (("db", "current"), "(needed: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_people_read_text(filled: Place, arguments: tuple[str, ...], part: str) -> None:
    done = filled.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert part in done.stdout


QUERY = "SELECT number, title FROM pr_overview WHERE repo = 'kernels'"
TITLE = "Blackwell | Größe of quagga"
FORMATS = {
    "table": f"number  title\n------  {'-' * 27}\n1       {TITLE}\n",
    "csv": f"number,title\n1,{TITLE}\n",
    "markdown": "| number | title |\n| --- | --- |\n| 1 | Blackwell \\| Größe of quagga |\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(filled: Place, name: str) -> None:
    done = filled.run("sql", QUERY, "--format", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, FORMATS[name], "")


@pytest.mark.parametrize("flags", [("--format", "json"), ("--json",)], ids=" ".join)
def test_sql_in_json(filled: Place, flags: tuple[str, ...]) -> None:
    assert filled.document("sql", QUERY, *flags) == {
        "columns": ["number", "title"],
        "rows": [{"number": 1, "title": "Blackwell | Größe of quagga"}],
        "is_complete": True,
    }


def test_csv_quotes_what_needs_it(filled: Place) -> None:
    done = filled.run(
        "sql", "SELECT 'a,b' AS x, 'say \"hi\"\nyou' AS y, NULL AS z", "--format", "csv"
    )
    assert list(csv.reader(io.StringIO(done.stdout))) == [
        ["x", "y", "z"],
        ["a,b", 'say "hi"\nyou', ""],
    ]


def test_sql_says_that_it_was_cut(filled: Place) -> None:
    done = filled.run("sql", "SELECT name FROM tags", "--limit", "2", "--json")
    assert (len(json.loads(done.stdout)["rows"]), done.returncode) == (2, 0)
    assert done.stderr == "cut at 2 rows: raise --limit or narrow the query\n"


def test_columns_of_one_name_are_all_kept(filled: Place) -> None:
    assert len(filled.document("sql", "SELECT 1 AS x, 2 AS x", "--json")["rows"][0]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("nonsense",),
        ("sql", "SELECT 1", "--format", "xml"),
        ("sql", "SELECT 1", "--limit", "0"),
        ("search", "x", "--since", "yesterday"),
        ("search", "x", "--since", "2026-02-30"),
        ("search", "x", "--limit", "many"),
        ("ingest",),
        ("ingest", "cutlass", "--nonsense"),
        ("status", "--nonsense"),
        ("resolve", "a", "b"),
        ("db", "nonsense"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2(filled: Place, arguments: tuple[str, ...]) -> None:
    done = filled.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_misspelt_option_is_wrong_usage(filled: Place) -> None:
    assert filled.run("search", "quagga", "--repos", "cutlass").returncode == 2


def test_resolve_of_an_unknown_word_is_1(filled: Place) -> None:
    done = filled.run("resolve", "okapi")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "nothing known as 'okapi'\n")
    as_json = filled.run("resolve", "okapi", "--json")
    assert (as_json.returncode, json.loads(as_json.stdout)) == (1, {"term": "okapi", "matches": []})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "pr-cutlass-94721"), "no page or pull request 'pr-cutlass-94721'; nearest: "),
        (("explain", "nothing"), "no page or pull request 'nothing'"),
        (("search", "x", "--tag", "gemmm"), "unknown tag 'gemmm'; nearest known: gemm, "),
        (("search", "x", "--repo", "cutlas"), "unknown repo 'cutlas'; known: "),
        (("ingest", "cutlas", "--no-api"), "unknown repository 'cutlas'; nearest known: cutlass, "),
        (("sql", "DELETE FROM pages"), "only reading is allowed here"),
        (("sql", "SELEC 1"), 'the query failed: near "SELEC": syntax error'),
        (("sql", "SELECT 1; SELECT 2"), "one statement at a time"),
        (("db", "copy", "mysql://x"), "database URL 'mysql://x' is not understood"),
        (("db", "backup", "data/kwdb.sqlite"), "data/kwdb.sqlite exists: choose another name"),
        (("ingest", "acme/nothing", "--no-api"), "acme/nothing: git ls-remote failed: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors_are_one_line(place: Place, arguments: tuple[str, ...], message: str) -> None:
    fails(place, message, *arguments)


def fails(place: Place, message: str, *arguments: str, **environment: str) -> None:
    """Assert exit 1 with one line on stderr, and that the database stays as it is."""
    before = place.content()
    done = place.run(*arguments, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"kwdb: {message}")
    assert done.stderr.count("\n") == 1
    assert place.content() == before


def test_a_clone_base_that_does_not_exist(place: Place) -> None:
    base = "file:///nowhere/at/all"
    message = "cutlass: git ls-remote failed: "
    fails(place, message, "ingest", "cutlass", "--no-api", KWDB_CLONE_BASE=base)
    assert base in place.run("ingest", "cutlass", "--no-api", KWDB_CLONE_BASE=base).stderr


def test_an_empty_repository(place: Place) -> None:
    GitRepository(place.remotes / "vllm-project" / "vllm")
    fails(place, "vllm: ", "ingest", "vllm", "--no-api")


def test_a_repository_without_its_branch(place: Place) -> None:
    repository = GitRepository(place.remotes / "vllm-project" / "vllm")
    repository.commit("x (#1)", ref="refs/heads/other")
    fails(place, "vllm: ", "ingest", "vllm", "--no-api")


@pytest.mark.parametrize("command", [("init",), ("db", "upgrade")], ids=" ".join)
def test_a_data_directory_that_is_a_file(bare: Place, command: tuple[str, ...]) -> None:
    (bare.directory / "data").write_text("not a directory")
    fails(bare, "cannot ", *command)


def test_a_database_that_is_a_directory(bare: Place) -> None:
    bare.file.mkdir(parents=True)
    fails(bare, "cannot use the database ", "init")
    fails(bare, "cannot use the database ", "search", "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory(place: Place) -> None:
    place.file.parent.chmod(0o500)
    try:
        fails(place, "cannot use the database ", "ingest", "cutlass", "--no-api")
    finally:
        place.file.parent.chmod(0o700)


@pytest.mark.parametrize(
    "arguments",
    [("init",), ("search", "x"), ("sql", "SELECT 1"), ("ingest", "cutlass", "--no-api"),
     ("status",), ("db", "dump"), ("db", "check"), ("db", "current"), ("show", "x")],
    ids=" ".join,
)  # fmt: skip
def test_a_corrupt_file(bare: Place, arguments: tuple[str, ...]) -> None:
    bare.file.parent.mkdir()
    bare.file.write_bytes(b"this is no database" * 1000)
    done = bare.run(*arguments)
    assert done.stderr.startswith("kwdb: cannot use the database ")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (1, 1, "")
    assert bare.file.read_bytes() == b"this is no database" * 1000


@pytest.mark.parametrize(
    "arguments",
    [("init",), ("db", "upgrade"), ("search", "x"), ("sql", "SELECT 1"), ("status",),
     ("ingest", "cutlass", "--no-api"), ("db", "dump"), ("db", "check"), ("db", "backup", "new")],
    ids=" ".join,
)  # fmt: skip
def test_a_database_of_a_newer_revision(place: Place, arguments: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(place.file, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    fails(place, "database is at revision 9999, code needs ", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [("search", "x"), ("sql", "SELECT 1"), ("ingest", "cutlass", "--no-api"), ("status",),
     ("db", "dump"), ("db", "check"), ("resolve", "x"), ("db", "copy", "sqlite:///new")],
    ids=" ".join,
)  # fmt: skip
def test_no_database(bare: Place, arguments: tuple[str, ...]) -> None:
    fails(bare, "no kwdb database at sqlite:///", *arguments)
    assert not bare.file.exists()


def test_one_dead_repository_of_two_is_3(place: Place) -> None:
    shutil.rmtree(place.remotes / "acme")
    done = place.run("ingest", "acme/kernels", "cutlass", "--no-api", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, list(found["failed"])) == (3, ["kernels"])
    assert [one["repo"] for one in found["repositories"]] == ["cutlass"]
    assert done.stderr.splitlines()[-1].startswith("kwdb: kernels: git ls-remote failed: ")


def test_dump_into_a_closed_pipe(filled: Place) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"{KWDB}" db dump | head -1'],
        env=filled.environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    assert "table" in json.loads(done.stdout)


def test_copy_backup_and_check(place: Place) -> None:
    dumped = place.run("db", "dump").stdout
    for command in ("copy", "backup"):
        target = place.directory / f"{command}.sqlite"
        argument = f"sqlite:///{target}" if command == "copy" else str(target)
        assert place.run("db", command, argument).returncode == 0
        there = {"KWDB_DATABASE_URL": f"sqlite:///{target}"}
        assert place.run("db", "dump", **there).stdout == dumped
        assert place.run("db", "check", **there).returncode == 0


def test_check_finds_a_broken_key(place: Place) -> None:
    with closing(sqlite3.connect(place.file, isolation_level=None)) as connection:
        connection.execute("INSERT INTO repository_aliases VALUES ('a/b', 4711)")
    done = place.run("db", "check", "--json")
    assert (done.returncode, len(json.loads(done.stdout)["damage"])) == (1, 1)


COMMITS = 3_000


@pytest.fixture(scope="module")
def long_remote(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose harvest takes long enough to be interrupted."""
    repository = GitRepository(tmp_path_factory.mktemp("long") / "vllm")
    stream = []
    for number in range(1, COMMITS + 1):
        text = f"Tune kernel {number} (#{number})"
        stream.append(
            f"commit refs/heads/main\ncommitter GitHub <a@b> {1_700_000_000 + number} +0000\n"
            f"data {len(text)}\n{text}\nM 100644 inline csrc/{number % 50}.cu\n"
            f"data {len(str(number))}\n{number}\n"
        )
    git("fast-import", "--quiet", directory=repository.directory, data="".join(stream).encode())
    return repository.directory


@pytest.fixture
def long_history(bare: Place, long_remote: Path) -> Place:
    target = bare.remotes / "vllm-project" / "vllm"
    target.parent.mkdir()
    target.symlink_to(long_remote)
    assert bare.run("init").returncode == 0
    return bare


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def count(place: Place, table: str) -> int:
    with closing(sqlite3.connect(f"{place.file.as_uri()}?mode=ro", uri=True)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


MOMENTS: dict[str, Callable[[Place], bool]] = {
    "clone": lambda place: (place.directory / "cache" / "mirrors").exists(),
    "commits": lambda place: count(place, "commits") > 0,
    "link": lambda place: count(place, "pull_requests") > 0,
    "classify": lambda place: count(place, "ledger_entries") > 0,
}


@pytest.mark.parametrize(
    ("stop", "moment"),
    [
        pytest.param(signal.SIGINT, "commits", id="ctrl-c-commits"),
        pytest.param(signal.SIGINT, "classify", id="ctrl-c-classify"),
        pytest.param(signal.SIGKILL, "clone", id="kill-9-clone"),
        pytest.param(signal.SIGKILL, "link", id="kill-9-link"),
        pytest.param(signal.SIGKILL, "classify", id="kill-9-classify"),
    ],
)
def test_an_interrupted_harvest_goes_on(
    long_history: Place, stop: signal.Signals, moment: str
) -> None:
    started = long_history.start("ingest", "vllm", "--no-api")
    wait_until(lambda: MOMENTS[moment](long_history))
    started.send_signal(stop)
    _, said = started.communicate(timeout=30)
    assert (started.returncode == 0, "Traceback" in said) == (False, False)
    assert long_history.run("ingest", "vllm", "--no-api").returncode == 0
    tables = ("commits", "pull_requests", "ledger_entries")
    assert [count(long_history, table) for table in tables] == [COMMITS] * 3
    assert long_history.run("db", "check").returncode == 0
    again = json.loads(long_history.run("ingest", "vllm", "--no-api", "--json").stdout)
    assert again["rows_written"] == 0


def test_ctrl_c_says_that_nothing_is_lost(long_history: Place) -> None:
    started = long_history.start("ingest", "vllm", "--no-api")
    wait_until(lambda: count(long_history, "commits") > 0)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=30)
    assert (started.returncode, said[:18]) == (1, "kwdb: interrupted;")


def test_two_harvests_at_once_are_refused(long_history: Place) -> None:
    started = long_history.start("ingest", "vllm", "--no-api")
    wait_until(lambda: count(long_history, "commits") > 0)
    second = long_history.run("ingest", "vllm", "--no-api")
    assert started.wait(30) == 0
    started.communicate()
    assert (second.returncode, second.stderr.count("\n")) == (1, 1)


HEAVY = ("cuda", "rich", "pandas", "alembic", "psycopg", "httpx", "yaml", "ingest", "benchmarks")


def loaded(place: Place, code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"],
        env=place.environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return {name.split(".")[0] for name in done.stderr.split()}


def test_the_command_line_loads_nothing_heavy(filled: Place) -> None:
    names = loaded(filled, "import kwdb.cli.app")
    assert names & {*HEAVY, "sqlalchemy"} == set()


def test_sql_loads_no_sqlalchemy(filled: Place) -> None:
    code = "from kwdb.cli.reading import sql, Format\nsql('SELECT 1', Format.csv, 10, 5)"
    assert loaded(filled, code) & {*HEAVY, "sqlalchemy"} == set()


def test_search_loads_nothing_for_gpus(filled: Place) -> None:
    code = (
        "from kwdb.cli.app import app\n"
        "app(['search', 'quagga', '--limit', '1'], standalone_mode=False)"
    )
    assert loaded(filled, code) & {*HEAVY} == set()


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_help_and_version(filled: Place, flag: str) -> None:
    done = filled.run(flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert "kwdb" in done.stdout
