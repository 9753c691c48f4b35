"""Drive the git program: mirrors without blobs, ref listings, streams of history.

Blobs are never fetched by accident: mirrors are `--filter=blob:none` clones, rename detection is
off because it reads blobs, and `GIT_NO_LAZY_FETCH` turns a forgotten case into an error. Neither
user nor system configuration applies, so that output and behaviour are the same everywhere.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kwdb.errors import ConfigError, IngestError
from kwdb.text import without_credentials

Progress = Callable[[int, int | None], None]
"""Called with what is done and, where known, the total."""

_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
_OPTIONS = (
    "core.quotePath=false",
    "log.showSignature=false",
    "protocol.version=2",
    "gc.autoDetach=false",
    # A server that has sent nothing for a minute will not go on.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
)
_PERCENT = re.compile(rb"Receiving objects:\s+(\d+)%")
_PULL_REF = re.compile(r"refs/pull/(\d+)/head")
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RemoteRefs:
    """What a remote offers: default branch, its tip, and the head of every pull request."""

    branch: str
    tip: str
    pull_heads: dict[int, str] = field(default_factory=dict)


def _command(*arguments: str, directory: Path | None = None) -> list[str]:
    options = [part for option in _OPTIONS for part in ("-c", option)]
    place = ["-C", str(directory)] if directory else []
    return ["git", *place, *options, *arguments]


def _environment() -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return inherited | _ENVIRONMENT


def run_git(*arguments: str, directory: Path | None = None) -> str:
    """Run git and return its output as text.

    Raises:
        IngestError: git failed; the message has its last line.
        ConfigError: there is no git program.
    """
    try:
        done = subprocess.run(
            _command(*arguments, directory=directory),
            capture_output=True,
            env=_environment(),
            check=False,
        )
    except FileNotFoundError as exc:
        raise ConfigError("no program git found: install git 2.30 or newer") from exc
    if done.returncode:
        raise IngestError(f"git {arguments[0]} failed: {_last_line(done.stderr)}")
    return done.stdout.decode("utf-8", "backslashreplace")


def _last_line(said: bytes) -> str:
    lines = [line for line in said.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return without_credentials((fatal or lines or ["no message"])[0].strip())


def list_remote(url: str, branch: str | None) -> RemoteRefs:
    """Ask a remote, in one request, for its branch tip and the heads of all pull requests.

    Without `branch` the one that HEAD names is taken.

    Raises:
        IngestError: the remote does not answer, is empty or lacks the branch.
    """
    patterns = ["HEAD", "refs/pull/*/head", *([f"refs/heads/{branch}"] if branch else [])]
    refs, head = _parse_refs(run_git("ls-remote", "--symref", "--", url, *patterns))
    name = branch or head
    tip = refs.get(f"refs/heads/{branch}" if branch else "HEAD")
    if name is None or tip is None:
        place = without_credentials(url)
        raise IngestError(
            f"{place} has no branch {name or 'HEAD'}: it is empty or of another shape"
        )
    pulls = {int(m[1]): sha for ref, sha in refs.items() if (m := _PULL_REF.fullmatch(ref))}
    return RemoteRefs(name, tip, pulls)


def _parse_refs(listing: str) -> tuple[dict[str, str], str | None]:
    """Read lines `SHA<tab>REF` and `ref: refs/heads/main<tab>HEAD`."""
    refs: dict[str, str] = {}
    head = None
    for line in listing.splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: refs/heads/"):
            head = value.removeprefix("ref: refs/heads/")
        else:
            refs[name] = value
    return refs, head


def update_mirror(mirror: Path, url: str, refs: RemoteRefs, progress: Progress) -> bool:
    """Bring `mirror` to the tip of `refs`; clone it where it is missing or damaged.

    A clone is made beside its place and moved there when complete, so that an interrupted one
    leaves nothing behind that looks like a mirror. Returns False when there was nothing to do.

    Raises:
        IngestError: the remote did not deliver.
    """
    if _tip(mirror, refs.branch) == refs.tip:
        return False
    if not mirror.is_dir() or not _fetch(mirror, url, refs, progress):
        _clone(mirror, url, refs, progress)
    return True


def _tip(mirror: Path, branch: str) -> str | None:
    if not mirror.is_dir():
        return None
    try:
        return run_git(
            "rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}", directory=mirror
        ).strip()
    except IngestError:
        return None


def _fetch(mirror: Path, url: str, refs: RemoteRefs, progress: Progress) -> bool:
    """Fetch the branch; False when the mirror cannot be used and must be cloned afresh."""
    for stale in mirror.rglob("*.lock"):
        stale.unlink(missing_ok=True)  # we hold the lock of this mirror: its owner is dead
    refspec = f"+refs/heads/{refs.branch}:refs/heads/{refs.branch}"
    try:
        run_git("remote", "set-url", "origin", url, directory=mirror)
        _run_with_progress(
            _command(
                "fetch", "--progress", "--no-tags", "--no-write-fetch-head", "origin", refspec,
                directory=mirror,
            ),
            progress,
        )  # fmt: skip
    except IngestError:
        return False
    return _tip(mirror, refs.branch) is not None


def _clone(mirror: Path, url: str, refs: RemoteRefs, progress: Progress) -> None:
    part = mirror.with_name(mirror.name + ".part")
    _remove(part)
    part.parent.mkdir(parents=True, exist_ok=True)
    _run_with_progress(
        _command(
            "clone", "--bare", "--filter=blob:none", "--single-branch", "--no-tags", "--progress",
            "--branch", refs.branch, "--", url, str(part),
        ),
        progress,
    )  # fmt: skip
    _remove(mirror)
    part.rename(mirror)


def _remove(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)


def _run_with_progress(command: list[str], progress: Progress) -> None:
    """Run a transfer, passing on git's percentages; its last lines make the error message."""
    last: deque[bytes] = deque(maxlen=20)
    with _child(command, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        for line in _lines(child.stderr):
            if match := _PERCENT.search(line):
                progress(int(match[1]), 100)
            else:
                last.append(line)
        code = child.wait()
    if code:
        said = b"\n".join(last)
        raise IngestError(f"git could not fetch: {_last_line(said)}")


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Split at line feeds and carriage returns, as git writes its progress."""
    rest = b""
    while chunk := os.read(stream.fileno(), 4096):
        *lines, rest = re.split(rb"[\r\n]", rest + chunk)
        yield from lines
    yield rest


@contextmanager
def _child(command: list[str], **pipes: int | IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child that does not outlive the block."""
    try:
        child = subprocess.Popen(command, env=_environment(), **pipes)  # type: ignore[call-overload]
    except FileNotFoundError as exc:
        raise ConfigError("no program git found: install git 2.30 or newer") from exc
    with child:
        try:
            yield child
        finally:
            if child.poll() is None:
                child.kill()


def first_parent_shas(mirror: Path, branch: str) -> list[str]:
    """Return the ids of the first-parent history of `branch`, oldest first."""
    listing = run_git(
        "rev-list", "--first-parent", "--reverse", f"refs/heads/{branch}", "--", directory=mirror
    )
    return listing.split()


def stream_log(mirror: Path, shas: Iterable[str], log_format: str) -> Iterator[bytes]:
    """Yield the output of one `git log` over `shas`, in their order, cut at NUL bytes.

    Each commit is diffed against its first parent, with status letters and full paths.

    Raises:
        IngestError: git ended with an error, e.g. because an object is missing.
    """
    listing = "".join(f"{sha}\n" for sha in shas)
    if not listing:
        return  # git would take HEAD for an empty list
    with tempfile.TemporaryFile() as wanted, tempfile.TemporaryFile() as said:
        wanted.write(listing.encode())
        wanted.seek(0)
        command = _command(
            "log", "--no-walk=unsorted", "--stdin", "-z", "--diff-merges=first-parent",
            "--no-renames", "--raw", "--no-abbrev", "--encoding=UTF-8", f"--format={log_format}",
            directory=mirror,
        )  # fmt: skip
        with _child(command, stdin=wanted, stdout=subprocess.PIPE, stderr=said) as child:
            assert child.stdout is not None
            yield from _fields(child.stdout)
            code = child.wait()
        said.seek(0)
        if code:
            raise IngestError(f"git log failed in {mirror}: {_last_line(said.read())}")


def present_objects(mirror: Path) -> set[str]:
    """Return the ids of all objects in a mirror; asks no remote, whatever is missing."""
    check = "--batch-check=%(objectname)"
    return set(run_git("cat-file", "--batch-all-objects", check, directory=mirror).split())


def fetch_objects(mirror: Path, ids: Iterable[str]) -> None:
    """Bring objects by their ids in one round trip.

    Negotiation is off: what the mirror has tells nothing about blobs that it never took.

    Raises:
        IngestError: the remote did not deliver.
    """
    with tempfile.TemporaryFile() as wanted:
        wanted.write("".join(f"{id_}\n" for id_ in ids).encode())
        wanted.seek(0)
        command = _command(
            "-c", "fetch.negotiationAlgorithm=noop", "-c", "gc.auto=0", "fetch", "-q", "origin",
            "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no",
            "--filter=blob:none", "--stdin",
            directory=mirror,
        )  # fmt: skip
        done = subprocess.run(
            command, stdin=wanted, capture_output=True, env=_environment(), check=False
        )
    if done.returncode:
        raise IngestError(f"git could not fetch blobs: {_last_line(done.stderr)}")


def stream_patches(mirror: Path, pairs: Iterable[str]) -> Iterator[bytes]:
    """Yield the lines of one `git diff-tree` over lines `COMMIT PARENT` (or `COMMIT`, a root).

    Each commit begins with a line that holds its id alone; patches have no context lines.

    Raises:
        IngestError: git ended with an error, e.g. because a blob is missing.
    """
    with tempfile.TemporaryFile() as wanted, tempfile.TemporaryFile() as said:
        wanted.write("".join(f"{pair}\n" for pair in pairs).encode())
        wanted.seek(0)
        command = _command(
            "diff-tree", "--stdin", "--root", "--always", "-r", "-p", "-U0", "-m", "--full-index",
            "--no-renames", "--no-ext-diff", "--no-textconv",
            directory=mirror,
        )  # fmt: skip
        with _child(command, stdin=wanted, stdout=subprocess.PIPE, stderr=said) as child:
            assert child.stdout is not None
            yield from child.stdout
            code = child.wait()
        said.seek(0)
        if code:
            raise IngestError(f"git diff-tree failed in {mirror}: {_last_line(said.read())}")


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(_CHUNK_BYTES):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest:
        yield rest
