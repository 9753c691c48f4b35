"""Store bundles of code, and every file that is neither a page nor part of one."""

import hashlib
from collections.abc import Iterator
from typing import Any

from ingest.kernelwiki.job import Job
from ingest.kernelwiki.tree import Remark, read
from kwdb.models import bundle_files, corpus_files
from kwdb.store import corpus_parts as parts

Row = dict[str, Any]
_NOT_READ: Row = {"sha256": None, "size_bytes": None, "content": None}


def store_files(job: Job) -> None:
    """Store bundles and plain files; contents are read one batch at a time."""
    offered = [
        {
            "path": bundle.path,
            "page_id": bundle.page_id,
            "asset_mode": _word(bundle.manifest.get("asset_mode")),
            "license": _word(bundle.manifest.get("license")),
            "upstream": _upstream(bundle.manifest),
            "provenance": bundle.manifest or None,
        }
        for bundle in job.read.bundles
    ]
    job.rows["bundles"], keys = parts.store_bundles(job.connection, job.key, offered)
    job.rows["bundle_files"] = parts.store_contents(
        job.connection,
        bundle_files,
        ("bundle_id", "path"),
        _bundle_files(job, keys),
        parts.bundle_files_of(job.key),
    )
    job.rows["corpus_files"] = parts.store_contents(
        job.connection,
        corpus_files,
        ("corpus_id", "path"),
        _plain_files(job),
        parts.files_of(job.key),
    )
    files = sum(len(bundle.files) for bundle in job.read.bundles)
    job.summary.read |= {"bundles": len(offered), "bundle_files": files}


def _bundle_files(job: Job, keys: dict[str, int]) -> Iterator[Row]:
    for bundle in job.read.bundles:
        for name, entry in bundle.files.items():
            content = _content(job, f"{bundle.path}/{name}")
            yield _bundle_file(keys[bundle.path], name, entry) | content
        for name, entry in bundle.missing.items():
            reason = "named in PROVENANCE.yaml, but no such file in the bundle"
            job.read.remark(f"{bundle.path}/{name}", "missing file", reason)
            yield _bundle_file(keys[bundle.path], name, entry) | _NOT_READ


def _bundle_file(key: int, name: str, entry: Any) -> Row:
    return {
        "bundle_id": key,
        "path": name,
        "role": _word(entry.get("role")),
        "declared_sha256": _word(entry.get("sha256")),
    }


def _plain_files(job: Job) -> Iterator[Row]:
    for path, (kind, reason) in job.read.files.items():
        content = _content(job, path)
        yield {"corpus_id": job.key, "path": path, "kind": kind, "reason": reason} | content
    for remark in job.read.tree.refused:
        row = {"corpus_id": job.key, "path": remark.path, "kind": remark.kind}
        yield row | {"reason": remark.reason} | _NOT_READ


def _content(job: Job, path: str) -> Row:
    file = job.read.tree.files[path]
    data = read(file)
    if isinstance(data, Remark):
        if job.read.files.get(path, ("", None))[1] is None:
            job.read.remarks.append(data)
        job.summary.is_complete = False
        return {"size_bytes": file.size, "sha256": None, "content": None}
    digest = hashlib.sha256(data).hexdigest()
    return {"size_bytes": len(data), "sha256": digest, "content": data}


def _word(value: Any) -> str | None:
    return None if value is None or isinstance(value, (dict, list)) else str(value)


def _upstream(manifest: Row) -> str | None:
    named = (_word(manifest.get(name)) for name in ("upstream_repo", "upstream_sha"))
    return "@".join(part for part in named if part) or None
