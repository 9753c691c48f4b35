"""Pure functions over many rows, on all cores, some batches ahead of whoever stores the results."""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import cache
from multiprocessing.util import Finalize
from typing import TypeVar

Row = TypeVar("Row")
Result = TypeVar("Result")

# A process of its own takes half a second to start; less work than this is done sooner here.
_WORTH_A_PROCESS = 200
_CHUNK = 50
_AHEAD = 3


def computed(
    function: Callable[[Row], Result], batches: Iterable[Sequence[Row]]
) -> Iterator[tuple[Sequence[Row], list[Result]]]:
    """Yield each batch with what `function` makes of its rows, in order.

    Large batches are worked on by other processes, while the caller is busy with those before;
    `function`, rows and results must be picklable then. What it raises is raised here.
    """
    ahead: deque[tuple[Sequence[Row], list[Future[list[Result]]]]] = deque()
    try:
        for batch in batches:
            ahead.append((batch, _submit(function, batch)))
            if len(ahead) > _AHEAD:
                yield _collected(function, *ahead.popleft())
        while ahead:
            yield _collected(function, *ahead.popleft())
    finally:
        for _, futures in ahead:
            for future in futures:
                future.cancel()


def _submit(function: Callable[[Row], Result], batch: Sequence[Row]) -> list[Future[list[Result]]]:
    if len(batch) < _WORTH_A_PROCESS or _cores() < 2 or multiprocessing.current_process().daemon:
        return []
    parts = (batch[start : start + _CHUNK] for start in range(0, len(batch), _CHUNK))
    try:
        return [_processes().submit(_each, function, part) for part in parts]
    except (OSError, NotImplementedError, BrokenExecutor):  # no shared memory, no process to be had
        _processes.cache_clear()
        return []


def _collected(
    function: Callable[[Row], Result], batch: Sequence[Row], futures: list[Future[list[Result]]]
) -> tuple[Sequence[Row], list[Result]]:
    try:
        found = [result for future in futures for result in future.result()]
    except BrokenExecutor:  # a process was killed, for want of memory as a rule
        _processes.cache_clear()
        futures = []
    return batch, found if futures else _each(function, batch)


def _each(function: Callable[[Row], Result], rows: Sequence[Row]) -> list[Result]:
    return [function(row) for row in rows]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


@cache
def _processes() -> ProcessPoolExecutor:
    # Spawned, because a fork would share open databases and locks of threads.
    context = multiprocessing.get_context("spawn")
    processes = ProcessPoolExecutor(_cores(), context, _begin, (os.getpid(),))
    # A process that multiprocessing started waits for its children before concurrent.futures,
    # which only knows the end of the interpreter, would tell them to go. Queues close at 10.
    Finalize(None, processes.shutdown, kwargs={"cancel_futures": True}, exitpriority=20)
    return processes


def _begin(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
