"""Gradient-boosted decision trees as plain arrays: a sum of what the trees say of a row of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

_ROWS = 4096  # that go through the trees at once
_DEEPEST = 64


class Trees(NamedTuple):
    """Trees, one node after the other; a leaf is its own child.

    A row goes from each root to the right where its number is above the node's
    threshold, and to the left otherwise.
    """

    start: np.ndarray  # float64 []: the sum of no trees
    roots: np.ndarray  # int32 [trees], their first nodes
    depth: np.ndarray  # int32 []: of the deepest tree
    left: np.ndarray  # int32 [nodes]
    right: np.ndarray  # int32 [nodes]
    feature: np.ndarray  # uint8 [nodes]: which number of a row is compared
    threshold: np.ndarray  # float64 [nodes]
    value: np.ndarray  # float64 [nodes]: of a leaf, what it adds

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Trees:
        """The trees of arrays by these names; others are left out."""
        return cls(*(np.asarray(arrays[name]) for name in cls._fields))

    @classmethod
    def joined(
        cls, trees: Sequence[Mapping[str, np.ndarray]], start: float = 0.0
    ) -> Trees:
        """Single trees, each with the arrays of its nodes by name, and with its `depth`."""
        sizes = [len(tree["left"]) for tree in trees]
        roots = np.cumsum([0, *sizes])[:-1].astype(np.int32)

        def of_all(name: str, kind: type) -> np.ndarray:
            return np.concatenate([tree[name] for tree in trees]).astype(kind)

        offsets = np.repeat(roots, sizes)
        return cls(
            start=np.array(start, np.float64),
            roots=roots,
            depth=np.array(max(int(tree["depth"]) for tree in trees), np.int32),
            left=of_all("left", np.int32) + offsets,
            right=of_all("right", np.int32) + offsets,
            feature=of_all("feature", np.uint8),
            threshold=of_all("threshold", np.float64),
            value=of_all("value", np.float64),
        )

    def checked(self, numbers: int) -> Trees:
        """The same trees; ValueError unless they are trees of finite numbers for rows of so many."""
        nodes = len(self.value)
        ranges = (
            (self.roots, nodes),
            (self.left, nodes),
            (self.right, nodes),
            (self.feature, numbers),
            (self.depth, _DEEPEST),
        )
        shapes = {array.shape for array in self[3:]}
        are_numbers = all(array.dtype.kind in "iuf" for array in self)
        if shapes != {(nodes,)} or self.roots.ndim != 1 or not are_numbers:
            raise ValueError("its trees are none")
        for array, end in ranges:
            if (
                array.dtype.kind not in "iu"
                or np.any(array < 0)
                or np.any(array >= end)
            ):
                raise ValueError("its trees lead nowhere")
        sums = (self.start, self.threshold, self.value)
        if not all(np.isfinite(array).all() for array in sums):
            raise ValueError("its trees have numbers that are not finite")
        return self

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The sums, float64 [n], of rows of numbers, [n, numbers]."""
        sums = np.full(len(rows), self.start, np.float64)
        children = np.stack([self.left, self.right], axis=1).ravel().astype(np.intp)
        for at in range(0, len(rows), _ROWS):
            columns = np.ascontiguousarray(rows[at : at + _ROWS].T)
            n = columns.shape[1]
            each = np.arange(n)
            numbers = columns.ravel()
            places = self.feature.astype(np.intp) * n
            # Few rows go through several trees at once.
            count = _ROWS // n
            for first in range(0, len(self.roots), count):
                roots = self.roots[first : first + count].astype(np.intp)
                node = np.repeat(roots, n)
                own = np.tile(each, len(roots))
                for _ in range(self.depth):
                    place = places.take(node)
                    place += own
                    is_above = numbers.take(place) > self.threshold.take(node)
                    node += node
                    node += is_above
                    node = children.take(node)
                # One after the other: the order decides how a sum is rounded.
                for values in self.value.take(node).reshape(len(roots), n):
                    sums[at : at + _ROWS] += values
        return sums
