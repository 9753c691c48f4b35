"""Changed lines of landed pull requests from a mirror without blobs.

    list    the blobs of the commits, from the raw log
    bring   those that the mirror lacks, 50,000 a round trip; never one by one
    read    all patches in one stream, cut at a size per file and per commit

A patch is read, classified and forgotten; what is stored is evidence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ingest.git import fetch_objects, present_objects, stream_log, stream_patches
from kwdb.errors import IngestError

MAX_COMMIT, MAX_FILE = 2 << 20, 512 << 10
_BATCH = 50_000
_SHA = re.compile(rb"[0-9a-f]{40,64}\n")
_SUBMODULE = b"160000"


@dataclass(frozen=True, slots=True)
class Needed:
    """What reading some commits takes: commit -> first parent ("" for a root), missing blobs."""

    parents: dict[str, str]
    missing: list[str]


def list_needed(mirror: Path, shas: Iterable[str]) -> Needed:
    """Return the first parents of `shas` and the blobs of their changes that `mirror` lacks."""
    parents: dict[str, str] = {}
    blobs: set[str] = set()
    fields = iter(stream_log(mirror, sorted(set(shas)), "%H %P"))
    for field in fields:
        item = field.lstrip(b"\n")
        if item.startswith(b":"):
            blobs.update(_blobs(item))
            next(fields)
        elif item:
            sha, _, rest = item.decode("ascii").partition(" ")
            parents[sha] = rest.split(" ")[0].strip()
    return Needed(parents, sorted(blobs - present_objects(mirror)) if blobs else [])


def _blobs(raw: bytes) -> Iterator[str]:
    old_mode, new_mode, old, new, _ = raw[1:].split(b" ")
    for mode, blob in ((old_mode, old), (new_mode, new)):
        if mode != _SUBMODULE and blob.strip(b"0"):
            yield blob.decode("ascii")


def bring_blobs(mirror: Path, missing: Sequence[str]) -> int:
    """Bring the blobs `missing` in batches and return the number of round trips.

    Raises:
        IngestError: the remote did not deliver all; nothing is asked for one by one then.
    """
    stream, trips = iter(missing), 0
    while batch := list(islice(stream, _BATCH)):
        fetch_objects(mirror, batch)
        trips += 1
    if trips and (lacking := set(missing) - present_objects(mirror)):
        raise IngestError(f"the remote kept back {len(lacking)} blobs, e.g. {min(lacking)}")
    return trips


def read_patches(
    mirror: Path, shas: Sequence[str], parents: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield (sha, patch against the first parent) for `shas`, in their order; blobs are there.

    What goes beyond MAX_FILE in a file or MAX_COMMIT in a commit is left out, by whole lines.
    """
    pairs = (f"{sha} {parents[sha]}".rstrip() for sha in shas)
    sha, lines, size, in_file = "", list[bytes](), 0, 0
    for line in stream_patches(mirror, pairs):
        if _SHA.fullmatch(line):
            if sha:
                yield sha, _text(lines)
            sha, lines, size, in_file = line.decode("ascii").strip(), [], 0, 0
            continue
        in_file = 0 if line.startswith(b"diff --git ") else in_file + len(line)
        if in_file <= MAX_FILE and size + len(line) <= MAX_COMMIT:
            lines.append(line)
            size += len(line)
    if sha:
        yield sha, _text(lines)


def _text(lines: list[bytes]) -> str:
    return b"".join(lines).decode("utf-8", "backslashreplace")
