"""Every tag of real histories shows a text that stands where it says, where they are present.

Two of the histories are read by default; KWDB_TEST_HISTORIES=all reads each of them.
"""

import lzma
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.classify import classify
from kwdb.records import Change, Evidence

HISTORIES = Path(__file__).resolve().parents[3] / "shared" / "data" / "histories"
QUICK = {"deepgemm", "cutlass"}
FOUND = sorted(path.name.partition(".")[0] for path in HISTORIES.glob("*.fi.xz"))
READ = [name for name in FOUND if name in QUICK or os.environ.get("KWDB_TEST_HISTORIES") == "all"]


def changes(repository: Path) -> Iterator[Change]:
    words = ["git", "log", "--all", "--first-parent", "-m", "--no-renames", "--name-only", "-z"]
    said = subprocess.run(
        [*words, "--format=%x01%B%x02"], cwd=repository, capture_output=True, check=True
    ).stdout
    for record in said.decode("utf-8", "backslashreplace").split("\x01")[1:]:
        message, _, files = record.partition("\x02")
        title, _, body = message.partition("\n")
        yield Change("o/r", 1, title, body, tuple(x for x in files.strip("\0\n").split("\0") if x))


def stands(change: Change, evidence: Evidence) -> bool:
    if evidence.where == "path":
        return evidence.path in change.paths and evidence.text in str(evidence.path)
    if evidence.where == "title":
        return evidence.text in change.title
    return evidence.text in change.body.split("\n")[(evidence.line or 0) - 1]


@pytest.mark.skipif(not FOUND, reason="no histories here")
@pytest.mark.parametrize("name", READ)
def test_the_evidence_of_every_tag_stands_where_it_says(name: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)
    stream = lzma.decompress((HISTORIES / f"{name}.fi.xz").read_bytes())
    subprocess.run(["git", "fast-import", "--quiet"], input=stream, cwd=tmp_path, check=True)
    count = 0
    for change in changes(tmp_path):
        verdict = classify(change)
        names = {tag.name for tag in verdict.tags}
        for tag in verdict.tags:
            count += 1
            assert tag.implied_by in names or (tag.evidence and stands(change, tag.evidence)), tag
        assert verdict.evidence is None or stands(change, verdict.evidence)
    assert count > 0
