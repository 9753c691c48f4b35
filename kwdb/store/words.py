"""The words that queries are compared with when they hold one that no page has."""

from collections.abc import Iterable

import sqlalchemy as sa

from kwdb.store.rows import chunks
from kwdb.text import trigrams

SHORTEST_WORD = 4

_INSERT = {
    "sqlite": "INSERT OR IGNORE INTO page_index_trigrams (trigram, word) VALUES (:trigram, :word)",
    "postgresql": "INSERT INTO page_index_trigrams (trigram, word) VALUES (:trigram, :word) "
    "ON CONFLICT DO NOTHING",
}


def store_words(connection: sa.Connection, texts: Iterable[str]) -> None:
    """Remember the words of folded `texts` that are new, numbers and short ones apart."""
    words = {word for text in texts for word in text.split() if _is_kept(word)}
    new = words - _known(connection, words)
    rows = [{"trigram": part, "word": word} for word in sorted(new) for part in trigrams(word)]
    if rows:
        connection.execute(sa.text(_INSERT[connection.dialect.name]), rows)


def _is_kept(word: str) -> bool:
    return SHORTEST_WORD <= len(word) <= 40 and not any(sign.isdigit() for sign in word)


def _known(connection: sa.Connection, words: set[str]) -> set[str]:
    table = sa.table("page_index_trigrams", sa.column("trigram"), sa.column("word"))
    found: set[str] = set()
    for part in chunks(words):
        first = {f"  {word}"[:3] for word in part}
        query = sa.select(table.c.word).where(table.c.trigram.in_(first), table.c.word.in_(part))
        found.update(connection.execute(query).scalars())
    return found
