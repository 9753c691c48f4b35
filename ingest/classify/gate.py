"""Which fragments of which rules a text can match at all, from its words.

Each fragment names a literal that its matches contain. Texts repeat few words, so the fragments
whose literals stand inside a word are worked out once per word; a text then costs one dictionary
look-up a word instead of one regex search a rule.
"""

import re
from collections.abc import Sequence

from ingest.classify.patterns import Fragment
from ingest.classify.rules import Rule

_WORD = re.compile(r"\w+")
_CACHED_WORDS = 1 << 17


class Gate:
    """The fragments of a list of rules, found by the words of their literals."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._parts = [(at, part) for at, rule in enumerate(rules) for part in rule.fragments]
        self._known: dict[str, frozenset[int]] = {}
        self._by_start: dict[str, list[tuple[str, int]]] = {}
        always = []
        for number, (_, fragment) in enumerate(self._parts):
            word = max(_WORD.findall(fragment.literal), key=len, default="")
            if word:
                self._by_start.setdefault(word[:2], []).append((word, number))
            else:
                always.append(number)
        self._always = frozenset(always)

    def candidates(self, lowered: str) -> list[tuple[int, list[Fragment]]]:
        """Return the rules that may match `lowered`, by position, each with such fragments.

        `lowered` is lower case; a fragment without a word in its literal is always looked at.
        """
        found = set(self._always)
        for word in set(_WORD.findall(lowered)):
            known = self._known.get(word)
            found |= self._look_up(word) if known is None else known
        open_rules: dict[int, list[Fragment]] = {}
        for number in sorted(found):
            position, fragment = self._parts[number]
            if fragment.literal in lowered:
                open_rules.setdefault(position, []).append(fragment)
        return list(open_rules.items())

    def _look_up(self, word: str) -> frozenset[int]:
        if len(self._known) >= _CACHED_WORDS:
            self._known.clear()
        found = set()
        for at in range(len(word)):
            for start in {word[at], word[at : at + 2]}:
                for literal, number in self._by_start.get(start, ()):
                    if word.startswith(literal, at):
                        found.add(number)
        known = self._known[word] = frozenset(found)
        return known
