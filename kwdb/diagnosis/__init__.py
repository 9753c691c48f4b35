"""From what is seen to what to try: symptom, pattern, techniques, kernels, pull requests, claims.

"waits at mbarriers" ──► pattern-pipeline-stalls ──► technique-pipeline-stages ──► kernel-…
"""

from typing import Any

import sqlalchemy as sa

from kwdb.diagnosis.evidence import describe, list_patterns
from kwdb.diagnosis.symptoms import point


def diagnose(connection: sa.Connection, text: str) -> dict[str, Any]:
    """Return the patterns that a symptom in plain words points at, best first.

    Each has the symptoms that matched, how to confirm it, candidate techniques with pull requests
    that show them, and kernels; both with their claims. Where nothing matches, `total` is 0,
    `nearest_symptoms` names known ones and `known_patterns` every pattern.
    """
    pointed, near = point(connection, text)
    found = describe(connection, pointed)
    known = [] if found else list_patterns(connection)
    return {
        "text": text,
        "total": len(found),
        "patterns": found,
        "nearest_symptoms": near,
        "known_patterns": known,
    }
