"""Triage and tags of pull requests by the rule tables of ingest/rules."""

from ingest.classify.jsonlines import classify_lines
from ingest.classify.rules import ruleset
from ingest.classify.verdict import classify

__all__ = ["classify", "classify_lines", "ruleset"]
