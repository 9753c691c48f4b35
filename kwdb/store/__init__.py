"""The one writer: rows go in here and nowhere else, in the caller's transaction.

`rows` holds the one upsert path, `harvest` what a repository's history becomes, `pages` pages with
their tags and their place in the search index.
"""
