"""Frozen records that cross rooms: what a reader, linker, classifier or extractor returns.

They know nothing of databases or files. `Evidence` is the one convention by which tags, decisions
and claims say where they come from: `text` is a substring, as stored, of the place named. Line 0
is the title, lines of a body or diff count from 1.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

PLACES = ("title", "body", "path", "diff", "label")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The matched text and the place where it stands."""

    where: str
    text: str
    line: int | None = None
    path: str | None = None

    @property
    def locator(self) -> str:
        """The place as one string: `title`, `label`, `body:12`, `path:a/b.cu`, `diff:a/b.cu:7`."""
        parts = [self.where, self.path, None if self.where == "title" else self.line]
        return ":".join(str(part) for part in parts if part is not None)

    def as_json(self) -> dict[str, Any]:
        """The place as a JSON object, without the members that do not apply."""
        members = {"where": self.where, "text": self.text, "line": self.line, "path": self.path}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """A GitHub login learnt from a users.noreply address; mail addresses are never kept."""

    login: str
    github_id: int | None = None
    kind: str = "user"


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One first-parent commit: times in UTC, `paths` as (path, git status letter).

    `committer` is a name such as GitHub or pytorchmergebot; a rule of the linker needs it.
    """

    sha: str
    author: PersonRecord | None
    committer: str
    authored_at: datetime
    committed_at: datetime
    subject: str
    message: str
    paths: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """What a commit does to a pull request: `role` and the `rule` of the linker that says so."""

    number: int
    role: str
    rule: str


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request as the classifier reads it; `diff` is unified diff text or None."""

    repo: str
    number: int | None
    title: str
    body: str = ""
    paths: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    diff: str | None = None


@dataclass(frozen=True, slots=True)
class TagVerdict:
    """One tag with its evidence; an implied tag names the tag that implies it instead."""

    name: str
    facet: str
    basis: str
    rule: str
    evidence: Evidence | None = None
    implied_by: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a change: include | exclude | defer, why, on what evidence, and its tags."""

    decision: str
    reason: str
    rule: str
    evidence: Evidence | None = None
    tags: tuple[TagVerdict, ...] = field(default_factory=tuple)


Dimension = tuple[str, float | None, str | None]
"""Name, and the cell as a number where it is one, else as text."""

Field = tuple[str, str, str]
"""Field, basis (`stated` in the figure's own place, `derived` from elsewhere), source place."""


@dataclass(frozen=True, slots=True)
class ExtractedClaim:
    """One performance figure of a pull request; None means that the text does not say."""

    metric: str
    unit: str | None
    value_text: str
    value: float
    direction: str
    role: str
    evidence: Evidence
    value_max: float | None = None
    value_normalized: float | None = None
    qualifier: str | None = None
    statistic: str | None = None
    baseline_value: float | None = None
    baseline_label: str | None = None
    baseline_unit: str | None = None
    ratio_of: str | None = None
    gpu: str | None = None
    architecture: str | None = None
    gpu_count: int | None = None
    dtype: str | None = None
    op: str | None = None
    variant: str | None = None
    shape: str | None = None
    dimensions: tuple[Dimension, ...] = ()
    utilization: float | None = None
    cache_state: str | None = None
    timing_scope: str | None = None
    fields: tuple[Field, ...] = ()
    ordinal: int = 0
