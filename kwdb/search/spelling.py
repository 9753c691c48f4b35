"""Words that no page has, put right by the nearest word of titles, tags and headings."""

from collections.abc import Collection

import sqlalchemy as sa

from kwdb.text import trigrams

_SHORTEST = 4
_LONG = 8
_CANDIDATES = 50

_NEAR = sa.text(
    "SELECT word, count(*) AS shared FROM page_index_trigrams WHERE trigram IN :parts "
    "GROUP BY word ORDER BY shared DESC, word LIMIT :limit"
).bindparams(sa.bindparam("parts", expanding=True))


def correct_word(connection: sa.Connection, word: str) -> str | None:
    """Return the known word at the least edit distance: 1 for words under 8 letters, else 2.

    None for short words, numbers and words that nothing known is near to.
    """
    if len(word) < _SHORTEST or any(sign.isdigit() for sign in word):
        return None
    parts = sorted(trigrams(word))
    rows = connection.execute(_NEAR, {"parts": parts, "limit": _CANDIDATES})
    return nearest_word(word, [row.word for row in rows])


def nearest_word(word: str, known: Collection[str]) -> str | None:
    """Return the member of `known` nearest to `word` within the distance allowed, or None."""
    allowed = 2 if len(word) >= _LONG else 1
    ranked = sorted((edit_distance(word, one), one) for one in known)
    return ranked[0][1] if ranked and 0 < ranked[0][0] <= allowed else None


def edit_distance(one: str, other: str) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours (Damerau, restricted)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, sign in enumerate(one, 1):
        row = [i]
        for j, seen in enumerate(other, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (sign != seen))
            if before and j > 1 and sign == other[j - 2] and one[i - 2] == seen:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]
