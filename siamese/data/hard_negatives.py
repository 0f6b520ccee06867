"""Questions that share rare words: near misses as further non-duplicates, and batches on one subject.

Negatives drawn at random are told apart by their subject alone. What a model must learn is to tell
"How do I hack the web page of a shop?" from "How do I hack a phone?". Such pairs stand in every list of
questions, and the cosine of their TF-IDF vectors (words and pairs of neighbouring words) finds them:

- `near_misses`: pairs of questions of moderate TF-IDF cosine from different clusters, to train on as
  non-duplicates. Some are duplicates that nobody labelled, more of them the higher the cosine; so there
  is an upper end.
- `subject_order`: the training pairs in an order in which neighbours are about the same thing, so that
  blocks of them are each other's in-batch negatives.

Only the questions and labels given are looked at. Everything is computed in float64 and rounded before it
is compared, so that a resumed run orders its pairs as the first part did.
"""

from __future__ import annotations

import numpy as np

from siamese.course.similarity import l2_normalize
from siamese.nn.ragged import Ragged

LOWEST, HIGHEST = 0.4, 0.75  # TF-IDF cosines between which two questions are near misses.
COMMON = 4000  # A term of more questions than this finds no neighbours: too many.
NEIGHBOURS = 20  # nearest questions looked at for each one
DIRECTIONS = 64  # main directions of the TF-IDF vectors, along which pairs are ordered


class SimilarQuestions:
    """The training questions by their TF-IDF vectors.

    Args:
      ids: token ids, a row for each distinct question.
      rows: (rows1, rows2), int64 [pairs] each: the training pairs, as rows of `ids`.
      clusters: (clusters1, clusters2), int64 [pairs] each: questions of one cluster are duplicates.
      seed: of all that is drawn.
    """

    def __init__(self, ids: Ragged, rows, clusters, seed: int = 0):
        self._rows, places = np.unique(np.concatenate(rows), return_inverse=True)
        self._pairs = places.reshape(2, -1)
        self._clusters = np.empty(len(self._rows), np.int64)
        self._clusters[places] = np.concatenate(clusters)
        self._seed = seed
        self._weights = term_weights(ids.take(self._rows))

    def near_misses(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """`near_misses` among the training questions, as two int64 arrays of rows of `ids`."""
        found = near_misses(self._weights, self._clusters, count, self._seed)
        return tuple(self._rows[side] for side in found)

    def order(self, pairs: np.ndarray, block: int) -> np.ndarray:
        """`subject_order` of some of the pairs, as positions among those given."""
        return subject_order(self._weights, *self._pairs[:, pairs], block, self._seed)


def term_weights(questions: Ragged):
    """TF-IDF vectors of questions given as token ids, over single words and pairs of neighbours.

    Args:
      questions: token ids; a row for each question.

    Returns:
      scipy.sparse.csr_array, float64 [questions, terms], rows of length 1 or zero: (1 + log tf) times
      log((1 + n) / (1 + df)) + 1, terms of two or more questions only (scikit-learn's formula).
    """
    from scipy.sparse import csr_array

    n = len(questions)
    ids = np.asarray(questions.values, np.int64)
    row = np.repeat(np.arange(n), questions.lengths)
    words = int(ids.max(initial=0)) + 1
    neighbours = row[:-1] == row[1:]
    terms = np.concatenate([ids, ((ids[:-1] + 1) * words + ids[1:])[neighbours]])
    rows = np.concatenate([row, row[:-1][neighbours]])
    _, terms = np.unique(terms, return_inverse=True)
    counts = csr_array(
        (np.ones(len(rows)), (rows, terms)), shape=(n, int(terms.max(initial=-1)) + 1)
    )
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    keep = np.flatnonzero(frequency >= 2)
    counts, frequency = csr_array(counts[:, keep]), frequency[keep]
    counts.data = 1 + np.log(counts.data)
    counts.data *= (np.log((1 + n) / (1 + frequency)) + 1)[counts.indices]
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())  # [questions]
    counts.data /= np.repeat(np.where(length > 0, length, 1), np.diff(counts.indptr))
    return counts


def near_misses(
    weights, clusters: np.ndarray, count: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of questions of moderate TF-IDF cosine that stand in different clusters.

    Args:
      weights: what `term_weights` gave.
      clusters: int64 [questions]; questions of one cluster are duplicates.
      count: how many pairs at most.
      seed: decides which questions are looked at, and which pairs are kept.

    Returns:
      Two int64 [pairs] arrays of rows, in a random order.

    Example:
      >>> asked = Ragged.from_lists([[5, 6, 9], [5, 6, 8], [9, 8, 7]])
      >>> one, two = near_misses(term_weights(asked), np.array([0, 1, 2]), 10)
      >>> sorted(zip(one.tolist(), two.tolist()))
      [(0, 1)]
    """
    from scipy.sparse import csr_array

    draw = np.random.default_rng(seed)
    frequency = np.bincount(weights.indices, minlength=weights.shape[1])
    rare = csr_array(weights[:, np.flatnonzero(frequency < COMMON)])
    columns = csr_array(rare.T)
    order = draw.permutation(weights.shape[0])
    found: list[np.ndarray] = []
    # Some are found twice; and stopping at `count` would favour the questions looked at first.
    enough = 3 * count
    for start in range(0, len(order), 2000):
        asked = order[start : start + 2000]
        cosines = (rare[asked] @ columns).tocoo()  # [asked, questions]
        value = np.round(cosines.data, 9)
        high = value >= LOWEST
        question, other, value = asked[cosines.row[high]], cosines.col[high], value[high]
        order_of = np.lexsort((other, -value, question))
        question, other, value = question[order_of], other[order_of], value[order_of]
        # Where each question's neighbours begin:
        first = np.flatnonzero(np.diff(question, prepend=-1))
        rank = np.arange(len(question)) - np.repeat(first, np.diff(first, append=len(question)))
        fits = (rank < NEIGHBOURS) & (value < HIGHEST) & (clusters[other] != clusters[question])
        pair = np.stack([question[fits], other[fits]], axis=1).astype(np.int64)
        found.append(np.sort(pair, axis=1))
        if sum(len(pair) for pair in found) >= enough:
            break
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    pairs = np.unique(np.concatenate(found), axis=0)
    pairs = pairs[draw.permutation(len(pairs))[:count]]
    return pairs[:, 0], pairs[:, 1]


def subject_order(
    weights, rows1: np.ndarray, rows2: np.ndarray, block: int, seed: int = 0
) -> np.ndarray:
    """An order of pairs in which neighbours share their subject.

    The pairs are halved again and again along the line between two of them, each half by its place on
    that line, until a part holds at most `block`.

    Args:
      weights: what `term_weights` gave.
      rows1: int64 [pairs]; the row of each pair's question1.
      rows2: int64 [pairs]; of its question2.
      block: pairs that need no more order among themselves.
      seed: of the first directions and the pairs drawn.

    Returns:
      int64 [pairs]; a permutation.
    """
    draw = np.random.default_rng(seed)
    # The main directions of the vectors: subspace iteration (Halko et al., 2011, arXiv:0909.4061).
    basis = draw.normal(size=(weights.shape[1], min(DIRECTIONS, *weights.shape)))
    for _ in range(4):
        basis = np.linalg.qr(weights.T @ (weights @ basis))[0]
    projected = l2_normalize(weights @ basis)  # [questions, DIRECTIONS]
    places = projected[rows1] + projected[rows2]
    parts, done = [np.arange(len(rows1))], []
    while parts:
        part = parts.pop()
        if len(part) <= block:
            done.append(part)
            continue
        here = places[part]
        line = _widest(here, draw)
        along = np.round((here * line).sum(axis=1), 6)
        part = part[np.argsort(along, kind="stable")]
        half = len(part) // 2
        parts += [part[half:], part[:half]]  # The first half is taken up next.
    return np.concatenate(done)


def _widest(points: np.ndarray, draw) -> np.ndarray:
    """The direction in which points [n, d] are spread most: a few turns of the power method."""
    some = points[draw.permutation(len(points))[:500]]
    some = some - some.mean(axis=0)
    line = draw.normal(size=points.shape[1])
    for _ in range(8):
        line = (some * (some * line).sum(axis=1, keepdims=True)).sum(axis=0)
        length = np.sqrt((line * line).sum())
        if length == 0:
            return np.ones(points.shape[1])
        line = line / length
    return line
