"""One import: what was read, where it goes, and what is said of it in the end."""

from collections import Counter
from dataclasses import dataclass, field

import sqlalchemy as sa

from ingest.kernelwiki.reading import Corpus
from ingest.kernelwiki.tree import Remark


@dataclass(slots=True)
class Summary:
    """What an import did: files by kind, pages by what became of them, rows by table."""

    corpus: str
    files: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    page_types: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    rows_written: int = 0
    is_complete: bool = True
    remarks: list[Remark] = field(default_factory=list)


@dataclass(slots=True)
class Job:
    """A corpus as read, its key in the database, and the rows written so far by table."""

    connection: sa.Connection
    read: Corpus
    name: str
    key: int
    summary: Summary
    rows: Counter[str] = field(default_factory=Counter)
