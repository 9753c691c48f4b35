"""Pages and YAML from strangers: nothing is lost, and nothing can blow up."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.kernelwiki.pages import is_page, join, page_type, read_page, split
from ingest.kernelwiki.vocabulary import Alias, Vocabulary, basis_of, read_aliases, read_tags
from ingest.kernelwiki.yamls import YamlError, load_yaml


@given(st.binary(max_size=200))
def test_any_bytes_come_back_as_they_were(data: bytes) -> None:
    assert join(*split(data)) == data


FENCE = st.sampled_from(["---\n", "---\r\n", "--- \n", "---\t\r\n", "\ufeff---\n"])


@given(FENCE, st.text(alphabet="ab:\r\n -#", max_size=60), FENCE, st.binary(max_size=40))
def test_any_front_matter_comes_back_as_it_was(
    opening: str, text: str, closing: str, body: bytes
) -> None:
    data = f"{opening}{text}\n{closing.lstrip(chr(0xFEFF))}".encode() + body
    fences, found, rest = split(data)
    assert join(fences, found, rest) == data
    assert found is not None


@given(st.text(max_size=80))
def test_any_text_is_json_or_a_plain_error(text: str) -> None:
    with contextlib.suppress(YamlError):
        json.dumps(load_yaml(text), allow_nan=False)


@given(st.binary(max_size=120))
def test_any_file_is_a_page(data: bytes) -> None:
    page = read_page("wiki/kernels/x.md", data)
    assert page.id
    assert page.type.startswith("wiki-")


DOUBLING = "a: &a0 [x, x]\n" + "".join(
    f"b{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DOUBLING, "once its aliases are followed"),
        ("a: &a [*a]", "contains itself"),
        ("[" * 65 + "]" * 65, "nested more than 64 deep"),
        ("[" * 20_000, "no YAML"),
        ("x: !!python/object/apply:os.system [id]", "no YAML"),
        ("? [1, 2]\n: x", "no YAML"),
        ("a: [", "line 2"),
        ("a: 1\n---\nb: 2", "no YAML"),
        ("x" * ((8 << 20) + 1), "over the limit"),
    ],
    ids=["doubling", "self", "deep", "deeper", "python", "keys", "open", "documents", "large"],
)
def test_hostile_yaml_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=message) as caught:
        load_yaml(text)
    assert "\n" not in str(caught.value)


def test_yaml_becomes_json_and_names_stay_text() -> None:
    assert load_yaml(
        "id: 0123\nmerge_sha: 1234567e\nauthor: 007\npr: 12\ndate: 2026-05-01\nodd: 2026-13-45\n"
        "nan: .nan\nbytes: !!binary aGk=\nset: !!set {b}\n2026-01-01: day\ntrue: yes\n"
        'nul: "a\\0b"\n'
    ) == {
        "id": "0123",
        "merge_sha": "1234567e",
        "author": "007",
        "pr": 12,
        "date": "2026-05-01",
        "odd": "2026-13-45",
        "nan": "nan",
        "bytes": "6869",
        "set": ["b"],
        "2026-01-01": "day",
        "true": True,
        "nul": "a�b",
    }


@pytest.mark.parametrize(
    ("path", "declared", "type_"),
    [
        ("sources/prs/vllm/PR-1.md", None, "source-pr"),
        ("sources/experiences/a.md", None, "source-experience"),
        ("sources/experiments/a.md", "experiment", "source-experience"),
        ("sources/code/a.md", "source-code", "source-code"),
        ("sources/refs/a.md", None, "source-ref"),
        ("sources/lectures/a.md", None, "source-lecture"),
        ("sources/a.md", "note", "source-note"),
        ("wiki/kernels/a.md", "kernel", "wiki-kernel"),
        ("wiki/kernels/a.md", "wiki-kernel", "wiki-kernel"),
        ("wiki/nvidia/hardware/a.md", None, "wiki-hardware"),
        ("wiki/code/a.md", None, "wiki-code-walkthrough"),
        ("wiki/kernels/a.md", "Brand New", "wiki-brand-new"),
    ],
)
def test_the_type_of_a_page(path: str, declared: str | None, type_: str) -> None:
    assert page_type(path, declared) == type_


@pytest.mark.parametrize(
    ("data", "id_", "problem"),
    [
        (b"---\nid: kernel-a\n---\n", "kernel-a", None),
        (b"# Text\n", "kernel-x", "no front matter"),
        (b"---\nid: [\n---\n", "kernel-x", "front matter: no YAML"),
        (b"---\n- a\n---\n", "kernel-x", "no mapping but list"),
        (b"---\nid: a/../b\n---\n", "a/../b", None),
        (b"---\nid: ''\n---\n", "kernel-x", "cannot be used"),
        (b"---\ntitle: T\n---\n", "kernel-x", "no id"),
        (b"---\nid: \xff\n---\n", "kernel-x", "no UTF-8"),
        (b"---\nid: " + b"k" * 400 + b"\n---\n", "kernel-x", "id of 400 signs"),
    ],
)
def test_the_id_of_a_page(data: bytes, id_: str, problem: str | None) -> None:
    page = read_page("wiki/kernels/x.md", data)
    assert page.id == id_
    assert problem is None if page.problem is None else problem and problem in page.problem


def test_pages_live_in_two_places() -> None:
    paths = ["wiki/a.md", "sources/x/b.MD", "README.md", "data/c.md", "wiki/d.txt", "wikis/e.md"]
    assert [is_page(path) for path in paths] == [True, True, False, False, False, False]


def test_tags_and_aliases_of_every_form() -> None:
    words = Vocabulary()
    read_tags({"techniques": ["a", 5, None], "tools": {"b": None}, "confidence": ["c"]}, words)
    read_tags(["no mapping"], words)
    assert words.terms == {("technique", "a"): None, ("technique", "5"): None, ("tool", "b"): None}
    read_aliases({"a": ["x", {"aliases": ["y"]}], "hardware": {"z": "b", "q": {"r": ["s"]}}}, words)
    read_aliases([{"term": "a", "aliases": ["l"]}], words)
    read_aliases(None, words)
    assert [(one.display, one.term, one.facet) for one in words.aliases] == [
        ("x", "a", None),
        ("y", "a", None),
        ("z", "b", "hardware_feature"),
        ("s", "r", "q"),
        ("l", "a", None),
    ]


@pytest.mark.parametrize(
    ("display", "term", "facet", "basis"),
    [
        ("SM100", "sm100", "architecture", "exact"),
        ("B200", "sm100", "architecture", "product"),
        ("Blackwell", "sm100", "architecture", "family"),
        ("gfx942", "cdna3", "architecture", "exact"),
        ("UMMA", "tcgen05", "hardware_feature", "exact"),
    ],
)
def test_what_an_alias_is_evidence_of(display: str, term: str, facet: str, basis: str) -> None:
    assert basis_of(Alias(display, term, facet, None), facet) == basis
