"""Load the seeds: value sets, vocabulary, GPUs, metrics, repositories; then pages and claims."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kwdb import models
from kwdb.db import write_transaction
from kwdb.models import metadata
from kwdb.resources import data_dir
from kwdb.seed.claims import load_claims
from kwdb.seed.contests import load_contests
from kwdb.seed.files import (
    INTEGER,
    NAMES,
    NUMBER,
    OPTIONAL_TEXT,
    TEXT,
    Field,
    SeedRow,
    check_unique,
    choice,
    validated,
)
from kwdb.seed.known import DIRECTIONS, architectures, known_names, tag_keys, value_set_names
from kwdb.seed.pages import load_pages
from kwdb.store.rows import Row, find_keys, next_key, upsert
from kwdb.text import fold

_CORPORA = (("seed", "seed"), ("harvest", "harvest"))

_GPU_FIGURES = (
    "l2_mib",
    "memory_gib",
    "bandwidth_gb_s",
    "peak_fp16_tflops",
    "peak_fp8_tflops",
    "peak_fp4_tflops",
)

_FIELDS: dict[str, dict[str, Field]] = {
    "value_sets": {
        "table": choice("value_sets"),
        "name": TEXT,
        "description": TEXT,
        "rank": INTEGER,
    },
    "facets": {"name": TEXT, "description": TEXT},
    "tags": {"facet": choice("facets"), "name": TEXT, "description": TEXT},
    "aliases": {"alias": TEXT, "tag": choice("tags"), "basis": choice("tag_bases")},
    "page_types": {
        "name": TEXT,
        "layer": TEXT,
        "id_prefix": TEXT,
        "min_reproducibility": choice("reproducibility_levels", required=False),
        "description": TEXT,
    },
    "metrics": {
        "name": TEXT,
        "unit": TEXT,
        "direction": choice("directions"),
        "description": TEXT,
    },
    "gpus": {
        "name": TEXT,
        "vendor": TEXT,
        "architecture": choice("architectures"),
        "compute_capability": OPTIONAL_TEXT,
        "sm_count": INTEGER,
        **dict.fromkeys(_GPU_FIGURES, NUMBER),
        "aliases": NAMES,
    },
    "repositories": {
        "slug": TEXT,
        "full_name": TEXT,
        "default_branch": OPTIONAL_TEXT,
        "landing": choice("landing_styles"),
        "aliases": NAMES,
    },
}


_NATURAL_KEYS: dict[str, tuple[str, ...]] = {
    "value_sets": ("table", "name"),
    "tags": ("facet", "name"),
    "aliases": ("alias", "tag"),
    "repositories": ("slug",),
    **dict.fromkeys(("facets", "page_types", "metrics", "gpus"), ("name",)),
}


def load_seeds(engine: sa.Engine, directory: Path | None = None) -> dict[str, int]:
    """Load every seed file in one transaction; returns file -> rows written.

    Rows that stand already are not written, so a second load returns zeros.

    Raises:
        InvalidRecordError: a row cannot be used; then nothing is loaded.
    """
    place = directory or data_dir("seeds")
    with write_transaction(engine) as connection:
        loader = _Loader(connection, place)
        written = {name: load(loader, loader.rows(name)) for name, load in _LOADERS.items()}
        written["corpora"] = _load_corpora(connection)
        written["pages"] = load_pages(connection, place, loader.known, loader.known["tags"])
        known = known_names(connection)
        written |= load_contests(connection, place, known)
        written |= load_claims(connection, place, known)
    return written


class _Loader:
    """One load: the connection and the sets of names that later files may refer to."""

    def __init__(self, connection: sa.Connection, directory: Path) -> None:
        self.connection = connection
        self.directory = directory
        self.known: dict[str, Any] = {
            "directions": DIRECTIONS,
            "value_sets": value_set_names(),
        }

    def rows(self, name: str) -> list[SeedRow]:
        found = validated(self.directory / f"{name}.yaml", _FIELDS[name], self.known)
        check_unique(found, *_NATURAL_KEYS[name])
        return found

    def keyed_upsert(self, table: sa.Table, rows: list[Row], key: str) -> int:
        """Upsert rows by a unique column, giving new ones their surrogate keys."""
        known = find_keys(self.connection, table, key, [row[key] for row in rows])
        fresh = iter(range(next_key(self.connection, table), 1 << 31))
        full = [{"id": known.get(row[key]) or next(fresh), **row} for row in rows]
        return upsert(self.connection, table, full, (key,))


def _load_value_sets(loader: _Loader, rows: list[SeedRow]) -> int:
    written = 0
    for name in sorted({row.values["table"] for row in rows}):
        table = metadata.tables[name]
        picked = [row.values for row in rows if row.values["table"] == name]
        columns = [column.name for column in table.columns]
        for row in rows:
            if row.values["table"] == name and "rank" in columns and not row.values.get("rank"):
                raise row.fail("rank", "is missing: the values of this set are ordered")
        found = [{column: values.get(column) for column in columns} for values in picked]
        written += upsert(loader.connection, table, found, ("name",))
        loader.known[name] = {row["name"] for row in found}
    return written


def _load_facets(loader: _Loader, rows: list[SeedRow]) -> int:
    loader.known["facets"] = {row.values["name"] for row in rows}
    return _upsert_plain(loader, models.facets, rows, ("name", "description"))


def _upsert_plain(
    loader: _Loader, table: sa.Table, rows: list[SeedRow], columns: tuple[str, ...]
) -> int:
    found = [{name: row.values.get(name) for name in columns} for row in rows]
    return upsert(loader.connection, table, found, columns[:1])


def _load_tags(loader: _Loader, rows: list[SeedRow]) -> int:
    columns = ("facet", "name", "description")
    found: list[Row] = [{name: row.values[name] for name in columns} for row in rows]
    stored = tag_keys(loader.connection)
    fresh = iter(range(next_key(loader.connection, models.tags), 1 << 31))
    for row in found:
        row["id"] = stored.get(f"{row['facet']}:{row['name']}") or next(fresh)
    written = upsert(loader.connection, models.tags, found, ("facet", "name"))
    keys = tag_keys(loader.connection)
    loader.known["tags"] = keys
    loader.known["architectures"] = architectures(keys)
    return written


def _load_aliases(loader: _Loader, rows: list[SeedRow]) -> int:
    keys = loader.known["tags"]
    stored = {
        (alias, tag): key
        for alias, tag, key in loader.connection.execute(
            sa.select(models.aliases.c.alias, models.aliases.c.tag_id, models.aliases.c.id)
        )
    }
    fresh = iter(range(next_key(loader.connection, models.aliases), 1 << 31))
    found = [_alias_row(row, keys) for row in rows]
    full = [
        {"id": stored.get((row["alias"], row["tag_id"])) or next(fresh), **row} for row in found
    ]
    return upsert(loader.connection, models.aliases, full, ("alias", "tag_id"))


def _alias_row(row: SeedRow, keys: Mapping[str, int]) -> Row:
    if not fold(row.values["alias"]):
        raise row.fail("alias", f"{row.values['alias']!r} holds no letter or digit")
    return {
        "alias": fold(row.values["alias"]),
        "display": row.values["alias"],
        "tag_id": keys[row.values["tag"]],
        "basis": row.values["basis"],
        "source": row.values["source"],
        "note": row.values.get("note"),
    }


def _load_page_types(loader: _Loader, rows: list[SeedRow]) -> int:
    columns = ("name", "layer", "id_prefix", "min_reproducibility", "description")
    loader.known["page_types"] = {row.values["name"] for row in rows}
    return _upsert_plain(loader, models.page_types, rows, columns)


def _load_metrics(loader: _Loader, rows: list[SeedRow]) -> int:
    return _upsert_plain(loader, models.metrics, rows, ("name", "unit", "direction", "description"))


def _load_gpus(loader: _Loader, rows: list[SeedRow]) -> int:
    tags = loader.known["tags"]
    left_out = {"key", "architecture", "aliases", "date"}
    columns = [name for name in (*_FIELDS["gpus"], "note", "source") if name not in left_out]
    found = [
        {name: row.values.get(name) for name in columns}
        | {"architecture_tag_id": tags[f"architecture:{row.values['architecture']}"]}
        for row in rows
    ]
    written = loader.keyed_upsert(models.gpus, found, "name")
    keys = find_keys(loader.connection, models.gpus, "name", [row["name"] for row in found])
    spellings = [
        {"alias": fold(alias), "gpu_id": keys[row.values["name"]]}
        for row in rows
        for alias in (row.values["name"], *(row.values.get("aliases") or ()))
    ]
    return written + upsert(loader.connection, models.gpu_aliases, spellings, ("alias",))


def _load_repositories(loader: _Loader, rows: list[SeedRow]) -> int:
    columns = ("slug", "full_name", "default_branch", "landing")
    found = [{name: row.values.get(name) for name in columns} for row in rows]
    written = loader.keyed_upsert(models.repositories, found, "slug")
    keys = find_keys(loader.connection, models.repositories, "slug", [r["slug"] for r in found])
    former = [
        {"full_name": name, "repository_id": keys[row.values["slug"]]}
        for row in rows
        for name in row.values.get("aliases") or ()
    ]
    return written + upsert(loader.connection, models.repository_aliases, former, ("full_name",))


def _load_corpora(connection: sa.Connection) -> int:
    stored = find_keys(connection, models.corpora, "name", [name for name, _ in _CORPORA])
    start = next_key(connection, models.corpora)
    new = [(name, kind) for name, kind in _CORPORA if name not in stored]
    rows = [{"id": key, "name": n, "kind": kind} for key, (n, kind) in enumerate(new, start)]
    return upsert(connection, models.corpora, rows, ("name",))


_LOADERS: dict[str, Callable[[_Loader, list[SeedRow]], int]] = {
    "value_sets": _load_value_sets,
    "facets": _load_facets,
    "tags": _load_tags,
    "aliases": _load_aliases,
    "page_types": _load_page_types,
    "metrics": _load_metrics,
    "gpus": _load_gpus,
    "repositories": _load_repositories,
}
