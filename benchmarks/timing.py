"""Timing that holds against frauds: cold, over rotated input sets, by two methods.

The headline is a CUDA graph of one launch per input set, all of them different data at different
addresses that together are over five times L2, timed from outside and divided by their number.
The cross-check is single launches, each after a flush of twice L2; the flush keeps the stream
busy while the host queues the launch, so that the launch itself is not timed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.case import GpuCase
from benchmarks.figures import Summary, summarize
from benchmarks.gpu import Gpu

WARM_UP_S: Final = 1.0
"""A ramping clock makes one kernel 20 or 9 us (kekzl/imp#1469): a second of the same work first."""
LEAST_SAMPLES: Final = 30
MOST_SAMPLES: Final = 2000
TIME_CAP_S: Final = 5.0
HALF_WIDTH: Final = 0.002
SINGLE_SAMPLES: Final = 60


@dataclass(frozen=True, slots=True)
class Timed:
    """Samples of one method in microseconds a call, and their description."""

    method: str
    cache_state: str
    samples: tuple[float, ...]
    summary: Summary


@dataclass(frozen=True, slots=True)
class Replays:
    """Graph timing: samples, the graph, and how long host clock and events say it all took."""

    timed: Timed
    graph: Any
    event_us: float
    wall_us: float


def time_graph(gpu: Gpu, case: GpuCase) -> Replays:
    """Time replays of a graph with one launch on each input set."""

    def record() -> None:
        for index in range(case.sets):
            case.launch(index)

    graph = gpu.capture(record)
    _warm_up(gpu, lambda: gpu.replay(graph))
    start, stop = gpu.event(), gpu.event()
    samples: list[float] = []
    begun = time.perf_counter()
    while not _is_enough(samples, begun):
        gpu.record(start)
        gpu.replay(graph)
        gpu.record(stop)
        samples.append(gpu.elapsed_us(start, stop) / case.sets)
    event_us, wall_us = _busy(gpu, graph, start, stop)
    timed = Timed("amortized_graph", "cold", tuple(samples), summarize(samples))
    return Replays(timed, graph, event_us, wall_us)


def _busy(gpu: Gpu, graph: Any, start: Any, stop: Any) -> tuple[float, float]:
    """Return microseconds of one replay by events and, until the whole device is idle, by clock."""
    gpu.wait()
    begun = time.perf_counter()
    gpu.record(start)
    gpu.replay(graph)
    gpu.record(stop)
    gpu.wait()
    wall_us = (time.perf_counter() - begun) * 1e6
    return gpu.elapsed_us(start, stop), wall_us


def _is_enough(samples: list[float], begun: float) -> bool:
    if len(samples) < LEAST_SAMPLES:
        return False
    if len(samples) >= MOST_SAMPLES or time.perf_counter() - begun > TIME_CAP_S:
        return True
    # Sorting at every sample would cost more than the samples.
    return len(samples) % LEAST_SAMPLES == 0 and summarize(samples).half_width < HALF_WIDTH


def _warm_up(gpu: Gpu, work: Callable[[], None]) -> None:
    begun = time.perf_counter()
    while time.perf_counter() - begun < WARM_UP_S:
        work()
        gpu.wait()


def time_single(gpu: Gpu, case: GpuCase, flush: Callable[[], None]) -> Timed:
    """Time single launches, each on another input set after a flush."""
    samples = [_one_launch(gpu, case, index % case.sets, flush) for index in range(SINGLE_SAMPLES)]
    return Timed("single_launch", "cold", tuple(samples), summarize(samples))


def _one_launch(gpu: Gpu, case: GpuCase, index: int, before: Callable[[], None]) -> float:
    start, stop = gpu.event(), gpu.event()
    before()
    gpu.record(start)
    case.launch(index)
    gpu.record(stop)
    return gpu.elapsed_us(start, stop)


def time_retained(gpu: Gpu, case: GpuCase, flush: Callable[[], None]) -> tuple[float, float]:
    """Return median times of a call after its own run and a flush, as it is and with L2 reset.

    They differ where a kernel marked its data to stay in L2 through a flush.
    """

    def after_own_run(forget: bool) -> float:
        def before() -> None:
            case.launch(0)
            if forget:
                gpu.wait()
                gpu.forget_persisting()
            flush()

        samples = [_one_launch(gpu, case, 0, before) for _ in range(20)]
        return summarize(samples).median_us

    return after_own_run(forget=False), after_own_run(forget=True)


class Flush:
    """Overwrites twice L2, so that nothing else is left in it."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.size = gpu, 2 * gpu.l2_bytes
        self.address = gpu.allocate(self.size)

    def __call__(self) -> None:
        """Queue the flush on the stream."""
        self.gpu.fill(self.address, self.size, 0)
