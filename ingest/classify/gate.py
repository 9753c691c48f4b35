"""Which lines of a text the fragments of some rules can match at all, from the words of the lines.

Every match of a fragment contains its parts, each inside a word of the same line. Texts repeat few
words, so the parts inside a word are worked out once per word; a line then costs one set operation,
and only the lines that hold all parts of a fragment are searched with its regex.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ingest.classify.patterns import Fragment
from ingest.classify.rules import Rule

_WORD = re.compile(r"\w+")
_CACHED_WORDS = 1 << 17
Candidates = list[tuple[int, list[tuple[Fragment, list[int]]]]]
"""Rules by position, each with its fragments and the lines, by position, to look at."""


class Gate:
    """The fragments of a list of rules, found by the parts of their literals."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        pairs = [(at, fragment) for at, rule in enumerate(rules) for fragment in rule.fragments]
        parts = sorted({part for _, fragment in pairs for part in fragment.parts})
        numbers = {part: number for number, part in enumerate(parts)}
        self._known: dict[str, tuple[int, ...]] = {}
        self._by_start: dict[str, list[tuple[str, int]]] = {}
        for part, number in numbers.items():
            self._by_start.setdefault(part[:2], []).append((part, number))
        self._always = [(at, order, f) for order, (at, f) in enumerate(pairs) if not f.parts]
        self._by_part: list[list[tuple[int, int, Fragment, list[int]]]] = [[] for _ in parts]
        for order, (at, fragment) in enumerate(pairs):
            if fragment.parts:
                first, *rest = (numbers[part] for part in fragment.parts)
                self._by_part[first].append((at, order, fragment, rest))

    def candidates(self, lines: Sequence[str]) -> Candidates:
        """Return what may match on `lines`; a fragment without parts is looked for on each."""
        every = list(range(len(lines)))
        found = [(at, order, fragment, every) for at, order, fragment in self._always]
        where = self._lines_of_parts(lines)
        for part, numbers in where.items():
            for at, order, fragment, rest in self._by_part[part]:
                shared = _shared(numbers, [where.get(other) for other in rest])
                if shared:
                    found.append((at, order, fragment, shared))
        found.sort(key=lambda entry: entry[1])
        rules: dict[int, list[tuple[Fragment, list[int]]]] = {}
        for at, _, fragment, numbers in found:
            rules.setdefault(at, []).append((fragment, numbers))
        return list(rules.items())

    def _lines_of_parts(self, lines: Sequence[str]) -> dict[int, list[int]]:
        where: defaultdict[int, list[int]] = defaultdict(list)
        split, known = _WORD.findall, self._known
        telling = self._telling(set(split("\n".join(lines))))
        if not telling:
            return {}
        if len(lines) == 1:
            return {part: [0] for word in telling for part in known[word]}
        for number, line in enumerate(lines):
            for word in telling.intersection(split(line)):
                for part in known[word]:
                    where[part].append(number)
        return {part: list(dict.fromkeys(numbers)) for part, numbers in where.items()}

    def _telling(self, words: set[str]) -> set[str]:
        """The words that hold a part; all of `words` are known afterwards."""
        known = self._known
        if len(known) >= _CACHED_WORDS:
            known.clear()
        for word in words.difference(known):
            known[word] = self._look_up(word.lower())
        return {word for word in words if known[word]}

    def _look_up(self, word: str) -> tuple[int, ...]:
        found = set()
        for at in range(len(word)):
            for start in {word[at], word[at : at + 2]}:
                for part, number in self._by_start.get(start, ()):
                    if word.startswith(part, at):
                        found.add(number)
        return tuple(sorted(found))


def _shared(numbers: list[int], others: Iterable[list[int] | None]) -> list[int]:
    """The members of `numbers` that stand in all `others`; None is an empty list."""
    for other in others:
        if not numbers or other is None:
            return []
        members = set(other)
        numbers = [number for number in numbers if number in members]
    return numbers
