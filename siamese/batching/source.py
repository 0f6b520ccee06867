"""Where PairBatches takes its pairs from: token rows in memory or on disk."""

from __future__ import annotations

import mmap
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from siamese.batching.ragged_file import RaggedFile
from siamese.data.token_rows import CHUNK, check_pairs, token_rows
from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged


class ClusterIds(NamedTuple):
    """The cluster of each pair's two questions; a negative id is a question of no known cluster."""

    side1: np.ndarray  # integer [pairs]
    side2: np.ndarray  # integer [pairs]

    def of(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both sides' ids of the pairs named."""
        return self.side1[pairs], self.side2[pairs]

    def compact(self) -> ClusterIds:
        """The same clusters by small numbers, which compare several times faster.

        A cluster that occurs in one pair only says nothing about another pair, and is left out.
        """
        numbers, places = np.unique(np.stack(self), return_inverse=True)
        one, two = places.reshape(2, -1)
        times = np.bincount(one, minlength=len(numbers))
        times += np.bincount(two[one != two], minlength=len(numbers))  # pairs that hold each
        keep = (times > 1) & (numbers >= 0)
        size = np.int16 if keep.sum() < 2**15 else np.int32
        new = np.where(keep, np.cumsum(keep) - 1, -1).astype(size)
        return ClusterIds(new[one], new[two])


class PairSource:
    """Pairs of questions, read by their numbers.

    Args:
      q1: the first questions, or the table that ``rows[0]`` points into.
      q2: the second questions, or the table that ``rows[1]`` points into.
      rows: None where q2[i] is paired with q1[i]; else two integer arrays [pairs] of rows.
      max_length: tokens after which a question is cut, or None.
      name: what to call the pairs in a message.

    Raises:
      DataError: for no pairs, sides of unequal length, rows outside the tables, empty questions.
    """

    def __init__(self, q1: Any, q2: Any, rows=None, max_length: int | None = None, name: str = ""):
        self.q1 = token_rows(q1, f"{name}q1")
        self.q2 = self.q1 if q2 is q1 else token_rows(q2, f"{name}q2")
        self.max_length = max_length
        self._rows: tuple[np.ndarray, np.ndarray] | None = None
        if rows is None:
            check_pairs(self.q1, self.q2, f"{name}q1", f"{name}q2")
            self.pairs = len(self.q1)
        else:
            self._rows = tuple(
                integer_column(side, f"{name}rows[{i}]") for i, side in enumerate(rows)
            )
            check_pairs(*self._rows, f"{name}rows[0]", f"{name}rows[1]")
            self.pairs = len(self._rows[0])
        self._in_files = isinstance(self.q1, RaggedFile) or isinstance(self.q2, RaggedFile)
        tables = [table for table in (self.q1, self.q2) if not isinstance(table, RaggedFile)]
        arrays = [array for table in tables for array in (table.values, table.offsets)]
        self._maps = _read_only_maps(arrays + list(self._rows or []))
        self.truncated = 0  # questions of the pairs that are cut
        self.histogram = self._measure(name)  # int64 [longest + 1]: pairs by their length

    @property
    def on_disk(self) -> bool:
        """Whether any of it is read from a file, where neighbours are quicker to read."""
        return self._in_files or bool(self._maps)

    def pair_lengths(self, pairs: np.ndarray) -> np.ndarray:
        """The longer question's tokens, after the cut, int64 [pairs]."""
        lengths = np.maximum(*self._both_lengths(pairs))
        return lengths if self.max_length is None else np.minimum(lengths, self.max_length)

    def padded(
        self, pairs: np.ndarray, length: int, pad: int, swapped: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both sides of the pairs named, and how many tokens each pair has.

        Args:
          pairs: int64 [batch].
          length: tokens a row; longer questions are cut.
          pad: the token after each question's end.
          swapped: bool [batch]; pairs whose sides change places, or None.

        Returns:
          q1 and q2, int32 [batch, length], and int64 [batch].
        """
        rows1, rows2 = self._both_rows(pairs)
        if swapped is not None and self.q1 is self.q2:
            rows1, rows2 = np.where(swapped, rows2, rows1), np.where(swapped, rows1, rows2)
        q1, tokens1 = padded_rows(self.q1, rows1, length, pad)
        q2, tokens2 = padded_rows(self.q2, rows2, length, pad)
        if swapped is not None and self.q1 is not self.q2:
            change = swapped[:, None]
            q1, q2 = np.where(change, q2, q1), np.where(change, q1, q2)
        self.forget_pages()
        return q1, q2, tokens1 + tokens2

    def cluster_ids(self, clusters: Any) -> ClusterIds | None:
        """The clusters of the pairs, checked: one array for both sides, or a tuple of two.

        Raises:
          DataError: where they are no integers, or not one for each pair.
        """
        if clusters is None:
            return None
        sides = clusters if isinstance(clusters, tuple) else (clusters, clusters)
        if len(sides) != 2:
            raise DataError(f"clusters must be one array, or a tuple of two; it has {len(sides)}.")
        ids = [integer_column(side, f"clusters[{i}]") for i, side in enumerate(sides)]
        for side in ids:
            if len(side) != self.pairs:
                raise DataError(
                    f"clusters holds {len(side)} ids for {self.pairs} pairs; give one a pair."
                )
        maps = _read_only_maps(ids)
        self._maps += maps
        found = ClusterIds(*ids)
        return found if maps else found.compact()

    def forget_pages(self) -> None:
        """Gives the pages of mapped files back to the system, so that they do not add up."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    def _both_rows(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._rows is None:
            return pairs, pairs
        return self._rows[0][pairs].astype(np.int64), self._rows[1][pairs].astype(np.int64)

    def _both_lengths(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows1, rows2 = self._both_rows(pairs)
        return self.q1.lengths[rows1], self.q2.lengths[rows2]

    def _measure(self, name: str) -> np.ndarray:
        histogram = np.zeros(1, dtype=np.int64)
        for start in range(0, self.pairs, CHUNK):
            pairs = np.arange(start, min(start + CHUNK, self.pairs))
            self._check_rows(pairs, name)
            both = np.stack(self._both_lengths(pairs))  # [2, pairs]
            if (both == 0).any():
                side, place = np.argwhere(both == 0)[0]
                raise DataError(
                    f"Pair {start + place} has an empty question in {name}q{side + 1}: it has no "
                    "token. Leave out pairs with an empty question."
                )
            if self.max_length is not None:
                self.truncated += int((both > self.max_length).sum())
            counts = np.bincount(self.pair_lengths(pairs), minlength=len(histogram))
            counts[: len(histogram)] += histogram
            histogram = counts
            self.forget_pages()
        return histogram

    def _check_rows(self, pairs: np.ndarray, name: str) -> None:
        if self._rows is None:
            return
        for side, (rows, table) in enumerate(zip(self._rows, (self.q1, self.q2))):
            outside = (rows[pairs] < 0) | (rows[pairs] >= len(table))
            if outside.any():
                at = pairs[outside.argmax()]
                raise DataError(
                    f"{name}rows[{side}][{at}] is {rows[at]}, but q{side + 1} has "
                    f"{len(table)} questions."
                )


def labelled_source(labelled: tuple, max_length: int | None) -> tuple[PairSource, np.ndarray]:
    """PairBatches' argument `labelled`, checked: the pairs and their labels, int32 [pairs].

    Raises:
      ArgumentError: where it is no tuple of the right length.
      DataError: where pairs and labels do not go together.
    """
    if not isinstance(labelled, tuple) or len(labelled) not in (3, 4):
        raise ArgumentError("labelled must be (q1, q2, is_duplicate) or (..., rows).")
    source = PairSource(
        labelled[0], labelled[1], *labelled[3:], max_length=max_length, name="labelled "
    )
    labels = np.asarray(labelled[2])
    if labels.shape != (source.pairs,) or not np.isin(labels, (0, 1)).all():
        raise DataError(
            f"labelled is_duplicate must be one 0 or 1 for each of the {source.pairs} pairs."
        )
    return source, labels.astype(np.int32)


def padded_rows(
    table: Ragged, rows: np.ndarray, length: int, pad: int
) -> tuple[np.ndarray, np.ndarray]:
    """The named rows, cut and padded to `length`: int32 [rows, length], and their tokens [rows]."""
    if isinstance(table, RaggedFile):
        values, starts, tokens = table.fetch(rows)
    else:
        values, starts = np.ascontiguousarray(table.values), table.offsets[rows]
        tokens = table.lengths[rows]
    tokens = np.minimum(tokens, length)
    # Copy `length` values from each row's start on, in one call, and mend what lies past its end.
    # The values are seen as overlapping items of that many, one from every place on.
    last = len(values) - length
    if last >= 0:
        items = np.ndarray(last + 1, f"V{4 * length}", buffer=values, strides=(4,))
        out = items[np.minimum(starts, last)].view(np.int32).reshape(-1, length)
        late = np.flatnonzero(starts > last)
    else:
        out, late = np.empty((len(rows), length), np.int32), range(len(rows))
    for row in late:  # only rows at the very end of the values
        out[row, : tokens[row]] = values[starts[row] : starts[row] + tokens[row]]
    keep, fill = _padding_bits(length, pad)
    out &= keep.take(tokens, axis=0)
    out |= fill.take(tokens, axis=0)
    return out, tokens


@lru_cache(maxsize=64)
def _padding_bits(length: int, pad: int) -> tuple[np.ndarray, np.ndarray]:
    """What to and, then to or, onto a row of n tokens, int32 [n, length]: quicker than a mask."""
    inside = np.tri(length + 1, length, -1, dtype=bool)  # inside[n]: the first n places
    keep = np.where(inside, np.int32(-1), np.int32(0))
    return keep, np.where(inside, np.int32(0), np.int32(pad))


def integer_column(values: Any, name: str) -> np.ndarray:
    """`values` as a one-dimensional integer array, without a copy where it is one.

    Raises:
      DataError: where it is not.
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise DataError(
            f"{name} must be one integer per pair; it is {array.dtype} of shape {array.shape}."
        )
    return array


def _read_only_maps(arrays: list[np.ndarray]) -> list[mmap.mmap]:
    """The files mapped for reading under some arrays; a writable map may hold unsaved changes."""
    found: dict[int, mmap.mmap] = {}
    for array in arrays:
        base, read_only = array, False
        while base is not None and not isinstance(base, mmap.mmap):
            read_only = read_only or getattr(base, "mode", "") == "r"
            base = getattr(base, "base", None)
        if isinstance(base, mmap.mmap) and read_only and hasattr(base, "madvise"):
            found[id(base)] = base
    return list(found.values())
