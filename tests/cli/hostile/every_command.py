"""Odd files given to every command that reads files, for the tests here and benchmarks/faults.py."""

import contextlib
import io
from collections import Counter
from pathlib import Path

from question_files import write_files
from small_models import make_detector

from siamese.cli.main import main as siamese
from siamese.search.index import QuestionIndex

MOST_LINES = 25  # of messages
# FILE is each of the files; the others lie in the current folder.
COMMANDS = """
    data FILE
    data FILE --bad-rows skip
    train --preset course --questions FILE --steps 1 --batch-size 2 --set d_model=4 --overwrite --output run
    evaluate model --questions FILE --bad-rows skip
    predict model FILE
    predict model FILE --bad-rows skip
    predict FILE far old
    threshold model --answers FILE --output fitted --overwrite
    index build FILE --model model --output new
    index build FILE --model model --output new --column is_duplicate --bad-rows skip
    index add index FILE
    search FILE how --model model
    duplicates FILE --model model
    match FILE index
    import-weights FILE imported --vocab FILE --overwrite
""".strip().splitlines()


def run(arguments: list, expected: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """Runs a command in this process; returns exit code, which must be an expected one, and messages."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = siamese(list(map(str, arguments)))
        except SystemExit as stopped:
            code = stopped.code
    messages = err.buffer.getvalue().decode("utf-8", "replace")
    assert code in expected and "Traceback" not in messages, (arguments, code, messages[-500:])
    return code, messages


def make_folder(folder: Path) -> list:
    """Makes a model, an index, odd files and paths that are no files; returns the paths."""
    model = make_detector(threshold=0.4).save(folder / "model")
    texts = ["how far is it?", "how old are you?"]
    options = {"path": folder / "index", "model": model}
    QuestionIndex.build(make_detector(threshold=0.4), texts, **options).close()
    (folder / "loop").symlink_to(folder / "loop")
    paths = [folder / name for name in ("missing", "loop", "files")]
    return [*write_files(folder / "files"), *paths, Path("/dev/null"), Path("x" * 5000)]


def run_one(folder: Path, command: str, path: Path) -> int:
    """Runs one of the commands; AssertionError where it does not end with an answer or one message."""
    with contextlib.chdir(folder):
        arguments = [path if word == "FILE" else word for word in command.split()]
        code, messages = run(arguments, (0, 2))
    lines = messages.splitlines()
    assert code != 2 or lines, f"{arguments}: no message"
    assert len(lines) <= MOST_LINES or "train" in command, (arguments, len(lines))
    return code


def run_all(folder: Path) -> dict:
    """Gives every path to every command; figures."""
    paths = make_folder(folder)
    codes = Counter(run_one(folder, command, path) for path in paths for command in COMMANDS)
    codes = {f"exit code {code}": count for code, count in codes.items()}
    return {"paths": len(paths), "commands": len(COMMANDS), **codes}
