"""Duplicate groups in a whole list, and which of them new questions belong to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import one_of
from siamese.data.clusters import connected_groups
from siamese.data.text import folded
from siamese.errors import ArgumentError, DataError
from siamese.search.linkage import average_linkage, similar_pairs, strongest_pairs
from siamese.search.nearest import cosines_with, row_products

MOST_EDGES = 4_000_000  # pairs kept before they are joined to groups
SAMPLE = 2048  # questions that are compared with all others, to count pairs
LOWEST, STEP = 0.5, 0.01  # down to this cosine pairs are counted, in steps of this width
SPARE = 20  # times as many pairs as asked are looked at, since one question is in many
ROUNDING = 1e-6  # of a cosine: the vectors of one text, encoded twice, differ by less


class Member(NamedTuple):
    """A question in a duplicate group, whose central question is the one nearest to the group's mean."""

    row: int  # its place in the list
    similarity: float  # cosine with the central question
    is_central: bool


def duplicate_groups(
    vectors: Any,
    threshold: float | None = None,
    *,
    linkage: str = "average",
    largest: int | None = None,
) -> list[list[Member]]:
    """Groups of duplicate questions in a whole list.

    Args:
      vectors: float32 [n, d], of length 1, or a `QuestionIndex` (answers bind its method `groups` alone).
      threshold: a cosine; needed for vectors, and the index's own where None.
      linkage: 'average': groups are joined where the mean cosine over all their pairs is above the
        threshold; see `siamese.search.linkage`. 'single': questions are joined by any pair above it,
        directly or through others (connected components), so that chains grow with the list.
      largest: a bound on the questions of a group, for 'average'.

    Returns:
      The groups of two and more, the largest first (of equal size, the one that starts first); in a
      group the central question first, then by falling similarity to it.

    Raises:
      ArgumentError: a threshold outside -1 to 1, another linkage, or `largest` below 1 or with 'single'.

    Example:
      >>> vectors = np.array([[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8]], np.float32)
      >>> [[member.row for member in group] for group in duplicate_groups(vectors, 0.95)]
      [[2, 3]]
    """
    one_of(linkage, "linkage", ("average", "single"))
    if hasattr(vectors, "entries"):
        index, entries = vectors, vectors.entries
        threshold = index.detector.threshold if threshold is None else threshold
        unknown = index.detector.without_known_words([entry["question"] for entry in entries])
        vectors = np.where(unknown[:, None], np.float32(0), index.vectors)
    elif threshold is None:
        raise ArgumentError("duplicate_groups of vectors needs a threshold, a cosine.")
    if linkage == "average":
        labels = average_linkage(vectors, threshold, largest).labels(threshold)
    elif largest is not None:
        raise ArgumentError(
            "largest bounds groups of linkage 'average'; leave it out for 'single'."
        )
    else:
        labels = _connected(vectors, threshold)
    return groups_of(vectors, labels)


def groups_of(vectors: np.ndarray, labels: np.ndarray) -> list[list[Member]]:
    """The groups that int64 [n] labels tell, as `duplicate_groups` returns them.

    Where rounding alone tells two questions of a group apart, the earlier comes first.
    """
    rows = np.flatnonzero(np.bincount(labels)[labels] > 1)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    if not len(rows):
        return []
    _, starts, group = np.unique(labels[rows], return_index=True, return_inverse=True)
    place, sums = np.arange(len(rows)), np.add.reduceat(vectors[rows], starts)
    nearness = row_products(vectors, rows, sums, group)
    nearness /= np.bincount(group)[group]  # the products with the groups' means
    is_nearest = nearness >= np.maximum.reduceat(nearness, starts)[group] - ROUNDING
    central = np.minimum.reduceat(np.where(is_nearest, place, len(rows)), starts)[group]
    similarity = np.clip(row_products(vectors, rows, vectors, rows[central]), -1, 1)
    order = np.lexsort((-similarity, group))
    lower = np.cumsum(np.diff(similarity[order], prepend=2) < -ROUNDING)
    order = order[np.lexsort((order, lower, (central != place)[order], group[order]))]
    columns = rows[order], similarity[order], (central == place)[order]
    ordered = list(map(Member, *(column.tolist() for column in columns)))
    groups = [ordered[start:end] for start, end in zip(starts, [*starts[1:], len(rows)])]
    return sorted(groups, key=lambda group: (-len(group), min(member.row for member in group)))


def bound_labels(
    vectors: np.ndarray,
    labels: np.ndarray,
    same: np.ndarray,
    different: np.ndarray,
    threshold: float,
) -> np.ndarray:
    """Groups that obey answers: pairs that are the same share a group, pairs that differ never do.

    Groups are joined by the former. One that holds a pair that differs is made again: its questions, those
    that answers join first, are joined by average linkage wherever no answer forbids it.

    Args:
      vectors: float32 [n, d].
      labels: int64 [n].
      same: int64 [pairs, 2], places of questions.
      different: likewise.
      threshold: that of the groups.

    Raises:
      DataError: answers that contradict each other.
    """
    n = len(labels)
    linked = connected_groups(n, same)
    for one, two in different[linked[different[:, 0]] == linked[different[:, 1]]]:
        raise DataError(
            f"The answers contradict each other: questions {one} and {two} (from 0) differ, and other "
            "answers make them duplicates. Answer these pairs again."
        )
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    edges = np.stack([first[inverse], np.arange(n)], axis=1)
    joined = connected_groups(n, np.concatenate([edges, same.reshape(-1, 2)]))
    inside = different[joined[different[:, 0]] == joined[different[:, 1]]]
    for group in np.unique(joined[inside[:, 0]]):
        members = np.flatnonzero(joined == group)
        pairs = np.searchsorted(members, inside[joined[inside[:, 0]] == group])
        parts = _split(vectors[members], linked[members], pairs, threshold)
        joined[members] = joined.max() + 1 + parts
    return np.unique(joined, return_inverse=True)[1]


def _split(
    vectors: np.ndarray, linked: np.ndarray, different: np.ndarray, threshold: float
) -> np.ndarray:
    """One group in parts, int64 [members]: average linkage of the linked parts that may be together."""
    _, part = np.unique(linked, return_inverse=True)
    sizes = np.bincount(part).astype(np.float64)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, part, vectors)
    means = sums @ sums.T / np.outer(sizes, sizes)
    np.fill_diagonal(means, -np.inf)
    one, two = part[different].T
    means[one, two] = means[two, one] = -np.inf
    while means.max(initial=-np.inf) > threshold:
        a, b = np.unravel_index(means.argmax(), means.shape)
        row = (sizes[a] * means[a] + sizes[b] * means[b]) / (sizes[a] + sizes[b])
        means[a] = means[:, a] = row  # -inf stays: what is apart from b is apart from both.
        means[b] = means[:, b] = means[a, a] = -np.inf
        sizes[a] += sizes[b]
        part[part == b] = a
    return part


def join_groups(
    vectors: np.ndarray,
    labels: np.ndarray,
    new: np.ndarray,
    own: np.ndarray,
    threshold: float,
    largest: int | None = None,
) -> np.ndarray:
    """The group of each new question: that with the largest mean cosine above a threshold, or its own.

    Args:
      vectors: float32 [n, d], those of the list.
      labels: int64 [n], the group of each.
      new: float32 [m, d], of length 1; they join one after the other, and may join each other.
      own: int64 [m], the label of each where it joins none.
      threshold: that of the groups.
      largest: a bound on the questions of a group.
    """
    joined = np.array(own)
    for at, vector in enumerate(new):
        old, recent = vectors @ vector, new[:at] @ vector
        near = np.concatenate([labels[old > threshold], joined[:at][recent > threshold]])
        best = threshold
        for label in np.unique(near):
            cosines = np.concatenate([old[labels == label], recent[joined[:at] == label]])
            full = largest is not None and len(cosines) >= largest
            if cosines.mean() > best and not full:
                best, joined[at] = cosines.mean(), label
    return joined


def group_rows(
    entries: Sequence[Mapping[str, Any]],
    groups: list[list[Member]],
    vectors: np.ndarray,
    keep: str = "central",
) -> Iterator[dict[str, Any]]:
    """Each member as a flat dict: group, keep, similarity, same_text, id, question, columns.

    `group` is the id of the group's first question, which stays when others are added. Of each group one
    question is kept (`keep` is 1) and comes first; `similarity` is the cosine with it, and `same_text`
    is 1 where the texts are the same but for case, blanks and quotes.

    Args:
      entries: `QuestionIndex.entries`.
      groups: `QuestionIndex.groups`, of the same moment.
      vectors: `QuestionIndex.vectors`.
      keep: which question is kept: 'central', 'first', 'longest', or 'COLUMN=min' or 'COLUMN=max' of a
        column of numbers or of ISO dates. Of equal ones the first.

    Raises:
      ArgumentError: another word, or a column that a question lacks.
      DataError: a value that is neither a number nor a date, or dates among numbers.
    """
    rank = _keep_rank(entries, [m.row for group in groups for m in group], keep)
    for group in groups:
        rows = sorted(member.row for member in group)
        kept = group[0].row if rank is None else min(rows, key=rank)
        cosines = cosines_with(vectors[rows], vectors[kept])
        text = folded(entries[kept]["question"])
        for at in sorted(range(len(rows)), key=lambda at: (rows[at] != kept, -cosines[at])):
            entry = {**entries[rows[at]]}
            columns = entry.pop("columns")
            own = {"group": entries[rows[0]]["id"], "keep": int(rows[at] == kept)}
            own["similarity"] = round(float(cosines[at]), 6)
            own["same_text"] = int(folded(entry["question"]) == text)
            yield with_columns({**own, **entry}, columns)


def _keep_rank(
    entries: Sequence[Mapping[str, Any]], rows: list[int], keep: str
) -> Callable[[int], Any] | None:
    """What a row is ranked by, the least is kept; None for 'central'."""
    if keep in ("central", "first"):
        return None if keep == "central" else (lambda row: row)
    if keep == "longest":
        return lambda row: -len(entries[row]["question"])
    column, _, end = keep.rpartition("=")
    if not column or end not in ("min", "max"):
        raise ArgumentError(
            f"keep is central, first, longest, COLUMN=min or COLUMN=max, not {keep!r}."
        )
    values = {}
    for row in rows:
        if column not in entries[row]["columns"]:
            names = ", ".join(entries[row]["columns"]) or "none"
            raise ArgumentError(
                f"Question {entries[row]['id']} has no column {column!r}; its columns: {names}."
            )
        values[row] = _number_or_date(entries[row]["columns"][column])
        if values[row] is None or values[row][0] != values[rows[0]][0]:
            value = entries[row]["columns"][column]
            raise DataError(
                f"Question {entries[row]['id']}: {column} is {value!r:.40}. To choose by it, all values "
                "must be numbers, or all dates such as 2026-01-31."
            )
    sign = 1 if end == "min" else -1
    return lambda row: sign * values[row][1]


def _number_or_date(value: Any) -> tuple[str, float] | None:
    """A value as a number, or as the seconds of an ISO date (UTC where it names no zone)."""
    try:
        number = float(value)
        return ("number", number) if math.isfinite(number) else None
    except (TypeError, ValueError):
        pass
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return "date", (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def with_columns(own: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the command's, and after it the columns of a file; one of a taken name gets `column_`."""
    row, taken = dict(own), {*own, *columns}
    for name, value in columns.items():
        new = name
        while new in own or (new != name and new in taken):
            new = f"column_{new}"
        row[new] = value
    return row


def _connected(vectors: np.ndarray, threshold: float) -> np.ndarray:
    """The connected component of each question, int64 [n]."""
    n = len(vectors)
    kept, count = [np.zeros((0, 2), np.int64)], 0
    for i, j, _ in similar_pairs(vectors, threshold):
        kept.append(np.stack([i, j], axis=1))
        count += len(i)
        if (
            count > MOST_EDGES
        ):  # An edge from each question to the first of its group says the same.
            labels = connected_groups(n, np.concatenate(kept))
            _, first = np.unique(labels, return_index=True)
            kept, count = [np.stack([first[labels], np.arange(n)], axis=1)], 0
    return connected_groups(n, np.concatenate(kept))


class NextPair(NamedTuple):
    """Two questions that share no group, by their places in the list."""

    one: int
    two: int
    similarity: float  # their cosine


def pair_counts(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """About how many pairs have a cosine above 0.5, 0.51 and so on up to 0.99, float64 [50].

    A sample of 2,048 questions is compared with all; of a list of no more the counts are exact.

    Args:
      vectors: float32 [n, d], of length 1.
      seed: of the sample.
    """
    n = len(vectors)
    some = np.random.default_rng(seed).permutation(n)[:SAMPLE]
    counts = np.zeros(round((1 - LOWEST) / STEP))
    for start in range(0, len(some), 64):
        rows = some[start : start + 64]
        scores = vectors[rows] @ vectors.T  # [64, n]
        scores[np.arange(len(rows)), rows] = 0  # a question with itself
        steps = ((scores[scores > LOWEST] - LOWEST) / STEP).astype(np.int64)
        counts += np.bincount(np.minimum(steps, len(counts) - 1), minlength=len(counts))
    return np.cumsum(counts[::-1])[::-1] * (n / max(1, len(some)) / 2)


def next_pairs(
    vectors: np.ndarray, groups: list[list[Member]], counts: np.ndarray, count: int = 50
) -> list[NextPair]:
    """The most similar pairs that share no group, each question in one of them, best first.

    Pairs are looked for down to 0.5, or to the cosine above which there are enough of them.

    Args:
      vectors: float32 [n, d], of length 1.
      groups: as `siamese.search.groups.duplicate_groups` returns them.
      counts: of `pair_counts`.
      count: how many pairs, at most.
    """
    labels = np.arange(len(vectors))
    for number, group in enumerate(groups, start=len(vectors)):
        labels[[member.row for member in group]] = number
    sizes = np.array([len(group) for group in groups], np.float64)
    enough = SPARE * count + (sizes * (sizes - 1)).sum() / 2  # The groups' own pairs do not count.
    steps = np.flatnonzero(counts >= enough)
    lowest = LOWEST + STEP * (steps[-1] if len(steps) else 0)
    one, two, cosines, _ = strongest_pairs(vectors, lowest, lambda i, j: labels[i] != labels[j])
    pairs, named = [], set()
    for at in np.argsort(-cosines, kind="stable").tolist():
        pair = int(one[at]), int(two[at])
        if not named.intersection(pair):
            named.update(pair)
            pairs.append(NextPair(*pair, float(cosines[at])))
        if len(pairs) == count:
            break
    return pairs
