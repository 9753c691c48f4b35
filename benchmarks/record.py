"""A bundle into the database, and what it says of the claims there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from benchmarks.judge import judge
from benchmarks.problem import find_problem
from kwdb.db import write_transaction
from kwdb.errors import UserError
from kwdb.store.bench import relate, settle, store_run


@dataclass(frozen=True, slots=True)
class Recorded:
    """How many claims were written, the relations found, and how many statuses were settled."""

    claims: int
    relations: list[dict[str, Any]]
    settled: int


def record(engine: sa.Engine, bundle: Mapping[str, Any], *, settles: bool = False) -> Recorded:
    """Store a bundle in one transaction; one that is stored already gives nothing new.

    Raises:
        UnknownValueError: the bundle has a problem that this version does not know.
    """
    names = sorted({str(case.get("problem")) for case in bundle["cases"]})
    if not names:
        return Recorded(0, [], 0)
    problem = find_problem(names[0])
    with write_transaction(engine) as connection:
        try:
            keys = store_run(connection, bundle, problem.op, problem.dtype)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise UserError(
                f"the bundle is damaged ({exc!r}): make a new one with --export"
            ) from exc
        relations = relate(connection, keys, problem.op, judge) if keys else []
        settled = settle(connection, relations) if settles else 0
    return Recorded(len(keys), relations, settled)
