"""Duplicate groups in a whole list: every pair above a threshold, joined into groups.

The list is compared with itself block by block, upper triangle only, so that the n x n matrix is
never in memory; pairs are joined to groups as they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from siamese.data.clusters import connected_groups
from siamese.errors import ArgumentError
from siamese.search.nearest import StoredVectors

BLOCK = 2048  # rows and columns of a block of similarities: 16 MiB
MOST_EDGES = 4_000_000  # pairs kept before they are joined to groups


class Member(NamedTuple):
    """A question in a duplicate group, whose central question is the one nearest to the group's mean."""

    row: int  # its place in the list
    similarity: float  # cosine with the central question
    is_central: bool


def similar_pairs(
    vectors: StoredVectors, threshold: float
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields all pairs whose cosine is above a threshold, each once, block by block.

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
            np.matmul(rows, columns.T, out=scores)
            i, j = np.divmod(np.flatnonzero(scores > threshold), len(columns))
            similarities = scores[i, j]
            if other == start:
                upper = i < j
                i, j, similarities = i[upper], j[upper], similarities[upper]
            if len(i):
                yield i + start, j + other, similarities


def duplicate_groups(vectors: StoredVectors, threshold: float) -> list[list[Member]]:
    """Groups of questions joined by pairs whose cosine is above a threshold, directly or through others.

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
        if (
            count > MOST_EDGES
        ):  # An edge from each question to the first of its group says the same.
            labels = connected_groups(n, np.concatenate(kept))
            _, first = np.unique(labels, return_index=True)
            kept, count = [np.stack([first[labels], np.arange(n)], axis=1)], 0
    labels = connected_groups(n, np.concatenate(kept))  # [n]
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    groups = [_ordered(vectors, rows) for rows in members if len(rows) > 1]
    return sorted(groups, key=lambda group: (-len(group), min(member.row for member in group)))


def group_rows(index: Any, groups: list[list[Member]]) -> Iterator[dict[str, Any]]:
    """Each member as a flat dict: group (from 1), id, question, similarity, central, columns."""
    for number, group in enumerate(groups, start=1):
        for row, similarity, is_central in group:
            entry = index.entries[row]
            columns = entry.pop("columns")
            own = {"group": number, **entry, "similarity": round(similarity, 6)}
            own["central"] = int(is_central)
            yield {**own, **{f"column_{n}" if n in own else n: v for n, v in columns.items()}}


def _ordered(vectors: StoredVectors, rows: np.ndarray) -> list[Member]:
    """A group, the central question first."""
    found = vectors.rows(rows)  # [members, d]
    central = int(np.argmax(found @ found.mean(axis=0)))
    similarities = np.vecdot(found, found[central])
    order = np.argsort(-similarities, kind="stable")
    order = [central, *order[order != central]]
    return [Member(int(rows[at]), float(similarities[at]), at == central) for at in order]
