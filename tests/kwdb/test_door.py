import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from kwdb import migrate
from kwdb.db import open_reader, write_transaction
from kwdb.door import MAX_BYTES, read_only_query
from kwdb.errors import DatabaseError, QueryError, SchemaVersionError
from kwdb.sqlite import url_path

TABLES = ("repositories", "tags", "pages", "pull_requests", "commits", "aliases", "page_index")

BOTH = {
    "insert": "INSERT INTO facets (name, description) VALUES ('x', 'y')",
    "insert-returning": "INSERT INTO facets (name, description) VALUES ('x', 'y') RETURNING name",
    "update": "UPDATE pages SET title = 'x'",
    "update-returning": "UPDATE pages SET title = 'x' RETURNING id",
    "delete": "DELETE FROM pages",
    "delete-returning": "DELETE FROM facets WHERE name = 'symptom' RETURNING name",
    "drop": "DROP TABLE page_links",
    "drop-view": "DROP VIEW pr_overview",
    "create": "CREATE TABLE x (y integer)",
    "create-as": "CREATE TABLE x AS SELECT 1",
    "temp-table": "CREATE TEMP TABLE x (y integer)",
    "temp-table-as": "CREATE TEMP TABLE x AS SELECT 1",
    "view": "CREATE VIEW x AS SELECT 1",
    "alter": "ALTER TABLE pages ADD COLUMN x integer",
    "index": "CREATE INDEX x ON pages (title)",
    "reindex": "REINDEX",
    "vacuum": "VACUUM",
    "analyze": "ANALYZE",
    "begin": "BEGIN",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
    "savepoint": "SAVEPOINT x",
    "two-statements": "SELECT 1; SELECT 2",
    "two-with-a-delete": "SELECT 1; DELETE FROM pages",
    "commit-and-delete": "SELECT 1; COMMIT; DELETE FROM pages",
    "hidden-in-comment": "SELECT 1 /* ; */ ; DELETE FROM pages --",
    "nothing": "",
    "comment": "-- nothing",
    "wrong": "SELEC 1",
    "unknown-table": "SELECT * FROM nowhere",
}
SQLITE = {
    "attach": "ATTACH DATABASE '{place}' AS x",
    "attach-memory": "ATTACH ':memory:' AS x",
    "detach": "DETACH DATABASE main",
    "vacuum-into": "VACUUM INTO '{place}'",
    "pragma": "PRAGMA journal_mode = DELETE",
    "pragma-read": "PRAGMA journal_mode",
    "pragma-query-only": "PRAGMA query_only = OFF",
    "pragma-writable": "PRAGMA writable_schema = ON",
    "pragma-function": "SELECT * FROM pragma_journal_mode",
    "pragma-table-function": "SELECT * FROM pragma_table_info('pages')",
    "pragma-wal": "SELECT * FROM pragma_wal_checkpoint('TRUNCATE')",
    "cte-insert": "WITH x AS (SELECT 1) INSERT INTO facets SELECT 'x', 'y' FROM x",
    "cte-delete": "WITH x AS (SELECT 1) DELETE FROM pages RETURNING id",
    "replace": "REPLACE INTO facets (name, description) VALUES ('symptom', 'y')",
    "load-extension": "SELECT load_extension('x.so')",
    "readfile": "SELECT readfile('/etc/passwd')",
    "writefile": "SELECT writefile('{place}', 'x')",
    "edit": "SELECT edit('x')",
    "fts-command": "INSERT INTO page_index (page_index) VALUES ('optimize')",
    "fts-shadow": "DELETE FROM page_index_data",
    "fts-tokenizer": "SELECT fts3_tokenizer('x')",
    "virtual-table": "CREATE VIRTUAL TABLE x USING fts5(y)",
    "temp-virtual": "CREATE VIRTUAL TABLE temp.x USING fts5vocab(main, page_index, row)",
    "schema": "UPDATE sqlite_master SET sql = ''",
    "randomblob": "SELECT randomblob(10)",
    "zeroblob": "SELECT zeroblob(1000000000)",
}
POSTGRES = {
    "cte-delete": "WITH x AS (DELETE FROM page_links RETURNING 1) SELECT * FROM x",
    "cte-insert": "WITH x AS (INSERT INTO facets VALUES ('x', 'y') RETURNING 1) SELECT 1 FROM x",
    "select-into": "SELECT 1 AS y INTO x",
    "copy-out": "COPY pages TO '{place}'",
    "copy-program": "COPY pages TO PROGRAM 'touch {place}'",
    "copy-in": "COPY facets FROM STDIN",
    "lo-create": "SELECT lo_create(0)",
    "lo-import": "SELECT lo_import('/etc/passwd')",
    "lo-from-bytea": "SELECT lo_from_bytea(0, 'x')",
    "read-file": "SELECT pg_read_file('/etc/passwd')",
    "list-files": "SELECT pg_ls_dir('/')",
    "do": "DO $$ BEGIN DELETE FROM pages; END $$",
    "listen": "LISTEN x",
    "notify": "NOTIFY x",
    "set-role": "SET ROLE postgres",
    "reset-role": "RESET ROLE",
    "set": "SET transaction_read_only = off",
    "truncate": "TRUNCATE page_links",
    "lock": "LOCK TABLE pages",
    "for-update": "SELECT id FROM pages FOR UPDATE",
    "call": "CALL x()",
    "grant": "GRANT ALL ON pages TO PUBLIC",
    "create-role": "CREATE ROLE x",
    "function": "CREATE FUNCTION x() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "sequence": "CREATE SEQUENCE x",
    "extension": "CREATE EXTENSION file_fdw",
    "reload": "SELECT pg_reload_conf()",
    "terminate": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "passwords": "SELECT rolpassword FROM pg_authid",
    "set-config": "SELECT set_config('x.y', lo_create(0)::text, true)",
    "export": "SELECT query_to_xml('DELETE FROM pages', true, true, '')",
    "parameters": "SELECT $1",
}


def state(url: str) -> object:
    """Return the bytes of a file, or the rows and relations of a server's database."""
    path = url_path(url) if url.startswith("sqlite") else None
    if path:
        return hashlib.sha256(path.read_bytes()).hexdigest(), sorted(
            file.name for file in path.parent.iterdir() if not file.name.endswith(("-wal", "-shm"))
        )
    engine = open_reader(url)
    with engine.connect() as connection:
        counts = [connection.execute(sa.text(f"SELECT count(*) FROM {t}")).scalar() for t in TABLES]
        made = connection.execute(sa.text("SELECT count(*) FROM pg_class")).scalar()
        large = connection.execute(sa.text("SELECT count(*) FROM pg_largeobject_metadata")).scalar()
    engine.dispose()
    return counts, made, large


@pytest.fixture
def refused(world_url: str, tmp_path: Path) -> Callable[[str], None]:
    def check(query: str) -> None:
        before = state(world_url)
        place = tmp_path / "written"
        with pytest.raises(QueryError) as caught:
            read_only_query(world_url, query.replace("{place}", str(place)), timeout_s=5)
        assert "\n" not in str(caught.value)
        assert not place.exists()
        assert state(world_url) == before

    return check


@pytest.mark.parametrize("query", BOTH.values(), ids=BOTH)
def test_both_engines_refuse(refused: Callable[[str], None], query: str) -> None:
    refused(query)


@pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("query", SQLITE.values(), ids=SQLITE)
def test_sqlite_refuses(refused: Callable[[str], None], query: str) -> None:
    refused(query)


@pytest.mark.postgres
@pytest.mark.parametrize("world_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("query", POSTGRES.values(), ids=POSTGRES)
def test_postgres_refuses(refused: Callable[[str], None], query: str) -> None:
    refused(query)


HARMLESS = (
    ("SELECT 'DELETE FROM pages; DROP x' AS text", [("DELETE FROM pages; DROP x",)]),
    ("SELECT 'ATTACH', 'PRAGMA', 'VACUUM INTO'", [("ATTACH", "PRAGMA", "VACUUM INTO")]),
    ("SELECT slug FROM repositories WHERE slug = 'cutlass' -- DELETE", [("cutlass",)]),
    ("SELECT replace('update', 'up', 'down')", [("downdate",)]),
    ("SELECT 1 AS \"insert\", 2 AS \"drop\"", [(1, 2)]),
    ("/* COPY */ SELECT 1;", [(1,)]),
    ("WITH x AS (SELECT 1 AS y) SELECT y FROM x", [(1,)]),
    ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
    ("SELECT '%s %(x)s :y ?'", [("%s %(x)s :y ?",)]),
    ("SELECT number FROM pr_overview WHERE repo = 'kernels' ORDER BY 1", [(1,), (2,)]),
    ("SELECT NULL", [(None,)]),
    ("SELECT 1 WHERE 1 = 0", []),
    (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)"
        " SELECT max(i) FROM n",
        [(4,)],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("query", "rows"), HARMLESS, ids=range(len(HARMLESS)))
def test_reading_is_answered(world_url: str, query: str, rows: list[tuple[object, ...]]) -> None:
    answer = read_only_query(world_url, query)
    assert (answer.rows, answer.is_complete) == (rows, True)


@pytest.mark.parametrize("view", ["pr_overview", "claim_overview", "leaderboard", "page_tag_list"])
def test_every_view_can_be_read(world_url: str, view: str) -> None:
    assert read_only_query(world_url, f"SELECT * FROM {view} LIMIT 3").columns


def test_columns_are_named(world_url: str) -> None:
    assert read_only_query(world_url, "SELECT 1 AS a, 'x' AS b").columns == ("a", "b")


@pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)
def test_sqlite_answers_full_text(world_url: str) -> None:
    query = "SELECT id, snippet(page_index, 4, '<', '>', '', 4) FROM page_index"
    answer = read_only_query(world_url, f"{query} WHERE page_index MATCH 'quagga' ORDER BY rank")
    assert answer.rows == [("pr cutlass 9472", "the <quagga> epilogue is")]


@pytest.mark.postgres
@pytest.mark.parametrize("world_url", ["postgres"], indirect=True)
def test_postgres_answers_full_text(world_url: str) -> None:
    query = "SELECT id FROM page_index JOIN pages USING (pk) WHERE document @@ to_tsquery('quagga')"
    assert read_only_query(world_url, query).rows == [("pr-cutlass-9472",)]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
CROSS = "SELECT count(*) FROM aliases a, aliases b, aliases c, aliases d WHERE a.alias < d.alias"


def ends(url: str, query: str) -> None:
    started = time.monotonic()
    with pytest.raises(QueryError, match=r"took over 0\.3 s: narrow it or allow more time"):
        read_only_query(url, query, timeout_s=0.3)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("query", [ENDLESS, CROSS], ids=["recursion", "cross-join"])
def test_endless_queries_end(world_url: str, query: str) -> None:
    ends(world_url, query)


@pytest.mark.postgres
@pytest.mark.parametrize("world_url", ["postgres"], indirect=True)
def test_sleep_ends(world_url: str) -> None:
    ends(world_url, "SELECT pg_sleep(60)")


TEN_MB = "replace(printf('%10000c', 'x'), ' ', printf('%1000c', 'y'))"


@pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {TEN_MB} || {TEN_MB}",
        f"SELECT length(replace({TEN_MB}, ' ', 'xx'))",
        f"SELECT group_concat({TEN_MB}) FROM facets",
        "WITH RECURSIVE n(t) AS (SELECT 'xxxxxxxx' UNION ALL SELECT t || t FROM n)"
        " SELECT t FROM n WHERE length(t) > 100000000",
    ],
    ids=["concatenation", "replace", "aggregate", "doubling"],
)
def test_sqlite_makes_no_huge_text(world_url: str, query: str) -> None:
    with pytest.raises(QueryError, match="too big"):
        read_only_query(world_url, query, timeout_s=5)


def test_a_huge_answer_is_cut(world_url: str) -> None:
    n = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
    text = "printf('%1000000s', 'x')" if world_url.startswith("sqlite") else "repeat('x', 1000000)"
    answer = read_only_query(world_url, f"{n} SELECT {text} FROM n")
    assert (len(answer.rows), answer.is_complete) == (MAX_BYTES // 1_000_000, False)


@pytest.mark.parametrize(
    ("limit", "count", "is_complete"), [(1, 1, False), (2, 2, True), (3, 2, True)]
)
def test_the_row_limit_says_when_it_cut(
    world_url: str, limit: int, count: int, is_complete: bool
) -> None:
    answer = read_only_query(world_url, "SELECT 1 UNION ALL SELECT 2", limit=limit)
    assert (len(answer.rows), answer.is_complete) == (count, is_complete)


@pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)
def test_sqlite_reads_json_arrays(world_url: str) -> None:
    assert read_only_query(world_url, "SELECT value FROM json_each('[1, 2]')").rows == [(1,), (2,)]


@pytest.mark.parametrize("query", ["SELECT '\x00'", "SELECT '\ud800'"], ids=["nul", "surrogate"])
def test_odd_characters_are_an_error(world_url: str, query: str) -> None:
    with pytest.raises(QueryError):
        read_only_query(world_url, query)


AS_ROOT = (
    "WITH a AS MATERIALIZED (SELECT set_config('role', 'none', true) AS r) "
    "SELECT s.word FROM a, LATERAL ts_stat("
    "'SELECT to_tsvector(''simple'', current_user::text) WHERE ' || (a.r = 'none')::text) s"
)


@pytest.mark.postgres
@pytest.mark.parametrize("world_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("query", [AS_ROOT, "SELECT set_config('role', 'none', true)"])
def test_postgres_keeps_the_reader_role(world_url: str, query: str) -> None:
    with pytest.raises(QueryError, match="permission denied for function set_config"):
        read_only_query(world_url, query)


@pytest.mark.postgres
@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)
def test_a_superuser_that_could_leave_the_role_is_refused(engine: sa.Engine) -> None:
    url = engine.get_execution_options()["kwdb_url"]
    with write_transaction(engine) as connection:
        connection.exec_driver_sql(
            "GRANT EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) TO PUBLIC"
        )
    with pytest.raises(QueryError, match=r'superuser.*run "kwdb db upgrade"'):
        read_only_query(url, "SELECT 1")
    migrate.upgrade(url)
    assert read_only_query(url, "SELECT 1").rows == [(1,)]


def test_no_database_says_so(tmp_path: Path) -> None:
    with pytest.raises(SchemaVersionError, match='run "kwdb init"'):
        read_only_query(f"sqlite:///{tmp_path}/none.sqlite", "SELECT 1")
    assert list(tmp_path.glob("none*")) == []


def test_an_empty_database_is_an_error(empty_url: str) -> None:
    with pytest.raises((DatabaseError, QueryError)):
        read_only_query(empty_url, "SELECT count(*) FROM pages")


def test_what_a_writer_just_stored_is_seen(engine: sa.Engine) -> None:
    url = engine.get_execution_options()["kwdb_url"]
    with write_transaction(engine) as connection:
        connection.execute(sa.text("INSERT INTO facets (name, description) VALUES ('x', 'y')"))
    assert read_only_query(url, "SELECT description FROM facets WHERE name = 'x'").rows == [("y",)]
