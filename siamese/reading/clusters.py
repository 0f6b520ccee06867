"""Clusters of questions: duplicates joined through labels, and groups that share questions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.system.arguments import as_number, whole_number
from siamese.text.cleaning import folded
from siamese.text.values import as_list
from siamese.text.wrapping import plain

if TYPE_CHECKING:
    from siamese.reading.pairs import QuestionPairs

_BEFORE_MARK = re.compile(" (?=[?!.,;:])")  # of folded text, whose blanks are single
MOST_PAIRED = 2000  # questions of a cluster: all pairs of more would fill the memory


def number_questions(
    question1: list[str], question2: list[str]
) -> tuple[list[str], np.ndarray]:
    """The distinct questions by exact text, in order of first appearance; int64 [n, 2], each pair's."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    rows = list(
        map(numbers.__getitem__, chain.from_iterable(zip(question1, question2)))
    )
    return list(numbers), np.array(rows, np.int64).reshape(-1, 2)


def connected_groups(size: int, edges: np.ndarray) -> np.ndarray:
    """The connected group of each of `size` things, int64 [size], numbered in order of first appearance.

    `edges`, int64 [m, 2], are things that belong together.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, two = np.asarray(edges, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(one), np.int8), (one, two)), shape=(size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def first_places(
    questions: Sequence[str], key: Callable[[str], str] = folded
) -> np.ndarray:
    """The place of the first question that has the `key(text)` of each question, int64."""
    first: dict[str, int] = {}
    places = [
        first.setdefault(key(text), place) for place, text in enumerate(questions)
    ]
    return np.array(places, np.int64)


def question_groups(
    questions: list[str], edges: np.ndarray, key: Callable[[str], str] = folded
) -> np.ndarray:
    """The connected group of each question, int64; those of equal `key(text)` are connected, too."""
    equal = np.stack([first_places(questions, key), np.arange(len(questions))], axis=1)
    return connected_groups(len(questions), np.concatenate([edges, equal]))


def as_models_read(text: str) -> str:
    """A question's folded text without greeting and thanks, and without blanks before marks."""
    return _BEFORE_MARK.sub("", folded(plain(text)))


class Clusters(NamedTuple):
    """Distinct questions joined wherever a pair is labelled duplicate or their folded texts are equal.

    All are numbered in order of first appearance.
    """

    questions: list[str]  # the distinct ones
    question_cluster: np.ndarray  # int64 [questions]: the cluster of each
    cluster1: np.ndarray  # int64 [pairs]: the cluster of each pair's first question
    cluster2: np.ndarray  # likewise of the second ones
    sizes: np.ndarray  # int64 [clusters]: their questions, 1 for one without duplicates
    # int64: the pairs labelled non-duplicate within one cluster
    conflict_rows: np.ndarray


def clusters(pairs: QuestionPairs) -> Clusters:
    """The clusters of `QuestionPairs`, or of anything with question1, question2 and is_duplicate."""
    questions, numbers = number_questions(pairs.question1, pairs.question2)
    is_duplicate = np.asarray(pairs.is_duplicate, bool)
    cluster = question_groups(questions, numbers[is_duplicate])
    one, two = cluster[numbers].T
    conflicts = np.flatnonzero(~is_duplicate & (one == two))
    return Clusters(questions, cluster, one, two, np.bincount(cluster), conflicts)


def answer_key(question1: str, question2: str) -> tuple[str, str]:
    """What an answer is about: two folded texts, the lesser first."""
    one, two = sorted(map(folded, (question1, question2)))
    return one, two


def check_answers(pairs: QuestionPairs) -> None:
    """DataError for answers, `QuestionPairs`, of which one contradicts others; it names the first."""
    conflicts = clusters(pairs).conflict_rows
    if not len(conflicts):
        return
    place = int(conflicts[0])
    texts = pairs.question1[place], pairs.question2[place]
    keys = list(map(answer_key, pairs.question1, pairs.question2))
    labels = {
        bool(pairs.is_duplicate[at])
        for at, key in enumerate(keys)
        if key == keys[place]
    }
    why = "are answered different, and by other answers they are duplicates"
    if len(set(keys[place])) == 1:
        why = "are answered different, but are equal except for case, blanks and quotes"
    elif len(labels) == 2:
        why = "are answered both duplicates and different"
    raise DataError(
        f"The answers contradict each other: {texts[0][:80]!r} and {texts[1][:80]!r} {why}. Nothing "
        "was stored; correct them."
    )


def transitive_closure(
    rows: tuple[np.ndarray, np.ndarray],
    joined: Clusters,
    per_question: int = 10,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Duplicates that follow from labels by transitivity: where a = b and b = c, also a = c.

    The longer the chain between two questions, the less sure the pair. So a cluster of
    n gives at most `per_question` times n pairs, drawn by `seed`; one that holds a pair
    labelled non-duplicate gives none. `rows` are (rows1, rows2), int64 [pairs] each:
    any number of each pair's questions, the same for the same question; `joined` are
    the clusters of these pairs. It returns (rows1, rows2, cluster), int64 [new pairs]
    each: the questions' numbers, no pair twice and no labelled one, and their cluster.
    """
    draw = np.random.default_rng(seed)
    questions, first = np.unique(np.concatenate(rows), return_index=True)
    cluster = np.concatenate([joined.cluster1, joined.cluster2])[first]  # [questions]
    by_cluster = questions[np.argsort(cluster, kind="stable")]
    doubtful = set(joined.cluster1[joined.conflict_rows].tolist())
    labelled = set(zip(np.minimum(*rows).tolist(), np.maximum(*rows).tolist()))
    new: list[tuple[int, int, int]] = []
    for number, members in enumerate(
        np.split(by_cluster, np.cumsum(np.bincount(cluster)))
    ):
        size = len(members)
        if size < 3 or number in doubtful:
            continue
        if size > MOST_PAIRED:
            members = draw.choice(members, MOST_PAIRED, replace=False)
        members = np.sort(members)
        pairs = np.stack(np.triu_indices(len(members), 1), axis=1)
        pairs = members[pairs[draw.permutation(len(pairs))[: per_question * size]]]
        new += [
            (*pair, number)
            for pair in map(tuple, pairs.tolist())
            if pair not in labelled
        ]
    rows1, rows2, cluster_of = np.array(new, np.int64).reshape(-1, 3).T
    return rows1, rows2, cluster_of


def cluster_split(
    pairs: QuestionPairs, fractions: Sequence[float], seed: int
) -> list[np.ndarray]:
    """The rows, int64 and ascending, of each part of a split in which no two parts share a question.

    Questions that stand in one pair, or are equal as models read them, go to one part.
    Groups are placed from largest to smallest, of one size in an order drawn by `seed`,
    where the largest share is missing. DataError where there are too few groups for the
    parts.
    """
    what = "fractions must be two or more positive numbers that add to 1, such as (0.8, 0.1, 0.1)"
    each = "each of the fractions that add to 1"
    shares = np.array([as_number(share, each) for share in as_list(fractions, what)])
    if len(shares) < 2 or not shares.min() > 0 or abs(shares.sum() - 1) > 1e-6:
        raise ArgumentError(f"{what}, not {fractions!r}.")
    seed = whole_number(seed, "seed", 0)
    questions, numbers = number_questions(pairs.question1, pairs.question2)
    group_of = question_groups(questions, numbers, as_models_read)  # [questions]
    group = group_of[numbers[:, 0]]  # [pairs]
    sizes = np.bincount(group)  # [groups], in pairs
    if len(sizes) < len(shares):
        raise DataError(
            f"A split by cluster into {len(shares)} parts is not possible: the {len(group):,} pairs "
            f"form {len(sizes):,} groups that share no question. Use fewer parts or more pairs."
        )
    missing = shares * len(group)  # pairs that each part still lacks
    part_of = np.empty(len(sizes), np.int64)
    order = np.random.default_rng(seed).permutation(len(sizes))
    for at in order[np.argsort(-sizes[order], kind="stable")].tolist():
        part = int(((missing - sizes[at]) / shares).argmax())
        part_of[at] = part
        missing[part] -= sizes[at]
    # No part stays empty: it gets the smallest group of a part that has two or more.
    for empty in np.flatnonzero(np.bincount(part_of, minlength=len(shares)) == 0):
        spare = np.flatnonzero(np.bincount(part_of)[part_of] > 1)
        part_of[spare[sizes[spare].argmin()]] = empty
    return [np.flatnonzero(part_of[group] == part) for part in range(len(shares))]
