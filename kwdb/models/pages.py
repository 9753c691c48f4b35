"""Pages: what each corpus says of them, the served row, their tags and links."""

import sqlalchemy as sa

from kwdb.models.base import Text, UTCTime, column, primary_key, reference, table

corpora = table(
    "corpora",
    "A body of pages: our seeds, the harvest, or one imported KernelWiki.",
    primary_key(),
    column("name", Text, "name that commands take", required=True),
    reference("kind", "corpus_kinds.name", "seed, harvest or import", required=True),
    column("location", Text, "where it was read from"),
    column("revision", Text, "commit or version of the source"),
    column("imported_at", UTCTime, "when it was last read"),
    sa.UniqueConstraint("name"),
)

pages = table(
    "pages",
    "The served row of a page, chosen manual > seed > newest import > harvest.",
    sa.Column(
        "pk", sa.Integer, primary_key=True, autoincrement=False, doc="key of the search index"
    ),
    column("id", Text, "unique text id, e.g. pr-vllm-20646", required=True),
    reference("type", "page_types.name", "kind of page", required=True),
    column("title", Text, "title as people read it", required=True),
    column("url", Text, "where the original stands"),
    column("vendor", Text, "hardware vendor the page is about"),
    reference("confidence", "confidence_levels.name", "how sure the page is"),
    reference("reproducibility", "reproducibility_levels.name", "how far it can be tried"),
    reference("source_category", "source_categories.name", "kind of document it cites"),
    column("published_on", sa.Date, "day of publication or landing"),
    column("captured_at", UTCTime, "when its content was read"),
    column("summary", Text, "one or two sentences"),
    reference("served_from", "corpora.id", "corpus whose version is served"),
    column("is_retired", sa.Boolean, "its source vanished; kept, but not found", required=True),
    sa.UniqueConstraint("id"),
    sa.Index(None, "type"),
)

page_versions = table(
    "page_versions",
    "The raw text of a page as one corpus has it, byte-exact.",
    primary_key(),
    reference("page_id", "pages.id", "the page", required=True),
    reference("corpus_id", "corpora.id", "the corpus", required=True),
    column("path", Text, "file within the corpus", required=True),
    column("front_matter_text", Text, "front matter as written, NULL where there is none"),
    column("front_matter", sa.JSON(none_as_null=True), "front matter as data, unknown keys kept"),
    column("fences", Text, "lines around the front matter where they are not plain --- lines"),
    column("body", sa.LargeBinary, "body bytes as they are in the file", required=True),
    column("body_sha256", Text, "hex digest of body", required=True),
    column("captured_at", UTCTime, "when this version was read", required=True),
    column("retired_at", UTCTime, "when the corpus no longer had it"),
    sa.UniqueConstraint("corpus_id", "page_id"),
    sa.UniqueConstraint("corpus_id", "path"),
    sa.Index(None, "page_id"),
)

page_tags = table(
    "page_tags",
    "A tag of a page with its origin; a rule's tag carries its evidence.",
    reference("page_id", "pages.id", "the page", required=True),
    reference("tag_id", "tags.id", "the term", required=True),
    reference("origin", "tag_origins.name", "front_matter, rule or manual", required=True),
    reference("corpus_id", "corpora.id", "corpus that says so", required=True),
    reference("basis", "tag_bases.name", "kind of evidence"),
    column("rule", Text, "rule of the classifier"),
    column("evidence", Text, "matched text, or the tag that implies this one"),
    column("locator", Text, "place of the evidence, e.g. body:12"),
    sa.PrimaryKeyConstraint("page_id", "tag_id", "origin", "corpus_id"),
    sa.CheckConstraint(
        "origin <> 'rule' OR (rule IS NOT NULL AND evidence IS NOT NULL AND locator IS NOT NULL)",
        name="rule_has_evidence",
    ),
    sa.Index(None, "tag_id", "page_id"),
)

page_aliases = table(
    "page_aliases",
    "Another name that a page gives itself.",
    reference("page_id", "pages.id", "the page", required=True),
    reference("corpus_id", "corpora.id", "corpus that says so", required=True),
    column("alias", Text, "case-folded key as in aliases.alias", required=True),
    column("display", Text, "the name as written", required=True),
    sa.PrimaryKeyConstraint("page_id", "corpus_id", "display"),
    sa.Index(None, "alias"),
)

corpus_files = table(
    "corpus_files",
    "A file of an imported corpus that is neither a page nor part of a bundle.",
    reference("corpus_id", "corpora.id", "the corpus", required=True, ondelete="CASCADE"),
    column("path", Text, "file within the corpus", required=True),
    column("kind", Text, "what the reader took it for: ledger, vocabulary …", required=True),
    column("reason", Text, "why it is no page, or was not read"),
    column("size_bytes", sa.BigInteger, "size found"),
    column("sha256", Text, "hex digest of content; NULL: not read"),
    column("content", sa.LargeBinary, "the file; NULL: not read"),
    sa.PrimaryKeyConstraint("corpus_id", "path"),
)

page_links = table(
    "page_links",
    "A link from a page to another id; the target need not exist.",
    primary_key(),
    reference("page_id", "pages.id", "the page that links", required=True),
    reference("corpus_id", "corpora.id", "corpus that says so", required=True),
    reference("kind", "link_kinds.name", "sources, related, prerequisites …", required=True),
    column("position", sa.Integer, "order within its kind, from 0", required=True),
    column("target", Text, "id linked to, as written", required=True),
    sa.UniqueConstraint("page_id", "corpus_id", "kind", "position"),
    sa.Index(None, "target"),
)
