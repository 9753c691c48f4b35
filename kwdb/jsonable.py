"""Values that JSON has no form for, as text: the same for `--json` and for agents."""

from datetime import date, datetime
from typing import Any


def as_json(value: Any) -> Any:
    """Return times as ISO 8601 with Z, days as YYYY-MM-DD, bytes as hex, decimals as numbers."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return float(value) if hasattr(value, "as_integer_ratio") else str(value)
