"""The JSON API on a `QuestionService`: FastAPI's application, and the command that serves it."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from siamese import __version__
from siamese.errors import ArgumentError, CheckpointError, MissingDependencyError, SiameseError
from siamese.search.display import json_text
from siamese.search.index import Hit, QuestionIndex
from siamese.serving.batches import Busy
from siamese.serving.guard import Guard
from siamese.serving.metrics import Measured
from siamese.serving.server import OPTIONS, free_port, is_local, url
from siamese.serving.service import NotThere, QuestionService, Taken, TooLarge

try:
    import uvicorn
    from fastapi import Depends, FastAPI, HTTPException, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
    from pydantic import BaseModel, Field, StrictInt, StrictStr, create_model
except ImportError:
    raise MissingDependencyError(
        "The JSON API needs FastAPI and uvicorn: pip install fastapi uvicorn."
    ) from None

KEY = "SIAMESE_API_KEY"  # The environment variable with the key that clients must send.
SETTINGS = "SIAMESE_SERVE"  # The one by which the command tells its worker processes what to serve.
STATUS = {TooLarge: 413, Busy: 429, NotThere: 404, Taken: 409, CheckpointError: 503}

wait = asyncio.wrap_future

ABOUT = "Has it been asked before? Cosines, search and changes of one index of questions."
QUESTION = "How can I learn Spanish?"
BEARER = HTTPBearer(auto_error=False, description=f"the server's {KEY}, where it has one")
MEANS = {
    400: "Something that cannot be done, such as a question without words to be added.",
    401: "The key is missing or wrong.",
    403: "Another host or site.",
    404: "An id that no question has.",
    409: "An id that is taken.",
    413: "The request is too large: bytes, questions, characters or k.",
    422: "Not the JSON that is expected.",
    429: "Too much waits for an answer; ask again later.",
    503: "The index cannot be read or changed now.",
}

Id = StrictInt | StrictStr
Cut = Annotated[
    float | None,
    Field(
        allow_inf_nan=False, description="cosine above which two are duplicates [the model's own]"
    ),
]


class Pairs(BaseModel):
    """Pairs of questions."""

    pairs: list[tuple[str, str]] = Field(examples=[[[QUESTION, "Best way to learn Spanish?"]]])
    threshold: Cut = None


class Questions(BaseModel):
    """Questions."""

    questions: list[str] = Field(examples=[[QUESTION]])


class Search(Questions):
    """New questions, to be looked for among the old ones."""

    k: int = Field(10, ge=1, description="how many to find")
    mode: Literal["hybrid", "vectors", "words"] = Field(
        "hybrid", description="what orders the hits"
    )
    threshold: Cut = None
    where: dict[str, str | int | float] | None = Field(
        None, description="only questions whose columns have these values"
    )
    min_probability: float | None = Field(None, allow_inf_nan=False)
    merge_same: bool = Field(False, description="of hits with the same text only the first")


class New(BaseModel):
    """A question to keep."""

    question: str = Field(examples=[QUESTION])
    id: Id | None = Field(None, description="the next free number where none is given")
    columns: dict[str, Any] = Field({}, examples=[{"category": "languages"}])


class Added(BaseModel):
    """Questions to keep; give all of them an id, or none."""

    questions: list[New]


class Ids(BaseModel):
    """Questions of the index, by their ids."""

    ids: list[Id] = Field(examples=[[7, 12]])


class OfStored(Ids):
    """Stored questions whose duplicates are wanted."""

    k: int = Field(100, ge=1, description="how many of each, at most")
    threshold: Cut = None


class Answer(BaseModel):
    """What two questions have in common; no probability where the model has no calibration."""

    similarity: float = Field(examples=[0.912])
    probability: float | None = Field(examples=[0.87])
    is_duplicate: bool


class Found(Answer):
    """An old question."""

    id: Id
    question: str
    columns: dict[str, Any]
    vector_rank: int | None = Field(description="from 1; null where it is not in that list")
    word_rank: int | None
    same: list[Id] = Field(description="the ids of the other hits with the same text")


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON value as it is sent; NaN becomes null."""
    return Response(json_text(body), status, headers, "application/json")


def _hits(found: list[list[Hit]]) -> Response:
    return answer({"results": [[_rounded(hit._asdict()) for hit in hits] for hits in found]})


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {n: round(v, 6) if isinstance(v, float) else v for n, v in found.items()}


async def _refused(request: Request, error: SiameseError) -> Response:
    status = next((n for kind, n in STATUS.items() if isinstance(error, kind)), 400)
    return answer({"detail": str(error)}, status, {"Retry-After": "1"} if status == 429 else {})


async def _misunderstood(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]  # Without what was sent, which may be large.
    return answer({"detail": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}, 422)


def make_app(
    service: QuestionService,
    *,
    host: str = "127.0.0.1",
    key: str | None = None,
    names: Sequence[str] = (),
    counts: str | os.PathLike | None = None,
) -> Any:
    """The application (ASGI), with its guard; it closes the service at its end.

    Args:
      service: answers.
      host: the address that it is served at.
      key: what clients must send as ``Authorization: Bearer KEY``; None for no key.
      names: further hosts that requests may name.
      counts: a folder for the metrics of several processes; None for one process.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        await asyncio.to_thread(service.close)

    async def checked(given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]):
        sent = given.credentials.encode() if given else b""
        if key and not hmac.compare_digest(sent, key.encode()):
            why = "Send the server's key: Authorization: Bearer KEY."
            raise HTTPException(401, why, {"WWW-Authenticate": "Bearer"})

    app = FastAPI(
        title="siamese", version=__version__, description=ABOUT, lifespan=lifespan,
        exception_handlers={SiameseError: _refused, RequestValidationError: _misunderstood},
        docs_url=None, redoc_url=None,  # Those pages load scripts from elsewhere.
    )  # fmt: skip

    def asks(path: str, **fields: Any):
        """Declares a path; `fields` describe its answer for OpenAPI."""
        model = create_model(f"{path.title().replace('-', '')}Answer", **fields)
        errors = {status: {"description": meaning} for status, meaning in MEANS.items()}
        described = {"response_model": model, "responses": errors}
        return app.post(f"/v1/{path}", dependencies=[Depends(checked)], **described)

    @asks("similarity", answers=list[Answer])
    async def similarity(asked: Pairs) -> Response:
        """The cosine of each pair, and whether it is above the threshold."""
        found = await wait(service.similarity(asked.pairs, asked.threshold))
        return answer({"answers": list(map(_rounded, found))})

    @asks("encode", vectors=list[list[float]])
    async def encode(asked: Questions) -> Response:
        """The questions' vectors, of length 1; all zero for a question without words."""
        found = await wait(service.encode(asked.questions))
        return answer({"vectors": [vector.tolist() for vector in found]})

    @asks("search", results=list[list[Found]])
    async def search(asked: Search) -> Response:
        """The old questions most similar to each new one, best first."""
        return _hits(await wait(service.search(**dict(asked))))

    @asks("duplicates-of", results=list[list[Found]])
    async def duplicates_of(asked: OfStored) -> Response:
        """The other questions of the index whose cosine with a stored one is above the threshold."""
        return _hits(await wait(service.duplicates_of(**dict(asked))))

    @asks("add", ids=list[Id])
    async def add(asked: Added) -> Response:
        """Keeps questions, all or none; answered when they are on disk."""
        ids = [new.id for new in asked.questions]
        if None in ids and set(ids) != {None}:
            raise ArgumentError("Give every question an id, or none of them.")
        texts = [new.question for new in asked.questions]
        columns = [new.columns for new in asked.questions]
        return answer(
            {"ids": await wait(service.add(texts, None if None in ids else ids, columns))}
        )

    @asks("remove", removed=int)
    async def remove(asked: Ids) -> Response:
        """Removes questions, all or none; answered when that is on disk."""
        return answer({"removed": await wait(service.remove(asked.ids))})

    @app.get("/health")
    async def health() -> Response:
        """200 where questions are answered from what is saved now, otherwise 503; needs no key."""
        facts = {"status": service.trouble or "ok", "version": __version__}
        facts["questions"] = len(service.index)
        return answer(facts, 503 if service.trouble else 200)

    @app.get("/metrics", dependencies=[Depends(checked)])
    async def metrics() -> Response:
        """Counts of all processes, and the questions of the index, in Prometheus' text format."""
        text = measured.text({"siamese_index_questions": len(service.index)})
        return Response(text, media_type="text/plain; version=0.0.4")

    measured = Measured(Guard(app, host, names), [route.path for route in app.routes], counts)
    return measured


def serve(
    index: str | os.PathLike,
    *,
    model: str | os.PathLike | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    names: Sequence[str] = (),
) -> None:
    """Serves an index until SIGTERM or Ctrl-C, in so many processes; prints its address.

    The key that clients must send is read from the environment (`KEY`). What was asked before the signal is
    answered, for three seconds at most.

    Raises:
      ArgumentError: no key for an address that other machines reach; a port that is taken or cannot be.
      CheckpointError: no such index or model, or an index of another model.
    """
    if not os.environ.get(KEY) and not is_local(host):
        raise ArgumentError(
            f"Other machines can reach {host}. Set the environment variable {KEY} to a secret that "
            "clients send, or listen on 127.0.0.1."
        )
    if workers < 1:
        raise ArgumentError(f"--workers must be 1 or more; it is {workers}.")
    port = free_port(host, port)
    size = len(QuestionIndex.open(index, model))  # A damaged one is told before anything listens.
    print(f"{size:,} questions are served at {url(host, port)}v1 (Ctrl-C ends it).", flush=True)
    with tempfile.TemporaryDirectory(prefix="siamese-serve-") as counts:
        given = {"index": os.fspath(index), "model": model and os.fspath(model)}
        given |= {"host": host, "names": names, "workers": workers, "counts": counts}
        os.environ[SETTINGS] = json.dumps(given)
        app = f"{__name__}:worker_app"
        uvicorn.run(app, factory=True, workers=workers, host=host, port=port, **OPTIONS)


def worker_app() -> Any:
    """The application of one process of `serve`, which tells by `SETTINGS` what to serve."""
    from threadpoolctl import threadpool_limits

    given = json.loads(os.environ[SETTINGS])
    if given["workers"] > 1:  # More threads than cores would keep each other waiting.
        threadpool_limits(max(1, (os.cpu_count() or 1) // given["workers"]))
    service = QuestionService.load(given["index"], given["model"])
    options = {name: given[name] for name in ("host", "names", "counts")}
    return make_app(service, key=os.environ.get(KEY), **options)
