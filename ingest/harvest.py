"""The stages of a harvest; each stands alone, moves its own cursor and can be run again.

    refs      one request to the remote: branch tip, heads of all pull requests
    mirror    a clone without blobs, or a fetch
    commits   first-parent history that is not stored yet, with paths
    link      what each new commit does to pull requests (again for all when the rules change)
    pulls     what GitHub's API says of pull requests, where a client is given
    classify  decision, tags and page of each pull request that these rules have not seen
    extras    what only GraphQL says of those that are kept, where the client has a token
    reconcile landed_state of all when its rules change; how well commits and API agree
    diffs     decisions with changed lines for those kept or deferred, where asked for
    extract   performance claims of each pull request that this extractor has not read

A stage that was killed leaves whole batches behind and goes on after them. What a rewritten
branch no longer has is marked, never deleted.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ingest.claims.stage import extract_stage
from ingest.decisions import classify_new, classify_with_diffs
from ingest.extras import read_extras
from ingest.git import RemoteRefs, first_parent_shas, list_remote, update_mirror
from ingest.gitlog import read_commits
from ingest.job import BATCH, Job, Options, batches
from ingest.landing import LANDING
from ingest.linker import LINKER, History, link
from ingest.pulls import read_pulls
from ingest.reconcile import reconcile, settle_pull_requests
from kwdb.db import read_transaction, write_transaction
from kwdb.errors import IngestError, UserError
from kwdb.locks import exclusive
from kwdb.records import CommitRecord, LinkRecord
from kwdb.store import harvest as store
from kwdb.store.gaps import gap_reasons


def harvest(job: Job) -> dict[str, Any]:
    """Run all stages for one repository and return their counts.

    The status is `incomplete` where something was asked for and could not be read; `message`
    says what.

    Raises:
        UserError: the remote, the mirror or the database cannot be used, or another harvest of
            this repository is at work; what was stored before stays.
    """
    with exclusive(job.mirror.with_suffix(".lock"), job.repository.full_name):
        _adopt_mirror(job)
        with write_transaction(job.engine) as connection:
            run = store.start_run(connection, job.repository.id, job.options.command)
        try:
            stages = _run_stages(job)
        except UserError as exc:
            _finish(job, run, "failed", {}, str(exc))
            raise
        missing = _missing(job, stages)
        status = "incomplete" if missing else "done"
        summary = {"repo": job.repository.slug, "status": status, "stages": stages}
        summary["rows_written"] = sum(counts.get("rows_written", 0) for counts in stages.values())
        _finish(job, run, status, summary, missing)
        return summary | ({"message": missing} if missing else {})


def _missing(job: Job, stages: dict[str, dict[str, Any]]) -> str | None:
    """Say what the API's stages or the diffs could not read; None where nothing is missing."""
    missing = [counts["failed"] for counts in stages.values() if "failed" in counts]
    if any(counts.get("gaps") for counts in stages.values()):
        with read_transaction(job.engine) as connection:
            reasons = gap_reasons(connection, job.repository.id)
        missing.append(f"{len(reasons)} {'gap' if len(reasons) == 1 else 'gaps'}: {reasons[0]}")
    return "; ".join(missing) or None


def _adopt_mirror(job: Job) -> None:
    """Take over the mirror that a former name of the repository has left."""
    for name in job.former_names:
        left = job.settings.cache_dir / "mirrors" / f"{name}.git"
        if left.is_dir() and not job.mirror.exists():
            left.rename(job.mirror)


def _finish(job: Job, run: int, status: str, summary: dict[str, Any], message: str | None) -> None:
    with write_transaction(job.engine) as connection:
        store.finish_run(connection, run, status, summary, message)


def _run_stages(job: Job) -> dict[str, dict[str, Any]]:
    stages = _run_git_stages(job) if job.options.git else {}
    if job.client:
        stages["pulls"] = read_pulls(job, job.client)
    stages["classify"] = classify_new(job)
    if job.client and job.client.has_token:
        stages["extras"] = read_extras(job, job.client)
        # A commit that closed a pull request may have landed it.
        stages["classify"] = _sum(stages["classify"], classify_new(job))
    stages["reconcile"] = reconcile(job)
    if job.options.diffs:
        stages["diffs"] = classify_with_diffs(job)
    stages["extract"] = extract_stage(job.engine, job.repository, job.report)
    return stages


def _sum(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    return {name: count + two[name] for name, count in one.items()}


def _run_git_stages(job: Job) -> dict[str, dict[str, Any]]:
    url, refs = _find_remote(job)
    stages = {"refs": _store_refs(job, refs)}
    moved = update_mirror(job.mirror, url, refs, partial(job.report, "mirror"))
    stages["mirror"] = {"updated": moved, "tip": refs.tip}
    stages["commits"] = _store_history(job, refs)
    stages["link"] = _link(job, refs)
    return stages


def _find_remote(job: Job) -> tuple[str, RemoteRefs]:
    """Ask the remote, under a former name where the present one is not served (a local copy)."""
    try:
        return job.url, list_remote(job.url, job.repository.default_branch)
    except IngestError:
        for name in job.former_names:
            url = f"{job.settings.clone_base}/{name}"
            with suppress(IngestError):
                return url, list_remote(url, job.repository.default_branch)
        raise


def _store_refs(job: Job, refs: RemoteRefs) -> dict[str, Any]:
    with write_transaction(job.engine) as connection:
        if job.repository.default_branch is None:
            store.set_default_branch(connection, job.repository.id, refs.branch)
        written = store.store_pull_heads(connection, job.repository.id, refs.pull_heads)
        count = str(len(refs.pull_heads))
        store.set_cursor(connection, job.repository.id, "refs", count, "1")
    return {"pull_requests": len(refs.pull_heads), "rows_written": written}


def _store_history(job: Job, refs: RemoteRefs) -> dict[str, Any]:
    """Add commits that are not stored, oldest first; mark those the branch no longer has."""
    repository = job.repository.id
    with read_transaction(job.engine) as connection:
        cursor = store.get_cursor(connection, repository, "commits")["cursor"]
        if cursor == refs.tip and not job.options.full:
            return {"commits": 0, "vanished": 0, "rows_written": 0}
        known = store.known_shas(connection, repository)
    shas = first_parent_shas(job.mirror, refs.branch)
    on_branch = set(shas)
    vanished = [sha for sha, reachable in known.items() if reachable and sha not in on_branch]
    returned = [sha for sha in shas if known.get(sha) is False]
    missing = [sha for sha in shas if sha not in known]
    if _fills_a_gap(shas, known):
        with write_transaction(job.engine) as connection:
            store.set_cursor(connection, repository, "link", None, LINKER)
    count, written = _store_commits(job, missing)
    _mark(job, vanished, returned)
    if job.options.since is None:
        with write_transaction(job.engine) as connection:
            store.set_cursor(connection, repository, "commits", refs.tip, "1")
    return {
        "commits": count,
        "vanished": len(vanished),
        "rows_written": written + len(vanished) + len(returned),
    }


def _fills_a_gap(shas: Sequence[str], known: Mapping[str, bool]) -> bool:
    """Whether a commit is missing before one that is stored, as `--since` leaves them.

    What the later ones do may depend on it, so all are linked again.
    """
    places = [place for place, sha in enumerate(shas) if sha in known]
    return bool(places) and places[-1] >= len(places)


def _store_commits(job: Job, missing: Sequence[str]) -> tuple[int, int]:
    keys, done, written = store.PathKeys(), 0, 0
    wanted = filter(partial(_is_wanted, job.options), read_commits(job.mirror, missing))
    for batch in batches(wanted, BATCH):
        with write_transaction(job.engine) as connection:
            written += store.store_commits(connection, job.repository.id, batch, keys)
        done += len(batch)
        job.report("commits", done, len(missing))
    return done, written


def _is_wanted(options: Options, commit: CommitRecord) -> bool:
    return options.since is None or commit.committed_at.date() >= options.since


def _mark(job: Job, vanished: Sequence[str], returned: Sequence[str]) -> None:
    if not vanished and not returned:
        return
    with write_transaction(job.engine) as connection:
        touched = {
            key
            for shas, reachable in ((vanished, False), (returned, True))
            for key in store.set_reachable(connection, job.repository.id, shas, reachable=reachable)
        }
        settle_pull_requests(connection, touched, job.repository.landing)


def _link(job: Job, refs: RemoteRefs) -> dict[str, Any]:
    """Link the commits after the cursor; all of them when the rules of the linker changed."""
    version = f"{LINKER}.{LANDING}-{job.repository.landing}"
    with read_transaction(job.engine) as connection:
        cursor = store.get_cursor(connection, job.repository.id, "link")
        last = cursor["cursor"] if cursor["version"] == version and not job.options.full else None
        if last == refs.tip:
            return {"commits": 0, "rows_written": 0}
        numbers = store.pull_request_keys(connection, job.repository.id)
    earlier, due = _branch_order(job, refs, last)
    history = History(job.names, job.repository.landing, refs.pull_heads)
    _remember(job, history, earlier)
    linked = written = 0
    for batch in batches(due, BATCH):
        written += _store_links(job, history, batch, numbers, version)
        linked += len(batch)
        job.report("link", linked, len(due))
    return {"commits": linked, "rows_written": written}


def _branch_order(job: Job, refs: RemoteRefs, last: str | None) -> tuple[list[int], list[int]]:
    """Return the keys of the stored commits, oldest first, up to `last` and after it."""
    with read_transaction(job.engine) as connection:
        keys = store.commit_keys(connection, job.repository.id)
    shas = [sha for sha in first_parent_shas(job.mirror, refs.branch) if sha in keys]
    start = shas.index(last) + 1 if last in keys and last in shas else 0
    order = [keys[sha] for sha in shas]
    return order[:start], order[start:]


def _remember(job: Job, history: History, keys: Sequence[int]) -> None:
    for batch in batches(keys, BATCH):
        with read_transaction(job.engine) as connection:
            links = store.read_links(connection, batch)
            found = store.read_commits(connection, [key for key in batch if key in links])
        for key, commit in found:
            history.remember(commit.sha, commit.subject, commit.message, links[key])


def _store_links(
    job: Job,
    history: History,
    keys: Sequence[int],
    numbers: dict[int, int],
    version: str,
) -> int:
    with read_transaction(job.engine) as connection:
        batch = store.read_commits(connection, keys)
    links: dict[int, list[LinkRecord]] = {}
    for key, commit in batch:
        links[key] = link(commit, history)
        history.remember(commit.sha, commit.subject, commit.message, links[key])
    wanted = {found.number for part in links.values() for found in part}
    repository = job.repository.id
    with write_transaction(job.engine) as connection:
        written = store.ensure_pull_requests(connection, repository, wanted, numbers)
        touched = store.linked_pull_requests(connection, links)
        written += store.store_links(connection, links, numbers)
        touched |= {numbers[number] for number in wanted}
        settle_pull_requests(connection, touched, job.repository.landing)
        store.set_cursor(connection, repository, "link", batch[-1][1].sha, version)
    return written
