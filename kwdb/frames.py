"""Claims as pandas data frames, for notebooks and plots; pandas is loaded when one is asked for."""

from typing import TYPE_CHECKING, Any, Final

from kwdb.claim_queries import ClaimFilters, best_claims, list_claims
from kwdb.config import load_settings
from kwdb.db import open_reader, read_transaction

if TYPE_CHECKING:
    import pandas as pd

CLAIM_COLUMNS: Final = {
    "id": "key of the claim; `kwdb explain claim:ID` says where it comes from",
    "repo": "slug of the repository whose pull request it was read from",
    "number": "number of that pull request",
    "page": "id of its page",
    "origin": "reported, extracted or measured",
    "status": "how far it is trusted",
    "gpu": "GPU; missing where none is named",
    "architecture": "architecture, where at least that is named",
    "gpu_count": "how many GPUs together",
    "op": "operation",
    "dtype": "number format",
    "variant": "backend or column that the figure belongs to",
    "shape": "shape as one text",
    "metric": "what is counted",
    "value": "figure in the unit as written",
    "unit_as_written": "unit as the author wrote it",
    "value_normalized": "figure in `unit`",
    "unit": "unit of the metric",
    "baseline_value": "figure compared with, in the unit as written",
    "baseline_label": "what is compared with",
    "role": "after, before, single or ratio",
    "direction": "higher_better or lower_better",
    "qualifier": "range, geomean, mean, up_to …",
    "statistic": "median, p99 …",
    "cache_state": "cold or hot",
    "comparable_key": "equal for figures that may be compared",
    "claimed_on": "day the pull request landed (datetime64)",
    "source_url": "where to read it",
}
_CATEGORIES: Final = (
    "repo origin status gpu architecture op dtype metric unit role direction qualifier statistic "
    "cache_state"
).split()
_INTEGERS: Final = ("number", "gpu_count")
_FLOATS: Final = ("value", "value_normalized", "baseline_value")


def claims(
    *,
    gpu: str | None = None,
    op: str | None = None,
    dtype: str | None = None,
    metric: str | None = None,
    status: str | None = None,
    origin: str | None = None,
    repo: str | None = None,
    best: bool = False,
    limit: int | None = None,
    database_url: str | None = None,
) -> "pd.DataFrame":
    """Return claims as a tidy frame: one figure a row, the columns of CLAIM_COLUMNS.

    With `best`, only the leader of each set of comparable figures, with `claims_compared`. A
    frame without rows has the same columns. `database_url` defaults to the settings.

    Raises:
        UnknownValueError: a filter has a value that nothing in the database has.
        SchemaVersionError: there is no database, or another version of kwdb made it.
    """
    filters = ClaimFilters(gpu, op, dtype, metric, status, origin, repo)
    ask = best_claims if best else list_claims
    engine = open_reader(database_url or load_settings().database_url)
    try:
        with read_transaction(engine) as connection:
            _, rows = ask(connection, filters, limit=limit)
    finally:
        engine.dispose()
    return _frame(rows, [*CLAIM_COLUMNS, *(["claims_compared"] if best else [])])


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> "pd.DataFrame":
    import pandas as pd

    frame = pd.DataFrame(rows, columns=columns)
    types: dict[str, Any] = dict.fromkeys(_CATEGORIES, "category")
    types |= dict.fromkeys(_INTEGERS, "Int64") | dict.fromkeys(_FLOATS, "float64")
    frame = frame.astype(types)
    frame["claimed_on"] = pd.to_datetime(frame["claimed_on"])
    return frame
