"""The commands about the course: the demo, from the assignment in Trax to the tool; grade; doctor."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import random
import re
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from siamese.cli.arguments import CommandOptions, command, option, positional
from siamese.cli.output import Facts, Result, aligned, note
from siamese.corpus import HANDWRITTEN, embedded_corpus, handwritten_questions
from siamese.errors import ArgumentError
from siamese.system.arguments import counted
from siamese.system.files import explained, lock_run, write_text_atomically
from siamese.text.display import rounded
from siamese.training.config import TrainConfig

FILE = "handwritten.csv"  # of the demo's folder; where it is, the folder is the demo's
HEAD_PAIRS = 5000  # that train the head: encoding is most of its time
OUT_HELP = "for grades.csv and the feedback; a second run goes on there [%(default)s]"
SEED = 34  # of the assignment's weights and batches, as in the course
TRAX = "1.4.1"  # the version whose parts are changed
# Asked of the handwritten questions at the end.
ASKED = (
    "I forgot my password. What can I do?",
    "How do I stop my bike from squeaking?",
    "May I hand in the assignment a week late?",
)


# ---- demo ----


@dataclass(frozen=True, kw_only=True)
class Demo(CommandOptions):
    """The options of `siamese demo`."""

    output: Annotated[str, option(help="directory of the run [%(default)s]")] = "demo"
    steps: Annotated[
        int, option(help="steps of the assignment's training [%(default)s]")
    ] = 80


@command(Demo)
def demo(options: Demo) -> Result:
    """Train on the embedded corpus, evaluate, and search questions written by hand.

    siamese demo --output demo --steps 80
    """
    folder = Path(options.output)
    _claim(folder)
    with lock_run(folder):  # Two demos at once would write the same files.
        started = time.monotonic()
        corpus = embedded_corpus()
        note(
            f"Embedded corpus: {len(corpus.train):,} training, {len(corpus.valid):,} validation and "
            f"{len(corpus.test):,} test pairs, made by a grammar."
        )
        figures = {
            **_course_part(corpus, folder, options.steps),
            **_head_part(corpus, folder, options.json),
        }
        answers, by_hand = _handwritten_part()
    seconds = round(time.monotonic() - started, 1)
    table = [["model", "accuracy", "ROC AUC"]]
    for model, row in figures.items():
        table.append([model, f"{row['accuracy']:.4f}", f"{row['roc_auc']:.4f}"])
    table.append(["always no", f"{1 - corpus.test.base_rate:.4f}", ""])
    lines = [
        *aligned(table),
        f"\n{folder}/{FILE} has 300 questions written by hand. Asked of them:",
        *(
            f"  {question}\n    {hit.similarity:.2f}  {hit.question}"
            for question, hit in answers.items()
        ),
        f"\nIts duplicates, found without training (a fifth are near misses): precision "
        f"{by_hand['precision']:.3f}, recall {by_hand['recall']:.3f} over pairs.",
        f"\nDone in {seconds:.0f} s. Next, on this file or one of yours:",
        f"  siamese duplicates {shlex.quote(f'{folder}/{FILE}')}",
    ]
    facts = {
        "models": figures,
        "handwritten": by_hand,
        "seconds": seconds,
        "answers": {question: hit.question for question, hit in answers.items()},
    }
    return Result("\n".join(lines), facts)


def _course_part(corpus: Any, folder: Path, steps: int) -> dict[str, dict[str, float]]:
    """The figures of the assignment's model; none where Trax is not installed."""
    if importlib.util.find_spec("trax") is None:
        note(
            "The assignment needs Trax, which is not installed: the demo starts with the tool."
        )
        return {}
    note(
        f"1. The assignment, in Trax's Loop: {steps} steps. Its LSTM starts with a bias on the "
        "forget gate alone; Trax's own start needs hundreds of steps to leave its plateau."
    )
    # Trax prints to standard output, which is for the result.
    with contextlib.redirect_stdout(sys.stderr):
        return {"course": _assignment(corpus, folder / "course", steps)}


def _head_part(corpus: Any, folder: Path, quiet: bool) -> dict[str, dict[str, float]]:
    """The figures of the tool's preset `head`."""
    from siamese.training.run import Trainer

    note(
        f"2. The tool's preset head, on the encoder `use` and {HEAD_PAIRS:,} training pairs."
    )
    trainer = Trainer(
        corpus.train.rows(0, HEAD_PAIRS),
        TrainConfig.preset("head"),
        folder / "head",
        valid=corpus.valid,
        overwrite=True,
        quiet=quiet,
    )
    trainer.train()
    report = trainer.evaluate(corpus.test)
    trainer.save(report)
    return {"head": report.to_dict()}


def _handwritten_part() -> tuple[dict[str, Any], dict[str, float]]:
    """The nearest of the handwritten questions to each of `ASKED`, and the figures of their groups."""
    from siamese.index import QuestionIndex
    from siamese.model.detector import DuplicateDetector

    note("3. The encoder `use` alone, on 300 questions written by hand.")
    questions = handwritten_questions()
    texts = [own["question"] for own in questions]
    index = QuestionIndex.build(DuplicateDetector.pretrained(), texts)
    answers = {question: hit for question, (hit,) in zip(ASKED, index.search(ASKED, 1))}
    return answers, _pair_figures(index.grouped().groups, questions)


def _claim(folder: Path) -> None:
    """Writes the handwritten questions to a new folder, or a former demo's; ArgumentError for another."""
    with explained(folder, error=ArgumentError):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        text = HANDWRITTEN.read_text("utf-8")
        is_ours = file.exists() and file.read_bytes() == text.encode()
        if any(folder.iterdir()) and not is_ours:
            raise ArgumentError(
                f"{folder} holds other files. Name a new folder: `siamese demo --output FOLDER`."
            )
    if not is_ours:
        write_text_atomically(file, text, overwrite=False)


def _pair_figures(groups: list, questions: list[dict[str, str]]) -> dict[str, float]:
    """Precision and recall of groups over pairs of the handwritten questions."""
    from sklearn.metrics.cluster import pair_confusion_matrix

    labels = list(range(len(questions)))
    for group in groups:
        for member in group:
            labels[member.row] = group[0].row
    truth = [own["group"] or own["id"] for own in questions]
    (_, wrong), (missed, right) = pair_confusion_matrix(truth, labels)
    figures = {"precision": right / (right + wrong), "recall": right / (right + missed)}
    return rounded({name: float(value) for name, value in figures.items()})


def _assignment(corpus: Any, folder: Path, steps: int) -> dict[str, float]:
    """The assignment's cells: vocabulary, batches, model, loss, Loop, classify and predict."""
    import siamese as course

    # Words and ids.
    pairs = corpus.train.duplicates(), corpus.valid, corpus.test
    words = [
        [
            list(map(course.word_tokenize, side))
            for side in (some.question1, some.question2)
        ]
        for some in pairs
    ]
    vocab = course.Vocabulary.from_pairs(*words[0])
    train, valid, test = (
        [list(map(vocab.encode, side)) for side in sides] for sides in words
    )
    trained = _train_course(train, vocab, folder, steps)

    # Its scores, and its answers at the course's threshold.
    options = {"model": trained, "vocab": vocab, "batch_size": 512}
    labels = corpus.test.is_duplicate
    scores = course.pair_scores(*valid, **options)
    threshold = course.best_threshold(scores, corpus.valid.is_duplicate)
    tuned = course.evaluate_scores(
        course.pair_scores(*test, **options), labels, threshold
    )
    for at in (int(labels.argmax()), int(labels.argmin())):
        pair = corpus.test.question1[at], corpus.test.question2[at]
        print(f"predict: {pair}: {course.predict(*pair, 0.7, trained, vocab)}")
    figures = {
        "course_accuracy": course.classify(*test, labels, 0.7, **options),
        "accuracy": tuned.accuracy,
        "roc_auc": tuned.roc_auc,
    }
    return rounded(figures)


def _train_course(train: list, vocab: Any, folder: Path, steps: int) -> Any:
    """The assignment's model, trained on duplicates: two lists of questions as ids."""
    import siamese as course

    cut = int(len(train[0]) * 0.8)  # the rest validates
    random.seed(SEED)
    model = functools.partial(course.Siamese, vocab.size, lstm_bias="forget_gate")
    loop = course.train_model(
        lambda: course.fast_forward(model()),
        course.TripletLoss,
        course.data_generator(*(side[:cut] for side in train), 256),
        course.data_generator(*(side[cut:] for side in train), 256),
        folder,
        random_seed=SEED,
    )
    loop.run(max(1, steps - loop.step))
    return loop.eval_model


# ---- grade ----


@dataclass(frozen=True, kw_only=True)
class Grade(CommandOptions):
    """The options of `siamese grade`."""

    folder: Annotated[
        str,
        positional(
            help="with notebooks in it, or in a folder for each student; or one notebook"
        ),
    ]
    out: Annotated[str, option(metavar="FOLDER", help=OUT_HELP)] = "grades"
    jobs: Annotated[int, option(help="how many notebooks at a time [%(default)s]")] = 1
    cell_limit: Annotated[float, option(help="seconds for a cell [%(default)s]")] = 120
    memory_limit: Annotated[
        float, option(metavar="GIB", help="0 for none [%(default)s]")
    ] = 4


@command(Grade)
def grade(options: Grade) -> Result:
    """Run students' notebooks and check their functions.

    siamese grade handed-in --jobs 4 --out grades
    siamese grade handed-in --cell-limit 300
    """
    if options.jobs < 1:
        raise ArgumentError("--jobs is at least 1.")
    if not (0 < options.cell_limit < 1e9 and 0 <= options.memory_limit < 1e9):
        raise ArgumentError("--cell-limit is above 0, --memory-limit 0 or above.")
    from siamese.teaching.grade import grade_class

    out = options.out
    rows = grade_class(
        options.folder,
        out,
        seconds=options.cell_limit,
        gigabytes=options.memory_limit,
        jobs=options.jobs,
        note=note,
    )
    pages = f"marks in {out}/grades.csv, a page for each in {out}/feedback"
    text = f"{counted(len(rows), 'notebook')}: {pages}."
    return Result(text, {"notebooks": rows, "out": out})


# ---- doctor ----


@command(CommandOptions)
def doctor(options: CommandOptions) -> Facts:
    """Print versions, devices, what is mended in Trax and why, what is missing.

    siamese doctor --json
    """
    versions = _versions()
    packages, problems = _packages(versions)
    trax = versions.get("trax")
    if trax not in (None, TRAX):
        problems.append(
            f"Trax {trax} was never tried with siamese, which changes parts of Trax {TRAX}. Install the "
            f"right one: pip install --no-deps trax=={TRAX}"
        )
    devices = []
    mended: dict[str, str] = {}
    try:
        import jax

        devices = [f"{own.platform}: {own.device_kind}" for own in jax.devices()]
        if trax:
            importlib.import_module("siamese.course.train_model")
            mended = importlib.import_module("siamese.course.trax.importing").mended
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    return {
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "devices": ", ".join(devices),
        "verdict": "see the problems" if problems else "OK: all imports work",
        "packages": packages,
        "mended": mended,
        "problems": problems,
    }


def _versions() -> dict[str, str]:
    """The versions of all packages that are installed."""
    import importlib.metadata  # Not at the top: each command would wait 50 ms for it.

    # Of two versions the first on the path counts.
    installed = reversed(list(importlib.metadata.distributions()))
    return {own.name.replace("_", "-"): own.version for own in installed}


def _packages(versions: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The versions of what siamese requires, and what of it is missing."""
    import importlib.metadata

    packages = {}
    problems = []
    for line in importlib.metadata.requires("siamese-questions") or ():
        name = re.match(r"[\w-]+", line)[0].replace("_", "-")
        extra = re.search(r'extra == "(\w+)"', line)
        packages[name] = versions.get(name, "not installed")
        if extra:
            packages[name] += f" (extra {extra[1]})"
        elif name not in versions:
            problems.append(f"{name} is missing: pip install {name}")
    return packages, problems
