"""Facts of the seeds that are removed retire instead of staying current or being deleted.

Contests, problems and submissions also say which corpus they come from, so that the seeds retire
their own rows only.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0007"
branch_labels = None
depends_on = None

text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
utc_time = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")

OWNED = ("contests", "contest_problems", "contest_submissions")
RETIRING = (*OWNED, "version_claims", "tool_releases", "claim_relations")


def upgrade() -> None:
    for name in OWNED:
        op.add_column(name, sa.Column("corpus", text, nullable=True))
    for name in RETIRING:
        op.add_column(name, sa.Column("retired_at", utc_time, nullable=True))


def downgrade() -> None:
    for name in RETIRING:
        op.drop_column(name, "retired_at")
    for name in OWNED:
        op.drop_column(name, "corpus")
