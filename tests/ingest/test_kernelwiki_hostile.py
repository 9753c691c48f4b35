"""A hostile tree: refused or stored, each with one line, and nothing outside it is read."""

import os
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from kernelwiki_tree import make_tree, write

from ingest.kernelwiki import tree as walking
from ingest.kernelwiki.importing import Summary, import_tree
from ingest.kernelwiki.tree import head_revision, read, walk
from kwdb.errors import UserError

BOMB = "a: &a0 [x,x]\n" + "".join(f"b{i}: &a{i} [*a{i - 1},*a{i - 1}]\n" for i in range(1, 40))


def hostile(root: Path, outside: Path) -> Path:
    make_tree(root)
    write(
        root,
        {
            "wiki/kernels/twice.md": "---\nid: kernel-okapi\n---\n",
            "wiki/kernels/slash.md": "---\nid: ../../etc/passwd\n---\n",
            "wiki/kernels/bomb.md": f"---\n{BOMB}---\nbody\n",
            "wiki/kernels/deep.md": f"---\na: {'[' * 9_000}\n---\n",
            "wiki/kernels/binary.md": bytes(range(256)) * 64,
            "candidates/odd.yaml": "prs:\n- 5\n- {number: -1, decision: include}\n",
            "data/tags.yaml": "a: &a [*a]\n",
        },
    )
    (root / "wiki/link.md").symlink_to(outside / "secret.md")
    (root / "wiki/up").symlink_to(outside, target_is_directory=True)
    os.mkfifo(root / "wiki/kernels/pipe.md")
    (root / os.fsdecode(b"wiki/\xff.md")).write_bytes(b"x")
    with (root / "wiki/huge.md").open("wb") as huge:
        huge.truncate(100 << 20)
    return root


@pytest.fixture
def summary(engine: sa.Engine, tmp_path: Path) -> Summary:
    outside = write(tmp_path / "outside", {"secret.md": "---\nid: kernel-secret\n---\nsecret\n"})
    return import_tree(engine, hostile(tmp_path / "zoo", outside), None, lambda *_: None)


def test_each_has_one_line(summary: Summary) -> None:
    found = {(one.path, one.kind): one.reason for one in summary.remarks}
    assert {
        place: found[place]
        for place in found
        if place[0].startswith(("wiki/link", "wiki/up", "wiki/huge", "wiki/\\", "wiki/kernels/p"))
    } == {
        ("wiki/link.md", "refused"): "a symbolic link; links are not followed",
        ("wiki/up", "refused"): "a symbolic link; links are not followed",
        ("wiki/huge.md", "too large"): "104857600 bytes, over the limit of 4194304; not read",
        ("wiki/\\xff.md", "refused"): "its name is not UTF-8",
        ("wiki/kernels/pipe.md", "refused"): "no regular file",
    }
    for place, part in (
        (("wiki/kernels/twice.md", "duplicate id"), "'kernel-okapi' is wiki/kernels/okapi.md"),
        (("wiki/kernels/bomb.md", "page"), "values once its aliases are followed"),
        (("wiki/kernels/deep.md", "page"), "no YAML"),
        (("wiki/kernels/binary.md", "binary"), "kept as it is"),
        (("data/tags.yaml", "vocabulary"), "contains itself"),
    ):
        assert part in found[place]
    assert max(Counter((one.path, one.reason) for one in summary.remarks).values()) == 1
    assert not summary.is_complete


def test_nothing_outside_is_stored(engine: sa.Engine, summary: Summary) -> None:
    assert summary.pages["in_all"] == 11
    queries = (
        "SELECT body FROM page_versions",
        "SELECT content FROM corpus_files WHERE content IS NOT NULL",
        "SELECT content FROM bundle_files WHERE content IS NOT NULL",
    )
    with engine.connect() as connection:
        for query in queries:
            for (content,) in connection.exec_driver_sql(query):
                assert b"secret\n" not in bytes(content)
                assert b"root:" not in bytes(content)
        ids = "SELECT id FROM pages WHERE id IN ('../../etc/passwd', 'kernel-secret')"
        assert list(connection.exec_driver_sql(ids).scalars()) == ["../../etc/passwd"]


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    root = write(tmp_path / "zoo", {"wiki/a.md": "x"})
    (file,) = walk(root).files.values()
    file.place.unlink()
    file.place.symlink_to("/etc/passwd")
    assert read(file).kind == "unreadable"  # type: ignore[union-attr]


def test_a_tree_of_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "MOST_FILES", 3)
    with pytest.raises(UserError, match="more than 3 files"):
        walk(write(tmp_path, {f"wiki/{n}.md": "x" for n in range(5)}))


@pytest.mark.parametrize(
    ("head", "ref", "found"),
    [
        ("ref: refs/heads/main\n", "ab" * 20, "ab" * 20),
        ("cd" * 20, "", "cd" * 20),
        ("ref: refs/../../../secret\n", "", None),
        ("nonsense", "", None),
    ],
)
def test_the_commit_of_a_checkout(tmp_path: Path, head: str, ref: str, found: str | None) -> None:
    write(tmp_path, {".git/HEAD": head, ".git/refs/heads/main": ref, "wiki/a.md": "x"})
    assert head_revision(tmp_path) == found
    assert list(walk(tmp_path).files) == ["wiki/a.md"]
