"""A tree becomes a corpus: byte for byte, beside the seeds, and twice equals once."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from kernelwiki_tree import KERNEL, make_tree, page, write

from ingest.kernelwiki.importing import Summary, import_tree
from kwdb.cli.harvest import _choose as choose
from kwdb.db import read_transaction
from kwdb.dump import canonical_dump
from kwdb.errors import NotFoundError, UserError
from kwdb.models import corpora
from kwdb.queries import show
from kwdb.search import Filters, search_pages
from kwdb.seed import load_seeds

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "zoo")


def run(engine: sa.Engine, tree: Path, name: str | None = None) -> Summary:
    return import_tree(engine, tree, name, lambda *_: None)


def rows(engine: sa.Engine, query: str, **given: Any) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(query), given)]


def test_every_file_is_accounted_for(engine: sa.Engine, tree: Path) -> None:
    summary = run(engine, tree)
    files = [path for path in tree.rglob("*") if path.is_file()]
    assert (summary.files, sum(summary.kinds.values())) == (len(files), len(files))
    assert summary.kinds == {
        "bundle file": 2,
        "file": 1,
        "ledger": 1,
        "page": 8,
        "skip audit": 1,
        "tool versions": 1,
        "version claims": 1,
        "vocabulary": 2,
    }
    assert summary.is_complete
    assert [(one.path, one.kind) for one in summary.remarks] == [
        ("artifacts/kernels/okapi/full/../../../../etc/passwd", "missing file"),
        ("data/aliases.yaml", "alias"),
        ("wiki/ks/deep/SKILL.md", "page"),
        ("wiki/zeta/hardware/stripes.md", "page"),
    ]


def test_a_second_import_writes_nothing(engine: sa.Engine, tree: Path) -> None:
    assert run(engine, tree).rows_written > 0
    with read_transaction(engine) as connection:
        before = list(canonical_dump(connection))
    again = run(engine, tree)
    assert (again.rows_written, again.rows) == (0, {})
    with read_transaction(engine) as connection:
        assert list(canonical_dump(connection)) == before


def test_types_come_from_directories_and_fields(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    query = "SELECT p.id, p.type, p.vendor FROM pages p JOIN corpora c ON c.id = p.served_from"
    assert set(rows(engine, f"{query} WHERE c.name = 'zoo'")) == {
        ("kernel-okapi", "wiki-kernel", None),
        ("ks-ks-deep-skill", "wiki-ks", None),
        ("hw-zeta-stripes", "wiki-hardware", "zeta"),
        ("doc-zeta", "source-doc", None),
        ("pr-kernels-7", "source-pr", None),
        ("contest-stripes", "source-contest", None),
        ("lecture-one", "source-lecture", None),
    }


def test_unknown_fields_bytes_and_text_numbers_are_kept(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    query = (
        "SELECT v.page_id, v.front_matter, v.body FROM page_versions v"
        " JOIN corpora c ON c.id = v.corpus_id WHERE c.name = 'zoo'"
    )
    found = {id_: (head, bytes(body)) for id_, head, body in rows(engine, query)}
    head = found["kernel-okapi"][0]
    head = json.loads(head) if isinstance(head, str) else head
    assert head == json.loads(json.dumps(KERNEL))
    assert found["pr-kernels-7"][1] == b"\n## Summary\r\n\r\nfast\r\n"
    lecture = found["lecture-one"][0]
    lecture = json.loads(lecture) if isinstance(lecture, str) else lecture
    assert lecture["author"] == "1"
    assert found["hw-zeta-stripes"][0] is None


def test_the_seeds_win_and_both_versions_are_shown(engine: sa.Engine, tree: Path) -> None:
    with read_transaction(engine) as connection:
        before = show(connection, "hw-tma")
    run(engine, tree)
    with read_transaction(engine) as connection:
        after, theirs = show(connection, "hw-tma"), show(connection, "hw-tma", corpus="zoo")
        with pytest.raises(NotFoundError, match="seed, zoo"):
            show(connection, "hw-tma", corpus="harvest")
    assert [one["corpus"] for one in after["versions"]] == ["seed", "zoo"]
    assert {**after, "versions": before["versions"]} == before
    assert (theirs["title"], theirs["body"]) == ("Theirs", "\n# Text\n")
    assert sum(load_seeds(engine).values()) == 0


def test_ledgers_are_history(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    query = (
        "SELECT number, decision, reason, details FROM ledger_entries"
        " WHERE corpus_id IS NOT NULL ORDER BY id"
    )
    found = [
        (n, d, r, json.loads(x) if isinstance(x, str) else x) for n, d, r, x in rows(engine, query)
    ]
    assert [row[:3] for row in found] == [
        (7, "include", "kernel"),
        (8, "include", "seed"),
        (9, "exclude", "docs only"),
    ]
    assert found[1][3] == {"title": "Long row", "score": 4.5, "categories": ["gemm"]}
    assert rows(engine, "SELECT number, stage, reason FROM ledger_skips") == [
        (8, "pre-fetch", "no data")
    ]
    ledger = tree / "candidates" / "kernels.yaml"
    ledger.write_text(
        ledger.read_text().replace("exclude, reason: docs only", "defer, reason: later")
    )
    assert run(engine, tree).rows["ledger_entries"] == 1
    assert [row[1] for row in rows(engine, query)][2:] == ["exclude", "defer"]


def test_repositories_that_only_a_ledger_names_are_not_followed(
    engine: sa.Engine, tree: Path
) -> None:
    run(engine, tree)
    assert "kernels" not in {row["slug"] for row in choose(engine, ["all"])}
    assert [row["slug"] for row in choose(engine, ["kernels"])] == ["kernels"]
    assert "kernels" in {row["slug"] for row in choose(engine, ["all"])}
    assert run(engine, tree).rows_written == 0


def test_vocabulary_in_all_its_forms(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    found = rows(
        engine,
        "SELECT t.facet, t.name, a.display, a.basis FROM aliases a JOIN tags t ON t.id = a.tag_id"
        " WHERE a.source = 'corpus zoo' ORDER BY a.display",
    )
    assert found == [
        ("architecture", "zeta3", "Zeta X", "product"),
        ("technique", "okapi-tiling", "okapi tiles", "exact"),
        ("technique", "okapi-tiling", "okapi::2", "exact"),
        ("hardware_feature", "quagga-unit", "stripe engine", "exact"),
        ("architecture", "zeta3", "zx942", "exact"),
    ]
    tagged = rows(
        engine,
        "SELECT t.facet, t.name, p.origin FROM page_tags p JOIN tags t ON t.id = p.tag_id"
        " WHERE p.page_id = 'kernel-okapi' ORDER BY t.facet, t.name",
    )
    assert tagged == [
        ("architecture", "zeta3", "front_matter"),
        ("kernel_type", "gemm", "front_matter"),
        ("technique", "okapi-tiling", "front_matter"),
        ("topic", "never-listed", "front_matter"),
    ]


def test_claims_start_unreviewed_and_meet_the_rules(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    found = rows(
        engine,
        "SELECT metric, value, value_normalized, status, status_by FROM performance_claims"
        " WHERE page_id = 'kernel-okapi' ORDER BY id",
    )
    assert found == [
        ("latency", 18.5, 18.5, "disputed", "plausible:citation"),
        ("latency", 0.25, 250.0, "unreviewed", None),
        ("throughput_tflops", 90000.0, 90000.0, "disputed", "plausible:peak"),
    ]


def test_a_person_s_word_on_a_claim_stays_and_what_goes_is_retired(
    engine: sa.Engine, tree: Path
) -> None:
    run(engine, tree)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "UPDATE performance_claims SET status = 'supported', status_by = 'person:ann'"
                " WHERE page_id = 'kernel-okapi' AND value = 18.5"
            )
        )
    assert run(engine, tree).rows_written == 0
    claims = KERNEL["performance_claims"][:1]
    write(tree, {"wiki/kernels/okapi.md": page(KERNEL | {"performance_claims": claims})})
    run(engine, tree)
    query = (
        "SELECT value, status, retired_at IS NULL FROM performance_claims"
        " WHERE page_id = 'kernel-okapi' ORDER BY id"
    )
    assert [(v, s, bool(live)) for v, s, live in rows(engine, query)] == [
        (18.5, "supported", True),
        (0.25, "unreviewed", False),
        (90000.0, "disputed", False),
    ]


def test_submissions_registries_and_bundles(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    query = (
        "SELECT rank, participant, value, unit, truth, is_invalidated FROM contest_submissions"
        " WHERE corpus = 'zoo' ORDER BY key"
    )
    assert [(*row[:5], bool(row[5])) for row in rows(engine, query)] == [
        ("1", "A. Zorse", 22.4, "us", "unavailable", False),
        ("notable", "cheat", 1.5, "us", None, True),
    ]
    assert rows(
        engine, "SELECT version, statement FROM version_claims WHERE key = 'vs-zeta-2'"
    ) == [(">=2.0", "Zeta 2 has stripes.")]
    assert rows(engine, "SELECT version, channel FROM tool_releases WHERE tool = 'zeta'") == [
        ("2.0", "stable")
    ]
    assert rows(engine, "SELECT path, page_id, upstream FROM bundles") == [
        ("artifacts/kernels/okapi/full", "kernel-okapi", f"acme/kernels@{'ab' * 20}")
    ]
    with read_transaction(engine) as connection:
        code = show(connection, "kernel-okapi", include_code=True, follow_sources=True)
    assert [(one["path"], one["text"]) for one in code["code"]] == [
        ("../../../../etc/passwd", None),
        ("PROVENANCE.yaml", (tree / "artifacts/kernels/okapi/full/PROVENANCE.yaml").read_text()),
        ("okapi.cu", "__global__ void okapi() {}\n"),
    ]
    assert [(one["id"], one["excerpt"][:10]) for one in code["sources"]] == [
        ("doc-zeta", "Takes 0.25")
    ]
    assert code["aliases"] == ["Quokka MM", "quokka mm"]


def test_pages_are_found_by_text_alias_and_repository(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    with read_transaction(engine) as connection:
        by_alias = search_pages(connection, "quokka mm")
        by_repo = search_pages(connection, "", Filters(repo="kernels"))
        stripes = search_pages(connection, "stripes", Filters(type="hardware"))
    assert by_alias.results[0].id == "kernel-okapi"
    assert [hit.id for hit in by_repo.results] == ["pr-kernels-7"]
    assert [hit.id for hit in stripes.results] == ["hw-zeta-stripes"]
    assert "jane" not in stripes.results[0].snippet


def test_a_home_directory_is_stored_but_not_shown(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    with read_transaction(engine) as connection:
        found = show(connection, "hw-zeta-stripes")
    assert "~/x" in found["body"]
    assert "jane" not in json.dumps(found, default=str)
    (raw,) = rows(engine, "SELECT body FROM page_versions WHERE page_id = 'hw-zeta-stripes'")
    assert b"/home/jane/x" in bytes(raw[0])


def test_changed_pages_change_and_vanished_ones_retire(engine: sa.Engine, tree: Path) -> None:
    run(engine, tree)
    write(tree, {"wiki/kernels/okapi.md": page(KERNEL | {"title": "Renamed"}, "\nnew okapi\n")})
    (tree / "sources/docs/zeta.md").unlink()
    summary = run(engine, tree)
    assert summary.pages == {"added": 0, "changed": 1, "retired": 1, "unchanged": 6, "in_all": 7}
    with read_transaction(engine) as connection:
        assert show(connection, "kernel-okapi")["title"] == "Renamed"
        assert search_pages(connection, "numbats").total == 0
    query = "SELECT is_retired FROM pages WHERE id = 'doc-zeta'"
    assert [bool(row[0]) for row in rows(engine, query)] == [True]
    make_tree(tree)
    run(engine, tree)
    assert [bool(row[0]) for row in rows(engine, query)] == [False]


def test_two_pages_may_swap_their_files(engine: sa.Engine, tree: Path) -> None:
    one, two = tree / "sources/docs/zeta.md", tree / "sources/lectures/one.md"
    run(engine, tree)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert run(engine, tree).pages["changed"] == 2
    assert run(engine, tree).rows_written == 0
    query = "SELECT path FROM page_versions WHERE page_id = 'doc-zeta'"
    assert rows(engine, query) == [("sources/lectures/one.md",)]


def test_corpora_live_beside_each_other_and_the_newest_serves(
    engine: sa.Engine, tree: Path, tmp_path: Path
) -> None:
    run(engine, tree)
    with engine.begin() as connection:
        connection.execute(
            sa.update(corpora).where(corpora.c.name == "zoo").values(imported_at=LONG_AGO)
        )
    fork = make_tree(tmp_path / "fork" / "zoo")
    write(fork, {"wiki/kernels/okapi.md": page(KERNEL | {"title": "Forked"})})
    with pytest.raises(UserError, match="give --name"):
        run(engine, fork)
    summary = run(engine, fork, "fork")
    assert summary.pages["added"] == 8
    with read_transaction(engine) as connection:
        served = show(connection, "kernel-okapi")
        other = show(connection, "kernel-okapi", corpus="zoo")
    assert (served["title"], other["title"]) == ("Forked", "Okapi kernel")
    assert len(served["claims"]) == 3
    for path in fork.rglob("*.md"):
        path.unlink()
    write(fork, {"wiki/kernels/last.md": page({"id": "kernel-last", "title": "Last"})})
    run(engine, fork, "fork")
    with read_transaction(engine) as connection:
        assert show(connection, "kernel-okapi")["title"] == "Okapi kernel"
    assert run(engine, tree).rows == {}


def test_both_engines_hold_the_same(
    tree: Path, new_engine: Callable[[], sa.Engine], tmp_path: Path
) -> None:
    """The same tree from another directory gives the same dump."""
    one, two = new_engine(), new_engine()
    other = make_tree(tmp_path / "elsewhere" / "zoo")
    dumps = []
    for engine, place in ((one, tree), (two, other)):
        run(engine, place)
        with read_transaction(engine) as connection:
            dumps.append(list(canonical_dump(connection)))
    assert dumps[0] == dumps[1]


def test_what_is_no_kernelwiki_is_refused(engine: sa.Engine, tree: Path, tmp_path: Path) -> None:
    for place, message in (
        (tree.parent, "zoo/ has them: import that"),
        (tmp_path / "none", "is no directory"),
        (tree / "data", "neither wiki/ nor sources/"),
    ):
        with pytest.raises(UserError, match=message):
            run(engine, place)
    with pytest.raises(UserError, match="kwdb's own"):
        run(engine, tree, "seed")


def test_the_summary_is_json(engine: sa.Engine, tree: Path) -> None:
    assert json.loads(json.dumps(asdict(run(engine, tree))))["corpus"] == "zoo"
