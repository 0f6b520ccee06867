"""The lessons' pictures of losses, similarities and masks: what they draw, read back from the figure."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.evaluation.picture import to_png
from siamese.teaching import lesson_plots

LECTURE = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)


def line(figure, label):
    (found,) = (x for x in figure.axes[0].lines if str(x.get_label()).startswith(label))
    return found.get_xdata(), found.get_ydata()


def test_losses():
    history = {"training": [(1, 0.5), (2, 0.3)], "validation": [(2, 0.4)]}
    figure = lesson_plots.plot_losses(history, margin=0.25)
    assert line(figure, "training")[1].tolist() == [0.5, 0.3]
    assert line(figure, "2 ×")[1] == [0.5, 0.5]
    for wrong in ({}, {"a": [1, 2]}, {"a": [("x", "y")]}, {"a": [(1, 2, 3)]}, {"a": 5}):
        with pytest.raises(DataError, match="history"):
            lesson_plots.plot_losses(wrong)


@pytest.mark.parametrize(
    ("closest", "expected"),
    [  # the lecture's matrix: the values 0.3, 0.1, 0.3 (or -0.8), -0.2
        ("hardest", [(0, 2), (1, 2), (2, 0), (3, 1)]),
        ("semi_hard", [(0, 2), (1, 2), (2, 3), (3, 1)]),
    ],
)
def test_chosen_negatives_of_the_lecture(closest, expected):
    assert lesson_plots.closest_places(LECTURE, closest) == expected
    figure = lesson_plots.plot_similarity_matrix(LECTURE, closest=closest)
    dashed = [p for p in figure.axes[0].patches if p.get_linestyle() not in ("-", "solid")]
    corners = {(round(p.get_y() + 0.46), round(p.get_x() + 0.46)) for p in dashed}
    assert corners == set(expected)


def test_known_duplicates_are_never_the_chosen_negative():
    same = np.eye(4, dtype=bool)
    same[0, 2] = True
    assert lesson_plots.closest_places(LECTURE, "hardest", same)[0] == (0, 3)
    both = np.array([[0.5, 0.9], [0.9, 0.5]])
    assert lesson_plots.closest_places(both, "semi_hard") == []
    assert lesson_plots.closest_places(both, "hardest", np.ones((2, 2), bool)) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"scores": np.ones((2, 3))}, r"\(2, 3\)"),
        ({"scores": np.ones((0, 0))}, r"\(0, 0\)"),
        ({"scores": LECTURE, "rows": ["a"]}, "rows must hold 4"),
        ({"scores": LECTURE, "false_negative_mask": np.eye(3)}, r"\(3, 3\)"),
    ],
)
def test_wrong_matrices(arguments, says):
    with pytest.raises(ShapeError, match=says):
        lesson_plots.plot_similarity_matrix(**arguments)


def test_masks():
    negatives = ~np.eye(4, dtype=bool)
    figure = lesson_plots.plot_masks({"all": np.ones((4, 4)), "negatives": negatives}, LECTURE)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["all", "negatives"]
    assert [len(axes.texts) for axes in figure.axes] == [16, 12]
    with pytest.raises(ShapeError, match="one shape"):
        lesson_plots.plot_masks({"a": np.eye(3), "b": np.eye(4)})
    with pytest.raises(ArgumentError, match="empty"):
        lesson_plots.plot_masks({})


def every_picture():
    yield lesson_plots.plot_losses({"training": [(1, 0.5), (2, 0.3)]}, margin=0.25)
    # A dollar sign or a backslash in a question is text, not a formula.
    texts = ["costs $5 and $6", r"\frac{", "$", "x" * 90]
    yield lesson_plots.plot_similarity_matrix(
        LECTURE, rows=texts, columns=texts, false_negative_mask=np.eye(4)
    )
    yield lesson_plots.plot_similarity_matrix(np.ones((40, 40)), closest=None)
    yield lesson_plots.plot_masks({"all": np.ones((40, 40))})


def test_every_picture_renders():
    for figure in every_picture():
        assert to_png(figure, dpi=40).startswith(b"\x89PNG")
