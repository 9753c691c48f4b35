"""The tools: what an agent may ask, in the words by which it chooses."""

import time
from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, Final

import sqlalchemy as sa
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import AfterValidator, Field

from kwdb import claim_queries, diagnosis, queries
from kwdb.freshness import read_freshness
from kwdb.mcp.answers import Document, show
from kwdb.mcp.reading import Reader, refusing
from kwdb.search import Filters, search_pages

BODY_SIGNS: Final = 12_000
"""So many signs of a page's body come in one answer; `body_offset` goes on from there."""

# Counting all repositories takes the better part of a second, and changes with a harvest.
_COVERAGE_SECONDS: Final = 60


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("the sign NUL is not allowed")
    return text


def _text(description: str, longest: int = 200) -> Any:
    return Field(description=description, max_length=longest)


Words = Annotated[str, AfterValidator(_without_nul)]
Maybe = Annotated[str | None, AfterValidator(lambda text: _without_nul(text or "") or None)]


class Tools:
    """One method a tool; its docstring is the tool's description."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._coverage: tuple[float, Document, Document] = (0.0, {}, {})

    def search(
        self,
        text: Annotated[Words, _text("Words, ids, repo and number; any text is a query.", 2_000)],
        type: Annotated[  # noqa: A002 - the word that agents expect
            Maybe, _text("kernel, technique, pattern, hardware, pr, doc …")
        ] = None,
        tags: Annotated[
            list[Words] | None,
            Field(description="Tags, aliases or facet:name; all must hold.", max_length=10),
        ] = None,
        repo: Annotated[Maybe, _text("Repository slug or owner/name.")] = None,
        architecture: Annotated[Maybe, _text("sm100, B200, Hopper …")] = None,
        exact: Annotated[
            bool, Field(description="Leave out pages that only name the family (Blackwell).")
        ] = False,
        language: Annotated[Maybe, _text("cuda-cpp, triton, cute-dsl, ptx …")] = None,
        symptom: Annotated[Maybe, _text("memory-bound, tail-effect …")] = None,
        confidence: Annotated[Maybe, _text("verified, source-reported …")] = None,
        since: Annotated[date | None, Field(description="Not before this day, YYYY-MM-DD.")] = None,
        has_claims: Annotated[
            bool, Field(description="Only pages with performance claims.")
        ] = False,
        limit: Annotated[int, Field(ge=1, le=50, description="At most so many results.")] = 10,
    ) -> CallToolResult:
        """Find pages about GPU kernels: techniques, hardware, kernels, pull requests, sources.

        Start here when you look for something by words, and follow with get_page. Aliases and
        slips of the finger are understood. An answer with total 0 means that nothing is known:
        say so instead of guessing. For a performance problem ask diagnose first.
        """
        filters = Filters(
            type,
            tuple(tags or ()),
            repo,
            architecture,
            exact,
            language,
            symptom,
            confidence,
            since,
            has_claims,
        )
        return self._reader.ask(
            lambda connection: asdict(search_pages(connection, text, filters, limit=limit))
        )

    def get_page(
        self,
        page: Annotated[Words, _text("Page id, OWNER/NAME#N or SLUG#N.")],
        body_offset: Annotated[
            int, Field(ge=0, description="Go on with the body here: next_offset of an answer.")
        ] = 0,
        follow_sources: Annotated[
            bool, Field(description="Add an excerpt of each page it cites.")
        ] = False,
        include_code: Annotated[
            bool, Field(description="Add the files of code behind it.")
        ] = False,
        corpus: Annotated[Maybe, _text("Show it as this corpus has it.")] = None,
    ) -> CallToolResult:
        """Read one page or pull request: text, tags with evidence, links, commits and claims.

        Use it with an id from search or diagnose, or with a pull request such as vllm#20646. A
        long body comes in parts; a wrong id is answered with the nearest ones.
        """
        return self._reader.ask(
            lambda connection: part_of(
                queries.show(
                    connection,
                    page,
                    corpus=corpus,
                    follow_sources=follow_sources,
                    include_code=include_code,
                ),
                body_offset,
            )
        )

    def diagnose(
        self, text: Annotated[Words, _text("What is seen, in plain words.", 2_000)]
    ) -> CallToolResult:
        """Say what to try when a kernel is slow: from a symptom to patterns, techniques, proof.

        Ask it what a profiler or the compiler shows ("memory bound and registers spill", "last
        wave leaves SMs idle"). Each pattern comes with candidate techniques in order, and with
        the kernels, pull requests and claims that show them, each claim with its status. Where
        nothing fits, total is 0 and the nearest known symptoms are listed.
        """
        return self._reader.ask(lambda connection: diagnosis.diagnose(connection, text))

    def claims(
        self,
        gpu: Annotated[Maybe, _text("B200, H100 …, in any spelling.")] = None,
        op: Annotated[Maybe, _text("Operation, e.g. gemm or ttft.")] = None,
        dtype: Annotated[Maybe, _text("Number format, e.g. nvfp4.")] = None,
        metric: Annotated[Maybe, _text("latency, speedup, bandwidth …")] = None,
        status: Annotated[Maybe, _text("supported, unreviewed, disputed …")] = None,
        origin: Annotated[Maybe, _text("reported, extracted or measured.")] = None,
        repo: Annotated[Maybe, _text("Repository slug or owner/name.")] = None,
        page: Annotated[Maybe, _text("Id of a page that makes or bears the claims.")] = None,
        best: Annotated[
            bool, Field(description="Only the leader of each set of comparable figures.")
        ] = False,
        limit: Annotated[int, Field(ge=1, le=100, description="At most so many claims.")] = 10,
    ) -> CallToolResult:
        """List performance figures with conditions, source and how far each can be trusted.

        Use it for "how fast is X on Y". Quote a figure with its status: supported and reproduced
        were checked against the source or a measurement, unreviewed was read by a program only,
        disputed, contradicted, withdrawn and invalidated must not be used as facts. Only figures
        of one comparable_key may be compared.
        """
        filters = claim_queries.ClaimFilters(gpu, op, dtype, metric, status, origin, repo, page)
        ask = claim_queries.best_claims if best else claim_queries.list_claims

        def answer(connection: sa.Connection) -> Document:
            total, found = ask(connection, filters, limit=limit)
            return {"total": total, "claims": [_stated(claim) for claim in found]}

        return self._reader.ask(answer)

    def sql(
        self,
        query: Annotated[
            Words, _text("One SELECT; SQLite or PostgreSQL, as coverage says.", 20_000)
        ],
        limit: Annotated[int, Field(ge=1, le=500, description="At most so many rows.")] = 100,
    ) -> CallToolResult:
        """Ask the database in SQL, when no other tool counts or joins what you need.

        Only reading is possible, for some seconds. Read the resource kwdb://schema first; good
        beginnings are the views pr_overview, claim_overview, leaderboard, page_tag_list and
        repository_coverage.
        """
        found = self._reader.queries.ask(query, limit)
        if said := found.get("refused"):
            raise ToolError(said)
        with refusing():
            return show(found | {"freshness": self._reader.freshness()})

    def resolve(
        self, term: Annotated[Words, _text("A word or phrase of the field.")]
    ) -> CallToolResult:
        """Say which tag of the vocabulary a word stands for: UMMA, 2CTA, "tensor memory", B200.

        Use it before you filter by tag or architecture, or to learn what an abbreviation means.
        No match means that the word is not in the vocabulary; search may still find it.
        """
        return self._reader.ask(
            lambda connection: {"term": term, "matches": queries.resolve_term(connection, term)}
        )

    def explain(
        self, name: Annotated[Words, _text("Page id, SLUG#N, OWNER/NAME#N or claim:N.")]
    ) -> CallToolResult:
        """Say why the database says so: rule, evidence and place of each tag, decision or claim.

        Use it before you rely on a figure or a tag, and to show a person where it comes from.
        """
        return self._reader.ask(lambda connection: claim_queries.explain(connection, name))

    def coverage(self) -> CallToolResult:
        """Say what is in the database and what is missing: repositories, counts, gaps, corpora.

        Use it to judge whether "nothing found" means anything, and how old the knowledge is.
        """
        return self._reader.ask(self._count)

    def _count(self, connection: sa.Connection) -> Document:
        freshness = read_freshness(connection)
        counted, known_for, found = self._coverage
        if known_for != freshness or time.monotonic() - counted > _COVERAGE_SECONDS:
            found = {"engine": connection.dialect.name, **queries.read_status(connection)}
            self._coverage = (time.monotonic(), freshness, found)
        return found


def part_of(page: Document, offset: int) -> Document:
    """Return a page with one part of its body, and where the next begins."""
    body = page.get("body")
    if body is None:
        return page
    end = offset + BODY_SIGNS
    part = {"body": body[offset:end], "body_signs": len(body)}
    return page | part | ({"next_offset": end} if end < len(body) else {})


def _stated(row: Document) -> Document:
    """Leave out what a claim does not state, which is most of its columns."""
    return {name: value for name, value in row.items() if value is not None}
