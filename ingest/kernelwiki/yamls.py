"""YAML from strangers: measured before it is built, and turned into JSON's kinds of values.

libyaml's events are counted first, so that neither nesting nor aliases can blow up what is built
afterwards: `a: &a [x, x]`, `b: &b [*a, *a]` … doubles with each line.
"""

import math
import re
from datetime import date, datetime
from typing import Any, Final

import yaml

DEPTH: Final = 64
NODES: Final = 1_000_000
YAML_BYTES: Final = 8 << 20

# Written without quotes these would become numbers and lose leading zeros.
_TEXTS: Final = frozenset(
    "id title author merge_sha merge_commit sha upstream_sha dev_branch_sha name version rank "
    "participant claim_valid_for last_verified_release".split()
)
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_PLAIN: Final = "tag:yaml.org,2002:"
_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(Exception):
    """Why a text cannot be used as YAML, in one line."""


class _Loader(_BASE):  # type: ignore[misc]
    """The safe loader, but names stay text and what only looks like a number or day stays text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Build a mapping; scalars under the keys of names are text."""
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in _TEXTS:
                    _as_text(value)
        return super().construct_mapping(node, deep=deep)


def _as_text(node: Any) -> None:
    if isinstance(node, yaml.ScalarNode) and node.tag != f"{_PLAIN}null":
        node.tag = f"{_PLAIN}str"


def _lenient(kind: str) -> Any:
    build = getattr(_BASE, f"construct_yaml_{kind}")

    def construct(loader: Any, node: Any) -> Any:
        try:
            return build(loader, node)
        except (ValueError, OverflowError):
            return node.value

    return construct


for _kind in ("int", "float", "timestamp"):
    _Loader.add_constructor(f"{_PLAIN}{_kind}", _lenient(_kind))


def load_yaml(text: str | bytes) -> Any:
    """Return the one document of `text` as JSON's kinds of values; None for an empty one.

    Days and times become ISO 8601 text, keys text, NaN and infinities their names.

    Raises:
        YamlError: it is no YAML, or too large, too deep or too much once aliases are followed.
    """
    if len(text) > YAML_BYTES:
        raise YamlError(f"{len(text)} bytes of YAML, over the limit of {YAML_BYTES}")
    try:
        _measure(text)
        return as_json(yaml.load(text, _Loader))
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        said = getattr(exc, "problem", None) or str(exc).splitlines()[0]
        raise YamlError(f"no YAML: {said}" + (f", line {mark.line + 1}" if mark else "")) from exc
    except (ValueError, TypeError, UnicodeError, RecursionError) as exc:
        raise YamlError(f"no YAML: {exc}") from exc


def _measure(text: str | bytes) -> None:
    """Count nodes as if every alias were written out, and the depth."""
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, _BASE):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            open_.append((event.anchor, total))
            if len(open_) > DEPTH:
                raise YamlError(f"nested more than {DEPTH} deep")
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = total - before + 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_):
                raise YamlError(f"the alias *{event.anchor} contains itself")
            total += sizes.get(event.anchor or "", 1)
        else:
            total += 1
        if total > NODES:
            raise YamlError(f"more than {NODES} values once its aliases are followed")


def as_json(value: Any) -> Any:
    """Return `value` in JSON's kinds of values."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(_key(key)): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, (set, frozenset)):  # which has no order of its own
        return sorted(as_json(item) if isinstance(item, str) else str(item) for item in value)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return key.isoformat() if isinstance(key, date) else str(key)


def clean(text: str) -> str:
    """Replace what neither engine stores as text: NUL and halves of surrogate pairs."""
    return _UNSTORABLE.sub("\ufffd", text)
