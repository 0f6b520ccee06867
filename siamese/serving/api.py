"""The server of an index: a JSON API, its OpenAPI document, and a search page at `/`."""

from __future__ import annotations

import copy
import functools
import gc
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Protocol

import numpy as np
import uvicorn
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.middleware import Middleware
from uvicorn.logging import AccessFormatter

from siamese import __version__
from siamese.errors import ArgumentError, CheckpointError, DataError, SiameseError
from siamese.groups.answers import ANY, AnswerChange
from siamese.groups.table import GROUP_COLUMNS, group_rows
from siamese.index import Hit, QuestionIndex
from siamese.index.asking import shown
from siamese.index.list_pairs import ListPairs
from siamese.model.detector import judged, pairs_of
from siamese.model.explain import explain
from siamese.serving import schema
from siamese.serving.about import Examples, about, floor_of
from siamese.serving.gate import KEY, MOST_WAITING, PROBLEMS, Gate, refused
from siamese.serving.patience import PATIENCE, timed_protocol
from siamese.system.arguments import counted
from siamese.system.open_types import JsonObject
from siamese.text.display import json_text, rounded
from siamese.text.language import text_languages

MOST_WORKING = max(2, os.cpu_count() or 1)  # requests that are answered at once
ABOUT = "Has it been asked before? Cosines, search, groups and changes of one index of questions."
# The addresses of the page, and the files there with their types.
PAGE = {
    "/": ("page.html", "text/html"),
    "/docs": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}


def answered(values: JsonObject) -> Response:
    """An answer in JSON; NaN becomes null."""
    return Response(json_text(values), media_type="application/json")


def problems(*codes: int) -> dict[int | str, JsonObject]:
    """The answers to refused requests, for the OpenAPI document."""
    return {
        code: {"description": PROBLEMS[code], "model": schema.Problem} for code in codes
    }


def one_at_a_time() -> Callable[[Callable], Callable]:
    """A decorator: these functions answer one request after the other, in a thread beside the others'.

    So what waits for another process takes no thread from those that search. 503 where
    half of the requests that may wait wait for their turn.
    """
    limiter = CapacityLimiter(1)

    def decorate(work: Callable) -> Callable:
        @functools.wraps(work)
        async def answer(body: BaseModel) -> Response:
            if limiter.statistics().tasks_waiting >= MOST_WAITING // 2:
                return refused(
                    503, "Too many changes are waiting. Try again in a second."
                )
            return await to_thread.run_sync(work, body, limiter=limiter)

        return answer

    return decorate


def make_app(
    index: QuestionIndex,
    host: str = "::1",
    key: str | None = None,
    names: Sequence[str] = (),
    patience: float = PATIENCE,
    read_only: bool = False,
) -> FastAPI:
    """The application (ASGI), which closes the index at its end.

    A body of a request must be whole within `patience` seconds; see `serve` for the
    other arguments.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = MOST_WORKING
        yield
        index.close()

    app = FastAPI(
        title="siamese",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        # Those pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        exception_handlers={SiameseError: _failed, RequestValidationError: _misread},
        middleware=[Middleware(Gate, _hosts(host, names), key, patience)],
    )
    v1 = APIRouter(prefix="/v1", responses=problems(400, 403, 408, 413, 422, 503))
    _add_questions(v1, index)
    _add_facts(v1, index, read_only)
    if not read_only:
        _add_groups(v1, index)
        _add_changes(v1, index)
        _add_answers(v1, index)
    # It only documents the key; the gate demands it, before a request is read.
    documented = [Depends(HTTPBearer(auto_error=False))] if key else []
    app.include_router(
        v1, dependencies=documented, responses=problems(401) if key else {}
    )
    _add_page(app)
    return app


def _hosts(host: str, names: Sequence[str]) -> list[str]:
    """The names of this server in a Host header, in lower case."""
    hosts = ["localhost", "127.0.0.1", "[::1]", socket.gethostname()]
    hosts += [host, f"[{host}]", *names]
    return [name.lower() for name in hosts]


def _add_page(app: FastAPI) -> None:
    """Declares the paths that need no key: the page's files, and /health."""
    folder = files("siamese.serving") / "page"

    def add_file(path: str, name: str, kind: str) -> None:
        content = folder.joinpath(name).read_bytes()

        @app.get(path, include_in_schema=False)
        async def show_file() -> Response:
            return Response(content, media_type=kind)

    for path, (name, kind) in PAGE.items():
        add_file(path, name, kind)

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Whether the server answers; needs no key."""
        return {"status": "ok", "version": __version__}


def _add_questions(v1: APIRouter, index: QuestionIndex) -> None:
    """Declares the paths that ask about questions."""

    @v1.post("/similarity", response_model=schema.Answers)
    def similarity(body: schema.Pairs) -> Response:
        """The cosine of each pair, and whether it is a duplicate by the threshold."""
        first = [one for one, _ in body.pairs]
        second = [two for _, two in body.pairs]
        detector = index.detector
        verdicts = judged(detector, *pairs_of(detector, first, second), body.threshold)
        answers = [rounded(dict(zip(schema.ANSWER, row))) for row in verdicts]
        return answered({"answers": answers})

    @v1.post("/explain", response_model=schema.Explained)
    def explain_pair(body: schema.Pair) -> Response:
        """The cosine of two questions, and what each of their words does to it."""
        explanation = explain(index.detector, body.question1, body.question2)
        return answered(explanation.as_dict())

    @v1.post("/search", response_model=schema.Hits, responses=problems(404))
    def search(body: schema.Search) -> Response:
        """The stored questions most similar to each new one, best first."""
        results = index.search(**dict(body))
        encoder = index.detector.encoder.name
        floors = [floor_of(text, encoder, body.mode) for text in body.questions]
        return answered({"results": _with_languages(index, results), "floors": floors})


def _with_languages(
    index: QuestionIndex, results: list[list[Hit]]
) -> list[list[JsonObject]]:
    """Hits as JSON values, with the language of each that is not in the main one of the list."""
    languages = index.facts.languages
    named: list[list[JsonObject]] = []
    for hits in results:
        codes = [""] * len(hits)
        if languages and len(languages.shares) > 1:
            own = text_languages([hit.question for hit in hits], languages)
            codes = [code if code != languages.main else "" for code in own]
        rows = (rounded(hit._asdict()) for hit in hits)
        named.append([{**row, "language": code} for row, code in zip(rows, codes)])
    return named


def _add_facts(v1: APIRouter, index: QuestionIndex, read_only: bool) -> None:
    """Declares the paths that describe the index."""
    chosen = Examples(index)

    @v1.post("/info", response_model=schema.About)
    def info(body: schema.Nothing) -> Response:
        """The size of the index, its threshold, and how the page shows its hits."""
        return answered(about(index, read_only))

    @v1.post("/examples", response_model=schema.Examples)
    def examples(body: schema.Nothing) -> Response:
        """Up to three questions of the index to try a search with, and values to limit it to."""
        return answered(chosen.now())


def _add_groups(v1: APIRouter, index: QuestionIndex) -> None:
    """Declares the path of the groups, which the index keeps."""

    @v1.post("/groups", response_model=schema.Groups, responses=problems(404))
    @one_at_a_time()
    def groups(body: schema.GroupsPage) -> Response:
        """The groups of duplicates, a row a question; the first request makes them."""
        snapshot = index.grouped(within=body.within)
        counts = {
            "total": sum(map(len, snapshot.groups)),
            "groups": len(snapshot.groups),
        }
        stop = body.offset + body.limit
        page = group_rows(snapshot, start=body.offset, stop=stop)
        rows = [{name: row[name] for name in GROUP_COLUMNS} for row in page]
        return answered({"rows": rows, **counts})


def _add_changes(v1: APIRouter, index: QuestionIndex) -> None:
    """Declares the paths that change the questions."""
    in_turn = one_at_a_time()

    @v1.post("/add", response_model=schema.Changed, responses=problems(409))
    @in_turn
    def add(body: schema.NewQuestions) -> Response:
        """Adds questions, all or none; answered when they are on disk."""
        new = body.questions
        ids = [one.id for one in new if isinstance(one, schema.NewWithId)]
        columns = [one.columns for one in new]
        added = index.add(
            [one.question for one in new],
            ids=ids or None,
            columns=columns if any(columns) else None,
        )
        return answered(added._asdict())

    @v1.post("/remove", response_model=schema.Removed, responses=problems(404))
    @in_turn
    def remove(body: schema.Ids) -> Response:
        """Removes questions, all or none; answered when that is on disk."""
        return answered({"removed": index.remove(body.ids)})


def _add_answers(v1: APIRouter, index: QuestionIndex) -> None:
    """Declares the paths that ask whether two stored questions are duplicates."""
    in_turn = one_at_a_time()
    similar = SimilarPairs(index)

    @v1.post("/next-pair", response_model=schema.Next)
    def next_pair(body: schema.Left) -> Response:
        """The pair of stored questions whose answer tells most about the threshold; [] at the end."""
        answers = index.answers()
        pairs = similar.now()
        candidate = pairs.next(answers, body.leave_out)
        rows = candidate[:2] if candidate else ()
        pair = [pairs.entries[row]["question"] for row in rows]
        parts = shown(*pair) if pair else []
        return answered({"pair": pair, "shown": parts, "answers": len(answers)})

    def change(said: Sequence[_Said]) -> JsonObject:
        changed = index.change_answers(list(map(_answer_change, said)))
        return {
            "stored": changed.stored,
            "before": changed.before,
            "fitted": bool(changed.stored and _fit(index, similar.now())),
            "answers": len(index.answers()),
            "threshold": index.detector.threshold,
        }

    @v1.post("/answer", response_model=schema.Fitted, responses=problems(409))
    @in_turn
    def answer(body: schema.Said) -> Response:
        """Stores whether two stored questions are duplicates (null takes it back); fits the threshold."""
        facts = change([body])
        del facts["before"]
        return answered(facts)

    @v1.post("/answers", response_model=schema.AllFitted, responses=problems(409))
    @in_turn
    def answers(body: schema.AllSaid) -> Response:
        """Stores answers to several pairs, all or none, as of one group; returns what they replace."""
        return answered(change(body.pairs))


class SimilarPairs:
    """The most similar pairs of an index, looked for again when it has changed."""

    def __init__(self, index: QuestionIndex):
        self.index = index
        self.vectors: np.ndarray | None = None  # those that `pairs` is of
        self.pairs: ListPairs | None = None

    def now(self) -> ListPairs:
        """The pairs of the index as it is now."""
        snapshot = self.index.snapshot()
        if self.pairs is None or self.vectors is not snapshot.vectors:
            self.pairs = ListPairs.of_list(snapshot)
            self.vectors = snapshot.vectors
        return self.pairs


class _Said(Protocol):
    """An answer of a request, as `schema.Said` reads it."""

    question1: str
    question2: str
    is_duplicate: bool | None
    before: bool | None
    model_fields_set: set[str]


def _answer_change(said: _Said) -> AnswerChange:
    """An answer of a request; without `before` it replaces any."""
    is_any = "before" not in said.model_fields_set
    replaces = ANY if is_any else (said.before,)
    return AnswerChange(said.question1, said.question2, said.is_duplicate, replaces)


def _fit(index: QuestionIndex, pairs: ListPairs) -> bool:
    """Fits the threshold of an index to its answers; where they fit none the former one comes back."""
    # {} stands for the model's own.
    current = index.detector.card.get("threshold_fit", {})
    before = current.get("before", current)
    try:
        fit = pairs.fitted(index.detector, index.answers(), resamples=0)
    except DataError:  # No answer, or of one kind, or too few duplicates.
        if "before" in current:
            index.set_threshold(before)
        return False
    index.set_threshold({**fit, "before": before})
    return True


async def _failed(request: Request, error: SiameseError) -> Response:
    statuses = {ArgumentError: 404, CheckpointError: 503}  # else a DataError
    return refused(statuses.get(type(error), 409), str(error))


async def _misread(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]  # Without what was sent, which may be large.
    place = ".".join(str(part) for part in first["loc"] if not {*"[-"} & {*str(part)})
    kind = first.get("ctx", {}).get("pattern", first["type"])
    what = schema.EXPECTED.get(kind, first["msg"])
    return refused(422, f"{place}: {what}.")


def serve(
    index: QuestionIndex,
    host: str,
    port: int,
    names: Sequence[str] = (),
    read_only: bool = False,
) -> None:
    """Serves an index until SIGTERM or Ctrl-C, prints the address of its page, and closes the index.

    Clients must send the key of the environment variable `KEY`, where it is set, and
    name the host, or one of `names`; ``*.example.org`` are all of a domain. With
    `read_only` there is no path that changes the index. Requests that came before the
    signal are answered, for three seconds at most. ArgumentError without a key for an
    address that other machines reach, and for a port that is not free.
    """
    key = os.environ.get(KEY, "").strip()
    for name in names:
        if "*" in name.removeprefix("*."):
            raise ArgumentError(f"--allow-host {name!r}: a name or *.name is expected.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ArgumentError(
            f"Port {port} of {host} is not available ({error}). Give another; --port 0 picks a free one."
        ) from None
    with listening:
        address, port, *_ = listening.getsockname()
        if not key and not ipaddress.ip_address(address).is_loopback:
            raise ArgumentError(
                f"Other machines can reach {host}. Set the environment variable {KEY} to a secret that "
                "clients send, or listen on 127.0.0.1."
            )
        url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
        print(
            f"{counted(len(index), 'question')} served at {url} (Ctrl-C ends it).",
            flush=True,
        )
        # What is there to stay is not looked through again; a collection stops all threads.
        gc.freeze()
        app = make_app(index, host, key or None, names, read_only=read_only)
        server = uvicorn.Server(settings(app))
        log_requests()
        server.run(sockets=[listening])


class WithoutText(AccessFormatter):
    """Lines of requests without what follows the path, which may hold a question."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line of a request."""
        assert isinstance(record.args, tuple)
        client, method, path, version, status = record.args
        short = copy.copy(record)
        short.args = (client, method, str(path).partition("?")[0], version, status)
        return super().formatMessage(short)


def log_requests() -> None:
    """Lets uvicorn print a line on standard error for each request that it answers."""
    lines = logging.StreamHandler()
    lines.setFormatter(
        WithoutText(
            "%(asctime)s %(client_addr)s %(request_line)s %(status_code)s",
            use_colors=False,
        )
    )
    log = logging.getLogger("uvicorn.access")
    log.setLevel(logging.INFO)
    log.handlers = [lines]


def settings(app: FastAPI, patience: float = PATIENCE) -> uvicorn.Config:
    """How uvicorn runs the application: over HTTP/1.1 alone, with a limit on slow clients."""
    # No log_config: it would close the handlers that others have made.
    return uvicorn.Config(
        app,
        http=timed_protocol(patience),
        ws="none",
        log_level="warning",
        log_config=None,
        timeout_graceful_shutdown=3,
    )
