"""Search by words (BM25), and its list joined with that of the vectors.

An index keeps for each of its segments which rows hold which words. How rare a word is, and how long a
question usually is, are counted over all live questions when one is asked, so that what was added or
removed counts at once.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack

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
    return [_stem(word) for word in _WORD.findall(folded(text))]


@functools.lru_cache(1 << 18)
def _stem(word: str) -> str:
    with _STEMMING:  # A stemmer holds the word it works on.
        return _stemmer().stemWord(word)


@functools.cache
def _stemmer():
    import Stemmer  # Not at the top: only searches by words need it.

    return Stemmer.Stemmer("english")


def text_key(text: str) -> int:
    """The first 64 bits of a text's BLAKE2: different texts have, but for chance, different ones."""
    content = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _keys(words: Iterable[str]) -> np.ndarray:
    return np.fromiter(map(text_key, words), np.uint64)


@dataclass(frozen=True, eq=False)
class Postings:
    """Which rows hold which words, and how often; may be mapped from files.

    Args:
      keys: uint64 [words], rising: `text_key` of each word.
      counts: uint16 sparse [words, rows]; how often a word stands in a row.
      lengths: int32 [rows]; the words of each row.
    """

    keys: np.ndarray
    counts: csr_array
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str]) -> Postings:
        """Counts the words of some texts, a row each."""
        numbers: dict[str, int] = {}
        found, sizes = array("i"), array("i")
        for text in texts:
            numbered = [numbers.setdefault(word, len(numbers)) for word in words_in(text)]
            found.extend(numbered)
            sizes.append(len(numbered))
        words, lengths = np.array(found, np.int32), np.array(sizes, np.int32)
        keys = _keys(numbers)
        places = np.empty(len(keys), np.int32)
        places[np.argsort(keys)] = np.arange(len(keys))
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        shape = len(keys), len(lengths)
        counts = coo_array((np.ones(len(rows), np.int32), (places[words], rows)), shape).tocsr()
        counts.data = np.minimum(counts.data, np.iinfo(np.uint16).max).astype(np.uint16)
        return cls(np.sort(keys), counts, lengths)

    @classmethod
    def joined(cls, parts: Sequence[Postings]) -> Postings:
        """Those of some texts, one after the other."""
        keys = functools.reduce(np.union1d, [part.keys for part in parts])
        aligned = []
        for part in parts:
            sizes = np.zeros(len(keys), np.int64)
            sizes[np.searchsorted(keys, part.keys)] = np.diff(part.counts.indptr)
            starts = np.concatenate([[0], np.cumsum(sizes)])
            shape = len(keys), len(part.lengths)
            aligned.append(csr_array((part.counts.data, part.counts.indices, starts), shape))
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(keys, hstack(aligned, "csr"), lengths)

    def take(self, rows: np.ndarray) -> Postings:
        """Those of some rows, in the order of int64 `rows`."""
        return Postings(self.keys, self.counts[:, rows], self.lengths[rows])

    @functools.cached_property
    def total(self) -> int:
        """All words, each as often as it stands there."""
        return int(self.lengths.sum(dtype=np.int64))

    def holding(self, keys: np.ndarray) -> csr_array:
        """The counts of some words, uint16 sparse [keys, rows]; a word that is nowhere has none."""
        places = np.searchsorted(self.keys, keys)
        known = places < len(self.keys)
        known[known] = self.keys[places[known]] == keys[known]
        found = self.counts[places[known]]
        sizes = np.zeros(len(keys) + 1, np.int64)
        sizes[1:][known] = np.diff(found.indptr)
        return csr_array((found.data, found.indices, sizes.cumsum()), (len(keys), found.shape[1]))


def bm25(parts: Sequence[Postings], removed: np.ndarray, question: str) -> np.ndarray:
    """BM25 of every row for a question, float32 [rows]; 0 for those that share no word, and the removed.

    score = sum over the question's words of idf * c (k1 + 1) / (c + k1 (1 - b + b length / mean length)),
    c being how often the word stands in the row, and idf = log(1 + (n - rows with it + 0.5) /
    (rows with it + 0.5)). k1 = 1.2, b = 0.75. Source: Robertson and Zaragoza (2009), The Probabilistic
    Relevance Framework, section 3; with Lucene's idf, which is never negative.

    Args:
      parts: the words of the rows, part after part.
      removed: int64, rising; rows that do not count.
      question: what is asked.
    """
    keys, times = np.unique(_keys(words_in(question)), return_counts=True)
    starts = np.cumsum([0, *(len(part.lengths) for part in parts)])
    scores = np.zeros(starts[-1], np.float32)
    lengths = np.concatenate([part.lengths for part in parts])
    n, total = len(lengths) - len(removed), sum(part.total for part in parts)
    total -= int(lengths[removed].sum(dtype=np.int64))
    if not total:
        return scores
    found = [part.holding(keys) for part in parts]
    with_word = sum(np.diff(counts.indptr) for counts in found)  # [keys]
    if len(removed):
        gone = np.zeros(len(lengths), np.float32)
        gone[removed] = 1
        for counts, start, stop in zip(found, starts, starts[1:]):
            with_word = with_word - (counts > 0) @ gone[start:stop]
    idf = np.log1p((n - with_word + 0.5) / (with_word + 0.5)) * times
    saturation = (K1 * (1 - B + B * n / total * lengths)).astype(np.float32)  # [rows]
    for counts, start, stop in zip(found, starts, starts[1:]):
        c = counts.data.astype(np.float32)
        c *= (K1 + 1) / (c + saturation[start:stop][counts.indices])
        weights = csr_array((c, counts.indices, counts.indptr), counts.shape)  # [keys, rows]
        scores[start:stop] = weights.T @ idf.astype(np.float32)
    scores[removed] = 0
    return scores


def best_rows(scores: np.ndarray, k: int) -> np.ndarray:
    """The rows of the k largest scores above 0, int64, best first; of equal ones the first comes first."""
    least = 1e-30
    tiles = len(scores) // _TILE
    if (
        tiles >= k
    ):  # The k-th largest of all is no smaller than the k-th largest of the tiles' maxima.
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
