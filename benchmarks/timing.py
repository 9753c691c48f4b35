"""Timing that holds against frauds: cold, over rotated input sets, by two methods.

The headline is a CUDA graph of one launch per input set, all of them different data at different
addresses that together are over five times L2, timed from outside and divided by their number.
The cross-check is single launches, each after a flush of L2; the flush keeps the stream
busy while the host queues the launch, so that the launch itself is not timed.
"""

import time
from collections.abc import Callable
from ctypes import c_ulonglong
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.case import GpuCase
from benchmarks.figures import Summary, summarize
from benchmarks.gpu import POINTER, Gpu
from benchmarks.source import KernelSource

WARM_UP_S: Final = 1.0
"""A ramping clock makes one kernel 20 or 9 us (kekzl/imp#1469): a second of the same work first."""
LEAST_SAMPLES: Final = 30
MOST_SAMPLES: Final = 2000
TIME_CAP_S: Final = 5.0
HALF_WIDTH: Final = 0.002
SINGLE_SAMPLES: Final = 60
_ROOF_BYTES: Final = 4 << 30
_ROOF_SAMPLES: Final = 24


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


class Roof:
    """A plain read, which is the bandwidth that kernels are held to."""

    def __init__(self, gpu: Gpu, source: KernelSource, cubin: bytes) -> None:
        self.gpu = gpu
        self.function = gpu.load(cubin, source.entry)
        self.how = source.launch({}, gpu.sms)
        self.out = gpu.allocate(16)

    def launch(self, address: int, size: int) -> None:
        """Read `size` bytes on the stream."""
        values = (address, size // 16, self.out)
        self.gpu.launch(self.function, self.how, values, (POINTER, c_ulonglong, POINTER))

    def measure(self) -> float:
        """Return GB/s: the best of some reads of up to 4 GiB."""
        size = min(_ROOF_BYTES, self.gpu.free_bytes() // 4) // 4096 * 4096
        buffer = self.gpu.allocate(size)
        self.gpu.fill(buffer, size, 1)
        start, stop = self.gpu.event(), self.gpu.event()
        best = 0.0
        for _ in range(_ROOF_SAMPLES):
            self.gpu.record(start)
            self.launch(buffer, size)
            self.gpu.record(stop)
            best = max(best, size / self.gpu.elapsed_us(start, stop) / 1e3)
        self.gpu.release(buffer)
        return best


class Flush:
    """Reads eight times L2, so that nothing else is left in it and no write is left over.

    Lines that a flush by writing leaves behind are written back while the next kernel runs, which
    cost an H200 a quarter more. The time of the read is what the host has for the next launch.
    """

    def __init__(self, gpu: Gpu, roof: Roof) -> None:
        self.gpu, self.roof, self.size = gpu, roof, 8 * gpu.l2_bytes
        self.address = gpu.allocate(self.size)
        gpu.fill(self.address, self.size, 0)

    def __call__(self) -> None:
        """Queue the flush on the stream."""
        self.roof.launch(self.address, self.size)
