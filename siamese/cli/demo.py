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
from siamese.cli.output import Result, note
from siamese.training.config import TrainConfig

EVALUATION_BATCH = 512  # the batch size of the course's last cell


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

    started = time.monotonic()
    corpus, folder = embedded_corpus(), Path(flags.output)
    note(
        f"Embedded corpus: {len(corpus.train):,} training, {len(corpus.valid):,} validation and "
        f"{len(corpus.test):,} test pairs about {len(corpus.subjects)} subjects, made by a grammar."
    )
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
            figures["course"] = _assignment(corpus, folder / "course", flags)
    note(f"2. The tool, preset best: {flags.steps} steps in JAX.")
    detector, figures["best"] = _tool(corpus, folder / "best", flags)
    lines = [f"{'model':<10}{'accuracy at 0.7':>16}{'tuned':>9}{'ROC AUC':>10}{'seconds':>9}"]
    for name, row in figures.items():
        numbers = f"{row['accuracy']:>16.4f}{row['tuned_accuracy']:>9.4f}{row['roc_auc']:>10.4f}"
        lines.append(f"{name:<10}{numbers}{row['seconds']:>9.0f}")
    lines += [f"always no {1 - corpus.test.base_rate:>16.4f}", "", "best answers:"]
    answers = []
    for one, two in _examples(corpus.test):
        answer = {"question1": one, "question2": two, "is_duplicate": detector.predict(one, two)}
        verdict = "duplicate" if answer["is_duplicate"] else "not a duplicate"
        lines += [f"  {one}", f"  {two}", f"  -> {verdict}"]
        answers.append(answer)
    seconds = round(time.monotonic() - started, 1)
    lines += ["", f"Done in {seconds:.0f} s. Ask a model yourself:"]
    lines.append(f'  siamese predict {folder / "best"} "{answers[0]["question1"]}" "..."')
    return "\n".join(lines), {"models": figures, "answers": answers, "seconds": seconds}


def _examples(test) -> list[tuple[str, str]]:
    """The first duplicate and the first other pair of the test pairs."""
    places = [test.is_duplicate.tolist().index(label) for label in (True, False)]
    return [(test.question1[place], test.question2[place]) for place in places]


def _assignment(corpus, folder: Path, flags: argparse.Namespace) -> dict[str, float]:
    """The assignment's cells: vocabulary, batches, model, loss, Loop, classify and predict."""
    from siamese import (
        Siamese,
        TripletLoss,
        Vocabulary,
        best_threshold,
        classify,
        data_generator,
        evaluate_scores,
        fast_forward,
        pair_scores,
        predict,
        train_model,
        word_tokenize,
    )

    begun = time.monotonic()

    def sides(pairs):
        return [[word_tokenize(q) for q in side] for side in (pairs.question1, pairs.question2)]

    train = sides(corpus.train.duplicates())
    vocab = Vocabulary.from_pairs(*train)
    Q1, Q2 = ([vocab.encode(q) for q in side] for side in train)
    cut = int(len(Q1) * 0.8)  # the rest validates
    random.seed(flags.seed)
    model = functools.partial(Siamese, vocab.size, lstm_bias="forget_gate")
    loop = train_model(
        lambda: fast_forward(model()),
        TripletLoss,
        data_generator(Q1[:cut], Q2[:cut], 256),
        data_generator(Q1[cut:], Q2[cut:], 256),
        folder,
        random_seed=flags.seed,
    )
    loop.run(max(1, flags.steps - loop.step))
    options = {"model": loop.eval_model, "vocab": vocab, "batch_size": EVALUATION_BATCH}
    (valid1, valid2), (test1, test2) = (
        [[vocab.encode(q) for q in side] for side in sides(pairs)]
        for pairs in (corpus.valid, corpus.test)
    )
    labels = corpus.test.is_duplicate
    threshold = best_threshold(
        pair_scores(valid1, valid2, **options), corpus.valid.is_duplicate
    ).threshold
    tuned = evaluate_scores(pair_scores(test1, test2, **options), labels, threshold)
    for one, two in _examples(corpus.test):
        print(f"predict: {one!r}, {two!r}: {predict(one, two, 0.7, loop.eval_model, vocab)}")
    return {
        "accuracy": classify(test1, test2, labels, 0.7, **options),
        "tuned_accuracy": tuned.accuracy,
        "roc_auc": tuned.roc_auc,
        "seconds": round(time.monotonic() - begun, 1),
    }


def _tool(corpus, folder: Path, flags: argparse.Namespace) -> tuple[Any, dict[str, float]]:
    """A short run of the preset `best`: the saved model and its figures."""
    from siamese.training.run import Trainer

    begun = time.monotonic()
    # Without topic blocks the batches have two lengths, so that little is compiled.
    config = TrainConfig.best(
        steps=flags.steps, seed=flags.seed, warmup_steps=max(1, flags.steps // 10), topic_block=1
    )
    trainer = Trainer(
        corpus.train, config, folder, valid=corpus.valid, overwrite=True, quiet=flags.json
    )
    trainer.train()
    report = trainer.evaluate(corpus.test)
    detector = trainer.save(report)
    return detector, {**report.as_dict(), "seconds": round(time.monotonic() - begun, 1)}
