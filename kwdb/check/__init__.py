"""`kwdb check`: rules that say what is wrong with the knowledge, not with the file."""

from kwdb.check.rules import Finding, Rule
from kwdb.check.run import RULES, count_by_severity, find_rules, run_check

__all__ = ["RULES", "Finding", "Rule", "count_by_severity", "find_rules", "run_check"]
