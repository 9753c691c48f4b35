"""data/tags.yaml and data/aliases.yaml in the forms that forks give them.

techniques: [swizzling]                          a list of names
techniques: {swizzling: {description: …}}        names with what they mean
architectures: [{id: cdna3, gpus: [MI300X]}]     rows; gfx, gpus and npus are aliases
tcgen05: [UMMA, tcgen05.mma]                     term: aliases
hardware: {"tensor core": cube-unit}             section: {alias: term}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FACETS: Final = {
    "architectures": "architecture",
    "hardware_features": "hardware_feature",
    "techniques": "technique",
    "kernel_types": "kernel_type",
    "languages": "language",
    "symptoms": "symptom",
    "topics": "topic",
}
"""Field of the front matter, or section of tags.yaml -> facet."""

VALUE_SETS: Final = {
    "confidence": "confidence_levels",
    "reproducibility": "reproducibility_levels",
    "source_categories": "source_categories",
    "source_category": "source_categories",
}
_NO_TAGS: Final = frozenset({*VALUE_SETS, "evidence_types", "schema_version", "version", "status"})
_PRODUCTS: Final = ("gpus", "npus", "devices", "products")
_SPELLINGS: Final = ("aliases", "gfx", "alias")
_NAMES: Final = ("id", "name", "term", "canonical", "tag")


@dataclass(frozen=True, slots=True)
class Alias:
    """A word or phrase and the term it stands for; facet and basis where the file says them."""

    display: str
    term: str
    facet: str | None
    basis: str | None


@dataclass(slots=True)
class Vocabulary:
    """Terms of a corpus as (facet, name) -> description, and its aliases."""

    terms: dict[tuple[str, str], str | None] = field(default_factory=dict)
    aliases: list[Alias] = field(default_factory=list)

    def facets_of(self, name: str) -> list[str]:
        """Return the facets that list a term, in the order of the file; empty: not listed."""
        return [facet for facet, known in self.terms if known == name]


def facet_of(section: str) -> str:
    """Return the facet of a section: data_formats gives data_format."""
    named = FACETS.get(section) or FACETS.get(f"{section}s")
    if named:
        return named
    if section == "hardware":
        return "hardware_feature"
    return section[:-1] if section.endswith("s") and len(section) > 3 else section


def read_tags(document: Any, vocabulary: Vocabulary) -> None:
    """Add the terms of a tags.yaml to `vocabulary`; what is neither list nor mapping is skipped."""
    for section, terms in _items(document):
        if section in _NO_TAGS:
            continue
        facet = facet_of(section)
        for name, details in _terms(terms):
            described = details.get("description") if isinstance(details, dict) else details
            known = vocabulary.terms.get((facet, name))
            text = described if isinstance(described, str) else None
            vocabulary.terms[facet, name] = known or text
            vocabulary.aliases.extend(_row_aliases(name, facet, details))


def _items(document: Any) -> list[tuple[str, Any]]:
    return [(str(key), value) for key, value in document.items()] if _is_map(document) else []


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _terms(terms: Any) -> Iterator[tuple[str, Any]]:
    if _is_map(terms):
        yield from _items(terms)
        return
    for term in terms if isinstance(terms, list) else ():
        if _is_map(term):
            name = next((term[key] for key in _NAMES if term.get(key)), None)
            if name is not None:
                yield str(name), term
        elif term is not None and not isinstance(term, list):
            yield str(term), None


def _row_aliases(name: str, facet: str, details: Any) -> Iterator[Alias]:
    if not _is_map(details):
        return
    for keys, basis in ((_PRODUCTS, "product"), (_SPELLINGS, "exact")):
        for key in keys:
            for word in _words(details.get(key)):
                yield Alias(word, name, facet, basis)


def _words(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [str(word) for word in listed if isinstance(word, (str, int, float)) and str(word)]


def read_aliases(document: Any, vocabulary: Vocabulary) -> None:
    """Add the aliases of an aliases.yaml to `vocabulary`."""
    if isinstance(document, list):
        document = {name: row for name, row in _terms(document) if row}
    vocabulary.aliases.extend(_aliases(document, None))


def _aliases(document: Any, facet: str | None) -> Iterator[Alias]:
    for key, value in _items(document):
        if isinstance(value, list):
            words = [w for item in value for w in (_row_words(item) if _is_map(item) else [item])]
            yield from (_alias(str(word), key, facet) for word in words if word is not None)
        elif isinstance(value, (str, int, float)):
            yield _alias(key, str(value), facet)
        elif _is_map(value) and (words := _row_words(value)):
            yield from (_alias(word, key, facet) for word in words)
        elif _is_map(value):
            yield from _aliases(value, facet_of(key))


def _row_words(row: Any) -> list[str]:
    return [word for key in (*_SPELLINGS, *_PRODUCTS) for word in _words(row.get(key))]


def _alias(display: str, term: str, facet: str | None) -> Alias:
    return Alias(display, term, facet, None)


def basis_of(alias: Alias, facet: str) -> str:
    """Return what an alias is evidence of.

    Names of architectures are products where they hold a digit (B200), else families (Hopper),
    unless they only spell the term in another way (SM100).
    """
    letters = "".join(filter(str.isalnum, alias.display)).casefold()
    own = "".join(filter(str.isalnum, alias.term)).casefold()
    if alias.basis or facet != "architecture" or letters == own:
        return alias.basis or "exact"
    if letters.startswith(("sm", "gfx")):
        return "exact"
    return "product" if any(sign.isdigit() for sign in letters) else "family"
