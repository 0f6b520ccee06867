"""The server of an index: a JSON API, its OpenAPI document, metrics, and a search page at `/`."""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import ipaddress
import json
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import islice
from typing import Annotated, Any, Literal, get_type_hints

from siamese import __version__
from siamese.errors import ArgumentError, CheckpointError, MissingDependencyError, SiameseError
from siamese.search.display import NO_LABELS, json_text
from siamese.search.explain import WordEffect, explain
from siamese.search.groups import group_rows
from siamese.search.index import Hit, QuestionIndex
from siamese.search.stored.changes import Added

try:
    import prometheus_client
    import uvicorn
    from fastapi import Depends, FastAPI, HTTPException, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse
    from fastapi.security import HTTPBearer
    from prometheus_client.multiprocess import MultiProcessCollector
    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, create_model
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
except ImportError:
    raise MissingDependencyError(
        "The server needs three packages: pip install fastapi uvicorn prometheus-client."
    ) from None

KEY = "SIAMESE_API_KEY"  # the environment variable with the key that clients must send
SETTINGS = "SIAMESE_SERVE"  # the one by which `serve` tells its worker processes what to serve
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client reads it when it is imported

MOST_BYTES = 8 << 20  # of a request
SIZES = (
    (10, 1000),
    (100, 100),
    (1000, 10),
)  # a search has at most so many questions, and so large a k
MOST_WAITING = 32  # requests that wait or are answered; fewer than Starlette has threads (40)
MOST_WORKING = max(2, os.cpu_count() or 1)  # requests that are answered at once

ABOUT = "Has it been asked before? Cosines, search, groups and changes of one index of questions."
EXAMPLE = "How can I learn Spanish?"
PROBLEMS = {
    400: "A question to add has no words, or the request names another host.",
    401: f"Send the server's key ({KEY}): Authorization: Bearer KEY.",
    403: "Another web site may not ask this server.",
    404: "No question has such an id or column.",
    409: "An id stands twice in the request, or the index has no calibration and no probabilities.",
    413: f"A request may have {MOST_BYTES:,} bytes, and (questions, k) of at most {SIZES}.",
    422: "The request is not the JSON that the schema describes.",
    429: f"{MOST_WAITING} requests wait already. Ask again in a second.",
    503: "The index cannot be read or changed now.",
}
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    413: {"Connection": "close"},
    429: {"Retry-After": "1"},
}

# A character that is neither blank nor invisible; the ranges mean the same in Rust, Python and JavaScript.
VISIBLE = (
    r"[^\x00-\x20\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
Text = Annotated[str, Field(max_length=10_000)]
Worded = Annotated[str, Field(max_length=10_000, pattern=VISIBLE)]
Short = Annotated[str, Field(max_length=1_000, pattern=VISIBLE)]  # each word is one more question


def _number(value: Any) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("a whole number is expected")
    return value


def whole(**bounds: Any) -> Any:
    """The type of a whole number; 7.0 is one, as in JSON's schema, but no text and no boolean."""
    return Annotated[int, Strict(False), Field(**bounds), BeforeValidator(_number)]


Id = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] | whole()
Number = Annotated[float, Field(allow_inf_nan=False)]
Value = str | int | Number | bool
Most = whole(ge=1, le=1000)
Cut = Annotated[float | None, Field(ge=-1, le=1, description="a cosine [the index's own]")]


class Body(BaseModel):
    """What a request says; numbers are no text, and a misspelt name is refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Pairs(Body):
    """Pairs of questions."""

    pairs: list[Annotated[list[Text], Field(min_length=2, max_length=2)]] = Field(
        max_length=1000, examples=[[[EXAMPLE, "Best way to learn Spanish?"]]]
    )
    threshold: Cut = None


class Pair(Body):
    """Two questions with words."""

    question1: Short = Field(examples=[EXAMPLE])
    question2: Short = Field(examples=["Best way to learn Spanish?"])


class Questions(Body):
    """Questions."""

    questions: list[Text] = Field(max_length=1000, examples=[[EXAMPLE]])


def _sizes(name: str) -> ConfigDict:
    """`SIZES`, for the schema."""
    limits = [{"properties": {name: {"maxItems": most}, "k": {"maximum": k}}} for most, k in SIZES]
    return ConfigDict(json_schema_extra={"anyOf": limits})


class Search(Questions):
    """New questions to search for."""

    model_config = _sizes("questions")

    k: Most = 10
    mode: Literal["hybrid", "vectors", "words"] = "hybrid"
    threshold: Cut = None
    where: dict[str, Value] | None = Field(None, description="values of columns")
    min_probability: float | None = Field(None, ge=0, le=1)
    merge_same: bool = Field(False, description="of hits with the same text only the first")


class New(Body):
    """A question to add; the index gives it the next free number as id."""

    question: Worded = Field(examples=[EXAMPLE])
    columns: dict[str, Value | list[Value | None] | None] = Field(
        {}, examples=[{"topic": "travel"}]
    )


class NewWithId(New):
    """A question to add, with its id."""

    id: Id


class NewQuestions(Body):
    """Questions to add: all with an id, or all without."""

    questions: (
        Annotated[list[NewWithId], Field(max_length=1000)]
        | Annotated[list[New], Field(max_length=1000)]
    )


class Ids(Body):
    """Ids of questions of the index."""

    ids: list[Id] = Field(max_length=1000, examples=[["7", "12"]])


class Stored(Ids):
    """Stored questions whose duplicates you look for."""

    model_config = _sizes("ids")

    k: Most = 10
    threshold: Cut = None


class Page(Body):
    """A part of a long table."""

    offset: whole(ge=0) = 0
    limit: whole(ge=1, le=10_000) = 1000


def model_of(kind: Any) -> Any:
    """The schema of a named tuple, an object of its fields."""
    return create_model(kind.__name__, **{n: (t, ...) for n, t in get_type_hints(kind).items()})


ANSWER = {"similarity": float, "probability": float | None, "is_duplicate": bool}
HITS = {"results": list[list[model_of(Hit)]]}
WORDS = list[model_of(WordEffect)]
GROUP_ROW = {"group": int, "id": str, "question": str, "similarity": float, "central": int}
Answer, GroupRow = create_model("Answer", **ANSWER), create_model("GroupRow", **GROUP_ROW)
Problem = create_model("Problem", detail=str)


def answered(body: str | dict[str, Any]) -> Response:
    """An answer of JSON text or of values; NaN becomes null."""
    text = body if isinstance(body, str) else json_text(body)
    return Response(text, media_type="application/json")


def refused(status: int, sentence: str = "") -> Response:
    """An answer with the reason for a refusal."""
    detail = {"detail": sentence or PROBLEMS[status]}
    return JSONResponse(detail, status, HEADERS.get(status))


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {n: round(v, 6) if isinstance(v, float) else v for n, v in values.items()}


def _results(results: Iterable[Iterable[Any]]) -> Response:
    """Hits as JSON, question by question: no call holds the other threads up for long."""
    parts = (json_text([_rounded(hit._asdict()) for hit in hits]) for hits in results)
    return answered(f'{{"results": [{", ".join(parts)}]}}')


def _within(questions: Sequence[Any], k: int) -> None:
    if not any(len(questions) <= most and k <= most_k for most, most_k in SIZES):
        raise HTTPException(413)


class Gate:
    """A layer around the application (ASGI): it refuses, counts, and sets headers.

    It refuses a request of another web site with 403, one without the key with 401, and one too many
    with 429.
    """

    def __init__(self, app: Any, key: str | None, policy: str, paths: set[str], registry: Any):
        self.app, self.key, self.policy, self.paths = app, key, policy, paths
        self.waiting = 0
        options = {"registry": registry}
        labels = ["path", "status"]
        self.requests = prometheus_client.Counter(
            "siamese_requests", "Requests answered.", labels, **options
        )
        self.seconds = prometheus_client.Histogram(
            "siamese_request_seconds", "Seconds to an answer.", ["path"], **options
        )

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun, status, size, path = time.perf_counter(), 500, 0, scope["path"]

        async def sent(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = self.policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Cache-Control"] = "no-store"
            await send(message)

        async def received() -> dict[str, Any]:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_BYTES:
                raise HTTPException(413)
            return message

        works = path.startswith("/v1/")
        refusal = self.refusal(path, Headers(scope=scope))
        self.waiting += works
        try:
            await (self.app if refusal is None else refusal)(scope, received, sent)
        finally:
            self.waiting -= works
            label = path if path in self.paths else "other"
            self.requests.labels(label, status).inc()
            self.seconds.labels(label).observe(time.perf_counter() - begun)

    def refusal(self, path: str, headers: Headers) -> Response | None:
        """The answer to a request that may not pass."""
        origin = headers.get("origin")
        elsewhere = origin is not None and origin.partition("://")[2] != headers.get("host")
        by_link = headers.get("sec-fetch-mode") == "navigate"
        from_page = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if elsewhere or not (from_page or by_link):
            return refused(403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return refused(413)
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(sent.encode(), (self.key or "").encode())
        locked = self.key is not None and path.startswith(("/v1/", "/metrics"))
        if locked and not (right and scheme.lower() == "bearer"):
            return refused(401)
        if path.startswith("/v1/") and self.waiting >= MOST_WAITING:
            return refused(429)
        return None


def make_app(
    index: QuestionIndex,
    *,
    host: str = "127.0.0.1",
    key: str | None = None,
    names: Sequence[str] = (),
) -> FastAPI:
    """The application (ASGI); it closes the index at its end.

    Args:
      index: the index to ask and change.
      host: the address it listens on.
      key: what clients must send as ``Authorization: Bearer KEY``; None for no key.
      names: further hosts that requests may name.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        index.close()

    page = files("siamese.serving").joinpath("page.html").read_text(encoding="utf-8")
    registry, paths = prometheus_client.CollectorRegistry(), set()
    bracketed = f"[{host}]" if ":" in host else host
    hosts = ["localhost", "127.0.0.1", "[::1]", bracketed, socket.gethostname(), *names]
    app = FastAPI(
        title="siamese", version=__version__, description=ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None,  # Those pages load scripts from elsewhere.
        exception_handlers={SiameseError: _failed, RequestValidationError: _misread, 413: _too_large},
        middleware=[
            Middleware(Gate, key, _policy(page), paths, registry),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts),
        ],
    )  # fmt: skip
    # It only documents the key; the gate demands it, before a request is read.
    documented = [Depends(HTTPBearer(auto_error=False))] if key else []
    _add_answers(app, index, documented)
    _add_pages(app, index, documented, page, registry)
    paths.update(route.path for route in app.routes)
    return app


def _policy(page: str) -> str:
    """The Content-Security-Policy of the page: its own script and style, and this server."""
    sources = []
    for tag in ("script", "style"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources.append(f"{tag}-src 'sha256-{digest}'")
    others = "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
    return f"default-src 'none'; {'; '.join(sources)}; {others}; form-action 'none'"


def _add_answers(app: FastAPI, index: QuestionIndex, documented: list[Any]) -> None:
    """Declares the paths of `/v1`."""
    working = threading.Semaphore(MOST_WORKING)

    def current_detector() -> Any:
        len(index)  # It reads what other processes saved, a threshold for example.
        return index.detector

    def asks(path: str, *statuses: int, **fields: Any) -> Callable:
        """Declares a path with the fields of its answer; threads answer `MOST_WORKING` at once."""
        model = create_model(f"{path.title().replace('-', '')}Answer", **fields)
        codes = [400, 403, 413, 422, 429, 503, *statuses, *([401] if documented else [])]
        problems = {
            code: {"description": PROBLEMS[code], "model": Problem} for code in sorted(codes)
        }

        def declared(answer: Callable) -> Callable:
            @functools.wraps(answer)
            def turn(*args: Any, **options: Any) -> Response:
                with working:
                    return answer(*args, **options)

            options = {"response_model": model, "responses": problems, "dependencies": documented}
            return app.post(f"/v1/{path}", **options)(turn)

        return declared

    @asks("similarity", answers=list[Answer])
    def similarity(body: Pairs) -> Response:
        """The cosine of each pair, and whether it is above the threshold."""
        detector = current_detector()
        cosines = detector.similarity(*([pair[side] for pair in body.pairs] for side in (0, 1)))
        names = "similarity", "probability", "is_duplicate"
        judged = (dict(zip(names, values)) for values in detector.judged(cosines, body.threshold))
        return answered({"answers": list(map(_rounded, judged))})

    @asks("explain", **ANSWER, threshold=float, words1=WORDS, words2=WORDS, note=str)
    def explain_pair(body: Pair) -> Response:
        """The cosine of two questions, and what each of their words does to it."""
        detector = current_detector()
        explanation = explain(detector, body.question1, body.question2)
        cosine, calibrated = explanation.similarity, detector.calibration is not None
        values = explanation.as_dict() | {"is_duplicate": explanation.is_duplicate}
        values["probability"] = detector.calibrated(cosine) if calibrated else None
        return answered({**_rounded(values), "note": explanation.unknown_note})

    @asks("encode", vectors=list[list[float]])
    def encode(body: Questions) -> Response:
        """The questions' vectors."""
        rows = (json_text(vector.tolist()) for vector in current_detector().encode(body.questions))
        return answered(f'{{"vectors": [{", ".join(rows)}]}}')

    @asks("search", 404, 409, **HITS)
    def search(body: Search) -> Response:
        """The stored questions most similar to each new one, best first."""
        _within(body.questions, body.k)
        if body.min_probability is not None and current_detector().calibration is None:
            raise HTTPException(409, "The index has no calibration, so no probabilities.")
        try:
            return _results(index.search(**dict(body)))
        except ArgumentError as error:  # The schema leaves nothing else that could be wrong.
            raise HTTPException(404, str(error)) from None

    @asks("duplicates-of", 404, **HITS)
    def duplicates_of(body: Stored) -> Response:
        """The other questions of the index whose cosine with a stored one is above the threshold."""
        _within(body.ids, body.k)
        ids = list(map(str, body.ids))
        try:
            texts = [index.entry(i)["question"] for i in ids]
        except ArgumentError as error:
            raise HTTPException(404, str(error)) from None
        hits = index.search(texts, body.k + 1, mode="vectors", threshold=body.threshold)
        others = ((hit for hit in some if hit.id != i) for i, some in zip(ids, hits))
        return _results([h for h in islice(some, body.k) if h.is_duplicate] for some in others)

    @asks("add", 409, **get_type_hints(Added))
    def add(body: NewQuestions) -> Response:
        """Adds questions, all or none; answered when they are on disk."""
        new = body.questions
        ids = [str(question.id) for question in new if isinstance(question, NewWithId)]
        if len(set(ids)) < len(ids):
            raise HTTPException(
                409, "An id stands twice in the request. Give each question its own."
            )
        columns = [question.columns for question in new]
        texts = [question.question for question in new]
        options = {"ids": ids or None, "columns": columns if any(columns) else None}
        return answered(index.add(texts, **options)._asdict())

    @asks("remove", 404, removed=int)
    def remove(body: Ids) -> Response:
        """Removes questions, all or none; answered when that is on disk."""
        try:
            return answered({"removed": index.remove(body.ids)})
        except ArgumentError as error:
            raise HTTPException(404, str(error)) from None

    @asks("groups", rows=list[GroupRow], total=int, groups=int)
    def groups(body: Page) -> Response:
        """The groups of duplicates, a row a question; the first request makes them."""
        while True:
            vectors = index.vectors
            members, entries = index.groups(), index.entries
            if index.vectors is vectors:  # Both are of one moment.
                break
        counts = {"total": sum(map(len, members)), "groups": len(members)}
        rows = islice(group_rows(entries, members), body.offset, body.offset + body.limit)
        return answered(
            {"rows": [{name: row[name] for name in GROUP_ROW} for row in rows], **counts}
        )

    @asks("info", version=str, questions=int, threshold=float, has_probabilities=bool, note=str)
    def info(body: Body) -> Response:
        """The size of the index, its threshold, and what is to be said of it."""
        detector = current_detector()
        note = NO_LABELS if detector.threshold_from == "default" else ""
        facts = {"version": __version__, "questions": len(index), "threshold": detector.threshold}
        return answered(
            {**facts, "has_probabilities": detector.calibration is not None, "note": note}
        )


def _add_pages(
    app: FastAPI, index: QuestionIndex, documented: list[Any], page: str, registry: Any
) -> None:
    """Declares what is read with GET: the page, `/health` and `/metrics`."""
    questions = prometheus_client.Gauge(
        "siamese_index_questions", "Questions of the index.", registry=registry,
        multiprocess_mode="mostrecent",
    )  # fmt: skip

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def show_page() -> HTMLResponse:
        return HTMLResponse(page)

    @app.get("/health", response_model=create_model("Health", status=str, version=str))
    async def health() -> Any:
        """Whether the server answers; needs no key."""
        return {"status": "ok", "version": __version__}

    answers = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    if documented:
        answers[401] = {"description": PROBLEMS[401], "model": Problem}

    @app.get(
        "/metrics", response_class=Response, responses=answers, dependencies=documented
    )  # fmt: skip
    def metrics() -> Response:
        """Counts of all processes in Prometheus' text format."""
        questions.set(len(index))
        counted = registry
        if METRICS_FOLDER in os.environ:
            MultiProcessCollector(counted := prometheus_client.CollectorRegistry())
        text = prometheus_client.generate_latest(counted)
        return Response(text, media_type=prometheus_client.CONTENT_TYPE_LATEST)


async def _failed(request: Request, error: SiameseError) -> Response:
    return refused(503 if isinstance(error, CheckpointError) else 400, str(error))


async def _misread(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]  # Without what was sent, which may be large.
    place = ".".join(str(part) for part in first["loc"] if "[" not in str(part))
    return refused(422, f"{place}: {first['msg']}.")


async def _too_large(request: Request, error: HTTPException) -> Response:
    return refused(413)


def serve(
    index: str | os.PathLike,
    *,
    model: str | os.PathLike | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    names: Sequence[str] = (),
) -> None:
    """Serves an index until SIGTERM or Ctrl-C, and prints the address of its page.

    It reads the key that clients must send from the environment variable `KEY`. Requests that came before
    the signal are answered, for three seconds at most.

    Args:
      index: the file of the index.
      model: its model; the one that the file names where None.
      host: the address to listen on.
      port: 0 picks a free one.
      workers: processes.
      names: further hosts that requests may name; ``*.example.org`` for all of a domain.

    Raises:
      ArgumentError: no key for an address that other machines reach; a port that is not free.
      CheckpointError: no such index or model, or an index of another model.
    """
    key = os.environ.get(KEY, "")
    if not key and not _is_local(host):
        raise ArgumentError(
            f"Other machines can reach {host}. Set the environment variable {KEY} to a secret that "
            "clients send, or listen on 127.0.0.1."
        )
    if not key.isascii() or key != key.strip():
        raise ArgumentError(f"The key in {KEY} must be ASCII text without blanks around it.")
    if workers < 1:
        raise ArgumentError(f"--workers must be 1 or more; it is {workers}.")
    for name in names:
        if "*" in name.removeprefix("*."):
            raise ArgumentError(f"--allow-host {name!r}: a name or *.name is expected.")
    port = _free_port(host, port)
    with QuestionIndex.open(index, model) as opened:  # An error shows before anything listens.
        address = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
        print(f"{len(opened):,} questions are served at {address} (Ctrl-C ends it).", flush=True)
    settings = {"index": os.fspath(index), "model": model and os.fspath(model), "host": host}
    os.environ[SETTINGS] = json.dumps({**settings, "names": list(names), "workers": workers})
    with tempfile.TemporaryDirectory(prefix="siamese-serve-") as folder:
        if workers > 1:
            os.environ[METRICS_FOLDER] = folder
        # No log_config: it would close the handlers that others have made.
        options = {"log_level": "warning", "log_config": None, "timeout_graceful_shutdown": 3}
        app = f"{__name__}:worker_app"
        uvicorn.run(app, factory=True, workers=workers, host=host, port=port, ws="none", **options)


def worker_app() -> Any:
    """The application of one process of `serve`, which reads from `SETTINGS` what to serve."""
    from threadpoolctl import threadpool_limits

    settings = json.loads(os.environ[SETTINGS])
    if settings["workers"] > 1:  # More threads than cores would keep each other waiting.
        threadpool_limits(max(1, (os.cpu_count() or 1) // settings["workers"]))
    index = QuestionIndex.open(settings["index"], settings["model"])
    key = os.environ.get(KEY) or None
    return make_app(index, host=settings["host"], key=key, names=settings["names"])


def _free_port(host: str, port: int) -> int:
    """The port if it is free; any free one for 0."""
    if not 0 <= port <= 65535:
        raise ArgumentError(f"A port is a number from 0 to 65535; it is {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ArgumentError(
                f"Port {port} of {host} is not available ({error.strerror}). Give another; --port 0 "
                "picks a free one."
            ) from None
        return probe.getsockname()[1]


def _is_local(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
