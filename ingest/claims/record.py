"""What the extractor hands on: one claim, with the place of each thing it says."""

from dataclasses import dataclass

from kwdb.records import Evidence

Dimension = tuple[str, float | None, str | None]
"""Name, and the cell as a number where it is one, else as text."""

Field = tuple[str, str, str]
"""Field, basis (`stated` in the figure's own place, `derived` from elsewhere), source place."""


@dataclass(frozen=True, slots=True)
class ExtractedClaim:
    """One performance figure of a pull request; None means that the text does not say."""

    metric: str
    unit: str | None
    value_text: str
    value: float
    direction: str
    role: str
    evidence: Evidence
    value_max: float | None = None
    value_normalized: float | None = None
    qualifier: str | None = None
    statistic: str | None = None
    baseline_value: float | None = None
    baseline_label: str | None = None
    ratio_of: str | None = None
    gpu: str | None = None
    architecture: str | None = None
    gpu_count: int | None = None
    dtype: str | None = None
    op: str | None = None
    variant: str | None = None
    shape: str | None = None
    dimensions: tuple[Dimension, ...] = ()
    utilization: float | None = None
    cache_state: str | None = None
    timing_scope: str | None = None
    fields: tuple[Field, ...] = ()
    ordinal: int = 0
