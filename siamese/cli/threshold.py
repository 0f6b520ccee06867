"""The command that fits the threshold of a model, an index or a list to labels of your own."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.answers import AnswersFile, naming
from siamese.cli.arguments import (
    CheckOptions,
    CommandOptions,
    LinkReading,
    option,
    refuse_flags,
)
from siamese.cli.asking import ask_pairs
from siamese.cli.labelled import labelled_pairs
from siamese.cli.output import Facts, Result, claim, note
from siamese.cli.reading import opened, too_long
from siamese.encoders import is_encoder_name
from siamese.errors import ArgumentError, DataError
from siamese.index.asking import ENOUGH
from siamese.index.list_pairs import ListPairs
from siamese.model.detector import DuplicateDetector, border_of, pairs_of
from siamese.model.file import model_path
from siamese.reading.clusters import answer_key
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import counted
from siamese.system.files import check_writable
from siamese.system.open_types import JsonMapping
from siamese.text.cleaning import folded

if TYPE_CHECKING:
    from siamese.index import QuestionIndex

ANSWERS_HELP = (
    "labelled pairs, which an index stores in itself; of a list the file of its answers [default: "
    "LIST.answers.csv]"
)
MANY = 20  # labels of which few are duplicates where most similar pairs differ
LEAST_SAME = 3  # answers of yes to refused pairs of a kind, before the command says so
NEAR_MISSES = (
    "Most pairs that look alike here differ (near misses), and one threshold separates them badly: "
    "compare titles alone (--column), or answer more."
)
NO_LIST_TO_LABEL = (
    "--label asks about the questions of an index or a file, by its name."
)


@dataclass(frozen=True, kw_only=True)
class Threshold(CommandOptions):
    """The options of `siamese threshold`."""

    index: shared.Target
    label: Annotated[int, option(metavar="N", help="ask until there are N answers")] = 0
    answers: Annotated[str | None, option(metavar="FILE", help=ANSWERS_HELP)] = None
    output: Annotated[
        str | None,
        option(
            metavar="FILE", help="the model to write [default: the one that is read]"
        ),
    ] = None
    overwrite: shared.Overwrite = False
    model: shared.Model = None
    check: CheckOptions
    read: LinkReading


@dataclass
class Labels:
    """The labels that fit a threshold, and what they have to do with groups."""

    pairs: QuestionPairs
    facts: Facts  # what is to be said of them
    bind: bool = False  # whether they bind the groups of the index or the list

    @property
    def stays(self) -> str:
        """What is said where they fit nothing."""
        bound = self.bind and len(self.pairs) > 0
        also = ", and the answers bind the groups" if bound else ""
        return f"The threshold stays what it is{also}"

    @property
    def are_few(self) -> bool:
        """Whether there are duplicates among others, and fewer than a fit takes."""
        duplicates = int(self.pairs.is_duplicate.sum())
        return 0 < duplicates < min(ENOUGH, len(self.pairs))


def threshold(options: Threshold) -> Result:
    """Fit the threshold of a model or an index to a few labels of your own.

    siamese threshold questions.db --label 30                    (asks about pairs of the index's questions)
    siamese threshold use --answers labelled.csv --output model.safetensors    (makes a model of an encoder)
    """
    if options.label < 0 or not (options.label or options.answers):
        raise ArgumentError(
            "Pass --label N, at least 1, to label pairs, or --answers FILE."
        )
    kind = reading.kind_of_target(options.index)
    if kind == "index":
        return _of_index(options)
    if not options.read.list and kind == "model":
        refuse_flags("threshold", "no list", options)
    claim(options.output and model_path(options.output), options)
    if options.label:
        refuse_flags("threshold", "a list to label", options)
        if options.index == "-" or kind == "model":
            raise ArgumentError(NO_LIST_TO_LABEL)
        check_writable(options.answers or shared.answers_file(options.index))
    if kind == "model":
        return _of_model(options)
    return _of_list(options)


# ---- One function for each kind of target ----


def _of_index(options: Threshold) -> Result:
    """Fits the threshold of an index to the answers in it, or to those of a file, which it then keeps."""
    path = options.index
    refuse_flags("threshold", "an index", options, path)
    if not options.answers:
        target = "an index without a file of answers"
        refuse_flags("threshold", target, options, path)
    with opened(path, options) as source:
        index = source.index()
        facts = _first_facts(options.answers or path, source.detector, None)
        pairs = None
        if options.answers:
            pairs = _answers_into(source, options)
            facts["answers_in_index"] = len(index.answers())
        similar = ListPairs.of_list(index.snapshot())
        if options.label:
            pairs = ask_pairs(index, similar, options.label, path)
            facts["answers_in_index"] = len(pairs)
        assert pairs is not None
        labels = Labels(pairs, facts, bind=True)
        note(*_too_long(source.detector, pairs))
        note(*_about_ignored(source.detector, pairs))
        if labels.are_few:
            return _too_few(labels, source.detector, options)
        fit = _fit(labels, options, source.detector, similar)
        index.set_threshold(fit)
        lines = [_fitted_text(fit, source.detector)]
        text, groups = _groups_text(index, pairs)
        lines += [text, f"Saved in {path}."]
        return Result("\n".join(lines), {**facts, **groups, **fit, "fitted": True})


def _of_list(options: Threshold) -> Result:
    """Fits a threshold to the answers in the file beside a list, or in another one."""
    path = options.answers or shared.answers_file(options.index)
    is_beside = path == shared.answers_file(options.index)
    with opened(options.index, options) as source:
        note(*source.notes())
        index = source.index()
        detector = source.detector
        facts = _first_facts(path, detector, options.output)
        similar = ListPairs.of_list(index.snapshot())
        if options.label:
            place = AnswersFile(path, reading.row_options(options.read))
            listed = source.questions
            assert listed is not None  # It is no index.
            texts = zip(listed.questions, listed.compared)
            pairs = ask_pairs(place, similar, options.label, path, dict(texts))
        else:
            pairs = _read(path, options, source)
        labels = Labels(pairs, facts, bind=is_beside)
        note(*_too_long(detector, pairs))
        note(*_about_ignored(detector, pairs))
        if labels.are_few:
            return _too_few(labels, detector, options)
        fit = _fit(labels, options, detector, similar)
        fitted = detector.with_threshold(fit)
        if options.output:
            fitted.save(options.output, overwrite=options.overwrite)
        lines = [_fitted_text(fit, detector)]
        if is_beside:
            # As `duplicates` does, which finds these answers.
            index.set_threshold(fit)
            with naming(path):
                index.add_answers(pairs)
            text, groups = _groups_text(index, pairs)
            lines.append(text)
            facts |= groups
    lines.append(_where_kept(fitted, is_beside, options))
    return Result("\n".join(lines), {**facts, **fit, "fitted": True})


def _of_model(options: Threshold) -> Result:
    """Fits the threshold of a model to labelled pairs; an encoder becomes a model."""
    target = options.index
    refuse_flags("threshold", "a model", options, target)
    detector = reading.load_model(target, options.check)
    output = options.output
    if not output and not is_encoder_name(target):
        output = target
    facts = _first_facts(options.answers, detector, output)
    pairs = _read(options.answers, options)
    labels = Labels(pairs, facts)
    note(*_too_long(detector, pairs))
    note(*_about_ignored(detector, pairs))
    if labels.are_few:
        return _too_few(labels, detector, options)
    fit = _fit(labels, options, detector)
    text = _fitted_text(fit, detector)
    kept = "It is not saved; --output FILE writes a model."
    if output:
        # Without --output the model that was read gets the threshold.
        overwrite = options.overwrite or not options.output
        detector.with_threshold(fit).save(output, overwrite=overwrite)
        kept = f"Saved in {output}."
    return Result(f"{text}\n{kept}", {**facts, **fit, "fitted": True})


# ---- The labels ----


def _first_facts(
    answers: str | None, detector: DuplicateDetector, output: str | None
) -> Facts:
    before = round(detector.threshold, 6)
    return {"answers": answers, "before": before, "output": output}


def _read(
    path: str | None, options: Threshold, source: reading.Source | None = None
) -> QuestionPairs:
    """Reads labelled pairs; prints what was left out of them."""
    assert path is not None  # Other calls are refused before.
    read = labelled_pairs(path, options.read, listed=options.read.list, source=source)
    note(*read.notes)
    return read.pairs


def _answers_into(source: reading.Source, options: Threshold) -> QuestionPairs:
    """Reads a file of answers into an index; prints which answers it changes."""
    path = options.answers
    assert path is not None  # This is asked for where there are some.
    pairs = _read(path, options, source)
    index = source.index()
    earlier = index.answers()
    with naming(path):
        index.add_answers(pairs)
    note(*_changed(earlier, pairs))
    return pairs


def _changed(earlier: QuestionPairs, pairs: QuestionPairs) -> list[str]:
    """A line on the answers of an index that those of a file replace."""
    label_of = {}
    for one, two, label in zip(
        earlier.question1, earlier.question2, earlier.is_duplicate.tolist()
    ):
        label_of[answer_key(one, two)] = label
    changed = {}
    for one, two, label in zip(
        pairs.question1, pairs.question2, pairs.is_duplicate.tolist()
    ):
        key = answer_key(one, two)
        if label_of.get(key, label) != label:
            changed[key] = f"{one[:80]!r} and {two[:80]!r}"
    if not changed:
        return []
    count = counted(len(changed), "answer")
    return [
        f"The file has changed {count} of the index, such as that to {min(changed.values())}."
    ]


def _too_long(detector: DuplicateDetector, pairs: QuestionPairs) -> list[str]:
    return too_long(detector, {*pairs.question1, *pairs.question2})


# ---- The fit ----


def _fit(
    labels: Labels,
    options: Threshold,
    detector: DuplicateDetector,
    similar: ListPairs | None = None,
) -> JsonMapping:
    """What the labels fit; DataError where they fit nothing, with what finds duplicates meanwhile."""
    try:
        if similar is None:
            return detector.fitted(labels.pairs).card["threshold_fit"]
        return similar.fitted(detector, labels.pairs)
    except DataError as error:
        way_on = _way_on(labels.pairs, options)
        message = f"{error.message} {labels.stays}. {way_on}"
        raise DataError(message, arguments=error.arguments) from None


def _too_few(labels: Labels, detector: DuplicateDetector, options: Threshold) -> Result:
    """What is said where there are fewer duplicates than a fit takes."""
    count = len(labels.pairs)
    duplicates = int(labels.pairs.is_duplicate.sum())
    are = "is a duplicate" if duplicates == 1 else "are duplicates"
    text = (
        f"{labels.stays}: {detector.threshold:.3f}. Of {count} labels {duplicates} {are}, and it "
        f"takes {ENOUGH}. {_way_on(labels.pairs, options)}"
    )
    if options.output:  # for the next command
        detector.save(options.output, overwrite=options.overwrite)
        text += f"\nThe model as it was is saved in {options.output}."
    facts = {"pairs": count, "duplicates": duplicates, "fitted": False}
    return Result(text, {**labels.facts, **facts})


def _fitted_text(fit: JsonMapping, detector: DuplicateDetector) -> str:
    """What labelled pairs have fitted; `detector` has the threshold before."""
    text = (
        f"Threshold {fit['threshold']:.3f}, 95 % interval [{fit['low']:.3f}, {fit['high']:.3f}], of "
        f"{counted(fit['pairs'], 'label')}, {fit['duplicates']} of them duplicates (before: "
        f"{detector.threshold:.3f})."
    )
    weight = fit.get("weight", 0)
    if weight:
        text += (
            f" Groups of this list: cosines with local scaling of weight {weight:g}, above "
            f"{fit['list_threshold']:.3f}."
        )
    return text


def _groups_text(index: QuestionIndex, pairs: QuestionPairs) -> tuple[str, Facts]:
    """What the groups of an index hold now: how many pairs of them are answers, and how many are new."""
    snapshot = index.grouped()
    group_of = {}
    count = 0
    for number, group in enumerate(snapshot.groups):
        count += len(group) * (len(group) - 1) // 2
        for member in group:
            group_of[snapshot.questions.folded[member.row]] = number
    answered = set()
    for one, two, is_duplicate in zip(
        pairs.question1, pairs.question2, pairs.is_duplicate
    ):
        own = group_of.get(folded(one))
        if is_duplicate and own is not None and own == group_of.get(folded(two)):
            answered.add(answer_key(one, two))
    new = count - len(answered)
    text = (
        f"Groups: {counted(len(snapshot.groups), 'group')} with {counted(count, 'pair')}, "
        f"{len(answered):,} of them your answers, {new:,} new."
    )
    facts = {"groups": len(snapshot.groups), "pairs_in_groups": count, "pairs_new": new}
    return text, facts


# ---- The way on ----


def _where_kept(fitted: DuplicateDetector, is_beside: bool, options: Threshold) -> str:
    """Where the fit of a list is kept, and how the next command finds it."""
    text = "It is not saved; --output FILE writes a model."
    if options.output:
        text = f"Saved in {options.output}."
    same = reading.same_target(options.index, options)
    if is_beside:
        answers = shared.answers_file(options.index)
        found = f"`siamese duplicates {same}` fits it to the answers in {answers}."
        return f"{text} {found}" if options.output else found
    if fitted.decision.measure == "cosine":  # Only a file keeps a curve.
        cut = f"{fitted.threshold:.3f}"
        text += f" Or give it: siamese duplicates {same} --threshold {cut}"
    return text


def _way_on(pairs: QuestionPairs, options: Threshold) -> str:
    """What finds duplicates without a fitted threshold."""
    is_model = reading.kind_of(options.index) == "model" or options.index == "-"
    same = ""
    if not is_model:
        same = reading.same_target(options.index, options)
    if len(pairs) >= MANY and pairs.is_duplicate.sum() < ENOUGH:
        advice = NEAR_MISSES
    elif options.label:
        advice = "Answer more with the same command, and a larger --label where all were asked."
    elif is_model:
        advice = "Add pairs of the other kind to the file."
    else:
        advice = f"Answer some pairs: `siamese threshold {same} --label 30`."
    if is_model:
        return advice
    return (
        f"{advice} Meanwhile:\n"
        f"  siamese match {same} -k 3    (the most similar other questions of each)\n"
        f'  siamese search {same} "..."    (those of a new one)\n'
        f"  siamese duplicates {same} --pairs --threshold 0.5    (pairs, the most similar first)"
    )


def _about_ignored(detector: DuplicateDetector, answers: QuestionPairs) -> list[str]:
    """A line for each kind of difference for which most refused pairs were answered "the same"."""
    check = detector.check
    if check is None or not len(answers):
        return []
    sides = pairs_of(detector, answers.question1, answers.question2)
    cut = border_of(detector)
    without = detector.with_check(None).decision
    refused = without.scores(*sides) > cut
    refused &= detector.decision.scores(*sides) <= cut
    said: dict[str, list[bool]] = {}
    for at in np.flatnonzero(refused).tolist():
        texts = [side.texts[at] for side in sides]
        for kind in {reason.kind for reason in check.reasons(*texts)}:
            said.setdefault(kind, []).append(bool(answers.is_duplicate[at]))
    return [
        f"You answered yes to {sum(own)} of the {len(own)} pairs that were refused for a {kind}: "
        f"with --ignore {quote(kind)} it does not count."
        for kind, own in sorted(said.items())
        if sum(own) >= LEAST_SAME and 2 * sum(own) > len(own)
    ]
