"""The course's answers: classify, the accuracy of a test set, and predict, one pair."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from siamese.course import generator
from siamese.data.arguments import (
    as_number,
    check_labels,
    check_no_empty,
    check_pairs,
    token_rows,
    whole_number,
)
from siamese.data.tokenizer import word_ids, word_tokenize
from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.nn.encoder import TowerConfig, towers

# Padded tokens of one side in one model call. A model that is compiled here wants few shapes and fits
# the cache better with 512 questions of 64; any other has its cost per call, so few calls are better.
TOKENS_PER_CALL = {"compiled": 512 * 64, "as it is": 2048 * 64}
# Scores of one pair, computed in a small and in a large batch, differ in their last bits. A
# difference above this comes from a model that mixes the rows of a batch.
MOST_NOISE = 1e-3
LEAST_NOISE = 1e-6


def classify(
    test_Q1,
    test_Q2,
    y,
    threshold: float,
    model: Callable[[tuple], tuple],
    vocab: Mapping[str, int],
    data_generator=generator.data_generator,
    batch_size: int = 64,
) -> float:
    """The course's accuracy: the share of pairs where ``dot(v1, v2) > threshold`` equals the label.

    The same as the course's loop over batches and pairs, to the last pair, in a few large model
    calls: course batches that are padded to the same length go through the model together, and
    pairs so close to the threshold that rounding could decide are scored again in their own batch.
    The last, short batch counts too.

    Args:
      test_Q1: the first questions: lists of integer token ids, or Ragged.
      test_Q2: the second questions, as many.
      y: 1 or True where the pair is a duplicate, otherwise 0 or False; int or bool [pairs].
      threshold: the dot product above which a pair counts as a duplicate; the course uses 0.7.
      model: takes (q1, q2), int32 [batch, length] each, and returns (v1, v2), float [batch, d] each.
        A Trax layer is compiled first. A model whose vectors depend on the other rows of a batch, or
        that takes no other batch size, is called batch by batch as in the course.
      vocab: word -> id with ``<PAD>``: a `Vocabulary`, a dict or a defaultdict.
      data_generator: makes one batch; one of your own is called for every batch as in the course.
      batch_size: pairs in a batch of the course. It matters: an unmasked model averages over
        padding, and the padding depends on the batch.

    Returns:
      The accuracy, from 0 to 1.

    Raises:
      DataError: no pairs, sides of unequal length, empty questions, ids that are not integers.
      ArgumentError: labels other than 0 and 1, a vocabulary without ``<PAD>``, a threshold that is
        no number.
      ShapeError: a model that does not return two matrices of one row a pair.

    Example:
      >>> def model(pair):  # the share of each word id among the first 8
      ...     return tuple((q[:, :, None] == np.arange(8)).mean(axis=1) for q in pair)
      >>> classify([[5], [6]], [[5], [7]], [1, 0], 0.7, model, {"<PAD>": 1})
      1.0
    """
    labels = check_labels(y, "y")
    as_number(threshold, "threshold")
    course = _CourseBatches(test_Q1, test_Q2, model, vocab, data_generator, batch_size)
    if len(labels) != course.pairs:
        raise DataError(f"y holds {len(labels)} labels for {course.pairs} pairs of questions.")
    scores, noise = course.scores()
    if noise:
        unsure = np.abs(scores - threshold) <= noise
        for start in sorted(set(np.flatnonzero(unsure) // course.batch_size * course.batch_size)):
            scores[start : start + course.batch_size] = course.batch_scores(int(start))
    return float(np.count_nonzero((scores > threshold) == labels) / course.pairs)


def predict(
    question1: str,
    question2: str,
    threshold: float,
    model: Callable[[tuple], tuple],
    vocab: Mapping[str, int],
    data_generator=generator.data_generator,
    verbose: bool = False,
) -> bool:
    """The course's prediction: whether the cosine of two questions is above the threshold.

    Args:
      question1: text.
      question2: text.
      threshold: cosine above which two questions count as duplicates; the course uses 0.7.
      model: takes (q1, q2), int32 [1, length] each, and returns (v1, v2), float [1, d_model] each.
      vocab: word -> id with ``<PAD>``: a `Vocabulary`, a dict or a defaultdict. Words it does not
        know become 0 and do not enter it.
      data_generator: pads the two questions to one length.
      verbose: print the ids, the cosine and the answer.

    Returns:
      True or False.

    Raises:
      DataError: a question without any words, or that is not text.
      ArgumentError: a vocabulary without ``<PAD>``.
    """
    pad = _padding_id(vocab)
    encoded = []
    for name, question in (("question1", question1), ("question2", question2)):
        words = word_tokenize(question)
        if not words:
            raise DataError(f"{name} has no words: {question!r}.")
        encoded.append(word_ids(words, vocab))
    q1, q2 = next(data_generator([encoded[0]], [encoded[1]], 1, pad))
    v1, v2 = model((q1, q2))
    similarity = np.dot(np.asarray(v1[0]), np.asarray(v2[0]))
    answer = bool(similarity > threshold)
    if verbose:
        print(f"q1 = {q1}\nq2 = {q2}\ncosine = {similarity:.6f}\nduplicate = {answer}")
    return answer


def pair_scores(
    Q1,
    Q2,
    model: Callable[[tuple], tuple],
    vocab: Mapping[str, int],
    data_generator=generator.data_generator,
    batch_size: int = 64,
) -> np.ndarray:
    """The dot products that `classify` compares with its threshold; same arguments.

    Returns:
      float [pairs], in the precision of the model; each equal to the course's but for the last bits.

    Raises:
      DataError, ArgumentError, ShapeError: as `classify`.
    """
    return _CourseBatches(Q1, Q2, model, vocab, data_generator, batch_size).scores()[0]


class _CourseBatches:
    """The course's batches of a test set, and the dot products a model gives on them."""

    def __init__(self, Q1, Q2, model, vocab, data_generator, batch_size):
        self.batch_size = whole_number(batch_size, "batch_size", 1)
        if not callable(model):
            raise ArgumentError(
                f"model must be a callable from (q1, q2) to (v1, v2), not {type(model).__name__}."
            )
        self._q1, self._q2, self._model = Q1, Q2, model
        self._generator, self._pad = data_generator, _padding_id(vocab)
        self._own = data_generator is not generator.data_generator
        if self._own:  # A generator of the caller's may take other rows than token ids.
            check_pairs(Q1, Q2, "test_Q1", "test_Q2")
        else:
            self._q1, self._q2 = token_rows(Q1, "test_Q1"), token_rows(Q2, "test_Q2")
            check_pairs(self._q1, self._q2, "test_Q1", "test_Q2")
            check_no_empty(self._q1, "test_Q1")
            check_no_empty(self._q2, "test_Q2")
        self.pairs = len(self._q1)
        self._starts = range(0, self.pairs, self.batch_size)

    def batch_scores(self, start: int) -> np.ndarray:
        """The course's scores of one batch, made and called as the course does."""
        q1, q2 = (
            self._q1[start : start + self.batch_size],
            self._q2[start : start + self.batch_size],
        )
        made = self._generator(q1, q2, self.batch_size, self._pad, shuffle=False)
        batch = next(made if isinstance(made, Iterator) else iter(made))
        return _row_products(self._model, tuple(batch), len(q1))

    def scores(self) -> tuple[np.ndarray, float]:
        """All scores, and how far one may lie from the course's own: 0 where they are the course's."""
        first = self.batch_scores(0)
        if not self._own and len(self._starts) > 2:
            try:
                joined = self._joined_scores()
            except Exception:
                # A model that takes only the course's batches. If the fault lies elsewhere, the
                # same error comes again below, batch by batch, and reaches the caller.
                joined = None
            drift = np.inf if joined is None else _largest_difference(joined[: len(first)], first)
            if drift <= MOST_NOISE:
                return joined, max(8 * drift, LEAST_NOISE)
        rest = [self.batch_scores(start) for start in self._starts[1:]]
        return np.concatenate([first, *rest]), 0.0

    def _joined_scores(self) -> np.ndarray:
        """Scores with all batches of one padded length in a few calls."""
        longest = np.maximum(self._q1.lengths, self._q2.lengths)  # [pairs]
        of_batch = np.maximum.reduceat(longest, list(self._starts))  # [batches]
        padded = np.array([1 << (int(length) - 1).bit_length() for length in of_batch])
        padded = np.repeat(padded, self.batch_size)[: self.pairs]  # [pairs]
        model = _compiled(self._model)
        tokens = TOKENS_PER_CALL["as it is" if model is self._model else "compiled"]
        scores = None
        for length in np.unique(padded):
            rows = np.flatnonzero(padded == length)
            per_call = max(self.batch_size, tokens // int(length))
            for at in range(0, len(rows), per_call):
                chunk = rows[at : at + per_call]
                # The row count is rounded up with repeated rows: few shapes to compile.
                fill = min(per_call, 1 << (len(chunk) - 1).bit_length())
                if model is not self._model and len(rows) > per_call:
                    fill = per_call
                filled = np.resize(chunk, fill)
                q1 = self._q1.padded(filled, int(length), self._pad)  # [filled, length]
                q2 = self._q2.padded(filled, int(length), self._pad)
                found = _row_products(model, (q1, q2), len(chunk))
                if scores is None:
                    scores = np.empty(self.pairs, found.dtype)
                scores[chunk] = found
        return scores


def _largest_difference(scores: np.ndarray, others: np.ndarray) -> float:
    """The largest difference, infinite where only one of two is NaN; NaN against NaN does not count."""
    if not np.array_equal(np.isnan(scores), np.isnan(others)):
        return np.inf
    return float(np.nanmax(np.abs(scores.astype(float) - others), initial=0.0))


def _row_products(model, batch: tuple, rows: int) -> np.ndarray:
    """``dot(v1[j], v2[j])`` of the first `rows` rows: float [rows]."""
    outputs = model(batch)
    try:
        v1, v2 = (np.asarray(vectors) for vectors in outputs)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"model must return two arrays (v1, v2) of vectors: {error}.") from None
    if v1.ndim != 2 or v1.shape != v2.shape or len(v1) < rows:
        raise ShapeError(
            f"model must return v1 and v2 of one shape [batch, d], a row for each of the batch's "
            f"{rows} pairs; it returned {v1.shape} and {v2.shape}."
        )
    # Bit for bit what `np.dot` gives row by row: both hand each row to the same BLAS call.
    return np.vecdot(v1[:rows], v2[:rows])


_COMPILED: weakref.WeakKeyDictionary[Any, Callable] = weakref.WeakKeyDictionary()


def _compiled(model: Callable) -> Callable:
    """A Trax layer without state as one compiled function of its weights; any other model as it is.

    Called as it is, a layer traces and compiles its recurrence at every call. The course's own
    model runs as `siamese.nn.encoder`'s towers, in less time than Trax's layers; that what is
    compiled here gives the model's own scores is measured on the first batch, see `scores`.
    """
    trax_layer = getattr(sys.modules.get("trax.layers.base"), "Layer", None)
    if trax_layer is None or not isinstance(model, trax_layer):
        return model
    import jax

    if jax.tree_util.tree_leaves(model.state):
        return model
    if _is_course_model(model):
        from siamese.course.model import tower_weights

        weights = jax.device_put(tower_weights(model))
        config = getattr(model, "_config", None) or TowerConfig(*weights["embedding"].shape)
        run = _compiled_towers(config)
        return lambda pair: run(weights, *pair)
    if model not in _COMPILED:
        layer = weakref.ref(model)  # a strong one would keep every model alive for ever
        _COMPILED[model] = jax.jit(
            lambda pair, weights, state, rng: layer().pure_fn(pair, weights, state, rng)[0]
        )
    return lambda pair: _COMPILED[model](pair, model.weights, model.state, model.rng)


def _is_course_model(layer: Any) -> bool:
    """Whether a Trax layer is two times one tower of Embedding, LSTM, Mean and Normalize."""
    branches = getattr(layer, "sublayers", ())
    if len(branches) != 2 or branches[0] is not branches[1]:
        return False
    names = [str(part.name).split("_")[0] for part in getattr(branches[0], "sublayers", ())]
    return names == ["Embedding", "LSTM", "Mean", "Normalize"]


@functools.cache
def _compiled_towers(config: TowerConfig) -> Callable:
    import jax

    return jax.jit(lambda weights, q1, q2: towers(weights, q1, q2, config))


def _padding_id(vocab: Mapping[str, int]) -> int:
    pad = vocab.get("<PAD>") if hasattr(vocab, "get") else None  # adds nothing to a defaultdict
    if pad is None:
        raise ArgumentError(
            "vocab has no '<PAD>': it must map it to the padding id, 1 in the course."
        )
    return pad
