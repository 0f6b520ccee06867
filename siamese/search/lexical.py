"""Search by words (BM25), and its order joined with that of the vectors.

An index stores the numbers of each question's stems. How rare a stem is, and how long a question usually
is, are counted over all questions whenever one is asked, so that what was added counts at once.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array

from siamese.data.text import folded

DEPTH = 300  # rows of each list that are joined, at least
# Of the cosine, chosen on Quora's validation rows: of a model with an encoder, and of a tower alone.
ENCODER_VECTOR_WEIGHT, VECTOR_WEIGHT = 0.75, 0.6
K1, B = 1.2, 0.75  # how soon more of one word adds nothing; how much a long question loses

_STEMMING = threading.Lock()
_TILE = 64  # scores of which the largest is looked at first
_WORD = re.compile(r"\w+")


def words_in(text: str) -> list[str]:
    """The words that are counted, folded and stemmed, in order.

    The stemmer is Snowball's for English (Porter2); it leaves words of other scripts as they are.

    Example:
      >>> words_in("Which cities' parks?")
      ['which', 'citi', 'park']
    """
    return stems_of(folded(text))


def stems_of(text: str) -> list[str]:
    """`words_in` of a text that is folded already."""
    return [_stem(word) for word in _WORD.findall(text)]


@functools.lru_cache(1 << 18)
def _stem(word: str) -> str:
    with _STEMMING:  # A stemmer holds the word it works on.
        return _stemmer().stemWord(word)


@functools.cache
def _stemmer():
    import Stemmer  # Not at the top: only searches by words need it.

    return Stemmer.Stemmer("english")


class WordCounts(NamedTuple):
    """How often each stem stands in each of some rows."""

    counts: csc_array  # float32 [rows, stems]
    lengths: np.ndarray  # float32 [rows]: the words of each row

    @classmethod
    def of(cls, stems: np.ndarray, lengths: np.ndarray, size: int) -> WordCounts:
        """Counts the stems of some rows.

        Args:
          stems: int32 [words], the numbers of all rows' stems, row after row.
          lengths: int [rows], the words of each row.
          size: a number above every stem's.
        """
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        ones = np.ones(len(stems), np.float32)
        counts = coo_array((ones, (rows, stems)), shape=(len(lengths), size)).tocsc()
        return cls(counts, lengths.astype(np.float32))


def bm25(parts: Sequence[WordCounts], stems: Sequence[int]) -> np.ndarray:
    """BM25 of every row for a question, float32 [rows]; 0 for those that share no word with it.

    score = sum over the question's words of idf * c (k1 + 1) / (c + k1 (1 - b + b length / mean length)),
    c being how often the word stands in the row, and idf = log(1 + (n - rows with it + 0.5) /
    (rows with it + 0.5)). k1 = 1.2, b = 0.75. Source: Robertson and Zaragoza (2009), The Probabilistic
    Relevance Framework, section 3; with Lucene's idf, which is never negative.

    Args:
      parts: the words of the rows, part after part.
      stems: the numbers of the question's stems; one repeated counts twice.

    Example:
      >>> part = WordCounts.of(np.array([0, 1, 1], np.int32), np.array([2, 1]), 2)
      >>> bm25([part], [0]).round(3).tolist()
      [0.609, 0.0]
    """
    lengths = np.concatenate([part.lengths for part in parts])
    n, scores = len(lengths), np.zeros(len(lengths), np.float32)
    if not n:
        return scores
    saturation = K1 * (1 - B) + K1 * B / max(float(lengths.mean(dtype=np.float64)), 1e-9) * lengths
    numbers, times = np.unique(np.asarray(stems, np.int64), return_counts=True)
    for number, repeats in zip(numbers.tolist(), times.tolist()):
        start, postings = 0, []
        for counts, part_lengths in parts:
            if number < counts.shape[1]:
                where = slice(counts.indptr[number], counts.indptr[number + 1])
                postings.append((counts.indices[where] + start, counts.data[where]))
            start += len(part_lengths)
        with_word = sum(len(rows) for rows, _ in postings)
        idf = np.float32(np.log1p((n - with_word + 0.5) / (with_word + 0.5)) * repeats * (K1 + 1))
        for rows, c in postings:  # No row stands there twice.
            scores[rows] += idf * c / (c + saturation[rows])
    return scores


def best_rows(scores: np.ndarray, k: int) -> np.ndarray:
    """The rows of the k largest scores above 0, int64, best first; of equal ones the first comes first."""
    least = 1e-30
    tiles = len(scores) // _TILE
    # The k-th largest of all is no smaller than the k-th largest of the tiles' maxima.
    if tiles >= k:
        maxima = scores[: tiles * _TILE].reshape(tiles, _TILE).max(axis=1)
        least = max(least, np.partition(maxima, -k)[-k])
    rows = np.flatnonzero(scores >= least)
    if k < len(rows):
        rows = rows[scores[rows] >= np.partition(scores[rows], -k)[-k]]
    return rows[np.argsort(-scores[rows], kind="stable")][:k]


def joined_scores(cosines: np.ndarray, scores: np.ndarray, weight: float) -> np.ndarray:
    """Cosine and BM25 of some rows as one number: w * z(cosine) + (1 - w) * z(BM25), float64 [rows].

    w is the weight; z is a value less the mean of these rows, divided by their standard deviation.

    Example:
      >>> joined_scores(np.array([0.9, 0.1]), np.array([3.0, 3.0]), 0.6)
      array([ 0.6, -0.6])
    """

    def z(values: np.ndarray) -> np.ndarray:
        values = values.astype(np.float64)
        deviation = values.std() if len(values) else 0
        return (values - values.mean()) / deviation if deviation > 1e-9 else np.zeros(len(values))

    return weight * z(cosines) + (1 - weight) * z(scores)
