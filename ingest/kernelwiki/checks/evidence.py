"""Rules on what imported pages offer as proof: claims, sources, code, bundles, submissions.

Source: scripts/validate.py and data/schemas.yaml of Waterpine/KernelWiki at 52b8eb06.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingest.kernelwiki.checks.gather import ImportedCorpus, ImportedPage, each_page
from kwdb.check.pages import PROOF
from kwdb.check.rules import Rule

_CLAIM_FIELDS: Final = ("gpu", "dtype", "shape", "metric", "value", "source_id")
_CODE_TYPES: Final = frozenset({"wiki-technique", "wiki-kernel", "wiki-language"})
_FENCED: Final = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE_LANGUAGES: Final = frozenset(
    "cuda c c++ cpp python py ptx asm cuda-cpp cu rust shell bash yaml json hip mlir".split()
)
_CODE_LINES: Final = 3
_TRUTHS: Final = frozenset(
    "official-submission author-published-posthoc reconstructed-from-blog unavailable".split()
)
_SUBMISSION: Final = frozenset(
    "rank participant submission_truth score technique code_path code_unavailable_reason".split()
)


def _claims(page: ImportedPage) -> Iterator[tuple[int, Mapping[str, Any]]]:
    given = page.head.get("performance_claims")
    for place, claim in enumerate(given if isinstance(given, list) else ()):
        yield place, claim if isinstance(claim, dict) else {}


def _claim_fields(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    for place, claim in _claims(page):
        missing = [name for name in _CLAIM_FIELDS if claim.get(name) is None]
        if missing:
            yield f"performance_claims[{place}]: {', '.join(missing)}"


def _claim_numbers(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    for place, claim in _claims(page):
        value = claim.get("value")
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            yield f"performance_claims[{place}].value is {value!r}"


def _claim_sources(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    for place, claim in _claims(page):
        source = claim.get("source_id")
        if source is not None and source not in corpus.ids:
            yield f"performance_claims[{place}] names {source}"


def _basis(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if not page.is_wiki or page.head.get("confidence") != "verified":
        return
    given = page.head.get("evidence_basis")
    rows = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
    missing = PROOF - {row.get("evidence_type") for row in rows}
    if missing:
        yield f"evidence_basis lacks {' and '.join(sorted(missing))}"
    unknown = [str(row.get("source_id")) for row in rows]
    yield from (
        f"{one} is not among sources" for one in unknown if one not in page.names("sources")
    )


def _code(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    if page.type not in _CODE_TYPES:
        return
    known = _CODE_LANGUAGES | {n for facet, n in corpus.vocabulary.terms if facet == "language"}
    if not any(
        language.lower() in known and _code_lines(block) >= _CODE_LINES
        for language, block in _FENCED.findall(page.text)
    ):
        yield f"{page.type} with reproducibility {page.head.get('reproducibility')}"


def _code_lines(block: str) -> int:
    lines = (line.strip() for line in block.splitlines())
    return sum(bool(line) and not line.startswith(("//", "#")) for line in lines)


def _artifacts(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    place = page.head.get("artifact_dir")
    if place is None:
        return
    if not isinstance(place, str) or not place.startswith("artifacts/") or ".." in place:
        yield f"{place!r} does not lie under artifacts/"
    elif not any(path.startswith(place.rstrip("/") + "/") for path in corpus.paths):
        yield f"{place} has no file"
    banned = corpus.schemas.get(page.type, {}).get("disallow_peer_of_artifact_dir")
    yield from (f"{n} stands beside artifact_dir" for n in banned or () if n in page.head)


def _submissions(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    given = page.head.get("submissions")
    for place, row in enumerate(given if isinstance(given, list) else ()):
        for seen in _submission(row, corpus) if isinstance(row, dict) else ("is no mapping",):
            yield f"submissions[{place}] {seen}"


def _submission(row: Mapping[str, Any], corpus: ImportedCorpus) -> Iterator[str]:
    yield from (f"lacks {n}" for n in ("rank", "participant", "submission_truth") if n not in row)
    truth, path = row.get("submission_truth"), row.get("code_path")
    if truth is not None and truth not in _TRUTHS:
        yield f"has submission_truth {truth!r}; allowed: {', '.join(sorted(_TRUTHS))}"
    elif truth == "unavailable" and not row.get("code_unavailable_reason"):
        yield "is unavailable without code_unavailable_reason"
    elif truth in _TRUTHS - {"unavailable"} and path not in corpus.paths:
        yield f"has the code_path {path!r}, and no such file"
    yield from (f"has the unknown field {name}" for name in sorted(row.keys() - _SUBMISSION))


RULES: Final = (
    Rule(
        "corpus-claim-fields",
        "error",
        "a performance claim lacks a field",
        "state it, or leave the claim in the text",
        each_page(_claim_fields),
    ),
    Rule(
        "corpus-claim-number",
        "error",
        "the value of a performance claim is no number",
        "put the unit into metric",
        each_page(_claim_numbers),
    ),
    Rule(
        "corpus-claim-source",
        "error",
        "a performance claim cites a page that the corpus does not have",
        "correct source_id",
        each_page(_claim_sources),
    ),
    Rule(
        "corpus-evidence-basis",
        "error",
        "a verified page does not list its proof",
        "list official-doc and upstream-code under evidence_basis, or call it source-reported",
        each_page(_basis),
    ),
    Rule(
        "corpus-code-block",
        "error",
        "a page of code has no fenced block with at least three lines of it",
        "add a fragment that compiles",
        each_page(_code),
    ),
    Rule(
        "corpus-artifact-dir",
        "error",
        "an artifact_dir leads nowhere",
        "add the bundle, or drop the field",
        each_page(_artifacts),
    ),
    Rule(
        "corpus-submission",
        "error",
        "a contest submission is not filled in",
        "follow data/schemas.yaml",
        each_page(_submissions),
    ),
)
