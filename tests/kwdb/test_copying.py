import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from kwdb.copying import backup_sqlite, copy_database
from kwdb.db import open_reader, open_writer, read_transaction, write_transaction
from kwdb.dump import canonical_dump
from kwdb.errors import ConfigError, DatabaseError, SchemaVersionError, UserError
from kwdb.integrity import find_damage
from kwdb.migrate import upgrade
from kwdb.search import search_pages

QUESTIONS = ("zebrawood", "quagga", "9475", "größe", "striped hybrid")


def dump(url: str) -> bytes:
    engine = open_reader(url)
    with read_transaction(engine) as connection:
        found = b"".join(canonical_dump(connection))
    engine.dispose()
    return found


def answers(url: str) -> list[tuple[int, list[str]]]:
    engine = open_reader(url)
    with read_transaction(engine) as connection:
        found = [search_pages(connection, text, limit=1000) for text in QUESTIONS]
    engine.dispose()
    return [(one.total, sorted(hit.id for hit in one.results)) for one in found]


def search_of_summaries(url: str) -> list[bool]:
    """Return whether each word of a few summaries finds a page; engines stem differently."""
    engine = open_reader(url)
    with read_transaction(engine) as connection:
        query = "SELECT summary FROM pages WHERE summary IS NOT NULL ORDER BY id LIMIT 3"
        texts = connection.execute(sa.text(query)).scalars().all()
        words = [word for text in texts for word in text.split()]
        found = [search_pages(connection, word).total > 0 for word in words]
    engine.dispose()
    return found


def damage(url: str) -> list[str]:
    engine = open_reader(url)
    with read_transaction(engine) as connection:
        found = find_damage(connection)
    engine.dispose()
    return found


def test_a_copy_holds_the_same(world_url: str, empty_url: str) -> None:
    assert copy_database(world_url, empty_url) > 1_000
    assert dump(empty_url) == dump(world_url)
    assert damage(empty_url) == []


def test_there_and_back(world_url: str, empty_url: str, tmp_path: Path) -> None:
    back = f"sqlite:///{tmp_path}/deep/er/back.sqlite"
    assert copy_database(world_url, empty_url) == copy_database(empty_url, back)
    assert dump(back) == dump(world_url)


def test_a_copy_is_searched_alike(world_url: str, empty_url: str) -> None:
    copy_database(world_url, empty_url)
    assert answers(empty_url) == answers(world_url)


def test_a_copy_is_searched_alike_in_summaries(world_url: str, empty_url: str) -> None:
    copy_database(world_url, empty_url)
    found = [search_of_summaries(url) for url in (world_url, empty_url)]
    assert found[0] == found[1]


def test_a_harvest_goes_on_in_the_copy(
    world_url: str, empty_url: str, harvest_into: Callable[..., None]
) -> None:
    copy_database(world_url, empty_url)
    engine = open_writer(empty_url)
    harvest_into(engine)
    engine.dispose()
    assert dump(empty_url) == dump(world_url)


def test_a_filled_target_is_refused(world_url: str, engine: sa.Engine) -> None:
    url = engine.get_execution_options()["kwdb_url"]
    before = dump(url)
    with pytest.raises(UserError, match=r"the target holds rows in .*: give an empty database"):
        copy_database(world_url, url)
    assert dump(url) == before


def test_a_database_is_not_copied_onto_itself(engine: sa.Engine) -> None:
    url = engine.get_execution_options()["kwdb_url"]
    with pytest.raises(UserError):
        copy_database(url, url)


def test_no_source_leaves_no_target(tmp_path: Path) -> None:
    source, target = (f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("source", "target"))
    with pytest.raises(SchemaVersionError):
        copy_database(source, target)
    assert list(tmp_path.glob("*.sqlite")) == []


@pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)
def test_a_backup_is_a_whole_copy(world_url: str, tmp_path: Path) -> None:
    backup_sqlite(world_url, tmp_path / "backup.sqlite")
    url = f"sqlite:///{tmp_path}/backup.sqlite"
    assert (dump(url), answers(url), damage(url)) == (dump(world_url), answers(world_url), [])


@pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)
def test_a_backup_needs_its_directory(world_url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot write .*nowhere/x"):
        backup_sqlite(world_url, tmp_path / "nowhere" / "x.sqlite")


@pytest.mark.postgres
@pytest.mark.parametrize("world_url", ["postgres"], indirect=True)
def test_a_server_is_backed_up_elsewhere(world_url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="use pg_dump for PostgreSQL"):
        backup_sqlite(world_url, tmp_path / "x.sqlite")


def test_a_whole_database_has_no_damage(world: sa.Connection) -> None:
    assert find_damage(world) == []


def test_a_missing_row_of_the_index_is_found(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        served = connection.execute(sa.text("SELECT count(*) FROM pages")).scalar_one()
        column = "rowid" if connection.dialect.name == "sqlite" else "pk"
        connection.execute(sa.text(f"DELETE FROM page_index WHERE {column} = 1"))
        assert find_damage(connection) == [f"the search index holds {served - 1} of {served} pages"]


def test_a_broken_foreign_key_is_found(tmp_path: Path) -> None:
    upgrade(f"sqlite:///{tmp_path}/broken.sqlite")
    with closing(sqlite3.connect(tmp_path / "broken.sqlite", isolation_level=None)) as connection:
        connection.execute("INSERT INTO repository_aliases VALUES ('a/b', 4711)")
    assert damage(f"sqlite:///{tmp_path}/broken.sqlite") == [
        "row 1 of repository_aliases points at a row of repositories that does not exist"
    ]


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite"
    upgrade(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = b"\xff" * (len(content) - len(content) // 2)
    path.write_bytes(content)
    try:
        found = damage(f"sqlite:///{path}")
    except DatabaseError as exc:
        found = [str(exc)]
    assert found
