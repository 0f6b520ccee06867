"""The command `demo`: the assignment in Trax from end to end, then the tool, on the embedded corpus."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import random
import sys
import time
from pathlib import Path
from typing import Any

from siamese.cli.arguments import arg, command
from siamese.cli.output import Result, aligned, note
from siamese.search.display import rounded
from siamese.training.config import TrainConfig


@command(
    arg("--output", default="demo", help="directory of the run [%(default)s]"),
    arg("--steps", type=int, default=120, help="training steps of each model [%(default)s]"),
    arg("--seed", type=int, default=34, help="random seed for weights and batches [%(default)s]"),
)
def demo(flags: argparse.Namespace) -> Result:
    """Train on the embedded corpus, evaluate, and answer two questions.

    siamese demo --output demo --steps 120
    """
    from siamese.data.corpus import embedded_corpus
    from siamese.training.run import Trainer

    started, corpus, folder = time.monotonic(), embedded_corpus(), Path(flags.output)
    note(
        f"Embedded corpus: {len(corpus.train):,} training, {len(corpus.valid):,} validation and "
        f"{len(corpus.test):,} test pairs about {len(corpus.subjects)} subjects, made by a grammar."
    )
    test = corpus.test
    places = [int(test.is_duplicate.argmax()), int(test.is_duplicate.argmin())]
    examples = [(test.question1[at], test.question2[at]) for at in places]
    figures: dict[str, dict[str, float]] = {}
    if importlib.util.find_spec("trax") is None:
        note("The assignment needs Trax, which is not installed: the demo starts with the tool.")
    else:
        note(
            f"1. The assignment, in Trax's Loop: {flags.steps} steps. Its LSTM starts with a bias on the "
            "forget gate alone; Trax's own start needs hundreds of steps to leave its plateau."
        )
        # Trax prints to standard output, which is for the result.
        with contextlib.redirect_stdout(sys.stderr):
            figures["course"] = _assignment(corpus, examples, folder / "course", flags)
    note(f"2. The tool, preset best: {flags.steps} steps in JAX.")
    begun, warmup = time.monotonic(), max(1, flags.steps // 10)
    # Without topic blocks the batches have two lengths, so that little is compiled.
    changes = {"steps": flags.steps, "seed": flags.seed, "warmup_steps": warmup, "topic_block": 1}
    options = {"valid": corpus.valid, "overwrite": True, "quiet": flags.json}
    trainer = Trainer(corpus.train, TrainConfig.best(**changes), folder / "best", **options)
    trainer.train()
    report = trainer.evaluate(test)
    detector = trainer.save(report)
    figures["best"] = rounded({**report.as_dict(), "seconds": time.monotonic() - begun})
    names = ("accuracy", "tuned_accuracy", "roc_auc", "seconds")
    table = [["model", "accuracy at 0.7", "tuned", "ROC AUC", "seconds"]]
    table += [[model, *(f"{row[n]:.4f}" for n in names)] for model, row in figures.items()]
    lines = [*aligned([*table, ["always no", f"{1 - test.base_rate:.4f}", "", "", ""]]), ""]
    answers = [dict(zip(("question1", "question2"), pair)) for pair in examples]
    for answer, pair in zip(answers, examples):
        answer["is_duplicate"] = detector.predict(*pair)
        lines += [*pair, f"  -> {'duplicate' if answer['is_duplicate'] else 'not a duplicate'}"]
    seconds = round(time.monotonic() - started, 1)
    hand = _on_handwritten_questions()
    lines += [
        "",
        "`siamese duplicates`, which needs no training, on 300 questions written by hand, a fifth of them "
        f"near misses: precision {hand['precision']:.3f}, recall {hand['recall']:.3f} over pairs.",
    ]
    lines += ["", f"Done in {seconds:.0f} s. Ask a model yourself:"]
    lines.append(f'  siamese predict {folder / "best"} "{examples[0][0]}" "..."')
    return "\n".join(lines), {
        "models": figures, "answers": answers, "handwritten": hand, "seconds": seconds,
    }  # fmt: skip


def _on_handwritten_questions() -> dict[str, float]:
    """Precision and recall, over pairs, of the default encoder's groups of the handwritten questions."""
    import numpy as np
    from sklearn.metrics.cluster import pair_confusion_matrix

    from siamese.data.corpus import handwritten_questions
    from siamese.search.detector import DuplicateDetector
    from siamese.search.groups import duplicate_groups

    questions, detector = handwritten_questions(), DuplicateDetector.pretrained()
    vectors = detector.encode([question.question for question in questions])
    labels = np.arange(len(questions))
    for group in duplicate_groups(vectors, detector.threshold):
        labels[[member.row for member in group]] = group[0].row
    truth = [question.group or question.id for question in questions]
    (_, wrong), (missed, right) = pair_confusion_matrix(truth, labels)
    figures = {"precision": right / (right + wrong), "recall": right / (right + missed)}
    return rounded({name: float(value) for name, value in figures.items()})


def _assignment(
    corpus: Any, examples: list[tuple[str, str]], folder: Path, flags: argparse.Namespace
) -> dict[str, float]:
    """The assignment's cells: vocabulary, batches, model, loss, Loop, classify and predict."""
    import siamese as course

    begun = time.monotonic()
    pairs = corpus.train.duplicates(), corpus.valid, corpus.test
    words = [
        [list(map(course.word_tokenize, side)) for side in (some.question1, some.question2)]
        for some in pairs
    ]
    vocab = course.Vocabulary.from_pairs(*words[0])
    train, valid, test = ([list(map(vocab.encode, side)) for side in sides] for sides in words)
    cut = int(len(train[0]) * 0.8)  # the rest validates
    random.seed(flags.seed)
    model = functools.partial(course.Siamese, vocab.size, lstm_bias="forget_gate")
    loop = course.train_model(
        lambda: course.fast_forward(model()),
        course.TripletLoss,
        course.data_generator(*(side[:cut] for side in train), 256),
        course.data_generator(*(side[cut:] for side in train), 256),
        folder,
        random_seed=flags.seed,
    )
    loop.run(max(1, flags.steps - loop.step))
    options = {"model": loop.eval_model, "vocab": vocab, "batch_size": 512}  # of the last cell
    scores, labels = course.pair_scores(*valid, **options), corpus.test.is_duplicate
    threshold = course.best_threshold(scores, corpus.valid.is_duplicate)
    tuned = course.evaluate_scores(course.pair_scores(*test, **options), labels, threshold)
    for pair in examples:
        print(f"predict: {pair}: {course.predict(*pair, 0.7, loop.eval_model, vocab)}")
    accuracy = course.classify(*test, labels, 0.7, **options)
    figures = {"accuracy": accuracy, "tuned_accuracy": tuned.accuracy, "roc_auc": tuned.roc_auc}
    return rounded({**figures, "seconds": time.monotonic() - begun})
