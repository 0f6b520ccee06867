"""What `siamese duplicates --pairs` and `--differences` write: pairs of a list, no groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from siamese.cli.arguments import refuse_flags
from siamese.cli.output import Result, note, table_result, threshold_facts
from siamese.groups.grouping import (
    Grouping,
    Snapshot,
    across_languages,
    is_lower_among,
    not_answered,
    refused_pairs,
)
from siamese.groups.linkage import strongest_pairs
from siamese.groups.local import local_means, ranking_weight, scaled
from siamese.groups.table import PAIR_COLUMNS, Row, pair_rows
from siamese.groups.within import Key, rows_by_key
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector, are_above, shown_difference
from siamese.nn.nearest import EQUAL, cosines_with, in_blocks
from siamese.reading.pairs import QuestionPairs

if TYPE_CHECKING:
    from siamese.cli.duplicates import Duplicates

MOST_PAIRS = 500_000  # that are written; more would take minutes


# ---- Above the threshold ----


@dataclass
class FoundPairs:
    """Pairs of rows above a threshold, at most `MOST_PAIRS`."""

    first: np.ndarray  # int64 [n]
    second: np.ndarray  # int64 [n]
    cosines: np.ndarray  # float32 [n]
    scores: np.ndarray  # float [n]: what puts them in order
    score: str | None  # the name of the scores; None: they are the cosines
    threshold: float
    weight: float  # of local scaling in their order
    count: int  # of all pairs above the threshold


# What puts a row of the table in its place: the score and both places in the list.
ScoredRow = tuple[float, int, int, Row]


def pair_table(
    snapshot: Snapshot, keys: Sequence[Key], options: Duplicates, delimiter: str
) -> Result:
    """All pairs of equal keys above a threshold, the most similar first."""
    detector = snapshot.detector
    parts = rows_by_key(keys).values()
    found_in = []
    scored: list[ScoredRow] = []
    for part in parts or [np.zeros(0, np.int64)]:
        found, own = _pairs_among(snapshot, part, options)
        found_in.append(found)
        scored += own
    scored.sort(key=lambda own: (-own[0], *own[1:3]))
    rows = [row for *_, row in scored]
    facts = threshold_facts(detector, options.threshold)
    facts |= {
        "threshold": found_in[0].threshold,
        "questions": len(snapshot.entries),
        "pairs": len(rows),
        "measure": detector.decision.measure,
        "weight": max(found.weight for found in found_in),
    }
    columns = [*PAIR_COLUMNS]
    columns += sorted({found.score for found in found_in if found.score})
    return table_result(options.table, rows, columns, facts, delimiter=delimiter)


def _pairs_among(
    snapshot: Snapshot, rows: np.ndarray, options: Duplicates
) -> tuple[FoundPairs, list[ScoredRow]]:
    """The pairs above the threshold among some questions of a list, as rows of the table."""
    found = _found_pairs(snapshot.detector, snapshot.questions.rows(rows), options)
    shown = len(found.first)
    if shown < found.count:
        note(
            f"There are too many pairs: only the {shown:,} most similar are looked at."
        )
    pairs = rows[np.stack([found.first, found.second], axis=1)]
    scores = found.scores.round(6)
    scored: list[ScoredRow] = []
    for at, (ends, row) in enumerate(zip(pairs.tolist(), pair_rows(snapshot, pairs))):
        if found.score:
            row[found.score] = float(found.scores[at])
        scored.append((float(scores[at]), *ends, row))
    return found, scored


def _ranking(
    detector: DuplicateDetector, vectors: np.ndarray, options: Duplicates
) -> tuple[float, float, np.ndarray | None]:
    """The threshold, the weight of local scaling, and what it takes off the cosines of each row."""
    weight = ranking_weight(detector, vectors)
    if options.threshold is not None:
        return options.threshold, weight, None
    if not detector.list_cut[1]:
        return detector.threshold, weight, None
    # Answers have fitted a threshold on the scaled cosines.
    return detector.list_cut[0], weight, local_means(vectors) * np.float32(weight / 2)


def _found_pairs(
    detector: DuplicateDetector, questions: Questions, options: Duplicates
) -> FoundPairs:
    """The pairs above the threshold, in the order of local scaling."""
    vectors = questions.vectors
    threshold, weight, shifts = _ranking(detector, vectors, options)
    is_given = options.threshold is not None
    is_lower = not is_given and is_lower_among(detector, questions.texts)
    cut = min(threshold, EQUAL)
    first, second, cosines = _pairs_above(detector, questions, cut, is_lower, shifts)

    ranked_by = cosines
    if shifts is not None:
        cosines = in_blocks(
            lambda i, j: cosines_with(vectors[i], vectors[j]), first, second
        )
    elif weight:
        ends = np.stack([first, second], axis=1)
        ranked_by = scaled(vectors, ends, cosines, weight)
    best = np.argsort(-ranked_by.round(6), kind="stable")[:MOST_PAIRS]
    count = len(cosines)
    first = first[best]
    second = second[best]
    scores = ranked_by[best]
    name = "adjusted" if weight else None
    if detector.decision.measure == "probability":
        name = "probability"

        def scores_of(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            return detector.decision.scores(questions.rows(i), questions.rows(j))

        scores = in_blocks(scores_of, first, second)
    return FoundPairs(
        first, second, cosines[best], scores, name, threshold, weight, count
    )


def _pairs_above(
    detector: DuplicateDetector,
    questions: Questions,
    cut: float,
    is_lower: bool,
    shifts: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs whose scores are above a threshold, and their cosines, as `strongest_pairs` gives them.

    `is_lower` says whether the threshold is lower between two languages.
    """
    rule = detector.decision.rule(cut, questions)
    if is_lower:
        rule = across_languages(rule, questions.texts)

    def are_found(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        sides = questions.rows(i), questions.rows(j)
        scores = detector.decision.scores(*sides)
        return are_above(detector, scores, *sides) if is_lower else scores > cut

    allowed = are_found if rule.penalties or rule.joins else None
    vectors = questions.vectors
    return strongest_pairs(vectors, rule.threshold, allowed, shifts)[:3]


# ---- Kept apart ----


def differences_table(
    snapshot: Snapshot,
    answers: QuestionPairs | None,
    keys: Sequence[Key],
    options: Duplicates,
    delimiter: str,
) -> Result:
    """The pairs above the threshold that the near-miss check keeps apart, the most similar first.

    Only questions of equal keys are compared; pairs that were answered are left out.
    """
    detector = snapshot.detector
    if detector.check is None:
        target = "differences without a check"
        refuse_flags("duplicates", target, options, options.model or options.index)
    rows: list[Row] = []
    for part in rows_by_key(keys).values():
        questions = snapshot.questions.rows(part)
        grouping = Grouping.of(detector, options.threshold, questions)
        pairs = refused_pairs(detector, questions, grouping)
        pairs = part[pairs]
        if answers is not None:
            pairs = not_answered(snapshot, pairs, answers)
        rows += _with_reasons(snapshot, pairs)
    rows.sort(key=lambda row: -row["similarity"])
    facts = threshold_facts(detector, options.threshold)
    if options.threshold is None:
        facts["threshold"], facts["weight"] = detector.list_cut
    facts |= {"questions": len(snapshot.entries), "pairs": len(rows)}
    facts["measure"] = detector.decision.measure
    return table_result(options.table, rows, PAIR_COLUMNS, facts, delimiter=delimiter)


def _with_reasons(snapshot: Snapshot, pairs: np.ndarray) -> list[Row]:
    """Pairs as rows; each has a reason, also where a model's own check refuses it."""
    rows = pair_rows(snapshot, pairs)
    texts = snapshot.questions.texts
    for row, (one, two) in zip(rows, pairs.tolist()):
        if not row["difference"]:
            check = snapshot.detector.check
            assert check is not None  # It has refused them.
            sides = texts[one], texts[two]
            row["difference"] = shown_difference(check, *sides)
    return rows
