from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup

from kwdb.cli.app import app
from kwdb.schema_reference import render_schema_reference

ROOT = Path(__file__).resolve().parents[1]


def commands(group: TyperGroup, prefix: str = "kwdb") -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{prefix} {name}")
        else:
            assert isinstance(command, TyperCommand)
            yield f"{prefix} {name}", command


GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
COMMANDS = dict(commands(GROUP))


def test_the_schema_reference_is_current() -> None:
    shown = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    assert shown == render_schema_reference(), 'run "make docs"'


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does(name: str) -> None:
    text = (COMMANDS[name].help or "").strip()
    assert text.split("\n")[0].endswith((".", ":"))
    assert len(text.split()) >= 4


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    silent = [
        parameter.name
        for parameter in COMMANDS[name].params
        if not getattr(parameter, "help", None) and parameter.name != "help"
    ]
    assert silent == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_or_the_docs_name_every_command(name: str) -> None:
    texts = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert any(name in path.read_text(encoding="utf-8") for path in texts)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120
