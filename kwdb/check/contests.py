"""Rules on contests."""

from typing import Final

from kwdb.check.rules import Rule

RULES: Final[tuple[Rule, ...]] = ()
