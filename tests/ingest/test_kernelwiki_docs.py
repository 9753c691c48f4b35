"""The commands of docs/kernelwiki.md, in order, on a small tree."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from kernelwiki_tree import make_tree

PAGE = (Path(__file__).parents[2] / "docs" / "kernelwiki.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (kwdb .*?)(?:  +#.*)?$", PAGE, re.MULTILINE)


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(os.environ["HOME"])
    for name in ("KernelWiki", "fork"):
        make_tree(home / name)
    monkeypatch.setenv("KWDB_DATABASE_URL", f"sqlite:///{tmp_path}/k.sqlite")
    monkeypatch.chdir(tmp_path)
    program = str(Path(sys.executable).with_name("kwdb"))
    assert len(COMMANDS) == 9
    for command in ("kwdb init", *COMMANDS):
        words = [os.path.expanduser(word) for word in shlex.split(command)[1:]]  # noqa: PTH111
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        expected = 1 if words[0] == "check" else 0  # the tree has faults on purpose
        assert done.returncode == expected, f"{command}: {done.stderr}"
        assert "Traceback" not in done.stderr
