"""Clients that send slowly, or never the end, or never take their answer: the others are answered."""

import contextlib
import json
import select
import socket
import time
from urllib.parse import urlsplit

import pytest
from small_models import make_detector, random_questions

from siamese.index import QuestionIndex

pytest.importorskip("requests")
pytest.importorskip("fastapi")

import requests
from fastapi import Response
from running import running

HEAD = (
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
)
BODY = json.dumps({"questions": ["how far"], "k": 1}).encode()
JSON = {"Content-Type": "application/json"}
SHORT = 0.3  # seconds that the servers of these tests wait
# What a client sends first, and then again and again.
UNFINISHED = {
    "no byte of the body": (HEAD + b"Content-Length: 100\r\n\r\n", b""),
    "half a body": (HEAD + b"Content-Length: 100\r\n\r\n" + BODY, b""),
    "a body byte by byte": (HEAD + b"Content-Length: 1000\r\n\r\n", b" "),
    "a length that is one too large": (HEAD + b"Content-Length: %d\r\n\r\n" % (len(BODY) + 1) + BODY, b""),
    "no last chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY) + BODY + b"\r\n", b""),
    "chunks without end": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "half a chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\n{", b""),
    "trailers without end": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    "waits to go on": (HEAD + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", b""),
}  # fmt: skip
REST = b"Host: localhost\r\nContent-Length: 99999\r\n\r\n"
HEADLESS = {
    "nothing": (b"", b""),
    "half a head": (HEAD, b""),
    "a head byte by byte": (HEAD, b"x"),
    "headers without end": (HEAD, b"a: b\r\n"),
    "a body after its refusal": (b"POST /v1/search HTTP/1.1\r\nOrigin: null\r\n" + REST, b" "),
    "a body after a page": (b"GET /health HTTP/1.1\r\n" + REST, b" "),
    "half of a second request": (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD, b"x"),
}  # fmt: skip


@contextlib.contextmanager
def connected(address, number=1):
    """So many connections to a server."""
    where = urlsplit(address)
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                socket.create_connection((where.hostname, where.port), 30)
            )
            for _ in range(number)
        ]


def until_closed(connection, more):
    """What a server sends until it closes a connection, to which `more` is sent again and again."""
    answer = b""
    connection.setblocking(False)
    for _ in range(600):  # at most 30 s
        readable, _, _ = select.select([connection], [], [], 0.05)
        try:
            if readable:
                part = connection.recv(1 << 16)
                answer += part
                if not part:
                    return answer
            connection.send(more)
        except (ConnectionError, BlockingIOError):
            return answer
    pytest.fail(f"still open after 30 s; it answered {answer[:100]}")


def build():
    return QuestionIndex.build(make_detector(), random_questions(50))


@pytest.fixture(scope="module")
def address():
    with running(build(), patience=SHORT) as served:
        yield served


@pytest.mark.parametrize("kind", UNFINISHED)
def test_a_body_that_is_not_whole_in_time_is_answered_408(address, kind):
    first, more = UNFINISHED[kind]
    with connected(address) as (connection,):
        connection.sendall(first)
        answer = until_closed(connection, more)
    assert b"HTTP/1.1 408" in answer and b'{"detail":' in answer


@pytest.mark.parametrize("kind", HEADLESS)
def test_a_connection_without_a_whole_head_in_time_is_closed(address, kind):
    first, more = HEADLESS[kind]
    with connected(address) as (connection,):
        connection.sendall(first)
        assert b" 408" not in until_closed(connection, more)


def test_unfinished_bodies_take_nobodys_place():
    with running(build()) as address, connected(address, 150) as connections:
        for place, connection in enumerate(connections):
            first, more = list(UNFINISHED.values())[place % len(UNFINISHED)]
            connection.sendall(first + more)
        time.sleep(0.1)  # The server reads them.
        assert requests.get(f"{address}/health", timeout=30).status_code == 200
        answer = requests.post(f"{address}/v1/search", BODY, timeout=30, headers=JSON)
        assert answer.status_code == 200 and len(answer.json()["results"][0]) == 1


def test_large_unfinished_bodies_fill_no_memory_and_let_small_requests_through(
    monkeypatch,
):
    monkeypatch.setattr("siamese.serving.gate.MOST_HELD", 1 << 20)
    large = HEAD + b"Content-Length: 8000000\r\n\r\n" + b" " * 700_000
    with running(build()) as address, connected(address, 4) as connections:
        for connection in connections:
            connection.sendall(large)
        # Half of what a body has.
        answered, _, _ = select.select(connections, [], [], 5)
        assert answered and answered[0].recv(99).startswith(b"HTTP/1.1 503")
        assert requests.post(f"{address}/v1/search", BODY, timeout=30, headers=JSON).ok


def test_a_whole_request_in_slow_parts_is_answered(address):
    with connected(address) as (connection,):
        for part in (
            HEAD,
            b"Content-Length: %d\r\n\r\n" % len(BODY),
            BODY[:9],
            BODY[9:],
        ):
            connection.sendall(part)
            time.sleep(SHORT / 8)
        assert connection.recv(99).startswith(b"HTTP/1.1 200")


def test_a_declared_length_beyond_the_limit_is_refused_before_it_is_sent(address):
    with connected(address) as (connection,):
        connection.sendall(HEAD + b"Content-Length: 8388609\r\n\r\n")
        assert connection.recv(99).startswith(b"HTTP/1.1 413")


def test_who_never_takes_an_answer_is_dropped(monkeypatch):
    whole = 50_000_000
    monkeypatch.setattr(
        "siamese.serving.api.answered", lambda values: Response(b" " * whole)
    )
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    with (
        running(build(), patience=SHORT) as address,
        connected(address) as (connection,),
    ):
        connection.sendall(request)
        time.sleep(8 * SHORT)
        taken = 0
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1 << 20):
                taken += len(part)
        assert taken < whole
