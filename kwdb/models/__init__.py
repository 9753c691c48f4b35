"""The public schema as SQLAlchemy Core tables, one module per group."""

from kwdb.models.base import Text, UTCTime, metadata
from kwdb.models.bench import (
    bench_cases,
    bench_runs,
    bench_samples,
    correctness_checks,
    environments,
    kernel_artifacts,
)
from kwdb.models.claims import (
    claim_dimensions,
    claim_fields,
    claim_relations,
    performance_claims,
)
from kwdb.models.contests import (
    bundle_files,
    bundles,
    contest_problems,
    contest_submission_tags,
    contest_submissions,
    contests,
    tool_releases,
    version_claims,
)
from kwdb.models.harvest import harvest_cursors, harvest_gaps, harvest_runs
from kwdb.models.pages import corpora, page_links, page_tags, page_versions, pages
from kwdb.models.repositories import (
    actors,
    commit_paths,
    commits,
    ledger_entries,
    paths,
    pull_request_commits,
    pull_request_labels,
    pull_request_tags,
    pull_requests,
    repositories,
    repository_aliases,
)
from kwdb.models.values import facets
from kwdb.models.vocabulary import aliases, gpu_aliases, gpus, metrics, page_types, tags

__all__ = [
    "Text",
    "UTCTime",
    "actors",
    "aliases",
    "bench_cases",
    "bench_runs",
    "bench_samples",
    "bundle_files",
    "bundles",
    "claim_dimensions",
    "claim_fields",
    "claim_relations",
    "commit_paths",
    "commits",
    "contest_problems",
    "contest_submission_tags",
    "contest_submissions",
    "contests",
    "corpora",
    "correctness_checks",
    "environments",
    "facets",
    "gpu_aliases",
    "gpus",
    "harvest_cursors",
    "harvest_gaps",
    "harvest_runs",
    "kernel_artifacts",
    "ledger_entries",
    "metadata",
    "metrics",
    "page_links",
    "page_tags",
    "page_types",
    "page_versions",
    "pages",
    "paths",
    "performance_claims",
    "pull_request_commits",
    "pull_request_labels",
    "pull_request_tags",
    "pull_requests",
    "repositories",
    "repository_aliases",
    "tags",
    "tool_releases",
    "version_claims",
]
