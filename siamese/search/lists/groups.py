"""Duplicate groups in a whole list, and which of them new questions belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import one_of
from siamese.data.clusters import connected_groups
from siamese.errors import ArgumentError
from siamese.search.lists.linkage import average_linkage, similar_pairs
from siamese.search.nearest import top_k

MOST_EDGES = 4_000_000  # pairs kept before they are joined to groups
MOST_JOINED = 10  # groups looked at for a new question
ROUNDING = 1e-6  # of a cosine: the vectors of one text, encoded twice, differ by less


class Member(NamedTuple):
    """A question in a duplicate group, whose central question is the one nearest to the group's mean."""

    row: int  # its place in the list
    similarity: float  # cosine with the central question
    is_central: bool


def duplicate_groups(
    vectors: np.ndarray,
    threshold: float,
    *,
    linkage: str = "average",
    largest: int | None = None,
) -> list[list[Member]]:
    """Groups of duplicate questions in a whole list.

    Args:
      vectors: float32 [n, d], of length 1.
      threshold: a cosine.
      linkage: 'average': groups are joined where the mean cosine over all their pairs is above the
        threshold; see `siamese.search.lists.linkage`. 'single': questions are joined by any pair above it,
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
    """The groups that int64 [n] labels tell, as `duplicate_groups` returns them."""
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    groups = [_ordered(vectors, rows) for rows in members if len(rows) > 1]
    return sorted(groups, key=lambda group: (-len(group), min(member.row for member in group)))


def joined_groups(
    vectors: np.ndarray, groups: list[list[Member]], new: np.ndarray, threshold: float
) -> list[list[tuple[list[Member], float]]]:
    """For each new question the groups it belongs to: its mean cosine with them is above a threshold.

    Args:
      vectors: those of the list.
      groups: of `duplicate_groups`; a question in none of them counts as a group of itself.
      new: float32 [new questions, d], of length 1 (or 0, which belongs nowhere).
      threshold: that of the groups.

    Returns:
      For each new question at most ten (group, mean cosine), the best first.
    """
    grouped = {member.row for group in groups for member in group}
    alone = [[Member(row, 1.0, True)] for row in range(len(vectors)) if row not in grouped]
    groups = [*groups, *alone]
    means = [vectors[[m.row for m in group]].mean(axis=0) for group in groups]
    means = np.array(means, np.float32).reshape(-1, new.shape[1])
    rows, cosines = top_k(means, new, MOST_JOINED)
    return [
        [(groups[row], cosine) for row, cosine in zip(*found) if cosine > threshold]
        for found in zip(rows.tolist(), cosines.tolist())
    ]


def group_rows(index: Any, groups: list[list[Member]]) -> Iterator[dict[str, Any]]:
    """Each member as a flat dict: group (from 1), id, question, similarity, central, columns."""
    for number, group in enumerate(groups, start=1):
        for row, similarity, is_central in group:
            entry = index.entries[row]
            columns = entry.pop("columns")
            own = {"group": number, **entry, "similarity": round(similarity, 6)}
            own["central"] = int(is_central)
            yield with_columns(own, columns)


def with_columns(own: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the command's, and after it the columns of a file; one of a taken name gets `column_`."""
    return {**own, **{f"column_{n}" if n in own else n: v for n, v in columns.items()}}


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


def _ordered(vectors: np.ndarray, rows: np.ndarray) -> list[Member]:
    """A group, the central question first; where rounding alone tells two apart, the earlier is first."""
    found = vectors[rows]  # [members, d]
    nearness = found @ found.mean(axis=0)
    central = int(np.argmax(nearness >= nearness.max() - ROUNDING))
    similarities = np.vecdot(found, found[central])
    order = np.argsort(-similarities, kind="stable")
    lower = np.cumsum(np.diff(similarities[order], prepend=2) < -ROUNDING)
    order = order[np.lexsort((order, lower))]
    order = [central, *order[order != central]]
    return [Member(int(rows[at]), float(similarities[at]), at == central) for at in order]
