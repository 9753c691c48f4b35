import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest import workers
from ingest.workers import computed

ROOT = Path(__file__).parents[2]


def doubled(number: int) -> int:
    return 2 * number


def place_of(_number: int) -> int:
    return os.getpid()


def refused(number: int) -> int:
    raise ValueError(f"no {number}")


def killed_elsewhere(number: int) -> int:
    if os.getpid() != int(os.environ["TEST_PARENT"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.fixture
def low_bar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 10)
    monkeypatch.setattr(workers, "_cores", lambda: 2)
    workers._processes.cache_clear()
    yield
    workers._processes().shutdown()
    workers._processes.cache_clear()


def test_small_batches_stay_here() -> None:
    batches = [list(range(3)), [], [7]]
    assert list(computed(doubled, batches)) == [([0, 1, 2], [0, 2, 4]), ([], []), ([7], [14])]
    assert next(computed(place_of, [[1]]))[1] == [os.getpid()]


@pytest.mark.usefixtures("low_bar")
def test_large_batches_keep_their_order_in_other_processes() -> None:
    batches = [list(range(start, start + 120)) for start in range(0, 600, 120)]
    found = list(computed(doubled, iter(batches)))
    assert [batch for batch, _ in found] == batches
    assert [result for _, results in found for result in results] == list(range(0, 1200, 2))
    places = {place for _, results in computed(place_of, batches) for place in results}
    assert os.getpid() not in places


@pytest.mark.usefixtures("low_bar")
def test_what_a_function_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="no 0"):
        list(computed(refused, [list(range(20))]))


@pytest.mark.usefixtures("low_bar")
def test_work_of_killed_processes_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PARENT", str(os.getpid()))
    batches = [list(range(20)), list(range(20, 40))]
    found = list(computed(killed_elsewhere, batches))
    assert [result for _, results in found for result in results] == list(range(40))


STARTED = """
import sys, time
from ingest import workers
from tests.ingest.test_workers import place_of
if __name__ == "__main__":
    workers._WORTH_A_PROCESS, workers._cores = 1, lambda: 2
    _, places = next(workers.computed(place_of, [[1]]))
    print(places[0], flush=True)
    time.sleep(60)
"""


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "started.py"
    script.write_text(STARTED)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout
        place = int(process.stdout.readline())
        process.kill()
    end = time.monotonic() + 20
    while _is_alive(place) and time.monotonic() < end:
        time.sleep(0.1)
    assert not _is_alive(place)


def compute_and_say(answers: "multiprocessing.SimpleQueue[list[int]]") -> None:
    answers.put(next(computed(doubled, [list(range(250))]))[1])


@pytest.mark.parametrize("is_daemon", [True, False])
def test_a_process_of_somebody_else_computes_and_ends(is_daemon: bool) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    process = context.Process(target=compute_and_say, args=(answers,), daemon=is_daemon)
    process.start()
    assert answers.get() == list(range(0, 500, 2))
    process.join(20)
    ended = process.exitcode
    process.kill()
    assert ended == 0


def _is_alive(place: int) -> bool:
    try:
        state = Path(f"/proc/{place}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
