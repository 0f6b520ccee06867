"""The commands that make models: train and import-weights."""

from __future__ import annotations

import argparse
import os
import time
from shlex import quote
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, flag
from siamese.cli.output import Facts, Result, claim, note
from siamese.cli.reading import labelled_pairs, load_model, note_cut
from siamese.errors import ArgumentError
from siamese.index.asking import pair_key
from siamese.model.detector import DuplicateDetector
from siamese.model.file import MODEL_NAME, model_path
from siamese.reading.pairs import QuestionPairs, check_both_labels, split
from siamese.system.arguments import counted
from siamese.training import config as configs
from siamese.training.config import TrainConfig

WORSE = "The labels bought nothing: on the test pairs the untrained encoder is as good or better."
LSTM_DUPLICATES = 3_000  # With fewer the preset `ensemble` trains no LSTM.
# ROC AUC on a forum's other queries that so many labels reached; 0.782 before
# (benchmarks/transfer.py).
USUALLY = ((1_900, 0.812), (1_000, 0.807), (300, 0.806), (100, 0.797), (30, 0.795))


@command(
    arg(
        "--questions", required=True, metavar="FILE", help="labelled pairs, any format"
    ),
    *shared.LIST_AND_PAIRS,
    arg("--train-rows", type=int, help="the first rows train [9 in 10, drawn]"),
    arg(
        "--test-rows",
        type=int,
        help="the rows after them test [the rest, at most 10240]",
    ),
    arg(
        "--split",
        choices=("clusters",),
        help="no question trains and tests [some may do both]",
    ),
    arg(
        "--test", metavar="FILE", help="test on this file; train on all of --questions"
    ),
    arg("--init-from", metavar="MODEL", help="go on from the head of this saved model"),
    arg("--output", help="directory of the run [runs/PRESET]"),
    flag("--overwrite", "discard the run there and start over"),
    configs.add_config_flags,
)
def train(flags: argparse.Namespace) -> Result:
    """Train on labelled pairs; by default a head on the vectors of an encoder, in seconds to a minute.

    siamese train --questions mine.csv                             (also of few labels, or of links alone)
    siamese train --questions questions.csv --preset ensemble      (the same command resumes a run)
    siamese train --questions questions.csv --preset course --train-rows 300000 --test-rows 10240
    siamese train --questions mine.csv --init-from runs/ensemble   (goes on from its head)
    """
    from siamese.training.head import MANY
    from siamese.training.pieces import Pieces

    changes, preset = configs.changes_from_flags(flags), flags.preset or "head"
    # The preset `ensemble` is that of its LSTM, and its head has the encoder.
    of_lstm = {
        n: value
        for n, value in changes.items()
        if preset != "ensemble" or n != "encoder"
    }
    config = TrainConfig.preset(preset, **of_lstm)
    start = flags.init_from and load_model(flags.init_from)
    is_lstm = start and Pieces.of(start.encoder).frozen is None
    if start and (is_lstm or preset != "head"):
        lacks = "has no encoder" if is_lstm else f"starts no {preset}"
        why = f"--init-from goes on from a head; {flags.init_from} {lacks}"
        raise ArgumentError(
            f"{why}. Name a model with an encoder, and leave --preset out."
        )
    output = flags.output = flags.output or f"runs/{preset}"
    pairs = labelled_pairs(flags.questions, flags)
    duplicates, links = int(pairs.is_duplicate.sum()), bool(pairs.is_duplicate.all())
    if preset == "ensemble" and (links or duplicates < LSTM_DUPLICATES):
        note(
            f"No LSTM: it needs {LSTM_DUPLICATES:,} duplicates and pairs that are none; these are "
            f"{counted(duplicates, 'duplicate')} among {counted(len(pairs), 'pair')}."
        )
        preset, config = "head", TrainConfig.preset("head", **changes)
    if preset == "head" and (links or len(pairs) < MANY):
        return _few(pairs, start, changes, flags)
    test = flags.test and labelled_pairs(flags.test, flags)
    options = {"by_cluster": flags.split == "clusters", "test": test}
    parts = split(pairs, flags.train_rows, flags.test_rows, **options)
    # Pairs are equal but for case, blanks and quotes.
    trained, tested = (
        list(map(pair_key, zip(part.question1, part.question2))) for part in parts
    )
    if repeated := sum(map(set(trained).__contains__, tested)):
        note(
            f"{repeated:,} of {len(parts[1]):,} test pairs are training pairs too: the figures will be too "
            "good. Test on other pairs."
        )
    run = os.path.join(output, "head") if preset == "ensemble" else output
    goes_on = os.path.exists(os.path.join(run, "checkpoint.safetensors"))
    claim(os.path.join(output, MODEL_NAME), flags, goes_on)
    if preset == "ensemble":
        # The other changes are for the LSTM.
        of_head = {
            n: changes[n] for n in ("seed", "batch_size", "encoder") if n in changes
        }
        head = TrainConfig.preset("head", **of_head)
        report = _general(parts, head, config, flags)
    else:
        trainer = _run(parts, config, preset, output, flags, start)
        # An LSTM is measured beside the encoder that needs no training, as a head is.
        beside = None if config.encoder else DuplicateDetector.pretrained()
        report = trainer.evaluate(parts[1], beside)
        trainer.save(report, questions=str(flags.questions))
    lines = [f"{len(parts[0]):,} rows train, {len(parts[1]):,} test.", str(report)]
    is_worse = report.metrics.roc_auc <= report.baselines["encoder"].roc_auc
    lines += [f"Saved in {output}."] + [WORSE] * is_worse
    facts = {**report.to_dict(), "test_pairs_trained_on": repeated, "output": output}
    return "\n".join(lines), facts


Parts = tuple[QuestionPairs, QuestionPairs]  # to train and to test on


def _run(
    parts: Parts,
    config: TrainConfig,
    preset: str,
    output: str,
    flags: Any,
    start: Any = None,
) -> Any:
    """The finished `Trainer` of a run in the directory `output`, with its model saved."""
    from siamese.training.run import Trainer

    changes = configs.changes_from_flags(flags).items()
    different = ", ".join(
        f"{n}={value}" for n, value in changes if getattr(config, n) == value
    )
    goes_on = f"Going on from {flags.init_from}. " if start else ""
    note(f"{goes_on}Preset {preset}: {different or 'unchanged'}.")
    options, begun = (
        {"init_from": start, "overwrite": flags.overwrite},
        time.monotonic(),
    )
    trainer = Trainer(parts[0], config, output, quiet=flags.json, **options)
    check_both_labels(trainer.data.held_out, "The pairs that choose the threshold")
    if trainer.resumed_from:
        note(f"Resuming {output} at step {trainer.step}.")
    ready = time.monotonic()
    trainer.train()
    note(
        f"Encoded in {ready - begun:.1f} s, trained in {time.monotonic() - ready:.1f} s."
    )
    model = trainer.save(
        questions=str(flags.questions)
    )  # Save first: evaluation may fail.
    note_cut(model, {*parts[0].question1, *parts[0].question2})
    return trainer


def _general(
    parts: Parts, of_head: TrainConfig, of_lstm: TrainConfig, flags: Any
) -> Any:
    """A head and, where held-out pairs gain by it, an LSTM beside it: two runs and one saved model."""
    from siamese.training.report import measure, with_lstm

    head = _run(parts, of_head, "head", f"{flags.output}/head", flags)
    lstm = _run(parts, of_lstm, "ensemble", f"{flags.output}/lstm", flags)
    model, held_out = head.save(write=False), head.data.held_out
    both, gain = with_lstm(model, lstm.save(write=False), held_out)
    change = f"ROC AUC on held-out pairs {gain:+.4f}"
    note(
        f"The LSTM {'is part of' if gain > 0 else 'is left out of'} the model: {change}."
    )
    model = both if gain > 0 else model
    report, model = measure(model, held_out, parts[1])
    model.card |= {"figures": report.to_dict(), "questions": str(flags.questions)}
    goes_on = head.resumed_from is not None  # Then the model there is of these runs.
    model.save(flags.output, overwrite=flags.overwrite or goes_on)
    return report


def _few(
    pairs: QuestionPairs, start: Any, changes: dict[str, Any], flags: Any
) -> Result:
    """A head of few labels, or of links: all of them train, each part judged by a head of the others."""
    from siamese.training.few_labels import LEAST, teach
    from siamese.training.head import MANY

    seed = changes.pop("seed", 0)
    others = ("train_rows", "test_rows", "split", "test")
    useless = [
        *configs.flags_of(changes),
        *(n for n in others if getattr(flags, n) is not None),
    ]
    if useless:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in useless)
        why = f"Fewer than {MANY:,} labels, or links, train a head of fixed settings on all of them"
        raise ArgumentError(f"{why}; leave out: {names}. Or choose --preset lstm.")
    count, duplicates = len(pairs), int(pairs.is_duplicate.sum())
    usual = next((roc_auc for least, roc_auc in USUALLY if count >= least), None)
    known = f"Fewer than {USUALLY[-1][0]} were not tried: expect little of them."
    if usual is not None:
        known = f"On a forum about as many raised the ROC AUC on other queries from 0.782 to {usual:.3f}."
    if duplicates == count:
        known = (
            "They teach an order and no threshold, which needs pairs that are none too."
        )
    if duplicates >= LEAST:  # Otherwise `teach` refuses them.
        claim(os.path.join(flags.output, MODEL_NAME), flags)
        note(f"{counted(count, 'label')}, {duplicates:,} of them duplicates. {known}")
    listed = [*flags.texts.values()] if flags.list else None
    begun = time.monotonic()
    start = start or DuplicateDetector.pretrained()
    model, bought = teach(start, pairs, listed, seed=seed, note=note)
    model.card |= {"questions": str(flags.questions), "figures": bought._asdict()}
    model.save(flags.output, overwrite=flags.overwrite)
    note_cut(model, {*pairs.question1, *pairs.question2})
    text = f"{bought}\nSaved in {flags.output}, after {time.monotonic() - begun:.0f} s."
    return text, {
        **bought._asdict(),
        "threshold": model.threshold,
        "output": flags.output,
    }


@command(
    arg("weights", help="model.pkl.gz, or its directory"),
    arg("output", help="the model to write, one file"),
    arg(
        "--vocab",
        required=True,
        metavar="FILE",
        help="JSON, word: id, as json.dump(vocab)",
    ),
    shared.OVERWRITE,
)
def import_weights(flags: argparse.Namespace) -> Facts:
    """Make a saved model of the course's model.pkl.gz.

    siamese import-weights model.pkl.gz --vocab vocab.json mine.safetensors
    """
    from siamese.course import import_weights as course

    claim(model_path(flags.output), flags)
    words, unseen = course.read_vocabulary(flags.vocab)
    detector = course.import_weights(flags.weights, words, unseen)
    path = str(detector.save(flags.output, overwrite=flags.overwrite))
    note(f'Ask it: siamese predict {quote(path)} "..." "..."')
    facts = {"output": path, "words": len(words)}
    return {**facts, "d_model": detector.encoder.size, "threshold": detector.threshold}
