"""Duplicate groups in a whole list, the pairs that are kept apart, and what lies below the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from siamese.encoders.protocol import unknown_rows, valid_unicode
from siamese.errors import ArgumentError
from siamese.groups.answers import answered_places
from siamese.groups.linkage import average_linkage, strongest_pairs
from siamese.groups.local import local_means, ranking_weight, scaled
from siamese.model.across import TWO_OTHERS, lowered
from siamese.model.decision import Questions, Rule
from siamese.model.detector import DuplicateDetector, encoded, is_lower_across
from siamese.nn.nearest import EQUAL, TEXT_PAIRS, in_blocks
from siamese.reading.clusters import answer_key, connected_groups, first_places
from siamese.system.arguments import as_number
from siamese.system.open_types import Record
from siamese.text.cleaning import folded
from siamese.text.language import list_languages

if TYPE_CHECKING:
    from siamese.reading.pairs import QuestionPairs
    from siamese.reading.questions import QuestionList

SAMPLE = 2048  # questions that are compared with all others, to count pairs
CUTS = np.arange(50, 100) / 100  # cosines above which pairs are counted
SPARE = 20  # times as many pairs as asked are looked at, since one question is in many
ROUNDING = 1e-6  # of a cosine: the vectors of one text, encoded twice, differ by less


class Member(NamedTuple):
    """A question in a group of duplicates, of which the first is central: nearest to the group's mean."""

    row: int  # its place in the list
    similarity: float  # cosine with the central question


class Grouping(NamedTuple):
    """How a list's groups are made: from which mean cosine on, less the shifts of local scaling."""

    threshold: float
    weight: float = 0.0  # of local scaling, see `siamese.groups.local`
    # float32 [questions], its r; None where the weight is 0
    means: np.ndarray | None = None
    # the fingerprint of the near-miss check; "" where there was none
    check: str = ""
    across: bool = False  # Is the threshold lower between two languages?

    @classmethod
    def of(
        cls, detector: DuplicateDetector, threshold: float | None, questions: Questions
    ) -> Grouping:
        """By a threshold, or as the detector makes groups of a list where None."""
        check = check_of(detector)
        if threshold is not None:
            return cls(as_number(threshold, "threshold", -1, 1), check=check)
        cut, weight = detector.list_cut
        own = cls(cut, weight, check=check)
        if own.weight:
            return own._replace(means=local_means(questions.vectors))
        return own._replace(across=is_lower_among(detector, questions.texts))

    @property
    def shifts(self) -> np.ndarray | None:
        """What is taken off the cosines of each question, float32 [questions]."""
        return None if self.means is None else self.means * np.float32(self.weight / 2)

    def rule(self, detector: DuplicateDetector, questions: Questions) -> Rule:
        """How questions are joined."""
        rule = detector.decision.rule(min(self.threshold, EQUAL), questions)
        return across_languages(rule, questions.texts) if self.across else rule

    def check_threshold(self, threshold: float | None) -> None:
        """ArgumentError where another threshold is asked for."""
        own = self.threshold, self.weight, self.across
        if threshold is None or (threshold, 0.0, False) == own:
            return
        how = f"threshold {self.threshold}"
        if self.weight:
            how += f" and local scaling with weight {self.weight:g}"
        raise ArgumentError(
            f"The index has groups with {how}. Make them again with "
            f"threshold={threshold} and regroup=True.",
            arguments=("threshold", "regroup"),
        )


def is_lower_among(detector: DuplicateDetector, texts: Sequence[str]) -> bool:
    """Whether the threshold is the default, which is lower between languages, and texts are in several."""
    return is_lower_across(detector) and len(list_languages(texts).shares) > 1


def across_languages(rule: Rule, texts: Sequence[str]) -> Rule:
    """A rule whose threshold is lower for a pair of texts in two languages.

    It is lower for all pairs, and what a pair has too much of that is a penalty.
    """
    of_words = rule.penalties

    def penalties(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        sides = ([texts[row] for row in rows.tolist()] for rows in (i, j))
        found = (TWO_OTHERS - lowered(*sides)).astype(np.float32)
        return found if of_words is None else found + of_words(i, j)

    return rule._replace(threshold=rule.threshold - TWO_OTHERS, penalties=penalties)


def check_of(detector: DuplicateDetector) -> str:
    """The fingerprint of a detector's near-miss check; "" where it has none."""
    return "" if detector.check is None else detector.check.fingerprint


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A list at one moment, encoded."""

    entries: list[Record]  # id, question and columns of each question
    questions: Questions  # as a decision is given them
    detector: DuplicateDetector

    @classmethod
    def of(
        cls,
        detector: DuplicateDetector,
        read: QuestionList,
        *,
        show_progress: bool = False,
    ) -> Snapshot:
        """A list as it was read, encoded; DataError for a question without words."""
        columns = read.columns or [{}] * len(read.ids)
        questions = list(map(valid_unicode, read.questions))
        entries = [
            {"id": own, "question": text, "columns": others}
            for own, text, others in zip(read.ids, questions, columns)
        ]
        compared = list(map(valid_unicode, read.compared))
        places = range(len(compared))
        prepared = encoded(detector, compared, places, show_progress=show_progress)
        prepared = prepared._replace(folded=list(map(folded, questions)))
        return cls(entries, prepared, detector)

    @property
    def vectors(self) -> np.ndarray:
        """The questions' vectors, float32 [questions, d]."""
        return self.questions.vectors

    def with_groups(
        self, labels: np.ndarray, grouping: Grouping, refused: np.ndarray | None
    ) -> GroupedSnapshot:
        """The list with groups, int64 labels [n], and how they were made."""
        return GroupedSnapshot(
            self.entries,
            self.questions,
            self.detector,
            groups_of(self.vectors, labels),
            grouping.threshold,
            grouping.weight,
            refused,
        )


@dataclass(frozen=True, eq=False)
class GroupedSnapshot(Snapshot):
    """A list at one moment with its groups, see `grouped`."""

    groups: list[list[Member]]
    threshold: float
    weight: float  # of local scaling, see `siamese.groups.local`
    # Pairs of places, int64 [m, 2], that the near-miss check kept apart when the groups
    # were made; None where they were made before.
    refused: np.ndarray | None


def duplicate_groups(
    vectors: np.ndarray, threshold: float | None = None
) -> list[list[Member]]:
    """Groups of duplicate questions in a whole list, by average linkage (`siamese.groups.linkage`).

    Args:
      vectors: float32 [n, d], of length 1; or a `QuestionIndex`, whose method `grouped` makes them.
      threshold: groups are joined where their mean cosine is above it; needed for vectors.

    Returns:
      The groups of two and more, the largest first (of equal size, the one that starts first); in a
      group the central question first, then by falling similarity to it. ArgumentError for other vectors
      or a threshold outside -1 to 1.

    Example:
      >>> vectors = np.array([[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8]], np.float32)
      >>> [[member.row for member in group] for group in duplicate_groups(vectors, 0.95)]
      [[2, 3]]
    """
    if hasattr(vectors, "grouped"):
        return vectors.grouped(threshold).groups
    threshold = as_number(threshold, "threshold", -1, 1)
    try:
        vectors = np.asarray(vectors, np.float32).reshape(
            len(vectors), -1 if len(vectors) else 0
        )
        squares = np.vecdot(vectors, vectors)
    except (TypeError, ValueError):  # such as texts
        squares = np.array(np.nan)
    if not ((squares == 0) | (abs(squares - 1) < 0.01)).all():
        what = "vectors of length 1, [n, d], or a QuestionIndex"
        raise ArgumentError(f"duplicate_groups takes {what}, not {vectors!r:.40}.")
    return groups_of(vectors, average_linkage(vectors, min(threshold, EQUAL)))


def grouped(
    snapshot: Snapshot,
    threshold: float | None = None,
    answers: QuestionPairs | None = None,
) -> GroupedSnapshot:
    """A list with its groups, as `QuestionIndex.grouped` makes them.

    They are made by a threshold, or where it is None as the detector makes groups of a
    list. Answers to pairs of its questions bind them.
    """
    detector = snapshot.detector
    questions = snapshot.questions
    vectors = questions.vectors
    grouping = Grouping.of(detector, threshold, questions)
    texts = [entry["question"] for entry in snapshot.entries]
    labels, refused = linked_labels(questions, texts, detector, grouping)
    if answers is not None and len(answers):
        same, different = answered_places(questions.folded, answers)
        rule = grouping.rule(detector, questions)
        labels = bound_labels(vectors, labels, same, different, rule, grouping.shifts)
    return snapshot.with_groups(labels, grouping, refused)


def linked_labels(
    questions: Questions,
    texts: Sequence[str],
    detector: DuplicateDetector,
    grouping: Grouping,
) -> tuple[np.ndarray, np.ndarray]:
    """Groups by `average_linkage`, int64 labels [n], and the pairs that the near-miss check kept apart.

    Equal texts are together, unknown ones left alone. For the pairs see
    `refused_pairs`.
    """
    vectors = questions.vectors
    known = np.flatnonzero(~unknown_rows(detector.encoder, questions.texts, vectors))
    rule = grouping.rule(detector, questions).of_rows(known)
    penalties = rule.penalties
    shifts = grouping.shifts
    no_rows = np.zeros(0, np.int64)
    with_penalty = [(no_rows, no_rows)]  # pairs of rows

    def remembered(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        assert penalties is not None  # It is not called without them.
        values = penalties(i, j)
        with_penalty.append((known[i[values > 0]], known[j[values > 0]]))
        return values

    labels = np.arange(len(vectors))
    labels[known] = len(vectors) + average_linkage(
        vectors if len(known) == len(vectors) else vectors[known],
        rule.threshold,
        penalties=remembered if penalties else None,
        joins=rule.joins,
        together=first_places(texts, str)[known],
        shifts=None if shifts is None else shifts[known],
    )
    i, j = map(np.concatenate, zip(*with_penalty))
    return labels, refused_pairs(detector, questions, grouping, (i, j))


def are_refused(
    detector: DuplicateDetector,
    questions: Questions,
    grouping: Grouping,
    i: np.ndarray,
    j: np.ndarray,
) -> np.ndarray:
    """Of pairs of rows, int64 [m] each, which ones the check alone keeps below the threshold: bool [m]."""
    cut = min(grouping.threshold, EQUAL)
    shifts = grouping.shifts
    without = detector.with_check(None).decision

    def refused(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        sides = questions.rows(a), questions.rows(b)
        cuts = cut if shifts is None else cut + shifts[a] + shifts[b]
        is_refused = without.scores(*sides) > cuts
        rows = np.flatnonzero(is_refused)
        scores = detector.decision.scores(*(side.rows(rows) for side in sides))
        each = np.broadcast_to(np.asarray(cuts, scores.dtype), len(a))
        is_refused[rows] = scores <= each[rows]
        return is_refused

    return in_blocks(refused, i, j)


def refused_pairs(
    detector: DuplicateDetector,
    questions: Questions,
    grouping: Grouping,
    candidates: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """The pairs that the check alone keeps below a threshold, rows int64 [m, 2], rising.

    Of texts that are equal but for case, blanks and quotes the first stands for all.
    `candidates` are pairs of rows that hold all of them; all pairs of the list are
    compared where None.
    """
    if detector.check is None:
        return np.zeros((0, 2), np.int64)
    if candidates is None:
        rule = grouping.rule(detector, questions)
        candidates = strongest_pairs(
            questions.vectors, rule.threshold, None, grouping.shifts
        )[:2]
    first = first_places(questions.folded, str)
    i, j = (first[side] for side in candidates)
    pairs = np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1)
    pairs = np.unique(pairs[i != j], axis=0)
    return pairs[are_refused(detector, questions, grouping, *pairs.T)]


def not_answered(
    snapshot: Snapshot, pairs: np.ndarray, answers: QuestionPairs
) -> np.ndarray:
    """Those of the pairs to which there is no answer."""
    if not len(answers):
        return pairs
    answered = set(map(answer_key, answers.question1, answers.question2))
    keys = [
        answer_key(*(snapshot.entries[at]["question"] for at in pair))
        for pair in pairs.tolist()
    ]
    return pairs[np.array([key not in answered for key in keys], bool)]


def groups_of(vectors: np.ndarray, labels: np.ndarray) -> list[list[Member]]:
    """The groups that int64 [n] labels tell, as `duplicate_groups` returns them.

    Where rounding alone tells two questions of a group apart, the earlier comes first.
    """
    rows = np.flatnonzero(np.bincount(labels)[labels] > 1)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    members = np.split(rows, np.flatnonzero(np.diff(labels[rows])) + 1)
    groups = [_members(vectors, group) for group in members if len(group)]
    return sorted(
        groups, key=lambda group: (-len(group), min(member.row for member in group))
    )


def _members(vectors: np.ndarray, rows: np.ndarray) -> list[Member]:
    """The questions of a group in order; `rows` rise."""
    some = vectors[rows]  # [members, d]
    nearness = some @ some.mean(axis=0)
    central = int((nearness >= nearness.max() - ROUNDING).argmax())
    similarity = np.clip(some @ some[central], -1, 1)
    order = np.argsort(-similarity, kind="stable")
    level = np.cumsum(np.diff(similarity[order], prepend=2) < -ROUNDING)
    order = order[np.lexsort((order, level, order != central))]
    return list(map(Member, rows[order].tolist(), similarity[order].tolist()))


def bound_labels(
    vectors: np.ndarray,
    labels: np.ndarray,
    same: np.ndarray,
    different: np.ndarray,
    rule: Rule,
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """Groups that obey answers: pairs that are the same share a group, pairs that differ never do.

    Groups, int64 labels [n], are joined by the former. One that then holds a pair that
    differs is made again by average linkage. Both kinds of pairs are int64 [pairs, 2],
    and do not contradict each other. For `shifts` see `average_linkage`.
    """
    n = len(labels)
    linked = connected_groups(n, same)
    edges = np.stack([first_of_groups(labels), np.arange(n)], axis=1)
    joined = connected_groups(n, np.concatenate([edges, same]))
    inside = different[np.equal(*joined[different].T)]
    for group in np.unique(joined[inside]):
        rows = np.flatnonzero(joined == group)
        apart = np.searchsorted(rows, inside[joined[inside[:, 0]] == group])
        again = average_linkage(
            vectors[rows],
            rule.threshold,
            penalties=rule.of_rows(rows).penalties,
            joins=rule.joins,
            together=linked[rows],
            apart=apart,
            shifts=None if shifts is None else shifts[rows],
        )
        joined[rows] = joined.max() + 1 + again
    return np.unique(joined, return_inverse=True)[1]


def group_labels(groups: Sequence[Sequence[Member]], count: int) -> np.ndarray:
    """The group of each of so many questions, int64 [count]; one in no group has its own place."""
    labels = np.arange(count)
    for number, group in enumerate(groups, start=count):
        labels[[member.row for member in group]] = number
    return labels


def first_of_groups(labels: np.ndarray) -> np.ndarray:
    """Labels by which each question has the place of the first one of its group, int64 [n]."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return first[group]


def pairs_above(vectors: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """About how many pairs of a list, or of some of its rows, have a cosine above each of `CUTS`.

    A sample of 2,048 questions is compared with all; of a list of no more the numbers
    are exact.
    """
    if rows is None:
        rows = np.arange(len(vectors))
    n = len(rows)
    others = np.delete(np.arange(len(vectors)), rows)
    sample = rows[np.random.default_rng(0).permutation(n)[:SAMPLE]]
    above = np.zeros(len(CUTS))  # pairs above each
    for some in np.split(sample, range(64, len(sample), 64)):
        scores = vectors[some] @ vectors.T  # [64, questions]
        scores[np.arange(len(some)), some] = 0  # a question with itself
        scores[:, others] = 0
        counts, _ = np.histogram(scores[scores > CUTS[0]], [*CUTS, np.inf])
        above += counts[::-1].cumsum()[::-1]
    return above * n / max(1, len(sample)) / 2


class Below(NamedTuple):
    """What a threshold may leave out."""

    # Two places in the list, and the score that gives the order; best first.
    pairs: list[tuple[int, int, float]]
    above: np.ndarray  # `pairs_above` of the list
    is_scaled: bool  # whether local scaling gives the order of the pairs


def below_threshold(snapshot: GroupedSnapshot, count: int = 50) -> Below:
    """What a threshold may leave out: the most similar pairs that share no group, best first.

    Their order is that of the cosine less the penalty of the near-miss check, and less
    local scaling where the list needs it (`siamese.groups.local`). They are looked for
    down to 0.5, or to the cosine above which there are enough of them; each text is in
    one of them. `snapshot` is `QuestionIndex.grouped`.
    """
    vectors = snapshot.vectors
    labels = group_labels(snapshot.groups, len(vectors))
    first = first_places(snapshot.questions.folded, str)
    rows = np.unique(first)
    sizes = np.bincount(labels[rows], minlength=1)
    own = int(sizes @ (sizes - 1)) // 2  # pairs that do not count
    above = pairs_above(vectors)
    among = above if len(rows) == len(vectors) else pairs_above(vectors, rows)
    enough = np.flatnonzero(among >= SPARE * count + own)
    lowest = float(CUTS[enough.max(initial=0)])
    is_first = first == np.arange(len(vectors))

    def allowed(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return is_first[i] & is_first[j] & (labels[i] != labels[j])

    one, two, scores, _ = strongest_pairs(vectors, lowest, allowed)
    weight = ranking_weight(snapshot.detector, vectors)
    if weight:
        scores = scaled(vectors, np.stack([one, two], axis=1), scores, weight)
    penalties = snapshot.detector.decision.rule(lowest, snapshot.questions).penalties
    if penalties is not None:
        scores = scores - in_blocks(penalties, one, two, TEXT_PAIRS)
    order = np.argsort(-scores, kind="stable")
    best: list[tuple[int, int, float]] = []
    named: set[int] = set()
    for pair in zip(*(side[order].tolist() for side in (one, two, scores))):
        if len(best) < count and named.isdisjoint(pair[:2]):
            named.update(pair[:2])
            best.append(pair)
    return Below(best, above, bool(weight))
