"""The JSON-lines door."""

import json

import pytest

from ingest.classify import classify_lines, ruleset
from kwdb.errors import InvalidRecordError


def test_one_line_gives_one_answer() -> None:
    row = {"id": "7", "repo": "o/r", "number": 7, "title": "[Kernel] MLA on sm_90a", "body": "",
           "paths": ["csrc/mla.cu"], "diff": None}  # fmt: skip
    (answer,) = map(json.loads, classify_lines([json.dumps(row), "\n"]))
    tags = answer.pop("tags")
    assert answer == {
        "id": "7",
        "decision": "include",
        "reason": "device code changes",
        "rule": "device-source",
        "evidence": {"where": "path", "text": "csrc/mla.cu", "path": "csrc/mla.cu"},
        "ruleset": ruleset(),
    }
    assert tags[0] == {
        "name": "sm90a",
        "facet": "architecture",
        "basis": "exact",
        "rule": "sm90a-token",
        "evidence": {"where": "title", "text": "sm_90a"},
    }
    assert tags[-1] == {
        "name": "attention",
        "facet": "kernel_type",
        "basis": "implied",
        "rule": "kind-of-attention",
        "implied_by": "mla",
    }


def test_only_id_and_title_are_needed() -> None:
    (answer,) = map(json.loads, classify_lines(['{"id": 1, "title": "docs"}']))
    assert (answer["id"], answer["decision"]) == (1, "exclude")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", "line"),
        ("[]", "line"),
        ('{"title": "x"}', "id"),
        ('{"id": "1"}', "title"),
        ('{"id": "1", "title": null}', "title"),
        ('{"id": "1", "title": "x", "paths": "a.cu"}', "paths"),
        ('{"id": "1", "title": "x", "paths": [1]}', "paths"),
        ('{"id": "1", "title": "x", "number": true}', "number"),
        ('{"id": "1", "title": "x", "diff": 1}', "diff"),
    ],
)
def test_a_bad_line_names_line_and_field(line: str, field: str) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        list(classify_lines(['{"id": "0", "title": "fine"}', line]))
    assert (caught.value.line, caught.value.field) == (2, field)
