"""Words of titles, tags and headings by their trigrams, for queries with a slip of the finger.

Derived from the pages like page_index, and unknown to the models like it.
"""

from alembic import op

revision = "0014"
down_revision = "0012"
branch_labels = None
depends_on = None

TABLE = {
    "sqlite": "CREATE TABLE page_index_trigrams (trigram text NOT NULL, word text NOT NULL, "
    "PRIMARY KEY (trigram, word)) WITHOUT ROWID",
    "postgresql": 'CREATE TABLE page_index_trigrams (trigram text COLLATE "C" NOT NULL, '
    'word text COLLATE "C" NOT NULL, PRIMARY KEY (trigram, word))',
}


def upgrade() -> None:
    op.execute(TABLE[op.get_bind().dialect.name])


def downgrade() -> None:
    op.execute("DROP TABLE page_index_trigrams")
