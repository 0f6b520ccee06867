"""The JSON API over HTTP: answers, changes, limits, key, other sites, the log."""

import json
import re
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from small_models import make_curve_detector, make_detector, random_questions

from siamese import DuplicateDetector, QuestionPairs
from siamese.cli.main import main, parsed
from siamese.errors import ArgumentError
from siamese.index import QuestionIndex

pytest.importorskip("requests")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import requests
from running import running

from siamese.serving import api

OLD = ["how far", "how far", *random_questions(100)]
EVIL = "evil.example:8000"
UNFITTED = {"threshold_from": "default"}
COLUMNS = [{"topic": "ways"}, *[{}] * (len(OLD) - 1)]


def build(detector=None, **options):
    return QuestionIndex.build(detector or make_detector(threshold=0.9), OLD, **options)


@pytest.fixture
def path(tmp_path):
    model = make_detector(threshold=0.9).save(tmp_path / "model.safetensors")
    build(columns=COLUMNS, path=tmp_path / "questions.db", model=model).close()
    return tmp_path / "questions.db"


@pytest.fixture(scope="module")
def address():
    with running(build(columns=COLUMNS)) as served:
        yield served


def ask(address, path, body=None, **headers):
    """(status, JSON value or text, headers); a body that is an iterator is sent in chunks."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers = {"Content-Type": "application/json", **headers}
    ways = {"headers": headers, "timeout": 60}
    answer = requests.request(
        "GET" if body is None else "POST", address + path, data=data, **ways
    )
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status_code, answer.json() if is_json else answer.text, answer.headers


def post(address, what, **body):
    status, answer, _ = ask(address, f"/v1/{what}", body)
    assert status == 200, answer
    return answer


def say(address, pair, label):
    return post(
        address, "answer", question1=pair[0], question2=pair[1], is_duplicate=label
    )


def test_answers_are_those_of_the_index(address):
    index = build(columns=COLUMNS)
    for options in ({}, {"mode": "words"}, {"within": {"topic": ""}}):
        body = {"questions": ["how far", "rice"], "k": 3, **options}
        expected = [[hit._asdict() for hit in hits] for hits in index.search(**body)]
        for hit in (hit for hits in expected for hit in hits):
            hit |= {"similarity": round(hit["similarity"], 6), "language": ""}
        assert post(address, "search", **body)["results"] == expected
    ((hit,),) = post(address, "search", questions=["how far away"], k=1, threshold=1)[
        "results"
    ]
    assert not hit["is_duplicate"]

    cosine = index.detector.similarity("how", "far")
    answers = post(address, "similarity", pairs=[["how", "far"], ["x", "x"]])["answers"]
    assert [a["similarity"] for a in answers] == pytest.approx([cosine, 1], abs=1e-6)
    explanation = post(address, "explain", question1="how far", question2="far")
    assert [word["word"] for word in explanation["words1"]] == ["how", "far"]
    assert (
        explanation["words2"][0]["effect"] is None and explanation["threshold"] == 0.9
    )

    groups, table = index.grouped().groups, post(address, "groups", offset=1, limit=2)
    assert [row["id"] for row in table["rows"]] == [str(m.row) for m in groups[0][1:3]]
    assert (table["groups"], table["total"]) == (len(groups), sum(map(len, groups)))
    assert post(address, "info")["questions"] == len(OLD)


def test_a_search_stays_within_values(address):
    body = {"questions": ["how far"], "within": {"topic": "ways", "language": None}}
    ((hit,),) = post(address, "search", **body)["results"]
    assert (hit["id"], hit["columns"]) == ("0", {"topic": "ways"})
    status, answer, _ = ask(address, "/v1/search", {**body, "within": {"x": "y"}})
    assert status == 404 and "no column 'x'" in answer["detail"]


def test_groups_within_columns_are_those_of_the_index(address):
    snapshot = build(columns=COLUMNS).grouped(within=["topic"])
    table = post(address, "groups", within=["topic"])
    expected = [str(member.row) for group in snapshot.groups for member in group]
    assert [row["id"] for row in table["rows"]] == expected
    assert table["groups"] == len(snapshot.groups)
    status, answer, _ = ask(address, "/v1/groups", {"within": ["x"]})
    assert status == 404 and "no column 'x'" in answer["detail"]


def test_changes_are_on_disk_and_those_of_others_are_followed(path):
    new = [
        {"question": "old rice \ud83d\ude00", "id": "b7"},
        {"question": "cook the way", "id": 2**70, "columns": {"topic": "rice"}},
        {"question": "how old", "id": 0},
        {"question": "how far", "id": 1},
    ]
    with running(QuestionIndex.open(path)) as address:
        changed = {
            "ids": ["b7", str(2**70), "0", "1"],
            "added": 2,
            "replaced": 1,
            "skipped": 1,
        }
        assert post(address, "add", questions=new) == changed
        with QuestionIndex.open(path) as other:
            assert {"topic": "rice"} in [
                entry["columns"] for entry in other.snapshot().entries
            ]
            other.add(["are you rice"], ids=["theirs"])
            other.set_threshold({"threshold": 0.25, "calibration": None})
        ((hit,),) = post(address, "search", questions=["are you rice"], k=1)["results"]
        explanation = post(address, "explain", question1="how", question2="far")
        assert hit["id"] == "theirs"
        assert explanation["threshold"] == post(address, "info")["threshold"] == 0.25
        assert post(address, "remove", ids=["b7", 2**70]) == {"removed": 2}
        with QuestionIndex.open(path) as other:
            assert [e["id"] for e in other.snapshot().entries][-1] == "theirs"


WRONG = {
    "an addition of a blank": (422, "add", {"questions": [{"question": " "}]}, "needs a letter"),
    "an addition of marks": (422, "add", {"questions": [{"question": "?!"}]}, "needs a letter"),
    "an addition of wide marks": (422, "add", {"questions": [{"question": "。？"}]}, "needs a letter"),
    "a search of nothing": (422, "search", {"questions": ["how", ""]}, "needs a letter"),
    "a search of marks": (422, "search", {"questions": ["how", "???"]}, "needs a letter"),
    "a search of wide marks": (422, "search", {"questions": ["how", "。？"]}, "needs a letter"),
    "a blank id": (422, "add", {"questions": [{"question": "how", "id": " "}]}, "an id must not be blank"),
    "one id twice": (409, "add", {"questions": [{"question": "a", "id": i} for i in (1, "1")]}, "2 times"),
    "an id that is not there": (404, "remove", {"ids": ["0", "none"]}, "'none'"),
    "101 questions": (422, "search", {"questions": ["x"] * 101}, "100 items"),
    "a long question": (422, "search", {"questions": ["x" * 10_001]}, "10000 characters"),
    "101 hits": (422, "search", {"questions": ["x"], "k": 101}, "body.k: "),
    "no threshold": (422, "search", {"questions": ["x"], "threshold": float("nan")}, "body.threshold: "),
    "an unknown name": (422, "search", {"questions": ["x"], "treshold": 0.5}, "body.treshold: "),
    "9 MB": (413, "search", [b" " * (1 << 20)] * 9, "bytes"),
    "half an object": (422, "search", b"{", "body"),
    "a list": (422, "search", b"[]", "send an object"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_answered_is_reported_in_a_sentence(address, name):
    status, what, body, words = WRONG[name]
    body = iter(body) if isinstance(body, list) else body
    got, answer, _ = ask(address, f"/v1/{what}", body)
    assert got == status and words in answer["detail"]
    assert len(answer["detail"]) < 300


@pytest.mark.parametrize("path", ["/", "/health"])
@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"Origin": "http://localhost:1", "Host": "localhost:1"}),
        (200, {"Host": "[::1]:1"}),
        (200, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}),
        (400, {"Host": EVIL}),
        (400, {"Host": "127.0.0.1.evil.example"}),
        (400, {"Host": "10.0.0.1"}),
        (400, {"Host": "["}),
        (403, {"Origin": f"http://{EVIL}"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://127.0.0.1:1"}),
        (403, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}),
        (403, {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"}),
    ],
    ids=repr,
)
def test_other_hosts_and_sites_are_refused(address, path, status, headers):
    got, answer, answered = ask(address, path, **headers)
    assert got == status and (got == 200 or answer["detail"])
    assert "frame-ancestors 'none'" in str(answered)
    assert "Access-Control" not in str(answered)


@pytest.fixture(scope="module")
def locked():
    """The address of a server that has a key."""
    with running(build(), key="sécret", names=["questions.example"]) as address:
        yield address


@pytest.mark.parametrize(
    "sent",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}],
    ids=["no key", "another key", "another scheme"],
)
@pytest.mark.parametrize(("path", "body"), [("/v1/info", {}), ("/v1/search", b"{")])
def test_without_the_key_nothing_is_answered(locked, sent, path, body):
    assert ask(locked, path, body, **sent)[0] == 401


@pytest.mark.parametrize("sent", ["Bearer sécret", "Bearer sécret".encode()])
def test_the_key_opens_the_api_in_both_encodings_of_a_header(locked, sent):
    assert ask(locked, "/v1/info", {}, Authorization=sent)[0] == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/openapi.json"])
def test_the_page_and_health_need_no_key(locked, path):
    assert ask(locked, path, Host="Questions.example")[0] == 200
    head = requests.head(f"{locked}{path}", timeout=30)
    assert head.status_code == 200 and not head.content


def test_a_busy_server_answers_that_it_lives(address, monkeypatch):
    free, begun = threading.Event(), threading.Semaphore(0)

    def slow(self, *args, **options):
        begun.release()
        free.wait(30)
        return []

    monkeypatch.setattr(QuestionIndex, "search", slow)
    with ThreadPoolExecutor() as pool:
        body = {"questions": []}
        pool.map(
            lambda k: ask(address, "/v1/search", body), range(api.MOST_WORKING + 1)
        )
        try:
            assert all(begun.acquire(timeout=30) for _ in range(api.MOST_WORKING))
            assert ask(address, "/health")[0] == 200
        finally:
            free.set()


def test_the_page_is_its_own_files_alone(address):
    page = ask(address, "/")[1]
    assert "<style" not in page and not re.search(r"<script>|<script [^>]*>[^<]", page)
    named = re.findall(r"""(?:src|href)="(/page[^"]+)""", page)
    assert len(named) == 2
    for path in named:
        status, text, headers = ask(address, path)
        assert status == 200 and text
        assert headers["Content-Type"].split(";")[0] in ("text/css", "text/javascript")
    sent = ask(address, "/?q=secret")[2]
    assert sent["Referrer-Policy"] == "same-origin"  # A link tells no question.
    allowed = sent["Content-Security-Policy"]
    assert "script-src 'self'" in allowed and "unsafe" not in allowed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "SIAMESE_API_KEY"),
        ({"port": 70000}, "70000"),
        ({"names": ["*"]}, "--allow-host"),
    ],
    ids=["to all without a key", "no such port", "all names"],
)
def test_what_cannot_be_served_is_an_error(monkeypatch, options, words):
    monkeypatch.delenv("SIAMESE_API_KEY", raising=False)
    with refuses(ArgumentError, words):
        api.serve(build(), **{"host": "127.0.0.1", "port": 0, **options})


def test_without_a_file_the_handwritten_questions_are_served(monkeypatch):
    served = []
    monkeypatch.setattr(api, "serve", lambda index, *where: served.append(len(index)))
    assert main(["serve", "--port", "0"]) == 0 and served == [300]


@pytest.mark.slow
def test_a_server_that_is_killed_has_lost_no_answered_change_and_a_line_for_each(path):
    command = [sys.executable, "-m", "siamese.cli", "serve", str(path), "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as server:
        try:
            address = re.search(r"http://[\d.:]+", server.stdout.readline())[0]
            ask(address, "/?q=secret")
            for n in range(9):
                post(
                    address,
                    "add",
                    questions=[{"question": f"rice {n}", "id": f"new {n}"}],
                )
        finally:
            server.kill()
        log = server.stderr.read()
    assert len(re.findall(r"127\.0\.0\.1:\d+ POST /v1/add HTTP/1\.1 200", log)) == 9
    assert "GET / HTTP/1.1 200" in log and "secret" not in log
    with QuestionIndex.open(path) as index:
        assert {entry["id"] for entry in index.snapshot().entries} >= {
            f"new {n}" for n in range(9)
        }


def test_pairs_are_asked_about_until_their_answers_fit_the_threshold():
    detector, asked = make_detector(), []
    index = QuestionIndex.build(detector, list(dict.fromkeys(random_questions(60))))
    with running(index) as address:
        for _ in range(9):
            next_pair = post(address, "next-pair", leave_out=asked[3:4])
            assert next_pair["pair"] not in asked and len(next_pair["shown"]) == 2
            asked.append(next_pair["pair"])
            if len(asked) == 4:  # skipped
                continue
            told = say(address, asked[-1], bool(detector.similarity(*asked[-1]) > 0.9))
            assert told["stored"] == 1 and told["answers"] == len(asked) - (
                len(asked) > 4
            )
        assert told["fitted"] and told["threshold"] == index.detector.threshold
        assert say(address, (asked[-1][0], "not there"), True)["stored"] == 0


@pytest.mark.parametrize("kind", ["cosine", "fitted before", "curve"])
def test_undo_brings_back_what_decided_before_the_answers(kind):
    index = build(make_curve_detector() if kind == "curve" else make_detector())
    if kind == "fitted before":
        index.set_threshold({"threshold": 0.31, "calibration": None})
    before = index.detector.threshold, index.detector.calibration
    pairs = [(OLD[n], OLD[n + 20]) for n in range(1, 12)]
    cosines = index.detector.similarity(*zip(*pairs))
    labels = (cosines > np.median(cosines)).tolist()
    with running(index) as address:
        told = [say(address, *one) for one in zip(pairs, labels)]
        assert not told[3]["fitted"]  # A threshold takes five duplicates.
        fitted = index.detector.fitted(QuestionPairs(*zip(*pairs), labels))
        assert told[-1]["fitted"] and told[-1]["threshold"] == index.detector.threshold
        assert index.detector.calibration == fitted.calibration != before[1]
        taken = [say(address, pair, None) for pair in pairs][-1]
        assert not taken["fitted"] and taken["answers"] == 0
        assert (index.detector.threshold, index.detector.calibration) == before


def test_an_answer_replaces_only_the_one_that_its_sender_knows():
    with running(build(make_detector())) as address:
        pair = {"question1": OLD[1], "question2": OLD[21]}
        post(address, "answer", **pair, is_duplicate=True, before=None)
        for later, before in ((False, None), (None, False)):
            body = {**pair, "is_duplicate": later, "before": before}
            status, told, _ = ask(address, "/v1/answer", body)
            assert (
                status == 409 and "Another person answered duplicates" in told["detail"]
            )
        told = post(address, "answer", **pair, is_duplicate=None, before=True)
        assert told["answers"] == 0 and told["stored"] == 1


def test_answers_about_a_group_are_stored_and_taken_back_together():
    a, b, c = OLD[2:5]

    def about(*labels, **before):
        return [
            {"question1": one, "question2": two, "is_duplicate": label, **before}
            for (one, two), label in zip([(a, b), (a, c)], labels)
        ]

    index = build(make_detector())
    with running(index) as address:
        say(address, (a, b), True)
        told = post(address, "answers", pairs=about(False, False))
        assert (told["stored"], told["answers"]) == (2, 2)
        assert told["before"] == [True, None]
        undone = about(True, None, before=False)
        assert post(address, "answers", pairs=undone)["before"] == [False, False]
        pairs = index.answers()
        assert [*pairs.question1, *pairs.question2] == sorted([a, b])
        assert pairs.is_duplicate.tolist() == [True]
        # Another person has answered since; so neither answer is stored.
        status, told, _ = ask(
            address, "/v1/answers", {"pairs": about(False, False, before=False)}
        )
        assert status == 409 and "Another person" in told["detail"]
        assert len(index.answers()) == 1
        # Equal texts are never different, and nothing of such a request is stored.
        same = {"question1": "how far", "question2": "How far", "is_duplicate": False}
        status, _, _ = ask(
            address, "/v1/answers", {"pairs": [*about(None, True), same]}
        )
        assert status == 409 and index.answers().is_duplicate.tolist() == [True]


CHANGING = ("add", "remove", "groups", "next-pair", "answer", "answers")


def test_a_server_to_read_only_searches_and_compares(path):
    before = path.read_bytes()
    with running(QuestionIndex.open(path), read_only=True) as address:
        assert post(address, "info")["read_only"]
        assert post(address, "search", questions=["how far"])["results"][0]
        assert post(address, "explain", question1="how far", question2="how old")
        assert post(address, "similarity", pairs=[["how far", "how old"]])
        assert len(post(address, "examples")["questions"]) == 3
        paths = ask(address, "/openapi.json")[1]["paths"]
        for name in CHANGING:
            assert ask(address, f"/v1/{name}", {})[0] == 404
            assert f"/v1/{name}" not in paths
    assert path.read_bytes() == before


def test_read_only_is_a_flag_of_the_command(monkeypatch):
    served = []
    monkeypatch.setattr(api, "serve", lambda index, *where: served.append(where[-1]))
    for flags in ([], ["--read-only"]):
        assert main(["serve", "--port", "0", *flags]) == 0
    assert served == [False, True]


def test_the_page_learns_whether_a_threshold_is_fitted(path):
    with running(QuestionIndex.open(path)) as address:
        assert post(address, "info")["is_fitted"]  # a model's own
    default = build(DuplicateDetector(make_detector().encoder, card=UNFITTED))
    with running(default) as address:
        about = post(address, "info")
        assert not about["is_fitted"] and about["note"]
        default.set_threshold({"threshold": 0.3, "calibration": None})
        about = post(address, "info")
        assert about["is_fitted"] and not about["note"]


def test_the_examples_are_questions_of_the_list_to_which_others_are_similar():
    groups = [
        [f"how {word} is the {thing} over there" for word in ("far", "old", "big")]
        for thing in ("age", "rice", "way")
    ]
    related = [text for group in groups for text in group]
    texts = ["short", *related, "x" * 400]
    with running(QuestionIndex.build(make_detector(), texts)) as address:
        chosen = post(address, "examples")["questions"]
        assert chosen and {*chosen} <= {*related}
        post(address, "add", questions=[{"question": "something else"}])
        assert post(address, "examples")["questions"]
    with running(QuestionIndex.build(make_detector(), [])) as address:
        assert post(address, "examples") == {"questions": [], "values": {}}


def test_the_columns_to_which_a_search_can_be_limited_have_few_values():
    texts = [f"how far is {n}" for n in range(12)]
    kinds = {
        "one": 1,
        "id": "n{}",
        "product": ["Printer", "Phone"],
        "open": [True, False],
    }
    columns = [
        {
            name: kind[n % 2] if isinstance(kind, list) else str(kind).format(n)
            for name, kind in kinds.items()
        }
        for n in range(12)
    ]
    index = QuestionIndex.build(
        make_detector(),
        texts,
        columns=[{**own, "Title": f"far away {own['id']}"} for own in columns],
        reading={"compared": "title+body"},
    )
    with running(index) as address:
        told = post(address, "examples")
        values = {"open": ["False", "True"], "product": ["Phone", "Printer"]}
        assert told["values"] == values
        assert {*told["questions"]} <= {f"far away n{n}" for n in range(12)}
        assert post(address, "info")["joined"] == ["title", "body"]
        for name, own in values.items():
            body = {"questions": ["how far"], "within": {name: own[0]}}
            assert len(post(address, "search", **body)["results"][0]) == 6


def test_a_search_has_the_cosine_below_which_nothing_is_similar():
    whole = "is there any way to get my old password back"
    with running(QuestionIndex.build("use", [whole])) as address:
        body = {"questions": ["password", whole], "k": 1}
        few, all_words = post(address, "search", **body)["floors"]
        assert 0 < few < all_words < 1
        assert post(address, "search", **body, mode="words")["floors"] == [None] * 2
    with running(build()) as address:  # No figures stand behind another encoder.
        assert post(address, "search", **body)["floors"] == [None] * 2


def test_a_hit_has_its_language_where_it_is_not_the_main_one():
    german = [
        f"Wie kann ich die Rechnung Nummer {n} noch herunterladen?" for n in range(5)
    ]
    english = [f"Where can I download the invoice number {n} again?" for n in range(20)]
    index = QuestionIndex.build(make_detector(), english + german)
    with running(index) as address:
        assert post(address, "info")["languages"] == ["en", "de"]
        body = {"questions": ["Rechnung Nummer"], "k": 25}
        (hits,) = post(address, "search", **body)["results"]
        named = {hit["question"]: hit["language"] for hit in hits}
        assert {named[text] for text in german} == {"de"}
        assert {named[text] for text in english} == {""}


OPTIONS = "--max-examples 20 --seed 1 --generation-database none --no-color --request-timeout 30"


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "secret"])
def test_no_check_of_the_fuzzer_fails(key, tmp_path, monkeypatch, capsys):
    """The OpenAPI document and the server are one."""
    pytest.importorskip("schemathesis")
    from schemathesis.cli import schemathesis

    monkeypatch.chdir(tmp_path)
    options = {"ids": range(50), "columns": [{"topic": "rice"}] * 50}
    index = QuestionIndex.build(
        make_detector(threshold=0.9), random_questions(50), **options
    )
    with running(index, key=key) as address:
        command = ["run", f"{address}/openapi.json", *OPTIONS.split()]
        # What a key does not change is covered once.
        command += (
            ["-H", f"Authorization: Bearer {key}"] if key else ["--phases", "fuzzing"]
        )
        with pytest.raises(SystemExit) as ended:
            schemathesis(command)
    shown = capsys.readouterr().out
    assert ended.value.code == 0, "\n".join(line[:300] for line in shown.splitlines())
    assert "Fuzzing (in" in shown and ("Coverage (in" in shown) == bool(key)


# ---- The Dockerfile, read: there is no base image here to build it from ----


def test_what_it_copies_is_there_and_what_it_runs_is_a_command_of_a_user_without_rights():
    def words(name):  # the arguments of each instruction of this name
        return re.findall(rf"^{name} (.+)$", text, re.M)

    root = Path(__file__).parents[2]
    text = (root / "docker" / "Dockerfile").read_text("utf-8")
    ignored = (
        (root / "docker" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    )
    copied = {source for line in words("COPY") for source in line.split()[:-1]}
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert all((root / name).exists() for name in copied)
    assert words("USER") == ["1000"] * 2  # of each of the two images
    command = json.loads(words("ENTRYPOINT")[-1]) + json.loads(words("CMD")[-1])
    options = parsed(command[1:]).options
    assert (options.host, str(options.port)) == ("0.0.0.0", *words("EXPOSE"))
    assert options.index.startswith(*words("VOLUME"))
    assert f":{options.port}/health" in text


def test_searches_are_answered_while_changes_wait_for_another_process(path):
    ask_for = {"questions": ["how far"], "k": 3}
    changes = {
        "/v1/add": {"questions": [{"question": "how old is rice"}]},
        "/v1/remove": {"ids": ["3"]},
        "/v1/answer": {"question1": OLD[4], "question2": OLD[5], "is_duplicate": True},
        "/v1/groups": {"offset": 0, "limit": 5},
    }
    with running(QuestionIndex.open(path)) as served, ThreadPoolExecutor(16) as pool:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            waiting = [pool.submit(ask, served, *change) for change in changes.items()]
            waiting += [
                pool.submit(ask, served, "/v1/add", changes["/v1/add"])
                for _ in range(8)
            ]
            for _ in range(3):
                status, answer, _ = ask(served, "/v1/search", ask_for)
                assert status == 200 and len(answer["results"][0]) == 3
                assert ask(served, "/v1/info", {})[1]["questions"] == len(OLD)
            assert not any(request.done() for request in waiting)
            other.execute("rollback")
        assert {request.result()[0] for request in waiting} == {200}


def test_an_index_exchanged_or_removed_under_the_server_is_followed_or_said(path):
    body = {"questions": ["rice"], "k": 100}
    new = path.with_name("new.db")
    model = path.with_name("model.safetensors")
    QuestionIndex.build(
        make_detector(threshold=0.9), ["rice", "cook"], path=new, model=model
    ).close()
    with running(QuestionIndex.open(path)) as served:
        new.rename(path)
        status, answer, _ = ask(served, "/v1/search", body)
        assert status == 200 and {hit["question"] for hit in answer["results"][0]} == {
            "rice",
            "cook",
        }
        path.rename(new)
        for name, sent in (
            ("search", body),
            ("info", {}),
            ("groups", {"offset": 0, "limit": 1}),
        ):
            status, answer, _ = ask(served, f"/v1/{name}", sent)
            assert status == 503 and "removed" in answer["detail"]
        assert ask(served, "/health")[0] == 200
        new.rename(path)
        assert ask(served, "/v1/add", {"questions": [{"question": "old"}]})[0] == 200
        build(path=new, model=model).close()
        new.rename(path)  # The addition lies in -wal.
        status, answer, _ = ask(served, "/v1/search", body)
        assert status == 503 and "-wal" in answer["detail"]
