"""Odd files given to every command that reads files, for the tests here and benchmarks/faults.py."""

import contextlib
import io
import time
from collections import Counter
from pathlib import Path

from question_files import write_files
from small_models import make_detector

from siamese.cli.main import main as siamese
from siamese.search.index import QuestionIndex

MOST_LINES = 25  # of messages


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


def commands(folder: Path, file: Path | str) -> dict[str, list]:
    """Every command that takes a file, given `file`; `folder` holds a model and an index."""
    model, index, out = folder / "model.safetensors", folder / "index", folder / "out"
    build, skip = ["index", "build", file, "--model", model, "--output"], ["--bad-rows", "skip"]
    small = ["--steps", 1, "--batch-size", 2, "--set=d_model=4", "--overwrite", "--output", out]
    return {
        "data": ["data", file],
        "data --bad-rows skip": ["data", file, *skip],
        "train": ["train", "--preset", "course", "--questions", file, *small],
        "evaluate": ["evaluate", model, "--questions", file],
        "evaluate --bad-rows skip": ["evaluate", model, "--questions", file, *skip],
        "predict": ["predict", model, file],
        "predict --bad-rows skip": ["predict", model, file, *skip],
        "predict, as the model": ["predict", file, "how far", "how old"],
        "index build": [*build, f"{out}-1"],
        "index build --column": [*build, f"{out}-2", "--column", "is_duplicate"],
        "index build --bad-rows skip": [*build, f"{out}-3", *skip],
        "index add": ["index", "add", index, file],
        "index remove": ["index", "remove", index, file],
        "search": ["search", file, "how far", "--model", model],
        "search --queries": ["search", index, "--queries", file],
        "duplicates": ["duplicates", file, "--model", model],
        "import-weights": ["import-weights", file, out, "--vocab", file],
    }


def make_folder(folder: Path) -> list:
    """Makes a model, an index, odd files and paths that are no files; returns the paths."""
    detector, model = make_detector(threshold=0.4), folder / "model.safetensors"
    detector.save(model)
    texts = ["how far is it?", "how old are you?"]
    QuestionIndex.build(detector, texts, path=folder / "index", model=model).close()
    (folder / "loop").symlink_to(folder / "loop")
    paths = [folder / name for name in ("missing", "loop", "files")]
    return [*write_files(folder / "files"), *paths, Path("/dev/null"), Path("x" * 5000)]


def run_one(name: str, arguments: list) -> int:
    """Runs one of the commands; AssertionError where it does not end with an answer or one message."""
    code, messages = run(arguments, (0, 1, 2) if name.startswith("predict") else (0, 2))
    lines = messages.splitlines()
    assert code != 2 or lines, f"{arguments}: no message"
    assert len(lines) <= MOST_LINES or name == "train", (
        f"{arguments}: {len(lines)} lines of messages"
    )
    return code


def run_all(folder: Path) -> dict:
    """Gives every path to every command; figures."""
    paths, codes, slowest = make_folder(folder), Counter(), (0.0, "")
    for path in paths:
        for name, arguments in commands(folder, path).items():
            begun = time.perf_counter()
            code = run_one(name, arguments)
            codes[f"exit code {code}"] += 1
            seconds = round(time.perf_counter() - begun, 1)
            slowest = max(slowest, (seconds, f"{name} {Path(path).name:.30}"))
    return {"paths": len(paths), "runs": sum(codes.values()), **codes, "slowest": slowest}
