"""docs/operating.md: its commands run, its units are valid, its messages are those of the code."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from emulator import Emulator
from gitrepo import GitRepository

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (kwdb .+)$", PAGE, re.MULTILINE)
UNITS = re.findall(r"`~/\.config/systemd/user/([\w.-]+)`.*?```ini\n(.*?)```", PAGE, re.DOTALL)
CRON_LINES = re.search(r"```cron\n(.*?)```", PAGE, re.DOTALL)
MESSAGES = re.findall(r"^\| `([^`…]+)", PAGE.partition("## When it says")[2], re.MULTILINE)


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = re.findall(r"full_name: (\S+)", (ROOT / "seeds" / "repositories.yaml").read_text())
    with Emulator().running() as github:
        for name in names:
            GitRepository(tmp_path / "git" / name).commit("Add a kernel (#1)", {"a.cu": "1"})
            github.world.add(name).open("Add a kernel")
        monkeypatch.setenv("KWDB_DATABASE_URL", f"sqlite:///{tmp_path}/k.sqlite")
        monkeypatch.setenv("KWDB_CLONE_BASE", (tmp_path / "git").as_uri())
        monkeypatch.setenv("KWDB_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("KWDB_GITHUB_API_URL", github.url)
        program = str(Path(sys.executable).with_name("kwdb"))
        assert len(COMMANDS) >= 6
        for command in ["kwdb init", *COMMANDS]:
            done = subprocess.run(
                [program, *shlex.split(command)[1:]],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_the_units_are_valid(tmp_path: Path) -> None:
    assert [name for name, _ in UNITS] == ["kwdb-refresh.service", "kwdb-refresh.timer"]
    program = str(Path(sys.executable).with_name("kwdb"))
    for name, text in UNITS:
        (tmp_path / name).write_text(text.replace("%h/kwdb/.venv/bin/kwdb", program))
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / name) for name, _ in UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "kwdb-refresh" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_cron_lines_have_five_fields_and_no_percent_sign() -> None:
    """Cron takes a bare percent sign for the end of the command."""
    assert CRON_LINES is not None
    for line in CRON_LINES[1].splitlines():
        assert re.fullmatch(r"\d+ \d+ [\d*]+ \* \* [^%]+kwdb refresh( --full)?", line), line


def test_every_message_of_the_page_is_one_of_the_code() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for room in ("kwdb", "ingest")
        for path in (ROOT / room).rglob("*.py")
    )
    flat = re.sub(r'"\s*f?"', "", code)
    parts = {
        "another kwdb is at work on refresh": "another kwdb is at work on {what}",
        "GitHub's limit of 60 requests an hour is reached": "requests an hour is reached",
        "git ls-remote failed": "git {arguments[0]} failed",
        "pulls #123: GitHub's item cannot be read": "GitHub's item cannot be read",
    }
    assert len(MESSAGES) >= 12
    missing = [m for m in MESSAGES if parts.get(m, m.strip().rstrip(";")).strip() not in flat]
    assert missing == []
