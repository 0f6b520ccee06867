"""Who may ask the local page: a layer around it (ASGI) against other web sites.

A browser lets any site send requests to this machine, under a name that its owner makes point here (DNS
rebinding) too. So a request must name a host that is served, come from this page itself, be small and
upload nothing; and no other page may put this one into a frame.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

MOST_BYTES = 1 << 20  # of a request's body
HEADERS = [
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'; object-src 'none'; base-uri 'self'"),
    (b"x-content-type-options", b"nosniff"),
]


class Guard:
    """Refuses what is not for this page with 403, 411 or 413, and adds `HEADERS` to every answer.

    Args:
      app: the page, an ASGI application.
      host: the address that it listens on. Beside it the names of this machine's loopback are served; with
        0.0.0.0 or :: also every address in numbers, which no other site can be reached by.
      names: further hosts that requests may name.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], host: str, names: Sequence[str] = ()):
        self.app = app
        self.every_address = host in ("0.0.0.0", "::")
        self.names = {"localhost", "127.0.0.1", "::1", host.lower(), *map(str.lower, names)}
        if self.every_address:
            self.names.add(socket.gethostname().lower())

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answers one request."""

        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        status, why = self.refusal(scope)
        if not status:
            # Its origin is this page: Gradio need not allow others anything for it.
            headers = [header for header in scope["headers"] if header[0] != b"origin"]
            return await self.app({**scope, "headers": headers}, receive, guarded)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008, "reason": why})
        kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        await guarded({"type": "http.response.start", "status": status, "headers": kind})
        await guarded({"type": "http.response.body", "body": f"{why}\n".encode()})

    def refusal(self, scope: dict[str, Any]) -> tuple[int, str]:
        """The status and reason to refuse a request with; 0 where it may pass."""
        given = [(name, value.decode("latin-1").lower()) for name, value in scope["headers"]]
        headers = dict(given)
        host = headers.get(b"host", "")
        if [name for name, _ in given].count(b"host") != 1 or not self._served(host):
            return 403, "This page is not served under that host."
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "Another site may not ask this page."
        navigates = headers.get(b"sec-fetch-mode") == "navigate"  # a link that was clicked
        if headers.get(b"sec-fetch-site") == "cross-site" and not navigates:
            return 403, "Another site may not ask this page."
        if scope.get("method") == "POST" and "/upload" in scope["path"]:
            return 403, "This page takes no files."
        if b"transfer-encoding" in headers:
            return 411, "Say the length of the request."
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, f"A request may have {MOST_BYTES:,} bytes."
        return 0, ""

    def _served(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in self.names:
                return True
            ipaddress.ip_address(name)
            return self.every_address
        except ValueError:
            return False
