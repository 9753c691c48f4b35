"""A change in, a verdict out; pure, and the same for the same change and ruleset."""

from ingest.classify.diff import read_diff
from ingest.classify.tags import match_tags
from ingest.classify.triage import decide
from kwdb.records import Change, Verdict


def classify(change: Change) -> Verdict:
    """Decide whether `change` is kernel work and tag it, each with evidence.

    Tags are given to excluded changes too: they say what the change names, not that it was kept.
    The rules come from ingest/rules/*.yaml; `ruleset()` names their version.
    """
    files = None if change.diff is None else read_diff(change.diff)
    decision = decide(change, files)
    sign = decision.sign
    tags = match_tags(change, files)
    return Verdict(decision.decision, sign.reason, sign.rule, sign.evidence, tags)
