"""Stage `pulls`: what the list of pull requests says, without ever losing a row.

Two walks, each with its own place to go on from:

    updates  newest change first, down to the watermark of the last complete walk. The new
             watermark is taken from the first page and stored after the last one, so what changes
             meanwhile is read next time. Walking oldest change first by pages would lose rows for
             good: an update moves a row to the end, and an unread one onto a page read before.
    backlog  in order of creation, once. Updates move nothing in that order and new ones are added
             at its end, so the path of the next page is a checkpoint that stays good.

The first page of updates comes before the backlog; it is the watermark of the whole.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ingest.github.client import Answer, GitHub
from ingest.github.errors import PassingError, PayloadError, RefusedError
from ingest.github.pulls import BY_CREATION, BY_UPDATE, ONE, Page, parse_page
from ingest.landing import LANDING_FIELDS, Word, settle
from ingest.reconcile import settle_pull_requests
from kwdb.db import read_transaction, write_transaction
from kwdb.errors import IngestError
from kwdb.models import repositories
from kwdb.records import PullRequestRecord
from kwdb.store import gaps as gap_store
from kwdb.store import harvest as store
from kwdb.store.pulls import identify_repository, store_pull_requests

if TYPE_CHECKING:
    from ingest.job import Job

STAGE = "pulls"
_VERSION = "1"
# Times have whole seconds, and copies of GitHub's own database lag a little.
_OVERLAP = timedelta(seconds=120)
_MOST_RETRIED = 100
_STALE = frozenset({404, 410, 422})
_PER_PAGE = 100
_WITHOUT_TOKEN = 60  # requests an hour for an address; docs.github.com, "Rate limits"
_TIMES = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the list is read: `watermark` of updates, path of the backlog's `next` page."""

    watermark: datetime | None = None
    next: str | None = None

    def as_text(self) -> str:
        """Return the form in which it is stored."""
        watermark = self.watermark.strftime(_TIMES) if self.watermark else None
        return json.dumps({"watermark": watermark, "next": self.next})


def read_cursor(text: str | None) -> Cursor:
    """Read a stored cursor; an empty one where nothing was read yet."""
    said = json.loads(text or "{}")
    watermark = said.get("watermark")
    return Cursor(datetime.fromisoformat(watermark) if watermark else None, said.get("next"))


def read_pulls(job: "Job", client: GitHub) -> dict[str, Any]:
    """Bring the pull requests of a repository up to date; returns counts.

    What cannot be read becomes a gap and is tried again the next time; nothing is raised for it.
    """
    return _PullList(job, client).read()


class _PullList:
    """One run through the list of one repository."""

    def __init__(self, job: "Job", client: GitHub) -> None:
        self.job, self.client = job, client
        self.repository = job.repository.id
        self.name = job.repository.full_name
        self.counts: Counter[str] = Counter()
        self.last_page: int | None = None
        self.asked_before = client.requests
        is_plain = job.options.since is None and not job.options.full
        with read_transaction(job.engine) as connection:
            stored = store.get_cursor(connection, self.repository, STAGE)["cursor"]
            self.cursor = Cursor() if job.options.full else read_cursor(stored)
            etag = gap_store.get_etag(connection, self.repository, STAGE, client.token_id)
            self.etag = etag if is_plain else None
            self.gaps = set(gap_store.open_gaps(connection, self.repository, STAGE))
            heads = store.get_cursor(connection, self.repository, "refs")["cursor"]
            self.heads_are_gits = heads not in (None, "0")
            query = sa.select(repositories.c.github_id).where(repositories.c.id == self.repository)
            self.github_id: int | None = connection.execute(query).scalar_one()

    def read(self) -> dict[str, Any]:
        try:
            self._retry_gaps()
            self._read_updates()
            if self.job.options.since is None:
                self._read_backlog()
        except IngestError as exc:
            self._note_gaps({gap_store.WALK: str(exc)})
        else:
            # Part of a list does not make up for the rest of it.
            self._close_gaps({gap_store.WALK} if self.job.options.since is None else set())
        return {
            "pull_requests": self.counts["pull_requests"],
            "requests": self.client.requests - self.asked_before,
            "gaps": len(self.gaps),
            "rows_written": self.counts["rows_written"],
        }

    def _read_updates(self) -> None:
        floor = self._floor()
        answer = self.client.get_list(BY_UPDATE.format(self.name), self.etag)
        if answer.data is None:
            return self._identify(answer, None)
        first, page = answer, self._take(answer)
        known = [self.cursor.watermark] if self.cursor.watermark else []
        newest = max([*known, *(record.updated_at for record in page.records)], default=None)
        while answer.next and floor and _reaches(page, floor):
            self._store(page)
            answer = self.client.get_list(answer.next)
            page = self._take(answer)
        if self.job.options.since is not None:
            return self._store(page)
        is_new = self.cursor.watermark is None
        backlog = BY_CREATION.format(self.name) if first.next else None
        cursor = Cursor(newest, backlog if is_new else self.cursor.next)
        self._store(page, cursor, first.etag)
        return None

    def _floor(self) -> datetime | None:
        """Return the time down to which updates are read; None: the first page will do."""
        if self.job.options.since is not None:
            return datetime.combine(self.job.options.since, time(), UTC)
        return self.cursor.watermark - _OVERLAP if self.cursor.watermark else None

    def _read_backlog(self) -> None:
        start = BY_CREATION.format(self.name)
        may_restart = self.cursor.next != start
        while self.cursor.next:
            try:
                answer = self.client.get_list(self.cursor.next)
            except RefusedError as exc:
                if not may_restart or exc.status not in _STALE:
                    raise
                self.cursor, may_restart = replace(self.cursor, next=start), False
                continue
            may_restart = False
            self._say_how_long(answer)
            self._store(self._take(answer), replace(self.cursor, next=answer.next))

    def _say_how_long(self, answer: Answer) -> None:
        """Say once what it means to ask without a token."""
        if self.last_page is None and not self.client.has_token and answer.last_page:
            hours = -(-answer.last_page // _WITHOUT_TOKEN)
            time_needed = "this hour is enough" if hours == 1 else f"{hours} hours, a run in each"
            self.job.say(
                f"{self.job.repository.slug}: without GITHUB_TOKEN GitHub answers "
                f"{_WITHOUT_TOKEN} requests an hour; {answer.last_page} pages of pull requests: "
                f"{time_needed}. A token raises it to 5000"
            )
        self.last_page = answer.last_page or self.last_page

    def _take(self, answer: Answer) -> Page:
        page = parse_page(answer.data)
        self._identify(answer, page)
        return page

    def _identify(self, answer: Answer, page: Page | None) -> None:
        """Hold the answer to the repository that is meant, under whatever name it has now."""
        found = page.repository if page else None
        if found is None and answer.has_moved:
            said = self.client.get(f"/repos/{self.name}").data
            found = said["id"], str(said["full_name"])
        if found is None:
            return
        github_id, name = found
        if self.github_id not in (None, github_id):
            raise PayloadError(
                f"{self.name} is another repository now (GitHub's id {github_id}, it was "
                f"{self.github_id}): nothing of it was stored; find out where the old one went"
            )
        if (self.github_id, self.name) != (github_id, name):
            with write_transaction(self.job.engine) as connection:
                identify_repository(connection, self.repository, github_id, name)
            if self.name != name:
                self.job.say(f"{self.job.repository.slug}: {self.name} is called {name} now")
            self.github_id, self.name = github_id, name

    def _store(self, page: Page, cursor: Cursor | None = None, etag: str | None = None) -> None:
        """Store a page and what it moves, in one transaction."""
        unusable = {f"#{number}": reason for number, reason in page.unusable.items()}
        read = self.gaps & {f"#{record.number}" for record in page.records}
        with write_transaction(self.job.engine) as connection:
            stored = store_pull_requests(
                connection,
                self.repository,
                page.records,
                heads_are_gits=self.heads_are_gits,
                first_landing=self._first_landing,
            )
            settled = settle_pull_requests(connection, stored.keys, self.job.repository.landing)
            gap_store.note_gaps(connection, self.repository, STAGE, unusable)
            gap_store.close_gaps(connection, self.repository, STAGE, read)
            if cursor:
                store.set_cursor(connection, self.repository, STAGE, cursor.as_text(), _VERSION)
            if etag:
                gap_store.set_etag(connection, self.repository, STAGE, self.client.token_id, etag)
        self.cursor = cursor or self.cursor
        self.gaps = (self.gaps - read) | unusable.keys()
        self.counts["pull_requests"] += len(page.records)
        self.counts["rows_written"] += stored.written + settled
        total = self.last_page * _PER_PAGE if self.last_page else None
        self.job.report(STAGE, self.counts["pull_requests"], total)

    def _first_landing(self, record: PullRequestRecord) -> dict[str, Any]:
        """What becomes of a pull request that no commit names: written once instead of twice."""
        said = (record.state, record.merged_at, record.merge_sha, record.base_ref)
        row = settle(0, [], Word(*said, self.job.repository.default_branch))
        return {name: row[name] for name in LANDING_FIELDS}

    def _retry_gaps(self) -> None:
        """Ask one by one for pull requests that could not be read before."""
        numbers = [key[1:] for key in sorted(self.gaps) if key.startswith("#")]
        for number in numbers[:_MOST_RETRIED]:
            try:
                answer = self.client.get(ONE.format(self.name, number))
                self._store(parse_page([answer.data]))
            except (RefusedError, PayloadError, PassingError) as exc:
                self._note_gaps({f"#{number}": str(exc)})

    def _note_gaps(self, reasons: Mapping[str, str]) -> None:
        with write_transaction(self.job.engine) as connection:
            gap_store.note_gaps(connection, self.repository, STAGE, reasons)
        self.gaps |= reasons.keys()

    def _close_gaps(self, keys: set[str]) -> None:
        if found := self.gaps & keys:
            with write_transaction(self.job.engine) as connection:
                gap_store.close_gaps(connection, self.repository, STAGE, found)
            self.gaps -= found


def _reaches(page: Page, floor: datetime) -> bool:
    """Whether rows that changed after `floor` may stand on the page after this one."""
    return all(record.updated_at >= floor for record in page.records)
