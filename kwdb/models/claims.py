"""Performance claims, what they say field by field, and how they stand to each other."""

import sqlalchemy as sa

from kwdb.models.base import Text, UTCTime, column, primary_key, reference, table

performance_claims = table(
    "performance_claims",
    "One figure that somebody reported, that we extracted, or that we measured.",
    primary_key(),
    column(
        "claim_key",
        Text,
        "sha256 of source kind, source id, evidence, metric, value, variant, ordinal",
        required=True,
    ),
    reference("page_id", "pages.id", "page the claim stands on"),
    reference("pull_request_id", "pull_requests.id", "pull request it was read from"),
    column("source_page_id", Text, "id of the page it cites; need not exist"),
    reference("origin", "claim_origins.name", "reported, extracted or measured", required=True),
    reference("status", "claim_statuses.name", "how far it is trusted", required=True),
    column("status_reason", Text, "why it has this status"),
    column("status_by", Text, "rule key, or person:NAME, which no rule overrides"),
    reference("gpu_id", "gpus.id", "GPU named; NULL: not stated"),
    reference("architecture_tag_id", "tags.id", "architecture where only that is named"),
    column("gpu_count", sa.Integer, "how many GPUs together"),
    column("dtype", Text, "number format as written"),
    column("op", Text, "operation, short name"),
    column("variant", Text, "backend or column the figure belongs to"),
    column("shape", Text, "shape as written"),
    reference("metric", "metrics.name", "what is counted", required=True),
    column("unit_as_written", Text, "unit as the source has it; NULL: none written"),
    column("value_text", Text, "figure as the source has it"),
    column("value", sa.Float, "figure as a number in unit_as_written"),
    column("value_max", sa.Float, "upper end of a range"),
    column("value_normalized", sa.Float, "figure in the metric's unit"),
    column("qualifier", Text, "range, geomean, mean, approx, up_to, at_least, worst"),
    column("statistic", Text, "median, mean, p50, p99 …"),
    column("direction", Text, "which way is better for this figure"),
    reference("role", "claim_roles.name", "after, before, single or ratio"),
    column("baseline_value", sa.Float, "figure compared with, in unit_as_written"),
    column("baseline_label", Text, "what is compared with"),
    column("ratio_of", Text, "what a ratio, percentage or delta is of"),
    column("utilization", Text, "share of a roof as written"),
    column("cache_state", Text, "cold, hot; NULL: not stated"),
    column("timing_scope", Text, "amortized_graph, single_launch, python_call"),
    column("comparable_key", Text, "equal for figures that may be compared; NULL: with none"),
    reference("confidence", "confidence_levels.name", "how sure the source is"),
    reference("reproducibility", "reproducibility_levels.name", "how far it can be tried"),
    column("evidence", Text, "matched text as stored"),
    column("evidence_line", sa.Integer, "its line; 0 is the title"),
    column("extractor", Text, "version of the extractor, or seed:KEY of the seed row"),
    reference("bench_case_id", "bench_cases.id", "our measurement"),
    column("claimed_on", sa.Date, "day of the claim"),
    column("retired_at", UTCTime, "when its source no longer had it"),
    sa.UniqueConstraint("claim_key"),
    sa.CheckConstraint(
        "origin <> 'measured' OR bench_case_id IS NOT NULL", name="measured_has_case"
    ),
    sa.CheckConstraint(
        "origin <> 'extracted' OR (pull_request_id IS NOT NULL AND extractor IS NOT NULL"
        " AND evidence IS NOT NULL)",
        name="extracted_has_evidence",
    ),
    sa.CheckConstraint(
        "origin <> 'reported' OR page_id IS NOT NULL OR source_page_id IS NOT NULL",
        name="reported_has_source",
    ),
    sa.CheckConstraint("direction IN ('higher_better', 'lower_better')", name="direction_known"),
    sa.Index(None, "page_id"),
    sa.Index(None, "pull_request_id"),
    sa.Index(None, "source_page_id"),
    sa.Index(None, "gpu_id", "metric"),
    sa.Index(None, "comparable_key"),
)

claim_dimensions = table(
    "claim_dimensions",
    "A named dimension of a claim's shape, e.g. M = 128.",
    reference("claim_id", "performance_claims.id", "the claim", required=True),
    column("name", Text, "dimension as the source names it", required=True),
    column("value_number", sa.Float, "value where it is a number"),
    column("value_text", Text, "value as written"),
    sa.PrimaryKeyConstraint("claim_id", "name"),
)

claim_fields = table(
    "claim_fields",
    "Whether a field of a claim was stated by its source or derived by us.",
    reference("claim_id", "performance_claims.id", "the claim", required=True),
    column("field", Text, "column of performance_claims", required=True),
    reference("basis", "claim_field_bases.name", "stated or derived", required=True),
    column("place", Text, "where it was read: cell, header, caption, heading, title …"),
    sa.PrimaryKeyConstraint("claim_id", "field"),
)

claim_relations = table(
    "claim_relations",
    "What one claim says about another.",
    primary_key(),
    reference("claim_id", "performance_claims.id", "the claim that speaks", required=True),
    reference("other_claim_id", "performance_claims.id", "the claim spoken of", required=True),
    reference("relation", "claim_relation_kinds.name", "reproduces, contradicts …", required=True),
    column("ratio", sa.Float, "value of the claim over value of the other"),
    column("differing_fields", Text, "conditions that differ, comma-separated"),
    column("evidence", Text, "what the relation rests on"),
    column("decided_by", Text, "rule key or person:NAME", required=True),
    column("decided_at", UTCTime, "when it was decided"),
    column("retired_at", UTCTime, "when its seed row went"),
    sa.UniqueConstraint("claim_id", "other_claim_id", "relation"),
    sa.CheckConstraint("claim_id <> other_claim_id", name="not_itself"),
    sa.Index(None, "other_claim_id"),
)
