"""Questions that share rare words: hard negatives to train on, and topic-homogeneous batches.

Random negatives differ in their topic. A model must learn to tell "How do I hack the
web page of a shop?" from "How do I hack a phone?". The cosine of TF-IDF vectors (of
words and pairs of neighbouring words) finds such pairs among the training questions.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from siamese.nn.ragged import Ragged

LOWEST, HIGHEST = 0.4, 0.75  # TF-IDF cosines of hard negatives
COMMON = 4000  # a term of this many questions or more finds no neighbours: too many
NEIGHBOURS = 20  # nearest questions looked at for each one
DIRECTIONS = 64  # singular vectors of the TF-IDF matrix, along which pairs are ordered


class SimilarQuestions:
    """The training questions by their TF-IDF vectors; cosines are rounded, so that a resume agrees.

    `ids` are token ids, a row for each distinct question; `rows`, int64 (rows1, rows2)
    of [pairs], are the training pairs as rows of them; `clusters`, as many, of which
    one holds duplicates; `seed` of all draws.
    """

    def __init__(self, ids: Ragged, rows: Any, clusters: Any, seed: int = 0):
        self._rows, places = np.unique(np.concatenate(rows), return_inverse=True)
        self._pairs = places.reshape(2, -1)
        self._clusters = np.empty(len(self._rows), np.int64)
        self._clusters[self._pairs] = clusters
        self._seed = seed
        self.weights = term_weights(ids.take(self._rows))

    def hard_negatives(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """At most `count` pairs of moderate cosine from different clusters: two int64 rows of `ids`.

        Some are duplicates that nobody labelled, more of them the higher the cosine:
        hence `HIGHEST`.
        """
        draw = np.random.default_rng(self._seed)
        frequency = np.bincount(self.weights.indices, minlength=self.weights.shape[1])
        rare = self.weights[:, np.flatnonzero(frequency < COMMON)]
        columns = rare.T.tocsr()
        order = draw.permutation(len(self._rows))
        pairs = np.zeros((0, 2), np.int64)
        for start in range(0, len(order), 2000):
            if (
                len(pairs) >= 3 * count
            ):  # Stopping at `count` would favour the first questions.
                break
            asked = order[start : start + 2000]
            cosines = (rare[asked] @ columns).tocoo()  # [asked, questions]
            value = np.round(cosines.data, 9)
            at = np.flatnonzero(value >= LOWEST)
            at = at[np.lexsort((cosines.col[at], -value[at], cosines.row[at]))]
            row, other, value = cosines.row[at], cosines.col[at], value[at]
            rank = np.arange(len(row)) - np.searchsorted(
                row, row
            )  # among the row's neighbours
            apart = self._clusters[other] != self._clusters[asked[row]]
            fits = (rank < NEIGHBOURS) & (value < HIGHEST) & apart
            more = np.stack([asked[row[fits]], other[fits]], axis=1).astype(np.int64)
            pairs = np.concatenate([pairs, np.sort(more, axis=1)])
        pairs = np.unique(pairs, axis=0)
        pairs = self._rows[pairs[draw.permutation(len(pairs))[:count]]]
        return pairs[:, 0], pairs[:, 1]

    @threadpool_limits.wrap(
        limits=1
    )  # Sums of other threads round otherwise: a resume must agree.
    def topic_order(self, pairs: np.ndarray, block: int) -> np.ndarray:
        """An order of pairs in which neighbours share their topic: each other's in-batch negatives.

        The pairs, int64 [n] of the training pairs, are halved again and again at the
        median of their first principal component, until a part holds at most `block`. A
        pair is the sum of its questions' vectors, reduced by a truncated SVD (latent
        semantic analysis) and scaled to length 1. Returns positions in `pairs`, int64
        [n].
        """
        from sklearn.decomposition import TruncatedSVD
        from sklearn.preprocessing import normalize

        if self.weights.shape[1] < 2:  # fewer terms than TruncatedSVD takes
            return np.arange(len(pairs))
        size = min(DIRECTIONS, *self.weights.shape)
        svd = TruncatedSVD(size, n_iter=4, random_state=self._seed)
        topics = normalize(svd.fit_transform(self.weights))  # [questions, size]
        places = topics[self._pairs[:, pairs]].sum(axis=0)  # [n, size]
        draw = np.random.default_rng(self._seed)
        parts, done = [np.arange(len(places))], []
        while parts:
            part = parts.pop()
            if len(part) <= block:
                done.append(part)
                continue
            here = places[part]
            some = here[draw.permutation(len(here))[:500]]
            some = some - some.mean(axis=0)
            line = np.linalg.eigh(some.T @ some)[1][
                :, -1
            ]  # [size]; PCA, without its checks
            part = part[np.argsort(np.round(here @ line, 6), kind="stable")]
            half = len(part) // 2
            parts += [part[half:], part[:half]]  # The first half is taken up next.
        return np.concatenate(done)


def term_weights(questions: Ragged) -> Any:
    """TF-IDF vectors of questions as token ids, over words and neighbours that two or more of them have.

    They are of scipy.sparse, float64 [questions, terms], rows of length 1 or zero.
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    def terms(row: list[int]) -> list[tuple[int, ...]]:
        return [*((word,) for word in row), *itertools.pairwise(row)]

    vectorizer = TfidfVectorizer(analyzer=terms, min_df=2, sublinear_tf=True)
    try:
        return csr_array(vectorizer.fit_transform([row.tolist() for row in questions]))
    except ValueError:  # No term stands in two questions.
        return csr_array((len(questions), 0))
