"""`kwdb mcp`: the database as tools for agents."""

import enum
import signal
from typing import Annotated

import typer

from kwdb.cli.output import note
from kwdb.config import load_settings
from kwdb.errors import ConfigError


class Transport(enum.StrEnum):
    """How agents reach the server."""

    stdio = "stdio"
    http = "http"


def mcp(
    transport: Annotated[Transport, typer.Option(help="Way in which agents reach it.")] = (
        Transport.stdio
    ),
    host: Annotated[str, typer.Option(help="Address to listen on, for http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port, for http; 0 takes a free one.")
    ] = 8765,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds an answer may take.")] = 10,
) -> None:
    """Serve the database to agents through the Model Context Protocol.

    Beyond this machine, KWDB_MCP_TOKEN must hold the token that agents show.

    Examples: kwdb mcp · kwdb mcp --transport http --port 8765
    """
    try:
        from kwdb.mcp import server
    except ModuleNotFoundError as exc:
        raise ConfigError(f'{exc.name} cannot be imported: pip install "kwdb[mcp]"') from exc

    settings = load_settings()
    # A server is ended by Ctrl-C, and has nothing to say about it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    token = settings.mcp_token if transport is Transport.http else None
    ready = server.build_server(settings.database_url, seconds=timeout, token=token)
    if transport is Transport.stdio:
        return ready.run("stdio")
    listener = server.listen(host, port, settings.mcp_token)
    name = f"[{host}]" if ":" in host else host
    note(f"agents are answered at http://{name}:{listener.getsockname()[1]}/mcp")
    server.serve_http(ready, listener, host)
