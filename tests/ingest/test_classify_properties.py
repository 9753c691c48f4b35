"""What holds for every change: shown evidence, closed names, no crash, no dependence on order."""

import time
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.classify import classify
from ingest.classify.rules import tag_tables
from kwdb.records import Change, Evidence, Verdict

TERMS = [
    "sm100", "sm_90a", "Hopper", "B200", "fp8", "TMA", "kIsTMAMulticast", "tcgen05", "moe",
    "grouped gemm", "mla", "attention", "fuse rope with quant", "swizzle", "pdl", "triton", "GDN",
    "İ", "\r", "<!--", "-->", "```", "# Test", "tested on H100", "nvfp4", "warp specialized", "\n",
]  # fmt: skip
PATHS = [
    "csrc/a/sm90_gemm_tma.cu", "flashinfer/mla/core.py", "tests/test_sm100.py", "README.md",
    "vllm/layers/fused_moe/layer.py", "python/sglang/srt/layers/attention/nsa_backend.py",
    "include/cutlass/gemm/kernel/sm100_gemm_warpspecialized.hpp", "x",
    "a/b/configs/device_name=H20.json",
]  # fmt: skip
prose = st.lists(st.sampled_from(TERMS) | st.text(max_size=12), max_size=12).map(" ".join)
some_paths = st.lists(st.sampled_from(PATHS) | st.text(max_size=20), max_size=8)
diff_lines = st.lists(st.tuples(st.sampled_from(["+", "-", " ", "@@", ""]), prose), max_size=12)


@st.composite
def diffs(draw: st.DrawFn) -> str:
    files = draw(st.lists(st.tuples(st.sampled_from(PATHS), diff_lines), max_size=3))
    parts = []
    for path, lines in files:
        parts.append(f"diff --git a/{path} b/{path}\n@@ -1 +1 @@\n")
        parts += [sign + text + "\n" for sign, text in lines]
    return "".join(parts)


changes = st.builds(
    Change,
    repo=st.just("o/r"),
    number=st.none() | st.integers(1, 9),
    title=prose,
    body=prose,
    paths=some_paths.map(tuple),
    labels=st.lists(prose, max_size=2).map(tuple),
    diff=st.none() | diffs() | st.text(max_size=60),
)


def stands(change: Change, evidence: Evidence) -> bool:
    """Whether the text is where the evidence says, character by character."""
    text, line = evidence.text, evidence.line or 0
    lines = {"body": change.body, "diff": change.diff or ""}
    if evidence.where in lines:
        return text in lines[evidence.where].split("\n")[line - 1] and line > 0
    if evidence.where == "path":
        return evidence.path in change.paths and text in str(evidence.path)
    return text in change.title if evidence.where == "title" else text in "\n".join(change.labels)


def architectures(verdict: Verdict) -> set[str]:
    return {tag.name for tag in verdict.tags if tag.facet == "architecture"}


@given(changes)
@settings(max_examples=300, deadline=None)
def test_every_tag_shows_where_it_comes_from(change: Change) -> None:
    verdict = classify(change)
    names = {tag.name for tag in verdict.tags}
    for tag in verdict.tags:
        if tag.basis == "implied":
            assert tag.evidence is None
            assert tag.implied_by in names - {tag.name}
        else:
            assert tag.evidence is not None
            assert tag.evidence.text
            assert stands(change, tag.evidence)
    assert verdict.evidence is None or stands(change, verdict.evidence)


@given(changes)
@settings(max_examples=100, deadline=None)
def test_the_answer_is_closed_and_repeats(change: Change) -> None:
    verdict = classify(change)
    assert verdict == classify(change)
    assert verdict.decision in ("include", "exclude", "defer")
    known = {(t.facet, r.name) for t in tag_tables() for r in t.rules}
    known |= {(t.facet, r.tag) for t in tag_tables() for r in t.implied}
    given_tags = [(tag.facet, tag.name) for tag in verdict.tags]
    assert set(given_tags) <= known
    assert len(given_tags) == len(set(given_tags))


@given(changes, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_paths_does_not_matter(change: Change, random: object) -> None:
    paths = list(change.paths)
    random.shuffle(paths)  # type: ignore[attr-defined]
    shuffled = Change(
        change.repo, change.number, change.title, change.body, tuple(paths),
        change.labels, change.diff,
    )  # fmt: skip
    assert classify(shuffled) == classify(change)


@given(prose, st.lists(st.text("abcdefghijklmnopqrstuvwxyz", max_size=9), max_size=20))
@settings(max_examples=100, deadline=None)
def test_more_prose_adds_no_architecture(body: str, more: list[str]) -> None:
    families = {"hopper", "blackwell", "ampere", "volta"}
    words = " ".join(word for word in more if word not in families)
    before = classify(Change("o/r", 1, "[Kernel] tiles", body))
    after = classify(Change("o/r", 1, "[Kernel] tiles", f"{body}\n{words}"))
    assert architectures(after) <= architectures(before)


def test_a_large_body_takes_less_than_a_second() -> None:
    pieces = ["<!--", "fuse a into ", "run on H100 ", "a" * 999, "| x ", "sm_90 ", "\n#", "```"]
    for piece in pieces:
        body = piece * (1_000_000 // len(piece))
        started = time.process_time()
        classify(Change("o/r", 1, "[Kernel] tiles", body))
        assert time.process_time() - started < 2.0, piece


@given(changes, st.lists(st.sampled_from(["LICENSE", "docs/notes.md", "tests/test_sm100.py"])))
@settings(max_examples=60, deadline=None)
def test_silent_paths_add_no_architecture(change: Change, more: list[str]) -> None:
    longer = replace(change, paths=(*change.paths, *more))
    assert architectures(classify(longer)) <= architectures(classify(change))


@given(prose)
@settings(max_examples=60, deadline=None)
def test_context_lines_of_a_diff_add_no_architecture(text: str) -> None:
    flat = text.replace("\n", " ").replace("\r", " ")
    diff = f"diff --git a/csrc/x.cu b/csrc/x.cu\n@@ -1,2 +1,2 @@\n {flat} sm_100a B200\n+x = 1;\n"
    assert not architectures(classify(Change("o/r", 1, "tiles", diff=diff)))
