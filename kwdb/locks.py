"""One process at a time: a lock that its holder's death releases."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kwdb.errors import ConfigError, UserError


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path`; `what` names the work in messages.

    The kernel releases the lock when the process ends, however it ends.

    Raises:
        UserError: another process holds it; nothing is waited for.
        ConfigError: the file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("w")
    except OSError as exc:
        raise ConfigError(f"cannot write {path}: {exc.strerror}") from exc
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise UserError(f"another kwdb is at work on {what}: wait until it ends") from exc
        yield
