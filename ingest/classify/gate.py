"""Which rules a text can match at all, from its words.

Each fragment names a literal that its matches contain. Texts repeat few words, so the rules whose
literals stand inside a word are worked out once per word; a text then costs one dictionary look-up
a word instead of one regex search a rule.
"""

import re
from collections.abc import Sequence

from ingest.classify.rules import Rule

_WORD = re.compile(r"\w+")
_CACHED_WORDS = 1 << 17


class Gate:
    """The literals of a list of rules; answers with positions in that list."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._always: frozenset[int] = frozenset()
        self._known: dict[str, frozenset[int]] = {}
        positions: dict[str, set[int]] = {}
        for position, rule in enumerate(rules):
            for fragment in rule.fragments:
                words = _WORD.findall(fragment.literal)
                positions.setdefault(max(words, key=len, default=""), set()).add(position)
        self._always = frozenset(positions.pop("", ()))
        self._literals = [(word, frozenset(found)) for word, found in sorted(positions.items())]

    def candidates(self, lowered: str) -> list[int]:
        """Return the positions of the rules that may match `lowered`, in order.

        `lowered` is lower case; a rule with a fragment without literal is always among them.
        """
        found = set(self._always)
        for word in set(_WORD.findall(lowered)):
            known = self._known.get(word)
            found |= self._look_up(word) if known is None else known
        return sorted(found)

    def _look_up(self, word: str) -> frozenset[int]:
        if len(self._known) >= _CACHED_WORDS:
            self._known.clear()
        found = frozenset().union(*(known for literal, known in self._literals if literal in word))
        self._known[word] = found
        return found
