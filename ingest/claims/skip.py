"""What is not a claim: accuracy tables, test runs, compile times, sizes, settings, log lines."""

import re
from collections.abc import Sequence

from ingest.claims import rules
from ingest.claims.columns import side_of
from ingest.claims.document import Block

_SECONDS = re.compile(r"\d\s?s(?:ec\w*)?\b")


def table(block: Block, title: str) -> bool:
    """Whether a whole table is none: its header or the text above says what it holds instead."""
    header = " | ".join(block.header)
    if rules.pattern("costs_time").search(title) and _is_in_seconds(block):
        return True
    if rules.pattern("profiler_header").search(header):
        return True
    named = rules.words("not_claims", "table").search(header)
    if named and not rules.pattern("performance_header").search(header):
        return not (_holds_rates(block) or any(map(_is_condition, block.header)))
    above = [block.place.caption.text[-200:]] if block.place.caption else []
    text = " | ".join([*above, *(line.text for line in block.place.headings[-1:])])
    speaks = rules.pattern("speed_above").search(text + header)
    return rules.pattern("not_claims_above").search(text) is not None and speaks is None


def _is_condition(name: str) -> bool:
    """`PR autotune` beside `main autotune` says how it was run."""
    return side_of(name) is not None and rules.pattern("condition_column").search(name) is not None


def _is_in_seconds(block: Block) -> bool:
    return any(_SECONDS.search(cell) for row in block.rows[:3] for cell in row.cells)


def _holds_rates(block: Block) -> bool:
    labels = [row.cells[0] for row in block.rows if row.cells]
    return any(rules.pattern("rate_label").search(label) for label in labels)


def column(name: str, *, has_unit: bool) -> bool:
    """Whether a column holds no figures of performance, by its name.

    With a unit only the strict words count; `PR autotune` beside `main autotune` is a condition.
    """
    found = rules.words("not_claims", "column").search(name)
    if found is None or rules.words("ratio_words").search(name):
        return False
    if has_unit and _is_condition(name):
        return False
    return not has_unit or rules.pattern("strict_column").search(found[0]) is not None


def dimension(name: str) -> bool:
    """Whether a column says what was measured, not how fast it was."""
    stripped = re.sub(r"[^\w# -]+", " ", name).strip()
    if not stripped or rules.pattern("speed_above").search(name):
        return False
    return rules.words("dimension_words").search(stripped) is not None


def row(label: str) -> bool:
    """Whether a row or a `key: value` line is a setting, a count, or not about speed."""
    return rules.words("not_claims", "row").search(label) is not None


def is_about_speed(block: Block, title: str) -> bool:
    """Whether header, caption, a heading or the title speaks of performance."""
    texts = [title, " ".join(block.header), *(line.text for line in block.place.headings)]
    texts += [line.text for line in block.place.section]
    patterns = rules.pattern("speed_above"), rules.words("speed_words")
    return any(pattern.search(text) for text in texts for pattern in patterns)


def noise(line: str) -> bool:
    """Whether a console line is a progress bar, a test run, a shell time or source code."""
    return rules.pattern("noise_line").search(line) is not None


def command(line: str) -> bool:
    """Whether a console line is a command or one of its options."""
    return rules.pattern("cased", "command_line").match(line) is not None


def evaluation(lines: Sequence[str]) -> bool:
    """Whether neighbouring lines are those of an accuracy run, whose times are not claims."""
    return any(rules.pattern("run_mark").search(line) for line in lines)


def serving(lines: Sequence[str]) -> bool:
    """Whether a serving benchmark's report began in the lines above."""
    return any("Serving Benchmark Result" in line for line in lines)


def timestamped(line: str) -> bool:
    """Whether a line is a log entry with a time of day."""
    return rules.pattern("log_time").search(line) is not None


def compiling(text: str) -> bool:
    """Whether a text speaks of compiling, tuning, building or starting up."""
    return rules.pattern("compiling").search(text) is not None
