"""Duplicate groups in a whole list: every pair above a threshold, joined into groups.

The list is compared with itself block by block, upper triangle only, so that the n x n matrix is
never in memory; pairs are folded into groups as they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from siamese.data.clusters import connected_groups
from siamese.errors import ArgumentError
from siamese.search.nearest import StoredVectors

BLOCK = 2048  # rows and columns of a block of similarities: 16 MiB
MOST_EDGES = 4_000_000  # pairs kept before they are folded into groups


class Member(NamedTuple):
    """A question in a duplicate group.

    Args:
      row: its place in the list.
      similarity: cosine with the group's central question (the one nearest to the group's mean).
      is_central: whether it is that one.
    """

    row: int
    similarity: float
    is_central: bool


def similar_pairs(
    vectors: StoredVectors, threshold: float
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields all pairs whose cosine is above a threshold, each once, block by block.

    Args:
      vectors: rows of length 1.
      threshold: a cosine, from -1 to 1.

    Yields:
      rows int64 [m], rows int64 [m] (the larger of each pair) and cosines float32 [m].

    Raises:
      ArgumentError: a threshold outside -1 to 1.
    """
    if not -1 <= threshold <= 1:
        raise ArgumentError(f"threshold is a cosine, from -1 to 1; it is {threshold!r}.")
    n = len(vectors)
    buffer = np.empty((BLOCK, BLOCK), np.float32)
    for start in range(0, n, BLOCK):
        rows = vectors.rows(slice(start, start + BLOCK))  # [r, d]
        for other in range(start, n, BLOCK):
            columns = rows if other == start else vectors.rows(slice(other, other + BLOCK))
            scores = buffer[: len(rows), : len(columns)]
            whole = scores.flags.c_contiguous
            scores = np.matmul(rows, columns.T, out=scores if whole else None)
            found = np.flatnonzero(scores > threshold)
            i, j = np.divmod(found, scores.shape[1])
            similarities = scores.ravel()[found]
            if other == start:
                upper = i < j
                i, j, similarities = i[upper], j[upper], similarities[upper]
            if len(i):
                yield i + start, j + other, similarities


def duplicate_groups(vectors: StoredVectors, threshold: float) -> list[list[Member]]:
    """Groups of questions joined by pairs above a threshold, directly or through others.

    Args:
      vectors: the questions' vectors, rows of length 1.
      threshold: cosine above which two are joined. A low one joins nearly all to one group.

    Returns:
      The groups of two and more, the largest first (of equal size, the one that starts first); in a
      group the central question first, then by falling similarity to it.

    Example:
      >>> kept = StoredVectors.of(np.array([[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8]], np.float32))
      >>> [[member.row for member in group] for group in duplicate_groups(kept, 0.95)]
      [[2, 3]]
    """
    n = len(vectors)
    if not n:
        return []
    kept, count = [np.zeros((0, 2), np.int64)], 0
    for i, j, _ in similar_pairs(vectors, threshold):
        kept.append(np.stack([i, j], axis=1))
        count += len(i)
        if count > MOST_EDGES:  # Joined so far: a tree of at most n - 1 edges says the same.
            kept = [_tree(connected_groups(n, np.concatenate(kept)))]
            count = len(kept[0])
    labels = connected_groups(n, np.concatenate(kept))  # [n]
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    groups = [_ordered(vectors, rows) for rows in members if len(rows) > 1]
    return sorted(groups, key=lambda group: (-len(group), min(member.row for member in group)))


_OWN = ("group", "id", "question", "similarity", "central")


def group_rows(index: Any, groups: list[list[Member]]) -> Iterator[dict[str, Any]]:
    """Each member as a flat dict: group (from 1), id, question, similarity, central, columns."""
    entries = index.entries
    for number, group in enumerate(groups, start=1):
        for member in group:
            entry = entries[member.row]
            yield {
                "group": number,
                "id": entry["id"],
                "question": entry["question"],
                "similarity": round(member.similarity, 6),
                "central": int(member.is_central),
                **{f"column_{n}" if n in _OWN else n: v for n, v in entry["columns"].items()},
            }


def _tree(labels: np.ndarray) -> np.ndarray:
    """Edges from each thing to the first of its group, int64 [m, 2]."""
    _, first = np.unique(labels, return_index=True)
    edges = np.stack([first[labels], np.arange(len(labels))], axis=1)
    return edges[edges[:, 0] != edges[:, 1]]


def _ordered(vectors: StoredVectors, rows: np.ndarray) -> list[Member]:
    found = vectors.rows(rows)  # [members, d]
    central = int(np.argmax(found @ found.mean(axis=0)))
    similarities = np.vecdot(found, found[central]).tolist()
    rest = [
        at for at in np.argsort(-np.array(similarities, np.float32), kind="stable") if at != central
    ]
    return [Member(int(rows[at]), similarities[at], at == central) for at in (central, *rest)]
