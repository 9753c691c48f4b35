"""Performance claims out of a pull request's title and body: pure, versioned, bounded.

extract(title, body)  ->  claims in reading order
extract_lines(lines)  ->  the same as JSON lines, for the command line
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from ingest.claims import context, rules
from ingest.claims.console import find_in_console, looks_printed, pair_series
from ingest.claims.document import Block, read_blocks
from ingest.claims.figures import MINUS
from ingest.claims.found import Found
from ingest.claims.prose import find_in_prose
from ingest.claims.record import Dimension, ExtractedClaim, Field
from ingest.claims.rules import GPU
from ingest.claims.tables import find_in_table
from ingest.claims.text import MAX_CHARACTERS, MAX_LINE, Line, stored_lines
from kwdb.errors import InvalidRecordError
from kwdb.records import Evidence
from kwdb.units import find_unit, normalize

EXTRACTOR: Final = "claims-2"

# Bodies without a figure of any unit never reach the Markdown parser.
_WORTH_READING: Final = re.compile(
    r"\d\s?(?:[mnuµμ]s|x|×|%|s|sec\w*|[gtp]flops?\S*|[tgm]b/s|[tgm]b/sec|[km]?tok\S*|req\S*|tps|rps|qps)(?![A-Za-z0-9])"
    r"|[(\[_](?:ms|us|µs|μs|ns|s|%|x|[a-z]{1,8}/s(?:ec)?|tflops?)\b|\b[mnuµμ]s\b|flops|speed|(?<!\w)[x×]\d|/s\b",
    re.I,
)
# Places that are those of the figure itself.
_BESIDE: Final = ("cell", "label", "header", "clause", "sentence")
_MAX_EVIDENCE: Final = 400
_MAX_CLAIMS: Final = 2_000


def extract(title: str, body: str, repo: str = "") -> list[ExtractedClaim]:
    """Return the claims of one pull request, in reading order; an empty list where it has none.

    Evidence text is a slice of the title (line 0) or of the body from the line named. `repo` is
    accepted so that rules can come to depend on it; none does yet.
    """
    del repo
    title = title[:MAX_LINE]
    if rules.pattern("not_kernel_title").match(title):
        return []
    if not _WORTH_READING.search(title) and not _WORTH_READING.search(body, 0, MAX_CHARACTERS):
        return []
    found = _find_all(title, body)[:_MAX_CLAIMS]
    lines = stored_lines(title, body)
    body_gpus = context.gpus_in(body[:MAX_CHARACTERS])
    claims = [_claim(item, title, lines, body_gpus) for item in found]
    return _numbered(claims)


def _find_all(title: str, body: str) -> list[Found]:
    blocks = read_blocks(body)
    tables = (f for b in blocks if b.kind == "table" for f in find_in_table(b, title))
    printed = (
        f for n, b in enumerate(blocks) if b.kind != "table" for f in find_in_console(b, title, n)
    )
    shown = [*islice(tables, _MAX_CLAIMS), *pair_series(list(islice(printed, _MAX_CLAIMS)))]
    told = pair_series(list(islice(_in_prose(title, blocks), _MAX_CLAIMS)))
    return sorted(_without_repeats(shown, told), key=lambda item: (item.first, item.figure.start))


def _in_prose(title: str, blocks: list[Block]) -> Iterator[Found]:
    """Paragraphs in reading order, then the title, which as a rule restates one of them."""
    for block in blocks:
        if block.kind == "prose" and not looks_printed(block.lines):
            yield from find_in_prose(block, title)
    yield from find_in_prose(Block("prose", lines=(Line(title, 0, 0),)), title)


def _without_repeats(shown: list[Found], prose: list[Found]) -> list[Found]:
    """Drop from prose what a table or another section has said: a restated figure is one claim.

    Within one section the same figure may stand for two things, so there it is kept. A sentence
    that gives the baseline of a figure shown alone lends it that.
    """
    at = {_figure_keys(item)[0]: n for n, item in enumerate(shown) if item.baseline is None}
    seen = {key: "" for item in shown for key in _figure_keys(item)}
    kept = list(shown)
    for item in prose:
        keys = _figure_keys(item)
        section = f"{item.place.headings} {item.first == 0}"
        fresh = [seen.setdefault(key, section) == section for key in keys]
        if any(fresh) and item.baseline is not None and keys[0] in at:
            index = at[keys[0]]
            kept[index] = replace(kept[index], baseline=item.baseline, role="after")
        elif any(fresh):
            kept.append(item)
    return kept


def _figure_keys(item: Found) -> list[tuple[str, float, float | None]]:
    keys = [(item.metric, abs(item.figure.value), item.figure.value_max)]
    return [*keys, (item.metric, item.baseline.value, None)] if item.baseline else keys


def _claim(item: Found, title: str, lines: list[str], body_gpus: tuple[GPU, ...]) -> ExtractedClaim:
    places = list(context.places_of(item.near, item.place, title))
    gpu = context.find_gpu(places, body_gpus)
    architecture = context.find_architecture(places) if gpu is None and item.gpu is None else None
    dtype = context.find_word("dtypes", places)
    op = context.find_op(places)
    unit = find_unit(item.unit_text) if item.unit_text else item.figure.unit
    told = ("cell", "header") if item.op else op
    fields = [("gpu", gpu), ("architecture", architecture), ("dtype", dtype), ("op", told)]
    return ExtractedClaim(
        metric=item.metric,
        unit=item.unit_text,
        value_text=item.figure.text[:80],
        value=item.figure.value,
        value_max=item.figure.value_max,
        value_normalized=normalize(item.figure.value, unit) if unit else None,
        direction=item.way,
        role=item.role,
        qualifier=item.qualifier or item.figure.qualifier,
        statistic=item.statistic,
        baseline_value=item.baseline.value if item.baseline else None,
        baseline_label=item.baseline_label,
        baseline_unit=item.baseline.unit.symbol if item.baseline and item.baseline.unit else None,
        ratio_of=item.ratio_of,
        gpu=item.gpu or (gpu[0].name if gpu else None),
        architecture=gpu[0].architecture if gpu and item.gpu is None else _arch(item, architecture),
        gpu_count=_first_count(places),
        dtype=dtype[0] if dtype else None,
        op=item.op or (op[0] if op else None),
        variant=item.variant,
        shape=", ".join(f"{name}={text}" for name, text in item.dimensions)[:300] or None,
        dimensions=tuple(_dimension(name, text) for name, text in item.dimensions),
        utilization=item.utilization,
        cache_state=_named("cache_states", places),
        timing_scope=_named("timing_scopes", places),
        evidence=_evidence(item, lines),
        fields=tuple(_fields(item, fields)),
    )


def _arch(item: Found, found: tuple[str, str] | None) -> str | None:
    if item.gpu is not None:
        return next((g.architecture for g in context.gpus_in(item.gpu)), None)
    return found[0] if found else None


def _first_count(places: list[tuple[str, str]]) -> int | None:
    return next((n for _, text in places if (n := context.gpu_count(text)) is not None), None)


def _named(name: str, places: list[tuple[str, str]]) -> str | None:
    found = context.find_named(name, places)
    return found[0] if found else None


def _fields(item: Found, found: list[tuple[str, Any]]) -> Iterator[Field]:
    """Say of each field taken from elsewhere whether it was stated beside the figure."""
    if item.gpu is not None:
        yield "gpu", "derived", "caption"
        found = found[2:]
    for name, answer in found:
        if answer is not None:
            source = answer[1]
            yield (
                name,
                "stated" if source in _BESIDE else "derived",
                source,
            )


def _dimension(name: str, text: str) -> Dimension:
    bare = text.replace(",", "").strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kK]?)", bare)
    if match is None:
        return name[:80], None, text[:200]
    return name[:80], float(match[1]) * (1024 if match[2] else 1), None


def _evidence(item: Found, lines: list[str]) -> Evidence:
    """The lines that hold the figure, as stored; a window around it where they are long."""
    where = "title" if item.first == 0 else "body"
    last = min(item.last, item.first + 3, len(lines) - 1)
    whole = "\n".join(lines[item.first : last + 1]).strip(" \t\r\n")
    if len(whole) <= _MAX_EVIDENCE:
        return Evidence(where, whole, item.first)
    return Evidence(where, _window(whole, item.figure.text), item.first)


def _window(whole: str, needle: str) -> str:
    at = max(
        0, whole.translate(MINUS).find(needle.translate(MINUS).split()[0] if needle.split() else "")
    )
    start = max(0, min(at - _MAX_EVIDENCE // 2, len(whole) - _MAX_EVIDENCE))
    return whole[start : start + _MAX_EVIDENCE].strip(" \t\r\n")


def _numbered(claims: list[ExtractedClaim]) -> list[ExtractedClaim]:
    counts: dict[tuple[object, ...], int] = {}
    numbered = []
    for claim in claims:
        key = (" ".join(claim.evidence.text.split()), claim.metric, claim.value_text, claim.variant)
        numbered.append(replace(claim, ordinal=counts.get(key, 0)))
        counts[key] = counts.get(key, 0) + 1
    return numbered


def as_json(claim: ExtractedClaim) -> dict[str, Any]:
    """Return a claim as the JSON object of the command line; members that are None stay."""
    names = [
        name
        for name in ExtractedClaim.__slots__
        if name not in ("evidence", "dimensions", "fields")
    ]
    record: dict[str, Any] = {name: getattr(claim, name) for name in names}
    record["dimensions"] = [{"name": n, "number": v, "text": t} for n, v, t in claim.dimensions]
    record["fields"] = [{"field": f, "basis": b, "source": s} for f, b, s in claim.fields]
    return {**record, "evidence": claim.evidence.as_json()}


def extract_lines(lines: Iterable[str]) -> Iterator[str]:
    """Read {"id", "repo", "title", "body"} lines and yield {"id", "claims"} lines.

    Raises:
        InvalidRecordError: a line is no JSON object, or lacks a member; names line and field.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _read(line, number)
        claims = extract(record["title"], record["body"], record["repo"])
        answer = {"id": record["id"], "claims": [as_json(claim) for claim in claims]}
        yield json.dumps(answer, ensure_ascii=False)


def _read(line: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InvalidRecordError("<stdin>", number, "line", f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InvalidRecordError("<stdin>", number, "line", "expected a JSON object")
    if record.get("id") is None:
        raise InvalidRecordError("<stdin>", number, "id", "expected a string or number, found none")
    for name in ("repo", "title", "body"):
        record[name] = (
            "" if record.get(name) is None and name in ("repo", "body") else record.get(name)
        )
        if not isinstance(record[name], str):
            raise InvalidRecordError(
                "<stdin>", number, name, f"expected a string, found {record[name]!r}"
            )
    return record
