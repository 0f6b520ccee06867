"""docs/course/tensorflow.md, line by line: what the TensorFlow edition computes, in NumPy."""

import inspect
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from trax import layers as tl
from trax.shapes import signature

import siamese
from siamese import (
    TripletLossFn,
    data_generator,
    l2_normalize,
    similarity_matrix,
    word_tokenize,
)
from siamese.checks import check_data_generator
from siamese.nn.lstm import LstmConfig, init

PAGE = Path(__file__).parents[2] / "docs" / "course" / "tensorflow.md"
X, *VECTORS = np.random.default_rng(3).normal(size=(3, 4, 3))
V1, V2 = map(l2_normalize, VECTORS)
TOKENS = np.array([[5, 6], [7, 1]])


def theirs(v1, v2, margin=0.25):
    """The TensorFlow edition's TripletLossFn: masked closest negatives of V2 V1^T, summed."""
    scores = v2 @ v1.T
    positive = np.diag(scores)
    others = scores - np.diag(positive)
    masked = (np.eye(len(scores)) == 1) | (others > positive[:, None])
    negatives = (
        others.sum(axis=1) / (len(scores) - 1),
        (others - 2.0 * masked).max(axis=1),
    )
    return sum(
        np.maximum(negative - positive + margin, 0).sum() for negative in negatives
    )


def vocabulary():
    words = word_tokenize("Is it cold?")
    vocab = siamese.Vocabulary.from_pairs([words], [words])
    assert words[-2:] == ["cold", "?"] and vocab.encode(["<PAD>", "Zanzibar"]) == [1, 0]


def generator():
    batches = data_generator([[5], [6], [7]], [[5], [6], [7]], 2, shuffle=False)
    assert [next(batches)[0].ravel().tolist() for _ in range(2)] == [[5, 6], [7, 5]]
    names = "data_generator(Q1, Q2, batch_size, pad=1, shuffle=True)"
    assert check_data_generator.signature == names


def lstm():
    """The bias at the start, of input, candidate, forget and output gate."""
    config = LstmConfig(vocab_size=10, d_model=4)
    key = jax.random.key(0)
    for bias, expected in (("all_gates", [1, 1, 1, 1]), ("forget_gate", [0, 0, 1, 0])):
        gates = init(key, config, bias)["lstm/bias"].reshape(4, 4)
        np.testing.assert_allclose(gates.mean(axis=1), expected, atol=1e-4)


def layers():
    """Embedding and mean, over padding too."""
    layer = tl.Serial(tl.Embedding(10, 4), tl.Mean(axis=1))
    layer.init(signature(TOKENS))
    expected = np.mean(layer.weights[0][TOKENS], axis=1)
    np.testing.assert_allclose(layer(TOKENS), expected, rtol=1e-6)


def cosines():
    np.testing.assert_allclose(similarity_matrix(V2, V1), V2 @ V1.T)
    np.testing.assert_allclose(
        l2_normalize(X), X / np.sqrt(np.sum(X * X, axis=1, keepdims=True))
    )
    # The length of the whole batch is not that of each row.
    assert (np.linalg.norm(X / np.sqrt(np.sum(X * X)), axis=1) < 0.9).all()


def loss():
    assert float(TripletLossFn(V2, V1, 0.25)) == pytest.approx(theirs(V1, V2), abs=1e-5)
    assert float(TripletLossFn(V1, V2, 0.25)) != pytest.approx(theirs(V1, V2), abs=1e-3)
    far = [
        np.array([[0.6, 0.8], [sign * 0.8, sign * 0.6]]) for sign in (-1, 1)
    ]  # 0.96 and -1
    assert theirs(*far) - float(TripletLossFn(*far[::-1])) == pytest.approx(
        0.96 + 1 - 2 + 0.25
    )
    out = np.concatenate([V1, V2], axis=1)
    ours = siamese.TripletLoss(0.25)((out[:, 3:], out[:, :3]))
    assert float(ours) == pytest.approx(theirs(V1, V2), abs=1e-5)


LINES = {
    "TextVectorization": vocabulary,
    "Dataset": generator,
    "Embedding": layers,
    "LSTM": lstm,
    "GlobalAveragePooling1D": layers,
    "tf.math.l2_normalize(x, axis=1)": cosines,
    "tf.math.l2_normalize(x)": cosines,
    "tf.linalg.matmul": cosines,
    "Siamese": siamese.Siamese,
    "TripletLossFn": loss,
    "TripletLoss(": loss,
    "train_model": siamese.train_model,
    "classify": siamese.classify,
    "predict": siamese.predict,
}


@pytest.mark.parametrize("line", LINES)
def test_the_line_is_true(line):
    rows = re.findall(
        r"^\| `(.+?)` \| `(.+?)` \| .+ \|$", PAGE.read_text("utf-8"), re.M
    )
    assert len(rows) == len(LINES)  # Every line has a test.
    there, here = rows[list(LINES).index(line)]
    assert there.startswith(line)
    if LINES[line].__module__ == __name__:
        LINES[line]()
    else:  # of the course: the page has its first arguments
        parameters = [*inspect.signature(LINES[line]).parameters]
        arguments = re.findall(r"\w+", here)[1:]
        assert parameters[: len(arguments)] == arguments
