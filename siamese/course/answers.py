"""The course's answers: classify, the accuracy of a test set, and predict, one pair."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from siamese.course import generator
from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.nn.ragged import TokenRows, check_pairs, token_rows
from siamese.system.arguments import as_number, check_labels, whole_number
from siamese.text.tokenizer import word_ids, word_tokenize

Model: TypeAlias = Callable[[tuple], tuple]  # (q1, q2) -> (v1, v2)
# Trax layer -> its compiled function: called as it is, a layer traces its recurrence at
# every call.
_COMPILED: weakref.WeakKeyDictionary[Model, Callable] = weakref.WeakKeyDictionary()


def classify(
    test_Q1: TokenRows,
    test_Q2: TokenRows,
    y: ArrayLike,
    threshold: float,
    model: Model,
    vocab: Mapping[str, int],
    data_generator: Callable[..., Iterator] = generator.data_generator,
    batch_size: int = 64,
) -> float:
    """The course's accuracy, 0 to 1: the share of pairs where ``dot(v1, v2) > threshold`` equals the label.

    The same as the course's loop over batches and pairs, in less time: a Trax layer is
    compiled, so that its scores can differ from the course's in their last bits. The
    last, short batch counts too.

    Args:
      test_Q1: the first questions: lists of integer token ids, or Ragged.
      test_Q2: the second questions, as many.
      y: 1 or True where the pair is a duplicate, otherwise 0 or False; int or bool [pairs].
      threshold: the dot product above which a pair counts as a duplicate; the course uses 0.7.
      model: takes (q1, q2), int32 [batch, length] each, and returns (v1, v2), float [batch, d] each.
      vocab: word -> id with ``<PAD>``: a `Vocabulary`, a dict or a defaultdict.
      data_generator: makes each batch.
      batch_size: pairs in a batch. It matters: an unmasked model averages over padding, and the
        padding depends on the batch.

    DataError for wrong pairs; ArgumentError for wrong labels, vocabulary, threshold or
    model, such as one without weights; ShapeError for a model that does not return two
    matrices of one row a pair.

    Example:
      >>> def model(pair):  # the share of each word id among the first 8
      ...     return tuple((q[:, :, None] == np.arange(8)).mean(axis=1) for q in pair)
      >>> classify([[5], [6]], [[5], [7]], [1, 0], 0.7, model, {"<PAD>": 1})
      1.0
    """
    labels = check_labels(y, "y")
    threshold = as_number(threshold, "threshold")
    if len(labels) != len(test_Q1):
        raise DataError(
            f"y holds {len(labels)} labels for {len(test_Q1)} pairs of questions."
        )
    scores = pair_scores(test_Q1, test_Q2, model, vocab, data_generator, batch_size)
    return float(np.mean((scores > threshold) == labels))


def pair_scores(
    Q1: TokenRows,
    Q2: TokenRows,
    model: Model,
    vocab: Mapping[str, int],
    data_generator: Callable[..., Iterator] = generator.data_generator,
    batch_size: int = 64,
) -> np.ndarray:
    """The dot products that `classify` compares with its threshold; same arguments and errors.

    Returns:
      float [pairs], in the precision of the model.
    """
    batch_size = whole_number(batch_size, "batch_size", 1)
    pad = _padding_id(vocab)
    # Another generator may take other rows than token ids.
    if data_generator is generator.data_generator:
        Q1 = token_rows(Q1, "test_Q1")
        Q2 = token_rows(Q2, "test_Q2")
    check_pairs(Q1, Q2, "test_Q1", "test_Q2")
    scores = []
    for start in range(0, len(Q1), batch_size):
        part1 = Q1[start : start + batch_size]
        part2 = Q2[start : start + batch_size]
        batches = data_generator(part1, part2, batch_size, pad, shuffle=False)
        scores.append(_row_products(model, next(iter(batches), None), len(part1)))
    return np.concatenate(scores)


def predict(
    question1: str,
    question2: str,
    threshold: float,
    model: Model,
    vocab: Mapping[str, int],
    data_generator: Callable[..., Iterator] = generator.data_generator,
    verbose: bool = False,
) -> bool:
    """The course's prediction: True where the cosine of two texts is above the threshold.

    The other arguments are those of `classify`; `verbose` prints the ids, the cosine
    and the answer. Words that `vocab` does not know become 0 and do not enter it. A
    text without any words is a DataError.
    """
    _padding_id(vocab)
    threshold = as_number(threshold, "threshold")
    Q1 = [word_ids(word_tokenize(question1), vocab)]
    Q2 = [word_ids(word_tokenize(question2), vocab)]
    for name, Q in (("question1", Q1), ("question2", Q2)):
        if not Q[0]:
            raise DataError(f"{name} has no words.")
    similarity = pair_scores(Q1, Q2, model, vocab, data_generator, 1)[0]
    answer = bool(similarity > threshold)
    if verbose:
        print(
            f"q1 = {Q1[0]}\nq2 = {Q2[0]}\ncosine = {similarity:.6f}\nduplicate = {answer}"
        )
    return answer


def _vectors(model: object, batch: tuple) -> Any:
    """What the model returns for a batch; a Trax layer with weights and without state is compiled."""
    makes_models = getattr(sys.modules.get("siamese.course.model"), "Siamese", None)
    if not callable(model) or getattr(model, "func", model) is makes_models:
        name = getattr(model, "__name__", type(model).__name__)
        raise ArgumentError(
            f"model must be a model, such as loop.eval_model, not {name}."
        )
    layer_class = getattr(sys.modules.get("trax.layers.base"), "Layer", ())
    if not isinstance(model, layer_class):
        return model(batch)
    import jax

    if jax.tree.leaves(model.state) or not jax.tree.leaves(model.weights):
        return model(batch)
    if model not in _COMPILED:
        # A strong reference would keep every model alive for ever.
        layer: Any = weakref.ref(model)
        _COMPILED[model] = jax.jit(lambda *arguments: layer().pure_fn(*arguments)[0])
    return _COMPILED[model](batch, model.weights, model.state, model.rng)


def _row_products(model: Model, batch: object, rows: int) -> np.ndarray:
    """``dot(v1[j], v2[j])`` of the first `rows` rows: float [rows]."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise ArgumentError(
            "data_generator must yield batches (q1, q2): give the function itself."
        )
    outputs = _vectors(model, tuple(batch))
    shapes = [np.shape(vectors) for vectors in outputs] if np.iterable(outputs) else []
    if (
        len(shapes) != 2
        or len(shapes[0]) != 2
        or shapes[0] != shapes[1]
        or shapes[0][0] < rows
    ):
        raise ShapeError(
            f"model must return two arrays v1 and v2 of one shape [batch, d], a row for each of the "
            f"batch's {rows} pairs; it returned {shapes or type(outputs).__name__}."
        )
    v1, v2 = (np.asarray(vectors) for vectors in outputs)
    # Bit for bit what `np.dot` gives row by row: both hand each row to the same BLAS
    # call.
    return np.vecdot(v1[:rows], v2[:rows])


def _padding_id(vocab: Mapping[str, int]) -> int:
    # Unlike vocab["<PAD>"], `get` adds nothing to a defaultdict.
    pad = vocab.get("<PAD>") if hasattr(vocab, "get") else None
    if pad is None:
        raise ArgumentError(
            "vocab has no '<PAD>': it must map it to the padding id, 1 in the course."
        )
    return pad
