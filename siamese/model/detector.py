"""Answers whether one question is a duplicate of another: an encoder, a threshold and a calibration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from siamese.encoders import USE, find_encoder, is_encoder_name
from siamese.encoders.lstm import Lstm
from siamese.encoders.protocol import BaseEncoder, runs
from siamese.encoders.tree import tree_of
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.calibration import Calibration
from siamese.evaluation.thresholds import COURSE_THRESHOLD, fit_threshold
from siamese.model import file as model_file
from siamese.model.across import TWO_OTHERS, lowered
from siamese.model.decision import (
    ByParts,
    PartsCurve,
    Questions,
    calibration_of,
    decision_of,
)
from siamese.model.near_misses import NearMissCheck
from siamese.model.trees import Trees
from siamese.nn.nearest import EQUAL, TEXT_PAIRS, cosines_with
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import as_number, whole_number
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.system.progress import progress_bar
from siamese.text.cleaning import has_words
from siamese.text.tokenizer import LONGEST, word_tokenize
from siamese.text.values import Texts, text_list

if TYPE_CHECKING:
    from siamese.encoders import EncoderSpec

# Of an encoder without labels, on the cosine less the penalty of the near-miss check.
# Chosen on Quora's valid rows (best F1 there at 0.70 to 0.75), a forum, a help desk and
# pairs by hand; benchmarks/default_threshold.py has precision and recall of each. The
# best one depends on the topic: 0.73, on news 0.62, on a help desk 0.5.
UNLABELLED_THRESHOLD = 0.7


class DuplicateDetector:
    """A siamese model that answers; threads may share it.

    Args:
      encoder: an encoder, its name or an object, see `siamese.encoders.find_encoder`. An object must be
        thread-safe if the detector is shared by threads.
      threshold: what a pair's score must exceed to count as a duplicate, see `predict`.
      calibration: a curve that turns a cosine, or the cosines of the encoder's parts, into a probability;
        None for a model without one.
      card: what the model was trained on, its figures and versions; JSON values.
      check: the near-miss check, see `with_check`; None without one.
      trees: what a trained model's own check adds, see `siamese.training.own_check`; for a curve of parts.
    """

    def __init__(
        self,
        encoder: EncoderSpec,
        *,
        threshold: float = COURSE_THRESHOLD,
        calibration: Calibration | PartsCurve | None = None,
        card: JsonObject | None = None,
        check: NearMissCheck | None = None,
        trees: Trees | None = None,
    ):
        self.encoder = find_encoder(encoder)
        self.threshold = as_number(threshold, "threshold")
        self.calibration = calibration
        self.check = check
        self.trees = trees
        self.decision = decision_of(calibration, self.encoder, check, trees)
        self.card = dict(card or {})
        # Where the threshold comes from: 'labels', 'given' (a number), 'default' (neither),
        # or 'model'.
        self.threshold_from = str(self.card.get("threshold_from", "model"))
        # Which groups of a list are joined: a mean cosine, and the weight of local
        # scaling (`siamese.groups.local`). Answers to pairs of a list fit both; without
        # such answers they are the threshold and 0.
        fit = self.card.get("threshold_fit", {})
        weight = float(fit.get("weight", 0))
        cut = float(fit["list_threshold"]) if weight else self.threshold
        self.list_cut = (cut, weight)

    def __repr__(self) -> str:
        return (
            f"DuplicateDetector({self.encoder.name!r}, threshold {self.threshold:.2f} "
            f"({self.threshold_from}))"
        )

    @classmethod
    def pretrained(cls) -> DuplicateDetector:
        """The default encoder `use`; its threshold is not fitted to labels.

        Example:
          >>> detector = DuplicateDetector.pretrained()
          >>> detector.predict("How do I learn Spanish?", "What is the best way to learn Spanish?")
          True
        """
        return cls.from_encoder(USE)

    @classmethod
    def from_encoder(cls, encoder: EncoderSpec) -> DuplicateDetector:
        """A detector of an encoder alone; see `fitted` for a threshold from labelled pairs.

        It has the near-miss check that comes with the package; `with_check` takes it
        away or leaves kinds out. The encoder is a name, a path, an object or a
        function: see `siamese.encoders.find_encoder`, also for what it raises.
        """
        encoder = find_encoder(encoder)
        card = {"encoder": encoder.name, "threshold_from": "default"}
        return cls(
            encoder,
            threshold=UNLABELLED_THRESHOLD,
            card=card,
            check=NearMissCheck.shipped(),
        )

    def fitted(
        self, pairs: QuestionPairs, *, resamples: int = 200
    ) -> DuplicateDetector:
        """The same model with threshold and calibration of labelled pairs, 30 at least to be of use.

        For `resamples` and errors see `siamese.evaluation.thresholds.fit_threshold`.
        """
        one, two = pairs_of(self, pairs.question1, pairs.question2)
        labels = pairs.is_duplicate
        if isinstance(self.decision, ByParts):
            fit = self.decision.refitted(one, two, labels, resamples)
        else:
            scores = self.decision.scores(one, two)
            fit = fit_threshold(scores, labels, resamples=resamples).to_dict()
        return self.with_threshold(fit)

    def with_threshold(self, fit: float | JsonMapping) -> DuplicateDetector:
        """The same model with another threshold, a number; or with a fitted one and its calibration.

        A fit is as `siamese.evaluation.thresholds.FittedThreshold.to_dict` makes it;
        `calibration` and what follows it may be left out. With a number the model keeps
        its calibration. ArgumentError for other values.

        Example:
          >>> DuplicateDetector.pretrained().with_threshold(0.75)
          DuplicateDetector('use', threshold 0.75 (given))
        """
        if not isinstance(fit, Mapping):
            fit = {
                "threshold": as_number(fit, "threshold", -1, 1),
                "calibration": model_file.fit_of(self)["calibration"],
                "threshold_from": "given",
            }
        threshold = as_number(fit.get("threshold"), "threshold", -1, 1)
        if as_number(fit.get("weight", 0), "weight", 0, 1):
            as_number(fit.get("list_threshold"), "list_threshold", -3, 1)
        source = fit.get("threshold_from", "labels")
        return DuplicateDetector(
            self.encoder,
            threshold=threshold,
            calibration=calibration_of(fit.get("calibration")),
            card={**self.card, "threshold_fit": dict(fit), "threshold_from": source},
            check=self.check,
            trees=self.trees,
        )

    def with_check(self, check: NearMissCheck | None) -> DuplicateDetector:
        """The same model with another near-miss check, or without one.

        It takes its penalty off the cosine of two questions that share most words and
        differ in a number, a name, a negation or the like; what is left decides, in
        groups, too. Order and `similarity` stay the cosine's. Of a model that decides
        by a probability it takes the penalty off that, and without a check the model's
        own one counts for nothing either.

        Example:
          >>> detector = DuplicateDetector.pretrained()
          >>> pair = "How do I convert CSV to JSON?", "How do I convert JSON to CSV?"
          >>> detector.predict(*pair)
          False
          >>> detector.with_check(None).predict(*pair)
          True
          >>> lenient = NearMissCheck.shipped(ignore=["direction"])
          >>> detector.with_check(lenient).predict(*pair)
          True
        """
        return DuplicateDetector(
            self.encoder,
            threshold=self.threshold,
            calibration=self.calibration,
            card=self.card,
            check=check,
            trees=self.trees,
        )

    # ---- Saving ----

    @classmethod
    def load(cls, path: str | os.PathLike) -> DuplicateDetector:
        """Loads a model; runs nothing of its file.

        The path is the file of a model, the directory of a training run, or an
        encoder's name such as 'use' (for a file of that name write './use').
        CheckpointError: missing, damaged, of another version, or made with another
        encoder. MissingDependencyError: its encoder's package is not installed.
        """
        if isinstance(path, str) and is_encoder_name(path):
            return cls.from_encoder(path)
        return model_file.read_model(path)

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> Path:
        """Writes the model's file (in a directory ``model.safetensors``) atomically; returns its path.

        ArgumentError for a file that is there without `overwrite`; CheckpointError
        where it cannot be written, or its encoder is an object in Python.
        """
        tree, arrays = tree_of(self.encoder)
        arrays |= model_file.arrays_of(self.trees)
        path = model_file.model_path(path)
        facts = {"encoder": tree, **model_file.fit_of(self), "card": self.card}
        facts["check"] = model_file.facts_of_check(self.check)
        del facts["threshold_from"]  # The card has it.
        model_file.write_file(path, "model", arrays, facts, overwrite=overwrite)
        return path

    # ---- Answering ----

    def encode(
        self,
        questions: Texts,
        batch_size: int | None = None,
        show_progress: bool = False,
    ) -> np.ndarray:
        """The questions' vectors, float32 [questions, d], of length 1; [d] for a single text.

        A blank question has a zero vector; with an encoder also one without a letter or
        digit, or of a script that no part knows. A vector is the same alone or in
        company. (A model trained with padding in its mean, as the course's, sees each
        question padded to a power of two.)

        Args:
          questions: one text, a list or a column of texts, or a table with one column of questions.
          batch_size: how many are encoded at once; what takes seconds where None.
          show_progress: show a bar on standard error for work of over two seconds.

        ArgumentError for a `batch_size` below 1; DataError for a question that is not
        text, with its place, and for a table without one column of questions.
        """
        if isinstance(questions, str):
            return self.encode([questions])[0]
        texts = text_list(questions, "encode")
        return questions_of(self.encoder, texts, batch_size, show_progress).vectors

    def similarity(self, question1: Texts, question2: Texts) -> Any:
        """The cosine of two questions (a float), or of two lists pair by pair (float32 [n]).

        One question is compared with each of a list; lists of different lengths are an
        ArgumentError.
        """
        one, two = pairs_of(self, question1, question2)
        return _one_or_all(cosines_with(one.vectors, two.vectors), question1, question2)

    def probability(self, question1: Texts, question2: Texts) -> Any:
        """The probability of two questions (or lists, pair by pair); ArgumentError without calibration."""
        scores = self.decision.scores(*pairs_of(self, question1, question2))
        chances = self.decision.probabilities(scores)
        if chances is None:
            raise ArgumentError(
                "This model has no calibration, so no probabilities. Fit one on labelled pairs: "
                "fitted(pairs)."
            )
        return _one_or_all(chances, question1, question2)

    def predict(
        self, question1: Texts, question2: Texts, threshold: float | None = None
    ) -> Any:
        """Whether two questions (or two lists, pair by pair) have a score above a threshold or the own.

        The score is their cosine, or for a model with a curve of its parts their
        probability; what a near-miss check takes off is off. Between two languages the
        default threshold is lower: see `siamese.model.across`.
        """
        one, two = pairs_of(self, question1, question2)
        scores = self.decision.scores(one, two)
        answers = are_above(self, scores, one, two, threshold)
        is_one = isinstance(question1, str) and isinstance(question2, str)
        return bool(answers[0]) if is_one else answers

    def unknown_words(self, question: str) -> list[str]:
        """The question's words that the model does not know, in order."""
        text = self.encoder.read(question)[:LONGEST]
        return self.encoder.unknown(word_tokenize(text))


def questions_of(
    encoder: BaseEncoder,
    texts: Sequence[str],
    batch_size: int | None = None,
    show_progress: bool = False,
) -> Questions:
    """Questions as an encoder reads them, and their vectors; for arguments see `DuplicateDetector.encode`.

    Equal texts are read and encoded once.
    """
    places = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    distinct = list(places)
    sizes = list(map(len, distinct))
    most = encoder.at_once * (os.cpu_count() or 1)
    if batch_size is not None:
        sizes = [1] * len(distinct)
        most = whole_number(batch_size, "batch_size", 1)
    vectors = np.empty((len(distinct), encoder.size), np.float32)
    read: list[str] = []
    parts = list(runs(sizes, most))
    bar: Any = nullcontext()
    if show_progress:
        bar = progress_bar(len(distinct), "encoding", "questions")

    def read_part(part: slice) -> list[str]:
        return list(map(encoder.read, distinct[part]))

    # The thread reads texts while earlier ones are encoded; one part needs none.
    with bar, ThreadPoolExecutor(1) as thread:
        in_order = map if len(parts) < 2 else thread.map
        try:
            for part, own in zip(parts, in_order(read_part, parts)):
                vectors[part] = encoder.encode(own)
                read += own
                if show_progress:
                    bar.update(part.stop - part.start)
        finally:
            thread.shutdown(cancel_futures=True)  # after Ctrl-C
    if len(distinct) == len(texts):
        return Questions(read, vectors)
    rows = [places[text] for text in texts]
    return Questions([read[row] for row in rows], vectors[rows])


def pairs_of(
    detector: DuplicateDetector, question1: Texts, question2: Texts
) -> tuple[Questions, Questions]:
    """Pairs of questions as a decision is given them; arguments as of `DuplicateDetector.similarity`."""
    encoder = detector.encoder
    sides = [
        [side] if isinstance(side, str) else text_list(side, "similarity")
        for side in (question1, question2)
    ]
    first, second = sides
    if isinstance(question1, str):
        first = first * len(second)
    elif isinstance(question2, str):
        second = second * len(first)
    if len(first) != len(second):
        raise ArgumentError(
            f"Questions are compared pair by pair: {len(first)} first and {len(second)} second ones."
        )
    if isinstance(encoder, Lstm) and not encoder.config.mask_padding:
        one, two = (list(map(encoder.read, side)) for side in (first, second))
        vectors, others = encoder.encode_pairs(one, two)
        return Questions(one, vectors), Questions(two, others)
    texts, vectors, _ = questions_of(encoder, [*first, *second])
    n = len(first)
    return Questions(texts[:n], vectors[:n]), Questions(texts[n:], vectors[n:])


def encoded(
    detector: DuplicateDetector,
    questions: list[str],
    places: Sequence[int],
    encoder: BaseEncoder | None = None,
    **options: Any,
) -> Questions:
    """The questions at some places as they are read, and their vectors; DataError for one without words.

    Vectors are made by `encoder` where that is not None: the detector's own, or one
    that has its vectors.
    """
    some = [questions[at] for at in places]
    prepared = questions_of(encoder or detector.encoder, some, **options)
    for row in np.flatnonzero(~prepared.vectors.any(axis=1)).tolist():
        read = prepared.texts[row]
        # One of words that the model does not know stays, in no group.
        if not has_words(read) or detector.encoder.knows(read):
            raise DataError(
                f"Question {places[row]} (from 0) has no words: {some[row][:40]!r}. "
                "Leave it out."
            )
    return prepared


class Verdict(NamedTuple):
    """What a model says of a pair of questions."""

    similarity: float  # the cosine
    probability: float | None  # None where the model has no calibration
    is_duplicate: bool
    difference: str  # what the near-miss check took a penalty for; '' for none


def judged(
    detector: DuplicateDetector,
    one: Questions,
    two: Questions,
    threshold: float | None = None,
) -> list[Verdict]:
    """The verdicts on pairs of questions, by a threshold or the model's own."""
    if not len(one.texts):
        return []
    cosines = cosines_with(one.vectors, two.vectors).tolist()
    scores = detector.decision.scores(one, two)
    chances = detector.decision.probabilities(scores)
    known = [None] * len(cosines) if chances is None else chances.tolist()
    answers = are_above(detector, scores, one, two, threshold).tolist()
    differences = differences_between(detector, one, two)
    return list(map(Verdict, cosines, known, answers, differences))


def differences_between(
    detector: DuplicateDetector, one: Questions, two: Questions
) -> list[str]:
    """What the near-miss check took a penalty for in pairs of questions; '' for those without a penalty."""
    check = detector.check
    if check is None:
        return [""] * len(one.texts)
    texts = list(one.texts)
    others = list(two.texts)
    cosines = cosines_with(one.vectors, two.vectors)
    shown = []
    for start in range(0, len(texts), TEXT_PAIRS):
        some = slice(start, start + TEXT_PAIRS)
        penalties = check.penalty(texts[some], others[some], cosines[some]).tolist()
        shown += [
            shown_difference(check, text, other) if penalty > 0 else ""
            for text, other, penalty in zip(texts[some], others[some], penalties)
        ]
    return shown


def shown_difference(check: NearMissCheck, text: str, other: str) -> str:
    """In what two texts differ, as a reader is told: 'number: 3 / 4'; other words without their kind.

    Example:
      >>> check = NearMissCheck.shipped()
      >>> shown_difference(check, "Is room 3 open?", "Is room 4 open?")
      'number: 3 / 4'
    """
    parts = [
        str(reason) if reason.kind == "noun" else f"{reason.kind}: {reason}"
        for reason in check.reasons(text, other)
    ]
    return "; ".join(parts) or "wording"


def border_of(detector: DuplicateDetector, threshold: float | None = None) -> float:
    """What a score must exceed: a threshold, the model's own where None; equal texts always do."""
    if threshold is None:
        return min(detector.threshold, EQUAL)
    return min(as_number(threshold, "threshold", -1, 1), EQUAL)


def is_lower_across(detector: DuplicateDetector) -> bool:
    """Whether the threshold is the default of the encoder `use`, which is lower between two languages."""
    return detector.threshold_from == "default" and detector.encoder.name == USE


def own_borders(
    detector: DuplicateDetector, one: Questions, two: Questions
) -> np.ndarray:
    """What the scores of pairs must exceed by the model's own threshold, float64 [n]."""
    borders = np.full(len(one.texts), detector.threshold)
    if is_lower_across(detector):
        borders -= lowered(list(one.texts), list(two.texts))
    return borders


def are_above(
    detector: DuplicateDetector,
    scores: np.ndarray,
    one: Questions,
    two: Questions,
    threshold: float | None = None,
) -> np.ndarray:
    """Whether the scores of pairs of questions exceed a threshold, or that of the model, bool [n]."""
    border = border_of(detector, threshold)
    answers = scores > border
    if threshold is None and is_lower_across(detector):
        near = np.flatnonzero(~answers & (scores > border - TWO_OTHERS))
        borders = own_borders(detector, one.rows(near), two.rows(near))
        answers[near] = scores[near] > borders
    return answers


def _one_or_all(values: np.ndarray, question1: Texts, question2: Texts) -> Any:
    """The one value of two texts as a float, or the values of lists."""
    is_one = isinstance(question1, str) and isinstance(question2, str)
    return float(values[0]) if is_one else values
