"""The query of an agent, in a process of its own: what one step of SQLite does cannot be timed.

`instr` or LIKE over millions of signs is one step, which neither the progress handler nor
another thread can end, but ending the process does. Requests and answers are JSON, one a line;
the address of the database goes that way too, because others can read a command line.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Final

from kwdb.door import read_only_query
from kwdb.errors import UserError
from kwdb.jsonable import as_json

_MOST_BYTES: Final = 256 << 10
_AT_ONCE: Final = 4
_GRACE_SECONDS: Final = 1

Answer = dict[str, Any]
"""Columns, rows and is_complete; or `refused` with one line."""


class Queries:
    """Runs queries in processes that are kept for the next ones; four at once, others wait."""

    def __init__(self, url: str, seconds: float) -> None:
        self._request = {"url": url, "seconds": seconds}
        self._seconds = seconds
        self._idle: list[subprocess.Popen[bytes]] = []
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def ask(self, query: str, limit: int) -> Answer:
        """Return the answer to one reading statement, or why there is none."""
        end = time.monotonic() + self._seconds
        request = json.dumps(self._request | {"query": query, "limit": limit}).encode()
        with self._places:
            process = self._idle.pop() if self._idle else _start()
            said = _talk(process, request + b"\n", self._seconds + _GRACE_SECONDS)
            if not said:
                _end(process)
                return {"refused": self._why(time.monotonic() > end)}
            self._idle.append(process)
        # SQL knows NaN and infinity, JSON does not.
        answer: Answer = json.loads(said, parse_constant=str)
        return answer

    def _why(self, is_late: bool) -> str:
        if is_late:
            return f"the query took over {self._seconds:g} s: narrow it"
        return "the query used up memory or met a bug: narrow it"

    def close(self) -> None:
        """End the processes that wait for a query."""
        while self._idle:
            _end(self._idle.pop())


def _start() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", "from kwdb.mcp.query import main; main()"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _talk(process: "subprocess.Popen[bytes]", request: bytes, seconds: float) -> bytes:
    """Return the line that answers; nothing where the process ended, or was ended in time."""
    assert process.stdin
    assert process.stdout
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write(request)
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return b""
    finally:
        timer.cancel()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


def main() -> None:
    """Answer the requests on standard input until it ends."""
    # Ctrl-C goes to the server, whose end closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        answer = json.dumps(_answer(**json.loads(line)), default=as_json)
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


def _answer(url: str, query: str, limit: int, seconds: float) -> Answer:
    try:
        found = read_only_query(url, query, limit=limit, timeout_s=seconds, max_bytes=_MOST_BYTES)
    except UserError as exc:
        return {"refused": str(exc)}
    return {"columns": found.columns, "rows": found.rows, "is_complete": found.is_complete}
