import pytest
import sqlalchemy as sa

from kwdb.db import write_transaction
from kwdb.errors import NotFoundError
from kwdb.queries import (
    explain,
    find_gpu,
    find_repository,
    read_status,
    repository_names,
    resolve_term,
    show,
)

BLACKWELL = "Family name: also covers sm103, sm110, sm120 and sm121 parts."


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        ("Blackwell", [("sm100", "architecture", "family", "Blackwell", BLACKWELL)]),
        ("b200", [("sm100", "architecture", "product", "B200", None)]),
        ("SM100", [("sm100", "architecture", "exact", "sm100", None)]),
        ("tensor_MEMORY", [("tmem", "hardware_feature", "exact", "tensor memory", None)]),
        ("TMEM", [("tmem", "hardware_feature", "exact", "tmem", None)]),
        (
            "sparse MLA",
            [
                ("sparse-attention", "kernel_type", "exact", "sparse MLA", None),
                ("mla", "kernel_type", "exact", "sparse MLA", None),
            ],
        ),
        ("okapi", []),
        ("", []),
        ("::", []),
    ],
    ids=lambda value: value or "empty" if isinstance(value, str) else "",
)
def test_resolve(world: sa.Connection, term: str, matches: list[tuple[str | None, ...]]) -> None:
    assert [tuple(match.values()) for match in resolve_term(world, term)] == matches


def test_a_tags_own_name_comes_first_then_exact_product_family(engine: sa.Engine) -> None:
    with write_transaction(engine) as connection:
        key = {row.name: row.id for row in connection.execute(sa.text("SELECT name, id FROM tags"))}
        rows = [("gemv", "family"), ("moe", "product"), ("mla", "exact"), ("gemm", "family")]
        for number, (name, basis) in enumerate(rows):
            connection.execute(
                sa.text("INSERT INTO aliases (id, alias, display, tag_id, basis, source, note)"
                        " VALUES (:id, 'gemm', 'gemm', :tag, :basis, 'test', :note)"),
                {"id": 90_000 + number, "tag": key[name], "basis": basis, "note": f"n {name}"},
            )  # fmt: skip
        found = resolve_term(connection, "GEMM")
    assert [(row["tag"], row["basis"], row["note"]) for row in found] == [
        ("gemm", "exact", "n gemm"),
        ("mla", "exact", "n mla"),
        ("moe", "product", "n moe"),
        ("gemv", "family", "n gemv"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "pr-cutlass-9472",
        "NVIDIA/cutlass#9472",
        "nvidia/CUTLASS#9472",
        "cutlass#9472",
        "Cutlass#9472",
        "PR-Cutlass-9472",
        "cutlass#09472",
    ],
)
def test_show_by_any_name(world: sa.Connection, name: str) -> None:
    found = show(world, name)
    shown = ("id", "type", "repo", "number", "title", "landed_state", "decision", "decided_by")
    assert {key: found[key] for key in shown} == {
        "id": "pr-cutlass-9472",
        "type": "source-pr",
        "repo": "cutlass",
        "number": 9472,
        "title": "Add tcgen05 GEMM for sm100",
        "landed_state": "landed",
        "decision": "include",
        "decided_by": "device-source",
    }


def test_show_has_tags_commits_and_paths(world: sa.Connection) -> None:
    found = show(world, "cutlass#9472")
    assert found["url"] == "https://github.com/NVIDIA/cutlass/pull/9472"
    assert (found["paths"], found["paths_total"]) == (["csrc/gemm/umma_gemm.cu"], 1)
    assert [(tag["facet"], tag["name"], tag["basis"]) for tag in found["tags"]] == [
        ("architecture", "sm100", "exact"),
        ("hardware_feature", "tcgen05", "exact"),
        ("kernel_type", "gemm", "exact"),
        ("language", "cuda-cpp", "path"),
    ]
    assert [(c["role"], c["subject"], c["is_reachable"]) for c in found["commits"]] == [
        ("landed", "Add tcgen05 GEMM for sm100 (#9472)", True)
    ]
    assert found["body"].splitlines()[0] == "## Layout of zebrawood"


def test_show_a_pull_request_without_a_page(world: sa.Connection) -> None:
    found = show(world, "cutlass#9476")
    assert (found["id"], found["decision"], found["decision_reason"], found["paths"]) == (
        "NVIDIA/cutlass#9476",
        "exclude",
        found["decision_reason"],
        ["docs/okapi.md"],
    )
    assert "type" not in found


def test_show_says_what_was_reverted(world: sa.Connection) -> None:
    found = show(world, "pr-cutlass-9473")
    assert found["landed_state"] == "reverted"
    assert [(c["role"], c["rule"]) for c in found["commits"]] == [
        ("landed", "suffix_unchecked"),
        ("reverts", "reverts_quoted"),
    ]


def test_show_odd_paths(world: sa.Connection) -> None:
    assert show(world, "kernels#2")["paths"] == [
        "csrc/größe.cu",
        'csrc/odd "name"\n.cu',
        "csrc/swizzle.cu",
    ]


def test_show_a_page_by_hand_with_its_claim(world: sa.Connection) -> None:
    found = show(world, "Kernel-Zorse")
    assert (found["id"], found["confidence"]) == ("kernel-zorse", "verified")
    claims = [(c["metric"], c["value"], c["origin"], c["status"]) for c in found["claims"]]
    assert claims == [("latency", 12.5, "reported", "unreviewed")]
    assert [(tag["facet"], tag["name"], tag["origin"]) for tag in found["tags"]] == [
        ("architecture", "sm120", "manual"),
        ("symptom", "memory-bound", "manual"),
    ]


def test_show_follows_sources(world: sa.Connection) -> None:
    found = show(world, "technique-swizzling", follow_sources=True)
    wanted = [link["target"] for link in found["links"] if link["kind"] == "sources"]
    assert {source["id"] for source in found["sources"]} <= set(wanted)
    assert found["sources"]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("kernel-zorze", "kernel-zorse"), ("pr-cutlass-94722", "pr-cutlass-9472")],
)
@pytest.mark.parametrize("ask", [show, explain], ids=["show", "explain"])
def test_an_unknown_id_names_the_nearest(
    world: sa.Connection, ask: object, name: str, nearest: str
) -> None:
    with pytest.raises(NotFoundError, match=f"no page or pull request '{name}'.*{nearest}"):
        ask(world, name)  # type: ignore[operator]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "#",
        "cutlass#",
        "cutlass#99999",
        "nobody/nothing#1",
        "%",
        "_",
        "cutlass#" + "9" * 30,
        "²#²",
    ],
)
def test_names_of_nothing(world: sa.Connection, name: str) -> None:
    with pytest.raises(NotFoundError):
        show(world, name)


def test_explain_says_rule_evidence_and_place(world: sa.Connection) -> None:
    found = explain(world, "cutlass#9475")
    assert found["decision"] | {"ruleset": ""} == {
        "decision": "include",
        "reason": "device code changes",
        "rule": "device-source",
        "evidence": {
            "where": "path",
            "text": "csrc/attention/wide.cu",
            "path": "csrc/attention/wide.cu",
        },
        "ruleset": "",
    }
    assert found["tags"][0] == {
        "facet": "architecture",
        "name": "sm100",
        "basis": "family",
        "rule": "sm100-family",
        "evidence": "Blackwell",
        "locator": "title",
        "implied_by": None,
    }
    assert [(c["role"], c["rule"]) for c in found["commits"]] == [("landed", "suffix_unchecked")]


def test_explain_a_page_without_a_decision(world: sa.Connection) -> None:
    found = explain(world, "kernel-zorse")
    assert "decision" not in found
    assert [claim["value"] for claim in found["claims"]] == [12.5]


def test_status_counts(world: sa.Connection) -> None:
    found = read_status(world)
    rows = {row["repo"]: row for row in found["repositories"]}
    names = ("commits", "pull_requests", "landed", "linked_commits")
    more = ("included", "excluded", "deferred", "claims", "gaps")
    shown = {slug: [row[name] for name in (*names, *more)] for slug, row in rows.items()}
    assert shown["cutlass"] == [7, 6, 6, 6, 5, 1, 0, 0, 0]
    assert shown["kernels"][:7] == [3, 2, 2, 2, 2, 0, 0]
    assert shown["vllm"] == [0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found["gaps"] == []
    assert found["rows"]["pull_requests"] == 8
    assert found["rows"]["commits"] == 10


def test_linked_share_is_a_share(world: sa.Connection) -> None:
    rows = world.execute(
        sa.text("SELECT repo, linked_share FROM repository_coverage ORDER BY repo")
    )
    shares = {repo: share if share is None else float(share) for repo, share in rows}
    assert shares.pop("cutlass") == 0.8571
    assert shares.pop("kernels") == 0.6667
    assert set(shares.values()) == {None}


@pytest.mark.parametrize("name", ["cutlass", "CUTLASS", "NVIDIA/cutlass", "nvidia/CUTLASS"])
def test_repositories_by_any_name(world: sa.Connection, name: str) -> None:
    found = find_repository(world, name)
    assert found
    assert found["full_name"] == "NVIDIA/cutlass"
    assert repository_names(world, found["id"]) == {"nvidia/cutlass"}


@pytest.mark.parametrize(
    ("name", "gpu"),
    [("b200", "B200"), ("H100", "H100"), ("h 100", None), ("okapi", None)],
)
def test_gpus_by_any_spelling(world: sa.Connection, name: str, gpu: str | None) -> None:
    found = find_gpu(world, name)
    assert (found and found["name"]) == gpu
