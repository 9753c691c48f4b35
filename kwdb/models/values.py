"""Closed value sets, each a table of names; their rows come from seeds/value_sets.yaml."""

import sqlalchemy as sa

from kwdb.models.base import column, value_set

_RANK = "order of the values, 1 is the weakest"


def _rank() -> sa.Column[int]:
    return column("rank", sa.Integer, _RANK, required=True)


actor_kinds = value_set("actor_kinds", "What an actor is: a person, a bot, an organisation.")
api_states = value_set("api_states", "State of a pull request as GitHub's API gives it.")
claim_field_bases = value_set(
    "claim_field_bases", "Whether the source states a field of a claim or we derived it."
)
claim_origins = value_set("claim_origins", "How a claim came to us.")
claim_relation_kinds = value_set("claim_relation_kinds", "What one claim says about another.")
claim_roles = value_set("claim_roles", "Which side of a comparison a figure is.")
claim_statuses = value_set("claim_statuses", "How far a claim is trusted.")
commit_roles = value_set("commit_roles", "What a commit does to a pull request.")
confidence_levels = value_set("confidence_levels", "How sure a page is of what it says.", _rank())
corpus_kinds = value_set("corpus_kinds", "Where the pages of a corpus come from.")
decisions = value_set("decisions", "Outcome of triage.")
facets = value_set("facets", "Kinds of tags.")
landed_states = value_set("landed_states", "What became of a pull request on the main branch.")
landing_styles = value_set(
    "landing_styles", "How a repository lands pull requests; selects the rules of the linker."
)
link_kinds = value_set("link_kinds", "Why one page points at another; an open list.")
reproducibility_levels = value_set(
    "reproducibility_levels", "How far a page's technique can be tried from its text.", _rank()
)
source_categories = value_set("source_categories", "What kind of document a source page cites.")
tag_bases = value_set("tag_bases", "What kind of evidence stands behind a tag.")
tag_origins = value_set("tag_origins", "Who gave a page its tag.")
