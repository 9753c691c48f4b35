import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from kwdb import frames
from kwdb.cli.app import app
from kwdb.db import write_transaction
from kwdb.door import read_only_query
from kwdb.errors import UnknownValueError
from kwdb.records import Evidence, ExtractedClaim
from kwdb.store.claims import Reading, read_claim_names, store_claims
from kwdb.store.harvest import add_repository, ensure_pull_requests
from kwdb.store.verdicts import RepositoryRow

pytestmark = pytest.mark.usefixtures("no_seed_claims")
DOCS = Path(__file__).parents[2] / "docs" / "claims.md"
ROW = {"number": 7, "title": "t", "body": "b", "landed_at": datetime(2026, 3, 4, tzinfo=UTC)}


def _claim(value: float, variant: str) -> ExtractedClaim:
    return ExtractedClaim(
        metric="latency",
        unit="us",
        value_text=f"{value:g}",
        value=value,
        value_normalized=value,
        direction="lower_better",
        role="single",
        evidence=Evidence("body", f"| 128 | {value:g} |", 3),
        gpu="B200",
        op="gemm",
        variant=variant,
        dimensions=(("M", 128.0, None),),
        fields=(("gpu", "derived", "heading"),),
    )


@pytest.fixture
def url(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> str:
    with write_transaction(engine) as connection:
        key = add_repository(connection, "toy", "acme/toy", "squash")
        known: dict[int, int] = {}
        ensure_pull_requests(connection, key, [7], known)
        read = [(_claim(20.0, "a"), None), (_claim(10.0, "b"), None)]
        repository = RepositoryRow(key, "toy", "acme/toy", "squash", "main")
        names = read_claim_names(connection)
        reading = Reading(ROW | {"id": known[7]}, read)
        store_claims(connection, repository, [reading], "test-1", names)
    found = _url_of(engine)
    monkeypatch.setenv("KWDB_DATABASE_URL", found)
    return found


def _url_of(engine: sa.Engine) -> str:
    if engine.dialect.name != "sqlite":
        return engine.url.render_as_string(hide_password=False)
    with engine.connect() as connection:
        return f"sqlite:///{connection.exec_driver_sql('PRAGMA database_list').first()[2]}"


def test_a_frame_is_tidy_and_an_empty_one_has_the_same_columns(url: str) -> None:
    frame = frames.claims(gpu="b200", database_url=url)
    assert list(frame.columns) == list(frames.CLAIM_COLUMNS)
    assert sorted(frame["value_normalized"]) == [10.0, 20.0]
    assert str(frame["gpu"].dtype) == "category"
    assert str(frame["claimed_on"].dtype).startswith("datetime64")
    empty = frames.claims(gpu="H100", database_url=url)
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


def test_best_gives_one_leader(url: str) -> None:
    frame = frames.claims(best=True, database_url=url)
    assert frame[["variant", "claims_compared"]].values.tolist() == [["b", 2]]


def test_unknown_values_name_the_nearest(url: str) -> None:
    with pytest.raises(UnknownValueError, match="nearest known: B200"):
        frames.claims(gpu="b20x", database_url=url)
    with pytest.raises(UnknownValueError, match="latency"):
        frames.claims(metric="latencies", database_url=url)


def test_the_command_lists_and_explains(url: str) -> None:
    cli = CliRunner()
    listed = json.loads(cli.invoke(app, ["claims", "--best", "--json"]).stdout)
    assert (listed["total"], listed["claims"][0]["value"]) == (1, 10.0)
    key = listed["claims"][0]["id"]
    told = cli.invoke(app, ["explain", f"claim:{key}"]).stdout
    assert "| 128 | 10 |" in told
    assert "gpu: derived, from the heading" in told
    assert "https://github.com/acme/toy/pull/7" in told


def test_the_queries_of_the_docs_run(url: str) -> None:
    queries = re.findall(r"```sql\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    assert len(queries) >= 10
    for query in queries:
        assert read_only_query(url, query, limit=10, timeout_s=10).columns
