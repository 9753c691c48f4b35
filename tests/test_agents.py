"""What SKILL.md and docs/agents.md show is run here, and answers something on the seeds alone."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parents[1]
SKILL = (ROOT / "SKILL.md").read_text(encoding="utf-8")
AGENTS = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (kwdb .+)$", SKILL, re.MULTILINE)
PROGRAM = str(Path(sys.executable).with_name("kwdb"))


@pytest.fixture(autouse=True)
def seeded(template: Callable[[str, bool], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWDB_DATABASE_URL", f"sqlite:///{template('sqlite', True)}")


def names_of_tools() -> set[str]:
    from kwdb.mcp.tools import Tools

    return {name for name in vars(Tools) if not name.startswith("_")}


def test_the_head_of_the_skill_says_when_to_use_it() -> None:
    _, head, _ = SKILL.split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["name"] == "kwdb"
    assert 100 < len(fields["description"]) <= 1024


@pytest.mark.parametrize("text", [SKILL, AGENTS], ids=["SKILL.md", "agents.md"])
def test_every_tool_is_described(text: str) -> None:
    assert set(re.findall(r"^\| .*?`(\w+)` \|", text, re.MULTILINE)) == names_of_tools()


def answers(found: Any) -> bool:
    """Whether a document holds at least one thing that was asked for."""
    if "total" in found:
        return bool(found["total"])
    return any(found.get(name) for name in ("rows", "body", "matches", "evidence", "repositories"))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_skill_answers(command: str) -> None:
    done = subprocess.run(
        [PROGRAM, *shlex.split(command)[1:]], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert answers(json.loads(done.stdout))


def test_the_configuration_shown_starts_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = json.loads(re.findall(r"```json\n(.+?)```", AGENTS, re.DOTALL)[0])["mcpServers"]["kwdb"]
    assert shown["command"] == "kwdb"

    async def ask() -> set[str]:
        server = StdioServerParameters(command=PROGRAM, args=shown["args"], env=environment())
        async with Client(server) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert anyio.run(ask) == names_of_tools()


def environment() -> dict[str, str]:

    wanted = ("KWDB_DATABASE_URL", "PYTHONPATH")
    return {name: os.environ[name] for name in wanted if name in os.environ}


def test_the_command_shown_starts_the_server_over_http() -> None:
    (command,) = re.findall(r"^    (kwdb mcp .+)$", AGENTS, re.MULTILINE)
    arguments = shlex.split(command.replace("8765", "0"))[1:]
    with subprocess.Popen([PROGRAM, *arguments], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        assert "agents are answered at http://127.0.0.1:" in server.stderr.readline()
        server.kill()
