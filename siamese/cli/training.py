"""The commands that make models: train, import-weights; and data, which describes what they read."""

from __future__ import annotations

import argparse
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, flag
from siamese.cli.output import Result, note
from siamese.cli.reading import PAIRS, labelled_pairs, reading_options
from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.data.split import check_both_labels, split
from siamese.data.summary import describe, render
from siamese.evaluation.asking import pair_key
from siamese.search.detector import DuplicateDetector
from siamese.training import config as configs

SPLIT_HELP = (
    "by the file's order, drawn by a fixed seed, or drawn so that no question stands on both sides [rows "
    "with --train-rows or above 300000 rows, else shuffled]"
)
INIT_HELP = (
    "fine-tune this saved model, by small steps (--learning-rate 0.0005, from 1,000 pairs on 0.002; "
    "--epochs 3; --preset has no effect)"
)


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
    """Train on labelled pairs; by default the course's experiment.

    siamese train --questions questions.csv --preset best       (the same command resumes where it stopped)
    siamese train --questions questions.csv --train-rows 300000 --test-rows 10240
    siamese train --questions questions.csv.gz --output runs/small --set d_model=64 --epochs 2
    siamese train --questions mine.csv --init-from model.safetensors --output runs/mine    (fine-tuning)
    """
    from siamese.training.fine_tuning import FEW, fine_tuning_config
    from siamese.training.run import Trainer

    changes = configs.changes_from_flags(flags)
    config = configs.TrainConfig.preset(flags.preset, **changes)
    start = DuplicateDetector.load(flags.init_from) if flags.init_from else None
    base = "best" if start else flags.preset
    output = flags.output or f"runs/{'fine-tuned' if start else base}"
    train_pairs, valid_pairs, test_pairs = _train_valid_test(flags, FEW if start else 0)
    trained = set(_keys(train_pairs))
    repeated = sum(map(trained.__contains__, _keys(test_pairs))) if test_pairs else 0
    if repeated:
        note(
            f"{repeated:,} of {len(test_pairs):,} test pairs are training pairs too: the figures will be "
            "too good. Test on other pairs."
        )
    if start:
        config = fine_tuning_config(start, train_pairs.is_duplicate, **changes)
    different = ", ".join(f"{name}={value}" for name, value in config.changes(base).items())
    fine_tuning = f"Fine-tuning {flags.init_from}. " if start else ""
    note(f"{fine_tuning}Preset {base}: {different or 'unchanged'}.")
    options = {"init_from": start, "resume": flags.resume, "overwrite": flags.overwrite}
    # The rows next to the test rows are most like them.
    options |= {"held_out_pairs": max(1000, len(test_pairs or ()) // 2), "quiet": flags.json}
    trainer = Trainer(train_pairs, config, output, valid=valid_pairs, **options)
    data = trainer.data
    if not start:
        check_both_labels(data.held_out, "The pairs that choose the threshold")
    note(
        f"{len(train_pairs):,} rows train, {len(test_pairs or ()):,} test; {len(data.train[0]):,} "
        f"duplicates to train on, {len(data.valid[0]):,} to validate, {data.vocabulary.size:,} words."
    )
    if trainer.resumed_from:
        note(f"Resuming {output} at step {trainer.step}.")
    trainer.train()
    trainer.save(questions=str(flags.questions))  # Save first: evaluation may fail.
    lines = [f"Saved in {output}."]
    if start and (test_pairs is None or not trainer.keeps_labels_for_threshold):
        lines = [
            f"Too few labels are held out to fit a threshold: it stays {start.threshold:.3f}, that of "
            f"{flags.init_from}. Fit it to more: siamese threshold {output} --answers FILE",
            *lines,
        ]
    if test_pairs is None:
        facts = {"output": output, "threshold": start.threshold, "steps": trainer.step}
        lines = [f"All {len(train_pairs)} labels trained, none is left to measure on.", *lines]
        return "\n".join(lines), facts
    report = trainer.evaluate(test_pairs)
    trainer.save(report, questions=str(flags.questions))
    facts = {**report.as_dict(), "test_pairs_trained_on": repeated, "output": output}
    return "\n".join([str(report), *lines]), facts


def _train_valid_test(flags: argparse.Namespace, few: int) -> tuple[Any, Any, Any]:
    """The pairs to train on, to validate on (or None) and to test on.

    With fewer than `few` pairs and no flag that divides them all of them train and validate; nothing tests.
    """
    pairs = labelled_pairs(flags.questions, flags)
    names = ("train_rows", "test_rows", "valid_rows", "split", "valid", "test")
    if len(pairs) < few and not any(getattr(flags, name) for name in names):
        return pairs, pairs, None
    files = {name: getattr(flags, name) for name in ("valid", "test")}
    others = {name: path and labelled_pairs(path, flags) for name, path in files.items()}
    rows = flags.train_rows, flags.test_rows, flags.valid_rows or 0
    return split(pairs, *rows, flags.split, **others)


def _keys(pairs: QuestionPairs) -> list[frozenset[str]]:
    """What pairs are compared by, in either order."""
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
    arg("--vocab", required=True, metavar="FILE", help="JSON (word: id), or one word a line"),
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
