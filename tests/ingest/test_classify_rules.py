"""Mistakes in rule tables are refused with file, key, field and allowed values."""

from pathlib import Path

import pytest
import yaml

from ingest.classify.rules import RULES_DIR, TAG_FILES, read_table
from kwdb.errors import InvalidRecordError

ROOT = Path(__file__).parents[2]
HEAD = "facet: technique\nvocabulary: [swizzling]\nplaces: {title: 1}\nrules:\n"


def refused(tmp_path: Path, text: str) -> InvalidRecordError:
    path = tmp_path / "table.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRecordError) as caught:
        read_table(path)
    assert caught.value.path == str(path)
    return caught.value


@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        ("{key: a, tag: swizzlin, words: [x]}", "tag", "not among swizzling"),
        ("{key: a, tag: swizzling, word: [x]}", "word", "not among key, tag"),
        ("{key: a, tag: swizzling, words: x}", "words", "not of type list"),
        ("{key: a, tag: swizzling, words: [1]}", "words", "quote numbers"),
        ("{key: a, tag: swizzling}", "words", "nothing to look for"),
        ("{key: a, tag: swizzling, words: [x], basis: sure}", "basis", "exact, product, family"),
        ("{key: a, tag: swizzling, words: [x], places: {tile: 1}}", "places", "title, body, path"),
        ("{key: a, tag: swizzling, words: [x], places: {title: no}}", "places.title", "int"),
        ("{key: a, tag: swizzling, regex: ['('], literals: [x]}", "regex", "regular expression"),
        ("{key: a, tag: swizzling, regex: [x, y], literals: [x]}", "literals", "each regex"),
        ("{key: a, tag: swizzling, regex: [x]}", "literals", "each regex"),
        ("{key: a, tag: swizzling, words: [x], unless: '['}", "unless", "regular expression"),
        ("{tag: swizzling, words: [x]}", "key", "names the rule"),
    ],
)
def test_a_bad_rule(tmp_path: Path, row: str, field: str, says: str) -> None:
    error = refused(tmp_path, f"{HEAD}  - {row}\n")
    assert error.field == field
    assert says in error.problem


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    row = "  - {key: a, tag: swizzling, words: [x]}\n"
    assert "twice" in refused(tmp_path, HEAD + row + row).problem


@pytest.mark.parametrize("text", ["rules: [", "- a\n", "facet: colour\n"])
def test_a_bad_file(tmp_path: Path, text: str) -> None:
    refused(tmp_path, text)


@pytest.mark.parametrize("name", TAG_FILES)
def test_the_tables_in_force_are_sound(name: str) -> None:
    assert read_table(RULES_DIR / f"{name}.yaml").rules


@pytest.mark.parametrize("name", TAG_FILES)
def test_every_tag_of_a_vocabulary_can_be_given(name: str) -> None:
    table = read_table(RULES_DIR / f"{name}.yaml")
    given = {rule.name for rule in table.rules} | {rule.tag for rule in table.implied}
    words = yaml.safe_load((RULES_DIR / f"{name}.yaml").read_text(encoding="utf-8"))["vocabulary"]
    assert given == set(words)


def test_every_architecture_of_the_seeds_can_be_given() -> None:
    seeds = yaml.safe_load((ROOT / "seeds" / "tags.yaml").read_text(encoding="utf-8"))
    known = {row["name"] for row in seeds if row["facet"] == "architecture"}
    given = {rule.name for rule in read_table(RULES_DIR / "architectures.yaml").rules}
    # Their suffix is read as part of the architecture without it.
    assert known - given == {"sm103a", "sm120a"}
