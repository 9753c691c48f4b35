"""Rules of `kwdb check` on imported corpora; they need the classifier, so they live here."""

from typing import Final

from ingest.kernelwiki.checks import evidence, files, form, graph, texts, truth
from kwdb.check.rules import Rule

RULES: Final[tuple[Rule, ...]] = (
    *form.RULES,
    *evidence.RULES,
    *truth.RULES,
    *texts.RULES,
    *graph.RULES,
    *files.RULES,
)
