"""Agents over both transports, with the SDK's own client, on both engines."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing
from typing import Any

import anyio
import httpx2
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters
from mcp_calls import CALLS, call_all, environment, http_server, over_http, over_stdio, program

from kwdb.db import open_reader, read_transaction
from kwdb.freshness import read_freshness
from kwdb.mcp.answers import MAX_BYTES, fit
from kwdb.mcp.server import build_server
from kwdb.mcp.tools import BODY_SIGNS, part_of

TOKEN = "a secret of many signs"
TOOLS = {"search", "get_page", "diagnose", "claims", "sql", "resolve", "explain", "coverage"}


def talk(
    client: AbstractAsyncContextManager[Client], talking: Callable[[Client], Awaitable[Any]]
) -> Any:
    async def run() -> Any:
        async with client as connected:
            return await talking(connected)

    return anyio.run(run)


def quick(url: str) -> Client:
    """A client of `kwdb mcp` whose answers may take a second."""
    command = {"command": program(), "args": ["mcp", "--timeout", "1"], "env": environment(url)}
    return Client(StdioServerParameters(**command))


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.fixture(scope="module")
def seeded_url(template: Callable[[str, bool], str]) -> str:
    return f"sqlite:///{template('sqlite', True)}"


@pytest.fixture(scope="module")
def address(world_url: str) -> Iterator[str]:
    with http_server(world_url) as address:
        yield address


def test_each_tool_says_when_to_use_it_and_that_it_only_reads(seeded_url: str) -> None:
    tools = talk(Client(build_server(seeded_url)), lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS == {name for name, _ in CALLS}
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert len(tool.description.split()) >= 20
        assert tool.input_schema["additionalProperties"] is False
        assert all(one["description"] for one in tool.input_schema["properties"].values())


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_mixed_calls_are_answered_in_bounds_and_with_freshness(
    world_url: str, address: str, transport: str
) -> None:
    client = over_stdio(world_url) if transport == "stdio" else over_http(address)
    seconds, results = talk(client, lambda client: call_all(client, len(CALLS)))
    assert set(seconds) == TOOLS
    for result in results:
        assert not result.is_error, result
        found = json.loads(text(result))
        assert found == result.structured_content
        assert found["freshness"]["age_days"] == 0
        assert found["freshness"]["newest_change"].endswith("Z")
        assert len(text(result).encode()) <= MAX_BYTES


def test_seeds_alone_have_no_age(seeded_url: str) -> None:
    engine = open_reader(seeded_url)
    with read_transaction(engine) as connection:
        assert set(read_freshness(connection).values()) == {None}


ENDLESS = "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT count(*) FROM a"
REFUSED = {
    "write": ("sql", {"query": "DELETE FROM pages"}, "only reading|failed: syntax"),
    "insert": ("sql", {"query": "INSERT INTO facets VALUES ('x', 'y')"}, "only reading|syntax"),
    "drop": ("sql", {"query": "DROP TABLE pages"}, "only reading|syntax"),
    "attach": ("sql", {"query": "ATTACH 'x.db' AS x"}, "only reading|syntax"),
    "pragma": ("sql", {"query": "PRAGMA table_info(pages)"}, "only reading|syntax"),
    "vacuum": ("sql", {"query": "VACUUM INTO 'x.db'"}, "only reading|syntax"),
    "two": ("sql", {"query": "SELECT 1; SELECT 2"}, "one statement"),
    "endless": ("sql", {"query": ENDLESS}, "took over 1 s"),
    "empty": ("sql", {"query": ""}, "no rows|syntax"),
    "wrong": ("sql", {"query": "SELEC 1"}, "syntax"),
    "nul": ("sql", {"query": "SELECT 1\0"}, "NUL"),
    "rows": ("sql", {"query": "SELECT 1", "limit": 10**9}, "limit: .*500"),
    "long": ("search", {"text": "a" * 100_000}, "at most 2000"),
    "nul word": ("search", {"text": "a\0b"}, "NUL"),
    "misspelt": ("search", {"text": "x", "architectre": "sm90"}, "architectre: no such argument"),
    "architecture": ("search", {"text": "x", "architecture": "sm91"}, "nearest known: sm89, sm90"),
    "number": ("search", {"text": 7}, "text: .*string"),
    "day": ("search", {"text": "x", "since": "yesterday"}, "since: .*date"),
    "missing": ("get_page", {}, "page: Field required"),
    "page": ("get_page", {"page": "hw-tmaa"}, "nearest: hw-tma"),
    "offset": ("get_page", {"page": "hw-tma", "body_offset": -1}, "body_offset"),
    "corpus": ("get_page", {"page": "hw-tma", "corpus": "x"}, "corpora that have it: seed"),
    "gpu": ("claims", {"gpu": "Voodoo 2"}, "unknown GPU"),
    "claim": ("explain", {"name": "claim:99999999"}, "no claim 99999999"),
    "tool": ("grep", {"pattern": "(a+)+$"}, "Unknown tool"),
}


def test_what_cannot_be_answered_is_refused_in_a_line(world_url: str) -> None:
    async def ask(client: Client) -> dict[str, Any]:
        return {name: await client.call_tool(*call[:2]) for name, call in REFUSED.items()} | {
            "afterwards": await client.call_tool("resolve", {"term": "UMMA"})
        }

    answers = talk(quick(world_url), ask)
    assert not answers.pop("afterwards").is_error
    for name, answer in answers.items():
        assert answer.is_error, name
        assert re.search(REFUSED[name][2], text(answer)), f"{name}: {text(answer)}"
        assert "\n" not in text(answer)
        assert "Traceback" not in text(answer)


HEAVY = {
    "sqlite": "SELECT instr(printf('%.*c', 16000000, 'a'), printf('%.*c', 8000000, 'a') || 'b')",
    "postgresql": "SELECT pg_sleep(30)",
}


def test_one_step_without_end_and_huge_patterns_are_ended(world_url: str) -> None:
    pattern = "(" * 9_000 + ")" * 9_000
    huge = f"SELECT count(*) FROM pages WHERE title GLOB '{pattern}'"
    if not world_url.startswith("sqlite"):
        huge = f"SELECT count(*) FROM pages WHERE title ~ '{pattern}'"

    async def ask(client: Client) -> list[Any]:
        queries = (HEAVY[world_url.split("+")[0].split(":")[0]], huge, "SELECT 1 AS one")
        return [await client.call_tool("sql", {"query": query}) for query in queries]

    endless, _, after = talk(quick(world_url), ask)
    assert endless.is_error
    assert "took over 1 s" in text(endless)
    assert json.loads(text(after))["rows"] == [[1]]


def test_a_long_body_comes_in_parts() -> None:
    page = {"id": "x", "body": "ab" * BODY_SIGNS}
    first = part_of(page, 0)
    rest = part_of(page, first["next_offset"])
    assert first["body"] + rest["body"] == page["body"]
    assert first["body_signs"] == rest["body_signs"] == 2 * BODY_SIGNS
    assert "next_offset" not in rest


def test_a_wide_answer_says_what_was_cut(seeded_url: str) -> None:
    call = {"query": "SELECT * FROM performance_claims", "limit": 500}
    wide = talk(over_stdio(seeded_url), lambda client: client.call_tool("sql", call))
    assert re.fullmatch(r"\d+ of \d+", wide.structured_content["cut"]["rows"])


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=60,
)


@given(st.dictionaries(st.text(max_size=9), VALUES))
@settings(max_examples=50, deadline=None)
def test_any_document_fits(document: dict[str, Any]) -> None:
    shown, found = fit(document, 400)
    assert len(shown.encode()) <= 400
    assert json.loads(shown) == found
    assert ("cut" in found) or found == document


def test_pages_are_resources(world_url: str) -> None:
    async def ask(client: Client) -> tuple[Any, ...]:
        listed = (await client.list_resources()).resources
        names = ("page/hw-tma", "page/cutlass%239472", "schema")
        read = [(await client.read_resource(f"kwdb://{name}")).contents[0] for name in names]
        with pytest.raises(MCPError, match="nearest: hw-tma"):
            await client.read_resource("kwdb://page/hw-tmaa")
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource("kwdb://page/../../etc/passwd")
        return listed, *[content.text for content in read]

    listed, page, pull_request, schema = talk(over_stdio(world_url), ask)
    assert {"kwdb://schema", "kwdb://page/hw-tma"} <= {str(one.uri) for one in listed}
    assert page.startswith("# ")
    assert "Freshness: last_harvest" in page
    assert "Add tcgen05 GEMM for sm100" in pull_request
    assert "pull_requests" in schema


def test_a_database_that_was_upgraded_meanwhile_is_refused(
    new_engine: Callable[[], sa.Engine], engine_name: str
) -> None:
    engine = new_engine()
    url = str(engine.get_execution_options()["kwdb_url"])

    async def ask(client: Client) -> Any:
        with closing(engine.connect()) as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
            connection.commit()
        return await client.call_tool("resolve", {"term": "UMMA"})

    server = build_server(url)
    refused = talk(Client(server), ask)
    server.reader.close()
    assert "it is newer than this program" in text(refused)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[" * 200_000, {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"{}", {}, 400),
        (b"[]", {}, 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 7}', {}, None),
        (b"x" * (2 << 20), {}, 413),
        (b"{}", {"content-type": "text/plain"}, 400),
        (b"{}", {"host": "evil.example"}, 421),
        (b"{}", {"origin": "http://evil.example"}, 403),
    ],
)
def test_malformed_requests_are_refused_and_the_server_lives_on(
    address: str, body: bytes, headers: dict[str, str], status: int | None
) -> None:
    plain = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    answer = httpx2.post(address, content=body, headers=plain | headers)
    assert answer.status_code == (status or answer.status_code) < 500
    assert "Traceback" not in answer.text
    found = talk(over_http(address), lambda client: client.call_tool("resolve", {"term": "UMMA"}))
    assert not found.is_error


def test_lines_that_are_no_messages_do_not_end_the_server(seeded_url: str) -> None:
    """A hand-written client, because the SDK's sends nothing malformed."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello |= {"clientInfo": {"name": "hand", "version": "1"}}
    call = {"name": "search", "arguments": {"text": "\ud800 UMMA"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b"{", b"\xff\xfe\x00", b"[" * 100_000, b"[]", b'{"jsonrpc": "2.0", "id": 2}',
        b'{"jsonrpc": "2.0", "id": 3, "method": "tools/none"}',
        b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": 4}}',
        json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call}).encode(),
        b'{"jsonrpc": "2.0", "id": 6, "method": "tools/list"}',
    ]  # fmt: skip
    with subprocess.Popen(
        [program(), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(seeded_url),
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"\n".join(lines) + b"\n")
        server.stdin.flush()
        while (said := json.loads(server.stdout.readline())).get("id") != 6:
            pass
        server.stdin.close()
        assert server.wait(timeout=20) == 0
    assert len(said["result"]["tools"]) == len(TOOLS)


def test_a_token_is_asked_for(seeded_url: str) -> None:
    call = {"term": "UMMA"}
    with http_server(seeded_url, "--host", "0.0.0.0", KWDB_MCP_TOKEN=TOKEN) as address:
        address = address.replace("0.0.0.0", "127.0.0.1")
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            assert httpx2.post(address, json={}, headers=headers).status_code == 401
        found = talk(over_http(address, TOKEN), lambda client: client.call_tool("resolve", call))
    assert not found.is_error


@pytest.mark.parametrize(
    ("arguments", "more", "said"),
    [
        (["--host", "0.0.0.0"], {}, "0.0.0.0 can be reached from outside: set KWDB_MCP_TOKEN"),
        (["--host", "::"], {}, "can be reached from outside"),
        (["--host", "0.0.0.0"], {"KWDB_MCP_TOKEN": "short"}, "shorter than 16 signs"),
        (["--host", "192.0.2.1"], {"KWDB_MCP_TOKEN": TOKEN}, "cannot listen on 192.0.2.1:8765"),
        ([], {"KWDB_DATABASE_URL": "sqlite:////nowhere/k.sqlite"}, 'run "kwdb init"'),
    ],
)
def test_it_does_not_start(
    seeded_url: str, arguments: list[str], more: dict[str, str], said: str
) -> None:
    command = [program(), "mcp", "--transport", "http", *arguments]
    env = environment(seeded_url) | more
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['mcp'] = None; sys.argv[1:] = ['mcp']\n"
    code += "from kwdb.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        'kwdb: mcp.server cannot be imported: pip install "kwdb[mcp]"\n',
    )


def test_the_server_ends_with_ctrl_c(seeded_url: str) -> None:
    command = [program(), "mcp", "--transport", "http", "--port", "0"]
    with subprocess.Popen(
        command, env=environment(seeded_url), stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        assert "agents are answered at http://127.0.0.1:" in server.stderr.readline()
        server.send_signal(signal.SIGINT)
        server.wait(timeout=20)
        assert "Traceback" not in server.stderr.read()
