"""Calls as agents make them, over all tools, and how long each takes.

    python tests/kwdb/mcp_calls.py DATABASE_URL [CALLS]

starts `kwdb mcp` on each transport, makes the calls one after the other with the SDK's own client
(1,000 where no number is given), and prints errors, median and 95th percentile.
"""

import math
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

Call = tuple[str, dict[str, Any]]

CALLS: list[Call] = [
    ("search", {"text": "2CTA nvfp4 moe", "limit": 5}),
    ("get_page", {"page": "hw-tma"}),
    ("diagnose", {"text": "kernel is memory bound and registers spill"}),
    ("claims", {"gpu": "B200", "limit": 10}),
    ("sql", {"query": "SELECT type, count(*) AS n FROM pages GROUP BY type ORDER BY n DESC"}),
    ("resolve", {"term": "UMMA"}),
    ("explain", {"name": "hw-tmem"}),
    ("coverage", {}),
    ("search", {"text": "experts get uneven token counts", "type": "pattern"}),
    ("search", {"text": "swizzeling shared memory", "architecture": "B200"}),
    ("get_page", {"page": "kernel-nvfp4-gemv", "follow_sources": True}),
    ("diagnose", {"text": "the last wave leaves most SMs idle"}),
    ("claims", {"metric": "latency", "best": True}),
    ("claims", {"page": "kernel-flash-attention-4", "status": "supported"}),
    ("sql", {"query": "SELECT page, gpu, metric, value FROM claim_overview LIMIT 20"}),
    ("resolve", {"term": "tensor memory"}),
    ("explain", {"name": "claim:1"}),
    ("search", {"text": "how do I overlap TMA loads with MMA", "has_claims": True}),
    ("get_page", {"page": "technique-warp-specialization"}),
    ("diagnose", {"text": "zzz"}),
]


def program() -> str:
    return str(Path(sys.executable).with_name("kwdb"))


def environment(url: str, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "PATH") if name in os.environ}
    return {**kept, "KWDB_DATABASE_URL": url, **more}


def over_stdio(url: str) -> Client:
    return Client(StdioServerParameters(command=program(), args=["mcp"], env=environment(url)))


@asynccontextmanager
async def over_http(address: str, token: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


@contextmanager
def http_server(url: str, *arguments: str, **more: str) -> Iterator[str]:
    """Run `kwdb mcp --transport http` on a free port and return its address."""
    command = [program(), "mcp", "--transport", "http", "--port", "0", *arguments]
    server = subprocess.Popen(
        command, env=environment(url, **more), stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        assert "http://" in said, said + server.stderr.read()
        yield said.split()[-1]
    finally:
        server.kill()
        server.communicate()


async def call_all(client: Client, count: int) -> tuple[dict[str, list[float]], list[Any]]:
    """Return the seconds that each tool took, and the results."""
    seconds: dict[str, list[float]] = defaultdict(list)
    results = []
    for name, arguments in islice(cycle(CALLS), count):
        began = time.perf_counter()
        result = await client.call_tool(name, arguments)
        seconds[name].append(time.perf_counter() - began)
        results.append(result)
    return seconds, results


async def _measure(client: AbstractAsyncContextManager[Client], count: int) -> str:
    async with client as connected:
        seconds, results = await call_all(connected, count)
        errors = [result.content for result in results if result.is_error]
    took = sorted(second for one in seconds.values() for second in one)
    p95 = took[math.ceil(0.95 * len(took)) - 1]
    slowest = {name: round(1e3 * statistics.median(one)) for name, one in seconds.items()}
    return (
        f"{len(took)} calls, {len(errors)} errors, median {1e3 * statistics.median(took):.1f} ms, "
        f"p95 {1e3 * p95:.1f} ms, longest {1e3 * took[-1]:.0f} ms; medians {slowest} {errors[:2]}"
    )


def main(url: str, count: int = 1_000) -> None:
    print("stdio:", anyio.run(_measure, over_stdio(url), count))
    with http_server(url) as address:
        print("http: ", anyio.run(_measure, over_http(address), count))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
