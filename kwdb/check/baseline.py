"""A baseline: what was amiss on a day, so that a check can ask only that nothing gets worse.

{"tag-default": {"pr-vllm-10995": 1}, …}   rule -> id -> how often
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from kwdb.check.rules import Finding
from kwdb.errors import ConfigError

COUNTED: Final = frozenset({"error", "warning"})
"""Notices are left out: they may be right."""

Baseline = Counter[tuple[str, str]]


def write_baseline(path: Path, findings: Iterable[Finding]) -> int:
    """Write the errors and warnings among `findings` to a file; returns their number.

    Raises:
        ConfigError: the file cannot be written.
    """
    counted = _count(findings)
    rules: dict[str, dict[str, int]] = {}
    for (rule, id_), count in sorted(counted.items()):
        rules.setdefault(rule, {})[id_] = count
    try:
        path.write_text(json.dumps(rules, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot write {path}: {exc.strerror}") from exc
    return counted.total()


def read_baseline(path: Path) -> Baseline:
    """Read what `write_baseline` wrote.

    Raises:
        ConfigError: there is no such file, or it is no baseline.
    """
    try:
        rules = json.loads(path.read_text(encoding="utf-8"))
        found = {(r, i): int(count) for r, ids in rules.items() for i, count in ids.items()}
    except OSError as exc:
        raise ConfigError(f"cannot read {path}: {exc.strerror}; make it with --write") from exc
    except (ValueError, AttributeError, TypeError) as exc:
        raise ConfigError(f"{path} is no baseline: {exc}; make it again with --write") from exc
    return Counter(found)


def beyond(findings: Sequence[Finding], baseline: Baseline) -> tuple[list[Finding], int]:
    """Return the errors and warnings that a baseline does not hold, and how many of it are gone."""
    left = Counter(baseline)
    new = []
    for finding in findings:
        place = (finding.rule, finding.id)
        if finding.severity not in COUNTED:
            continue
        if left[place] > 0:
            left[place] -= 1
        else:
            new.append(finding)
    return new, sum(count for count in left.values() if count > 0)


def _count(findings: Iterable[Finding]) -> Baseline:
    return Counter((one.rule, one.id) for one in findings if one.severity in COUNTED)
