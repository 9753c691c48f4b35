"""The words of `ingest/rules/claims*.yaml`, compiled once."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_GEOMETRIC = re.compile(r"\bgeo(?:metric)?[- ]?means?\b", re.I)


@dataclass(frozen=True, slots=True)
class GPU:
    """A product name as the database spells it, and its architecture."""

    name: str
    architecture: str


@cache
def _data(name: str) -> Mapping[str, Any]:
    text = (files("ingest") / "rules" / f"{name}.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(text)
    return loaded


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """One alternation of whole words; a trailing * also takes the word's endings."""
    forms = sorted({str(word) for word in words if word != ""}, key=lambda w: (-len(w), w))
    parts = [re.escape(w[:-1]) + r"\w*" if w.endswith("*") else re.escape(w) for w in forms]
    joined = "|".join(part.replace(r"\ ", r"\s+") for part in parts)
    return re.compile(rf"(?<![^\W_])(?:{joined})(?![^\W_])", re.I)


@cache
def words(*path: str) -> re.Pattern[str]:
    """The words at a path of `claims.yaml`, such as `words("before", "words")`."""
    node: Any = _data("claims")
    for name in path:
        node = node[name]
    return _pattern(node)


@cache
def pattern(*path: str) -> re.Pattern[str]:
    """The alternatives at a path of `claims_patterns.yaml`; case counts under `cased` only."""
    node: Any = _data("claims_patterns")
    for name in path:
        node = node[name]
    return re.compile("|".join(f"(?:{form})" for form in node), 0 if "cased" in path else re.I)


@cache
def table(name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """A mapping of `claims.yaml` as (name, words) in the order of the file."""
    return tuple((key, _pattern(forms)) for key, forms in _data("claims")[name].items())


@cache
def ops() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """All names of operations as one pattern, longest first, and what each stands for."""
    table_ = _data("claims")["ops"]
    names = {form: name for name, forms in table_.items() for form in forms}
    names |= dict.fromkeys(_data("claims")["no_op"], "")
    return _pattern(names), names


def general_ops(op: str) -> Iterable[str]:
    """The operations of which this one is a kind, so that beside it they say nothing more."""
    kinds = _data("claims")["kinds_of"]
    return (general for general, special in kinds.items() if op in special)


def phased_ops() -> Iterable[str]:
    """The operations that are told apart into prefill and decode."""
    phased: Iterable[str] = _data("claims")["phased"]
    return phased


@cache
def gpu_pattern() -> re.Pattern[str]:
    """All spellings of all GPUs; the number of the group that matched is that of the row."""
    rows = _data("claims_gpus")["gpus"]
    inner = "|".join(f"({row['pattern']})" for row in rows)
    return re.compile(rf"(?<![A-Za-z0-9.])(?:\d{{1,3}}[x×])?(?:{inner})(?![0-9])(?!X\d)", re.I)


@cache
def gpus() -> tuple[GPU, ...]:
    """The GPUs in the order of `gpu_pattern`'s groups."""
    return tuple(GPU(row["name"], row["architecture"]) for row in _data("claims_gpus")["gpus"])


@cache
def families() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Architectures that a text may give instead of a product."""
    rows = _data("claims_gpus")["families"]
    return tuple(
        (row["architecture"], re.compile(rf"(?<![A-Za-z0-9])(?:{row['pattern']})(?![0-9])", re.I))
        for row in rows
    )


def statistic(text: str) -> str | None:
    """Return the statistic that a text names; a geometric mean is a qualifier, not a mean."""
    return first(table("statistics"), _GEOMETRIC.sub(" ", text))


def first(pairs: Iterable[tuple[str, re.Pattern[str]]], text: str) -> str | None:
    """Return the name of the first pair whose words occur in `text`."""
    return next((name for name, pattern in pairs if pattern.search(text)), None)
