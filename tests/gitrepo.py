"""A small real git repository, built commit by commit through `git fast-import`."""

import os
import subprocess
from pathlib import Path

JANE = "1234+jane@users.noreply.github.com"
FIRST_SECOND = 1_700_000_000  # 2023-11-14T22:13:20Z; each commit is an hour later

_ENVIRONMENT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}


def git(*arguments: str, directory: Path, data: bytes = b"") -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        input=data,
        capture_output=True,
        check=True,
        env=os.environ | _ENVIRONMENT,
    )
    return done.stdout.decode("utf-8", "backslashreplace").strip()


class GitRepository:
    """A bare repository with branch main that a partial clone can be taken from."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.count = 0
        directory.mkdir(parents=True)
        git("init", "-q", "--bare", "-b", "main", ".", directory=directory)
        git("config", "uploadpack.allowFilter", "true", directory=directory)
        git("config", "uploadpack.allowAnySHA1InWant", "true", directory=directory)

    def commit(
        self,
        message: str | bytes,
        files: dict[str | bytes, str] | None = None,
        *,
        mail: str = JANE,
        committer: str = "GitHub",
        merge: str | None = None,
        ref: str = "refs/heads/main",
    ) -> str:
        """Add a commit to `ref` and return its id; without `files` it touches one of its own."""
        text = message.encode() if isinstance(message, str) else message
        when = f"{FIRST_SECOND + 3600 * self.count} +0000"
        touched = files if files is not None else {f"src/{self.count}.cu": str(self.count)}
        self.count += 1
        stream = [f"commit {ref}\n", f"author Jane <{mail}> {when}\n"]
        stream += [f"committer {committer} <noreply@github.com> {when}\n", f"data {len(text)}\n"]
        parts = [part.encode() for part in stream] + [text, b"\n"]
        parts += [f"from {tip}\n".encode() for tip in [self.find(ref)] if tip]
        parts += [f"merge {merge}\n".encode()] if merge else []
        parts += [_file(path, content) for path, content in touched.items()]
        git("fast-import", "--quiet", "--force", directory=self.directory, data=b"".join(parts))
        return self.tip(ref)

    def find(self, ref: str) -> str | None:
        found = git("for-each-ref", "--format=%(objectname)", ref, directory=self.directory)
        return found or None

    def tip(self, ref: str = "refs/heads/main") -> str:
        return git("rev-parse", "--verify", ref, directory=self.directory)

    def reset(self, sha: str, ref: str = "refs/heads/main") -> None:
        """Force-push: point `ref` at `sha`."""
        git("update-ref", ref, sha, directory=self.directory)

    def pull(self, number: int, sha: str | None = None) -> None:
        """Show a pull request with its head at `sha`, by default the tip of main."""
        self.reset(sha or self.tip(), f"refs/pull/{number}/head")


def _file(path: str | bytes, content: str) -> bytes:
    raw = path.encode() if isinstance(path, str) else path
    quoted = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    data = content.encode()
    return b'M 100644 inline "' + quoted + b'"\ndata %d\n' % len(data) + data + b"\n"
