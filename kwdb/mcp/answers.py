"""An answer to an agent: one JSON document of bounded size that says what was left out."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp.types import CallToolResult, TextContent

from kwdb.jsonable import as_json

MAX_BYTES: Final = 40_000
"""Of one answer; about ten thousand tokens, which is what agents take in at once."""

Document = dict[str, Any]


def show(document: Document) -> CallToolResult:
    """Return a document as the result of a tool: the JSON text, and the same as structure."""
    text, structure = fit(document)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structure
    )


def fit(document: Mapping[str, Any], limit: int = MAX_BYTES) -> tuple[str, Document]:
    """Return a document as JSON of at most `limit` bytes, and as JSON values.

    Where it is too long, its longest list or text is halved until it fits; `cut` then names each
    place that was shortened and what it had, e.g. {"claims": "12 of 96"}.
    """
    found: Document = json.loads(_dump(document))
    whole, cut = found, {}
    while len(text := _dump(found).encode()) > limit:
        found = {name: value for name, value in found.items() if name != "cut"}
        found, place = _halve(found, ())
        cut[place] = _share(found, whole, place)
        found["cut"] = {".".join(map(str, where)): share for where, share in cut.items()}
    return text.decode(), found


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=as_json)


Place = tuple[str | int, ...]


def _halve(value: Any, place: Place) -> tuple[Any, Place]:
    """Return `value` with its longest part halved, and where that is."""
    if isinstance(value, str):
        return value[: len(value) // 2], place
    if isinstance(value, list) and len(value) > 1:
        return value[: len(value) // 2], place
    if not isinstance(value, (list, dict)) or not value:
        return value, place
    keys = value if isinstance(value, dict) else range(len(value))
    longest = max(keys, key=lambda key: len(_dump(value[key])))
    shorter, where = _halve(value[longest], (*place, longest))
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(_dump(shorter)) < len(_dump(value[longest])):
        copy[longest] = shorter
        return copy, where
    del copy[longest]
    return copy, place


def _share(found: Any, whole: Any, place: Place) -> str:
    for step in place:
        found, whole = found[step], whole[step]
    unit = " signs" if isinstance(whole, str) else ""
    return f"{len(found or ())} of {len(whole)}{unit}" if hasattr(whole, "__len__") else "left out"
