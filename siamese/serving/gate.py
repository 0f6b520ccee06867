"""What a request must be before it is read: of this site, with the key, small, and not one too many."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import time
from typing import Any

import prometheus_client
from fastapi import Response
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

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
    404: "No question has such an id.",
    408: "The body of the request was not whole in time. Send it again.",
    409: "The index cannot take this: an id that stands twice, or a contradiction to other answers.",
    413: f"A request may have {MOST_BYTES:,} bytes.",
    422: "The request is not the JSON that the schema describes.",
    503: "The index cannot be read or changed now.",
}


def refused(status: int, sentence: str = "") -> Response:
    """An answer with the reason for a refusal."""
    headers = {401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}}
    return JSONResponse(
        {"detail": sentence or PROBLEMS[status]}, status, headers.get(status)
    )


def policy(page: str) -> str:
    """The Content-Security-Policy of the page: its own script and style, and this server."""
    sources = []
    for tag in ("script", "style"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources.append(f"{tag}-src 'sha256-{digest}'")
    others = (
        "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
    )
    return f"default-src 'none'; {'; '.join(sources)}; {others}; form-action 'none'"


class Gate:
    """A layer around the application (ASGI): it refuses requests, counts them, and sets headers.

    It reads the bodies of requests to ``/v1/``. Only whole ones wait for their answers,
    so that clients which send slowly, or never the end, take nobody's place.
    """

    def __init__(
        self,
        app: Any,
        hosts: list[str],
        key: str | None,
        policy: str,
        registry: Any,
        patience: float = PATIENCE,
    ):
        self.app = app
        self.hosts = hosts
        self.key = key
        self.patience = patience  # seconds for a body
        self.waiting = 0  # whole requests
        self.held = 0  # bytes of bodies
        self.headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
        self.headers["X-Content-Type-Options"] = "nosniff"
        names = "siamese_request_seconds", "Seconds to an answer.", ["path", "status"]
        self.seconds = prometheus_client.Histogram(*names, registry=registry)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["method"] == "HEAD":  # The server leaves the body of its answer out.
            scope = {**scope, "method": "GET"}
        begun = time.perf_counter()
        status = 400  # of a client that is gone before its answer

        async def sent(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        try:
            refusal = self.refusal(scope["path"], Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, sent)
            elif scope["path"].startswith("/v1/"):
                await self.answer(scope, receive, sent)
            else:
                await self.app(scope, receive, sent)
        except Exception:
            status = 500
            raise
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self.seconds.labels(path, status).observe(time.perf_counter() - begun)

    async def answer(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Reads the body of a request, and lets the application answer it."""
        body = bytearray()

        async def received() -> dict[str, Any]:
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
            whole = [{"type": "http.request", "body": body, "more_body": False}]
            self.waiting += 1
            try:
                await (refusal or self.app)(scope, received, send)
            finally:
                self.waiting -= 1
        finally:
            self.held -= len(body)

    async def read(
        self, body: bytearray, headers: Headers, receive: Any
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
        host = re.sub(r":\d*$", "", headers.get("host", "").lower())
        if not any(
            host == n or (n[:1] == "*" and host.endswith(n[1:])) for n in self.hosts
        ):
            return refused(400)
        origin = headers.get("origin")
        elsewhere = origin is not None and origin.partition("://")[2] != headers.get(
            "host"
        )
        by_link = headers.get("sec-fetch-mode") == "navigate"
        from_page = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if elsewhere or not (from_page or by_link):
            return refused(403)
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        forms = (
            sent.encode(),
            sent.encode("latin-1"),
        )  # clients send a header in UTF-8 or Latin-1
        right = any(
            hmac.compare_digest(form, (self.key or "").encode()) for form in forms
        )
        locked = self.key is not None and path.startswith(("/v1/", "/metrics"))
        if locked and not (right and scheme.lower() == "bearer"):
            return refused(401)
        return None
