"""What people type, and the term that must come first: KernelWiki's sheet of aliases, line by line."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from kwdb.db import open_reader, read_transaction
from kwdb.queries import resolve_term

SHEET = {
    "tcgen05": ["UMMA", "tensor_core_gen05", "tcgen05.mma"],
    "tmem": ["tensor memory", "TMEM"],
    "clc": ["Cluster Launch Control", "CLC"],
    "tma": ["Tensor Memory Accelerator", "TMA", "cp.async.bulk"],
    "2sm-cooperative": ["2-SM cooperative", "two-SM cooperative", "2CTA", "cta_group::2"],
    "nvfp4": ["NVFP4", "nv_float4", "E2M1", "FP4 E2M1"],
    "block-scale": ["block scaling", "UE8M0", "microscaling", "MX"],
    "sm100": ["Blackwell", "B200", "B100", "GB200", "SM100"],
    "sm90": ["Hopper", "H100", "H200", "H800", "SM90"],
    "moe": ["MoE", "mixture of experts", "expert parallelism"],
    "mla": ["MLA", "multi-head latent attention"],
    "gated-delta-net": ["GDN", "GatedDeltaNet", "gated delta rule"],
    "sparse-attention": ["NSA", "native sparse attention"],
    "wgmma": ["WGMMA", "wgmma.mma_async"],
}
# The sheet files GB300 under sm100; its compute capability is 10.3.
CORRECTED = {"sm103": ["GB300"]}
PAIRS = [(typed, term) for term, words in (SHEET | CORRECTED).items() for typed in words]


@pytest.fixture(scope="module")
def connection(template: Callable[[str, bool], str]) -> Iterator[sa.Connection]:
    engine = open_reader(f"sqlite:///{template('sqlite', True)}")
    with read_transaction(engine) as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize(("typed", "term"), PAIRS)
def test_the_term_of_the_sheet_comes_first(
    connection: sa.Connection, typed: str, term: str
) -> None:
    for spelling in (typed, typed.lower(), typed.upper()):
        assert resolve_term(connection, spelling)[0]["tag"] == term


def test_the_sheets_word_for_gb300_is_named_and_not_followed(connection: sa.Connection) -> None:
    (found,) = resolve_term(connection, "GB300")
    assert (found["tag"], found["basis"]) == ("sm103", "product")
    assert "sm100" in found["note"]


@pytest.mark.parametrize("family", ["Blackwell", "Hopper"])
def test_a_family_says_that_it_is_one(connection: sa.Connection, family: str) -> None:
    assert resolve_term(connection, family)[0]["basis"] == "family"


@pytest.mark.parametrize("word", ["zzz", "softmax", "summary", "umm", "", "::"])
def test_other_words_stand_for_nothing(connection: sa.Connection, word: str) -> None:
    assert resolve_term(connection, word) == []
