"""What siamese changes of a process: docs/topics/reliability.md; malloc and cache; atomic files."""

import errno
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from multiprocessing.pool import ThreadPool

import pytest
from programs import COMPILED, output_of
from refusals import refuses

from siamese.errors import CheckpointError, DataError
from siamese.system.files import open_atomically, write_text_atomically
from siamese.system.process import StopSignals

STATE = """
import gc, json, locale, logging, os, random, signal, sys, threading, warnings

random.seed(1)

def state():
    root, jax, numpy = logging.getLogger(), *map(sys.modules.get, ("jax", "numpy"))
    return {
        "environment": dict(os.environ), "folder": os.getcwd(), "path": sys.path,
        "root logger": [root.level, [str(handler) for handler in root.handlers]],
        "logger class": str(logging.getLoggerClass()),
        "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
        "hooks": [str(hook) for hook in (sys.excepthook, sys.displayhook, threading.excepthook)],
        "stdout": str(sys.stdout), "stderr": str(sys.stderr), "recursion": sys.getrecursionlimit(),
        "collector": gc.get_threshold(), "locale": locale.setlocale(locale.LC_ALL),
        "random": str(random.getstate()), "threads": threading.active_count(),
        "drawn": numpy and str(numpy.random.get_state()),
        "warnings": [str(rule) for rule in warnings.filters],
        "finders": [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path],
        "jax": jax and {name: str(value) for name, value in jax.config.values.items()},
        "numpy": str(getattr(sys.modules.get("numpy"), "geterr", dict)()),
        "memory kept": bool(getattr(sys.modules.get("siamese.system.process"), "keep_memory", None)
                            and sys.modules["siamese.system.process"].keep_memory.cache_info().currsize),
    }
"""


def states(code):
    shown = output_of(STATE + code, **COMPILED)
    return [json.loads(line) for line in shown.splitlines() if line.startswith("{")]


@pytest.mark.slow
def test_an_import_adds_a_finder_trax_two_filters_of_warnings_and_training_nothing(
    tmp_path,
):
    (plain,) = states("import jax; jax.numpy.zeros(3) + 1; print(json.dumps(state()))")
    ours, before, after = states(f"""
import siamese, jax
jax.numpy.zeros(3) + 1
print(json.dumps(state()))
import trax
import numpy as np
from trax.supervised import training
from siamese.encoders.lstm import Lstm
from siamese.nn.lstm import LstmConfig

print(json.dumps(state()))
q = [[3, 4], [5], [6, 7, 8], [9]]
batches = siamese.data_generator(q, q, 2, shuffle=False)
model = lambda: siamese.Siamese(12, 4)
siamese.train_model(model, siamese.TripletLoss, batches, batches, {str(tmp_path)!r}).run(2)
config = LstmConfig(9, 4)
weights = {{n: np.ones(s, np.float32) for n, s in config.shapes().items()}}
words = siamese.Vocabulary([str(n) for n in range(7)])
Lstm(config, weights, words).encode_ids([[3, 4]] * 50)  # by JAX
print(json.dumps(state()))
""")
    assert ours["finders"] == ["_CourseFirst", *plain["finders"]]
    assert {name for name in plain if ours[name] != plain[name]} <= {"finders", "drawn"}
    added = [rule for rule in before["warnings"] if rule not in plain["warnings"]]
    assert len(added) == 2 and all("trax" in rule for rule in added)
    assert {name for name in before if before[name] != after[name]} == set()
    assert before["memory kept"] is False


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc only")
def test_the_pages_of_one_step_serve_the_next():
    script = """
        import resource
        import numpy as np
        import siamese
        assert {}
        for _ in range(12):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            array = np.ones(25_000_000, np.float32)
            del array
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        print(faults)
    """
    keep = "siamese.keep_memory() is siamese.keep_memory() is True"
    plain, kept = (int(output_of(script.format(first))) for first in ("True", keep))
    assert kept < 20 < plain  # Large pages make the latter few, but not none.


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc only")
def test_what_one_thread_frees_serves_another_in_a_shared_heap():
    script = """
        import re
        from pathlib import Path
        from concurrent.futures import ThreadPoolExecutor
        from siamese.system.process import share_heap
        assert {}
        def resident():
            return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
        def allocate():
            blocks = [bytearray(100_000) for _ in range(500)]  # 50 MB
            return blocks[::50], blocks[-1]  # No heap is trimmed below them.
        with ThreadPoolExecutor(1) as thread:
            kept = thread.submit(allocate).result()
        before = resident()
        blocks = [bytearray(100_000) for _ in range(500)]
        print(resident() - before)  # KiB
    """
    share = "share_heap()"
    apart, shared = (int(output_of(script.format(first))) for first in ("True", share))
    assert shared < 10_000 < 30_000 < apart


@pytest.mark.slow
def test_a_command_keeps_compiled_programs_and_training_keeps_memory(tmp_path):
    code = """
        import os, sys
        from siamese.cli.main import main
        from siamese.system.process import keep_memory
        before = dict(os.environ)
        assert main(["data", "absent.csv"]) == 2 and not keep_memory.cache_info().currsize
        assert "jax" not in sys.modules
        command = ["train", "--questions", sys.argv[1], "--preset", "course", "--steps", "1"]
        command += ["--output", sys.argv[2], "--batch-size", "4", "--set", "d_model=4"]
        assert main(command) == 0 and keep_memory.cache_info().currsize
        # scikit-learn, which measures the model, sets two variables of OpenMP.
        added = os.environ.keys() - before.keys()
        assert all(name.startswith("KMP_") for name in added), added
        assert before.items() <= dict(os.environ).items()
    """
    pairs = tmp_path / "pairs.csv"
    rows = [f"how many are {n}?,is it {n + n % 2}?,{n % 2}" for n in range(100)]
    pairs.write_text("\n".join(["question1,question2,is_duplicate", *rows]))
    output_of(code, arguments=[pairs, tmp_path / "run"], XDG_CACHE_HOME=str(tmp_path))
    assert any((tmp_path / "siamese" / "xla").iterdir())


@pytest.mark.slow
def test_the_compile_cache_stays_where_the_user_has_put_it_and_below_its_limit(
    tmp_path,
):
    cache = tmp_path / "siamese" / "xla"
    cache.mkdir(parents=True)
    for age in range(4):
        (cache / f"{age}-cache").write_bytes(bytes(100))
        os.utime(cache / f"{age}-cache", (1e9 - age, 1e9 - age))
    shown = output_of(f"""
        import os, jax, siamese
        siamese.enable_compile_cache.__globals__["MOST_CACHED"] = 250
        tmp = {str(tmp_path)!r}
        for own, base in (("/mine", tmp), (None, os.devnull + "/x"), (None, tmp)):
            os.environ["XDG_CACHE_HOME"] = base
            jax.config.update("jax_compilation_cache_dir", own)
            print(siamese.enable_compile_cache())
    """)
    assert shown.split() == ["/mine", "None", str(cache)]
    assert sorted(file.name for file in cache.iterdir()) == ["0-cache", "1-cache"]


def test_a_second_ctrl_c_does_not_wait_and_a_second_sigterm_changes_nothing():
    with pytest.raises(KeyboardInterrupt), StopSignals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    with StopSignals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert signals.received is signal.SIGTERM


def test_in_another_thread_no_handler_is_changed_and_nothing_is_raised():
    handlers = []

    def in_a_thread():
        with StopSignals() as signals:
            handlers.append(signal.getsignal(signal.SIGINT))
        signals.raise_received()

    with ThreadPool(1) as threads:
        threads.apply(in_a_thread)
    assert handlers == [signal.getsignal(signal.SIGINT)]


def test_a_file_appears_with_its_content_and_nothing_else(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o604)
    (tmp_path / "link").symlink_to("real")
    before = os.umask(0o027)
    try:
        # A link is written through.
        write_text_atomically(tmp_path / "link", "new é", overwrite=True)
        write_text_atomically(tmp_path / "new", "", overwrite=True)
    finally:
        os.umask(before)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text("utf-8") == "new é"
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"link": 0o604, "new": 0o640, "real": 0o604}


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_failure_keeps_the_old_and_leaves_nothing(tmp_path, monkeypatch, call):
    def failing(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with refuses(DataError, str(tmp_path / "a"), "disk is full"):
            write_text_atomically(tmp_path / "a", "new", overwrite=True)
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_an_error_while_writing_keeps_the_old_and_leaves_nothing(tmp_path):
    (tmp_path / "a").write_text("old")
    with (
        pytest.raises(ZeroDivisionError),
        open_atomically(tmp_path / "a", overwrite=True) as file,
    ):
        file.write(b"half")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("kind", [DataError, CheckpointError])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no/a", "does not exist"),
        ("", "is a directory"),
        ("file/a", "part of the path is a file"),
    ],
    ids=["no folder", "a folder", "below a file"],
)
def test_each_system_error_has_a_sentence(tmp_path, kind, name, reason):
    (tmp_path / "file").touch()
    with refuses(kind, str(tmp_path / name), reason):
        write_text_atomically(tmp_path / name, "", kind, overwrite=True)


def test_a_writer_waits_for_another_and_overwrites_the_rest_of_a_killed_one(tmp_path):
    program = (
        "import sys; from siamese.system import files as atomic\n"
        "with atomic.open_atomically(sys.argv[1], overwrite=True) as file:\n"
        "    file.write(b'half' * 9999); file.flush(); print('ready', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "file"
    command = [sys.executable, "-c", program, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as writer:
        assert writer.stdout.readline() == "ready\n"
        options = {"args": (path, "new"), "kwargs": {"overwrite": True}}
        waiting = threading.Thread(target=write_text_atomically, **options)
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive() and not path.exists()
        writer.kill()
    waiting.join()
    assert os.listdir(tmp_path) == ["file"] and path.read_text() == "new"


def test_of_many_writers_at_once_one_whole_text_stays(tmp_path):
    path = tmp_path / "file"
    texts = [letter * 100_000 for letter in "abcdefgh"] * 3
    with ThreadPool(8) as threads:
        threads.map(
            lambda text: write_text_atomically(path, text, overwrite=True),
            texts,
            chunksize=1,
        )
    assert os.listdir(tmp_path) == ["file"] and path.read_text() in texts
