"""What a figure was measured on and with: GPU, dtype, caches, from the nearest place that says.

The order is cell, header, caption, section, nearest heading, title; then the rest of the body,
where it names exactly one GPU. The place that answered is recorded with the answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Final

from ingest.claims import rules
from ingest.claims.document import Place
from ingest.claims.rules import GPU

Near = tuple[tuple[str, str], ...]

_WORD: Final = r"[\w()-]{1,24}"
_WORDS: Final = rf"(?:{_WORD} ){{0,4}}{_WORD}"
_GROUPED: Final = re.compile(rf"{_WORDS}(?: / {_WORDS}){{1,5}}")
_COUNT: Final = re.compile(r"(?<![\w.])(\d{1,3})\s?[x×*]\s?(?:NVIDIA\s|RTX\s)?$", re.I)


# Captions and headings are asked about once for each figure under them, hence the caches.
@lru_cache(maxsize=1024)
def gpus_in(text: str) -> tuple[GPU, ...]:
    """Return the GPUs that a text names, in order, each once."""
    found = (
        rules.gpus()[match.lastindex - 1]
        for match in rules.gpu_pattern().finditer(text)
        if match.lastindex
    )
    return tuple(dict.fromkeys(found))


def slash_gpus(place: Place) -> tuple[str, ...]:
    """Return the GPUs of `PRO 6000 / RTX 5080 / GB10` where the text above groups its cells so."""
    for line in (*reversed(place.section), *reversed(place.headings)):
        for part in _GROUPED.findall(line.text):
            named = [gpus_in(piece) for piece in part.split(" / ")]
            # A word after the last GPU may bring a slash of its own: `GB10 speedup (old / new)`.
            leading = list(takewhile(lambda gpus: len(gpus) == 1, named))
            if len(leading) > 1:
                return tuple(gpus[0].name for gpus in leading)
    return ()


def places_of(near: Near, place: Place, title: str) -> Iterator[tuple[str, str]]:
    """Yield (source, text) from the nearest place to the title."""
    yield from near
    if place.caption is not None:
        yield "caption", place.caption.text
    for line in reversed(place.section):
        yield "section", line.text
    for line in reversed(place.headings):
        yield "heading", line.text
    yield "title", title


def find_gpu(
    places: Iterable[tuple[str, str]], body_gpus: tuple[GPU, ...]
) -> tuple[GPU, str] | None:
    """Return the one GPU that the nearest telling place names, and that place."""
    for source, text in places:
        named = gpus_in(text)
        if len(named) == 1:
            return named[0], source
        if len(named) > 1 and source in ("cell", "label", "header", "clause"):
            continue
        if named:
            return None
    return (body_gpus[0], "body") if len(body_gpus) == 1 else None


def find_architecture(places: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return an architecture that a place names without a product."""
    return _first_place(_architecture_in, places)


@lru_cache(maxsize=1024)
def _architecture_in(text: str) -> str | None:
    return rules.first(rules.families(), text)


def _first_place(
    ask: Callable[[str], str | None], places: Iterable[tuple[str, str]]
) -> tuple[str, str] | None:
    """Return the first answer that is not None, and the place that gave it."""
    return next(((a, source) for source, text in places if (a := ask(text)) is not None), None)


@lru_cache(maxsize=1024)
def gpu_count(text: str) -> int | None:
    """Return the number in `8x H200`."""
    for match in rules.gpu_pattern().finditer(text):
        lead = re.match(r"(\d{1,3})[x×]", match[0])
        before = _COUNT.search(text[max(0, match.start() - 14) : match.start()])
        if lead or before:
            return int((lead or before)[1])  # type: ignore[index]
    return None


def find_word(name: str, places: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first word of a list of the rules, such as a dtype, and the place it stands in."""
    return _first_place(lambda text: _word_in(name, text), places)


@lru_cache(maxsize=2048)
def _word_in(name: str, text: str) -> str | None:
    match = rules.words(name).search(text)
    return match[0] if match else None


def find_named(name: str, places: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the name of the first entry of a table of the rules whose words occur."""
    return _first_place(lambda text: _named_in(name, text), places)


@lru_cache(maxsize=2048)
def _named_in(name: str, text: str) -> str | None:
    return rules.first(rules.table(name), text)


def find_op(places: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the operation that the nearest label, heading or title names, and that place.

    Paragraphs speak of many operations, so they are not asked. A place that names two has one that
    fuses them, `quantize+rmsnorm`; one that names more says nothing.
    """
    asked = ((source, text) for source, text in places if source in _NAMES_OPS)
    return _first_place(op_in, asked)


_NAMES_OPS: Final = ("label", "header", "clause", "heading", "title")
_AS_SPACE: Final = str.maketrans("_-", "  ")
_FUSED: Final = 2
_PHASES: Final = {"attention-prefill": "prefill", "attention-decode": "decode"}


@lru_cache(maxsize=2048)
def op_in(text: str) -> str | None:
    """Return the operation that a short text names, or None where it names none or several."""
    pattern, names = rules.ops()
    words = text.translate(_AS_SPACE)
    found = {names[" ".join(match[0].casefold().split())] for match in pattern.finditer(words)}
    found -= {"", *(general for one in found for general in rules.general_ops(one))}
    phases = found & set(_PHASES)
    others = found - phases
    if others and phases:
        phase = _PHASES[phases.pop()]
        found = {f"{one}-{phase}" if one in rules.phased_ops() else one for one in others}
    return "+".join(sorted(found)) if 0 < len(found) <= _FUSED else None
