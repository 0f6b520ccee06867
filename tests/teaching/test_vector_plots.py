"""The lessons' pictures of vectors: what they draw, read back from the figure."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from siamese.course.loss import loss_from_scores
from siamese.errors import ArgumentError, ShapeError
from siamese.evaluation.picture import to_png
from siamese.teaching.vector_plots import (
    plot_angles,
    plot_clusters,
    plot_loss_by_margin,
    plot_states,
)

SCORES = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)


def curves(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def test_angles_name_the_cosines():
    figure = plot_angles([1, 0], {"half way": [1, 1], "opposite": [-3, 0]})
    labels = list(curves(figure.axes[0]))
    assert "half way: cosine 0.71" in labels and "opposite: cosine -1.00" in labels
    assert to_png(figure).startswith(b"\x89PNG")


def test_angles_are_for_the_plane():
    with pytest.raises(ShapeError, match="two numbers"):
        plot_angles([1, 0, 0], {"other": [1, 1]})
    with pytest.raises(ArgumentError, match="1 to 3"):
        plot_angles([1, 0], {})


def test_the_loss_by_margin_is_the_losss_own():
    axes = plot_loss_by_margin(SCORES).axes[0]
    margins, losses = curves(axes)["loss: their sum"].T
    expected = [float(loss_from_scores(SCORES, float(a))) for a in margins]
    np.testing.assert_allclose(losses, expected)
    terms = [y[:, 1] for label, y in curves(axes).items() if label.startswith("term of")]
    np.testing.assert_allclose(np.sum(terms, axis=0), losses)


def test_clusters_show_distances_within_the_plane():
    plane = np.array([[0, 0], [3, 4], [6, -8.0]])
    spun, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    vectors = np.pad(plane, ((0, 0), (0, 3))) @ spun  # a plane somewhere in five dimensions
    figure = plot_clusters({"before": vectors, "after": vectors + 7}, ["a", "b", "b"])
    for axes in figure.axes:
        drawn = np.vstack(list(curves(axes).values()))
        np.testing.assert_allclose(np.linalg.norm(drawn[1] - drawn[0]), 5, rtol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(drawn[2] - drawn[0]), 10, rtol=1e-6)


def test_clusters_refuse_what_does_not_fit():
    with pytest.raises(ShapeError, match="3 names"):
        plot_clusters({"before": np.ones((2, 4))}, "abc")
    with pytest.raises(ArgumentError, match="at most 8"):
        plot_clusters({"before": np.ones((9, 4))}, "abcdefghi")


def test_states_and_their_mean():
    states = np.arange(6.0).reshape(3, 2)
    left, right = plot_states(states, ["how", "much", "$1"]).axes[:2]
    np.testing.assert_array_equal(left.images[0].get_array(), states.T)
    np.testing.assert_array_equal(right.images[0].get_array(), [[2.0], [3.0]])
    with pytest.raises(ShapeError, match="2 tokens"):
        plot_states(states, ["how", "much"])
