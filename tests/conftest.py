"""Fixtures that more than one test file needs."""

import csv
import io
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from small_models import make_detector

import siamese
from siamese.cli.main import main

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ROOT = Path(__file__).resolve().parents[1]
QUORA = ROOT.parent / "shared" / "data" / "quora"
CACHE = re.compile(
    r"/?(\.\w+_cache|\.hypothesis|__pycache__|\.venv[\w-]*|[\w.]+\.egg-info)/"
)
SKIPS = Path(__file__).parent / "helpers" / "allowed_skips.txt"


def pytest_configure(config):
    # A worker for each core: one thread for XLA in each.
    if hasattr(config, "workerinput"):
        os.environ.setdefault("NPROC", "1")
    # No example has a deadline, however busy the machine is.
    hypothesis.settings.register_profile("any machine", deadline=None)
    hypothesis.settings.load_profile("any machine")
    config.files_before = files_of_the_repository()
    # As the commands do: no test compiles what another has compiled before.
    siamese.keep_memory()
    siamese.enable_compile_cache()


def files_of_the_repository():
    """The changed, new and ignored files of the repository, but those of caches."""
    command = ["git", "status", "--porcelain", "--ignored"]
    try:
        status = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:  # There is no git.
        return set()
    return {line for line in status.stdout.splitlines() if not CACHE.search(line)}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Names files that tests left in the repository; where CI is set they fail the run.

    There a skip for a reason that is not listed fails it, too.
    """
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(session.config, "workerinput") or terminal is None:
        return
    for line in sorted(files_of_the_repository() - session.config.files_before):
        terminal.write_line(f"\nWRITTEN INTO THE REPOSITORY {line}", red=True)
        if os.environ.get("CI"):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
    if not os.environ.get("CI"):
        return
    lines = SKIPS.read_text("utf-8").splitlines()
    allowed = [line for line in lines if line and not line.startswith("#")]
    for report in terminal.stats.get("skipped", []):
        _, _, reason = report.longrepr
        if not any(part in reason for part in allowed):
            terminal.write_line(
                f"\nNOT ALLOWED TO SKIP {report.nodeid}: {reason}", red=True
            )
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def the_same_start():
    """Trax seeds each layer from Python's `random`: without this, every run has other weights."""
    random.seed(34)
    np.random.seed(34)


@pytest.fixture(scope="module", autouse=True)
def numpy_runs_small_lstms(request):
    """For any number of questions: tests/nn shows that JAX's vectors are equal."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in (
            "training",
            "encoders",
            "model",
            "index",
            "serving",
            "cli",
        ):
            patch.setattr("siamese.encoders.lstm.FEW", 10**6)
        yield


@pytest.fixture(scope="session")
def quora():
    """The folder of Quora's real pairs; tests that ask for it are skipped without it."""
    if not (QUORA / "questions.csv.gz").exists():
        pytest.skip("needs ../shared/data/quora, which may not be redistributed")
    return QUORA


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(
            "needs a browser: none of " + ", ".join(BROWSERS) + " is on the path"
        )
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Function of a command: runs it in a folder with the file "model" -> (code, out, err)."""
    monkeypatch.chdir(tmp_path)
    make_detector(threshold=0.9).save("model")

    def run(*arguments, stdin=None):
        capsys.readouterr()
        if stdin is not None:
            raw = io.BufferedReader(io.BytesIO(stdin.encode()))
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as stopped:  # of argparse
            code = stopped.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def rows(run):
    """Function of a command: the rows of the CSV that it prints."""

    def rows(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, err
        dialect = csv.Sniffer().sniff(out.partition("\n")[0], delimiters=",;\t|")
        return list(csv.DictReader(io.StringIO(out), delimiter=dialect.delimiter))

    return rows


@pytest.fixture
def refused(run):
    """Function of a command and words: it ends with code 2 and one message that has the words."""

    def refused(command, words, stdin=None):
        code, out, err = run(*command, stdin=stdin)
        assert code == 2 and out == "" and words in err and "Traceback" not in err, (
            command,
            err,
        )

    return refused
