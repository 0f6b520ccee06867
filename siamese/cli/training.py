"""The commands that make models: train, import-weights; and data, which describes what they read."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, flag
from siamese.cli.output import Result, counted, note
from siamese.cli.reading import PAIRS, labelled_pairs, reading_options, texts_by_id
from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.data.split import check_both_labels, split
from siamese.data.summary import describe, render
from siamese.errors import ArgumentError
from siamese.evaluation.asking import pair_key
from siamese.search.detector import DuplicateDetector
from siamese.search.model_file import MODEL_NAME
from siamese.training import config as configs

SPLIT_HELP = (
    "by the file's order, drawn by a fixed seed, or drawn so that no question stands on both sides [rows "
    "with --train-rows or above 300000 rows, else shuffled]"
)
INIT_HELP = (
    "go on from this saved model: from its head, or, of a tower alone, by small steps (--learning-rate "
    "0.0005, from 1,000 pairs on 0.002; --epochs 3; --preset has no effect)"
)
WORSE = "The labels bought nothing: on held-out labels the encoder alone is as good or better."
TOWER_DUPLICATES = 3_000  # With fewer the preset `general` trains no tower.
# ROC AUC on a forum's other queries that so many labels reached; 0.821 before (benchmarks/transfer.py).
USUALLY = ((1_900, 0.852), (1_000, 0.848), (0, 0.838))


@command(
    arg("--questions", required=True, metavar="FILE", help="labelled pairs, any format"),
    *shared.READ_PAIRS,
    shared.PAIRS_OF,
    arg("--train-rows", type=int, help="the first rows train [300000, or 9 in 10]"),
    arg("--test-rows", type=int, help="the rows after them test [10240, or the rest]"),
    arg("--split", choices=("rows", "shuffled", "clusters"), help=SPLIT_HELP),
    arg("--test", metavar="FILE", help="test on this file; train on all of --questions"),
    arg("--valid", metavar="FILE", help="validation file; also sets the threshold"),
    arg("--valid-rows", type=int, help="the last training rows validate and choose the threshold"),
    arg("--init-from", metavar="MODEL", help=INIT_HELP),
    arg("--output", help="directory of the run [runs/PRESET]"),
    [
        flag("--resume", "resume with a changed configuration"),
        flag("--overwrite", "discard the run there and start over"),
    ],
    configs.add_config_flags,
)
def train(flags: argparse.Namespace) -> Result:
    """Train on labelled pairs; by default a head on the vectors of an encoder, in seconds to a minute.

    siamese train --questions mine.csv                             (also of few labels, or of links alone)
    siamese train --questions questions.csv --preset general       (the same command resumes a run)
    siamese train --questions questions.csv --preset course --train-rows 300000 --test-rows 10240
    siamese train --questions mine.csv --init-from runs/general    (goes on from its head)
    """
    from siamese.training.head import MANY

    changes = configs.changes_from_flags(flags)
    start = DuplicateDetector.load(flags.init_from) if flags.init_from else None
    of_tower = start is not None and start.encoder is None
    preset = flags.preset or "head"
    config = configs.TrainConfig.preset(preset, **changes)
    if start:
        preset = "best" if of_tower else "head"
    output = flags.output or f"runs/{'fine-tuned' if of_tower else preset}"
    pairs = labelled_pairs(flags.questions, flags)
    labels = pairs.is_duplicate
    if preset == "head" and (labels.all() or len(labels) < MANY):
        return _few(pairs, start, output, changes, flags)
    train_pairs, valid_pairs, test_pairs = _divided(pairs, flags, of_tower)
    trained = set(_keys(train_pairs))
    repeated = sum(map(trained.__contains__, _keys(test_pairs))) if test_pairs else 0
    if repeated:
        note(
            f"{repeated:,} of {len(test_pairs):,} test pairs are training pairs too: the figures will be "
            "too good. Test on other pairs."
        )
    sizes = f"{len(train_pairs):,} rows train, {len(test_pairs or ()):,} test"
    if preset == "general":
        text, facts = _general(train_pairs, valid_pairs, test_pairs, output, changes, flags)
    else:
        if of_tower:
            from siamese.training.fine_tuning import fine_tuning_config

            config = fine_tuning_config(start, train_pairs.is_duplicate, **changes)
        trainer = _run(train_pairs, valid_pairs, test_pairs, config, preset, output, start, flags)
        text, facts = _measured(trainer, test_pairs, start, output, flags)
    return f"{sizes}.\n{text}", {**facts, "test_pairs_trained_on": repeated, "output": output}


def _run(
    train_pairs: QuestionPairs,
    valid_pairs: QuestionPairs | None,
    test_pairs: QuestionPairs | None,
    config: configs.TrainConfig,
    preset: str,
    output: str,
    start: DuplicateDetector | None,
    flags: argparse.Namespace,
) -> Any:
    """The finished `Trainer` of a run in the directory `output`, with its model saved."""
    from siamese.training.run import Trainer

    different = ", ".join(f"{name}={value}" for name, value in config.changes(preset).items())
    goes_on = f"Going on from {flags.init_from}. " if start else ""
    note(f"{goes_on}Preset {preset}: {different or 'unchanged'}.")
    options = {"init_from": start, "resume": flags.resume, "overwrite": flags.overwrite}
    # The rows next to the test rows are most like them.
    options |= {"held_out_pairs": max(1000, len(test_pairs or ()) // 2), "quiet": flags.json}
    trainer = Trainer(train_pairs, config, output, valid=valid_pairs, **options)
    data = trainer.data
    if not start:
        check_both_labels(data.held_out, "The pairs that choose the threshold")
    note(
        f"{len(data.train[0]):,} duplicates to train on, {len(data.valid[0]):,} to validate, "
        f"{data.vocabulary.size:,} words."
    )
    if trainer.resumed_from:
        note(f"Resuming {output} at step {trainer.step}.")
    trainer.train()
    trainer.save(questions=str(flags.questions))  # Save first: evaluation may fail.
    return trainer


def _measured(
    trainer: Any,
    test_pairs: QuestionPairs | None,
    start: DuplicateDetector | None,
    output: str,
    flags: argparse.Namespace,
) -> Result:
    """The figures of a run on the test pairs, if there are any; the model gets their threshold."""
    lines = [f"Saved in {output}."]
    if start and (test_pairs is None or not trainer.keeps_labels_for_threshold):
        lines = [
            f"Too few labels are held out to fit a threshold: it stays {start.threshold:.3f}, that of "
            f"{flags.init_from}. Fit it to more: siamese threshold {output} --answers FILE",
            *lines,
        ]
    if test_pairs is None:
        count = len(trainer.data.held_out)  # They are the training pairs.
        lines = [f"All {count} labels trained, none is left to measure on.", *lines]
        return "\n".join(lines), {"threshold": start.threshold, "steps": trainer.step}
    report = trainer.evaluate(test_pairs)
    trainer.save(report, questions=str(flags.questions))
    if report.encoder_roc_auc is not None and report.roc_auc <= report.encoder_roc_auc:
        lines.append(WORSE)
    return "\n".join([str(report), *lines]), report.as_dict()


def _general(
    train_pairs: QuestionPairs,
    valid_pairs: QuestionPairs | None,
    test_pairs: QuestionPairs,
    output: str,
    changes: dict[str, Any],
    flags: argparse.Namespace,
) -> Result:
    """A head and, where held-out pairs gain by it, a tower beside it: two runs and one model."""
    from siamese.training.report import measure, with_tower

    parts = (train_pairs, valid_pairs, test_pairs)
    config = configs.TrainConfig.head(**{k: v for k, v in changes.items() if k == "seed"})
    head = _run(*parts, config, "head", f"{output}/head", None, flags)
    model, tower = head.save(write=False), None
    duplicates = len(head.data.train[0])
    if duplicates >= TOWER_DUPLICATES:
        config = configs.TrainConfig.general(**changes)
        tower = _run(*parts, config, "general", f"{output}/tower", None, flags)
        both, gain = with_tower(model, tower.save(write=False), head.data.held_out)
        change = f"ROC AUC on held-out pairs {gain:+.4f}"
        note(f"The tower {'is part of' if gain > 0 else 'is left out of'} the model: {change}.")
        model = both if gain > 0 else model
    else:
        note(
            f"No tower: it needs {TOWER_DUPLICATES:,} duplicates to train on, and there are {duplicates:,}."
        )
    last = (tower or head).history[-1]
    report, calibration = measure(
        model, head.data, test_pairs,
        steps=(tower or head).step, train_loss=last["train/loss"], valid_loss=last["valid/loss"],
    )  # fmt: skip
    fit = {"threshold": report.threshold, "calibration": calibration and calibration.to_dict()}
    model = model.with_fit({**fit, "threshold_from": "labels"})
    model.card |= {"figures": report.as_dict(), "questions": str(flags.questions)}
    model.save(output)
    lines = [str(report), f"Saved in {output}."]
    return "\n".join(lines + [WORSE] * (report.roc_auc <= report.encoder_roc_auc)), report.as_dict()


def _few(
    pairs: QuestionPairs,
    start: DuplicateDetector | None,
    output: str,
    changes: dict[str, Any],
    flags: argparse.Namespace,
) -> Result:
    """A head of few labels, or of links: all of them train, each part judged by a head of the others."""
    from siamese.training.few_labels import teach
    from siamese.training.head import MANY

    seed = changes.pop("seed", 0)
    rows = ("train_rows", "test_rows", "valid_rows", "split", "valid", "test")
    given = [*changes, *(name for name in rows if getattr(flags, name))]
    if given:
        raise ArgumentError(
            f"{len(pairs):,} labels, or links alone, train a head of fixed settings on all of them (from "
            f"{MANY:,} labels on it is a run with settings and test rows); without effect, so leave out: "
            f"{', '.join(given)}. Or choose --preset best, which trains a tower."
        )
    model = start or DuplicateDetector.pretrained()
    path = os.path.join(output, MODEL_NAME)
    if os.path.exists(path) and not flags.overwrite:
        raise ArgumentError(f"{path} holds a model. Pass --overwrite, or another --output.")
    count, duplicates = len(pairs), int(pairs.is_duplicate.sum())
    usual = next(roc_auc for least, roc_auc in USUALLY if count >= least)
    known = f"On a forum about as many raised the ROC AUC on other queries from 0.821 to {usual}."
    if duplicates == count:
        known = "All say yes: they teach an order and no threshold."
    note(f"{counted(count, 'label')}, {duplicates:,} of them duplicates. {known}")
    listed = [*texts_by_id(flags.list, flags).values()] if flags.list else None
    begun = time.monotonic()
    model, bought = teach(model, pairs, listed, seed=seed, show_progress=not flags.json)
    os.makedirs(output, exist_ok=True)
    model.card |= {"questions": str(flags.questions), "figures": bought._asdict()}
    model.save(output)
    lines = [str(bought), f"Saved in {output}, after {time.monotonic() - begun:.0f} s."]
    if duplicates == count:
        lines.append(
            "Links set no threshold, which needs pairs that are no duplicates too. With both, fit it: "
            f"siamese threshold {output} --answers FILE"
        )
    facts = {**bought._asdict(), "threshold": model.threshold, "output": output}
    return "\n".join(lines), facts


def _divided(
    pairs: QuestionPairs, flags: argparse.Namespace, fine_tuning: bool
) -> tuple[QuestionPairs, QuestionPairs | None, QuestionPairs | None]:
    """The pairs to train on, to validate on (or None) and to test on.

    Of few pairs that fine-tune all train and validate, unless a flag divides them; nothing tests.
    """
    from siamese.training.fine_tuning import FEW

    names = ("train_rows", "test_rows", "valid_rows", "split", "valid", "test")
    if fine_tuning and len(pairs) < FEW and not any(getattr(flags, name) for name in names):
        return pairs, pairs, None
    files = {name: getattr(flags, name) for name in ("valid", "test")}
    others = {name: path and labelled_pairs(path, flags) for name, path in files.items()}
    rows = flags.train_rows, flags.test_rows, flags.valid_rows or 0
    return split(pairs, *rows, flags.split, **others)


def _keys(pairs: QuestionPairs) -> list[frozenset[str]]:
    return list(map(pair_key, zip(pairs.question1, pairs.question2)))


@command(
    arg("questions", metavar="FILE", help="a file of labelled pairs"),
    *shared.READ_PAIRS,
)
def data(flags: argparse.Namespace) -> Result:
    """Describe a file of labelled pairs.

    siamese data questions.csv --json
    """
    pairs = read_pairs(flags.questions, **reading_options(flags, PAIRS))
    facts = describe(pairs)
    return render(facts), facts


@command(
    arg("weights", help="model.pkl.gz, or its directory"),
    arg("output", help="the model to write, one file"),
    arg("--vocab", required=True, metavar="FILE", help="JSON, word: id, as json.dump(vocab)"),
    arg("--threshold", type=shared.COSINE, default=0.7, help="[%(default)s]"),
)
def import_weights(flags: argparse.Namespace) -> Result:
    """Make a saved model of the course's model.pkl.gz.

    siamese import-weights model.pkl.gz --vocab vocab.json mine.safetensors
    """
    from siamese.search.import_weights import import_weights as imported

    detector = imported(flags.weights, flags.vocab, threshold=flags.threshold)
    facts = {"output": str(detector.save(flags.output)), "words": len(detector.vocabulary)}
    facts |= {"d_model": detector.tower.d_model, "threshold": detector.threshold}
    facts |= {name: detector.card[name] for name in ("step", "rows")}
    text = (
        f"{facts['words']:,} words, vectors of {facts['d_model']}, threshold {flags.threshold:.3f}."
    )
    ask = f'siamese predict {facts["output"]} "..." "..."'
    return f"{text} Saved in {facts['output']}. Ask it: {ask}", facts
