"""What a request must be before it is read: of this site, with the key, small, and not one too many."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from typing import Any

import prometheus_client
from fastapi import HTTPException, Response
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders

KEY = "SIAMESE_API_KEY"  # the environment variable with the key that clients must send
MOST_BYTES = 8 << 20  # of a request
MOST_WAITING = 100  # requests
PROBLEMS = {
    400: "The Host header is neither this server's nor one of --allow-host, or the body cannot be read.",
    401: f"Send the server's key ({KEY}): Authorization: Bearer KEY.",
    403: "Another web site may not ask this server.",
    404: "No question has such an id.",
    409: "The index cannot take this: an id that stands twice, or a contradiction to other answers.",
    413: f"A request may have {MOST_BYTES:,} bytes.",
    422: "The request is not the JSON that the schema describes.",
    503: "The index cannot be read or changed now.",
}


def refused(status: int, sentence: str = "") -> Response:
    """An answer with the reason for a refusal."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse({"detail": sentence or PROBLEMS[status]}, status, headers)


def policy(page: str) -> str:
    """The Content-Security-Policy of the page: its own script and style, and this server."""
    sources = []
    for tag in ("script", "style"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources.append(f"{tag}-src 'sha256-{digest}'")
    others = "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
    return f"default-src 'none'; {'; '.join(sources)}; {others}; form-action 'none'"


class Gate:
    """A layer around the application (ASGI): it refuses requests, counts them, and sets headers."""

    def __init__(self, app: Any, hosts: list[str], key: str | None, policy: str, registry: Any):
        self.app, self.hosts, self.key, self.waiting = app, hosts, key, 0
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
        begun, status, size = time.perf_counter(), 500, 0

        async def sent(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        async def received() -> dict[str, Any]:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_BYTES:
                raise HTTPException(413, PROBLEMS[413])
            return message

        works = scope["path"].startswith("/v1/")
        answer = self.refusal(scope["path"], Headers(scope=scope)) or self.app
        self.waiting += works
        try:
            await answer(scope, received, sent)
        finally:
            self.waiting -= works
            path = getattr(scope.get("route"), "path", "other")
            self.seconds.labels(path, status).observe(time.perf_counter() - begun)

    def refusal(self, path: str, headers: Headers) -> Response | None:
        """The answer to a request that may not pass."""
        host = re.sub(r":\d*$", "", headers.get("host", "").lower())
        if not any(host == n or (n[:1] == "*" and host.endswith(n[1:])) for n in self.hosts):
            return refused(400)
        origin = headers.get("origin")
        elsewhere = origin is not None and origin.partition("://")[2] != headers.get("host")
        by_link = headers.get("sec-fetch-mode") == "navigate"
        from_page = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if elsewhere or not (from_page or by_link):
            return refused(403)
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        forms = sent.encode(), sent.encode("latin-1")  # clients send a header in UTF-8 or Latin-1
        right = any(hmac.compare_digest(form, (self.key or "").encode()) for form in forms)
        locked = self.key is not None and path.startswith(("/v1/", "/metrics"))
        if locked and not (right and scheme.lower() == "bearer"):
            return refused(401)
        if path.startswith("/v1/") and self.waiting >= MOST_WAITING:
            return refused(503, "Too many requests are waiting. Try again in a second.")
        return None
