"""The query of an agent, in a process of its own: what a step of SQLite does cannot be timed.

`instr` or LIKE over millions of signs is one step, which neither the progress handler nor
another thread can end; the server ends the process. Nothing else is imported here, so that a new
process is ready at once.
"""

from typing import Final

from kwdb.door import Answer, read_only_query
from kwdb.errors import UserError

_MOST_BYTES: Final = 256 << 10


def run_query(url: str, query: str, limit: int, seconds: float) -> Answer | str:
    """Return the answer, or in one line why there is none."""
    try:
        return read_only_query(url, query, limit=limit, timeout_s=seconds, max_bytes=_MOST_BYTES)
    except UserError as exc:
        return str(exc)
