"""What only GitHub's API knows of a pull request, and why its landed_state is what it is.

Columns are added by hand: a batch would rebuild the table below the views that read it.
"""

from alembic import op

revision = "0011"
down_revision = "0009"
branch_labels = None
depends_on = None

_TEXT = {"sqlite": "TEXT", "postgresql": 'TEXT COLLATE "C"'}
_TIME = {"sqlite": "TEXT", "postgresql": "TIMESTAMP WITH TIME ZONE"}
COLUMNS = {
    "landed_reason": _TEXT,
    "api_merge_sha": _TEXT,
    "closed_by_sha": _TEXT,
    "review_decision": _TEXT,
    "merged_by": _TEXT,
    "changed_files": dict.fromkeys(_TEXT, "INTEGER"),
    "extras_updated_at": _TIME,
}


def upgrade() -> None:
    engine = op.get_bind().dialect.name
    for name, types in COLUMNS.items():
        op.execute(f"ALTER TABLE pull_requests ADD COLUMN {name} {types[engine]}")


def downgrade() -> None:
    for name in reversed(COLUMNS):
        op.execute(f"ALTER TABLE pull_requests DROP COLUMN {name}")
