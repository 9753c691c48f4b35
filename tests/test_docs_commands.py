"""The commands that the pages on check and diagnose show run, on a fresh database."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
TEXTS = [(DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("check", "diagnose")]
COMMANDS = re.findall(r"^    (kwdb .*?)(?:  #.*)?$", "\n".join(TEXTS), re.M)


def test_every_command_of_the_pages_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWDB_DATABASE_URL", f"sqlite:///{tmp_path}/k.sqlite")
    program = str(Path(sys.executable).with_name("kwdb"))
    assert len(COMMANDS) >= 6
    for command in ("kwdb init", *COMMANDS):
        done = subprocess.run(
            [program, *shlex.split(command)[1:]], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), f"{command}: {done}"
