"""`kwdb bench` and its kin as a person runs them on a machine without a GPU."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.probe import PRODUCTS, choose_device, gpu_status
from kwdb.errors import ConfigError, UnknownValueError

KWDB = Path(sys.executable).with_name("kwdb")
BUNDLE = Path(__file__).parents[1] / "benchmarks" / "data" / "h200_bundle.json"
ROOT = Path(__file__).parents[2]
no_gpu = pytest.mark.skipif(gpu_status() == "ok", reason="there is a GPU")


def run(directory: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "from kwdb.cli.app import main; main()", *arguments],
        cwd=directory,
        env=os.environ
        | {
            "KWDB_DATABASE_URL": f"sqlite:///{directory}/k.sqlite",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "200",
        }
        | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@no_gpu
@pytest.mark.parametrize("arguments", [("--gpu", "b200"), ("--gpu", "auto"), ()])
def test_without_a_gpu_one_message_says_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = run(tmp_path, "bench", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kwdb: cannot measure on ")
    assert "--compile-only --arch" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "k.sqlite").exists()


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        ([("NVIDIA H200", "9.0")], "b200", "found NVIDIA H200 .9.0|compute capability 9.0"),
        ([("NVIDIA L4", "7.5")], "auto", "has compute capability 7.5"),
        ([("NVIDIA H200 NVL", "9.0")], "h20", "not H20"),
    ],
)
def test_another_gpu_is_named(
    monkeypatch: pytest.MonkeyPatch, names: list[tuple[str, str]], wanted: str, message: str
) -> None:
    monkeypatch.setattr("benchmarks.probe.gpu_status", lambda: "ok")
    monkeypatch.setattr("benchmarks.probe.device_names", lambda: names)
    with pytest.raises(ConfigError, match=message):
        choose_device(wanted)


def test_the_right_one_of_several_gpus_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [("NVIDIA RTX PRO 6000", "12.0"), ("NVIDIA B200", "10.0")]
    monkeypatch.setattr("benchmarks.probe.gpu_status", lambda: "ok")
    monkeypatch.setattr("benchmarks.probe.device_names", lambda: names)
    assert choose_device("B200") == (1, "NVIDIA B200", "10.0")
    assert choose_device("auto")[0] == 0


def test_an_unknown_product_is_named() -> None:
    with pytest.raises(UnknownValueError, match="b200"):
        choose_device("b20")
    assert "h200" in PRODUCTS


def test_compiling_writes_cubins_and_one_document(tmp_path: Path) -> None:
    done = run(tmp_path, "bench", "--compile-only", "--arch", "sm_100a", "--output", "out")
    assert (done.returncode, done.stderr) == (0, "")
    kernels = json.loads(done.stdout)["kernels"]
    assert {one["kernel"] for one in kernels} == {"nvfp4_gemv_portable", "nvfp4_gemv_sm100a"}
    for one in kernels:
        assert (one["problem"], one["arch"], one["status"]) == ("nvfp4-gemv", "sm_100a", "compiled")
        assert one["spill_bytes"] == 0
        assert all(one["sass_checks"].values())
        content = (tmp_path / one["cubin"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == one["cubin_sha256"]


OWN = """// kwdb: entry k
// kwdb: arch sm_90a
// kwdb: block 32
// kwdb: grid M, L
extern "C" __global__ void k(const unsigned char*, const unsigned char*, const unsigned char*,
                             const unsigned char*, float, unsigned short* c, int, int, int) {
  c[0] = BODY;
}
"""


def test_ones_own_kernel_compiles_or_says_why_not(tmp_path: Path) -> None:
    (tmp_path / "my.cu").write_text(OWN.replace("BODY", "0"))
    own = ("bench", "--kernel", "my.cu", "--problem", "nvfp4-gemv", "--compile-only")
    done = run(tmp_path, *own, "--arch", "sm_90a")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernels"][0]["kernel"] == "my"
    (tmp_path / "my.cu").write_text(OWN.replace("BODY", "nonsense"))
    done = run(tmp_path, *own, "--arch", "sm_90a")
    assert done.returncode == 1
    assert done.stderr == "kwdb: my for sm_90a: compile_error\n"
    assert "nonsense" in json.loads(done.stdout)["kernels"][0]["log"]
    done = run(tmp_path, *own, "--arch", "sm_80")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no kernel is written for sm_80: use sm_90a" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--compile-only", "--arch", "sm_95"), 1, "unknown architecture 'sm_95'"),
        (("--problem", "gemv"), 1, "unknown problem 'gemv'"),
        (("--kernel", "none.cu"), 1, "cannot read the kernel none.cu"),
        (("--arch", "sm_90a"), 2, "go with --compile-only"),
    ],
)
def test_wrong_words_are_named(
    tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run(tmp_path, "bench", *arguments)
    assert done.returncode == code
    assert message in done.stderr


def test_the_list_names_problems_shapes_kernels_and_the_signature(tmp_path: Path) -> None:
    done = run(tmp_path, "bench", "--list")
    assert done.returncode == 0
    for text in ("nvfp4-gemv", "7168,16384,1", "nvfp4_gemv_sm90a", "const uint8_t* sfa"):
        assert text in done.stdout
    (entry,) = json.loads(run(tmp_path, "bench", "--list", "--json").stdout)
    assert entry["problem"] == "nvfp4-gemv"
    assert len(entry["kernels"]) == 3


def test_the_doctor_answers_one_line_a_question(tmp_path: Path) -> None:
    done = run(tmp_path, "bench-doctor")
    assert done.returncode == 0
    verdicts = [line.split()[0] for line in done.stdout.splitlines()]
    assert set(verdicts) <= {"ok", "warn"}
    assert "compiles nvfp4_gemv_sm100a" in done.stdout


def test_a_bundle_is_imported_once_and_shown(tmp_path: Path) -> None:
    assert run(tmp_path, "init").returncode == 0
    first = run(tmp_path, "import", "bench", str(BUNDLE))
    assert first.returncode == 0, first.stderr
    assert "nvfp4_gemv_sm90a" in first.stdout
    assert "NVIDIA H200" in first.stdout
    assert "3 measured claims" in first.stderr
    again = run(tmp_path, "import", "bench", str(BUNDLE), "--json")
    assert json.loads(again.stdout)["claims"] == 0
    bad = run(tmp_path, "import", "bench", "none.json")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert "cannot read the bundle" in bad.stderr


PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
SHOWN = [line[7:] for line in PAGE.splitlines() if line.startswith("$ kwdb ")]


@pytest.mark.parametrize("command", SHOWN)
def test_every_command_of_the_page_runs(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, *command.split())
    assert done.returncode == 0, done.stderr


def test_the_page_explains_every_status() -> None:
    sources = ("figures", "verify", "runner", "worker", "compile")
    text = "".join((ROOT / "benchmarks" / f"{name}.py").read_text("utf-8") for name in sources)
    for status in re.findall(r"`(\w+)`", PAGE.partition("| status |")[2].partition("\n\n")[0]):
        assert f'"{status}"' in text, status
