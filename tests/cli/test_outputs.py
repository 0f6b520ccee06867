"""Every output is made exclusively, or replaced with --overwrite: decided where the file is made."""

import json
import os
import signal
import subprocess
import sys

import filelock
import numpy as np
import pytest
from corpus_parts import small_corpus, write_pairs
from programs import environment_of
from refusals import refuses
from small_models import WORDS, make_detector, random_questions, write_trax_weights

from siamese import DuplicateDetector, QuestionIndex
from siamese.errors import ArgumentError, SiameseError
from siamese.index.export import export_parquet
from siamese.system import files as atomic

# A command that stops once, after a function of it has returned, until a line comes
# from standard input.
PROGRAM = """
import importlib, sys
module, _, names = sys.argv[1].partition(":")
place = importlib.import_module(module)
*path, name = names.split(".")
for part in path:
    place = getattr(place, part)
real = getattr(place, name)

def stopping(*args, **options):
    result = real(*args, **options)
    setattr(place, name, real)
    print("ready", flush=True)
    sys.stdin.readline()
    return result

setattr(place, name, stopping)
from siamese.cli.main import main

sys.exit(main(sys.argv[2:]))
"""


class Stopped:
    """A process of a command that has done its work, and not made its output."""

    def __init__(self, hook, command, folder):
        words = [sys.executable, "-c", PROGRAM, hook, *map(str, command)]
        pipe = subprocess.PIPE
        options = {
            "stdin": pipe,
            "stdout": pipe,
            "stderr": pipe,
            "text": True,
            "cwd": folder,
        }
        self.process = subprocess.Popen(words, env=environment_of(), **options)
        self.waits = self.process.stdout.readline() == "ready\n"

    def end(self, how=None):
        """Lets it go on, or sends it a signal; returns its exit code and messages."""
        if how is not None:
            self.process.send_signal(how)
        _, messages = self.process.communicate(
            "\n" if how is None else None, timeout=120
        )
        assert self.waits, messages
        return self.process.returncode, messages


@pytest.fixture
def stopped(tmp_path):
    """Function of a hook and a command: a `Stopped` process in the test's folder."""
    processes = []

    def start(hook, command):
        processes.append(Stopped(hook, command, tmp_path))
        return processes[-1]

    yield start
    for one in processes:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def folder(tmp_path):
    """A folder with a model, questions, pairs, an index, and weights of the course."""
    detector = make_detector(threshold=0.3)
    model = detector.save(tmp_path / "model")
    texts = random_questions(40)
    (tmp_path / "q.txt").write_text("\n".join(dict.fromkeys(texts)))
    QuestionIndex.build(detector, texts, path=tmp_path / "q.db", model=model).close()
    write_pairs(tmp_path / "pairs.csv", small_corpus(train=100).train)
    one, two = random_questions(60, seed=2), random_questions(60, seed=3)
    labels = (detector.similarity(one, two) > 0.5).astype(int)
    lines = [f"{a},{b},{label}" for a, b, label in zip(one, two, labels)]
    header = "question1,question2,is_duplicate"
    (tmp_path / "labelled.csv").write_text("\n".join([header, *lines]))
    words = ["<PAD>", *WORDS]
    (tmp_path / "vocab.json").write_text(
        json.dumps({w: n for n, w in enumerate(words, 1)})
    )
    shapes = (len(words), 4), (8, 16), (16,)
    write_trax_weights(tmp_path, [np.ones(shape, np.float32) for shape in shapes])
    return tmp_path


LSTM = "train --preset course --batch-size 8 --steps 2 --set=d_model=4 --questions pairs.csv"
BUILD = "index build q.txt --model model --output new.db"
# The command, what it does before it makes its output, and the output.
OUTPUTS = [
    (BUILD, "siamese.index:encoded", "new.db"),
    (f"{LSTM} --output run", "siamese.training.run:Trainer.__init__", "run"),
    (
        "train --questions labelled.csv --init-from head --output run",
        "siamese.training.few_labels:teach",
        "run/model.safetensors",
    ),
    (
        "threshold model --answers labelled.csv --output new",
        "siamese.model.detector:DuplicateDetector.fitted",
        "new",
    ),
    (
        "predict model labelled.csv --output new.csv",
        "siamese.cli.answering:judged",
        "new.csv",
    ),
    (
        "match q.txt q.db --output new.csv",
        "siamese.index:QuestionIndex.search",
        "new.csv",
    ),
    (
        "duplicates q.db --threshold 0.5 --output new.csv",
        "siamese.index:QuestionIndex.grouped",
        "new.csv",
    ),
    (
        "import-weights . new --vocab vocab.json",
        "siamese.course.import_weights:import_weights",
        "new",
    ),
    (
        "index export q.db new.parquet",
        "siamese.index.stored:FileIndex.snapshot",
        "new.parquet",
    ),
]


def contents(path):
    """What a file or a folder holds."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(file): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.parametrize(
    ("command", "hook", "output"),
    OUTPUTS,
    ids=[command[:20] for command, *_ in OUTPUTS],
)
def test_of_two_commands_the_later_one_replaces_and_removes_nothing(
    folder, stopped, command, hook, output
):
    if "parquet" in output:
        pytest.importorskip("pyarrow")
    if "--init-from" in command:
        DuplicateDetector.from_encoder("use").save(folder / "head")
    first, second, third = (stopped(hook, command.split()) for _ in range(3))
    code, messages = first.end()
    assert code == 0, messages
    before = contents(folder / output)
    assert before
    code, messages = second.end()
    assert code == 2 and "Traceback" not in messages, messages
    code, messages = third.end(signal.SIGINT)
    assert code == 130, messages
    assert contents(folder / output) == before
    # With --overwrite, or where the run goes on, it is replaced.
    again = [*command.split(), "--overwrite"]
    code, messages = stopped(hook, again).end()
    assert code == 0, messages
    assert contents(folder / output)
    assert not [path for path in folder.rglob("*") if ".tmp-" in path.name]


def test_what_was_added_to_the_first_index_stays(folder, stopped):
    first, second = (stopped("siamese.index:encoded", BUILD.split()) for _ in range(2))
    assert first.end()[0] == 0
    with QuestionIndex.open(folder / "new.db") as index:
        index.add(["rice rice rice"], ids=["mine"])
        code, messages = second.end()
        assert code == 2 and "already" in messages
        assert index.search("rice rice rice", 1)[0].id == "mine"
    with QuestionIndex.open(folder / "new.db") as index:
        assert index.snapshot().entries[-1]["id"] == "mine"


def test_an_index_whose_maker_fails_while_another_waits_is_made_by_the_other(
    folder, stopped
):
    first = stopped("siamese.index.rows:insert", BUILD.split())  # in its transaction
    second = stopped("siamese.index:encoded", BUILD.split())
    print(file=second.process.stdin, flush=True)  # It waits for the first, or will.
    assert first.end(signal.SIGINT)[0] == 130
    code, messages = second.end()
    assert code == 0, messages
    with QuestionIndex.open(folder / "new.db") as index:
        assert len(index) == len((folder / "q.txt").read_text().splitlines())


def test_a_broken_build_leaves_nothing(folder, stopped):
    for hook in ("siamese.index.rows:insert", "siamese.index:encoded"):
        assert stopped(hook, BUILD.split()).end(signal.SIGINT)[0] == 130
        assert not [path for path in folder.iterdir() if "new.db" in path.name]


WRITERS = {
    "model": lambda path, **options: make_detector().save(path, **options),
    "index": lambda path, **options: QuestionIndex.build(
        make_detector(), ["how far"], path=path, **options
    ).close(),
    "parquet": lambda path, **options: export_parquet(
        QuestionIndex.build(make_detector(), ["how far"]), path, **options
    ),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_in_python_a_file_is_replaced_on_request_alone(tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    path, write = tmp_path / "file", WRITERS[kind]
    path.touch()  # as mktemp makes it
    write(path)
    before = path.read_bytes()
    for options in ({}, {"overwrite": False}):
        with refuses(ArgumentError, str(path), "overwrite=True"):
            write(path, **options)
    assert path.read_bytes() == before
    write(path, overwrite=True)
    assert os.listdir(tmp_path) == ["file"]
    # A file of another kind is no index, and stays also with overwrite; a table or
    # model replaces it.
    path.write_text("mine")
    with pytest.raises(SiameseError):
        write(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("linked", [False, True])
def test_an_index_is_never_exported_onto_itself(tmp_path, linked):
    pytest.importorskip("pyarrow")
    path, target = tmp_path / "questions.db", tmp_path / "link"
    detector = make_detector()
    with QuestionIndex.build(detector, ["how far"], path=path) as index:
        target.symlink_to(path)
        with pytest.raises(ArgumentError):
            export_parquet(index, target if linked else path, overwrite=True)
        assert index.add(["how far is it"]).added == 1
    with QuestionIndex.open(path, detector) as index:
        assert len(index) == 2


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("locks", [True, False])
def test_a_new_file_is_made_by_one_writer_alone(tmp_path, monkeypatch, links, locks):
    def missing(*_, **options):
        raise PermissionError("this file system has none")

    if not links:
        monkeypatch.setattr(os, "link", missing)
    if not locks:
        monkeypatch.setattr(filelock, "lock_descriptor", missing)
    path, other = tmp_path / "a", tmp_path / "b"
    atomic.write_text_atomically(path, "first", overwrite=False)
    with (
        refuses(ArgumentError, str(other), "already"),
        atomic.open_atomically(other, overwrite=False) as file,
    ):
        other.write_text("another program's")
        file.write(b"mine")
    assert other.read_text() == "another program's"
    with pytest.raises(ArgumentError):
        atomic.write_text_atomically(path, "second", overwrite=False)
    assert path.read_text() == "first"
    atomic.write_text_atomically(path, "third", overwrite=True)
    assert path.read_text() == "third"
    assert set(os.listdir(tmp_path)) == {"a", "b"}


def test_a_writer_that_was_killed_between_its_two_names_loses_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_text("whole")
    # As it is after the link, before the other name goes.
    os.link(path, tmp_path / ".a.tmp-siamese")
    with pytest.raises(ArgumentError):
        atomic.write_text_atomically(path, "new", overwrite=False)
    assert path.read_text() == "whole" and os.listdir(tmp_path) == ["a"]
    os.link(path, tmp_path / ".a.tmp-siamese")
    with pytest.raises(ZeroDivisionError), atomic.open_atomically(path, overwrite=True):
        raise ZeroDivisionError
    assert path.read_text() == "whole" and os.listdir(tmp_path) == ["a"]


def test_a_dash_is_standard_output(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "list.txt"
    path.write_text("How old are you?\nWhat is your age?\nWhere is Oslo?\n")
    before = set(tmp_path.iterdir())
    _, table, _ = run("match", path)
    assert "old" in table
    assert run("match", path, "--output", "-")[1] == table
    assert set(tmp_path.iterdir()) == before
