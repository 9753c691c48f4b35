import threading
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from kwdb.db import open_reader, read_transaction, write_transaction
from kwdb.errors import DatabaseError
from kwdb.migrate import upgrade
from kwdb.models import (
    UTCTime,
    actors,
    commit_paths,
    commits,
    corpora,
    harvest_cursors,
    harvest_runs,
    metrics,
    page_tags,
    pages,
    paths,
    pull_requests,
    repositories,
    tags,
)
from kwdb.records import CommitRecord, PersonRecord
from kwdb.store import harvest as store
from kwdb.store.pages import index_pages
from kwdb.store.rows import chunks, find_keys, insert_rows, next_key, replace_owned, update_rows
from kwdb.store.rows import upsert as upsert_rows

NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
P1 = 90_001  # key of page p1, far from the seeds' own
AHEAD = timezone(timedelta(hours=5, minutes=30))


def metric(name: str, **over: str) -> dict[str, Any]:
    return {"name": name, "unit": "s", "direction": "lower_better", "description": "d"} | over


def upsert(engine: sa.Engine, table: sa.Table, rows: Sequence[Any], *key: str, **kw: Any) -> int:
    with write_transaction(engine) as connection:
        return upsert_rows(connection, table, rows, key, **kw)


def stored_tags(engine: sa.Engine, *names: str) -> list[tuple[Any, ...]]:
    """Return the tags of pages p1 and p2, which no seed has."""
    query = sa.select(*(page_tags.c[name] for name in names)).order_by(*page_tags.primary_key)
    with read_transaction(engine) as connection:
        found = connection.execute(query.where(page_tags.c.page_id.in_(("p1", "p2"))))
        return [tuple(row) for row in found]


def stored(engine: sa.Engine, table: sa.Table, *names: str, **where: Any) -> list[tuple[Any, ...]]:
    query = sa.select(*(table.c[name] for name in names)).order_by(*table.primary_key)
    query = query.where(*(table.c[name] == value for name, value in where.items()))
    with read_transaction(engine) as connection:
        return [tuple(row) for row in connection.execute(query)]


def test_upsert_inserts_updates_and_leaves_alone(engine: sa.Engine) -> None:
    assert upsert(engine, metrics, [metric("m1"), metric("m2")], "name") == 2
    assert upsert(engine, metrics, [metric("m1"), metric("m2")], "name") == 0
    changed = [metric("m1"), metric("m2", unit="ms"), metric("m3")]
    assert upsert(engine, metrics, changed, "name") == 2
    assert upsert(engine, metrics, [], "name") == 0
    with read_transaction(engine) as connection:
        query = sa.select(metrics.c.name, metrics.c.unit).where(metrics.c.name.like("m_"))
        rows = connection.execute(query.order_by(metrics.c.name)).all()
    assert [tuple(row) for row in rows] == [("m1", "s"), ("m2", "ms"), ("m3", "s")]


def test_upsert_tells_null_from_a_value(engine: sa.Engine) -> None:
    row = {"id": 90, "name": "k", "kind": "import", "location": None, "revision": "r"}
    assert upsert(engine, corpora, [row], "name") == 1
    assert upsert(engine, corpora, [row], "name") == 0
    assert upsert(engine, corpora, [row | {"location": "here"}], "name") == 1
    assert upsert(engine, corpora, [row | {"location": "here", "revision": None}], "name") == 1
    assert upsert(engine, corpora, [row | {"location": "here", "revision": None}], "name") == 0
    assert stored(engine, corpora, "location", "revision", name="k") == [("here", None)]


def test_upsert_sets_keys_and_kept_columns_on_insert_only(engine: sa.Engine) -> None:
    row = {"id": 90, "name": "k", "kind": "import", "location": "old", "revision": "1"}
    upsert(engine, corpora, [row], "name")
    later = row | {"id": 91, "location": "new", "revision": "2"}
    assert upsert(engine, corpora, [later], "name", keep=("location",)) == 1
    assert stored(engine, corpora, "id", "location", "revision", name="k") == [(90, "old", "2")]


def test_upsert_of_keys_alone_writes_each_once(engine: sa.Engine) -> None:
    with read_transaction(engine) as connection:
        key = connection.execute(sa.select(repositories.c.id).limit(1)).scalar_one()
    row = {"repository_id": key, "stage": "s", "token_id": ""}
    assert upsert(engine, harvest_cursors, [row], *row) == 1
    assert upsert(engine, harvest_cursors, [row, row | {"stage": "t"}], *row) == 1


@pytest.mark.parametrize(
    "summary",
    [
        {"stages": {"commits": 3}, "names": ["a", "ü", None, 1.5, True]},
        [],
        "text",
        {},
        None,
        {"odd": '\\ " \n \u0001 \ud800'},
    ],
    ids=["nested", "list", "text", "empty", "none", "odd-signs"],
)
def test_upsert_of_json(engine: sa.Engine, summary: object) -> None:
    row = {"id": 9, "repository_id": 1, "command": "ingest", "started_at": NOON}
    row |= {"status": "done", "summary": {"first": 1}}
    upsert(engine, harvest_runs, [row], "id")
    assert upsert(engine, harvest_runs, [row | {"summary": summary}], "id") == 1
    assert upsert(engine, harvest_runs, [row | {"summary": summary}], "id") == 0
    assert stored(engine, harvest_runs, "summary") == [(summary,)]


def test_no_json_is_null_in_sql(engine: sa.Engine) -> None:
    row = {"id": 9, "repository_id": 1, "command": "ingest", "started_at": NOON}
    upsert(engine, harvest_runs, [row | {"status": "done", "summary": None}], "id")
    with read_transaction(engine) as connection:
        query = sa.select(harvest_runs.c.id).where(harvest_runs.c.summary.is_(sa.null()))
        assert connection.execute(query).scalars().all() == [9]


def test_update_rows_sets_what_is_given(engine: sa.Engine) -> None:
    upsert(engine, metrics, [metric("m1"), metric("m2")], "name")
    with write_transaction(engine) as connection:
        assert update_rows(connection, metrics, [{"name": "m2", "unit": "h"}], key="name") == 1
        assert update_rows(connection, metrics, []) == 0
    assert stored(engine, metrics, "unit", "description", name="m2") == [("h", "d")]
    assert stored(engine, metrics, "unit", "description", name="m1") == [("s", "d")]


def test_next_key_counts_from_the_largest(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        assert next_key(connection, paths) == 1
        insert_rows(connection, paths, [{"id": 41, "path_sha256": "x", "path": "p"}])
        assert next_key(connection, paths) == 42


def test_find_keys_takes_more_values_than_an_engine_binds(engine: sa.Engine) -> None:
    rows = [{"id": n, "path_sha256": f"{n:x}", "path": str(n)} for n in range(1, 40_001)]
    wanted = [row["path_sha256"] for row in rows[:35_000]] + ["absent"]
    with write_transaction(engine) as connection:
        assert insert_rows(connection, paths, rows) == 40_000
        found = find_keys(connection, paths, "path_sha256", wanted)
        assert found == {row["path_sha256"]: row["id"] for row in rows[:35_000]}
        assert find_keys(connection, paths, "path_sha256", []) == {}


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, []), (1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3])]
)
def test_chunks(count: int, sizes: list[int]) -> None:
    cut = list(chunks(range(count), 3))
    assert [len(part) for part in cut] == sizes
    assert [item for part in cut for item in part] == list(range(count))


def add_pages(engine: sa.Engine) -> list[int]:
    """Add pages p1 and p2; return the keys of three tags."""
    upsert(
        engine,
        pages,
        [
            {"pk": P1 + n, "id": id_, "type": "source-pr", "title": "t", "is_retired": False}
            for n, id_ in enumerate(("p1", "p2"))
        ],
        "id",
    )
    return [row[0] for row in stored(engine, tags, "id")[:3]]


def page_tag(page: str, tag: int, **over: Any) -> dict[str, Any]:
    row = {"page_id": page, "tag_id": tag, "origin": "rule", "corpus_id": 1, "basis": "exact"}
    return row | {"rule": "r", "evidence": "e", "locator": "title"} | over


def replace(engine: sa.Engine, owners: list[str], rows: list[Any], **scope: Any) -> int:
    with write_transaction(engine) as connection:
        return replace_owned(connection, page_tags, "page_id", owners, rows, scope=scope)


def test_replace_owned_writes_only_differences(engine: sa.Engine) -> None:
    one, two, three = add_pages(engine)
    assert replace(engine, ["p1"], [page_tag("p1", one), page_tag("p1", two)]) == 2
    assert replace(engine, ["p1"], [page_tag("p1", two), page_tag("p1", one)]) == 0
    assert replace(engine, ["p1"], [page_tag("p1", two), page_tag("p1", three)]) == 2
    assert stored_tags(engine, "page_id", "tag_id") == [("p1", two), ("p1", three)]


def test_replace_owned_renews_a_row_with_the_same_key(engine: sa.Engine) -> None:
    one, *_ = add_pages(engine)
    replace(engine, ["p1"], [page_tag("p1", one)])
    assert replace(engine, ["p1"], [page_tag("p1", one, evidence="new")]) == 2
    assert stored_tags(engine, "tag_id", "evidence") == [(one, "new")]


def test_replace_owned_leaves_other_owners_and_scopes_alone(engine: sa.Engine) -> None:
    one, two, _ = add_pages(engine)
    kept = [page_tag("p1", one, corpus_id=2), page_tag("p2", one)]
    replace(engine, ["p1", "p2"], [page_tag("p1", one), page_tag("p1", two), *kept])
    assert replace(engine, ["p1"], [], corpus_id=1) == 2
    assert stored_tags(engine, "page_id", "tag_id", "corpus_id") == [
        ("p1", one, 2),
        ("p2", one, 1),
    ]


def write_and_fail(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        upsert_rows(connection, metrics, [metric("m1")], ("name",))
        raise KeyError


def test_a_rolled_back_transaction_leaves_nothing(engine: sa.Engine) -> None:
    before = stored(engine, metrics, "name")
    with pytest.raises(KeyError):
        write_and_fail(engine)
    assert stored(engine, metrics, "name") == before


def test_a_failing_statement_leaves_nothing(engine: sa.Engine) -> None:
    before = stored(engine, metrics, "name")
    with pytest.raises(sa.exc.IntegrityError):
        upsert(engine, metrics, [metric("m1"), metric("m2", direction="sideways")], "name")
    assert stored(engine, metrics, "name") == before


def add_actors(engine: sa.Engine, writer: int, start: threading.Barrier) -> None:
    start.wait()
    for number in range(20):
        with write_transaction(engine) as connection:
            store.ensure_actors(connection, [PersonRecord(f"w{writer}-{number}")])


def test_two_writers_never_hand_out_the_same_key(engine: sa.Engine) -> None:
    start = threading.Barrier(2)
    threads = [threading.Thread(target=add_actors, args=(engine, n, start)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logins = {login for (login,) in stored(engine, actors, "login")}
    assert logins == {f"w{writer}-{number}" for writer in (1, 2) for number in range(20)}
    assert [key for (key,) in stored(engine, actors, "id")] == list(range(1, 41))


def test_a_reader_sees_one_state_of_the_data(engine: sa.Engine) -> None:
    count = sa.select(sa.func.count()).select_from(metrics)
    with read_transaction(engine) as reader:
        before = reader.execute(count).scalar_one()
        thread = threading.Thread(target=upsert, args=(engine, metrics, [metric("m1")], "name"))
        thread.start()
        thread.join()
        assert reader.execute(count).scalar_one() == before
    assert len(stored(engine, metrics, "name")) == before + 1


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/k.sqlite"
    upgrade(url)
    engine = open_reader(url)
    with pytest.raises(DatabaseError, match="may not be written"), write_transaction(engine):
        pass
    engine.dispose()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param(NOON, NOON, id="utc"),
        pytest.param(datetime(2026, 8, 1, 17, 30, tzinfo=AHEAD), NOON, id="other-zone"),
        pytest.param(NOON.replace(microsecond=999_999), NOON, id="microseconds"),
        pytest.param(
            datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC), id="epoch"
        ),
        pytest.param(
            datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
            id="last",
        ),
        pytest.param(None, None, id="none"),
    ],
)
def test_times_come_back_in_utc(
    engine: sa.Engine, given: datetime | None, read: datetime | None
) -> None:
    row = {"id": 90, "name": "k", "kind": "import", "imported_at": given}
    upsert(engine, corpora, [row], "name")
    assert upsert(engine, corpora, [row], "name") == 0
    found = stored(engine, corpora, "imported_at", name="k")
    assert found == [(read,)]
    assert read is None or found[0][0].utcoffset() == timedelta(0)


def test_sqlite_stores_times_as_sortable_text() -> None:
    time = datetime(2026, 8, 1, 17, 30, tzinfo=AHEAD)
    assert UTCTime().process_bind_param(time, sqlite.dialect()) == "2026-08-01T12:00:00Z"


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda d: d.name)
def test_naive_times_are_refused(dialect: sa.Dialect) -> None:
    with pytest.raises(ValueError, match="naive time 2026-08-01T12:00:00: give it a zone"):
        UTCTime().process_bind_param(datetime(2026, 8, 1, 12), dialect)  # noqa: DTZ001


ODD = {
    "control": "".join(map(chr, range(1, 32))) + "\x7f\x85",
    "escaped-surrogate": "lone \\xed\\xa0\\x80 and \\udc80",
    "astral": "𝔘 🚀 e\u0301 \u202e \ufeff \uffff",
    "megabyte": "word " * 210_000,
    "one-long-word": "x" * 1_100_000,
    "quotes": 'it\'s "quoted" `so` %s :name ? {x} \\',
    "blank-ends": "  text\t\n ",
}


def commit(sha: str, text: str, *touched: str) -> CommitRecord:
    return CommitRecord(
        sha=sha,
        author=PersonRecord("jane", 1234),
        committer=text[:50],
        authored_at=NOON,
        committed_at=NOON,
        subject=text,
        message=text,
        paths=tuple((path, "M") for path in touched),
    )


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts_come_back_as_they_were(engine: sa.Engine, text: str) -> None:
    with write_transaction(engine) as connection:
        store.store_commits(connection, 1, [commit("a", text)], store.PathKeys())
    assert stored(engine, commits, "subject", "message", "committer") == [(text, text, text[:50])]


ODD_PATHS = (
    "a\nb/c.cu",
    'it\'s/"quoted".cu',
    "tab\tand\\backslash",
    "ünï/核.cu",
    "bytes-\\xff.cu",
    " leading and trailing ",
    "deep/" * 800 + "x.cu",
)


def test_odd_paths_come_back_as_they_were(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        keys = store.PathKeys()
        assert store.store_commits(connection, 1, [commit("a", "m", *ODD_PATHS)], keys) == 8
        again = commit("b", "m", *ODD_PATHS[:2])
        assert store.store_commits(connection, 1, [again], store.PathKeys()) == 3
    assert sorted(path for (path,) in stored(engine, paths, "path")) == sorted(ODD_PATHS)
    assert len(stored(engine, commit_paths, "path_id")) == 9


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts_can_be_indexed(engine: sa.Engine, text: str) -> None:
    add_pages(engine)
    document = {"pk": P1, "id": "p1", "title": text, "tags": [text[:99]], "text": text}
    with write_transaction(engine) as connection:
        index_pages(connection, [document | {"paths": [text]}])
        index_pages(connection, [document | {"paths": []}])


def test_very_many_different_words_can_be_indexed(engine: sa.Engine) -> None:
    """PostgreSQL refuses a tsvector over 1 MiB."""
    add_pages(engine)
    text = "\n".join(f"# h{n:x} w{n:05x}" for n in range(80_000))
    document = {"pk": P1, "id": "p1", "title": text, "tags": [], "text": text, "paths": []}
    with write_transaction(engine) as connection:
        index_pages(connection, [document])


def test_actors_are_kept_once_and_learn_their_number(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        first = store.ensure_actors(connection, [PersonRecord("jane"), PersonRecord("joe", 7)])
        again = store.ensure_actors(connection, [PersonRecord("jane", 5), PersonRecord("joe", 8)])
        assert first == again == {"jane": 1, "joe": 2}
    assert stored(engine, actors, "id", "login", "github_id", "kind") == [
        (1, "jane", 5, "user"),
        (2, "joe", 7, "user"),
    ]


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 10**40], ids=["largest", "over", "far-over"])
def test_a_number_no_account_can_have_does_not_stop_a_harvest(
    engine: sa.Engine, number: int
) -> None:
    """Mail addresses are written by strangers."""
    from ingest.gitlog import parse_noreply

    person = parse_noreply(f"{number}+eve@users.noreply.github.com")
    with write_transaction(engine) as connection:
        store.ensure_actors(connection, [person] if person else [])


def test_a_slug_that_is_taken_becomes_owner_name(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        store.add_repository(connection, "kernels", "acme/kernels", "squash")
        store.add_repository(connection, "kernels", "Other/Kernels", "squash")
    assert stored(engine, repositories, "slug", "full_name")[-2:] == [
        ("kernels", "acme/kernels"),
        ("other-kernels", "Other/Kernels"),
    ]


def landing(key: int, **over: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"id": key, "landed_state": "landed", "landed_at": NOON}
    row["landed_reason"] = "commit a lands it"
    return row | {"merge_sha": "a", "author_id": None, "title": "T", "body": "B"} | over


def add_pull_request(engine: sa.Engine, **over: Any) -> None:
    row = {"id": 1, "repository_id": 1, "number": 5, "ruleset": "r", "extractor": "x"}
    upsert(engine, pull_requests, [row | over], "id")


def store_landing(engine: sa.Engine, row: dict[str, Any]) -> int:
    with write_transaction(engine) as connection:
        return store.store_landings(connection, [row])


def test_a_landing_makes_its_pull_request_due_once(engine: sa.Engine) -> None:
    add_pull_request(engine)
    assert store_landing(engine, landing(1)) == 1
    names = ("landed_state", "landed_at", "title", "body", "ruleset", "extractor")
    assert stored(engine, pull_requests, *names) == [("landed", NOON, "T", "B", None, None)]
    assert store_landing(engine, landing(1)) == 0


def test_the_api_knows_text_better_than_git(engine: sa.Engine) -> None:
    add_pull_request(engine, fetched_at=NOON, title="api", body="api")
    assert store_landing(engine, landing(1)) == 1
    assert stored(engine, pull_requests, "title", "body", "merge_sha") == [("api", "api", "a")]
    assert store_landing(engine, landing(1, title="other")) == 0


def test_a_landing_elsewhere_in_time_alone_makes_nothing_due(engine: sa.Engine) -> None:
    add_pull_request(engine)
    store_landing(engine, landing(1))
    with write_transaction(engine) as connection:
        update_rows(connection, pull_requests, [{"id": 1, "ruleset": "r", "extractor": "x"}])
    later = NOON + timedelta(days=1)
    assert store_landing(engine, landing(1, landed_at=later)) == 1
    assert stored(engine, pull_requests, "landed_at", "ruleset") == [(later, "r")]


def test_dates_come_back_as_dates(engine: sa.Engine) -> None:
    row = {"pk": P1, "id": "p1", "type": "source-pr", "title": "t", "is_retired": False}
    upsert(engine, pages, [row | {"published_on": date(2026, 8, 1)}], "id")
    assert stored(engine, pages, "published_on", "is_retired", id="p1") == [
        (date(2026, 8, 1), False)
    ]
