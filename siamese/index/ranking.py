"""The hits of a question in their order: by the vectors, by words (BM25), or by both.

An index stores the numbers of each question's stems. How rare a stem is, and how long a
question usually is, are counted over all questions whenever one is asked, so that what
was added counts at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from siamese.index.stems import NUMBERS, UNSURE
from siamese.nn.nearest import best_rows, cosines_with, top_k
from siamese.system.open_types import JsonObject
from siamese.text.language import ENGLISH

MODES = ("hybrid", "vectors", "words")  # of a search's order
DEPTH = 300  # rows of each list that are joined, at least
# Of the cosine, chosen on Quora's validation rows: of a model with an encoder, and of a
# LSTM alone.
ENCODER_VECTOR_WEIGHT = 0.75
VECTOR_WEIGHT = 0.6
# So many rows of another language than English give its words a quarter of their weight,
# and more rows more of it. See "Words in small lists" in docs/topics/decisions.md.
MANY_ROWS = 1000
# how soon more of one word adds nothing; how much a long question loses
K1 = 1.2
B = 0.75

# Vectors that have a place beside those there are, so that a few can be added.
SPARE = 1024


class Hit(NamedTuple):
    """An old question, with its similarity (cosine) to the new one."""

    id: str
    question: str
    similarity: float
    probability: float | None  # None where the model has no calibration
    is_duplicate: bool
    difference: str  # what the near-miss check took a penalty for; '' for none
    columns: JsonObject


# ---- Vectors ----


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, which nobody can write to through this object."""
    array.flags.writeable = False
    return array


def room_for(vectors: np.ndarray, count: int) -> np.ndarray:
    """An array that begins with `vectors` and has place for `count` more, where possible their own."""
    n, size = vectors.shape
    base = vectors.base
    if isinstance(base, np.ndarray) and len(base) >= n + count and base.ndim == 2:
        return base
    base = np.empty((n + count + SPARE, size), np.float32)
    base[:n] = vectors
    return base


def appended(vectors: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Vectors with others after them, read-only, float32 [n, d]."""
    n = len(vectors)
    if not n:
        return read_only(np.asarray(more))
    base = room_for(vectors, len(more))
    base[n : n + len(more)] = more
    return read_only(base[: n + len(more)])


# ---- Words ----


class WordCounts(NamedTuple):
    """How often each stem stands in each of some rows."""

    starts: np.ndarray  # int64 [stems + 1]: where each stem begins in the next two
    rows: np.ndarray  # the rows that have it, rising
    counts: np.ndarray  # float32: how often each has it
    lengths: np.ndarray  # float32 [rows]: the words of each row
    # int8 [rows]: the number of each row's language; None where all have one.
    languages: np.ndarray | None = None
    # float64 [rows]: `shares_of_words`; None where all are 1.
    shares: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        stems: np.ndarray,
        lengths: np.ndarray,
        languages: np.ndarray | None = None,
    ) -> WordCounts:
        """Of the numbers of all rows' stems, int32 [words], and how many each row has, int [rows]."""
        n = max(len(lengths), 1)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        keys, counts = np.unique(stems.astype(np.int64) * n + rows, return_counts=True)
        numbers, rows = np.divmod(keys, n)
        starts = np.append(0, np.cumsum(np.bincount(numbers)))
        rows = rows.astype(np.int32)
        counts = counts.astype(np.float32)
        shares = None if languages is None else shares_of_words(languages)
        if languages is not None and (languages == languages[:1]).all():
            languages = None
        return cls(starts, rows, counts, lengths.astype(np.float32), languages, shares)


def shares_of_words(languages: np.ndarray) -> np.ndarray | None:
    """Which part of their weight the words of each row have in hybrid search, float64 [rows], 0 to 1.

    For n rows of a language it is (n / (n + `MANY_ROWS`))^2: of few texts it is not known
    which words are rare. English words have all of it. None where all rows are English.

    `languages` are the numbers of the rows' languages, int8 [rows].
    """
    english = NUMBERS[ENGLISH]
    if (languages == english).all():
        return None
    rows = np.bincount(languages, minlength=len(NUMBERS))
    shares = (rows / (rows + MANY_ROWS)) ** 2
    shares[english] = 1.0
    return shares[languages]


def bm25(words: WordCounts, stems: Sequence[int] | np.ndarray) -> np.ndarray:
    """BM25 of every row for a question, float32 [rows]; 0 for those that share no word with it.

    score = sum over the question's words of idf * c (k1 + 1) / (c + k1 (1 - b + b
    length / mean length)), c being how often the word stands in the row, and idf =
    log(1 + (n - rows with it + 0.5) / (rows with it + 0.5)). k1 = 1.2, b = 0.75.
    Source: Robertson and Zaragoza (2009), The Probabilistic Relevance Framework,
    section 3; with Lucene's idf, which is never negative. n and the mean length are
    those of the rows in the language of the stem.

    `stems` are the numbers of the question's stems; one repeated counts twice.
    """
    starts, all_rows, counts, lengths, languages, _ = words
    sizes: float | np.ndarray
    factors: float | np.ndarray
    scores = np.zeros(len(lengths), np.float32)
    if languages is None:
        sizes, factors = _of_language(lengths)
        saturation = K1 * (1 - B) + factors * lengths
    else:
        known = [_of_language(lengths[languages == at]) for at in NUMBERS.values()]
        sizes = np.array([size for size, _ in known])[languages]
        of_languages = np.array([factor for _, factor in known], np.float32)
        saturation = K1 * (1 - B) + of_languages[languages] * lengths
    for number, repeats in zip(
        *np.unique(np.asarray(stems, np.int64), return_counts=True)
    ):
        if number + 1 < len(starts):
            column = slice(*starts[number : number + 2])
            rows = all_rows[column]
            c = counts[column]
            # A stem is of one language, and so are the rows that have it.
            if not len(rows):
                continue
            n = int(sizes[rows[0]]) if isinstance(sizes, np.ndarray) else sizes
            idf = (
                np.log1p((n - len(rows) + 0.5) / (len(rows) + 0.5)) * repeats * (K1 + 1)
            )
            scores[rows] += np.float32(idf) * c / (c + saturation[rows])
    return scores


def _of_language(lengths: np.ndarray) -> tuple[int, float]:
    """How many rows there are, and by what BM25 multiplies the length of one."""
    n = len(lengths)
    mean = max(float(lengths.sum(dtype=np.float64)) / max(n, 1), 1e-9)
    return n, K1 * B / mean


def joined_scores(
    cosines: np.ndarray, scores: np.ndarray, weight: float | np.ndarray
) -> np.ndarray:
    """Cosine and BM25 of some rows as one number: w * z(cosine) + (1 - w) * z(BM25), float64 [rows].

    w is the weight, of all or of each row; z is a value less the mean of these rows,
    divided by their standard deviation.
    """

    def z(values: np.ndarray) -> np.ndarray:
        values = values.astype(np.float64)
        deviation = values.std() if len(values) else 0
        return (
            (values - values.mean()) / deviation
            if deviation > 1e-9
            else np.zeros(len(values))
        )

    return weight * z(cosines) + (1 - weight) * z(scores)


# ---- Hits ----


def ranked(
    vectors: np.ndarray,
    words: WordCounts | None,
    queries: np.ndarray,
    stems: list[np.ndarray],
    asked_in: Sequence[int],
    k: int,
    mode: str,
    weight: float,
) -> Iterator[np.ndarray]:
    """The places of the k hits of each query, best first, int64.

    Of a hybrid search both lists are as long as `DEPTH` or k; their union is ranked,
    all of it, by BM25 and cosine, with its `weight`.

    `vectors` are float32 [questions, d], `words` theirs (None where the mode is
    'vectors'), `queries` float32 [queries, d], `stems` the numbers of each one's stems,
    `asked_in` of its language. Words count for nothing in a row of another language, and
    have only a part of their weight in a small list of another language than English.
    """
    depth = max(k, DEPTH) if mode == "hybrid" else k
    by_vector = np.zeros((len(queries), 0), np.int64)
    if mode != "words":
        by_vector, _ = top_k(vectors, queries, depth)
    for query, numbers, code, places in zip(queries, stems, asked_in, by_vector):
        # Words alone find, where it has no vector.
        places = places if query.any() else places[:0]
        if mode != "vectors":
            assert words is not None
            scores = bm25(words, numbers)
            worded = best_rows(scores, depth, least=1e-30)
            union = sorted({*places.tolist(), *worded.tolist()})
            places = worded if mode == "words" else np.array(union, np.int64)
        if mode == "hybrid" and words is not None:
            cosines = cosines_with(vectors[places], query)
            weights: float | np.ndarray = weight
            if words.shares is not None:
                weights = 1 - (1 - weight) * words.shares[places]
            if code != UNSURE and words.languages is not None:
                weights = np.where(words.languages[places] == code, weights, 1.0)
            joined = joined_scores(cosines, scores[places], weights)
            places = places[np.lexsort((places, -cosines, -joined))]
        yield places[:k]
