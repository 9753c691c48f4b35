"""The vocabulary of the field: tags, aliases, page types, GPUs and metrics."""

import sqlalchemy as sa

from kwdb.models.base import Text, column, primary_key, reference, table

tags = table(
    "tags",
    "One term of the controlled vocabulary.",
    primary_key(),
    reference("facet", "facets.name", "kind of term: technique, architecture …", required=True),
    column("name", Text, "the term as queries spell it, e.g. sm100", required=True),
    column("description", Text, "one sentence that says what the term means"),
    sa.UniqueConstraint("facet", "name"),
    sa.Index(None, "name"),
)

aliases = table(
    "aliases",
    "A word or phrase that people type, and the term it stands for.",
    primary_key(),
    column("alias", Text, "case-folded key, runs of other signs as one blank", required=True),
    column("display", Text, "the alias as people write it", required=True),
    reference("tag_id", "tags.id", "the term meant", required=True, ondelete="CASCADE"),
    reference("basis", "tag_bases.name", "exact word, product or family name", required=True),
    column("source", Text, "document the mapping comes from", required=True),
    column("note", Text, "what a reader should know about this mapping"),
    sa.UniqueConstraint("alias", "tag_id"),
    sa.Index(None, "tag_id"),
)

page_types = table(
    "page_types",
    "A kind of page; an open list that imports may extend.",
    sa.Column("name", Text, primary_key=True, doc="the type, e.g. wiki-kernel"),
    column("layer", Text, "source for cited documents, wiki for synthesis", required=True),
    column("id_prefix", Text, "how ids of this type begin, e.g. kernel-", required=True),
    reference(
        "min_reproducibility", "reproducibility_levels.name", "least level such a page must reach"
    ),
    column("description", Text, "what pages of this type hold", required=True),
)

gpus = table(
    "gpus",
    "A GPU product with the figures of its data sheet; peaks are dense, not sparse.",
    primary_key(),
    column("name", Text, "canonical short name, e.g. B200", required=True),
    column("vendor", Text, "maker of the GPU", required=True),
    reference("architecture_tag_id", "tags.id", "its architecture, e.g. sm100", required=True),
    column("compute_capability", Text, "CUDA compute capability, e.g. 10.0"),
    column("sm_count", sa.Integer, "streaming multiprocessors enabled"),
    column("l2_mib", sa.Float, "L2 cache in MiB (2^20 bytes)"),
    column("memory_gib", sa.Float, "device memory as the data sheet has it"),
    column("bandwidth_gb_s", sa.Float, "memory bandwidth in GB/s (10^9 bytes)"),
    column("peak_fp16_tflops", sa.Float, "dense FP16 tensor peak in TFLOPS"),
    column("peak_fp8_tflops", sa.Float, "dense FP8 tensor peak in TFLOPS"),
    column("peak_fp4_tflops", sa.Float, "dense FP4 tensor peak in TFLOPS"),
    column("note", Text, "variant meant, known disagreements between sources"),
    column("source", Text, "document the figures come from", required=True),
    sa.UniqueConstraint("name"),
)

gpu_aliases = table(
    "gpu_aliases",
    "Another spelling of a GPU's name.",
    sa.Column("alias", Text, primary_key=True, doc="case-folded key as in aliases.alias"),
    reference("gpu_id", "gpus.id", "the GPU meant", required=True, ondelete="CASCADE"),
)

metrics = table(
    "metrics",
    "A quantity that claims are made of, with its one normalised unit.",
    sa.Column("name", Text, primary_key=True, doc="e.g. latency"),
    column("unit", Text, "unit of value_normalized, e.g. us", required=True),
    column("direction", Text, "higher_better or lower_better", required=True),
    column("description", Text, "what is counted", required=True),
    sa.CheckConstraint("direction IN ('higher_better', 'lower_better')", name="direction_known"),
)
