"""Who asks. A token is read, sent to GitHub and forgotten: never logged, stored or shown."""

import hashlib
import shutil
import subprocess
from urllib.parse import urlsplit

from kwdb.config import Settings
from kwdb.errors import ConfigError

_GITHUB_API = "api.github.com"


def find_token(settings: Settings) -> str | None:
    """Return GITHUB_TOKEN, else the token that the program gh holds for this host, else None.

    Raises:
        ConfigError: GITHUB_TOKEN holds what no token can.
    """
    token = (settings.github_token or "").strip() or _ask_gh(settings.github_api_url)
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ConfigError("GITHUB_TOKEN holds blanks or signs that no token has: set it again")
    return token


def _ask_gh(api_url: str) -> str | None:
    """Ask gh for the token of this host alone: no other server may see GitHub's."""
    program = shutil.which("gh")
    if program is None:
        return None
    host = urlsplit(api_url).hostname or _GITHUB_API
    name = "github.com" if host == _GITHUB_API else host
    try:
        done = subprocess.run(
            [program, "auth", "token", "--hostname", name],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.decode("ascii", "replace").strip()
    return said if done.returncode == 0 and said else None


def token_id(token: str | None) -> str:
    """Return the name under which ETags of a token are kept: a digest; empty for none."""
    return hashlib.sha256(token.encode()).hexdigest()[:16] if token else ""
