"""The commands that make models: train and import-weights."""

from __future__ import annotations

import os
import time
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from siamese.cli import arguments as shared
from siamese.cli.arguments import (
    CommandOptions,
    LinkReading,
    flag,
    flag_of,
    given,
    option,
    positional,
    refuse_flags,
)
from siamese.cli.labelled import is_list_with_links, labelled_pairs
from siamese.cli.output import Facts, Result, claim, note
from siamese.cli.reading import (
    load_model,
    too_long,
)
from siamese.errors import ArgumentError
from siamese.index.asking import pair_key
from siamese.model.detector import DuplicateDetector
from siamese.model.file import MODEL_NAME, model_path
from siamese.reading.pairs import QuestionPairs, check_both_labels, split
from siamese.system.arguments import counted
from siamese.system.open_types import Keywords
from siamese.system.process import keep_memory
from siamese.training.config import PRESETS, TrainConfig

if TYPE_CHECKING:
    from siamese.evaluation.report import Evaluation
    from siamese.training.run import Trainer

WORSE = "The labels bought nothing: on the test pairs the untrained encoder is as good or better."
LSTM_DUPLICATES = 3_000  # With fewer the preset `ensemble` trains no LSTM.
# ROC AUC on a forum's other queries that so many labels reached; 0.782 before
# (benchmarks/transfer.py).
USUALLY = ((1_900, 0.812), (1_000, 0.807), (300, 0.806), (100, 0.797), (30, 0.795))
BOOLEANS = {"true": True, "false": False}
Parts = tuple[QuestionPairs, QuestionPairs]  # to train and to test on

# ---- The options of train ----

KINDS = typing.get_type_hints(TrainConfig)
# The settings that have a flag of their own; the others are set by `--set name=value`.
OWN_FLAGS = ("seed", "steps", "epochs", "batch_size", "learning_rate")
OTHERS = ", ".join(name for name in KINDS if name not in OWN_FLAGS)


def _setting(name: str) -> shared.Argument:
    """The flag of a setting."""
    own = TrainConfig.__dataclass_fields__[name]
    help = f"{own.metadata['help']} [default of course: {own.default}]"
    return option(metavar=KINDS[name].__name__.upper(), help=help)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run: a preset, and what is changed in it."""

    preset: Annotated[
        str | None,
        option(
            choices=[*PRESETS],
            help="the course's LSTM, a better LSTM, a head on an encoder, or an ensemble of "
            "encoder, head and LSTM [default: head]",
        ),
    ] = None
    seed: Annotated[int | None, _setting("seed")] = None
    steps: Annotated[int | None, _setting("steps")] = None
    epochs: Annotated[float | None, _setting("epochs")] = None
    batch_size: Annotated[int | None, _setting("batch_size")] = None
    learning_rate: Annotated[float | None, _setting("learning_rate")] = None
    settings: Annotated[
        Sequence[str] | None,
        option(
            "--set",
            action="append",
            metavar="NAME=VALUE",
            help=f"another setting; may be repeated: {OTHERS} (docs/tasks/train.md)",
        ),
    ] = None

    def changes(self) -> Keywords:
        """The fields of `TrainConfig` that are set beside the preset.

        ArgumentError for a ``--set`` without a name and a value, or of a name or a type
        that no field has.
        """
        own = given(self)
        changes = {name: own[name] for name in OWN_FLAGS if name in own}
        for setting in self.settings or ():
            name, equals, text = setting.partition("=")
            name = name.strip().replace("-", "_")
            if not equals or name not in KINDS:
                raise ArgumentError(
                    f"--set {setting} must be NAME=VALUE, with a name out of {', '.join(KINDS)}."
                )
            changes[name] = _value_of(name, text)
        return changes


def _value_of(name: str, text: str) -> bool | int | float | str:
    """The value of a setting, read from a text."""
    kind = KINDS[name]
    try:
        return BOOLEANS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        expected = "true or false" if kind is bool else kind.__name__
        raise ArgumentError(f"--set {name} takes {expected}; it is {text!r}.") from None


@dataclass(frozen=True, kw_only=True)
class Train(CommandOptions):
    """The options of `siamese train`."""

    questions: Annotated[str, option(metavar="FILE", help="labelled pairs, any format")]
    read: LinkReading
    train_rows: Annotated[
        int | None,
        option(help="the number of first rows that train [default: 9 in 10, drawn]"),
    ] = None
    test_rows: Annotated[
        int | None,
        option(
            help="the number of rows after them that test [default: the rest, at most 10240]"
        ),
    ] = None
    split: Annotated[
        str | None,
        option(
            choices=("clusters",),
            help="no question is in both training and test rows [default: some may be]",
        ),
    ] = None
    test: Annotated[
        str | None,
        option(metavar="FILE", help="test on this file; train on all of --questions"),
    ] = None
    init_from: Annotated[
        str | None,
        option(metavar="MODEL", help="go on from the head of this saved model"),
    ] = None
    output: Annotated[
        str | None, option(help="directory of the run [default: runs/PRESET]")
    ] = None
    overwrite: Annotated[bool, flag("discard the run there and start over")] = False
    settings: Settings


# ---- train ----


@dataclass(frozen=True)
class Plan:
    """What a command trains."""

    options: Train
    preset: str
    changes: Keywords  # of the preset
    output: str  # the directory of the run
    start: DuplicateDetector | None  # with a head to go on from


def train(options: Train) -> Result:
    """Train on labelled pairs; by default a head on the vectors of an encoder, in seconds to a minute.

    siamese train --questions mine.csv                             (also of few labels, or of links alone)
    siamese train --questions questions.csv --preset ensemble      (the same command resumes a run)
    siamese train --questions questions.csv --preset course --train-rows 300000 --test-rows 10240
    siamese train --questions mine.csv --init-from runs/ensemble   (goes on from its head)
    """
    from siamese.training.head import MANY

    keep_memory()
    # Settings and models are refused before any file is read.
    plan = _plan(options)
    config = _config(plan)
    pairs, texts, listed = _pairs(options.questions, options, options.read.list)
    if not listed:
        refuse_flags("train", "no list", options)

    # With few labels a head is trained.
    duplicates = int(pairs.is_duplicate.sum())
    are_links = bool(pairs.is_duplicate.all())
    if plan.preset == "ensemble" and (are_links or duplicates < LSTM_DUPLICATES):
        note(
            f"No LSTM: it needs {LSTM_DUPLICATES:,} duplicates and pairs that are none; these are "
            f"{counted(duplicates, 'duplicate')} among {counted(len(pairs), 'pair')}."
        )
        plan = replace(plan, preset="head")
        config = TrainConfig.preset("head", **plan.changes)
    if plan.preset == "head" and (are_links or len(pairs) < MANY):
        return _train_on_few(plan, pairs, None if texts is None else [*texts.values()])
    return _train_on_many(plan, config, pairs, listed)


def _train_on_many(
    plan: Plan, config: TrainConfig, pairs: QuestionPairs, listed: str | None
) -> Result:
    """What the preset trains: some of the rows train, others test."""
    options = plan.options
    test = None
    if options.test:
        test, *_ = _pairs(options.test, options, listed)
    parts = split(
        pairs,
        options.train_rows,
        options.test_rows,
        by_cluster=options.split == "clusters",
        test=test,
    )
    repeated = _count_repeated(parts)
    if repeated:
        note(
            f"{repeated:,} of {len(parts[1]):,} test pairs are training pairs too: the figures will be too "
            "good. Test on other pairs."
        )
    _claim_run(plan)
    if plan.preset == "ensemble":
        report = _train_ensemble(plan, config, parts)
    else:
        report = _train_one(plan, config, parts)
    lines = [
        f"{len(parts[0]):,} rows train, {len(parts[1]):,} test.",
        str(report),
        f"Saved in {plan.output}.",
    ]
    if report.metrics.roc_auc <= report.baselines["encoder"].roc_auc:
        lines.append(WORSE)
    facts = report.to_dict()
    facts |= {"test_pairs_trained_on": repeated, "output": plan.output}
    return Result("\n".join(lines), facts)


def _plan(options: Train) -> Plan:
    """What a command trains; ArgumentError for a model without a head to go on from."""
    from siamese.training.pieces import Pieces

    changes = options.settings.changes()
    preset = options.settings.preset or "head"
    start = None
    if options.init_from:
        start = load_model(options.init_from)
        is_lstm = Pieces.of(start.encoder).frozen is None
        if is_lstm or preset != "head":
            lacks = "has no encoder" if is_lstm else f"starts no {preset}"
            raise ArgumentError(
                f"--init-from goes on from a head; {options.init_from} {lacks}. Name a model with an "
                "encoder, and leave --preset out."
            )
    return Plan(options, preset, changes, options.output or f"runs/{preset}", start)


def _config(plan: Plan) -> TrainConfig:
    """The configuration of a run; of `ensemble` that of its LSTM, for its head has the encoder."""
    changes = dict(plan.changes)
    if plan.preset == "ensemble":
        changes.pop("encoder", None)
    return TrainConfig.preset(plan.preset, **changes)


def _pairs(
    path: str, options: Train, listed: str | None
) -> tuple[QuestionPairs, dict[str, str] | None, str | None]:
    """The pairs of a file, and the questions by their ids and the list of these, where they name such."""
    if not listed and is_list_with_links(path, options.read):
        note(f"{path} has links between its questions.")
        listed = path
    read = labelled_pairs(path, options.read, listed=listed)
    note(*read.notes)
    return read.pairs, read.texts, listed


def _count_repeated(parts: Parts) -> int:
    """How many test pairs are training pairs; they are equal but for case, blanks and quotes."""
    trained, tested = (
        [pair_key(pair) for pair in zip(part.question1, part.question2)]
        for part in parts
    )
    known = set(trained)
    return sum(key in known for key in tested)


def _claim_run(plan: Plan) -> None:
    """Refuses the directory of another run."""
    run = plan.output
    if plan.preset == "ensemble":
        run = os.path.join(run, "head")
    goes_on = os.path.exists(os.path.join(run, "checkpoint.safetensors"))
    model = os.path.join(plan.output, MODEL_NAME)
    claim(model, plan.options, goes_on=goes_on)


def _trained(
    plan: Plan, config: TrainConfig, parts: Parts, preset: str, output: str
) -> Trainer:
    """The finished `Trainer` of a run in the directory `output`, with its model saved."""
    from siamese.training.run import Trainer

    # Of an ensemble each part has some of the changes.
    changes = plan.options.settings.changes().items()
    different = ", ".join(
        f"{name}={value}" for name, value in changes if getattr(config, name) == value
    )
    goes_on = f"Going on from {plan.options.init_from}. " if plan.start else ""
    note(f"{goes_on}Preset {preset}: {different or 'unchanged'}.")
    begun = time.monotonic()
    trainer = Trainer(
        parts[0],
        config,
        output,
        quiet=plan.options.json,
        init_from=plan.start,
        overwrite=plan.options.overwrite,
    )
    check_both_labels(trainer.data.held_out, "The pairs that choose the threshold")
    if trainer.resumed_from:
        note(f"Resuming {output} at step {trainer.step}.")
    ready = time.monotonic()
    trainer.train()
    seconds = time.monotonic() - ready
    note(f"Encoded in {ready - begun:.1f} s, trained in {seconds:.1f} s.")
    # Save first: evaluation may fail.
    model = trainer.save(questions=str(plan.options.questions))
    note(*too_long(model, {*parts[0].question1, *parts[0].question2}))
    return trainer


def _train_one(plan: Plan, config: TrainConfig, parts: Parts) -> Evaluation:
    """The report of a head or an LSTM, which is saved."""
    trainer = _trained(plan, config, parts, plan.preset, plan.output)
    # An LSTM is measured beside the encoder that needs no training, as a head is.
    beside = None if config.encoder else DuplicateDetector.pretrained()
    report = trainer.evaluate(parts[1], beside)
    trainer.save(report, questions=str(plan.options.questions))
    return report


def _train_ensemble(plan: Plan, of_lstm: TrainConfig, parts: Parts) -> Evaluation:
    """The report of a head and, where held-out pairs gain by it, an LSTM: two runs, one saved model."""
    from siamese.training.report import measure, with_lstm

    names = ("seed", "batch_size", "encoder")  # The other changes are for the LSTM.
    changes = {name: plan.changes[name] for name in names if name in plan.changes}
    of_head = TrainConfig.preset("head", **changes)
    head = _trained(plan, of_head, parts, "head", f"{plan.output}/head")
    lstm = _trained(plan, of_lstm, parts, "ensemble", f"{plan.output}/lstm")
    model = head.model()
    held_out = head.data.held_out
    both, gain = with_lstm(model, lstm.model(), held_out)
    verdict = "is left out of"
    if gain > 0:
        model = both
        verdict = "is part of"
    note(f"The LSTM {verdict} the model: ROC AUC on held-out pairs {gain:+.4f}.")
    report, model = measure(model, held_out, parts[1])
    questions = str(plan.options.questions)
    model.card |= {"figures": report.to_dict(), "questions": questions}
    # Where a run went on, the model that is there is of these runs.
    overwrite = plan.options.overwrite or head.resumed_from is not None
    model.save(plan.output, overwrite=overwrite)
    return report


def _train_on_few(plan: Plan, pairs: QuestionPairs, listed: list[str] | None) -> Result:
    """A head of few labels, or of links: all of them train, each part judged by a head of the others."""
    from siamese.training.few_labels import LEAST, teach

    options = plan.options
    _refuse_settings(plan)
    duplicates = int(pairs.is_duplicate.sum())
    if duplicates >= LEAST:  # Otherwise `teach` refuses them.
        claim(os.path.join(plan.output, MODEL_NAME), options)
        labels = counted(len(pairs), "label")
        expected = _what_to_expect(len(pairs), duplicates)
        note(f"{labels}, {duplicates:,} of them duplicates. {expected}")
    begun = time.monotonic()
    start = plan.start or DuplicateDetector.pretrained()
    seed = plan.changes.get("seed", 0)
    model, bought = teach(start, pairs, listed, seed=seed, note=note)
    model.card |= {"questions": str(options.questions), "figures": bought._asdict()}
    model.save(plan.output, overwrite=options.overwrite)
    note(*too_long(model, {*pairs.question1, *pairs.question2}))
    seconds = time.monotonic() - begun
    text = f"{bought}\nSaved in {plan.output}, after {seconds:.0f} s."
    facts = {"threshold": model.threshold, "output": plan.output}
    return Result(text, {**bought._asdict(), **facts})


def _refuse_settings(plan: Plan) -> None:
    """Refuses what has no effect where few labels, or links, train."""
    from siamese.training.head import MANY

    useless = [
        flag_of(name) if name in OWN_FLAGS else f"--set {name}"
        for name in plan.changes
        if name != "seed"
    ]
    own = given(plan.options)
    others = ("train_rows", "test_rows", "split", "test")
    useless += [flag_of(name) for name in others if name in own]
    if useless:
        raise ArgumentError(
            f"Fewer than {MANY:,} labels, or links, train a head of fixed settings on all of them; leave "
            f"out: {', '.join(useless)}. Or choose --preset lstm."
        )


def _what_to_expect(count: int, duplicates: int) -> str:
    """What so many labels have bought elsewhere."""
    if duplicates == count:
        return (
            "They teach an order and no threshold, which needs pairs that are none too."
        )
    usual = next((roc_auc for least, roc_auc in USUALLY if count >= least), None)
    if usual is None:
        return f"Fewer than {USUALLY[-1][0]} were not tried: expect little of them."
    return f"On a forum about as many raised the ROC AUC on other queries from 0.782 to {usual:.3f}."


# ---- import-weights ----


@dataclass(frozen=True, kw_only=True)
class ImportWeights(CommandOptions):
    """The options of `siamese import-weights`."""

    weights: Annotated[str, positional(help="model.pkl.gz, or its directory")]
    output: Annotated[str, positional(help="the model to write, one file")]
    vocab: Annotated[
        str, option(metavar="FILE", help="JSON, word: id, as json.dump(vocab)")
    ]
    overwrite: shared.Overwrite = False


def import_weights(options: ImportWeights) -> Facts:
    """Make a saved model of the course's model.pkl.gz.

    siamese import-weights model.pkl.gz --vocab vocab.json mine.safetensors
    """
    from siamese.course import import_weights as course

    claim(model_path(options.output), options)
    words, unseen = course.read_vocabulary(options.vocab)
    detector = course.import_weights(options.weights, words, unseen)
    path = str(detector.save(options.output, overwrite=options.overwrite))
    note(f'Ask it: siamese predict {quote(path)} "..." "..."')
    return {
        "output": path,
        "words": len(words),
        "d_model": detector.encoder.size,
        "threshold": detector.threshold,
    }
