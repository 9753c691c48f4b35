"""Settings: the only reader of the environment.

| variable              | default                                | meaning                         |
|-----------------------|----------------------------------------|---------------------------------|
| `KWDB_DATABASE_URL`   | SQLite file in the user data directory | where the database is           |
| `KWDB_CLONE_BASE`     | `https://github.com`                   | where repositories are cloned   |
| `KWDB_GITHUB_API_URL` | `https://api.github.com`               | where the API is asked          |
| `GITHUB_TOKEN`        | none                                   | token for the API; never stored |
| `KWDB_CACHE_DIR`      | the user cache directory               | git mirrors                     |
| `KWDB_MCP_TOKEN`      | none                                   | token that agents must show     |
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import platformdirs

from kwdb.errors import ConfigError

ENGINES = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that comes from outside the program; tokens are left out of its repr."""

    database_url: str
    clone_base: str
    github_api_url: str
    cache_dir: Path
    github_token: str | None = field(default=None, repr=False)
    mcp_token: str | None = field(default=None, repr=False)


def load_settings() -> Settings:
    """Read the environment once.

    Raises:
        ConfigError: the database URL names an engine that kwdb does not know.
    """
    return Settings(
        database_url=complete_url(os.environ.get("KWDB_DATABASE_URL", "")),
        clone_base=(os.environ.get("KWDB_CLONE_BASE") or "https://github.com").rstrip("/"),
        github_api_url=(os.environ.get("KWDB_GITHUB_API_URL") or "https://api.github.com").rstrip(
            "/"
        ),
        cache_dir=Path(os.environ.get("KWDB_CACHE_DIR") or platformdirs.user_cache_dir("kwdb")),
        github_token=os.environ.get("GITHUB_TOKEN") or None,
        mcp_token=os.environ.get("KWDB_MCP_TOKEN") or None,
    )


def complete_url(url: str) -> str:
    """Complete a database URL: empty means the default file, psycopg is PostgreSQL's driver.

    Raises:
        ConfigError: it is no URL of an engine that kwdb knows.
    """
    if not url:
        return f"sqlite:///{quote(platformdirs.user_data_dir('kwdb'))}/kwdb.sqlite"
    engine = url.split(":", 1)[0].split("+", 1)[0]
    if engine == "postgres":
        engine = "postgresql"
    if engine not in ENGINES or "://" not in url:
        raise ConfigError(
            f"database URL {_without_password(url)!r} is not understood; allowed: "
            "sqlite:///FILE, postgresql://USER@HOST/NAME"
        )
    if engine == "postgresql":
        return "postgresql+psycopg://" + url.split("://", 1)[1]
    return url


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.split(':', 2)[0]}://…@{tail}" if at else url
