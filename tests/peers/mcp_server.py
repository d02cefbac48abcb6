"""An MCP resource server of the Python SDK: takes JWTs of one issuer for its own address and no other. Keeps no token.

    python mcp_server.py [PORT]

    ISSUER   the authorization server; its keys are read from its OpenID Connect document
    SCOPES   scopes a token must have, separated by blanks

Prints one line of JSON when it listens: {"mcp_url": ...}.
"""

import asyncio
import json
import os
import socket
import sys
import urllib.request

import jwt
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

ISSUER = os.environ["ISSUER"]
SCOPES = os.environ.get("SCOPES", "notes:read").split()


class Verifier:
    """Checks signature, issuer, audience and life of a token."""

    def __init__(self, resource):
        self.resource = resource
        self.keys = None

    def verify(self, token):
        if self.keys is None:
            with urllib.request.urlopen(f"{ISSUER}/.well-known/openid-configuration", timeout=5) as answer:
                self.keys = jwt.PyJWKClient(json.load(answer)["jwks_uri"])
        key = self.keys.get_signing_key_from_jwt(token).key
        return jwt.decode(token, key, algorithms=["RS256"], issuer=ISSUER, audience=self.resource)

    async def verify_token(self, token):
        try:
            claims = await asyncio.to_thread(self.verify, token)
        except (jwt.PyJWTError, OSError):
            return None
        return AccessToken(
            token=token,
            client_id=claims.get("client_id", ""),
            scopes=claims.get("scope", "").split(),
            expires_at=claims["exp"],
            resource=self.resource,
        )


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    port = listener.getsockname()[1]
    resource = f"http://127.0.0.1:{port}/mcp"
    server = MCPServer(
        "collie-peer",
        token_verifier=Verifier(resource),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(ISSUER),
            resource_server_url=AnyHttpUrl(resource),
            required_scopes=SCOPES,
            validate_token_resource=True,
        ),
    )

    @server.tool(description="Adds two numbers")
    def add(a: int, b: int) -> int:
        return a + b

    run = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning"))
    print(json.dumps({"mcp_url": resource}), flush=True)
    run.run(sockets=[listener])


main()
