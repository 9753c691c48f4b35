import pytest
import sqlalchemy as sa

from kwdb.errors import QueryError, UnknownValueError
from kwdb.grep import Line, Question, grep


def search(world: sa.Connection, *patterns: str, **given: object) -> list[Line]:
    return grep(world, Question(patterns, **given)).lines  # type: ignore[arg-type]


def test_a_line_must_match_all_patterns_or_any(world: sa.Connection) -> None:
    both = search(world, "zebrawood", r"\d\.\dx")
    assert [(one.id, one.corpus, one.line) for one in both] == [("pr-kernels-2", "harvest", 1)]
    ids = {one.id for one in search(world, "quagga", "striped hybrid", any_=True)}
    assert ids == {"pr-cutlass-9472", "kernel-zorse"}
    assert search(world, "quagga", "striped hybrid") == []


def test_case_place_corpus_and_context(world: sa.Connection) -> None:
    assert search(world, "ZEBRAWOOD", corpus="seed") == []
    (line,) = search(world, "ZEBRAWOOD", corpus="seed", ignore_case=True, context=2)
    assert (line.id, line.line, line.before, line.after) == ("kernel-zorse", 3, ("# Zorse", ""), ())
    assert {one.id for one in search(world, "zebrawood", only="wiki")} == {"kernel-zorse"}
    assert "kernel-zorse" not in {one.id for one in search(world, "zebrawood", only="sources")}
    assert search(world, "zebrawood", only="artifacts") == []


def test_a_limit_ends_the_search(world: sa.Connection) -> None:
    found = grep(world, Question(["a"], limit=3))
    assert (len(found.lines), found.is_complete, found.stopped_by) == (
        3,
        False,
        "the limit of 3 lines",
    )


def test_a_pattern_that_never_ends_is_stopped(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        text = b"a" * 4_000 + b"b"
        connection.execute(
            sa.text("UPDATE page_versions SET body = :body WHERE page_id = 'hw-tma'"),
            {"body": text},
        )
        found = grep(connection, Question([r"^(a|aa)+$"], timeout_s=0.3))
    assert (found.is_complete, found.stopped_by) == (False, "the time limit of 0.3 s")


@pytest.mark.parametrize("pattern", ["((", "[", "(?P<x", "*"])
def test_what_is_no_pattern_is_said_to_be_none(world: sa.Connection, pattern: str) -> None:
    with pytest.raises(QueryError, match="is no regular expression"):
        grep(world, Question([pattern]))


@pytest.mark.parametrize("given", [{"corpus": "zoo"}, {"only": "attic"}])
def test_what_is_not_known_names_what_is(world: sa.Connection, given: dict[str, str]) -> None:
    with pytest.raises(UnknownValueError):
        grep(world, Question(["a"], **given))  # type: ignore[arg-type]
