r"""Parse `git log -z --raw`, the form in which a history is read.

Fields end in NUL, which neither a message nor a path can hold. A commit is one field, its header
lines and then the message; each file it touches is two more fields, the second the bare path:

    6f1c…\n         full id
    1234+jane@users.noreply.github.com\n
    GitHub\n        committer name
    1756086190\n    author date, seconds
    1756086190\n    committer date
    Fix it (#12)\n\nBecause…
    :100644 100644 <blob> <blob> M
    csrc/gemm.cu
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from ingest.git import stream_log
from kwdb.records import CommitRecord, PersonRecord

LOG_FORMAT = "%H%n%ae%n%cn%n%at%n%ct%n%B"

_NOREPLY = re.compile(
    r"(?:(\d{1,15})\+)?([^@+\s]{1,60})@users\.noreply\.github\.com", re.IGNORECASE
)
_BLANKS = " \t\r"  # what git takes for the blanks of an empty line
_LATEST_SECOND = 253402300799  # 9999-12-31T23:59:59Z, where datetime ends


def read_commits(mirror: Path, shas: Iterable[str]) -> Iterator[CommitRecord]:
    """Yield the commits `shas` of a mirror in their order; raises as `stream_log`."""
    return parse_log(stream_log(mirror, shas, LOG_FORMAT))


def parse_log(fields: Iterable[bytes]) -> Iterator[CommitRecord]:
    """Turn the NUL-separated fields of a log into commits, keeping one in memory at a time."""
    header = b""
    paths: dict[str, str] = {}
    stream = iter(fields)
    for item in stream:
        item = item.lstrip(b"\n")  # git may put a line feed before the first file of a commit
        if item.startswith(b":"):
            paths[_text(next(stream))] = chr(item[-1])
        elif item:
            if header:
                yield _parse_commit(header, paths)
            header, paths = item, {}
    if header:
        yield _parse_commit(header, paths)


def _parse_commit(header: bytes, paths: dict[str, str]) -> CommitRecord:
    sha, mail, committer, authored, committed, message = header.split(b"\n", 5)
    text = _text(message).rstrip("\n")
    return CommitRecord(
        sha=sha.decode("ascii"),
        author=parse_noreply(_text(mail)),
        committer=_text(committer),
        authored_at=_time(authored),
        committed_at=_time(committed),
        subject=subject_of(text),
        message=text,
        paths=tuple(paths.items()),
    )


def _text(raw: bytes) -> str:
    """Decode; bytes that are no UTF-8, lone surrogates among them, become backslash escapes."""
    return raw.decode("utf-8", "backslashreplace")


def _time(seconds: bytes) -> datetime:
    return datetime.fromtimestamp(min(max(int(seconds or 0), 0), _LATEST_SECOND), UTC)


def subject_of(message: str) -> str:
    """Return the first paragraph on one line, as git's own `%s` does; may be empty."""
    return split_message(message)[0]


def split_message(message: str) -> tuple[str, str]:
    """Return the first paragraph on one line, and what follows the blank line after it."""
    lines = message.split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip(_BLANKS)), len(lines))
    end = next((i for i in range(start, len(lines)) if not lines[i].strip(_BLANKS)), len(lines))
    subject = " ".join(line.strip(_BLANKS) for line in lines[start:end])
    return subject, "\n".join(lines[end + 1 :]).lstrip("\n")


def parse_noreply(mail: str) -> PersonRecord | None:
    """Return the account behind a users.noreply address; None for any other address.

    Other addresses are personal data and tell nothing that GitHub would confirm.
    """
    match = _NOREPLY.fullmatch(mail)
    if match is None:
        return None
    kind = "bot" if match[2].endswith("[bot]") else "user"
    return PersonRecord(match[2], int(match[1]) if match[1] else None, kind)
