"""KernelWiki in and out: foreign trees of Markdown pages, ledgers and vocabulary files.

    tree ──► yamls ──► pages | vocabulary | ledgers | registries | bundles ──► reading ──► store
                                                                    export ◄── store

Nothing here trusts a tree: only regular files below its root are opened, YAML is measured before
it is built, and what cannot be used is kept as it is and named in the report.
"""
