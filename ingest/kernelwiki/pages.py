"""One Markdown file as a page: front matter and body as bytes, id, type and vendor.

---                      ← fences, kept where they are anything but `---` and a line feed
id: kernel-deepgemm      ← front matter
---
# DeepGEMM               ← body, every byte after the second fence
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from ingest.kernelwiki.yamls import YAML_BYTES, YamlError, load_yaml
from kwdb.text import fold

_HEAD: Final = re.compile(
    rb"(\xef\xbb\xbf)?(---[ \t]*\r?\n)(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE
)
_PLAIN_FENCES: Final = "---\n---\n"
_LONGEST_ID: Final = 300

# The directory says what a source is: forks disagree on `type`, and `code-` has two meanings.
_SOURCES: Final = {
    "prs": "source-pr",
    "docs": "source-doc",
    "blogs": "source-blog",
    "contests": "source-contest",
    "experience": "source-experience",
    "experiences": "source-experience",
    "experiments": "source-experience",
    "code": "source-code",
    "ref": "source-ref",
    "refs": "source-ref",
}
_WIKI: Final = {
    "hardware": "wiki-hardware",
    "techniques": "wiki-technique",
    "kernels": "wiki-kernel",
    "patterns": "wiki-pattern",
    "languages": "wiki-language",
    "migration": "wiki-migration",
    "migrations": "wiki-migration",
    "skills": "wiki-skill",
    "api": "wiki-api-definition",
    "apis": "wiki-api-definition",
    "api-definitions": "wiki-api-definition",
    "experience": "wiki-experience",
    "experiences": "wiki-experience",
    "routing": "wiki-operator-routing",
    "operator-routing": "wiki-operator-routing",
    "algorithms": "wiki-algorithm",
    "code": "wiki-code-walkthrough",
    "code-walkthroughs": "wiki-code-walkthrough",
    "pitfalls": "wiki-pitfall",
    "tools": "wiki-tool",
    "recipes": "wiki-recipe",
}
LAYERS: Final = {"sources": ("source", _SOURCES), "wiki": ("wiki", _WIKI)}


@dataclass(frozen=True, slots=True)
class Page:
    """A file below wiki/ or sources/; `front_matter` is None where there is none to read."""

    id: str
    type: str
    path: str
    fences: str | None
    front_matter_text: str | None
    front_matter: dict[str, Any] | None
    body: bytes
    problem: str | None


def is_page(path: str) -> bool:
    """Whether a path is where pages live: Markdown below wiki/ or sources/."""
    return path.partition("/")[0] in LAYERS and "/" in path and path.lower().endswith(".md")


def read_page(path: str, data: bytes) -> Page:
    """Read a page; what is wrong with it is said in `problem`, and nothing of it is dropped.

    A page without a usable id gets one from its path: kernel-ks-hopper-skill for
    wiki/kernels/ks-hopper/SKILL.md.
    """
    fences, text, body = split(data)
    front_matter, problem = _front_matter(text, body)
    declared = (front_matter or {}).get("type")
    type_ = page_type(path, declared if isinstance(declared, str) else None)
    given = (front_matter or {}).get("id")
    id_, doubt = _id(given, path, type_)
    return Page(id_, type_, path, fences, text, front_matter, body, problem or doubt)


def split(data: bytes) -> tuple[str | None, str | None, bytes]:
    """Return fences (None: plain), front matter text (None: none) and body of a file.

    `join` undoes it, byte for byte.
    """
    match = _HEAD.match(data)
    if match is None:
        return None, None, data
    try:
        text = match[3].decode("utf-8")
        fences = ((match[1] or b"") + match[2] + match[4]).decode("utf-8")
    except UnicodeDecodeError:
        return None, None, data
    if "\0" in text:
        return None, None, data
    return (None if fences == _PLAIN_FENCES else fences), text, data[match.end() :]


def join(fences: str | None, text: str | None, body: bytes) -> bytes:
    """Return the file that `split` took apart."""
    if text is None:
        return body
    opening, feed, closing = (fences or _PLAIN_FENCES).partition("\n")
    return f"{opening}{feed}{text}{closing}".encode() + body


def _front_matter(text: str | None, body: bytes) -> tuple[dict[str, Any] | None, str | None]:
    if text is None:
        is_torn = body.startswith((b"---\n", b"---\r\n"))
        return None, "front matter that is not closed or no UTF-8" if is_torn else "no front matter"
    if len(text) > YAML_BYTES // 8:
        return None, f"front matter of {len(text)} signs, over the limit of {YAML_BYTES // 8}"
    try:
        found = load_yaml(text)
    except YamlError as exc:
        return None, f"front matter: {exc}"
    if not isinstance(found, dict):
        return None, f"front matter is no mapping but {type(found).__name__}"
    return found, None


def _id(given: Any, path: str, type_: str) -> tuple[str, str | None]:
    if isinstance(given, str) and given.strip() and given.isprintable():
        if len(given) <= _LONGEST_ID:
            return given.strip(), None
        return _derived_id(path, type_), f"id of {len(given)} signs, over {_LONGEST_ID}"
    reason = None if given is None else f"id {given!r} cannot be used"
    return _derived_id(path, type_), reason or "no id in the front matter"


def _derived_id(path: str, type_: str) -> str:
    layer, _, rest = path.partition("/")
    _, known = LAYERS[layer]
    parts = rest.removesuffix(".md").removesuffix(".MD").split("/")
    kept = [part for part in parts if part not in known]
    words = "-".join(fold(part).replace(" ", "-") for part in kept or parts)
    return f"{id_prefix(type_)}{words}"


_PREFIXES: Final = {
    "source-experience": "exp-",
    "wiki-experience": "exp-",
    "wiki-hardware": "hw-",
    "wiki-language": "lang-",
    "wiki-api-definition": "api-",
    "wiki-operator-routing": "routing-",
    "wiki-algorithm": "algo-",
    "wiki-code-walkthrough": "code-",
}


def id_prefix(type_: str) -> str:
    """Return how ids of a type begin, e.g. hw- for wiki-hardware."""
    return _PREFIXES.get(type_, f"{type_.partition('-')[2] or type_}-")


def page_type(path: str, declared: str | None) -> str:
    """Return the type of a page: by directory for sources, as declared for the wiki.

    Types are an open list: sources/lectures/ gives source-lecture, `type: lecture` wiki-lecture.
    """
    layer, known = LAYERS[path.partition("/")[0]]
    by_directory = next((known[part] for part in path.split("/")[1:-1] if part in known), None)
    name = _plain_type(declared)
    if layer == "source" or name is None:
        return by_directory or f"{layer}-{name or _singular(path)}"
    return name if name.startswith(("wiki-", "source-")) else f"wiki-{name}"


def _plain_type(declared: str | None) -> str | None:
    name = "-".join(fold(declared or "").split())[:60]
    return name or None


def _singular(path: str) -> str:
    parts = path.split("/")[1:-1]
    name = "-".join(fold(parts[0]).split())[:60] if parts else ""
    return (name[:-1] if name.endswith("s") and len(name) > 3 else name) or "page"


def vendor_of(page: Page) -> str | None:
    """Return the vendor a page is about: its field, else wiki/VENDOR/hardware/…."""
    given = (page.front_matter or {}).get("vendor")
    if isinstance(given, str) and given:
        return given
    parts = page.path.split("/")
    is_nested = len(parts) > 3 and parts[0] == "wiki" and parts[1] not in _WIKI
    return parts[1] if is_nested and parts[2] in _WIKI else None
