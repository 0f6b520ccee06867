"""Duplicate groups in a whole list, and which of them new questions belong to."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from siamese.encoders.protocol import unknown_rows
from siamese.errors import ArgumentError, DataError
from siamese.groups.linkage import average_linkage, strongest_pairs
from siamese.groups.local import local_means, ranking_weight, scaled
from siamese.groups.refused import Recorded, refused_pairs
from siamese.model.decision import Questions, Rule
from siamese.model.detector import differences_between
from siamese.nn.nearest import EQUAL, TEXT_PAIRS, cosines_with, in_blocks
from siamese.reading.clusters import connected_groups, first_places
from siamese.system.arguments import as_number
from siamese.text.columns import columns_called, shown_names
from siamese.text.values import id_text

if TYPE_CHECKING:
    from siamese.model.detector import DuplicateDetector

SAMPLE = 2048  # questions that are compared with all others, to count pairs
CUTS = np.arange(50, 100) / 100  # cosines above which pairs are counted
SPARE = 20  # times as many pairs as asked are looked at, since one question is in many
ROUNDING = 1e-6  # of a cosine: the vectors of one text, encoded twice, differ by less


# The columns of `group_rows`.
GROUP_COLUMNS = (
    "group",
    "keep",
    "similarity",
    "difference",
    "same_text",
    "id",
    "question",
)
AT_ONCE = 1000  # rows of groups that are compared word by word at once


class Member(NamedTuple):
    """A question in a group of duplicates, of which the first is central: nearest to the group's mean."""

    row: int  # its place in the list
    similarity: float  # cosine with the central question


def duplicate_groups(
    vectors: Any, threshold: float | None = None
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


def linked_labels(
    questions: Questions,
    texts: Sequence[str],
    detector: DuplicateDetector,
    grouping: Grouping,
) -> tuple[np.ndarray, np.ndarray]:
    """Groups by `average_linkage`, int64 labels [n], and the pairs that the near-miss check kept apart.

    Equal texts are together, unknown ones left alone. For the pairs see
    `siamese.groups.refused.refused_pairs`.
    """
    vectors = questions.vectors
    labels = np.arange(len(vectors))
    shifts = grouping.shifts
    known = np.flatnonzero(~unknown_rows(detector.encoder, questions.texts, vectors))
    rule = grouping.rule(detector, questions).of_rows(known)
    recorded = Recorded(rule.penalties) if rule.penalties else None
    linked = average_linkage(
        vectors if len(known) == len(vectors) else vectors[known],
        rule.threshold,
        penalties=recorded,
        joins=rule.joins,
        together=first_places(texts, str)[known],
        shifts=None if shifts is None else shifts[known],
    )
    labels[known] = linked + len(vectors)
    if recorded is None:
        return labels, np.zeros((0, 2), np.int64)
    i, j = recorded.pairs()
    looked_at = known[i], known[j]
    return labels, refused_pairs(detector, questions, grouping, looked_at)


class Grouping(NamedTuple):
    """How a list's groups are made: from which mean cosine on, less the shifts of local scaling."""

    threshold: float
    weight: float = 0.0  # of local scaling, see `siamese.groups.local`
    # float32 [questions], its r; None where the weight is 0
    means: np.ndarray | None = None
    # the fingerprint of the near-miss check; "" where there was none
    check: str = ""

    @classmethod
    def of(
        cls, detector: DuplicateDetector, threshold: float | None, vectors: np.ndarray
    ) -> Grouping:
        """By a threshold, or as the detector makes groups of a list where None."""
        check = check_of(detector)
        if threshold is not None:
            return cls(as_number(threshold, "threshold", -1, 1), check=check)
        cut, weight = detector.list_cut
        own = cls(cut, weight, check=check)
        return own._replace(means=local_means(vectors)) if own.weight else own

    @property
    def shifts(self) -> np.ndarray | None:
        """What is taken off the cosines of each question, float32 [questions]."""
        return None if self.means is None else self.means * np.float32(self.weight / 2)

    def rule(self, detector: DuplicateDetector, questions: Questions) -> Rule:
        """How questions are joined."""
        return detector.decision.rule(min(self.threshold, EQUAL), questions)

    def check_threshold(self, threshold: float | None) -> None:
        """ArgumentError where another threshold is asked for."""
        if threshold is None or (threshold, 0.0) == (self.threshold, self.weight):
            return
        how = f"threshold {self.threshold}"
        if self.weight:
            how += f" and local scaling with weight {self.weight:g}"
        raise ArgumentError(
            f"The index has groups with {how}. Make them again with "
            f"threshold={threshold} and regroup=True.",
            arguments=("threshold", "regroup"),
        )


def check_of(detector: DuplicateDetector) -> str:
    """The fingerprint of a detector's near-miss check; "" where it has none."""
    return "" if detector.check is None else detector.check.fingerprint


class Snapshot(NamedTuple):
    """An index at one moment; the last three are of `QuestionIndex.grouped`."""

    entries: list[dict[str, Any]]  # id, question and columns of each question
    questions: Questions  # as a decision is given them
    detector: DuplicateDetector
    groups: list[list[Member]] = []  # noqa: RUF012  # It is never changed.
    threshold: float | None = None  # of the groups
    weight: float = 0.0  # of local scaling in them, see `siamese.groups.local`
    # Pairs of places, int64 [m, 2], that the near-miss check kept apart when the groups
    # were made; None where they were made before.
    refused: np.ndarray | None = None

    @property
    def vectors(self) -> np.ndarray:
        """The questions' vectors, float32 [questions, d]."""
        return self.questions.vectors


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


def join_groups(
    vectors: np.ndarray,
    labels: np.ndarray,
    new: np.ndarray,
    own: np.ndarray,
    rule: Rule,
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """The group of each new question: that with the largest mean cosine above a threshold, or its own.

    Old questions have int64 labels [n]; new ones, [m], join one after the other, and
    may join each other. `own`, int64 [m], is the label of each where it joins none.
    `rule` is that of the old questions and then the new ones, and so are `shifts`,
    float32 [n + m], those of `average_linkage`.
    """
    vectors = np.concatenate([vectors, new])
    labels = np.append(labels, own)
    shifts = np.zeros(len(labels), np.float32) if shifts is None else shifts
    for at in range(len(labels) - len(own), len(labels)):
        vector = vectors[at]
        best = rule.threshold
        near = np.flatnonzero(
            vectors[:at] @ vector - shifts[:at] - shifts[at] > rule.threshold
        )
        penalties = np.zeros(len(near), np.float32)
        if rule.penalties is not None:
            penalties = rule.penalties(near, np.full(len(near), at))
        for label in np.unique(labels[near]):
            members = labels[:at] == label
            mean = vectors[:at][members].mean(axis=0)
            cosine = mean @ vector - shifts[:at][members].mean() - shifts[at]
            largest = penalties[labels[near] == label].max()
            score = cosine - largest
            may_join = rule.joins is None or rule.joins(
                mean[None], vector[None], largest[None]
            )
            if score > best and may_join:
                best = score
                labels[at] = label
    return labels[len(labels) - len(own) :]


def first_of_groups(labels: np.ndarray) -> np.ndarray:
    """Labels by which each question has the place of the first one of its group, int64 [n]."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return first[group]


def labels_of_new(
    vectors: np.ndarray,
    n: int,
    groups_with: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    rule: Rule,
    is_known: Callable[[np.ndarray], np.ndarray],
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """The groups of the questions from place `n` on, which are new: int64 labels [len(vectors) - n].

    A new question joins the group that fits best (`join_groups`), or has its own place
    as its label. `rule` is that of all questions; `shifts`, float32 [len(vectors)], are
    those of `average_linkage`.

    Two functions know the questions. `groups_with` gives, for some of the former
    places, all places of their groups, int64 [m], and the labels of these, int64 [m]: a
    place of each one's group. `is_known` says of places whether the model knows a word
    there, bool; other questions stay alone.
    """
    labels = np.arange(n, len(vectors))
    new = labels[is_known(labels)]
    is_similar = np.zeros(n, bool)
    for start in range(0, len(new), 64):
        some = new[start : start + 64]
        cosines = vectors[:n] @ vectors[some].T
        if shifts is not None:
            cosines -= shifts[:n, None] + shifts[some]
        is_similar |= (cosines > rule.threshold).any(axis=1)
    near = np.flatnonzero(is_similar)
    old, firsts = groups_with(near[is_known(near)])
    places = np.append(old, new)
    own = None if shifts is None else shifts[places]
    labels[new - n] = join_groups(
        vectors[old], firsts, vectors[new], new, rule.of_rows(places), own
    )
    return labels


def group_columns(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The other columns of an index's entries, and what `group_rows` calls them."""
    return table_names(
        GROUP_COLUMNS, (name for entry in entries for name in entry["columns"])
    )


def group_rows(shot: Snapshot, keep: str = "central") -> Iterator[dict[str, Any]]:
    """Each member as a flat dict: group, keep, similarity, difference, same_text, id, question, columns.

    `group` is the id of the group's first question, which stays when others are added.
    Of each group one question is kept (`keep` is 1) and comes first; `similarity` is
    the cosine with it, `difference` what the near-miss check took a penalty for, and
    `same_text` is 1 where the texts are the same but for case, blanks and quotes.

    `shot` is `QuestionIndex.grouped`. Kept is the 'central', the 'first' or the
    'longest' question, or by 'COLUMN=min' or 'COLUMN=max' that with the least or
    largest number or ISO date, of equal ones the first; an empty cell counts as last. A
    DataError names a value that is neither, or a date among numbers.
    """
    rank = _ranks(
        shot.entries, [member for group in shot.groups for member in group], keep
    )
    names = group_columns(shot.entries)
    some: list[_Row] = []
    for group in shot.groups:
        some += _rows_of(shot, group, rank)
        if len(some) >= AT_ONCE:
            yield from _as_dicts(shot, some, names)
            some = []
    yield from _as_dicts(shot, some, names)


class _Row(NamedTuple):
    """A member of a group, by places in the list."""

    row: int
    kept: int  # the question of its group that is kept
    first: int  # the first question of its group
    similarity: float  # the cosine with the kept one


def _rows_of(shot: Snapshot, group: list[Member], rank: dict[int, float]) -> list[_Row]:
    """The members of a group, the one that is kept first, then by falling cosine with it."""
    rows = sorted(member.row for member in group)
    kept = min(rows, key=rank.__getitem__)
    cosines = cosines_with(shot.vectors[rows], shot.vectors[kept]).tolist()
    order = sorted(zip(rows, cosines), key=lambda pair: (pair[0] != kept, -pair[1]))
    return [_Row(row, kept, rows[0], cosine) for row, cosine in order]


def _as_dicts(
    shot: Snapshot, rows: list[_Row], names: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Members of groups as `group_rows` has them."""
    places = [np.array([row[at] for row in rows], np.int64) for at in (0, 1)]
    sides = [shot.questions.rows(own) for own in places]
    differences = differences_between(shot.detector, *sides)
    for (row, kept, first, cosine), difference in zip(rows, differences):
        entry = dict(shot.entries[row])
        columns = entry.pop("columns")
        texts = shot.questions.folded
        own = {
            "group": shot.entries[first]["id"],
            "keep": int(row == kept),
            "similarity": round(cosine, 6),
            "difference": difference,
            "same_text": int(texts[row] == texts[kept]),
        }
        yield {**own, **entry, **renamed(columns, names)}


def _ranks(
    entries: list[dict[str, Any]], members: list[Member], keep: str
) -> dict[int, float]:
    """A number for each row; of a group the question with the least is kept."""
    rows = [member.row for member in members]
    lengths = [-len(entries[row]["question"]) for row in rows]
    # The first member of a group is central.
    simple = {"central": range(len(rows)), "first": rows, "longest": lengths}
    if keep in simple:
        return dict(zip(rows, simple[keep]))
    column, _, end = keep.rpartition("=")
    if not column or end not in ("min", "max"):
        raise ArgumentError(
            f"keep is central, first, longest, COLUMN=min or =max, not {keep!r}."
        )
    names = list(
        dict.fromkeys(["id", *(name for entry in entries for name in entry["columns"])])
    )
    if not (same := columns_called(column, names)):
        raise ArgumentError(
            f"There is no column {column!r}; the columns: {shown_names(names)}."
        )
    ranks = {}
    kinds = set()
    for row in rows:
        value = {"id": entries[row]["id"], **entries[row]["columns"]}.get(same[0])
        if not id_text(value):  # An empty cell is kept where all are empty.
            ranks[row] = math.inf
            continue
        kind, number = _number_or_date(value)
        kinds.add(kind)
        if kinds not in ({"number"}, {"date"}):
            raise DataError(
                f"Question {entries[row]['id']}: {same[0]} is {value!r:.40}. To choose by it, all values "
                "must be numbers, or all dates such as 2026-01-31."
            )
        ranks[row] = number if end == "min" else -number
    return ranks


def _number_or_date(value: Any) -> tuple[str, float]:
    """'number' or 'date', and the number, or the seconds of an ISO date (UTC where it names no zone)."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        number = float(value)
        return "number" if math.isfinite(number) else "neither", number
    with contextlib.suppress(ValueError):
        date = datetime.fromisoformat(str(value))
        return "date", (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return "neither", 0


def table_names(own: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """What a table that has the columns `own` calls others: a taken name gets ``column_`` before it."""
    names = dict.fromkeys(names)
    taken = set(own)
    result: dict[str, str] = {}
    for name in names:
        new = name
        while new in taken or (new != name and new in names):
            new = f"column_{new}"
        taken.add(new)
        result[name] = new
    return result


def renamed(columns: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The values of columns by the names of `table_names`."""
    return {names[name]: value for name, value in columns.items()}


def pairs_above(vectors: np.ndarray) -> np.ndarray:
    """About how many pairs have a cosine above each of `CUTS`.

    A sample of 2,048 questions is compared with all; of a list of no more the numbers
    are exact.
    """
    n = len(vectors)
    sample = np.random.default_rng(0).permutation(n)[:SAMPLE]
    above = np.zeros(len(CUTS))  # pairs above each
    for rows in np.split(sample, range(64, len(sample), 64)):
        scores = vectors[rows] @ vectors.T  # [64, n]
        scores[np.arange(len(rows)), rows] = 0  # a question with itself
        counts, _ = np.histogram(scores[scores > CUTS[0]], [*CUTS, np.inf])
        above += counts[::-1].cumsum()[::-1]
    return above * n / max(1, len(sample)) / 2


class Below(NamedTuple):
    """What a threshold may leave out."""

    # Two places in the list, and the score that gives the order; best first.
    pairs: list[tuple[int, int, float]]
    above: np.ndarray  # `pairs_above` of the list
    is_scaled: bool  # whether local scaling gives the order of the pairs


def below_threshold(shot: Snapshot, count: int = 50) -> Below:
    """What a threshold may leave out: the most similar pairs that share no group, best first.

    Their order is that of the cosine less the penalty of the near-miss check, and less
    local scaling where the list needs it (`siamese.groups.local`). They are looked for
    down to 0.5, or to the cosine above which there are enough of them; each text is in
    one of them. `shot` is `QuestionIndex.grouped`.
    """
    labels = group_labels(shot.groups, len(shot.vectors))
    rows = np.unique(first_places(shot.questions.folded, str))
    vectors = shot.vectors[rows]
    labels = labels[rows]
    sizes = np.bincount(labels, minlength=1)
    own = int(sizes @ (sizes - 1)) // 2  # pairs that do not count
    above = pairs_above(shot.vectors)
    among = above if len(rows) == len(shot.vectors) else pairs_above(vectors)
    enough = np.flatnonzero(among >= SPARE * count + own)
    lowest = float(CUTS[enough.max(initial=0)])
    one, two, cosines, _ = strongest_pairs(
        vectors, lowest, lambda i, j: labels[i] != labels[j]
    )
    scores = cosines
    weight = ranking_weight(shot.detector, vectors)
    if weight:
        scores = scaled(vectors, np.stack([one, two], axis=1), cosines, weight)
    penalties = shot.detector.decision.rule(lowest, shot.questions).penalties
    if penalties is not None:
        scores = scores - in_blocks(penalties, rows[one], rows[two], TEXT_PAIRS)
    order = np.argsort(-scores, kind="stable")
    best: list[tuple[int, int, float]] = []
    named: set[int] = set()
    for pair in zip(*(side[order].tolist() for side in (rows[one], rows[two], scores))):
        if len(best) < count and named.isdisjoint(pair[:2]):
            named.update(pair[:2])
            best.append(pair)
    return Below(best, above, bool(weight))
