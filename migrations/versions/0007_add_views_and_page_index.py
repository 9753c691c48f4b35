"""Views for people, and the full-text index of pages in each engine's own form.

The index is derived from pages; the store fills it. On SQLite it is an FTS5 table whose rowid is
pages.pk, on PostgreSQL a tsvector beside pages.pk.
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

VIEWS = {
    "pr_overview": """
        SELECT r.slug AS repo, p.number, p.title, a.login AS author, p.landed_at, p.landed_state,
               p.decision,
               (SELECT {group_concat} FROM pull_request_tags pt JOIN tags t ON t.id = pt.tag_id
                WHERE pt.pull_request_id = p.id) AS tags,
               'https://github.com/' || r.full_name || '/pull/' || p.number AS url
        FROM pull_requests p
        JOIN repositories r ON r.id = p.repository_id
        LEFT JOIN actors a ON a.id = p.author_id""",
    "claim_overview": """
        SELECT c.id, COALESCE(c.page_id, p.page_id) AS page, g.name AS gpu, c.dtype, c.shape, c.op,
               c.variant, c.metric, c.value, c.unit_as_written AS unit, c.value_normalized,
               m.unit AS normalized_unit, c.baseline_value, c.role, c.status, c.status_reason,
               c.origin,
               COALESCE('https://github.com/' || r.full_name || '/pull/' || p.number, s.url, o.url)
                   AS source_url
        FROM performance_claims c
        JOIN metrics m ON m.name = c.metric
        LEFT JOIN gpus g ON g.id = c.gpu_id
        LEFT JOIN pull_requests p ON p.id = c.pull_request_id
        LEFT JOIN repositories r ON r.id = p.repository_id
        LEFT JOIN pages s ON s.id = c.source_page_id
        LEFT JOIN pages o ON o.id = c.page_id
        WHERE c.retired_at IS NULL""",
    "leaderboard": """
        SELECT op, shape, dtype, gpu, metric, variant, value, unit, status, origin, claim_id,
               claims_compared, comparable_key
        FROM (
            SELECT c.op, c.shape, c.dtype, g.name AS gpu, c.metric, c.variant,
                   c.value_normalized AS value, m.unit, c.status, c.origin, c.id AS claim_id,
                   c.comparable_key,
                   COUNT(*) OVER (PARTITION BY c.comparable_key) AS claims_compared,
                   ROW_NUMBER() OVER (
                       PARTITION BY c.comparable_key
                       ORDER BY CASE COALESCE(c.direction, m.direction)
                                WHEN 'higher_better' THEN -c.value_normalized
                                ELSE c.value_normalized END, c.id) AS place
            FROM performance_claims c
            JOIN metrics m ON m.name = c.metric
            LEFT JOIN gpus g ON g.id = c.gpu_id
            WHERE c.comparable_key IS NOT NULL AND c.value_normalized IS NOT NULL
              AND c.retired_at IS NULL AND COALESCE(c.role, 'single') <> 'before'
              AND c.status NOT IN ('invalidated', 'withdrawn', 'contradicted')
        ) ranked
        WHERE place = 1""",
    "page_tag_list": """
        SELECT pt.page_id, t.facet, t.name AS tag, pt.origin, c.name AS corpus, pt.basis, pt.rule,
               pt.evidence, pt.locator
        FROM page_tags pt
        JOIN tags t ON t.id = pt.tag_id
        JOIN corpora c ON c.id = pt.corpus_id""",
    "repository_coverage": """
        SELECT r.slug AS repo,
               (SELECT COUNT(*) FROM commits c
                WHERE c.repository_id = r.id AND c.is_reachable) AS commits,
               (SELECT COUNT(*) FROM pull_requests p
                WHERE p.repository_id = r.id) AS pull_requests,
               (SELECT COUNT(*) FROM pull_requests p
                WHERE p.repository_id = r.id AND p.landed_at IS NOT NULL) AS landed,
               (SELECT COUNT(DISTINCT l.commit_id) FROM commits c
                JOIN pull_request_commits l ON l.commit_id = c.id
                WHERE c.repository_id = r.id AND c.is_reachable
                  AND l.role IN ('landed', 'relands')) AS linked_commits,
               (SELECT ROUND(1.0 * COUNT(DISTINCT l.commit_id)
                             / NULLIF(COUNT(DISTINCT c.id), 0), 4) FROM commits c
                LEFT JOIN pull_request_commits l
                  ON l.commit_id = c.id AND l.role IN ('landed', 'relands')
                WHERE c.repository_id = r.id AND c.is_reachable) AS linked_share,
               (SELECT COUNT(*) FROM pull_requests p
                WHERE p.repository_id = r.id AND p.decision = 'include') AS included,
               (SELECT COUNT(*) FROM pull_requests p
                WHERE p.repository_id = r.id AND p.decision = 'exclude') AS excluded,
               (SELECT COUNT(*) FROM pull_requests p
                WHERE p.repository_id = r.id AND p.decision = 'defer') AS deferred,
               (SELECT COUNT(*) FROM performance_claims k
                JOIN pull_requests p ON p.id = k.pull_request_id
                WHERE p.repository_id = r.id AND k.retired_at IS NULL) AS claims,
               (SELECT MAX(h.finished_at) FROM harvest_runs h
                WHERE h.repository_id = r.id
                  AND h.status IN ('done', 'incomplete')) AS last_harvest,
               (SELECT COUNT(*) FROM harvest_gaps g WHERE g.repository_id = r.id) AS gaps
        FROM repositories r""",
}
GROUP_CONCAT = {
    "sqlite": "GROUP_CONCAT(t.name, ', ')",
    "postgresql": "STRING_AGG(t.name, ', ' ORDER BY t.facet, t.name)",
}
INDEX = {
    "sqlite": [
        "CREATE VIRTUAL TABLE page_index USING fts5(id, title, tags, headings, body, "
        "tokenize = 'porter unicode61 remove_diacritics 2')",
    ],
    "postgresql": [
        "CREATE TABLE page_index (pk integer PRIMARY KEY REFERENCES pages (pk) ON DELETE CASCADE, "
        "document tsvector NOT NULL)",
        "CREATE INDEX ix_page_index_document ON page_index USING gin (document)",
    ],
}


def upgrade() -> None:
    engine = op.get_bind().dialect.name
    for name, query in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query.format(group_concat=GROUP_CONCAT[engine])}")
    for statement in INDEX[engine]:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE page_index")
    for name in reversed(list(VIEWS)):
        op.execute(f"DROP VIEW {name}")
