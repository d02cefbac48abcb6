"""Authorization server and MCP server in one process, with the oddities of FastMCP. Keeps everything in memory.

    python fastmcp_server.py [PORT]

Its issuer ends with a slash, it sends no `iss`, and it registers anyone and consents without a person.
Prints one line of JSON when it listens: {"mcp_url": ..., "issuer": ...}.
"""

import json
import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

SCOPES = ["notes:read", "notes:write"]


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    auth = InMemoryOAuthProvider(
        base_url=origin,
        required_scopes=SCOPES[:1],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES
        ),
        revocation_options=RevocationOptions(enabled=True),
    )
    server = FastMCP("collie-peer", auth=auth)

    @server.tool(description="Adds two numbers")
    def add(a: int, b: int) -> int:
        return a + b

    run = uvicorn.Server(uvicorn.Config(server.http_app(path="/mcp"), log_level="warning"))
    print(json.dumps({"mcp_url": f"{origin}/mcp", "issuer": f"{origin}/"}), flush=True)
    run.run(sockets=[listener])


main()
