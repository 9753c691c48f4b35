"""Walk a foreign directory: every entry is named once, and nothing outside it is ever opened."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kwdb.errors import UserError

MOST_FILES: Final = 200_000
FILE_BYTES: Final = 16 << 20
"""A larger file is named in the report, not read."""

_SKIPPED: Final = frozenset({".git", "__pycache__"})


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file: its path below the root with `/`, where it is, its size in bytes."""

    path: str
    place: Path
    size: int


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the report names: a path, what became of it (`kind`), and why."""

    path: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Tree:
    """All regular files of a directory by path, and what was refused."""

    root: Path
    files: dict[str, TreeFile]
    refused: list[Remark]


def walk(root: Path) -> Tree:
    """List the files below `root`, which may itself be a link; links below it are refused.

    Raises:
        UserError: `root` is no directory, or holds more than MOST_FILES entries.
    """
    if not root.is_dir():
        raise UserError(f"{root} is no directory: give the directory that holds wiki/ and sources/")
    tree = Tree(root.resolve(), {}, [])
    for entry, path in _entries(tree):
        if len(tree.files) + len(tree.refused) >= MOST_FILES:
            raise UserError(
                f"{root} holds more than {MOST_FILES} files: import its parts one by one"
            )
        _take(tree, entry, path)
    return tree


def _entries(tree: Tree) -> Iterator[tuple[os.DirEntry[str], str]]:
    waiting = [(tree.root, "")]
    while waiting:
        directory, prefix = waiting.pop()
        try:
            found = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as exc:
            tree.refused.append(_unreadable(prefix.rstrip("/"), exc))
            continue
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED:
                    waiting.append((Path(entry.path), f"{prefix}{entry.name}/"))
            else:
                yield entry, f"{prefix}{entry.name}"


def _take(tree: Tree, entry: os.DirEntry[str], path: str) -> None:
    if not _is_text(path):
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        tree.refused.append(Remark(shown, "refused", "its name is not UTF-8"))
    elif entry.is_symlink():
        tree.refused.append(Remark(path, "refused", "a symbolic link; links are not followed"))
    elif not entry.is_file(follow_symlinks=False):
        tree.refused.append(Remark(path, "refused", "no regular file"))
    else:
        size = entry.stat(follow_symlinks=False).st_size
        tree.files[path] = TreeFile(path, Path(entry.path), size)


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(path: str, error: OSError) -> Remark:
    return Remark(path, "unreadable", error.strerror or str(error))


def read(file: TreeFile, limit: int = FILE_BYTES) -> bytes | Remark:
    """Return the bytes of a file, or a remark where it is too large or cannot be read."""
    if file.size > limit:
        reason = f"{file.size} bytes, over the limit of {limit}; not read"
        return Remark(file.path, "too large", reason)
    try:
        handle = os.open(file.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Remark(file.path, "refused", "no regular file")
            data = stream.read(limit + 1)
    except OSError as exc:
        return _unreadable(file.path, exc)
    if len(data) > limit:
        return Remark(file.path, "too large", f"grew over the limit of {limit} bytes; not kept")
    return data


def head_revision(root: Path) -> str | None:
    """Return the commit that a git checkout stands at, read from its files; None without one."""
    head = _first_line(root / ".git" / "HEAD")
    if head and head.startswith("ref: refs/") and ".." not in head:
        head = _first_line(root / ".git" / head.removeprefix("ref: "))
    is_sha = bool(head) and len(str(head)) in (40, 64) and set(str(head)) <= set("0123456789abcdef")
    return head if is_sha else None


def _first_line(place: Path) -> str | None:
    if place.parent.is_symlink() or not place.is_file() or place.is_symlink():
        return None
    data = read(TreeFile(place.name, place, 0), 1 << 16)
    return None if isinstance(data, Remark) else data.decode("ascii", "replace").strip()
