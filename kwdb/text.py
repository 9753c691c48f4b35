"""Words: how text is cut into terms, the same for both search engines and for aliases."""

import re

_BETWEEN_WORDS = re.compile(r"[\W_]+")
_CREDENTIALS = re.compile(r"//[^/\s@'\"]+@")
_HOME = re.compile(r"""(?<![\w.])(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s"'`<>:,;)\]]+""")
_HOME_SIGNS = ("/home/", "/Users/", ":\\Users\\")
_SECTION = re.compile(r"^## ", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE)


def fold(text: str) -> str:
    """Return the key under which a word or phrase is known.

    Case-folded, every run of signs that are neither letters nor digits as one blank: both
    `cta_group::2` and "CTA group 2" give `cta group 2`. Empty when there is no letter or digit.
    """
    return _BETWEEN_WORDS.sub(" ", text.casefold()).strip()


def storable(text: str) -> str:
    """Return text as both engines take it: NUL as U+FFFD, lone surrogates as backslash escapes.

    Nothing else is changed and nothing is cut.
    """
    return text.replace("\0", "\ufffd").encode("utf-8", "backslashreplace").decode("utf-8")


def without_credentials(text: str) -> str:
    """Return text in which URLs have lost their user and password."""
    return _CREDENTIALS.sub("//", text)


def headings(markdown: str) -> str:
    """Return the texts of a Markdown document's `#` headings, one a line."""
    texts = (found.strip().rstrip("#").rstrip() for found in _HEADING.findall(markdown))
    return "\n".join(text for text in texts if text)


def first_section(markdown: str, most: int) -> str:
    """Return the first section of a Markdown document below its title, of `most` signs at most.

    It is cut between lines. Without a section, the document itself counts as one.
    """
    starts = [match.start() for match in _SECTION.finditer(markdown)] or [0]
    section = markdown[slice(*[*starts, None][:2])].strip()
    return section if len(section) <= most else section[:most].rpartition("\n")[0].rstrip() + "\n…"


def scrub(text: str) -> str:
    """Replace home directories, which name people, by `~`: /home/jane/x.cu gives ~/x.cu."""
    return _HOME.sub("~", text) if any(sign in text for sign in _HOME_SIGNS) else text


def trigrams(word: str) -> set[str]:
    """Return all runs of three signs of `  word `, padded as PostgreSQL's pg_trgm pads."""
    padded = f"  {word} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}
