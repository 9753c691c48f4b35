from pathlib import Path

import pytest
import sqlalchemy as sa

from ingest.harvest import harvest
from ingest.job import Job, Options
from kwdb.config import Settings
from kwdb.db import read_transaction, write_transaction
from kwdb.models import performance_claims, pull_requests
from kwdb.store.harvest import add_repository
from kwdb.store.verdicts import RepositoryRow

BODY = """Faster copy on B200.

| M | before (us) | after (us) | speedup |
|---|---|---|---|
| 128 | 12.5 | 10.0 | 1.25x |
| 256 | 25.0 | 12.5 | 4.00x |
"""


@pytest.fixture
def ingest(engine: sa.Engine, git_repository, tmp_path: Path):
    with write_transaction(engine) as connection:
        key = add_repository(connection, "toy", "acme/kernels", "squash")
    url = f"file://{tmp_path / 'remotes'}"
    settings = Settings("sqlite://", url, "http://127.0.0.1:1", tmp_path / "cache")

    def run() -> dict[str, int]:
        repository = RepositoryRow(key, "toy", "acme/kernels", "squash", "main")
        names = frozenset({"acme/kernels"})
        job = Job(engine, settings, repository, names, Options(), lambda *_: None)
        return harvest(job)["stages"]["extract"]

    return run


def _claims(engine: sa.Engine) -> list[dict[str, object]]:
    with read_transaction(engine) as connection:
        query = sa.select(performance_claims, pull_requests.c.body).join(pull_requests)
        rows = connection.execute(query.order_by(performance_claims.c.id)).mappings()
        return [dict(row) for row in rows]


def test_claims_are_read_once_and_stand_where_they_say(engine, git_repository, ingest) -> None:
    git_repository.commit(f"[kernel] Speed up copy (#1)\n\n{BODY}", mail="a@b.c")
    first = ingest()
    assert first["claims"] == len(_claims(engine)) > 0
    for claim in _claims(engine):
        rest = "\n".join(str(claim["body"]).split("\n")[claim["evidence_line"] - 1 :])
        assert rest.lstrip(" \t").startswith(str(claim["evidence"]))
    assert ingest() == {"claims": 0, "retired": 0, "disputed": 0, "rows_written": 0}


def test_a_ratio_that_its_row_contradicts_is_disputed(engine, git_repository, ingest) -> None:
    git_repository.commit(f"[kernel] Speed up copy (#1)\n\n{BODY}")
    assert ingest()["disputed"] == 1
    (bad,) = [claim for claim in _claims(engine) if claim["status"] == "disputed"]
    assert (bad["value"], bad["status_by"]) == (4.0, "plausible:ratio")


def test_a_new_extractor_changes_no_id(engine, git_repository, ingest) -> None:
    git_repository.commit(f"[kernel] Speed up copy (#1)\n\n{BODY}")
    ingest()
    before = [(claim["id"], claim["claim_key"]) for claim in _claims(engine)]
    with write_transaction(engine) as connection:
        connection.execute(sa.update(pull_requests).values(extractor="older"))
    ingest()
    assert [(claim["id"], claim["claim_key"]) for claim in _claims(engine)] == before
