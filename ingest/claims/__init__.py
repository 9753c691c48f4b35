"""Performance claims, read out of the text of pull requests.

text.py      stored lines -> lines with wrapped table rows joined
document.py  lines -> headings, prose, tables, console output
figures.py   numbers with units; cells.py: those of a table cell
meaning.py   what a table's columns mean; tables.py: applied to its rows
console.py   benchmark prints; series.py: prints that belong together
prose.py     bullets and sentences; sentences.py: figures in their sentence
skip.py      what is not a claim
context.py   GPU, dtype, operation, caches, from the nearest place that says
extract.py   all of it together; plausible.py: claims that contradict themselves
stage.py     the stage of a harvest
"""

from ingest.claims.extract import EXTRACTOR, extract, extract_lines
from ingest.claims.record import ExtractedClaim

__all__ = ["EXTRACTOR", "ExtractedClaim", "extract", "extract_lines"]
