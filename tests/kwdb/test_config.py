from pathlib import Path

import pytest

from kwdb.config import Settings, load_settings
from kwdb.db import shown_url, sqlite_path
from kwdb.errors import ConfigError


def test_defaults(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert load_settings() == Settings(
        database_url=f"sqlite:///{home}/data/kwdb/kwdb.sqlite",
        clone_base="https://github.com",
        github_api_url="https://api.github.com",
        cache_dir=home / "cache" / "kwdb",
        github_token=None,
    )


def test_everything_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "KWDB_DATABASE_URL": "sqlite:////srv/k.sqlite",
        "KWDB_CLONE_BASE": "file:///srv/git/",
        "KWDB_GITHUB_API_URL": "http://localhost:8000/",
        "KWDB_CACHE_DIR": "/srv/cache",
        "GITHUB_TOKEN": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    assert load_settings() == Settings(
        "sqlite:////srv/k.sqlite",
        "file:///srv/git",
        "http://localhost:8000",
        Path("/srv/cache"),
        "secret",
    )


@pytest.mark.parametrize(
    "name",
    [
        "KWDB_DATABASE_URL",
        "KWDB_CLONE_BASE",
        "KWDB_GITHUB_API_URL",
        "KWDB_CACHE_DIR",
        "GITHUB_TOKEN",
    ],
)
def test_empty_means_unset(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    default = load_settings()
    monkeypatch.setenv(name, "")
    assert load_settings() == default


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("postgres://me@host/db", "postgresql+psycopg://me@host/db"),
        ("postgresql://me:pw@host/db", "postgresql+psycopg://me:pw@host/db"),
        ("postgresql+psycopg://me@/db?host=/run", "postgresql+psycopg://me@/db?host=/run"),
        ("sqlite:///relative.sqlite", "sqlite:///relative.sqlite"),
    ],
)
def test_database_url_is_completed(given: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWDB_DATABASE_URL", given)
    assert load_settings().database_url == url


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("mysql://me:secret@host/db", "mysql://…@host/db"),
        ("mysql://host/db", "mysql://host/db"),
        ("postgresql:db", "postgresql:db"),
        ("/srv/k.sqlite", "/srv/k.sqlite"),
        ("oracle://a:secret@b:secret@host/db", "oracle://…@host/db"),
    ],
)
def test_a_strange_url_is_refused_without_its_password(
    given: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KWDB_DATABASE_URL", given)
    with pytest.raises(ConfigError, match="allowed: sqlite:///FILE, postgresql://USER") as caught:
        load_settings()
    assert repr(shown) in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_token_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    assert "ghp_secret" not in repr(load_settings())


def test_the_password_is_never_shown() -> None:
    assert shown_url("postgresql+psycopg://me:secret@host/db") == (
        "postgresql+psycopg://me:***@host/db"
    )


@pytest.mark.parametrize("name", ["plain", "with blank", "100%25", "what?", "Ünï"])
def test_the_default_file_lies_in_the_data_directory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / name))
    found = sqlite_path(load_settings().database_url)
    assert found == tmp_path / name / "kwdb" / "kwdb.sqlite"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////srv/k.sqlite", Path("/srv/k.sqlite")),
        ("sqlite:///k.sqlite", Path("k.sqlite")),
        ("sqlite:////srv/a%20b.sqlite", Path("/srv/a b.sqlite")),
        ("sqlite:////srv/k.sqlite?mode=ro", Path("/srv/k.sqlite")),
        ("sqlite://", None),
        ("sqlite:///:memory:", None),
        ("postgresql+psycopg://me@host/db", None),
    ],
)
def test_sqlite_path(url: str, path: Path | None) -> None:
    assert sqlite_path(url) == path
