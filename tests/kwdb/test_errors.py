from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwdb import errors
from kwdb.errors import InvalidRecordError, SchemaVersionError, UnknownValueError, nearest

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "x")


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("ConfigError", "UserError"),
        ("DatabaseError", "UserError"),
        ("SchemaVersionError", "DatabaseError"),
        ("NotFoundError", "UserError"),
        ("UnknownValueError", "UserError"),
        ("InvalidRecordError", "UserError"),
        ("QueryError", "UserError"),
        ("IngestError", "UserError"),
    ],
)
def test_every_error_has_its_place_in_the_tree(name: str, parent: str) -> None:
    assert getattr(errors, name).__bases__ == (getattr(errors, parent),)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(None, 'no kwdb database at sqlite:///x: run "kwdb init"', id="none"),
        pytest.param(
            "0003",
            'database is at revision 0003, code needs 0007: run "kwdb db upgrade" (sqlite:///x)',
            id="older",
        ),
        pytest.param(
            "0009",
            "database is at revision 0009, code needs 0007: it is newer than this program: "
            "upgrade kwdb (sqlite:///x)",
            id="newer",
        ),
    ],
)
def test_schema_version_says_what_to_do(found: str | None, message: str) -> None:
    error = SchemaVersionError(found, "0007", "sqlite:///x")
    assert (str(error), error.found, error.needed, error.url) == (
        message,
        found,
        "0007",
        "sqlite:///x",
    )


@pytest.mark.parametrize(
    ("allowed", "where", "message"),
    [
        pytest.param(("b", "a", "a"), "", "unknown arch 'sm_95'; known: a, b", id="few"),
        pytest.param((), "", "unknown arch 'sm_95'; known: none", id="none"),
        pytest.param(
            ARCHITECTURES,
            "gpus.yaml:41",
            "unknown arch 'sm_95' in gpus.yaml:41; nearest known: sm_89, sm_90, sm_90a (9 in all)",
            id="many",
        ),
    ],
)
def test_unknown_value_names_what_is_known(
    allowed: tuple[str, ...], where: str, message: str
) -> None:
    error = UnknownValueError("arch", "sm_95", allowed, where)
    assert (error.key, error.value, error.allowed) == ("arch", "sm_95", sorted(set(allowed)))
    assert str(error) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(7, "seeds/tags.yaml:7: field 'facet': is missing", id="line"),
        pytest.param(None, "seeds/tags.yaml: field 'facet': is missing", id="no-line"),
    ],
)
def test_invalid_record_names_file_line_and_field(line: int | None, message: str) -> None:
    error = InvalidRecordError(Path("seeds/tags.yaml"), line, "facet", "is missing")
    assert (str(error), error.path, error.line, error.field, error.problem) == (
        message,
        "seeds/tags.yaml",
        line,
        "facet",
        "is missing",
    )


@pytest.mark.parametrize(
    ("value", "first"),
    [("vlm", "vllm"), ("VLLM", "vllm"), ("deep-gemm", "deepgemm"), ("cutlas", "cutlass")],
)
def test_nearest_puts_the_likely_one_first(value: str, first: str) -> None:
    assert nearest(value, ["cutlass", "deepgemm", "vllm", "sglang"])[0] == first


@given(st.text(), st.lists(st.text(max_size=8), max_size=8))
def test_nearest_gives_three_of_the_known_or_all(value: str, allowed: list[str]) -> None:
    found = nearest(value, allowed)
    assert set(found) <= set(allowed)
    assert len(found) == len(set(found)) == min(3, len(set(allowed)))
    assert found == nearest(value, reversed(allowed))
