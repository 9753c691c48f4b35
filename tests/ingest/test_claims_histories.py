"""Every claim of the real histories stands where it says, where these are present.

`KWDB_HISTORIES` names a directory with unpacked repositories, OWNER/NAME.git; without it the small
ones are unpacked from the shared data beside this checkout.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.claims import extract
from ingest.claims.plausible import disputed

UNPACKED = os.environ.get("KWDB_HISTORIES")
SHARED = Path(__file__).resolve().parents[3] / "shared"
SMALL = ("cutlass", "deepgemm")

pytestmark = [
    pytest.mark.histories,
    pytest.mark.skipif(
        not UNPACKED and not (SHARED / "data" / "histories").is_dir(),
        reason="the real histories are not here",
    ),
]


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if UNPACKED:
        return Path(UNPACKED)
    directory = tmp_path_factory.mktemp("histories")
    tool = SHARED / "tools" / "unpack-histories"
    subprocess.run([tool, directory, *SMALL], check=True, capture_output=True)
    return directory


def messages(repository: Path) -> Iterator[tuple[str, str]]:
    """Title and body of each commit."""
    command = ["git", "-C", str(repository), "log", "-z", "--format=%B"]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    for message in text.decode("utf-8", "backslashreplace").split("\0"):
        title, _, body = message.partition("\n")
        yield title, body


def test_every_evidence_stands_at_its_line(histories: Path) -> None:
    found = doubted = 0
    for repository in sorted(histories.glob("*/*.git")):
        for title, body in messages(repository):
            lines = [title, *body.split("\n")]
            claims = extract(title, body)
            for claim in claims:
                line = claim.evidence.line or 0
                assert claim.evidence.text.split("\n")[0] in lines[line]
                assert claim.evidence.text in "\n".join(lines[line : line + 4])
            found += len(claims)
            doubted += len(disputed(claims))
    assert found > (20_000 if UNPACKED else 10)
    assert doubted <= found / 100
