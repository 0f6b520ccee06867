"""Wrong arguments of the course's functions: each is refused with a sentence that names it."""

from collections import defaultdict
from functools import partial

import numpy as np
import pytest

from siamese import Siamese, TripletLoss, TripletLossFn, classify, data_generator, edition
from siamese.course.loss import hinge, loss_from_scores, mean_negative
from siamese.course.similarity import cosine_similarity, similarity_matrix
from siamese.errors import ArgumentError, DataError, ShapeError


def gives(*shapes):
    return lambda pair: tuple(map(np.ones, shapes))


def arrays(first, second, names=("v1", "v2")):
    return dict(zip(names, (np.ones(first), np.ones(second))))


RIGHT = {
    classify: {
        **{"test_Q1": [[5], [6]], "test_Q2": [[5], [7]], "y": [1, 0], "threshold": 0.7},
        **{"model": gives((2, 3), (2, 3)), "vocab": {"<PAD>": 1}, "batch_size": 2},
    },
    data_generator: {"Q1": [[2]], "Q2": [[2]], "batch_size": 2},
    loss_from_scores: {"scores": np.eye(2)},
}
WRONG = [
    (classify, {"y": [1]}, DataError, "1 labels for 2 pairs"),
    (classify, {"y": [1, 2]}, ArgumentError, r"y\[1\] is .*2"),
    (classify, {"test_Q1": [[5], []]}, DataError, r"test_Q1\[1\] is an empty question"),
    (classify, {"threshold": "high"}, ArgumentError, "threshold"),
    (classify, {"batch_size": 0}, ArgumentError, "batch_size"),
    (classify, {"data_generator": lambda *_, **__: iter([])}, ArgumentError, "must yield batches"),
    (classify, {"vocab": defaultdict(lambda: 0)}, ArgumentError, "<PAD>"),
    (classify, {"model": lambda pair: pair[0][0]}, ShapeError, "two arrays v1 and v2"),
    (classify, {"model": gives((2, 3), (2, 4))}, ShapeError, r"\(2, 4\)"),
    (classify, {"model": gives((1, 3), (1, 3))}, ShapeError, "each"),
    *((classify, {"model": model}, ArgumentError, f"a model, such as .*, not {name}")
      for model, name in ((Siamese, "Siamese"), (partial(Siamese, 9), "partial"), (None, "None"))),
    (data_generator, {"Q1": [], "Q2": []}, DataError, "empty"),
    (data_generator, {"Q2": [[2], [3]]}, DataError, "Q1 holds 1 questions and Q2 holds 2"),
    (data_generator, {"Q2": [[]]}, DataError, r"Q2\[0\] is an empty question \(1 such"),
    (data_generator, {"Q1": [["how", "are"]]}, DataError, "Q1.*integer token ids"),
    (data_generator, {"Q2": [[None]]}, DataError, "Q2.*integer token ids"),
    (data_generator, {"Q1": 7}, DataError, "Q1 must hold.*int"),
    *((data_generator, {"batch_size": n}, ArgumentError, "batch_size") for n in (0, 2.0, None, True)),
    *((data_generator, {"pad": n}, ArgumentError, "pad") for n in ("<PAD>", -(2**31) - 1, 2**31)),
    (TripletLossFn, arrays((2, 3), (3, 3)), ShapeError, r"\(2, 3\).*\(3, 3\)"),
    *((loss_from_scores, {"scores": s}, ArgumentError, "numbers") for s in ([[1, 2], [3]], [["a"]])),
    (TripletLossFn, arrays((1, 3), (1, 3)), ArgumentError, "at least 2"),
    (loss_from_scores, {"scores": np.ones((2, 3))}, ShapeError, r"square .*\(2, 3\)"),
    (loss_from_scores, {"closest": "nearest"}, ArgumentError, "'nearest'"),
    (loss_from_scores, {"reduction": "max"}, ArgumentError, "'sum'.*'max'"),
    (loss_from_scores, {"direction": "up"}, ArgumentError, "'columns'"),
    (loss_from_scores, {"margin": -0.1}, ArgumentError, "margin .*-0.1"),
    (loss_from_scores, {"margin": None}, ArgumentError, "margin .*None"),
    (loss_from_scores, {"false_negative_mask": np.eye(3) > 0}, ShapeError, r"\(2, 2\); .* \(3, 3\)"),
    (loss_from_scores, {"false_negative_mask": np.eye(2)}, ArgumentError, "bool.*float64"),
    (mean_negative, {"scores": np.ones(4)}, ShapeError, r"\[batch, batch\].*\(4,\)"),
    (hinge, arrays(3, 4, ("positive", "negative")), ShapeError, r"\(3,\).*\(4,\)"),
    (TripletLoss, {"closest": "easiest"}, ArgumentError, "'easiest'"),
    *((edition, {"year": year}, ArgumentError, f"of 2020 to 2023; year is {year!r}")
      for year in (2019, 2024, "2023", None, 22)),
    (Siamese, {"vocab_size": 0}, ArgumentError, "vocab_size"),
    (Siamese, {"d_model": True}, ArgumentError, "d_model"),
    (Siamese, {"mode": "test"}, ArgumentError, "'test'"),
    (Siamese, {"lstm_bias": "none"}, ArgumentError, "lstm_bias"),
    (cosine_similarity, arrays((4,), (4, 1)), ShapeError, r"\(4,\).*\(4, 1\)"),
    (cosine_similarity, arrays((2, 3), (3,)), ShapeError, r"\(2, 3\).*\(3,\)"),
    (cosine_similarity, arrays((), ()), ShapeError, r"\(\).*\(\)"),
    (similarity_matrix, arrays((3,), (3, 3)), ShapeError, r"\(3,\).*\(3, 3\)"),
    (similarity_matrix, arrays((2, 3), (2, 4)), ShapeError, r"\(2, 3\).*\(2, 4\)"),
    (similarity_matrix, arrays((2, 3, 1), (2, 3, 1)), ShapeError, r"\(2, 3, 1\)"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "wrong", "error", "words"), WRONG)
def test_a_wrong_argument_is_named_at_the_call(function, wrong, error, words):
    with pytest.raises(error, match=words):
        function(**RIGHT.get(function, {}) | wrong)
