"""The pages of the seeds as texts: all there, of a readable length, no two alike, all with sources."""

import itertools
import re
from collections import Counter
from typing import Any

import pytest
import yaml

from kwdb.resources import data_dir

SHINGLE = 8
CODE = re.compile(r"```.*?```", re.S)


def read(pattern: str) -> list[Any]:
    paths = sorted(data_dir("seeds").glob(pattern))
    return [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in paths]


PAGES = {page["id"]: page for page in read("pages/*.yaml")}
SOURCES = {row["id"]: row for rows in read("sources/*.yaml") for row in rows}


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold())


def shingles(body: str) -> set[tuple[str, ...]]:
    """Runs of words in the prose; addresses stand for themselves and are left out."""
    said = words(re.sub(r"\(https?://\S+\)|\([a-z]+-[\w-]+\)", "", CODE.sub("", body)))
    return {tuple(said[i : i + SHINGLE]) for i in range(len(said) - SHINGLE + 1)}


def test_every_topic_has_its_page() -> None:
    assert Counter(page["type"] for page in PAGES.values()) == {
        "wiki-hardware": 8,
        "wiki-technique": 15,
        "wiki-kernel": 12,
        "wiki-pattern": 7,
        "wiki-language": 4,
        "wiki-migration": 2,
    }


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_neither_a_stub_nor_a_book(page: str) -> None:
    body = PAGES[page]["body"]
    assert len(words(CODE.sub("", body))) >= 300
    assert len(words(body)) <= 1500


def test_no_two_pages_are_alike() -> None:
    cut = {name: shingles(page["body"]) for name, page in PAGES.items()}
    alike = {
        (one, other): shared
        for one, other in itertools.combinations(cut, 2)
        if (shared := len(cut[one] & cut[other])) > 0.02 * min(len(cut[one]), len(cut[other]))
    }
    assert alike == {}


def test_likeness_is_seen() -> None:
    body = PAGES["hw-tmem"]["body"]
    other = body.replace("tensor memory", "TMEM")
    assert len(shingles(body) & shingles(other)) > 0.5 * len(shingles(body))


def test_every_source_is_a_page_with_an_address_and_says_what_it_holds() -> None:
    assert len(SOURCES) >= 40
    lacking = [
        name
        for name, row in SOURCES.items()
        if not (str(row.get("url")).startswith("https://") and row["summary"] and row["date"])
    ]
    assert lacking == []


def test_every_cited_source_exists() -> None:
    cited = {source for page in PAGES.values() for source in page["sources"]}
    assert cited - SOURCES.keys() == set()
    assert [name for name, page in PAGES.items() if len(page["sources"]) < 2] == []
