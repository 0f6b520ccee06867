"""The JSON API over HTTP: answers, errors, key, limits, metrics, OpenAPI; several processes (slow)."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection

import pytest
from small_models import make_detector, random_questions

from siamese.cli.main import main
from siamese.search.index import QuestionIndex

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from siamese.serving.api import make_app, serve
from siamese.serving.server import Running, free_port
from siamese.serving.service import QuestionService

OLD = ["how far", "how far", *random_questions(100)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    model = make_detector(threshold=0.9).save(folder / "model")
    return QuestionIndex.build(make_detector(), OLD, path=folder / "old", model=model)


@pytest.fixture(scope="module")
def running(path):
    port = free_port("127.0.0.1", 0)
    started = Running(make_app(QuestionService.load(path)), "127.0.0.1", port)
    started.port = port
    yield started
    started.close()


def ask(port, path, body=None, method=None, **headers):
    """(status, JSON value or text)."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    connection.request(method or ("GET" if body is None else "POST"), path, data, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(text) if is_json else text


def test_answers_are_those_of_the_index(running, path):
    index = QuestionIndex.open(path)
    status, found = ask(running.port, "/v1/search", {"questions": ["how far", ""], "k": 2})
    hits = [[hit._asdict() for hit in hits] for hits in index.search(["how far", ""], 2)]
    hits = json.loads(json.dumps(hits))
    for hit in hits[0]:
        hit |= {"similarity": round(hit["similarity"], 6), "same": list(hit["same"])}
    assert (status, found) == (200, {"results": hits})
    body = {"questions": ["how far"], "k": 1, "threshold": 2}
    assert not ask(running.port, "/v1/search", body)[1]["results"][0][0]["is_duplicate"]

    for options in ({"mode": "words"}, {"mode": "vectors"}, {"merge_same": True}):
        found = ask(running.port, "/v1/search", {"questions": ["how far"], "k": 5, **options})[1]
        alone = index.search("how far", 5, **options)
        assert [hit["id"] for hit in found["results"][0]] == [hit.id for hit in alone]

    answers = ask(running.port, "/v1/similarity", {"pairs": [["how", "far"], ["x", "x"]]})[1]
    cosine = index.detector.similarity("how", "far")
    assert answers["answers"][0]["similarity"] == pytest.approx(cosine, abs=1e-6)
    assert answers["answers"][0]["probability"] is None
    vectors = ask(running.port, "/v1/encode", {"questions": ["how"]})[1]["vectors"]
    assert vectors[0] == pytest.approx(index.detector.encode("how").tolist())
    found = ask(running.port, "/v1/duplicates-of", {"ids": [0]})[1]["results"][0]
    assert found[0]["id"] == 1 and all(hit["is_duplicate"] for hit in found)


def test_what_is_added_is_found_and_what_is_removed_is_not(running, path):
    new = [
        {"question": "old rice \ud83d\ude00", "id": "b7", "columns": {"n": float("nan")}},
        {"question": "cook the way", "id": 2**70, "columns": {"kind": "rice"}},
    ]
    assert ask(running.port, "/v1/add", {"questions": new}) == (200, {"ids": ["b7", 2**70]})
    hit = ask(running.port, "/v1/search", {"questions": ["old rice \ud83d\ude00"], "k": 1})[1]
    assert hit["results"][0][0]["id"] == "b7" and hit["results"][0][0]["columns"] == {"n": None}
    assert 2**70 in QuestionIndex.open(path)
    body = {"questions": ["how far"], "where": {"kind": "rice"}}
    assert [h["id"] for h in ask(running.port, "/v1/search", body)[1]["results"][0]] == [2**70]
    assert ask(running.port, "/v1/remove", {"ids": ["b7", 2**70]}) == (200, {"removed": 2})
    assert "b7" not in QuestionIndex.open(path)


@pytest.mark.parametrize(
    ("status", "what", "body", "words"),
    [
        (400, "add", {"questions": [{"question": " "}]}, "no words"),
        (400, "add", {"questions": [{"question": "a"}, {"question": "b", "id": 1}]}, "every question"),
        (409, "add", {"questions": [{"question": "how", "id": 0}]}, "taken"),
        (400, "search", {"questions": ["x"], "where": {"none": 1}}, "none"),
        (400, "search", {"questions": ["x"], "min_probability": 0.5}, "no calibration"),
        (422, "search", {"questions": ["x"], "mode": "all"}, "body.mode"),
        (404, "remove", {"ids": ["0"]}, "no question with the id '0'"),
        (404, "duplicates-of", {"ids": [-1]}, "no question with the id -1"),
        (413, "search", {"questions": ["x"] * 1001}, "1,000 questions"),
        (413, "encode", {"questions": ["x" * 10_001]}, "10,000 characters"),
        (413, "search", {"questions": ["x"], "k": 1001}, "1,000"),
        (422, "search", {"questions": ["x"], "k": 0}, "body.k"),
        (422, "search", {"questions": "x"}, "body.questions"),
        (422, "search", {"questions": ["x"], "threshold": float("nan")}, "body.threshold"),
        (422, "remove", {"ids": [True]}, "body.ids"),
        (422, "similarity", {"pairs": [["a", "b", "c"]]}, "body.pairs"),
        (422, "search", b"{", "body"),
        (422, "search", b"\xff\xfe", "body"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_reported_in_a_sentence(running, status, what, body, words):
    got, answer = ask(running.port, f"/v1/{what}", body)
    assert got == status and words in str(answer) and len(str(answer)) < 300
    assert status == 413 or set(answer) == {"detail"}


def test_a_body_above_a_mebibyte_is_refused_unread(running):
    length = {"Content-Length": str((1 << 20) + 1)}
    assert ask(running.port, "/v1/encode", b"{}", **length)[0] == 413


def test_other_sites_are_refused_and_openapi_describes_the_rest(running):
    assert (
        ask(running.port, "/v1/encode", {"questions": []}, Origin="http://evil.example")[0] == 403
    )
    assert ask(running.port, "/health", Host="evil.example")[0] == 403
    assert ask(running.port, "/docs")[0] == 404
    described = ask(running.port, "/openapi.json")[1]
    paths = "similarity", "encode", "search", "duplicates-of", "add", "remove"
    for path in paths:
        operation = described["paths"][f"/v1/{path}"]["post"]
        assert operation["security"] and {"200", "413", "429"} <= set(operation["responses"])
    assert "How can I learn Spanish?" in json.dumps(described["components"]["schemas"]["Search"])


def test_a_key_opens_all_but_health(path):
    port = free_port("127.0.0.1", 0)
    app = make_app(QuestionService.load(path), key="sécret", names=["questions.example"])
    started = Running(app, "127.0.0.1", port)
    try:
        for key in (None, "Bearer wrong", "Bearer ", "Basic sécret"):
            headers = {"Authorization": key.encode()} if key else {}
            for asked in ("/metrics", "/v1/encode"):
                body = {"questions": ["how"]} if asked == "/v1/encode" else None
                assert ask(port, asked, body, **headers)[0] == 401
        assert ask(port, "/health", Host="Questions.example")[0] == 200
        assert ask(port, "/openapi.json")[0] == 200
    finally:
        started.close()


def test_metrics_count_what_was_asked(running):
    def count(path, status):
        text = ask(running.port, "/metrics")[1]
        found = re.search(rf'siamese_requests_total{{path="{path}",status="{status}"}} (\d+)', text)
        return int(found[1]) if found else 0

    before = count("/v1/encode", 200), count("/v1/encode", 413), count("other", 404)
    ask(running.port, "/v1/encode", {"questions": ["how"]})
    ask(running.port, "/v1/encode", {"questions": ["x"] * 1001})
    ask(running.port, "/nothing")
    after = count("/v1/encode", 200), count("/v1/encode", 413), count("other", 404)
    assert [b - a for a, b in zip(before, after)] == [1, 1, 1]
    text = ask(running.port, "/metrics")[1]
    assert re.search(r'siamese_request_seconds_bucket{path="/v1/encode",le="\+Inf"} \d', text)
    assert f"siamese_index_questions {len(OLD)}\n" in text


def test_user_errors_exit_2(path, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SIAMESE_API_KEY", raising=False)
    for arguments, words in (
        ([str(tmp_path)], "holds no index"),
        ([str(path), "--host", "0.0.0.0"], "SIAMESE_API_KEY"),
        ([str(path), "--port", "70000"], "from 0 to 65535"),
        ([str(path), "--workers", "0"], "--workers"),
        ([str(path), "--json"], "--json"),
    ):
        assert main(["serve", *arguments]) == 2, arguments
        shown = capsys.readouterr().err
        assert words in shown and "Traceback" not in shown
    for module in ("fastapi", "uvicorn"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            without.delitem(sys.modules, serve.__module__)
            assert main(["serve", str(path)]) == 2
            assert "pip install fastapi uvicorn" in capsys.readouterr().err


@pytest.mark.slow
def test_several_processes_serve_one_index_through_kills(tmp_path):
    """A killed worker is replaced, a killed server has lost nothing, SIGTERM answers what was asked."""
    model = make_detector(threshold=0.9).save(tmp_path / "model")
    path = QuestionIndex.build(make_detector(), OLD, path=tmp_path / "old", model=model)
    port, added = free_port("127.0.0.1", 0), []
    command = [sys.executable, "-m", "siamese.cli", "serve", str(path), "--port", str(port)]
    key = {"Authorization": "Bearer secret"}

    def start(workers):
        environment = {**os.environ, "SIAMESE_API_KEY": "secret"}
        made = subprocess.Popen([*command, "--workers", str(workers)], env=environment)
        for _ in range(600):
            try:
                if ask(port, "/health")[0] == 200:
                    return made
            except OSError:
                time.sleep(0.1)
        raise AssertionError("no answer")

    def add(n):
        body = {"questions": [{"question": f"rice {n}", "id": f"new {n}"}]}
        try:
            if ask(port, "/v1/add", body, **key)[0] == 200:
                added.append(f"new {n}")
        except OSError:  # Its worker was killed.
            pass

    def workers_of(process):
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        with open(children) as file:
            return [int(pid) for pid in file.read().split()]

    first = start(2)
    try:
        for n in range(10):
            add(n)
        assert len(added) == 10
        found = set()
        for _ in range(20):  # Whichever process answers.
            body = {"questions": ["rice 3"], "k": len(OLD) + 50}
            hits = ask(port, "/v1/search", body, **key)[1]["results"][0]
            found.add(frozenset(hit["id"] for hit in hits))
        assert len(found) == 1 and set(added) <= found.pop()
        counted = re.findall(r'path="/v1/add",status="200"} (\d+)', ask(port, "/metrics", **key)[1])
        assert counted == ["10"]
        clients = [threading.Thread(target=add, args=(n,)) for n in range(10, 30)]
        for client in clients:
            client.start()
        os.kill(workers_of(first)[-1], signal.SIGKILL)
        for client in clients:
            client.join()
    finally:
        for pid in [*workers_of(first), first.pid]:
            os.kill(pid, signal.SIGKILL)
        first.wait()
    assert len(added) >= 10 and set(added) <= {e["id"] for e in QuestionIndex.open(path).entries}

    second = start(1)
    body = {"questions": [f"rice {n}" for n in range(30)], "k": len(OLD) + 50}
    hits = ask(port, "/v1/search", body, **key)[1]["results"][0]
    assert set(added) <= {hit["id"] for hit in hits}
    last = threading.Thread(target=add, args=("last",))
    last.start()
    time.sleep(0.2)
    second.send_signal(signal.SIGTERM)
    assert second.wait(20) in (0, -signal.SIGTERM)
    last.join()
    assert ("new last" in added) == ("new last" in QuestionIndex.open(path))
