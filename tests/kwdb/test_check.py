"""Every rule of the check stays silent on the seeds and fires on a row that it forbids."""

import itertools
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from kwdb.check import RULES, count_by_severity, find_rules, run_check
from kwdb.db import open_engine
from kwdb.errors import UnknownValueError
from kwdb.models import performance_claims

_numbers = itertools.count()


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def seeded(
    request: pytest.FixtureRequest,
    template: Callable[[str, bool], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[sa.Engine]:
    source = template(request.param, True)
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("check") / "seeded.sqlite"
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(path)) as new:
            old.backup(new)
        url = f"sqlite:///{path}"
    else:
        url = str(request.getfixturevalue("postgres_server").create("checked", source))
    engine = open_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(seeded: sa.Engine) -> Iterator[sa.Connection]:
    """A connection whose changes are rolled back."""
    with seeded.connect() as connection, connection.begin() as transaction:
        yield connection
        transaction.rollback()


def front_matter(page: str, **fields: object) -> str:
    """Statement that gives a page of the seeds this front matter."""
    text = json.dumps({"type": "wiki-technique", "title": "t"} | fields)
    return f"UPDATE page_versions SET front_matter = '{text}' WHERE page_id = '{page}'"


def link(kind: str, target: str, position: int = 90, page: str = "technique-swizzling") -> str:
    """Statement that adds a link to a page of the seeds."""
    return (
        "INSERT INTO page_links (id, page_id, corpus_id, kind, position, target)"
        f" SELECT MAX(l.id) + 1, '{page}', MAX(c.id), '{kind}', {position}, '{target}'"
        " FROM page_links l, corpora c WHERE c.name = 'seed'"
    )


def body(page: str, text: str) -> str:
    return f"UPDATE page_versions SET body = CAST('{text}' AS {{bytes}}) WHERE page_id = '{page}'"


def claim(**values: object) -> str:
    """Statement that changes the claim YUE; None is NULL."""
    shown = ", ".join(f"{n} = {'NULL' if v is None else repr(v)}" for n, v in values.items())
    return f"UPDATE performance_claims SET {shown} WHERE extractor = '{YUE}'"


def claim_field(verb: str, field: str) -> str:
    return (
        f"{verb} FROM claim_fields WHERE field = '{field}' AND claim_id ="
        f" (SELECT id FROM performance_claims WHERE extractor = '{YUE}')"
    )


def add_relation(relation: str, speaker: str, other: str) -> str:
    return (
        "INSERT INTO claim_relations (id, claim_id, other_claim_id, relation, decided_by)"
        f" SELECT (SELECT MAX(id) + 1 FROM claim_relations), a.id, b.id, '{relation}', 'seed:x'"
        f" FROM performance_claims a, performance_claims b WHERE a.extractor = '{speaker}'"
        f" AND b.extractor = '{other}'"
    )


PAGE = "technique-swizzling"
YUE = "seed:claim-gemv-yue-22392"
STEP = "seed:claim-gemv-yue-step-443"
HACK = "seed:claim-p4-11191"
SUBMISSION = "UPDATE contest_submissions SET {} WHERE key = 'sub-p1-yue'"

# rule -> the statements that break it, and the id that it must name.
BROKEN: dict[str, tuple[Sequence[str], str]] = {
    "fact-without-source": (["UPDATE gpus SET source = ' ' WHERE name = 'B200'"], "gpus:B200"),
    "term-twice": (
        ["UPDATE tags SET name = 'tile_scheduling' WHERE name = 'kernel-fusion'"],
        "technique:tile_scheduling",
    ),
    "term-undescribed": (
        ["UPDATE tags SET description = '' WHERE name = 'kernel-fusion'"],
        "technique:kernel-fusion",
    ),
    "alias-several-terms": (
        [
            "UPDATE aliases SET alias = 'umma' WHERE alias = 'tensor memory accelerator'",
        ],
        "alias:umma",
    ),
    "alias-hides-term": (
        ["UPDATE aliases SET alias = 'tmem' WHERE alias = 'tensor memory accelerator'"],
        "alias:tmem",
    ),
    "gpu-capability": (
        ["UPDATE gpus SET compute_capability = '10.0' WHERE name = 'GB300'"],
        "gpu:GB300",
    ),
    "gpu-peaks-order": (
        ["UPDATE gpus SET peak_fp8_tflops = 2 WHERE name = 'B200'"],
        "gpu:B200",
    ),
    "page-id-prefix": ([front_matter(PAGE, type="wiki-hardware")], PAGE),
    "page-field-missing": ([front_matter(PAGE, confidence="inferred", tags=["a"])], PAGE),
    "page-empty": ([body(PAGE, " ")], PAGE),
    "page-verified": (
        [front_matter(PAGE, confidence="verified", sources=["doc-ptx-isa"])],
        PAGE,
    ),
    "page-reproducibility": ([front_matter(PAGE, reproducibility="concept")], PAGE),
    "page-snippet": ([body(PAGE, "```text\nno code\n```")], PAGE),
    "page-benchmarked": ([front_matter(PAGE, reproducibility="benchmarked")], PAGE),
    "link-dangling": ([link("related", "technique-nothing")], PAGE),
    "link-to-itself": ([link("related", PAGE)], PAGE),
    "link-twice": ([link("related", "hw-tmem"), link("related", "hw-tmem", 91)], PAGE),
    "candidate-kind": (
        [link("candidate_techniques", "kernel-deepgemm", page="pattern-tail-effect")],
        "pattern-tail-effect",
    ),
    "source-kind": ([link("sources", "hw-tmem")], PAGE),
    "prerequisite-circle": ([front_matter(PAGE, prerequisites=[PAGE])], PAGE),
    "body-link-dangling": ([body(PAGE, "see [there](hw-nothing)")], PAGE),
    "claim-without-source": ([claim(source_page_id="blog-nothing")], YUE),
    "claim-without-value": ([claim(value=None)], YUE),
    "claim-without-evidence": ([claim(evidence=None)], YUE),
    "claim-unit": ([claim(unit_as_written="TB/s")], YUE),
    "claim-normalized": ([claim(unit_as_written="ms")], YUE),
    "claim-range": ([claim(value_max=1)], YUE),
    "claim-ratio-of": ([claim(metric="speedup", ratio_of=None, baseline_label=None)], YUE),
    "claim-field-basis": ([claim(statistic="median"), claim_field("DELETE", "statistic")], YUE),
    "claim-field-empty": ([claim(dtype=None)], YUE),
    "claim-dimension-empty": (
        [
            "INSERT INTO claim_dimensions (claim_id, name)"
            f" SELECT id, 'Q' FROM performance_claims WHERE extractor = '{YUE}'"
        ],
        YUE,
    ),
    "claim-shape-dimensions": (
        [
            "DELETE FROM claim_dimensions WHERE claim_id ="
            f" (SELECT id FROM performance_claims WHERE extractor = '{YUE}')"
        ],
        YUE,
    ),
    "claim-status-reason": ([claim(status="disputed", status_reason=None)], YUE),
    "claim-status-relation": (
        [f"UPDATE performance_claims SET status = 'disputed' WHERE extractor = '{STEP}'"],
        STEP,
    ),
    "claim-verified": ([claim(confidence="verified")], YUE),
    "claim-comparable-vague": (
        [
            claim(comparable_key="same", variant=None),
            "UPDATE performance_claims SET comparable_key = 'same', variant = NULL"
            f" WHERE extractor = '{STEP}'",
        ],
        YUE,
    ),
    "relation-both-ways": (
        [add_relation("reproduces", YUE, STEP), add_relation("contradicts", YUE, STEP)],
        YUE,
    ),
    "relation-of-retired": ([claim(retired_at="2026-01-01T00:00:00Z")], YUE),
    "relation-invalidates": ([add_relation("invalidates", HACK, YUE)], YUE),
    "contest-page-dangling": ([SUBMISSION.format("page_id = 'blog-nothing'")], "sub-p1-yue"),
    "contest-dates": (
        ["UPDATE contests SET ends_on = '2020-01-01' WHERE key = 'gpu-mode-nvfp4'"],
        "gpu-mode-nvfp4",
    ),
    "problem-shapes": (
        ["UPDATE contest_problems SET shapes = '[]' WHERE key = 'gpu-mode-nvfp4-problem-1-gemv'"],
        "gpu-mode-nvfp4-problem-1-gemv",
    ),
    "submission-reason": ([SUBMISSION.format("reason = NULL")], "sub-p1-yue"),
    "submission-score": ([SUBMISSION.format("unit = NULL")], "sub-p1-yue"),
    "struck-entry-trusted": (
        [f"UPDATE performance_claims SET status = 'supported' WHERE extractor = '{HACK}'"],
        HACK,
    ),
    "version-claim-page": (
        ["UPDATE version_claims SET applies_to = '[\"hw-nothing\"]'"],
        "vs-triton-3.6-blackwell-tcgen05",
    ),
    "release-of-dev": (
        ["UPDATE tool_releases SET channel = 'dev' WHERE tool = 'CUTLASS' AND version = '4.4.0'"],
        "CUTLASS 4.4.0",
    ),
}


def test_every_rule_has_a_row_that_breaks_it() -> None:
    assert {rule.id for rule in RULES} == BROKEN.keys()


def test_rules_are_named_once_and_say_what_to_do() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert [rule.id for rule in RULES if not (rule.says and rule.advice)] == []


def test_the_seeds_are_clean(connection: sa.Connection) -> None:
    found = [one for one in run_check(connection) if one.severity != "notice"]
    assert found == []


def claim_id(connection: sa.Connection, name: str) -> str:
    """Return claim:N of a claim that is named by its seed row; other names as they are."""
    if not name.startswith("seed:"):
        return name
    query = sa.select(performance_claims.c.id).where(performance_claims.c.extractor == name)
    return f"claim:{connection.execute(query).scalar_one()}"


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_fires(connection: sa.Connection, rule: str) -> None:
    statements, wanted = BROKEN[rule]
    rules = find_rules([rule])
    before = {one.id for one in run_check(connection, rules)}
    for statement in statements:
        kind = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
        changed = connection.exec_driver_sql(statement.replace("{bytes}", kind)).rowcount
        assert changed == 1
    wanted = claim_id(connection, wanted)
    found = list(run_check(connection, rules, corpus="seed"))
    assert wanted in {one.id for one in found} - before
    assert {(one.rule, one.severity) for one in found} == {(rule, rules[0].severity)}


def test_another_corpus_is_left_out(connection: sa.Connection) -> None:
    connection.exec_driver_sql(link("related", "technique-nothing"))
    rules = find_rules(["link-dangling"])
    assert list(run_check(connection, rules, corpus="harvest")) == []
    assert count_by_severity(run_check(connection, rules)) == {
        "error": 1,
        "warning": 0,
        "notice": 0,
    }


def test_unknown_names_are_refused(connection: sa.Connection) -> None:
    with pytest.raises(UnknownValueError, match="nearest known: link-dangling"):
        find_rules(["link-danglin"])
    with pytest.raises(UnknownValueError, match="known: harvest, seed"):
        list(run_check(connection, corpus="seeds"))


@pytest.fixture
def run_kwdb(
    template: Callable[[str, bool], str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the command on a seeded file with one broken link."""
    path = tmp_path / "broken.sqlite"
    with (
        closing(sqlite3.connect(template("sqlite", True))) as old,
        closing(sqlite3.connect(path)) as new,
    ):
        old.backup(new)
        new.execute(link("related", "technique-nothing"))
        new.commit()
    environment = os.environ | {"KWDB_DATABASE_URL": f"sqlite:///{path}"}
    program = str(Path(sys.executable).with_name("kwdb"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [program, "check", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_command_exits_1_on_errors_and_prints_json(
    run_kwdb: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    found = run_kwdb("--json")
    answer = json.loads(found.stdout)
    errors = [one for one in answer["findings"] if one["severity"] == "error"]
    assert (found.returncode, answer["counts"]["error"]) == (1, 1)
    assert {errors[0]["rule"], errors[0]["id"]} == {"link-dangling", PAGE}
    assert f"error: {PAGE}: a page names an id that is no page" in run_kwdb().stdout
    clean = run_kwdb("--rule", "page-empty", "--rule", "link-twice")
    assert (clean.returncode, clean.stdout, clean.stderr[:7]) == (0, "", "2 rules")


def test_the_command_refuses_an_unknown_rule(
    run_kwdb: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    found = run_kwdb("--rule", "link-danglin")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("kwdb: unknown rule 'link-danglin'; nearest known:")
