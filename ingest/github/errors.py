"""What can go wrong between us and GitHub; all are IngestErrors that name what was asked."""

from datetime import datetime

from kwdb.errors import IngestError


class PassingError(IngestError):
    """An answer that may be better next time: 5xx, a broken connection, half a document."""


class RateLimitError(IngestError):
    """GitHub asks to wait for longer than a harvest should."""

    def __init__(self, what: str, resets_at: datetime) -> None:
        self.resets_at = resets_at
        super().__init__(
            f"{what}; it opens again at {resets_at:%Y-%m-%d %H:%M} UTC. What was read is stored: "
            "run the same command then to go on"
        )


class RefusedError(IngestError):
    """GitHub refuses for good: no such thing, no right to it, a page that is not served."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class PayloadError(IngestError):
    """An answer of another shape than the API promises."""
