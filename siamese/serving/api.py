"""The server of an index: a JSON API, its OpenAPI document, metrics, and a search page at `/`."""

from __future__ import annotations

import contextlib
import functools
import gc
import ipaddress
import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import islice
from typing import Any

from siamese import __version__
from siamese.data.pairs import QuestionPairs
from siamese.data.text import folded
from siamese.errors import (
    ArgumentError,
    CheckpointError,
    DataError,
    MissingDependencyError,
    SiameseError,
)
from siamese.evaluation.asking import next_place, shown, similar_candidates
from siamese.evaluation.thresholds import fit_threshold
from siamese.search.display import NO_LABELS, json_text, rounded
from siamese.search.explain import explain
from siamese.search.groups import group_rows
from siamese.search.index import QuestionIndex

try:
    import prometheus_client
    import uvicorn
    from fastapi import Depends, FastAPI, HTTPException, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse
    from fastapi.security import HTTPBearer
    from prometheus_client.multiprocess import MultiProcessCollector
    from pydantic import create_model
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from siamese.serving import schema
    from siamese.serving.gate import KEY, PROBLEMS, Gate, policy, refused
except ImportError:
    raise MissingDependencyError(
        "The server needs three packages: pip install fastapi uvicorn prometheus-client."
    ) from None

SETTINGS = "SIAMESE_SERVE"  # the one by which `serve` tells its worker processes what to serve
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client reads it when it is imported

MOST_WORKING = max(2, os.cpu_count() or 1)  # requests that are answered at once

ABOUT = "Has it been asked before? Cosines, search, groups and changes of one index of questions."


def answered(body: str | dict[str, Any]) -> Response:
    """An answer of JSON text or of values; NaN becomes null."""
    text = body if isinstance(body, str) else json_text(body)
    return Response(text, media_type="application/json")


def _results(results: Iterable[Iterable[Any]]) -> Response:
    """Hits as JSON, question by question: no call holds the other threads up for long."""
    parts = (json_text([rounded(hit._asdict()) for hit in hits]) for hits in results)
    return answered(f'{{"results": [{", ".join(parts)}]}}')


def _within(questions: Sequence[Any], k: int) -> None:
    if not any(len(questions) <= most and k <= most_k for most, most_k in schema.SIZES):
        raise HTTPException(413)


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
            Middleware(Gate, key, policy(page), paths, registry),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts),
        ],
    )  # fmt: skip
    # It only documents the key; the gate demands it, before a request is read.
    documented = [Depends(HTTPBearer(auto_error=False))] if key else []
    _add_answers(app, index, documented)
    _add_pages(app, index, documented, page, registry)
    paths.update(route.path for route in app.routes)
    return app


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
            code: {"description": PROBLEMS[code], "model": schema.Problem} for code in sorted(codes)
        }

        def declared(answer: Callable) -> Callable:
            @functools.wraps(answer)
            def turn(*args: Any, **options: Any) -> Response:
                with working:
                    return answer(*args, **options)

            options = {"response_model": model, "responses": problems, "dependencies": documented}
            return app.post(f"/v1/{path}", **options)(turn)

        return declared

    @asks("similarity", answers=list[schema.Answer])
    def similarity(body: schema.Pairs) -> Response:
        """The cosine of each pair, and whether it is above the threshold."""
        detector = current_detector()
        cosines = detector.similarity(*([pair[side] for pair in body.pairs] for side in (0, 1)))
        names = "similarity", "probability", "is_duplicate"
        judged = (dict(zip(names, values)) for values in detector.judged(cosines, body.threshold))
        return answered({"answers": list(map(rounded, judged))})

    @asks(
        "explain",
        **schema.ANSWER,
        threshold=float,
        words1=schema.WORDS,
        words2=schema.WORDS,
        note=str,
    )
    def explain_pair(body: schema.Pair) -> Response:
        """The cosine of two questions, and what each of their words does to it."""
        detector = current_detector()
        explanation = explain(detector, body.question1, body.question2)
        cosine, calibrated = explanation.similarity, detector.calibration is not None
        values = explanation.as_dict() | {"is_duplicate": explanation.is_duplicate}
        values["probability"] = detector.probabilities_of(cosine) if calibrated else None
        return answered({**rounded(values), "note": explanation.unknown_note})

    @asks("encode", vectors=list[list[float]])
    def encode(body: schema.Questions) -> Response:
        """The questions' vectors."""
        rows = (json_text(vector.tolist()) for vector in current_detector().encode(body.questions))
        return answered(f'{{"vectors": [{", ".join(rows)}]}}')

    @asks("search", 404, 409, **schema.HITS)
    def search(body: schema.Search) -> Response:
        """The stored questions most similar to each new one, best first."""
        _within(body.questions, body.k)
        if body.min_probability is not None and current_detector().calibration is None:
            raise HTTPException(409, "The index has no calibration, so no probabilities.")
        try:
            return _results(index.search(**dict(body)))
        except ArgumentError as error:  # The schema leaves nothing else that could be wrong.
            raise HTTPException(404, str(error)) from None

    @asks("duplicates-of", 404, **schema.HITS)
    def duplicates_of(body: schema.Stored) -> Response:
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

    @asks("add", 409, **schema.ADDED)
    def add(body: schema.NewQuestions) -> Response:
        """Adds questions, all or none; answered when they are on disk."""
        new = body.questions
        ids = [str(question.id) for question in new if isinstance(question, schema.NewWithId)]
        if len(set(ids)) < len(ids):
            raise HTTPException(
                409, "An id stands twice in the request. Give each question its own."
            )
        columns = [question.columns for question in new]
        texts = [question.question for question in new]
        options = {"ids": ids or None, "columns": columns if any(columns) else None}
        return answered(index.add(texts, **options)._asdict())

    @asks("remove", 404, removed=int)
    def remove(body: schema.Ids) -> Response:
        """Removes questions, all or none; answered when that is on disk."""
        try:
            return answered({"removed": index.remove(body.ids)})
        except ArgumentError as error:
            raise HTTPException(404, str(error)) from None

    @asks("groups", rows=list[schema.GroupRow], total=int, groups=int)
    def groups(body: schema.Page) -> Response:
        """The groups of duplicates, a row a question; the first request makes them."""
        while True:
            vectors = index.vectors
            members, entries = index.groups(), index.entries
            if index.vectors is vectors:  # Both are of one moment.
                break
        counts = {"total": sum(map(len, members)), "groups": len(members)}
        table = group_rows(entries, members, vectors)
        rows = islice(table, body.offset, body.offset + body.limit)
        return answered(
            {"rows": [{name: row[name] for name in schema.GROUP_ROW} for row in rows], **counts}
        )

    candidates: list[Any] = [None, []]  # the vectors of an index, and pairs of it to ask about

    @asks("next-pair", **schema.NEXT)
    def next_pair(body: schema.Left) -> Response:
        """The pair of stored questions whose answer tells most about the threshold; [] at the end."""
        vectors, answers = index.vectors, index.answers()
        if candidates[0] is not vectors:
            candidates[:] = vectors, similar_candidates(index)
        sides = answers.question1, answers.question2
        known = {frozenset(map(folded, pair)) for pair in [*zip(*sides), *body.leave_out]}
        left = [c for c in candidates[1] if frozenset(map(folded, c[1:])) not in known]
        pair: list[str] = []
        if left:
            detector = index.detector
            scores = list(detector.similarity(*sides)) if len(answers) else []
            rows = list(zip(*sides, answers.is_duplicate.astype(int).tolist()))
            _, *pair = left[next_place([c[0] for c in left], scores, rows, detector.threshold)]
        parts = list(shown(*pair)) if pair else []
        return answered({"pair": pair, "shown": parts, "answers": len(answers)})

    @asks("answer", stored=int, answers=int, threshold=float, fitted=bool)
    def answer(body: schema.Said) -> Response:
        """Stores whether two stored questions are duplicates (null takes it back); fits the threshold."""
        said = QuestionPairs([body.question1], [body.question2], [bool(body.is_duplicate)])
        stored = index.add_answers(said, forget=body.is_duplicate is None)
        answers, fitted = index.answers(), False
        labels = answers.is_duplicate
        if stored and labels.any() and not labels.all():
            cosines = index.detector.similarity(answers.question1, answers.question2)
            with contextlib.suppress(DataError):  # Duplicates do not have the higher cosines yet.
                index.set_threshold(fit_threshold(cosines, labels).to_dict())
                fitted = True
        facts = {"stored": stored, "answers": len(answers), "fitted": fitted}
        return answered({**facts, "threshold": current_detector().threshold})

    @asks("info", version=str, questions=int, threshold=float, has_probabilities=bool, note=str)
    def info(body: schema.Nothing) -> Response:
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
        answers[401] = {"description": PROBLEMS[401], "model": schema.Problem}

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
    gc.freeze()  # What is there to stay is not looked through again; a collection stops all threads.
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
