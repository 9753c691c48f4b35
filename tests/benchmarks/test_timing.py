"""The timing protocol against a device whose clock the test moves."""

from typing import Any

import pytest

from benchmarks import timing
from benchmarks.figures import Timing, judge_timing
from benchmarks.timing import time_graph, time_retained, time_single


class Device:
    """Every launch takes `each_us` on the stream; `hidden_s` of work runs where no event sees it."""

    def __init__(self, each_us: float = 20.0, hidden_s: float = 0.0) -> None:
        self.now_us, self.each_us, self.hidden_s = 0.0, each_us, hidden_s
        self.launched: list[int] = []
        self.log: list[str] = []

    def capture(self, record: Any) -> list[int]:
        before = len(self.launched)
        record()
        nodes = self.launched[before:]
        self.now_us -= self.each_us * len(nodes)
        return nodes

    def replay(self, graph: list[int]) -> None:
        self.now_us += self.each_us * len(graph)

    def wait(self) -> None:
        timing.time.sleep(self.hidden_s)

    def event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        event[0] = self.now_us

    def elapsed_us(self, start: list[float], stop: list[float]) -> float:
        return stop[0] - start[0]

    def forget_persisting(self) -> None:
        self.log.append("forget")


class Case:
    def __init__(self, device: Device, sets: int = 5) -> None:
        self.device, self.sets = device, sets

    def launch(self, index: int) -> None:
        self.device.launched.append(index)
        self.device.log.append("launch")
        self.device.now_us += self.device.each_us


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "WARM_UP_S", 0.0)


def test_the_graph_holds_every_set_once_and_is_divided_by_their_number() -> None:
    device: Any = Device()
    found = time_graph(device, Case(device))  # type: ignore[arg-type]
    assert found.graph == [0, 1, 2, 3, 4]
    assert found.timed.summary.median_us == pytest.approx(20.0)
    assert found.timed.summary.n >= timing.LEAST_SAMPLES
    assert found.event_us == pytest.approx(100.0)


def test_work_that_no_event_sees_is_untimed() -> None:
    device: Any = Device(hidden_s=0.01)
    found = time_graph(device, Case(device))  # type: ignore[arg-type]
    measured = Timing(20.0, 24.0, True, found.event_us, found.wall_us)
    assert judge_timing(measured, 1000, 4580.0)[0] == "untimed_work"


def test_single_launches_go_round_the_sets_each_after_a_flush() -> None:
    device: Any = Device()
    found = time_single(device, Case(device), lambda: device.log.append("flush"))  # type: ignore[arg-type]
    assert device.log[:4] == ["flush", "launch", "flush", "launch"]
    assert device.launched[:6] == [0, 1, 2, 3, 4, 0]
    assert found.summary.median_us == pytest.approx(20.0)


def test_retention_is_asked_with_and_without_a_reset_of_l2() -> None:
    device: Any = Device()
    retained, flushed = time_retained(device, Case(device), lambda: device.log.append("flush"))  # type: ignore[arg-type]
    assert retained == flushed == pytest.approx(20.0)
    assert device.log[:3] == ["launch", "flush", "launch"]
    assert device.log[-4:] == ["launch", "forget", "flush", "launch"]
