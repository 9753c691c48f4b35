"""The wheel, as somebody installs it: what it holds, and that it works from anywhere."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

from gitrepo import GitRepository

ROOT = Path(__file__).resolve().parents[1]
CARRIED = (
    "kwdb/_data/seeds/tags.yaml",
    "kwdb/_data/seeds/repositories.yaml",
    "kwdb/_data/migrations/env.py",
    "kwdb/_data/migrations/versions/0001_add_vocabulary.py",
    "ingest/rules/triage.yaml",
    "kwdb/py.typed",
    "ingest/py.typed",
    "benchmarks/py.typed",
)


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copy_tracked_files(target: Path) -> None:
    listed = run("git", "ls-files", "-z", "--cached", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def build_wheel(source: Path, target: Path) -> Path:
    # Not isolated: hatchling would come over the network for every run of the suite.
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", target, cwd=source)
    (wheel,) = target.glob("*.whl")
    return wheel


def install(wheel: Path, place: Path) -> Path:
    """Make an environment that has the wheel, and its dependencies from where we run."""
    venv.create(place, with_pip=False)
    (packages,) = (place / "lib").glob("python*/site-packages")
    run(
        *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"),
        *("--disable-pip-version-check", "--prefix", place, "--ignore-installed", wheel),
        cwd=place,
    )
    ours = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    # A plain path line: the .pth file of our own editable install is not read from there.
    (packages / "dependencies.pth").write_text(f"{ours}\n", encoding="utf-8")
    return place / "bin"


def check_contents(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    packages = {name.split("/")[0] for name in names}
    info = {name for name in packages if name.endswith(".dist-info")}
    assert (packages - info, len(info)) == ({"kwdb", "ingest", "benchmarks"}, 1)
    assert [name for name in CARRIED if name not in names] == []
    assert [name for name in names if "__pycache__" in name or "/test" in name] == []


def test_the_wheel_works_elsewhere(tmp_path: Path) -> None:
    for name in ("source", "dist", "elsewhere"):
        (tmp_path / name).mkdir()
    copy_tracked_files(tmp_path / "source")
    wheel = build_wheel(tmp_path / "source", tmp_path / "dist")
    check_contents(wheel)
    kwdb = asker(install(wheel, tmp_path / "venv"), tmp_path / "elsewhere")
    place = kwdb("python", "-c", "import kwdb, ingest; print(kwdb.__file__, ingest.__file__)")
    assert place.count(str(tmp_path / "venv")) == 2
    repository = GitRepository(tmp_path / "remotes" / "deepseek-ai" / "DeepGEMM")
    repository.commit("Add quagga UMMA kernel (#4711)", {"csrc/quagga.cu": "1"})
    kwdb("kwdb", "init")
    kwdb("kwdb", "ingest", "deepgemm", "--no-api", KWDB_CLONE_BASE=(tmp_path / "remotes").as_uri())
    assert kwdb("kwdb", "search", "quagga").splitlines()[0] == (
        "pr-deepgemm-4711  [source-pr]  Add quagga UMMA kernel"
    )


def asker(programs: Path, directory: Path) -> Callable[..., str]:
    def ask(program: str, *arguments: str, **environment: str) -> str:
        return run(programs / program, *arguments, cwd=directory, **environment)

    return ask
