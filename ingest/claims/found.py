"""A figure on its way to becoming a claim: what its own place says, before context is added."""

from dataclasses import dataclass, field

from ingest.claims.document import Place
from ingest.claims.figures import Figure
from kwdb.units import direction_of


@dataclass(frozen=True, slots=True)
class Found:
    """One figure with its place; `near` are (source, text) from the nearest to the farthest."""

    metric: str
    figure: Figure
    first: int
    last: int
    role: str = "single"
    direction: str | None = None
    baseline: Figure | None = None
    baseline_label: str | None = None
    unit_text: str | None = None
    ratio_of: str | None = None
    variant: str | None = None
    statistic: str | None = None
    qualifier: str | None = None
    op: str | None = None
    utilization: float | None = None
    dimensions: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    place: Place = field(default_factory=Place)
    gpu: str | None = None
    key: str = ""
    side: str | None = None
    series: int = 0
    origin: str = "prose"

    @property
    def way(self) -> str:
        """Which way is better, by what the text says or by the metric."""
        return self.direction or direction_of(self.metric)
