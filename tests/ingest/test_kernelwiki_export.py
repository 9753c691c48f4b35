"""What comes in goes out again; what we know besides comes in the same form."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from gitrepo import GitRepository
from kernelwiki_tree import make_tree, write

from ingest.harvest import harvest
from ingest.job import Job, Options
from ingest.kernelwiki.exporting import Written, export_tree
from ingest.kernelwiki.importing import import_tree
from ingest.kernelwiki.pages import split
from kwdb.config import Settings
from kwdb.db import read_transaction, write_transaction
from kwdb.errors import UnknownValueError, UserError
from kwdb.queries import find_repository, repository_names
from kwdb.store.harvest import add_repository
from kwdb.store.verdicts import RepositoryRow


def export(engine: sa.Engine, directory: Path, corpus: str | None = None) -> Written:
    with read_transaction(engine) as connection:
        return export_tree(connection, directory, corpus)


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = make_tree(tmp_path / "zoo")
    return write(
        root,
        {
            "wiki/odd/bom.md": b"\xef\xbb\xbf---\r\nid: odd-bom\r\n--- \r\nbody\r\n",
            "wiki/odd/end.md": b"---\nid: odd-end\n---",
            "wiki/odd/bytes.md": b"---\nid: odd-bytes\n---\n\xff\x00\r\n",
            "wiki/odd/bad.md": b"---\nid: [\n---\n",
            "queries/by-technique.md": b"theirs\n",
            "picture.jpg": bytes(range(256)),
        },
    )


def test_a_corpus_comes_back_byte_for_byte(engine: sa.Engine, tree: Path, tmp_path: Path) -> None:
    import_tree(engine, tree, None, lambda *_: None)
    written = export(engine, tmp_path / "out", "zoo")
    before, after = contents(tree), contents(tmp_path / "out")
    assert {path: after.get(path) for path in before} == before
    assert {path.partition("/")[0] for path in after.keys() - before.keys()} == {"queries"}
    assert written.renamed == []
    again = import_tree(engine, tmp_path / "out", "again", lambda *_: None)
    assert (again.pages["in_all"], again.remarks == []) == (12, False)


def test_indices_name_pages_under_their_terms(
    engine: sa.Engine, tree: Path, tmp_path: Path
) -> None:
    import_tree(engine, tree, None, lambda *_: None)
    export(engine, tmp_path / "out", "zoo")
    assert (tmp_path / "out/queries/by-technique.md").read_bytes() == b"theirs\n"
    assert (tmp_path / "out/queries/by-kernel-type.md").read_text() == (
        "# Pages by kernel type\n\n## gemm (3)\n\n"
        "- `contest-stripes` [source-contest] Stripes\n"
        "- `pr-kernels-7` [source-pr] Fast path\n"
        "- `kernel-okapi` [wiki-kernel] Okapi kernel\n"
    )
    assert "acme/kernels (1)" in (tmp_path / "out/queries/by-repo.md").read_text()


def test_the_seeds_in_the_same_form(engine: sa.Engine, tmp_path: Path) -> None:
    export(engine, tmp_path / "out", "seed")
    _, text, body = split((tmp_path / "out/wiki/hardware/hw-tma.md").read_bytes())
    head = yaml.safe_load(text or "")
    assert (head["id"], head["type"]) == ("hw-tma", "hardware")
    assert "sm90" in head["architectures"]
    assert {"tma", "mbarrier"} <= set(head["hardware_features"]) <= set(head["tags"])
    assert body.strip()
    tags = yaml.safe_load((tmp_path / "out/data/tags.yaml").read_text())
    assert "tma" in tags["hardware_features"]
    summary = import_tree(engine, tmp_path / "out", "back", lambda *_: None)
    assert [one.reason for one in summary.remarks if one.kind == "page"] == []


def harvested(engine: sa.Engine, repository: GitRepository, tmp_path: Path) -> str:
    sha = repository.commit(
        "Add tcgen05 GEMM for sm100 (#12)\n\nUses UMMA.", {"csrc/gemm/umma_gemm.cu": "x"}
    )
    with write_transaction(engine) as connection:
        add_repository(connection, "kernels", "acme/kernels", "squash")
        row: dict[str, Any] = find_repository(connection, "acme/kernels") or {}
        known_as = repository_names(connection, row["id"])
    names = ("id", "slug", "full_name", "landing", "default_branch")
    chosen = RepositoryRow(**{name: row[name] for name in names})
    settings = Settings("", (tmp_path / "remotes").as_uri(), "", tmp_path / "cache")
    harvest(Job(engine, settings, chosen, known_as, Options(), lambda *_: None))
    return sha


def test_harvested_pull_requests_have_dates_sha_and_evidence(
    engine: sa.Engine, git_repository: GitRepository, tmp_path: Path
) -> None:
    sha = harvested(engine, git_repository, tmp_path)
    written = export(engine, tmp_path / "out", "harvest")
    assert written.files["pull request"] == 1
    _, text, body = split((tmp_path / "out/sources/prs/kernels/PR-12.md").read_bytes())
    head = yaml.safe_load(text or "")
    assert (head["merge_sha"], head["status"], head["pr"]) == (sha, "merged", 12)
    assert head["landed_at"].startswith(head["date"])
    assert head["changed_paths"] == ["csrc/gemm/umma_gemm.cu"]
    assert head["architectures"] == ["sm100"]
    assert {"tag": "sm100", "basis": "exact"}.items() <= next(
        one for one in head["evidence"] if one["tag"] == "sm100"
    ).items()
    assert b"Uses UMMA." in body


def test_a_page_that_only_the_harvest_has_left_is_its_again(
    engine: sa.Engine, git_repository: GitRepository, tmp_path: Path
) -> None:
    harvested(engine, git_repository, tmp_path)
    theirs = "---\nid: pr-kernels-12\ntitle: Theirs\n---\n"
    tree = write(tmp_path / "fork", {"sources/prs/kernels/PR-12.md": theirs, "wiki/a.md": "x"})
    query = sa.text("SELECT title, is_retired FROM pages WHERE id = 'pr-kernels-12'")
    titles = []
    for step in (lambda: None, (tree / "sources/prs/kernels/PR-12.md").unlink):
        step()
        import_tree(engine, tree, None, lambda *_: None)
        with engine.connect() as connection:
            row = connection.execute(query).one()
        titles.append((row.title, bool(row.is_retired)))
    assert titles == [("Theirs", False), ("Add tcgen05 GEMM for sm100", False)]


def test_everything_at_once(engine: sa.Engine, tree: Path, tmp_path: Path) -> None:
    import_tree(engine, tree, None, lambda *_: None)
    export(engine, tmp_path / "all")
    found = contents(tmp_path / "all")
    assert found["wiki/kernels/okapi.md"] == (tree / "wiki/kernels/okapi.md").read_bytes()
    assert found["corpora/zoo/candidates/kernels.yaml"]
    assert b"Theirs" not in found["wiki/hardware/hw-tma.md"]


def test_nothing_is_overwritten_or_half_written(engine: sa.Engine, tmp_path: Path) -> None:
    place = write(tmp_path / "full", {"a": "x"})
    with pytest.raises(UserError, match="is not empty"):
        export(engine, place)
    with pytest.raises(UnknownValueError, match="unknown corpus 'zoo'"):
        export(engine, tmp_path / "new", "zoo")
    assert contents(tmp_path)["full/a"] == b"x"
    assert not (tmp_path / "new").exists()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_command_line(
    new_database: Callable[[str | None], str],
    template: Callable[[str, bool], str],
    engine_name: str,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KWDB_DATABASE_URL", new_database(template(engine_name, True)))
    program = str(Path(sys.executable).with_name("kwdb"))

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)

    done = call("import", "kernelwiki", str(tree))
    assert (done.returncode, done.stderr.splitlines()[-1][-12:]) == (0, "rows written")
    assert "page  wiki/ks/deep/SKILL.md: no id in the front matter" in done.stdout
    assert call("export", "kernelwiki", str(tmp_path / "o"), "--corpus", "zoo").returncode == 0
    shown = call("show", "kernel-okapi", "--include-code", "--follow-sources")
    assert "__global__ void okapi" in shown.stdout
    found = call("grep", "okapi\\(", "--only", "artifacts", "--json")
    assert '"line": 1' in found.stdout
    wrong = call("import", "kernelwiki", str(tmp_path / "none"))
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
