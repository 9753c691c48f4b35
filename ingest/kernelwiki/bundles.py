"""Bundles of code: directories with a PROVENANCE.yaml that names files, roles and digests.

Files are looked up among those that the walk found, so that `../../etc/passwd` in a manifest is
a file that is missing, not one that is read.
"""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.kernelwiki.pages import Page
from ingest.kernelwiki.tree import Tree

MANIFEST: Final = "PROVENANCE.yaml"


@dataclass(slots=True)
class Bundle:
    """A bundle: its directory, manifest, the page that owns it, path -> manifest entry."""

    path: str
    manifest: dict[str, Any]
    page_id: str | None = None
    files: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    missing: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def is_manifest(path: str) -> bool:
    """Whether a path is the manifest of a bundle."""
    return posixpath.basename(path) == MANIFEST and "/" in path


def read_bundle(path: str, document: Any) -> Bundle:
    """Return the bundle whose manifest stands at `path`; files come with `assign_files`."""
    manifest = document if isinstance(document, dict) else {}
    return Bundle(posixpath.dirname(path), manifest)


def assign_files(bundles: Iterable[Bundle], tree: Tree) -> set[str]:
    """Give each bundle the files below it, the innermost first; returns the paths taken."""
    by_path = {bundle.path: bundle for bundle in bundles}
    for path in tree.files:
        owner = posixpath.dirname(path)
        while owner and owner not in by_path:
            owner = posixpath.dirname(owner)
        if owner:
            by_path[owner].files[path[len(owner) + 1 :]] = {}
    for bundle in by_path.values():
        _join_manifest(bundle)
    return {f"{bundle.path}/{name}" for bundle in by_path.values() for name in bundle.files}


def _join_manifest(bundle: Bundle) -> None:
    listed = bundle.manifest.get("files")
    for entry in listed if isinstance(listed, list) else ():
        name = entry.get("local_path") if isinstance(entry, dict) else None
        if isinstance(name, str):
            plain = posixpath.normpath(name)
            target = bundle.files if plain in bundle.files else bundle.missing
            target[plain if plain in bundle.files else name] = entry


def assign_pages(bundles: Iterable[Bundle], pages: Iterable[Page]) -> None:
    """Name the page that owns each bundle: by its artifact_dir, or a contest page by its path."""
    owners: dict[str, str] = {}
    for page in pages:
        given = (page.front_matter or {}).get("artifact_dir")
        if isinstance(given, str):
            owners[posixpath.normpath(given)] = page.id
        if page.type == "source-contest":
            stem = page.path.removeprefix("sources/").removesuffix(".md")
            owners.setdefault(f"artifacts/{stem}/submissions", page.id)
    for bundle in bundles:
        place = bundle.path
        while place and place not in owners:
            place = posixpath.dirname(place)
        bundle.page_id = owners.get(place)
