"""Symptoms in people's words lead to the pattern meant, its techniques, kernels and claims."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwdb.db import open_reader, read_transaction, write_transaction
from kwdb.diagnosis import diagnose
from kwdb.models import corpora, page_links, page_versions, pages
from kwdb.store.harvest import now

# The lines of KernelWiki's diagnosis table, and other ways to say them.
MEANT = {
    "Low SM utilization": "pattern-low-sm-utilization",
    "Memory bandwidth bound": "pattern-memory-bound",
    "Register pressure / low occupancy": "pattern-register-pressure",
    "Not reaching peak FLOPS": "pattern-compute-bound",
    "Last wave underutilizes GPU": "pattern-tail-effect",
    "Pipeline stalls": "pattern-pipeline-stalls",
    "MoE expert load imbalance": "pattern-moe-load-imbalance",
    "the last wave leaves most SMs idle": "pattern-tail-effect",
    "ptxas says 120 bytes spill stores": "pattern-register-pressure",
    "warps are waiting at the mbarrier": "pattern-pipeline-stalls",
    "saturating HBM bandwith": "pattern-memory-bound",
    "my GEMM is slower than cuBLAS": "pattern-compute-bound",
    "a few experts get nearly all the tokens": "pattern-moe-load-imbalance",
    "there are gaps between kernel launches": "pattern-low-sm-utilization",
    "shared memory bank conflicts": "technique-swizzling",
}


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def connection(
    request: pytest.FixtureRequest, template: Callable[[str, bool], str]
) -> Iterator[sa.Connection]:
    source = template(request.param, True)
    if request.param == "sqlite":
        url = f"sqlite:///{source}"
    else:
        server = request.getfixturevalue("postgres_server")
        url = server.create(f"diagnosed_{os.urandom(4).hex()}", source)
    engine = open_reader(url)
    with read_transaction(engine) as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize("text", MEANT)
def test_the_pattern_meant_comes_first(connection: sa.Connection, text: str) -> None:
    found = diagnose(connection, text)
    assert found["patterns"][0]["id"] == MEANT[text]
    assert found["total"] == len(found["patterns"]) <= 3


def test_a_pattern_comes_with_techniques_kernels_and_claims(connection: sa.Connection) -> None:
    pattern = diagnose(connection, "memory bandwidth bound")["patterns"][0]
    assert pattern["techniques"][0]["id"] == "technique-vectorized-loads"
    kernel = pattern["kernels"][0]
    assert kernel["id"] == "kernel-nvfp4-gemv"
    assert (kernel["claims"][0]["value"], kernel["claims"][0]["status"]) == (22.392, "supported")
    assert all(claim["metric"] != "count" for claim in kernel["claims"])


@pytest.mark.parametrize("text", ["zzz", "my kernel is slow", "", "   ", "::"])
def test_an_unknown_symptom_names_known_ones(connection: sa.Connection, text: str) -> None:
    found = diagnose(connection, text)
    assert (found["total"], found["patterns"]) == (0, [])
    assert len(found["nearest_symptoms"]) == 6


def test_the_nearest_symptom_is_spelt_alike(connection: sa.Connection) -> None:
    assert "occupancy is low" in diagnose(connection, "ocpncy iz lo")["nearest_symptoms"]


def test_the_nearest_symptoms_share_words_before_they_look_alike(
    connection: sa.Connection,
) -> None:
    found = diagnose(connection, "the token of a friend")
    assert found["total"] == 0
    assert "experts get uneven token counts" in found["nearest_symptoms"]
    assert found["nearest_symptoms"][0].count("token") == 1
    assert "pattern-tail-effect" in {one["id"] for one in found["known_patterns"]}


def test_a_pattern_says_how_to_confirm_it_and_who_has_shown_each_technique(
    connection: sa.Connection,
) -> None:
    pattern = diagnose(connection, "memory bandwidth bound")["patterns"][0]
    assert pattern["confirm"].startswith("## Confirm it\n")
    shown = {one["id"]: one["pull_requests"] for one in pattern["techniques"]}
    cited = shown["technique-vectorized-loads"][1]
    assert (cited["id"], cited["basis"]) == ("pr-vllm-5396", "cited")
    assert all(len(one) <= 3 for one in shown.values())


def test_no_computed_roof_counts_as_a_figure(connection: sa.Connection) -> None:
    for text in ("register spills", "memory bandwidth bound"):
        for kernel in diagnose(connection, text)["patterns"][0]["kernels"]:
            assert not any("speed" in claim.get("op", "") for claim in kernel["claims"])


def test_landed_pull_requests_of_the_tag_follow_those_cited(world: sa.Connection) -> None:
    pattern = diagnose(world, "shared memory bank conflicts")["patterns"][0]
    showing = pattern["techniques"][0]["pull_requests"]
    assert showing[0]["basis"] == "cited"
    tagged = [one for one in showing if one["basis"] == "exact"]
    assert [(one["id"], one["landed_state"]) for one in tagged] == [("pr-kernels-2", "landed")]
    assert "swizzle" in tagged[0]["evidence"].casefold()
    claim = tagged[0]["claims"][0]
    assert (claim["value"], claim["status"]) == (1.4, "unreviewed")
    assert claim["source_url"] == "https://github.com/acme/kernels/pull/2"


def test_patterns_of_an_imported_corpus_count_too(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        corpus = {"id": 77, "name": "fork", "kind": "import", "imported_at": now()}
        connection.execute(sa.insert(corpora), corpus)
        _import_pattern(connection, "pattern-quokka", 9_001, ["quokka-storm"], 77)
        _import_pattern(connection, "pattern-tail-effect", None, ["marsupial drift"], 77)
        link = {"id": 99_001, "page_id": "pattern-quokka", "corpus_id": 77, "position": 0}
        link |= {"kind": "candidate_techniques", "target": "technique-swizzling"}
        connection.execute(sa.insert(page_links), link)
    with read_transaction(engine) as connection:
        pattern = diagnose(connection, "a quokka storm at night")["patterns"][0]
        assert pattern["id"] == "pattern-quokka"
        assert [one["id"] for one in pattern["techniques"]] == ["technique-swizzling"]
        drift = diagnose(connection, "marsupial drift")["patterns"][0]
        assert (drift["id"], len(drift["techniques"]) > 2) == ("pattern-tail-effect", True)


def _import_pattern(
    connection: sa.Connection, id_: str, pk: int | None, symptoms: list[str], corpus: int
) -> None:
    if pk:
        page = {"pk": pk, "id": id_, "type": "wiki-pattern", "title": id_, "is_retired": False}
        connection.execute(sa.insert(pages), page | {"served_from": corpus})
    version = {"id": 9_000 + len(id_), "page_id": id_, "corpus_id": corpus, "path": f"{id_}.md"}
    version |= {"front_matter": {"symptoms": symptoms}, "body": b"## Symptom", "body_sha256": ""}
    connection.execute(sa.insert(page_versions), version | {"captured_at": now()})


@given(st.text(max_size=300))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_is_answered(connection: sa.Connection, text: str) -> None:
    found = diagnose(connection, text)
    assert bool(found["patterns"]) != bool(found["nearest_symptoms"])


def test_the_command_answers_people_and_programs(
    tmp_path: Path, template: Callable[[str, bool], str]
) -> None:
    environment = os.environ | {"KWDB_DATABASE_URL": f"sqlite:///{template('sqlite', True)}"}
    program = str(Path(sys.executable).with_name("kwdb"))

    def run(*arguments: str) -> str:
        command = [program, "diagnose", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    assert json.loads(run("last", "wave", "--json"))["patterns"][0]["id"] == "pattern-tail-effect"
    shown = run("memory bandwidth bound")
    for wanted in (
        "[pattern-memory-bound]",
        "technique-cache-policy",
        "22.392us",
        "supported",
        "First, confirm it",
    ):
        assert wanted in shown
