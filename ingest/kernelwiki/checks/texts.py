"""Rules on the text of imported pages: what copying and cutting left behind."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from ingest.kernelwiki.checks.gather import ImportedCorpus, ImportedPage, each_corpus, each_page
from kwdb.check.rules import Case, Rule
from kwdb.text import scrub

_CUT: Final = 300
_LISTED: Final = 10
# The excerpt between these headings of the generator may hold headings of its own.
_SUMMARY: Final = re.compile(r"## Summary\r?\n\r?\n(.*?)\r?\n\r?\n## Problem\r?\n", re.DOTALL)
_PROBLEM: Final = re.compile(r"^## Problem\s*\n+(.*?)(?=\n+## |\Z)", re.MULTILINE | re.DOTALL)
_WHOLE: Final = (".", "!", ")")
_TEMPLATE: Final = re.compile(
    r"<!--|pull request checklist|essential elements|thank you for contributing|pr title"
    r"|no description provided|valid ticket"
)
_RULE_LINE: Final = re.compile(r"^---\s*$", re.MULTILINE)
_LINK: Final = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s#?]+\.md)(?:#[^)\s]*)?\)")
_KEY: Final = re.compile(r"^([A-Za-z_][\w-]*)\s*:", re.MULTILINE)


def _crlf(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if b"\r\n" in page.raw:
        where = "body" if "\r\n" not in (page.head_text or "") else "page"
        yield f"{page.raw.count(bytes([13, 10]))} lines of the {where}"


def _no_text(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    try:
        page.raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        yield f"byte {exc.start} of the body"


def _mark(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if (page.fences or "").startswith("\ufeff"):
        yield "U+FEFF"


def _double_keys(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    keys = _KEY.findall(page.head_text or "") if page.is_readable else []
    yield from (key for key in dict.fromkeys(keys) if keys.count(key) > 1)


def _excerpt(page: ImportedPage) -> str:
    """The generator's excerpt of a pull request's description, as it stands in the file."""
    found = _SUMMARY.search(page.raw.decode("utf-8", "replace"))
    return found[1] if found and page.type == "source-pr" else ""


def _cut(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    excerpt = _excerpt(page)
    if len(excerpt) == _CUT and not excerpt.rstrip().endswith(_WHOLE):
        yield f"after {_CUT} signs"


def _echo(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    problem = _PROBLEM.search(page.text)
    if page.type == "source-pr" and problem and problem[1].strip() == page.title.strip():
        yield "Problem"


def _noise(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if found := _TEMPLATE.search(_excerpt(page).lower()):
        yield repr(found[0])


def _open_fence(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if (count := page.text.count("```")) % 2:
        yield f"{count} fences"


def _open_html(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    for start, end in (("<details>", "</details>"), ("<!--", "-->")):
        if page.text.count(start) > page.text.count(end):
            yield start


def _rule_line(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.head_text is not None and _RULE_LINE.search(page.text):
        yield "---"


def _title(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    if page.title.rstrip().endswith(("…", "...")):
        yield "is cut"
    if page.title != page.title.strip():
        yield "begins or ends with a blank"
    if "\n" in page.title.strip():
        yield "has several lines"


def _same_title(corpus: ImportedCorpus) -> Iterator[Case]:
    by_title: dict[str, list[str]] = defaultdict(list)
    for page in corpus.pages:
        if page.type != "source-pr" and page.title.strip():
            by_title[page.title.strip()].append(page.id)
    for ids in by_title.values():
        yield from ((id_, f"that of {ids[0]}") for id_ in ids[1:])


def _home(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    given = f"{page.head_text or ''}\n{page.text}"
    if scrub(given) != given:
        yield "in the title" if scrub(page.title) != page.title else "in the text"


def _paths(page: ImportedPage, _: ImportedCorpus) -> Iterator[str]:
    given = page.head.get("changed_paths")
    if page.type == "source-pr" and isinstance(given, list):
        total = page.head.get("changed_paths_total")
        if not given:
            yield "none"
        elif (len(given) == _LISTED and total in (None, True)) or (
            isinstance(total, int) and total > len(given)
        ):
            yield f"{len(given)} of {total or 'more'}"


def _dead_links(page: ImportedPage, corpus: ImportedCorpus) -> Iterator[str]:
    for target in dict.fromkeys(_LINK.findall(page.text)):
        if "://" in target:
            continue
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), unquote(target)))
        from_root = posixpath.normpath(unquote(target).lstrip("/"))
        if place not in corpus.paths and from_root not in corpus.paths:
            yield target


RULES: Final = (
    Rule(
        "body-crlf",
        "notice",
        "a page mixes line ends",
        "store line feeds alone, so that tools see the same lines",
        each_page(_crlf),
    ),
    Rule("body-encoding", "error", "a body is no UTF-8", "convert it", each_page(_no_text)),
    Rule(
        "head-byte-order-mark",
        "notice",
        "a page begins with a byte order mark",
        "remove it",
        each_page(_mark),
    ),
    Rule(
        "head-key-twice",
        "error",
        "a front matter gives a field twice, and the last one wins",
        "remove one",
        each_page(_double_keys),
    ),
    Rule(
        "body-cut",
        "notice",
        "an excerpt is cut in the middle",
        "keep the whole description, or say where it goes on",
        each_page(_cut),
    ),
    Rule(
        "body-echo",
        "notice",
        "a section only repeats the title",
        "say what the problem was, or leave the section out",
        each_page(_echo),
    ),
    Rule(
        "body-template",
        "notice",
        "a summary holds text of a pull-request template",
        "remove it",
        each_page(_noise),
    ),
    Rule(
        "body-fence-open",
        "warning",
        "a code block is not closed",
        "close it: what follows reads as code",
        each_page(_open_fence),
    ),
    Rule(
        "body-html-open",
        "warning",
        "an HTML element or comment is not closed",
        "close it: what follows is hidden",
        each_page(_open_html),
    ),
    Rule(
        "body-rule-line",
        "notice",
        "a body has a line that splits front matters",
        "write *** for a rule",
        each_page(_rule_line),
    ),
    Rule(
        "body-link-broken",
        "error",
        "a body links to a file that the corpus does not have",
        "correct the link",
        each_page(_dead_links),
    ),
    Rule(
        "title-shape",
        "notice",
        "a title is cut, padded or several lines long",
        "write one whole line",
        each_page(_title),
    ),
    Rule(
        "title-twice",
        "notice",
        "two pages have one title",
        "say what tells them apart",
        each_corpus(_same_title),
    ),
    Rule(
        "home-path",
        "warning",
        "a page shows somebody's home directory",
        "write ~; kwdb does so wherever it shows the page",
        each_page(_home),
    ),
    Rule(
        "paths-incomplete",
        "notice",
        "a list of changed paths is empty or cut",
        "list all, or their number",
        each_page(_paths),
    ),
)
