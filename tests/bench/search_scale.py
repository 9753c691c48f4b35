"""Search latency over many synthetic pages, on a scratch database of either engine.

    python tests/bench/search_scale.py URL [PAGES]

Fills the empty database at URL once (a filled one is asked again), then asks 200 questions of one
to eight words, drawn as their frequency has it, a third of them with a filter, and prints median,
95th percentile and maximum in milliseconds, in process and warm.

Words follow Zipf's law with exponent 1 over 60,000 invented words and the vocabulary of the
seeds, which takes the frequent ranks: worse than real text, where frequent words are stop words.
"""

import itertools
import random
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from statistics import median, quantiles

import sqlalchemy as sa

from kwdb import migrate
from kwdb.db import open_reader, open_writer, read_transaction, write_transaction
from kwdb.models import aliases, pages
from kwdb.search import Filters, search_pages
from kwdb.seed import load_seeds
from kwdb.store.pages import HARVEST, corpus_key, index_pages

SYLLABLES = ["ka", "ro", "ti", "mel", "sun", "vex", "dra", "plo", "qui", "zen", "bor", "lag"]
BATCH = 5_000
DROP_INDEX = "DROP INDEX IF EXISTS ix_page_index_document"
MAKE_INDEX = "CREATE INDEX IF NOT EXISTS ix_page_index_document ON page_index USING gin (document)"


def vocabulary(connection: sa.Connection) -> list[str]:
    """Return words by falling frequency: those of the aliases first."""
    known = connection.execute(sa.select(aliases.c.alias).order_by(aliases.c.alias)).scalars()
    ours = dict.fromkeys(word for phrase in known for word in phrase.split())
    parts = itertools.product(SYLLABLES, SYLLABLES, SYLLABLES, SYLLABLES, ("", "x", "y"))
    return [*ours, *itertools.islice(("".join(part) for part in parts), 60_000)]


def write_pages(engine: sa.Engine, count: int) -> None:
    """Fill the database with `count` pages of about 130 words."""
    with read_transaction(engine) as connection:
        words = vocabulary(connection)
        start = connection.execute(sa.select(sa.func.max(pages.c.pk))).scalar_one() + 1
        corpus = corpus_key(connection, HARVEST)
    dice = random.Random(4711)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for first in range(start, start + count, BATCH):
        keys = range(first, min(first + BATCH, start + count))
        texts = [dice.choices(words, cum_weights=weights, k=138) for _ in keys]
        with write_transaction(engine) as connection:
            connection.execute(sa.insert(pages), list(page_rows(keys, texts, corpus)))
            index_pages(connection, list(documents(keys, texts)))


def page_rows(keys: range, texts: list[list[str]], corpus: int) -> Iterator[dict[str, object]]:
    """Yield rows of `pages`: forty pull requests for each page of another kind."""
    for pk, words in zip(keys, texts, strict=True):
        yield {
            "pk": pk,
            "id": f"pr-synthetic-{pk}",
            "type": "wiki-technique" if pk % 40 == 0 else "source-pr",
            "title": " ".join(words[:8]),
            "served_from": corpus,
            "is_retired": False,
            "published_on": date(2020, 1, 1) + timedelta(days=pk % 2_400),
        }


def documents(keys: range, texts: list[list[str]]) -> Iterator[dict[str, object]]:
    """Yield what the index takes."""
    for pk, words in zip(keys, texts, strict=True):
        title, body = " ".join(words[:8]), " ".join(words[8:])
        id_ = f"pr-synthetic-{pk}"
        yield {"pk": pk, "id": id_, "title": title, "tags": [], "text": body, "paths": ()}


def questions(connection: sa.Connection) -> Iterator[tuple[str, Filters]]:
    """Yield 200 questions, the same every time."""
    words, dice = vocabulary(connection), random.Random(815)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for number in range(200):
        asked = dice.choices(words, cum_weights=weights, k=dice.randint(1, 8))
        chosen = Filters(type="technique") if number % 3 == 0 else Filters()
        yield " ".join(asked), chosen


def main(url: str, count: int = 1_000_000) -> None:
    """Fill where empty, ask, print."""
    migrate.upgrade(url)
    engine = open_writer(url)
    load_seeds(engine)
    with read_transaction(engine) as connection:
        stored = connection.execute(sa.select(sa.func.count()).select_from(pages)).scalar_one()
    if stored < count:
        fill(engine, count)
    engine.dispose()
    with read_transaction(open_reader(url)) as connection:
        asked = list(questions(connection))
        times = [ask(connection, text, filters) for text, filters in asked + asked][len(asked) :]
    cuts = quantiles(times, n=20)
    print(f"median {median(times):.1f} ms, p95 {cuts[-1]:.1f} ms, max {max(times):.1f} ms")


def fill(engine: sa.Engine, count: int) -> None:
    """Write the pages; on PostgreSQL the index is made afterwards, which takes a third."""
    is_postgres = engine.dialect.name == "postgresql"
    started = time.perf_counter()
    if is_postgres:
        execute(engine, DROP_INDEX)
    write_pages(engine, count)
    if is_postgres:
        execute(engine, MAKE_INDEX)
        execute(engine, "ANALYZE page_index")
    print(f"{count} pages in {time.perf_counter() - started:.0f} s")


def execute(engine: sa.Engine, statement: str) -> None:
    """Run one statement in a transaction of its own."""
    with write_transaction(engine) as connection:
        connection.exec_driver_sql(statement)


def ask(connection: sa.Connection, text: str, filters: Filters) -> float:
    """Return how many milliseconds a search took."""
    started = time.perf_counter()
    search_pages(connection, text, filters)
    return 1_000 * (time.perf_counter() - started)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
