import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from kwdb.db import open_writer, read_transaction
from kwdb.dump import canonical_dump
from kwdb.errors import InvalidRecordError
from kwdb.models import aliases, tags
from kwdb.resources import data_dir
from kwdb.seed import load_seeds
from kwdb.text import fold

RULES = Path(__file__).parents[2] / "ingest" / "rules"


@pytest.fixture
def unseeded(database_url: str) -> Iterator[sa.Engine]:
    engine = open_writer(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """A copy of the real seeds, to spoil."""
    return Path(shutil.copytree(data_dir("seeds"), tmp_path / "seeds"))


def dumped(engine: sa.Engine) -> list[bytes]:
    with read_transaction(engine) as connection:
        return list(canonical_dump(connection))


def test_the_seeds_load_and_load_again_without_a_write(unseeded: sa.Engine) -> None:
    first = load_seeds(unseeded)
    assert all(first.values())
    before = dumped(unseeded)
    assert load_seeds(unseeded) == dict.fromkeys(first, 0)
    assert dumped(unseeded) == before


def test_every_row_of_the_seeds_states_its_source() -> None:
    places = ("*.yaml", "claims/*.yaml", "sources/*.yaml")
    for path in sorted(path for place in places for path in data_dir("seeds").glob(place)):
        rows = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        keys = [row["key"] for row in rows]
        assert (path.name, len(keys)) == (path.name, len(set(keys)))
        assert [row["key"] for row in rows if not row.get("source")] == []


def test_a_changed_row_is_the_only_one_written(engine: sa.Engine, seeds: Path) -> None:
    path = seeds / "metrics.yaml"
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    rows[0]["description"] = "something else"
    path.write_text(yaml.safe_dump(rows), encoding="utf-8")
    written = load_seeds(engine, seeds)
    assert {name: count for name, count in written.items() if count} == {"metrics": 1}


TAG = "- {key: new, facet: technique, name: new, description: d, source: s"
ALIAS = "- {key: new, alias: new word, tag: 'technique:fusion', basis: exact, source: s"
GPU = "- {key: new, name: New, vendor: NVIDIA, architecture: sm90, source: s"
VALUE = "- {key: new, name: new, description: d, source: s"

# file, what is added, field, what the message says
BAD = {
    "unknown-field": ("tags", TAG + ", color: red}", "color", "allowed: .*facet.*description"),
    "missing-field": ("tags", TAG.replace("description: d, ", "") + "}", "description", "missing"),
    "missing-source": ("tags", TAG.replace(", source: s", "") + "}", "source", "is missing"),
    "missing-key": ("tags", TAG.replace("key: new, ", "") + "}", "key", "is missing"),
    "empty-field": ("tags", TAG.replace("name: new", "name: ''") + "}", "name", "is missing"),
    "wrong-value": (
        "tags",
        TAG.replace("technique", "tecnique") + "}",
        "facet",
        "unknown value 'tecnique'; nearest allowed: technique",
    ),
    "unknown-tag": (
        "aliases",
        ALIAS.replace("technique:fusion", "technique:nothing") + "}",
        "tag",
        "unknown value 'technique:nothing'; nearest allowed: technique:",
    ),
    "wrong-type": ("gpus", GPU + ", sm_count: many}", "sm_count", "'many' is not int"),
    "flag-for-number": ("gpus", GPU + ", sm_count: yes}", "sm_count", "True is not int"),
    "number-for-text": ("tags", TAG.replace("name: new", "name: 7") + "}", "name", "7 is not str"),
    "number-in-names": ("gpus", GPU + ", aliases: [5090]}", "aliases", "5090"),
    "duplicate-key": (
        "tags",
        TAG.replace("key: new", "key: 'architecture:sm90'") + "}",
        "key",
        "'architecture:sm90' stands at line [0-9]+ too",
    ),
    "duplicate-name": (
        "tags",
        TAG.replace("technique, name: new", "architecture, name: sm90") + "}",
        "name",
        "sm90",
    ),
    "no-word": (
        "aliases",
        "- {key: new, alias: '::', tag: 'architecture:sm90', basis: exact, source: s}",
        "alias",
        "no letter or digit",
    ),
    "no-mapping": ("tags", "- just words", "-", "a row is a mapping, not 'just words'"),
    "no-yaml": ("tags", "- {key: new", "-", "no YAML"),
    "python-object": ("tags", "- !!python/object:os.system {}", "-", "no YAML"),
    "rank-missing": ("value_sets", VALUE + ", table: confidence_levels}", "rank", "is missing"),
    "unknown-table": ("value_sets", VALUE + ", table: nothing}", "table", "unknown value"),
    "no-value-set": ("value_sets", VALUE + ", table: metrics}", "table", "unknown value"),
}


@pytest.mark.parametrize(("file", "row", "field", "says"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_a_bad_row_is_named_with_file_line_and_field(
    engine: sa.Engine, seeds: Path, file: str, row: str, field: str, says: str
) -> None:
    path = seeds / f"{file}.yaml"
    text = path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    path.write_text(text + row + "\n", encoding="utf-8")
    with pytest.raises(InvalidRecordError, match=says) as caught:
        load_seeds(engine, seeds)
    error = caught.value
    last = text.count("\n") + 1
    assert (error.path, error.field) == (str(path), field)
    assert error.line in {last, last + 1}  # YAML may miss a bracket only at the end
    assert str(error).startswith(f"{path}:{error.line}: field {field!r}: ")


def test_a_bad_row_in_the_last_file_leaves_nothing(unseeded: sa.Engine, seeds: Path) -> None:
    before = dumped(unseeded)
    with (seeds / "repositories.yaml").open("a", encoding="utf-8") as file:
        file.write("- {key: new}\n")
    with pytest.raises(InvalidRecordError):
        load_seeds(unseeded, seeds)
    assert dumped(unseeded) == before


@pytest.mark.parametrize(
    "content",
    [b"key: a mapping\n", b"just words\n", b"- {key: \xff}\n", b"- key: \x00\n", None],
    ids=["mapping", "scalar", "no-utf8", "nul", "missing"],
)
@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_a_file_that_is_no_list_of_rows(
    engine: sa.Engine, seeds: Path, content: bytes | None
) -> None:
    path = seeds / "metrics.yaml"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidRecordError, match=re.escape(str(path))):
        load_seeds(engine, seeds)


PAGE = {"id": "hw-new", "type": "wiki-hardware", "title": "New", "source": "s", "body": "text"}
BAD_PAGES = {
    "id-missing": ({"id": None}, "id"),
    "id-no-text": ({"id": 7}, "id"),
    "unknown-type": ({"type": "wiki-hardwear"}, "type"),
    "type-is-list": ({"type": ["wiki-hardware"]}, "type"),
    "unknown-tag": ({"tags": ["technique:nothing"]}, "tags"),
    "tag-is-list": ({"tags": [["architecture:sm90"]]}, "tags"),
    "tags-no-list": ({"tags": 5}, "tags"),
    "bad-day": ({"published_on": "soon"}, "published_on"),
    "links-no-list": ({"related": 5}, "related"),
    "body-no-text": ({"body": ["a", "b"]}, "body"),
}


@pytest.mark.parametrize(("change", "field"), BAD_PAGES.values(), ids=BAD_PAGES.keys())
@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_a_bad_page_is_named_with_its_field(
    engine: sa.Engine, seeds: Path, change: dict[str, object], field: str
) -> None:
    path = seeds / "pages" / "new.yaml"
    path.write_text(yaml.safe_dump(PAGE | change), encoding="utf-8")
    with pytest.raises(InvalidRecordError) as caught:
        load_seeds(engine, seeds)
    assert (caught.value.path, caught.value.field) == (str(path), field)


@pytest.mark.parametrize("text", ["title: [", "- a list", "", "\t"])
@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_a_page_file_that_is_no_mapping(engine: sa.Engine, seeds: Path, text: str) -> None:
    path = seeds / "pages" / "new.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRecordError, match=re.escape(str(path))):
        load_seeds(engine, seeds)


@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_two_pages_with_one_id_are_refused(engine: sa.Engine, seeds: Path) -> None:
    for name in ("new-a", "new-b"):
        path = seeds / "pages" / f"{name}.yaml"
        path.write_text(yaml.safe_dump(PAGE | {"title": name}), encoding="utf-8")
    with pytest.raises(InvalidRecordError, match="hw-new"):
        load_seeds(engine, seeds)


def known_tags() -> set[tuple[str, str]]:
    rows = yaml.safe_load((data_dir("seeds") / "tags.yaml").read_text(encoding="utf-8"))
    return {(row["facet"], row["name"]) for row in rows}


@pytest.mark.parametrize("path", sorted(RULES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_tag_of_the_rules_is_in_the_vocabulary(path: Path) -> None:
    rules = yaml.safe_load(path.read_text(encoding="utf-8"))
    facet, names = (rules.get("facet"), rules.get("vocabulary", [])) if rules else (None, [])
    wanted = {(facet, name) for name in names} if facet else set()
    assert wanted - known_tags() == set()
    assert facet is None or wanted


MEANT = {
    "UMMA": {"hardware_feature:tcgen05"},
    "tcgen05.mma": {"hardware_feature:tcgen05"},
    "tensor memory": {"hardware_feature:tmem"},
    "TMEM": {"hardware_feature:tmem"},
    "Cluster Launch Control": {"hardware_feature:clc"},
    "WGMMA": {"hardware_feature:wgmma"},
    "TMA": {"hardware_feature:tma"},
    "NVFP4": {"hardware_feature:nvfp4"},
    "Blackwell": {"architecture:sm100"},
    "B200": {"architecture:sm100"},
    "Hopper": {"architecture:sm90"},
    "H100": {"architecture:sm90"},
    "warp specialization": {"technique:warp-specialization"},
    "FA4": {"kernel_type:flash-attention"},
    "MXFP8": {"hardware_feature:block-scale", "hardware_feature:fp8"},
}


@pytest.mark.parametrize("word", MEANT)
def test_the_aliases_of_the_cheat_sheet(word: str, template: Callable[[str, bool], str]) -> None:
    engine = open_writer(f"sqlite:///{template('sqlite', True)}")
    query = sa.select(tags.c.facet + ":" + tags.c.name).join_from(aliases, tags)
    with read_transaction(engine) as connection:
        found = set(connection.execute(query.where(aliases.c.alias == fold(word))).scalars())
    engine.dispose()
    assert MEANT[word] <= found
