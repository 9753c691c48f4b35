"""Each rule on imported corpora fires on a page that it forbids and stays silent on a sound one."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from kernelwiki_tree import PULL_REQUEST, page, write

from ingest.kernelwiki.checks import RULES
from ingest.kernelwiki.checks.families import families_of, stated_families
from ingest.kernelwiki.importing import import_tree
from kwdb.check import RULES as OUR_RULES
from kwdb.check import Finding, find_rules, run_check
from kwdb.check.baseline import beyond, read_baseline, write_baseline
from kwdb.db import open_engine
from kwdb.errors import ConfigError
from kwdb.models import pull_requests, repositories

CODE = "\n```cuda\nint a;\nint b;\nint c;\n```\n"
KERNEL: dict[str, Any] = {
    "id": "kernel-sound",
    "title": "Sound kernel",
    "type": "kernel",
    "architectures": ["sm100"],
    "tags": ["gemm"],
    "confidence": "source-reported",
    "sources": ["doc-sound"],
    "related": [],
}
DOC: dict[str, Any] = {"id": "doc-sound", "title": "Sound document", "architectures": ["sm100"]}
DATA: dict[str, Any] = {
    "data/tags.yaml": {
        "architectures": ["sm100", "sm90"],
        "hardware_features": ["tma"],
        "kernel_types": ["gemm"],
        "languages": ["cuda-cpp"],
        "confidence": ["verified", "source-reported"],
    },
    "data/schemas.yaml": {
        "wiki-kernel": {"required": ["id", "title", "confidence"]},
        "source-pr": {"constraints": {"source_category": "upstream-code", "id_prefix": "pr-"}},
    },
    "data/version-claims.yaml": {
        "claims": [{"id": "vs-a", "tool": "t", "last_verified_release": "1", "source_ids": ["doc-x"],
                    "applies_to": ["wiki/none.md"]}]
    },
    "data/tool-versions.yaml": {"tools": [{"tool": "t", "releases": [{"name": "2"}]}]},
    "data/refresh-cutoff.yaml": {"cutoff_date": "2026-05-20"},
    "candidates/kernels.yaml": {
        "repo": "acme/kernels",
        "searched_at": "2026-05-19",
        "included": 7,
        "prs": [{"number": 7, "decision": "include"}, {"number": 70, "decision": "include"},
                {"number": 8, "decision": "defer"}],
    },
    "artifacts/a/full/PROVENANCE.yaml": {
        "asset_mode": "derived",
        "files": [{"local_path": "a.cu", "sha256": "0" * 64, "role": "derived-source"},
                  {"local_path": "gone.cu", "sha256": "1" * 64}],
    },
}  # fmt: skip
SUMMARY = "\n## Summary\n\n{}\n\n## Problem\n\n{}\n\n"


def kernel(name: str, body: str = CODE, **fields: Any) -> tuple[str, bytes]:
    head = KERNEL | {"id": f"kernel-{name}", "title": f"Kernel {name}"} | fields
    kept = {key: value for key, value in head.items() if value is not ...}
    return f"wiki/kernels/{name}.md", page(kept, body)


def change(
    number: int, body: str = "\nA gemm in cuda for sm100.\n", **fields: Any
) -> tuple[str, bytes]:
    head = PULL_REQUEST | {"id": f"pr-kernels-{number}", "pr": number, "title": f"Change {number}"}
    head |= {"merge_sha": "ab" * 20, "changed_paths": ["a.cu"], "languages": ["cuda-cpp"]} | fields
    return f"sources/prs/kernels/PR-{number}.md", page(head, body)


def claim(**fields: Any) -> dict[str, Any]:
    whole = {"gpu": "B200", "dtype": "fp8", "shape": "s", "metric": "TFLOPS", "value": 5}
    return whole | {"source_id": "doc-sound"} | fields


PAGES: dict[str, bytes] = dict(
    [
        kernel("sound"),
        kernel("alike", title="Kernel sound"),
        kernel("required", confidence=...),
        kernel("list", tags="gemm"),
        kernel("repeats", tags=["gemm", "gemm"]),
        kernel("vocabulary", tags=["gemm", "zebra"]),
        kernel("hardware", tags=["tma"], hardware_features=[]),
        kernel("value", confidence="sure"),
        kernel("nowhere", architectures=...),
        kernel("hopper", architectures=["sm90"]),
        kernel("fields", performance_claims=[{"metric": "TFLOPS", "value": 5}]),
        kernel("number", performance_claims=[claim(value="5 TFLOPS")]),
        kernel("source", performance_claims=[claim(source_id="doc-none")]),
        kernel("citation", performance_claims=[claim(value=77)]),
        kernel("basis", confidence="verified", evidence_basis=[{"source_id": "x"}]),
        kernel("codeless", body="\n```cuda\n// none\n```\n"),
        kernel("artifact", artifact_dir="artifacts/none"),
        kernel("crlf", body=f"a\r\n{CODE}"),
        kernel("fence", body=f"{CODE}```\n"),
        kernel("html", body=f"{CODE}<details>\n"),
        kernel("line", body=f"{CODE}---\n"),
        kernel("link", body=f"{CODE}[x](none.md) [y](sound.md) [z](/wiki/kernels/sound.md)\n"),
        kernel("title", title=" Cut…"),
        kernel("home", body=f"{CODE}/home/jane/x\n"),
        kernel("oneway", related=["kernel-sound", "doc-sound"]),
        kernel("unsourced", sources=[]),
        kernel("aliasa", aliases=["Shared"]),
        kernel("aliasb", aliases=["shared"]),
        kernel("pointer", version_sensitive={"id": "vs-none"}),
        change(7),
        change(8, date="2026-05-01", captured_at="2026-05-21"),
        change(9, architectures=["sm90"], title="Nothing said", body="\ngemm cuda\n"),
        change(10, architectures=["sm90"], body="\nA gemm in cuda on B200\n"),
        change(11, tags=["gemm"], body="\nArgmax in cuda for sm100\n"),
        change(12, body="\nA gemm for sm100\n", changed_paths=["a.txt"]),
        change(13, tags=["gemm", "tma"], body="\nA gemm with softmax in cuda for sm100\n"),
        change(14, source_category="paper"),
        change(15, merge_sha=None),
        change(16, merge_sha="12345678"),
        change(17, body=SUMMARY.format("x" * 300, "sm100 cuda gemm")),
        change(18, body=SUMMARY.format("sm100 cuda gemm", "Change 18")),
        change(19, body=SUMMARY.format("<!-- sm100 cuda gemm -->", "else")),
        change(20, changed_paths=[]),
    ]
)
OTHERS: dict[str, bytes] = {
    "sources/docs/sound.md": page(DOC, "\n5 TFLOPS\n"),
    "sources/docs/uncited.md": page(DOC | {"id": "doc-uncited", "title": "Uncited"}),
    "sources/docs/other.md": page(DOC | {"id": "doc-elsewhere", "title": "Elsewhere"}),
    "sources/prs/kernels/PR-99.md": page(PULL_REQUEST | {"id": "change-99", "pr": 99}),
    "sources/contests/a/one.md": page(
        {"id": "contest-one", "title": "One", "submissions": [{"rank": 1, "odd": 2}]}
    ),
    "wiki/kernels/bad.md": b"---\nid: [\n---\n",
    "wiki/kernels/plain.md": b"text\n",
    "wiki/kernels/noid.md": b"---\ntitle: x\n---\n",
    "wiki/kernels/twice.md": page(KERNEL),
    "wiki/kernels/bytes.md": b"---\nid: kernel-bytes\n---\n\xff\n",
    "wiki/kernels/mark.md": b"\xef\xbb\xbf---\nid: kernel-mark\n---\n",
    "wiki/kernels/double.md": b"---\nid: kernel-double\ntitle: a\ntitle: b\n---\n",
    "artifacts/a/full/a.cu": b"int a;\n",
    "artifacts/a/full/b.cu": b"int b;\n",
    "artifacts/loose.cu": b"int c;\n",
}
FIRES = {
    "corpus-yaml": "kernel-bad",
    "corpus-no-front-matter": "kernel-plain",
    "corpus-id-missing": "kernel-noid",
    "corpus-id-duplicate": "wiki/kernels/twice.md",
    "corpus-id-path": "doc-elsewhere",
    "corpus-id-prefix": "change-99",
    "corpus-field-required": "kernel-required",
    "corpus-field-list": "kernel-list",
    "corpus-field-repeats": "kernel-repeats",
    "corpus-vocabulary": "kernel-vocabulary",
    "corpus-hardware-tags": "kernel-hardware",
    "corpus-value": "kernel-value",
    "corpus-category": "pr-kernels-14",
    "corpus-merge-sha": "pr-kernels-15",
    "corpus-merge-sha-short": "pr-kernels-16",
    "corpus-architecture-missing": "kernel-nowhere",
    "corpus-hopper-only": "kernel-hopper",
    "corpus-claim-fields": "kernel-fields",
    "corpus-claim-number": "kernel-number",
    "corpus-claim-source": "kernel-source",
    "corpus-evidence-basis": "kernel-basis",
    "corpus-code-block": "kernel-codeless",
    "corpus-artifact-dir": "kernel-artifact",
    "corpus-submission": "contest-one",
    "architecture-unstated": "pr-kernels-9",
    "architecture-other": "pr-kernels-10",
    "tag-disagreement": "pr-kernels-10",
    "tag-default": "pr-kernels-11",
    "language-default": "pr-kernels-12",
    "tag-substring": "pr-kernels-13",
    "claim-not-in-source": "kernel-citation",
    "status-not-landed": "pr-kernels-8",
    "date-not-landing": "pr-kernels-7",
    "body-crlf": "kernel-crlf",
    "body-encoding": "kernel-bytes",
    "head-byte-order-mark": "kernel-mark",
    "head-key-twice": "kernel-double",
    "body-cut": "pr-kernels-17",
    "body-echo": "pr-kernels-18",
    "body-template": "pr-kernels-19",
    "body-fence-open": "kernel-fence",
    "body-html-open": "kernel-html",
    "body-rule-line": "kernel-line",
    "body-link-broken": "kernel-link",
    "title-shape": "kernel-title",
    "title-twice": "kernel-sound",
    "home-path": "kernel-home",
    "paths-incomplete": "pr-kernels-20",
    "link-one-way": "kernel-oneway",
    "related-source": "kernel-oneway",
    "wiki-without-sources": "kernel-unsourced",
    "source-uncited": "doc-uncited",
    "term-unused": "architecture:never",
    "alias-of-two-pages": "kernel-aliasb",
    "ledger-head": "candidates/kernels.yaml",
    "ledger-counts": "candidates/kernels.yaml",
    "ledger-without-page": "acme/kernels#70",
    "page-not-included": "pr-kernels-8",
    "refresh-cutoff": "candidates/kernels.yaml",
    "bundle-manifest": "artifacts/a/full",
    "bundle-digest": "artifacts/a/full/a.cu",
    "bundle-undeclared": "artifacts/a/full/b.cu",
    "code-outside-bundles": "artifacts/loose.cu",
    "version-pointer": "kernel-pointer",
    "version-release": "vs-a",
}


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def checked(
    request: pytest.FixtureRequest,
    template: Callable[[str, bool], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[sa.Engine]:
    """A database with the corpus `bad`, and what the harvest knows of two of its changes."""
    directory = tmp_path_factory.mktemp("checks")
    source = template(request.param, True)
    if request.param == "sqlite":
        path = directory / "checked.sqlite"
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(path)) as new:
            old.backup(new)
        url = f"sqlite:///{path}"
    else:
        url = str(request.getfixturevalue("postgres_server").create("corpus_checked", source))
    engine = open_engine(url)
    files = {path: yaml.safe_dump(document) for path, document in DATA.items()}
    files["data/tags.yaml"] = files["data/tags.yaml"].replace("- sm100\n", "- sm100\n- never\n")
    import_tree(engine, write(directory / "bad", files | PAGES | OTHERS), None, lambda *_: None)
    with engine.begin() as connection:
        key = connection.execute(
            sa.select(repositories.c.id).where(repositories.c.full_name == "acme/kernels")
        ).scalar_one()
        at = datetime(2026, 5, 9, tzinfo=UTC)
        rows = [
            {"id": 9_001, "number": 7, "landed_state": "landed", "landed_at": at},
            {"id": 9_002, "number": 8, "landed_state": "closed", "landed_at": None},
        ]
        connection.execute(sa.insert(pull_requests), [row | {"repository_id": key} for row in rows])
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def findings(checked: sa.Engine) -> list[Finding]:
    with checked.connect() as connection:
        return list(run_check(connection, RULES, "bad"))


def test_every_rule_has_a_case() -> None:
    assert [rule.id for rule in RULES if rule.id not in FIRES] == []
    assert len({rule.id for rule in (*OUR_RULES, *RULES)}) == len(OUR_RULES) + len(RULES)


@pytest.mark.parametrize("rule", FIRES)
def test_a_rule_fires_where_it_should(findings: list[Finding], rule: str) -> None:
    assert FIRES[rule] in {one.id for one in findings if one.rule == rule}


def test_sound_pages_are_let_be(findings: list[Finding]) -> None:
    sound = {"doc-sound", "kernel-sound", "pr-kernels-7"}
    about = [(one.rule, one.id) for one in findings if one.id in sound]
    assert about == [("date-not-landing", "pr-kernels-7"), ("title-twice", "kernel-sound")]


def test_a_message_says_where(findings: list[Finding]) -> None:
    (one,) = [one for one in findings if one.rule == "language-default"]
    assert one.message.endswith("(bad:sources/prs/kernels/PR-12.md)")
    assert one.advice


def test_another_corpus_is_not_looked_at(checked: sa.Engine) -> None:
    with checked.connect() as connection:
        assert list(run_check(connection, RULES, "seed")) == []


def test_our_own_rules_bear_with_an_imported_corpus(checked: sa.Engine) -> None:
    """What another schema does not ask for is no error there."""
    with checked.connect() as connection:
        found = {one.rule for one in run_check(connection, OUR_RULES, "bad")}
    assert "page-field-missing" not in found
    assert {"link-dangling", "page-id-prefix"} >= {
        rule for rule in found if rule.startswith("page-id")
    }


def test_a_baseline_lets_only_new_findings_through(findings: list[Finding], tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    written = write_baseline(file, findings)
    counted = [one for one in findings if one.severity != "notice"]
    assert written == len(counted)
    assert beyond(findings, read_baseline(file)) == ([], 0)
    new = Finding("tag-default", "warning", "pr-new-1", "m", "a")
    assert beyond([*findings, new], read_baseline(file)) == ([new], 0)
    assert beyond(counted[1:], read_baseline(file)) == ([], 1)
    first = file.read_bytes()
    write_baseline(file, reversed(findings))
    assert file.read_bytes() == first


@pytest.mark.parametrize("text", ["[]", "{", '{"a": {"b": "c"}}', '{"a": 1}'])
def test_what_is_no_baseline_says_so(text: str, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="is no baseline"):
        read_baseline(file)
    with pytest.raises(ConfigError, match="cannot read"):
        read_baseline(tmp_path / "none.json")


def test_rules_are_found_by_id() -> None:
    every = (*OUR_RULES, *RULES)
    assert [rule.id for rule in find_rules(["tag-default"], every)] == ["tag-default"]
    assert len(find_rules([], every)) == len(every)


@pytest.mark.parametrize(
    ("text", "families"),
    [
        ("## summary", []),
        ("uses umma and tmem", ["Blackwell"]),
        ("on gb200 and h100", ["Blackwell", "Hopper"]),
        ("rtx pro 6000, sm_120", ["Blackwell SM12x"]),
        ("gfx942 / mi300x", ["AMD"]),
        ("a100", ["Ampere or Ada"]),
    ],
)
def test_families_that_a_text_names(text: str, families: list[str]) -> None:
    assert sorted(stated_families(text)) == families


def test_families_of_architectures() -> None:
    assert families_of(["sm100a", "sm90", "cdna3", "odd"]) == {
        "sm100a": "Blackwell",
        "sm90": "Hopper",
        "cdna3": "AMD",
    }


def test_findings_are_json(findings: list[Finding]) -> None:
    assert json.dumps([one.message for one in findings])
