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

from kwdb.db import open_reader, read_transaction
from kwdb.diagnosis import diagnose

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
        url = server.create("diagnosed", source)
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
    for wanted in ("[pattern-memory-bound]", "technique-cache-policy", "22.392us", "(supported"):
        assert wanted in shown
