import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from kwdb.db import open_engine, open_reader, write_transaction
from kwdb.errors import SchemaVersionError
from kwdb.migrate import alembic_config, current, upgrade
from kwdb.models import metadata
from kwdb.sqlite import SCHEMA_REVISION

REVISIONS = [
    script.revision
    for script in reversed(list(ScriptDirectory.from_config(alembic_config()).walk_revisions()))
]
TABLES = list(metadata.tables.values())


def run_alembic(url: str, name: str, *arguments: str) -> None:
    engine = open_engine(url)
    try:
        with write_transaction(engine) as connection:
            getattr(command, name)(alembic_config(connection), *arguments)
    finally:
        engine.dispose()


def schema(url: str) -> dict[str, object]:
    """Describe every table, column, constraint, index and view of a database."""
    engine = open_engine(url)
    # FTS5 and tsvector columns are of types that reflection does not know.
    with engine.connect() as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore", sa.exc.SAWarning)
        found = sa.inspect(connection)
        described: dict[str, object] = dict.fromkeys(found.get_view_names(), "view")
        for name in found.get_table_names():
            described[name] = [
                [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
                found.get_pk_constraint(name)["constrained_columns"],
                sorted(map(str, found.get_foreign_keys(name))),
                sorted(str(sorted(x.items(), key=str)) for x in found.get_unique_constraints(name)),
                sorted(str(x["name"]) for x in found.get_check_constraints(name)),
                sorted((str(x["name"]), str(x["column_names"])) for x in found.get_indexes(name)),
            ]
    engine.dispose()
    return described


def test_there_is_one_head_and_it_is_the_revision_of_the_code() -> None:
    scripts = ScriptDirectory.from_config(alembic_config())
    assert scripts.get_heads() == [SCHEMA_REVISION]
    assert sorted(set(REVISIONS)) == REVISIONS


def test_every_migration_file_is_named_for_its_revision() -> None:
    directory = Path(ScriptDirectory.from_config(alembic_config()).versions)
    names = sorted(path.name[:4] for path in directory.glob("*.py"))
    assert names == REVISIONS


def test_upgrade_makes_every_table_of_the_models(empty_url: str) -> None:
    assert current(empty_url) is None
    assert upgrade(empty_url) is None
    assert current(empty_url) == SCHEMA_REVISION
    assert metadata.tables.keys() - schema(empty_url).keys() == set()


def test_upgrade_again_changes_nothing(database_url: str) -> None:
    before = schema(database_url)
    assert upgrade(database_url) == SCHEMA_REVISION
    assert schema(database_url) == before


def test_alembic_check_finds_no_drift(database_url: str) -> None:
    run_alembic(database_url, "check")  # raises where it finds any


def test_each_revision_goes_down_and_up_again(empty_url: str) -> None:
    after: dict[str, dict[str, object]] = {"base": {}}
    for revision in REVISIONS:
        run_alembic(empty_url, "upgrade", revision)
        after[revision] = schema(empty_url)
        run_alembic(empty_url, "downgrade", "-1")
        earlier = REVISIONS[REVISIONS.index(revision) - 1] if revision != REVISIONS[0] else "base"
        assert schema(empty_url) == after[earlier] or earlier == "base"
        run_alembic(empty_url, "upgrade", revision)
        assert schema(empty_url) == after[revision]


def test_the_first_revision_leaves_nothing_behind(empty_url: str) -> None:
    upgrade(empty_url)
    run_alembic(empty_url, "downgrade", "base")
    assert schema(empty_url).keys() == {"alembic_version"}


def test_a_seeded_database_goes_all_the_way_down(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        command.downgrade(alembic_config(connection), "base")
    assert sa.inspect(engine).get_table_names() == ["alembic_version"]


def set_revision(url: str, revision: str) -> None:
    engine = open_engine(url)
    with write_transaction(engine) as connection:
        connection.execute(
            sa.text("UPDATE alembic_version SET version_num = :new"), {"new": revision}
        )
    engine.dispose()


def test_a_newer_database_is_refused_and_left_alone(database_url: str) -> None:
    set_revision(database_url, "9999")
    before = schema(database_url)
    with pytest.raises(SchemaVersionError, match="newer than this program") as caught:
        upgrade(database_url)
    assert (caught.value.found, caught.value.needed) == ("9999", SCHEMA_REVISION)
    assert (current(database_url), schema(database_url)) == ("9999", before)


@pytest.mark.parametrize("revision", ["0006", "9999"], ids=["older", "newer"])
def test_another_revision_is_not_read(database_url: str, revision: str) -> None:
    set_revision(database_url, revision)
    with pytest.raises(SchemaVersionError) as caught:
        open_reader(database_url)
    assert (caught.value.found, caught.value.needed) == (revision, SCHEMA_REVISION)


def test_a_database_without_tables_is_not_read(empty_url: str) -> None:
    with pytest.raises(SchemaVersionError, match='run "kwdb init"') as caught:
        open_reader(empty_url)
    assert caught.value.found is None


def test_asking_for_the_revision_makes_no_file(tmp_path: Path) -> None:
    assert current(f"sqlite:///{tmp_path}/none.sqlite") is None
    assert not (tmp_path / "none.sqlite").exists()


def test_upgrade_leaves_no_connection_open(
    empty_url: str, new_database: Callable[[str | None], str]
) -> None:
    """PostgreSQL copies a database only while nobody is connected to it."""
    upgrade(empty_url)
    if empty_url.startswith("postgresql"):
        new_database(sa.make_url(empty_url).database)


def test_foreign_keys_hold_on_both_engines(engine: sa.Engine) -> None:
    row = "INSERT INTO repository_aliases (full_name, repository_id) VALUES ('a/b', 4711)"
    with pytest.raises(sa.exc.IntegrityError), write_transaction(engine) as connection:
        connection.exec_driver_sql(row)


FOREIGN_KEYS = [key for table in TABLES for key in table.foreign_keys]


def test_every_foreign_key_states_on_delete() -> None:
    assert FOREIGN_KEYS
    assert [str(key.parent) for key in FOREIGN_KEYS if key.ondelete is None] == []


def test_every_foreign_key_states_on_delete_in_the_database(database_url: str) -> None:
    engine = open_engine(database_url)
    found = sa.inspect(engine)
    silent = [
        (name, key["constrained_columns"])
        for name in metadata.tables
        for key in found.get_foreign_keys(name)
        if not key["options"].get("ondelete")
    ]
    engine.dispose()
    # PostgreSQL reflects RESTRICT, too; NO ACTION alone stays unsaid.
    assert silent == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_tables_and_columns_say_what_they_hold(table: sa.Table) -> None:
    assert len(table.info["doc"].split()) >= 3
    assert [column.name for column in table.columns if not (column.doc or "").strip()] == []
