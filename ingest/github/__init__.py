"""GitHub's API: asked politely, one request at a time, and never believed too easily.

    token      who asks: GITHUB_TOKEN, else what `gh auth token` says, else nobody
    governor   one for the host: limits, waits, and when to stop for today
    client     one exchange: conditional, retried, checked; links followed, never built
    pulls      pages of pull requests as records
    extras     what only GraphQL says, asked for a few pull requests at a time

Nothing here knows of a database.
"""
