"""The command `threshold`: labels, of a file or asked for, fit a threshold and a calibration."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import csv
import io
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command
from siamese.cli.output import Result, note
from siamese.cli.reading import build_index, kind_of, labelled_pairs, open_index, question_list
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError, DataError, SiameseError
from siamese.search.display import harmless
from siamese.storage.atomic import explained

QUESTIONS = 2_000  # of an index whose neighbours are looked at
NEIGHBOURS = 5  # of each
SPREAD = 3  # every third pair asked about comes from anywhere, the others from near the border
GOLDEN = 0.618  # multiples of it, modulo 1, cover 0 to 1 evenly however many there are
HEADER = ["question1", "question2", "is_duplicate"]
BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@command(
    arg("target", metavar="INDEX_OR_MODEL", help="an index, a list of questions, or a model"),
    arg("--label", type=int, default=0, metavar="N", help="ask until there are N answers"),
    arg("--questions", metavar="FILE", help="a list of questions to ask about [the index's]"),
    arg("--answers", metavar="FILE", help="labelled pairs [INDEX_OR_MODEL.answers.csv]"),
    arg("--output", metavar="FILE", help="the model to write [the one that was read]"),
    shared.MODEL,
    *shared.READ_LIST,
    *shared.LABELS,
)
def threshold(flags: argparse.Namespace) -> Result:
    """Fit the threshold of a model or an index to a few labels of your own.

    siamese threshold old.index --label 30                              (asks about the index's questions)
    siamese threshold runs/mine --label 30 --questions questions.csv    (asks about a list's questions)
    siamese threshold old.index --answers labelled.csv                  (asks nothing)
    siamese threshold use --answers labelled.csv --output model.safetensors    (makes a model of an encoder)
    """
    from siamese.evaluation.thresholds import fit_threshold
    from siamese.search.detector import DuplicateDetector
    from siamese.search.encoders import is_encoder_name

    if not flags.label and not flags.answers:
        raise ArgumentError("Pass --label N to label pairs, or --answers FILE.")
    kind = kind_of(flags.target)
    asked_of = flags.questions or (flags.target if kind == "questions" else None)
    if flags.label and kind != "index" and asked_of is None:
        raise ArgumentError("--label needs questions: pass --questions FILE.")
    output = flags.output or flags.target
    if not flags.output and (kind == "questions" or is_encoder_name(flags.target)):
        what = "a list of questions" if kind == "questions" else "an encoder"
        raise ArgumentError(
            f"{flags.target} is {what}. Name the file of the model to write (--output FILE)."
        )
    if flags.output and kind == "index":
        raise ArgumentError(
            "An index keeps its own threshold; --output is for a model. Leave it out."
        )
    path = flags.answers or f"{str(flags.target).rstrip('/')}.answers.csv"
    with contextlib.ExitStack() as stack:
        index = None
        if kind == "index":
            index = stack.enter_context(open_index(flags.target, flags))
            detector = index.detector
        else:
            model = flags.model or "use" if kind == "questions" else flags.target
            detector = DuplicateDetector.load(model)
        if flags.label:
            answers = Answers(path, flags)
            asked = index
            if asked_of is not None:
                asked = build_index(detector, question_list(asked_of, flags))
            with elapsed("Looking for similar pairs"):
                candidates = similar_candidates(asked)
            note(f"The answers are saved in {path}; the same command goes on with them.")
            ask(candidates, answers, flags.label, detector, ask_on_terminal)
            pairs = answers.pairs
        else:
            pairs = labelled_pairs(path, flags)
        facts = {"answers": str(path), "before": round(detector.threshold, 6), "output": output}
        if index is not None:
            facts["answers_in_index"] = index.add_answers(pairs)
        labels = pairs.is_duplicate
        if not labels.any() or labels.all():
            raise ArgumentError(
                f"{int(labels.sum())} duplicates among {len(labels)} labels: both kinds are needed. "
                f"The threshold stays {detector.threshold:.3f}."
            )
        fit = fit_threshold(detector.similarity(pairs.question1, pairs.question2), labels)
        if index is None:
            detector.with_fit(fit.to_dict()).save(output)
        else:
            index.set_threshold(fit.to_dict())
    text = (
        f"Threshold {fit.threshold:.3f}, 95 % interval [{fit.low:.3f}, {fit.high:.3f}], of {fit.pairs} "
        f"labels, {fit.duplicates} of them duplicates (before: {detector.threshold:.3f}). Saved, with "
        f"the calibration, in {output}."
    )
    if index is not None:
        text += (
            f" The index has {facts['answers_in_index']:,} of the answers; they bind its groups."
        )
    return text, {**facts, **fit.to_dict()}


def similar_candidates(index: Any, seed: int = 0) -> list[tuple[float, str, str]]:
    """Pairs of an index's questions that may be asked about, by rising cosine, which comes first.

    They are some questions, each with its nearest others; every pair once, without equal texts.
    """
    entries = index.entries
    rows = np.random.default_rng(seed).permutation(len(entries))[:QUESTIONS]
    texts = [entries[row]["question"] for row in rows]
    cosine_of: dict[tuple[str, str], float] = {}
    for text, hits in zip(texts, index.search(texts, NEIGHBOURS + 1)):
        for hit in hits:
            if hit.question.strip() != text.strip():
                cosine_of[min(text, hit.question), max(text, hit.question)] = hit.similarity
    return sorted((cosine, *pair) for pair, cosine in cosine_of.items())


class Answers:
    """The answers in a CSV file (question1, question2, is_duplicate); each is written at once.

    Args:
      path: the file. The first answer makes it; one that is there is continued in its encoding.
      flags: with the command's reading flags.

    Raises:
      DataError: the file cannot be read as labelled pairs.
      ArgumentError: it has other columns, so that nothing can be added.
    """

    def __init__(self, path: str | os.PathLike, flags: argparse.Namespace):
        from siamese.data.pairs import QuestionPairs

        self.path, self.pairs = path, QuestionPairs([], [], [])
        data, self._encoding = b"", getattr(flags, "encoding", None) or "utf-8"
        if os.path.exists(path):
            with explained(path, "read", DataError), open(path, "rb") as file:
                data = file.read()
        self._encoding = BOMS.get(data[:2], self._encoding)
        try:
            text = data.decode(self._encoding, "replace").removeprefix("\ufeff")
        except LookupError:
            raise ArgumentError(
                f"--encoding {self._encoding}: Python has no such encoding."
            ) from None
        self._end = text[-1:]
        first, *more = text.splitlines() or [",".join(HEADER)]
        self._delimiter = ";" if ";" in first else ","
        header = next(csv.reader([first], delimiter=self._delimiter), [])
        if header != HEADER:
            raise ArgumentError(
                f"{path} has the columns {', '.join(header)[:80]}; answers are added to a CSV file with "
                f"{','.join(HEADER)}. Name another file (--answers), or leave --label out."
            )
        if any(more):
            self.pairs = labelled_pairs(str(path), flags)

    def add(self, question1: str, question2: str, is_duplicate: bool) -> None:
        """Appends an answer to the file, then to `pairs`."""
        from siamese.data.pairs import QuestionPairs

        lines = io.StringIO()
        writer = csv.writer(lines, delimiter=self._delimiter, lineterminator="\n")
        if not self._end:
            writer.writerow(HEADER)
        elif self._end not in "\r\n":
            lines.write("\n")
        writer.writerow([question1, question2, int(is_duplicate)])
        with explained(self.path, "write", DataError), open(self.path, "ab") as file:
            file.write(lines.getvalue().encode(self._encoding, "replace"))
        self._end, now = "\n", self.pairs
        sides = [*now.question1, question1], [*now.question2, question2]
        self.pairs = QuestionPairs(*sides, [*now.is_duplicate.tolist(), is_duplicate])


def ask(
    candidates: list[tuple[float, str, str]],
    answers: Answers,
    count: int,
    detector: Any,
    question: Callable[[str, str, str], bool | None],
) -> None:
    """Asks about pairs until there are `count` answers in all, the earlier ones among them.

    The next pair is the one nearest to the border that the answers so far give (the model's threshold
    while they give none), every third one any pair, so that the curve's slope is known too.

    Args:
      candidates: of `similar_candidates`.
      answers: the earlier ones; new ones are added.
      count: how many answers there shall be.
      detector: the model.
      question: function (question1, question2, "3 of 30") -> is it a duplicate; None skips the pair. It
        raises EOFError to stop.
    """
    from siamese.evaluation.thresholds import fit_threshold

    known = answers.pairs
    asked = {frozenset(pair) for pair in zip(known.question1, known.question2)}
    left = [candidate for candidate in candidates if frozenset(candidate[1:]) not in asked]
    scores = list(detector.similarity(known.question1, known.question2)) if len(known) else []
    while len(answers.pairs) < count and left:
        border, number = detector.threshold, len(answers.pairs)
        with contextlib.suppress(SiameseError):  # Not both labels yet, or not in this order.
            border = fit_threshold(scores, answers.pairs.is_duplicate, resamples=0).threshold
        at = int(number * GOLDEN % 1 * len(left))
        if number % SPREAD:
            at = int(np.argmin([abs(cosine - border) for cosine, *_ in left]))
        cosine, *pair = left.pop(at)
        try:
            answer = question(*pair, f"{number + 1} of {count}")
        except EOFError:
            return
        if answer is not None:
            answers.add(*pair, answer)
            scores.append(cosine)


def ask_on_terminal(question1: str, question2: str, number: str) -> bool | None:
    """Asks on standard error, reads standard input; EOFError at its end or for q."""
    while True:
        note(f"\n{number}\n  {harmless(question1)}\n  {harmless(question2)}")
        note("The same question? y, n, s (skip), q (stop)")
        line = sys.stdin.readline()
        answer = line.strip().lower()[:1]
        if not line or answer == "q":
            raise EOFError
        if answer in ("y", "n", "s"):
            return None if answer == "s" else answer == "y"
