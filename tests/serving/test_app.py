"""The web page: errors without Gradio; with it, in a real browser (slow)."""

import ast
import shutil
import socket
import subprocess
import sys
from http.client import HTTPConnection

import pytest
from small_models import make_detector, random_questions

from siamese.cli.main import main
from siamese.search.index import QuestionIndex
from siamese.serving.app import serve
from siamese.serving.guard import Guard

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PRIVATE = "a private question"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_detector(threshold=0.9).save(tmp_path_factory.mktemp("served") / "model")


@pytest.fixture(scope="module")
def running(model):
    pytest.importorskip("gradio")
    index = QuestionIndex.build(
        make_detector(), [PRIVATE, "how far is the way ?", *random_questions(200)]
    )
    served = serve(model, index.save(model.parent / "index"), port=0, wait=False)
    yield served
    served.close()


def test_without_gradio_the_message_says_what_to_install(model, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gradio", None)
    assert main(["app", str(model)]) == 2
    shown = capsys.readouterr().err
    assert "pip install gradio" in shown and "Traceback" not in shown


@pytest.mark.slow
def test_user_errors_exit_2(model, tmp_path, capsys):
    pytest.importorskip("gradio")
    QuestionIndex.build(make_detector(seed=1), ["how far"], path=tmp_path / "others")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments, words in (
            ([str(tmp_path / "none")], "There is no model at"),
            ([str(model), "--index", str(tmp_path / "none")], "does not exist"),
            ([str(model), "--index", str(tmp_path / "others")], "another model"),
            ([str(model), "--port", port], "cannot be had"),
            ([str(model), "--port", "70000"], "from 0 to 65535"),
            ([str(model), "--host", "no such host"], "cannot be had"),
            ([str(model), "--json"], "--json"),
        ):
            assert main(["app", *arguments]) == 2, arguments
            shown = capsys.readouterr().err
            assert words in shown and "Traceback" not in shown


# ---- A running page, asked in plain HTTP ----


def ask(served, method="GET", path="/", body=None, **headers):
    port = int(served.local_url.split(":")[2].strip("/"))
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {name.replace("_", "-"): value for name, value in headers.items() if value}
    connection.request(method, path, body, {"Host": f"127.0.0.1:{port}", **headers})
    answer = connection.getresponse()
    answer.text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer


def test_this_machine_is_answered_without_frames_and_guessed_types(running):
    for host in ("localhost", "127.0.0.1:7860", "[::1]:7860", "LOCALHOST:1"):
        assert ask(running, Host=host).status == 200
        same = ask(running, Host=host, Origin=f"http://{host}")
        assert same.status == 200 and not same.headers["Access-Control-Allow-Origin"]
    for path in ("/", "/config", "/nothing-there"):
        answer = ask(running, path=path)
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


EVIL = "evil.example:7860"


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        *((403, {"Host": host}) for host in (EVIL, "127.0.0.1.evil.example", "10.0.0.1", "[", "a b")),
        (403, {"Host": EVIL, "Origin": f"http://{EVIL}"}),
        *((403, {"Origin": origin}) for origin in (f"http://{EVIL}", "null", "http://127.0.0.1:1")),
        (403, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}),
        (403, {"method": "OPTIONS", "Origin": f"http://{EVIL}", "Access_Control_Request_Method": "GET"}),
        (403, {"method": "POST", "path": "/gradio_api/upload", "body": b"x" * 1000}),
        (413, {"method": "POST", "path": "/gradio_api/queue/join", "Content_Length": str(2 << 20)}),
        (411, {"method": "POST", "path": "/gradio_api/queue/join", "Transfer_Encoding": "chunked"}),
    ],
)  # fmt: skip
def test_other_sites_uploads_and_large_requests_are_refused(running, status, asked):
    answer = ask(running, **asked)
    assert answer.status == status and PRIVATE not in answer.text
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_a_page_for_the_network_answers_addresses_but_no_names():
    guard = Guard(None, "0.0.0.0")
    for host, status in (("192.168.1.5:7860", 0), ("localhost", 0), (EVIL, 403), (None, 403)):
        headers = [(b"host", host.encode())] if host else []
        assert guard.refusal({"type": "http", "headers": headers, "path": "/"})[0] == status


@pytest.mark.slow
def test_nothing_is_sent_elsewhere(model):
    """Serving connects to this machine only: no statistics, no look for a newer version."""
    pytest.importorskip("gradio")
    code = (
        "import sys, time, urllib.request; places = [];"
        "sys.addaudithook(lambda event, arguments: places.append(arguments[1])"
        " if event == 'socket.connect' else"
        " places.append(arguments) if event == 'socket.getaddrinfo' else None);"
        "from siamese.serving.app import serve; page = serve(sys.argv[1], port=0, wait=False);"
        "urllib.request.urlopen(page.local_url).read(); time.sleep(3); page.close(); print(places)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model)], capture_output=True, text=True, check=True
    )
    places = ast.literal_eval(done.stdout.strip().splitlines()[-1])
    local = ("127.0.0.1", "::1", "localhost", "", None)
    assert places and all(place[0] in local for place in places), places


@pytest.fixture
def browser():
    """A headless Chromium, through Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("needs a browser: none of " + ", ".join(BROWSERS) + " is on the path")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


SAYS = "([place, text]) => document.querySelector(place).innerText.includes(text)"


@pytest.mark.slow
def test_the_page_in_a_browser(running, tmp_path, browser):
    address = running.local_url
    assert address.startswith("http://127.0.0.1:")
    view = browser.new_page(viewport={"width": 1100, "height": 1000})
    asked, errors = [], []
    view.on("request", lambda request: asked.append(request.url))
    view.on("pageerror", lambda error: errors.append(str(error)))
    view.on("dialog", lambda dialog: errors.append(dialog.message))
    view.goto(address)

    # Compare: a click, an answer, the words.
    one, two = "how far is <img src=x onerror=alert(1)> xyzzy ?", "how old are you ?"
    view.fill("#question1 textarea", one)
    view.fill("#question2 textarea", two)
    view.click("#compare")
    view.wait_for_function(SAYS, arg=["#answer", "Not a duplicate"])
    figures = view.locator("#figures textarea").input_value()
    assert f"{make_detector().similarity(one, two):.3f}" in figures and "xyzzy" in figures
    assert view.locator("#words_second span.text").count() == 5
    assert view.locator("#words_first img").count() == 0

    # The slider changes the answer.
    view.fill("#threshold input[type=number]", "-1")
    view.press("#threshold input[type=number]", "Enter")
    view.press("#threshold input[type=number]", "Tab")
    view.click("#compare")
    view.wait_for_function(SAYS, arg=["#answer", "Answer\nDuplicate"])

    # Search as one types, on a phone too.
    view.set_viewport_size({"width": 390, "height": 900})
    view.get_by_role("tab", name="Search").click()
    view.locator("#asked textarea").press_sequentially("how far is the way ?", delay=20)
    view.wait_for_function(SAYS, arg=["#hits", "how far is the way ?"])
    picture = view.screenshot(path=str(tmp_path / "page.png"))
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000
    elsewhere = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert not elsewhere and not errors
