"""The command `threshold`: labels, of a file or asked for, fit a threshold and a calibration."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command
from siamese.cli.output import Result, note
from siamese.cli.reading import kind_of, labelled_pairs, opened, same_flags
from siamese.compat.progress import elapsed
from siamese.data.text import folded
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.asking import Answer, next_place, shown, similar_candidates
from siamese.search.display import csv_line
from siamese.storage.atomic import explained, write_bytes_atomically

HEADER = "question1", "question2", "is_duplicate"
MARKS = b"\xef\xbb\xbf\xff\xfe"  # the bytes of byte order marks


@command(
    shared.TARGET,
    arg("--label", type=int, default=0, metavar="N", help="ask until there are N answers"),
    arg("--answers", metavar="FILE", help="labelled pairs [INDEX_OR_MODEL.answers.csv]"),
    arg("--output", metavar="FILE", help="the model to write [the one that was read]"),
    shared.MODEL,
    *shared.READ_LIST,
    *shared.LABELS,
    shared.PAIRS_OF,
)
def threshold(flags: argparse.Namespace) -> Result:
    """Fit the threshold of a model or an index to a few labels of your own.

    siamese threshold old.index --label 30                              (asks about the index's questions)
    siamese threshold questions.csv --label 30 --model runs/mine        (asks about a list's questions)
    siamese threshold old.index --answers labelled.csv                  (asks nothing)
    siamese threshold use --answers labelled.csv --output model.safetensors    (makes a model of an encoder)
    """
    from siamese.evaluation.thresholds import fit_threshold
    from siamese.search.encoders import is_encoder_name

    if not flags.label and not flags.answers:
        raise ArgumentError("Pass --label N to label pairs, or --answers FILE.")
    kind = kind_of(flags.target)
    if kind == "index" and flags.output:
        raise ArgumentError(
            "An index keeps its own threshold; --output is for a model. Leave it out."
        )
    is_file = kind != "questions" and not is_encoder_name(flags.target)
    output = flags.output or (flags.target if is_file else None)
    path = flags.answers or f"{flags.target.rstrip('/')}.answers.csv"
    with opened(flags.target, flags) as (index, detector):
        pairs = _label(index, path, flags) if flags.label else labelled_pairs(path, flags)
        facts = {"answers": path, "before": round(detector.threshold, 6), "output": output}
        if kind == "index":
            facts["answers_in_index"] = index.add_answers(pairs)
        labels = pairs.is_duplicate
        if labels.all() or not labels.any():
            raise ArgumentError(
                f"{int(labels.sum())} duplicates among {len(labels)} labels: both kinds are needed. "
                f"The threshold stays {detector.threshold:.3f}."
            )
        fit = fit_threshold(detector.similarity(pairs.question1, pairs.question2), labels)
        if kind == "index":
            index.set_threshold(fit.to_dict())
        elif output:
            detector.with_fit(fit.to_dict()).save(output)
    text = (
        f"Threshold {fit.threshold:.3f}, 95 % interval [{fit.low:.3f}, {fit.high:.3f}], of {fit.pairs} "
        f"labels, {fit.duplicates} of them duplicates (before: {detector.threshold:.3f}). "
    )
    saved = f"Saved, with the calibration, in {output}."
    unsaved = "It is not saved; --output FILE writes a model with it."
    if kind == "questions":
        target, cut = flags.target + same_flags(flags), f"{fit.threshold:.3f}"
        unsaved += f" Or give it: siamese duplicates {target} --threshold {cut}"
    text += saved if output else unsaved
    if kind == "index":
        text += (
            f" The index has {facts['answers_in_index']:,} of the answers; they bind its groups."
        )
    return text, {**facts, **fit.to_dict()}


def _label(index: Any, path: str, flags: argparse.Namespace) -> Any:
    """Asks about pairs of an index until there are `flags.label` answers; all of them as labelled pairs."""
    from siamese.data.pairs import QuestionPairs

    if index is None:
        raise ArgumentError(
            "--label asks about questions: pass an index, or a list of questions and the --model."
        )
    if flags.target == "-":
        raise ArgumentError(
            "--label reads your answers from standard input; name a file of questions."
        )
    answers, detector, reply = read_answers(path, flags), index.detector, ""
    with elapsed("Looking for similar pairs"):
        candidates = similar_candidates(index)
    known = set(map(_key, answers))
    earlier = index.answers()  # those of the page, for example
    stored = zip(earlier.question1, earlier.question2, earlier.is_duplicate.astype(int).tolist())
    answers += [answer for answer in stored if _key(answer) not in known]
    known = set(map(_key, answers))
    left = [candidate for candidate in candidates if _key(candidate[1:]) not in known]
    scores = [detector.similarity(one, two) for one, two, _ in answers]
    asked: list[tuple[float, str, str]] = []  # the answered pairs of this run
    note(f"The answers are saved in {path}; the same command goes on with them.")
    while len(answers) < flags.label and left and reply != "q":
        at = next_place([cosine for cosine, *_ in left], scores, answers, detector.threshold)
        candidate = left.pop(at)
        reply = ask(*candidate[1:], f"{len(answers) + 1} of {flags.label}")
        if reply == "u" and asked:  # This pair waits; the one before it is asked again.
            left = sorted([*left, candidate, asked.pop()])
            scores.pop()
            answers.pop()
            write_answers(path, answers, flags)
        elif reply == "u":
            note("There is no answer of this run to take back.")
            left = sorted([*left, candidate])
        elif reply in ("y", "n"):
            cosine, *pair = candidate
            answers.append((*pair, int(reply == "y")))
            scores.append(cosine)
            asked.append(candidate)
            write_answers(path, answers, flags)
    return QuestionPairs(*([answer[at] for answer in answers] for at in range(3)))


def _key(pair: Sequence[Any]) -> frozenset[str]:
    """What two questions are compared by, in either order."""
    return frozenset(map(folded, pair[:2]))


def write_answers(path: str, answers: list[Answer], flags: argparse.Namespace) -> None:
    """Writes all answers, at once and as a whole."""
    lines = [f"{csv_line(row)}\n" for row in (HEADER, *answers)]
    write_bytes_atomically(path, "".join(lines).encode(flags.encoding or "utf-8", "replace"))


def read_answers(path: str, flags: argparse.Namespace) -> list[Answer]:
    """The answers of a file, none where it is not there yet.

    Raises:
      ArgumentError: it has more than answers, which would be lost when it is written again.
    """
    header, answers = ",".join(HEADER), []
    if os.path.exists(path):
        with explained(path, "read", DataError), open(path, "rb") as file:
            lines = file.read().translate(None, b'\0"').lstrip(MARKS).splitlines()
        is_ours = not lines or lines[0].replace(b";", b",") == header.encode()
        if any(lines[1:]):
            pairs = labelled_pairs(path, flags)
            is_ours = is_ours and len(pairs) == pairs.report.rows
            labels = pairs.is_duplicate.astype(int).tolist()
            answers = list(zip(pairs.question1, pairs.question2, labels))
        if not is_ours:
            raise ArgumentError(
                f"{path} holds more than answers, which are CSV with the columns {header}. Name another "
                "file (--answers), or leave --label out."
            )
    return answers


def ask(question1: str, question2: str, number: str) -> str:
    """Asks on standard error, reads standard input; the answer is y, n, s, u, or q, also at its end."""
    note("\n".join([f"\n{number}", *(f"  {side}" for side in shown(question1, question2))]))
    while True:
        note("The same question? y, n, s (skip), u (undo the last answer), q (stop)")
        line = sys.stdin.readline()
        reply = line.strip().lower()[:1] if line else "q"
        if reply in ("y", "n", "s", "u", "q"):
            return reply
