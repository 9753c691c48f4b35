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
    part that was shortened and what it had, e.g. {"claims": "12 of 96"}.
    """
    whole: Document = json.loads(_dump(document))
    found, cut = whole, dict[str, Any]()
    while len(text := _dump(found | cut)) > limit or len(text.encode()) > limit:
        if not found:
            return fit({"cut": "all of it: ask for less"}, limit)
        found = _halve(found)
        cut = {
            "cut": {
                name: _share(found.get(name), whole[name])
                for name in whole
                if found.get(name) != whole[name]
            }
        }
    return text, found | cut


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=as_json)


def _halve(value: Any) -> Any:
    """Return `value` with its longest part halved, or without it where it cannot be."""
    if isinstance(value, str) or (isinstance(value, list) and len(value) > 1):
        return value[: len(value) // 2]
    if not isinstance(value, (list, dict)) or not value:
        return value
    keys = value if isinstance(value, dict) else range(len(value))
    longest = max(keys, key=lambda key: len(_dump(value[key])))
    shorter = _halve(value[longest])
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(_dump(shorter)) < len(_dump(value[longest])):
        copy[longest] = shorter
    else:
        del copy[longest]
    return copy


def _share(kept: Any, whole: Any) -> str:
    if isinstance(whole, (list, str)) and len(kept or ()) < len(whole):
        return f"{len(kept or ())} of {len(whole)}"
    return "left out" if kept is None else "shortened"
