"""Where migrations and seeds live: inside the installed wheel, else at the root of the checkout."""

from pathlib import Path

from kwdb.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent


def data_dir(name: str) -> Path:
    """Return the directory `name` ("migrations", "seeds") that belongs to this installation.

    Raises:
        ConfigError: neither place has it, so the installation is damaged.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise ConfigError(f"no directory {name!r} beside {_PACKAGE}: reinstall kwdb")
