import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwdb.errors import ConfigError, UserError
from kwdb.locks import exclusive

HOLDER = """
import sys, time
from pathlib import Path
from kwdb.locks import exclusive
with exclusive(Path(sys.argv[1]), "acme/kernels"):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the lock."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        try:
            yield child
        finally:
            child.kill()


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "mirrors" / "kernels.lock"
    with holder(path) as child:
        with (
            pytest.raises(UserError, match="another kwdb is at work on acme/kernels"),
            exclusive(path, "acme/kernels"),
        ):
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
        with exclusive(path, "acme/kernels"):
            pass


def test_two_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    with (
        exclusive(path, "one"),
        pytest.raises(UserError, match="another kwdb"),
        exclusive(path, "one"),
    ):
        pass


def test_an_error_inside_releases_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    with pytest.raises(KeyError), exclusive(path, "one"):
        raise KeyError
    with exclusive(path, "one"):
        pass


def test_other_work_is_not_locked_out(tmp_path: Path) -> None:
    with exclusive(tmp_path / "a.lock", "a"), exclusive(tmp_path / "b.lock", "b"):
        pass


def test_a_file_where_the_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match="cannot write "),
        exclusive(tmp_path / "file" / "one.lock", "one"),
    ):
        pass


def test_an_error_of_the_system_inside_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mine"), exclusive(tmp_path / "one.lock", "one"):
        raise OSError("mine")
