"""What a query asks for besides its words: pull requests, or what is new."""

import re

import sqlalchemy as sa

from kwdb.models import repositories
from kwdb.search.rank import Intent
from kwdb.text import fold

_PULL_REQUEST = re.compile(r"\b(?:prs?|pull requests?|commits?|patch(?:es)?|merged|landed)\b")
_NUMBER = re.compile(r"(?:^|\s)\d{2,6}(?:\s|$)")
_REFERENCE = re.compile(r"#\d|^\s*\d+\s*$")
_RECENT = re.compile(r"\b(?:latest|newest|recent|recently|since|new)\b")


def read_intent(connection: sa.Connection, query: str) -> Intent:
    """Tell from its words what a query asks for.

    The name of a repository asks for pull requests, more surely with a number, unless it is all
    there is: then the thing itself is meant. A number alone or behind # asks for them, too; one
    among other words is a size as a rule.
    """
    words = fold(query)
    named = bool(_names(connection) & set(words.split())) and " " in words
    numbered = bool(_REFERENCE.search(query) or (named and _NUMBER.search(words)))
    asked = numbered or bool(_PULL_REQUEST.search(words))
    return Intent(asked, named, bool(_RECENT.search(words)))


def _names(connection: sa.Connection) -> set[str]:
    rows = connection.execute(sa.select(repositories.c.slug, repositories.c.full_name))
    return {fold(name) for slug, full in rows for name in (slug, full.rpartition("/")[2])}
