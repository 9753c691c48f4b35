"""Words that tell of a GPU architecture, by family, as coarse as a reader's first look.

The classifier weighs and places what it finds; here the question is only whether a text says
anything at all about the family that a page lists.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

# `umma` hides in "summary".
_FAMILIES: Final[Mapping[str, re.Pattern[str]]] = {
    "Blackwell": re.compile(
        r"blackwell|g?b[23]00|b100|sm[_-]?10[0-3]|tcgen05|tmem|(?<!s)umma|nvfp4|mxfp4"
    ),
    "Blackwell SM12x": re.compile(r"sm[_-]?12[01x]|rtx ?(?:pro|50[6-9]0)|gb10\b"),
    "Hopper": re.compile(r"hopper|g?h[12]00|h800|h20\b|sm[_-]?90|wgmma"),
    "Ampere or Ada": re.compile(
        r"ampere|\ba100|a10g?\b|sm[_-]?8[0679]|\bada\b|l40s?\b|\bl4\b|rtx ?[34]0[6-9]0|turing|volta"
        r"|sm[_-]?7[05]|\bv100|\bt4\b"
    ),
    "AMD": re.compile(r"rocm|\bamd\b|mi[23]\d{2}|gfx\d|\bhip\b|aiter|cdna|rdna|amdgpu"),
    "Ascend": re.compile(r"ascend|cann\b|atlas|\bnpu|davinci|910[abc]?\b|310p"),
}
_OF_ARCHITECTURE: Final = (
    (re.compile(r"sm_?10\d"), "Blackwell"),
    (re.compile(r"sm_?12\d"), "Blackwell SM12x"),
    (re.compile(r"sm_?90"), "Hopper"),
    (re.compile(r"sm_?[78]\d"), "Ampere or Ada"),
    (re.compile(r"cdna|rdna|gfx|mi\d"), "AMD"),
    (re.compile(r"ascend"), "Ascend"),
)
ANY_FAMILY: Final = re.compile("|".join(f"(?:{p.pattern})" for p in _FAMILIES.values()))


def stated_families(text: str) -> frozenset[str]:
    """Return the families that a text in lower case names; empty for most texts."""
    if not ANY_FAMILY.search(text):
        return frozenset()
    return frozenset(name for name, pattern in _FAMILIES.items() if pattern.search(text))


def families_of(architectures: Iterable[str]) -> dict[str, str]:
    """Return architecture -> family, of those that are known."""
    found = {}
    for name in architectures:
        family = next((f for p, f in _OF_ARCHITECTURE if p.match(name.lower())), None)
        if family:
            found[name] = family
    return found
