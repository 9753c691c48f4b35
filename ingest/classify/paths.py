"""What one path of a repository is: test, document, device code, host code that launches it.

The class of a path comes from the first rule of paths.yaml that matches it, so the order of that
file is part of its meaning. Repositories share few paths and repeat them often: both answers about
a path are remembered.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ingest.classify.rules import RULES_DIR, Rule, read_rule
from ingest.classify.source import read_source

OTHER = "other"


@dataclass(frozen=True, slots=True)
class PathClass:
    """The class of a path, the rule that says so and its weight as a sign of kernel work."""

    name: str
    rule: str
    weight: float


@dataclass(frozen=True, slots=True)
class PathTable:
    """The rules of paths.yaml, in order, and the classes that other modules ask about."""

    rules: tuple[tuple[Rule, float], ...]
    silent: frozenset[str]
    regexes: tuple[re.Pattern[str], ...]

    def classify(self, path: str) -> PathClass:
        """Return the class of `path`; OTHER with weight 0 when no rule knows it."""
        for (rule, weight), regex in zip(self.rules, self.regexes, strict=True):
            if regex.search(path):
                return PathClass(rule.name, rule.key, weight)
        return PathClass(OTHER, OTHER, 0.0)


@lru_cache(maxsize=1)
def path_table() -> PathTable:
    """Return paths.yaml, read on the first call.

    Raises:
        InvalidRecordError: a rule of the file cannot be used.
    """
    source = read_source(RULES_DIR / "paths.yaml")
    weights = source.data["weights"]
    rules = []
    for row in source.data["rules"]:
        rule = read_rule(source, row, {"path": 1.0})
        source.allow(rule.key, "class", [rule.name], weights)
        rules.append((rule, float(row.get("weight", weights[rule.name]))))
    regexes = tuple(_any_of(rule) for rule, _ in rules)
    return PathTable(tuple(rules), frozenset(source.data["silent"]), regexes)


def _any_of(rule: Rule) -> re.Pattern[str]:
    """One regex for all fragments of `rule`; each keeps its own flags."""
    parts = []
    for fragment in rule.fragments:
        flags = "i" if fragment.regex.flags & re.IGNORECASE else "-i"
        parts.append(f"(?{flags}:{fragment.regex.pattern})")
    return re.compile("|".join(parts), re.IGNORECASE)


@lru_cache(maxsize=1 << 17)
def path_class(path: str) -> PathClass:
    """Return the class of `path`."""
    return path_table().classify(path)


def is_silent(path: str) -> bool:
    """Tell whether `path` is a test, document or the like: never evidence for a tag."""
    return path_class(path).name in path_table().silent


def speaking(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that may say something about a change, in their order."""
    return tuple(path for path in paths if not is_silent(path))
