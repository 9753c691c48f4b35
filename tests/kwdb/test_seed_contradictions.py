"""Where sources contradict each other, both rows are kept, with a reason and a relation."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from kwdb.db import open_reader, read_transaction
from kwdb.models import claim_relations, pages, performance_claims

# What the sources of this field contradict each other about: claim doubted -> claim against it.
CONTRADICTIONS = {
    "fa4-together-1605": "fa4-paper-1613",
    "fa4-kernelwiki-1605-8192": "fa4-paper-1613",
    "b200-sms-142": "b200-sms-148",
    "nvfp4-ue8m0-primer": "nvfp4-e4m3-cutlass",
    "gemv-kernelwiki-224-one-shape": "gemv-yue-22392",
    "gemv-simon-224": "gemv-yue-22392",
    "gemv-amandeep-240": "gemv-amandeep-267",
    "p4-kernelwiki-112": "statement-hack",
    "p4-11191": "statement-hack",
    "p3-kernelwiki-185": "statement-p3-shapes",
    "gb300-sm100": "gb300-sm103",
    "statement-compute-bound-2-4": "statement-memory-bound-2-4",
    "b200-bw-8": "b200-bw-767",
    "sol-largest-86": "sol-gemv-4096-7168-8",
    "mxfp4-overhead-3125": "mxfp4-overhead-625",
    "hopper-fp8-3958": "hopper-fp8-2x",
    "statement-all-sm100": "statement-audit-sm100",
    "pdl-roles-kernelwiki": "pdl-roles-guide",
}


@pytest.fixture(scope="module")
def seeded(template: Callable[[str, bool], str]) -> Iterator[sa.Connection]:
    reader = open_reader(f"sqlite:///{template('sqlite', True)}")
    with read_transaction(reader) as connection:
        yield connection
    reader.dispose()


@pytest.mark.parametrize("doubted", CONTRADICTIONS)
def test_both_sides_of_a_contradiction_are_kept(seeded: sa.Connection, doubted: str) -> None:
    c, r = performance_claims.c, claim_relations.c
    speaker = performance_claims.alias("speaker")
    query = (
        sa.select(c.status, c.status_reason, speaker.c.status.label("other"))
        .join(claim_relations, r.other_claim_id == c.id)
        .join(speaker, speaker.c.id == r.claim_id)
        .where(
            c.extractor == f"seed:claim-{doubted}", r.relation.in_(("contradicts", "invalidates"))
        )
        .where(speaker.c.extractor == f"seed:claim-{CONTRADICTIONS[doubted]}")
    )
    (row,) = seeded.execute(query).all()
    assert row.status in {"disputed", "invalidated"}
    assert row.other == "supported"
    assert len(row.status_reason) > 20


def test_there_are_enough_claims_and_each_names_a_source(seeded: sa.Connection) -> None:
    c = performance_claims.c
    query = sa.select(c.status, sa.func.count().label("n")).group_by(c.status)
    counts = {row.status: row.n for row in seeded.execute(query)}
    assert sum(counts.values()) >= 400
    assert counts["disputed"] + counts["invalidated"] >= 40
    sourced = sa.select(sa.func.count()).join_from(
        performance_claims, pages, pages.c.id == c.source_page_id
    )
    assert seeded.execute(sourced).scalar_one() == sum(counts.values())
