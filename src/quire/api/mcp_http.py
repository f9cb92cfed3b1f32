"""The MCP server over HTTP, at `/mcp`, behind the same door as every other address."""

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from quire.access.ring import Keyring
from quire.api.callers import Caller
from quire.api.problems import refusal
from quire.errors import NotAllowed, QuireError
from quire.settings import Settings

PATH = "/mcp"
OFF = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The package knows its allowed hosts and origins beforehand; ours come with the keys."""


class McpOverHttp:
    """Passes requests on to the MCP server, of callers that may ask."""

    def __init__(self, server: MCPServer[Any], ring: Keyring, settings: Settings) -> None:
        """Serve each request for itself, so that any process of the service can take the next."""
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            transport_security=OFF,
            max_request_body_size=settings.serve.max_body_bytes,
        )
        self.sessions: StreamableHTTPSessionManager = server.session_manager
        """Has to run while requests come."""
        self.route = Route(PATH, self, methods=["POST"], include_in_schema=False)
        self._ring = ring
        self._origins = settings.serve.cors_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message."""
        scope["route"] = self.route  # what the log and the figures call it
        try:
            self._check(scope["state"]["caller"], Headers(scope=scope))
        except QuireError as error:
            await refusal(error, scope)(scope, receive, send)
            return
        await self.sessions.handle_request(scope, receive, send)

    def _check(self, caller: Caller, headers: Headers) -> None:
        if not caller.may("ask"):
            raise NotAllowed("This needs a key with the scope `ask`.")
        origin = headers.get("origin")
        if origin and origin not in self._origins and not self._ring.allows(origin):
            raise NotAllowed("Pages of this site may not call the tools.")
