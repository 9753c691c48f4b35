import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from kwdb.db import open_reader, open_writer, read_transaction, write_transaction
from kwdb.dump import canonical_dump
from kwdb.migrate import upgrade
from kwdb.models import metadata, page_versions, performance_claims
from kwdb.seed import load_seeds

Harvest = Callable[..., None]
BOOKKEEPING = {"harvest_cursors", "harvest_gaps", "harvest_runs"}


def dump(engine: sa.Engine) -> list[bytes]:
    with read_transaction(engine) as connection:
        return list(canonical_dump(connection))


def rows_of(lines: list[bytes], table: str) -> list[dict[str, object]]:
    return [row for row in map(json.loads, lines) if row["table"] == table]


@pytest.fixture
def sqlite_engine(tmp_path: Path) -> Iterator[sa.Engine]:
    """One more database, on SQLite whatever the engine under test."""
    url = f"sqlite:///{tmp_path}/second.sqlite"
    upgrade(url)
    engine = open_writer(url)
    load_seeds(engine)
    yield engine
    engine.dispose()


def add_odd_rows(engine: sa.Engine) -> None:
    version = {
        "id": 77_000,
        "page_id": "pr-kernels-2",
        "corpus_id": 1,
        "path": "odd/größe-\u2028.md",
        "front_matter_text": "a: 1\n",
        "front_matter": {"z": [1, {"b": None, "a": 0.5}], "é": "ü \u0001 \U0001f600", "a": True},
        "body": bytes(range(256)),
        "body_sha256": "0" * 64,
        "captured_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    claim = {"origin": "reported", "status": "unreviewed", "page_id": "pr-kernels-2"}
    figures = (-0.0, 0.1, 1e300, 1e-300, 123456789.123456789, 3.0, None)
    with write_transaction(engine) as connection:
        connection.execute(sa.insert(page_versions), [version])
        connection.execute(
            sa.insert(performance_claims),
            [
                claim
                | {"id": 77_000 + n, "claim_key": f"odd-{n}", "metric": "speedup", "value": value}
                | {"claimed_on": date(2026, 1, n + 1), "evidence": '"quoted" \\ \t ≥ 8'}
                for n, value in enumerate(figures)
            ],
        )


def test_both_engines_dump_the_same_bytes(
    engine: sa.Engine, sqlite_engine: sa.Engine, harvest_into: Harvest
) -> None:
    for one in (engine, sqlite_engine):
        harvest_into(one)
        add_odd_rows(one)
    assert dump(engine) == dump(sqlite_engine)


def test_another_order_of_repositories_dumps_the_same(
    engine: sa.Engine, sqlite_engine: sa.Engine, harvest_into: Harvest
) -> None:
    harvest_into(engine, ["NVIDIA/cutlass", "acme/kernels"])
    harvest_into(sqlite_engine, ["acme/kernels", "NVIDIA/cutlass"])
    assert dump(engine) == dump(sqlite_engine)


def test_a_second_harvest_dumps_the_same(engine: sa.Engine, harvest_into: Harvest) -> None:
    harvest_into(engine)
    before = dump(engine)
    harvest_into(engine)
    assert dump(engine) == before


def test_a_change_of_knowledge_changes_the_dump(engine: sa.Engine, harvest_into: Harvest) -> None:
    harvest_into(engine)
    before = set(dump(engine))
    with write_transaction(engine) as connection:
        connection.execute(sa.text("UPDATE pages SET title = 'x' WHERE id = 'pr-kernels-1'"))
    (line,) = set(dump(engine)) - before
    assert json.loads(line)["title"] == "x"


@pytest.fixture(scope="module")
def lines(world_url: str) -> list[bytes]:
    engine = open_reader(world_url)
    found = dump(engine)
    engine.dispose()
    return found


def test_every_line_is_a_json_object_with_its_table(lines: list[bytes]) -> None:
    assert {line[-1:] for line in lines} == {b"\n"}
    assert {line.count(b"\n") for line in lines} == {1}
    assert {next(iter(json.loads(line))) for line in lines} == {"table"}


def test_tables_come_by_name_and_lines_by_bytes(lines: list[bytes]) -> None:
    tables = [json.loads(line)["table"] for line in lines]
    assert tables == sorted(tables)
    for table in set(tables):
        part = [line for line, name in zip(lines, tables, strict=True) if name == table]
        assert part == sorted(part)


def test_every_row_is_there_once(lines: list[bytes], world: sa.Connection) -> None:
    assert len(set(lines)) == len(lines)
    for table in metadata.tables.values():
        if table.name not in BOOKKEEPING:
            count = world.execute(sa.select(sa.func.count()).select_from(table)).scalar()
            assert (table.name, len(rows_of(lines, table.name))) == (table.name, count)


def test_bookkeeping_and_times_of_ours_are_left_out(lines: list[bytes]) -> None:
    rows = [json.loads(line) for line in lines]
    assert {row["table"] for row in rows} & (
        BOOKKEEPING | {"page_index", "alembic_version"}
    ) == set()
    ours = {"fetched_at", "imported_at", "decided_at", "captured_at", "decided_on", "retired_at"}
    assert [row for row in rows if row.keys() & (ours | {"pk"})] == []


def test_no_surrogate_key_is_shown(lines: list[bytes]) -> None:
    foreign = {
        (table.name, column.name)
        for table in metadata.tables.values()
        for column in table.columns
        for key in column.foreign_keys
        if isinstance(key.column.type, sa.Integer)
    }
    rows = [json.loads(line) for line in lines]
    shown = [
        (row["table"], name)
        for row in rows
        for name, value in row.items()
        if (row["table"], name) in foreign and value is not None and not isinstance(value, str)
    ]
    assert shown == []
    assert {row["table"] for row in rows if "id" in row} == {"pages"}


def test_a_pull_request_and_its_link(lines: list[bytes]) -> None:
    wanted = "NVIDIA/cutlass 9475"
    (found,) = (
        row
        for row in rows_of(lines, "pull_requests")
        if (row["repository_id"], row["number"]) == ("NVIDIA/cutlass", 9475)
    )
    names = ("title", "author_id", "landed_at", "landed_state", "decision", "decision_evidence")
    path = "csrc/attention/wide.cu"
    assert [found[name] for name in names] == [
        "Blackwell attention kernel",
        "jane",
        "2023-11-15T01:13:20Z",
        "landed",
        "include",
        {"path": path, "text": path, "where": "path"},
    ]
    links = [r for r in rows_of(lines, "pull_request_commits") if r["pull_request_id"] == wanted]
    assert [(r["role"], r["commit_id"]) for r in links] == [
        ("landed", f"NVIDIA/cutlass {found['merge_sha']}")
    ]


def test_odd_values(engine: sa.Engine, harvest_into: Harvest) -> None:
    harvest_into(engine, ["acme/kernels"])
    add_odd_rows(engine)
    lines = dump(engine)
    (version,) = (r for r in rows_of(lines, "page_versions") if r["page_id"] == "pr-kernels-2")
    assert version["body"] == bytes(range(256)).hex()
    assert list(version["front_matter"]) == ["a", "z", "é"]  # type: ignore[call-overload]
    assert version["front_matter"] == {
        "a": True,
        "z": [1, {"a": 0.5, "b": None}],
        "é": "ü \u0001 \U0001f600",
    }
    claims = {r["claim_key"]: r for r in rows_of(lines, "performance_claims")}
    figures = [repr(claims[f"odd-{n}"]["value"]) for n in range(7)]
    assert figures == ["0.0", "0.1", "1e+300", "1e-300", "123456789.12345679", "3.0", "None"]
    assert claims["odd-0"]["claimed_on"] == "2026-01-01"
    assert claims["odd-0"]["evidence"] == '"quoted" \\ \t ≥ 8'


def test_odd_bytes_of_a_message_are_escapes(lines: list[bytes]) -> None:
    subjects = [r["subject"] for r in rows_of(lines, "commits") if "gnu" in str(r["subject"])]
    assert subjects == ["Swizzle tiles \\x80\x01 of the gnu"]
