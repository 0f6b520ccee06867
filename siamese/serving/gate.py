"""What a request must be before it is read: of this site, with the key, small, and not one too many."""

from __future__ import annotations

import asyncio
import hmac
import re

from fastapi import Response
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siamese.serving.patience import PATIENCE

KEY = "SIAMESE_API_KEY"  # the environment variable with the key that clients must send
MOST_BYTES = 8 << 20  # of a request
SMALL_BYTES = 64 << 10  # of a request that is read however much the server holds
MOST_HELD = 256 << 20  # bytes of all requests that are read or answered
MOST_WAITING = 100  # whole requests
BUSY = "Too many requests are waiting. Try again in a second."
PROBLEMS = {
    400: "The Host header is neither this server's nor one of --allow-host, or the body cannot be read.",
    401: f"Send the server's key ({KEY}): Authorization: Bearer KEY.",
    403: "Another web site may not ask this server.",
    404: "No question has such an id, or such a column.",
    408: "The body of the request was not whole in time. Send it again.",
    409: "The index cannot take this: an id that stands twice, or a contradiction to other answers.",
    413: f"A request may have {MOST_BYTES:,} bytes.",
    422: "The request is not the JSON that the schema describes.",
    503: "The index cannot be read or changed now.",
}
# Of every answer. The page loads its script, its style and its answers from this server
# alone, and stands in no frame.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # The address of the page holds a question; other sites do not learn it.
    "Referrer-Policy": "same-origin",
}


def refused(status: int, sentence: str = "") -> Response:
    """An answer with the reason for a refusal."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}}
    return JSONResponse(
        {"detail": sentence or PROBLEMS[status]}, status, headers.get(status)
    )


class Gate:
    """A layer around the application (ASGI): it refuses requests, and sets headers.

    It reads the bodies of requests to ``/v1/``. Only whole ones wait for their answers,
    so that clients which send slowly, or never the end, take nobody's place.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: list[str],
        key: str | None,
        patience: float = PATIENCE,
    ):
        self.app = app
        self.hosts = hosts
        self.key = key
        self.patience = patience  # seconds for a body
        self.waiting = 0  # whole requests
        self.held = 0  # bytes of bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["method"] == "HEAD":  # The server leaves the body of its answer out.
            scope = {**scope, "method": "GET"}

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self.refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, sent)
        elif scope["path"].startswith("/v1/"):
            await self.answer(scope, receive, sent)
        else:
            await self.app(scope, receive, sent)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body of a request, and lets the application answer it."""
        body = bytearray()

        async def received() -> Message:
            return whole.pop() if whole else await receive()

        try:
            try:
                async with asyncio.timeout(self.patience):
                    refusal = await self.read(body, Headers(scope=scope), receive)
            except TimeoutError:
                refusal = refused(408)
            except ClientDisconnect:
                return
            if self.waiting >= MOST_WAITING:
                refusal = refusal or refused(503, BUSY)
            whole: list[Message] = [
                {"type": "http.request", "body": body, "more_body": False}
            ]
            self.waiting += 1
            try:
                await (refusal or self.app)(scope, received, send)
            finally:
                self.waiting -= 1
        finally:
            self.held -= len(body)

    async def read(
        self, body: bytearray, headers: Headers, receive: Receive
    ) -> Response | None:
        """Reads a body to its end; returns a refusal of one that is too large."""
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > MOST_BYTES:
            return refused(413)
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part = message.get("body", b"")
            body += part
            self.held += len(part)
            if len(body) > MOST_BYTES:
                return refused(413)
            if self.held > MOST_HELD and len(body) > SMALL_BYTES:
                return refused(503, BUSY)
            more = message.get("more_body", False)
        return None

    def refusal(self, path: str, headers: Headers) -> Response | None:
        """The answer to a request that may not pass."""
        if not self.is_ours(headers.get("host", "")):
            return refused(400)
        if is_of_another_site(headers):
            return refused(403)
        if path.startswith("/v1/") and not self.has_key(headers):
            return refused(401)
        return None

    def is_ours(self, host: str) -> bool:
        """Whether a Host header names this server; its port does not count."""
        host = re.sub(r":\d*$", "", host.lower())
        domains = tuple(name[1:] for name in self.hosts if name.startswith("*"))
        return host in self.hosts or host.endswith(domains)

    def has_key(self, headers: Headers) -> bool:
        """Whether a request has the key, or needs none."""
        if self.key is None:
            return True
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        key = self.key.encode()
        # Clients send a header in UTF-8 or Latin-1.
        is_right = any(
            hmac.compare_digest(sent.encode(encoding), key)
            for encoding in ("utf-8", "latin-1")
        )
        return is_right and scheme.lower() == "bearer"


def is_of_another_site(headers: Headers) -> bool:
    """Whether the page of another site sends a request; to follow a link from it is allowed."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return True
    is_link = headers.get("sec-fetch-mode") == "navigate"
    site = headers.get("sec-fetch-site", "none")
    return not is_link and site not in ("none", "same-origin")
