"""The JSON API over HTTP: answers, changes, limits, key, other sites, metrics; several processes (slow)."""

import importlib
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

from siamese.errors import ArgumentError, MissingDependencyError
from siamese.search.index import QuestionIndex

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from running import running

from siamese.serving import api, gate

OLD = ["how far", "how far", *random_questions(100)]
EVIL = "evil.example:8000"
COLUMNS = [{"topic": "ways"}, *[{}] * (len(OLD) - 1)]


@pytest.fixture
def path(tmp_path):
    model = make_detector(threshold=0.9).save(tmp_path / "model.safetensors")
    options = {"columns": COLUMNS, "path": tmp_path / "old.db", "model": model}
    QuestionIndex.build(make_detector(threshold=0.9), OLD, **options).close()
    return tmp_path / "old.db"


@pytest.fixture(scope="module")
def address():
    index = QuestionIndex.build(make_detector(threshold=0.9), OLD, columns=COLUMNS)
    with running(index) as served:
        yield served


def ask(address, path, body=None, method=None, **headers):
    """(status, JSON value or text, headers); a body that is a list of bytes is sent in chunks."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=60)
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers = {"Content-Type": "application/json", **headers}
    connection.request(method or ("GET" if body is None else "POST"), path, data, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(text) if is_json else text, answer.headers


def test_answers_are_those_of_the_index(address):
    index = QuestionIndex.build(make_detector(threshold=0.9), OLD, columns=COLUMNS)
    for options in ({}, {"mode": "words"}, {"merge_same": True}, {"where": {"topic": "ways"}}):
        body = {"questions": ["how far", ""], "k": 3, **options}
        results = ask(address, "/v1/search", body)[1]["results"]
        expected = [[hit._asdict() for hit in hits] for hits in index.search(**body)]
        for hit in (hit for hits in expected for hit in hits):
            hit |= {"similarity": round(hit["similarity"], 6), "same": list(hit["same"])}
        assert results == expected
    body = {"questions": ["how far away"], "k": 1, "threshold": 1}
    assert not ask(address, "/v1/search", body)[1]["results"][0][0]["is_duplicate"]

    cosine = index.detector.similarity("how", "far")
    answers = ask(address, "/v1/similarity", {"pairs": [["how", "far"], ["x", "x"]]})[1]["answers"]
    assert [a["similarity"] for a in answers] == pytest.approx([cosine, 1], abs=1e-6)
    explanation = ask(address, "/v1/explain", {"question1": "how far", "question2": "far"})[1]
    assert [word["word"] for word in explanation["words1"]] == ["how", "far"]
    assert explanation["words2"][0]["effect"] is None and explanation["threshold"] == 0.9
    vectors = ask(address, "/v1/encode", {"questions": ["how"]})[1]["vectors"]
    assert vectors[0] == pytest.approx(index.detector.encode("how").tolist())
    hits = ask(address, "/v1/duplicates-of", {"ids": [0]})[1]["results"][0]
    assert hits[0]["id"] == "1" and all(hit["is_duplicate"] for hit in hits)

    groups = index.groups()
    table = ask(address, "/v1/groups", {"offset": 1, "limit": 2})[1]
    assert [row["id"] for row in table["rows"]] == [str(m.row) for m in groups[0][1:3]]
    assert (table["groups"], table["total"]) == (len(groups), sum(map(len, groups)))
    assert ask(address, "/v1/info", {})[1]["questions"] == len(OLD)


def test_changes_are_on_disk_and_those_of_others_are_followed(path):
    new = [
        {"question": "old rice \ud83d\ude00", "id": "b7"},
        {"question": "cook the way", "id": 2**70, "columns": {"topic": "rice"}},
        {"question": "how old", "id": 0},
        {"question": "how far", "id": 1},
    ]
    ids = ["b7", str(2**70), "0", "1"]
    with running(QuestionIndex.open(path)) as address:
        answer = ask(address, "/v1/add", {"questions": new})[:2]
        assert answer == (200, {"ids": ids, "added": 2, "replaced": 1, "skipped": 1})
        with QuestionIndex.open(path) as other:
            assert other.entry(2**70)["columns"] == {"topic": "rice"}
            other.add(["are you rice"], ids=["theirs"])
            other.set_threshold({"threshold": 0.25, "calibration": None})
        body = {"questions": ["are you rice"], "k": 1}
        assert ask(address, "/v1/search", body)[1]["results"][0][0]["id"] == "theirs"
        explanation = ask(address, "/v1/explain", {"question1": "how", "question2": "far"})[1]
        assert explanation["threshold"] == ask(address, "/v1/info", {})[1]["threshold"] == 0.25
        assert ask(address, "/v1/remove", {"ids": ["b7", 2**70]})[:2] == (200, {"removed": 2})
        with QuestionIndex.open(path) as other:
            assert "b7" not in other and "theirs" in other


MANY = {"questions": ["x"] * 101, "k": 101}


@pytest.mark.parametrize(
    ("status", "what", "body", "words"),
    [
        (422, "add", {"questions": [{"question": " "}]}, "pattern"),
        (422, "add", {"questions": [{"question": "a"}, {"question": "b", "id": 1}]}, "id"),
        (409, "add", {"questions": [{"question": "a", "id": i} for i in (1, "1")]}, "twice"),
        (404, "search", {"questions": ["x"], "where": {"none": 1}}, "no column 'none'"),
        (409, "search", {"questions": ["x"], "min_probability": 0.5}, "no calibration"),
        (422, "search", {"questions": ["x"], "mode": "all"}, "body.mode"),
        (404, "remove", {"ids": ["0", "none"]}, "no question with the id 'none'"),
        (404, "duplicates-of", {"ids": [-1]}, "no question with the id '-1'"),
        (422, "search", {"questions": ["x"] * 1001}, "1000 items"),
        (422, "encode", {"questions": ["x" * 10_001]}, "10000 characters"),
        (422, "search", {"questions": ["x"], "k": 1001}, "1000"),
        (422, "search", {"questions": ["x"], "k": 0}, "body.k"),
        (422, "search", {"questions": ["x"], "k": True}, "body.k"),
        (422, "search", {"questions": ["x"], "threshold": False}, "body.threshold"),
        (422, "search", {"questions": ["x"], "threshold": float("nan")}, "body.threshold"),
        (422, "search", {"questions": ["x"], "merge_same": 0}, "body.merge_same"),
        (422, "search", {"questions": ["x"], "treshold": 0.5}, "body.treshold"),
        (413, "search", MANY, "100 with 100"),
        (413, "encode", iter([b" " * (1 << 20)] * 9), "bytes"),
        (422, "search", b"{", "body"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_reported_in_a_sentence(address, status, what, body, words):
    got, answer, _ = ask(address, f"/v1/{what}", body)
    assert got == status and words in answer["detail"] and len(answer["detail"]) < 300


def test_a_request_that_announces_too_many_bytes_is_refused_unread(address):
    length = {"Content-Length": str(gate.MOST_BYTES + 1)}
    status, answer, _ = ask(address, "/v1/encode", b"{}", **length)
    assert status == 413 and "bytes" in answer["detail"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"Origin": "http://localhost:1", "Host": "localhost:1"}),
        (200, {"Host": "[::1]:1"}),
        (200, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}),
        *((400, {"Host": host}) for host in (EVIL, "127.0.0.1.evil.example", "10.0.0.1", "[")),
        *((403, {"Origin": origin}) for origin in (f"http://{EVIL}", "null", "http://127.0.0.1:1")),
        (403, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}),
        (403, {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"}),
    ],
)  # fmt: skip
def test_other_hosts_and_sites_are_refused(address, status, headers):
    for path in ("/", "/health"):
        got, _, answered = ask(address, path, **headers)
        assert got == status and "Access-Control-Allow-Origin" not in answered
        assert "frame-ancestors 'none'" in answered["Content-Security-Policy"]


def test_a_key_opens_all_but_the_page_and_health():
    index = QuestionIndex.build(make_detector(), OLD)
    body = {"questions": ["how"]}
    with running(index, key="secret", names=["questions.example"]) as address:
        for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
            assert (
                ask(address, "/metrics", **sent)[0] == ask(address, "/v1/encode", body, **sent)[0]
            )
            assert ask(address, "/v1/encode", b"{", **sent)[0] == 401
        assert ask(address, "/v1/encode", body, Authorization="Bearer secret")[0] == 200
        for path in ("/", "/docs", "/health", "/openapi.json"):
            assert ask(address, path, Host="Questions.example")[0] == 200


def test_a_busy_server_answers_429_and_health(address, monkeypatch):
    free, begun, started = threading.Event(), threading.Semaphore(0), []

    def slow(self, *args, **options):
        begun.release()
        free.wait(30)
        return []

    monkeypatch.setattr(QuestionIndex, "search", slow)
    body = {"questions": []}
    for _ in range(gate.MOST_WAITING):
        started.append(threading.Thread(target=ask, args=(address, "/v1/search", body)))
        started[-1].start()
    for _ in range(api.MOST_WORKING):
        assert begun.acquire(timeout=30)
    try:
        for _ in range(1000):  # Until the last of them has arrived.
            status, _, headers = ask(address, "/v1/search", b"{")
            if status == 429:
                break
        assert status == 429 and headers["Retry-After"] == "1"
        assert ask(address, "/health")[0] == ask(address, "/metrics")[0] == 200
    finally:
        free.set()
        for thread in started:
            thread.join()


def test_metrics_count_what_was_asked(address):
    def count(path, status):
        text = ask(address, "/metrics")[1]
        sample = rf'siamese_requests_total{{path="{path}",status="{status}"}} (\d+)'
        match = re.search(sample, text)
        return int(match[1]) if match else 0

    kinds = ("/v1/encode", 200), ("/v1/encode", 422), ("other", 404)
    before = [count(*kind) for kind in kinds]
    ask(address, "/v1/encode", {"questions": ["how"]})
    ask(address, "/v1/encode", {"questions": ["x"] * 1001})
    ask(address, "/nothing")
    assert [count(*kind) - n for n, kind in zip(before, kinds)] == [1, 1, 1]
    text = ask(address, "/metrics")[1]
    assert re.search(r'siamese_request_seconds_bucket{le="\+Inf",path="/v1/encode"} \d', text)
    assert f"siamese_index_questions {len(OLD)}.0\n" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "SIAMESE_API_KEY"),
        ({"port": 70000}, "from 0 to 65535"),
        ({"workers": 0}, "--workers"),
        ({"names": ["*"]}, "--allow-host"),
        ({"host": "no such host"}, "not available"),
    ],
)
def test_what_cannot_be_served_is_an_error(path, options, words, monkeypatch):
    monkeypatch.setenv("SIAMESE_API_KEY", "" if options.get("host") == "0.0.0.0" else "secret")
    with pytest.raises(ArgumentError, match=words):
        api.serve(path, **options)


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_a_missing_package_is_named(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "siamese.serving.api")
    with pytest.raises(
        MissingDependencyError, match="pip install fastapi uvicorn prometheus-client"
    ):
        importlib.import_module("siamese.serving.api")


@pytest.mark.slow
def test_several_processes_serve_one_index_through_kills(path):
    """A killed worker is replaced, a killed server has lost nothing, SIGTERM answers what was asked."""
    port, added = api._free_port("127.0.0.1", 0), []
    address, key = f"http://127.0.0.1:{port}", {"Authorization": "Bearer secret"}
    code = "import sys; from siamese.serving.api import serve; "
    code += "serve(sys.argv[1], port=int(sys.argv[2]), workers=int(sys.argv[3]))"

    def start(workers):
        command = [sys.executable, "-c", code, str(path), str(port), str(workers)]
        server = subprocess.Popen(command, env={**os.environ, "SIAMESE_API_KEY": "secret"})
        for _ in range(600):
            try:
                if ask(address, "/health")[0] == 200:
                    return server
            except OSError:
                time.sleep(0.1)
        raise AssertionError("no answer")

    def add(n):
        body = {"questions": [{"question": f"rice {n}", "id": f"new {n}"}]}
        try:
            if ask(address, "/v1/add", body, **key)[0] == 200:
                added.append(f"new {n}")
        except OSError:  # Its worker was killed.
            pass

    def workers_of(process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return [int(pid) for pid in file.read().split()]

    first = start(2)
    try:
        for n in range(10):
            add(n)
        assert len(added) == 10
        text = ask(address, "/metrics", **key)[1]
        assert re.findall(r'path="/v1/add",status="200"} (\d+)', text) == ["10"]
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
    with QuestionIndex.open(path) as index:
        assert len(added) >= 10 and all(i in index for i in added)

    second = start(1)
    last = threading.Thread(target=add, args=("last",))
    last.start()
    time.sleep(0.2)
    second.send_signal(signal.SIGTERM)
    assert second.wait(20) in (0, -signal.SIGTERM)
    last.join()
    with QuestionIndex.open(path) as index:
        assert ("new last" in added) == ("new last" in index)


def test_answers_fit_the_threshold_and_are_taken_back(tmp_path):
    detector = make_detector()
    texts = list(dict.fromkeys(random_questions(60)))
    index = QuestionIndex.build(detector, texts, path=tmp_path / "i")
    with running(index) as address:
        asked, skipped = [], []
        for at in range(12):
            answer = ask(address, "/v1/next-pair", {"leave_out": skipped})[1]
            assert set(answer["pair"]) <= set(texts) and answer["pair"] not in asked
            assert len(answer["shown"]) == 2 and answer["answers"] == len(asked)
            one, two = answer["pair"]
            if at == 3:
                skipped.append([one, two])
                continue
            said = {"question1": one, "question2": two}
            said["is_duplicate"] = bool(detector.similarity(one, two) > 0.9)
            told = ask(address, "/v1/answer", said)[1]
            asked.append([one, two])
            assert told["stored"] == 1 and told["answers"] == len(asked)
        assert told["fitted"] and told["threshold"] == index.detector.threshold
        taken = ask(address, "/v1/answer", {**said, "is_duplicate": None})[1]
        assert taken["answers"] == len(asked) - 1
        assert ask(address, "/v1/answer", {**said, "question2": "not there"})[1]["stored"] == 0
