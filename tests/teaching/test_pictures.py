"""The lessons' pictures, read back from the figure; the circle that is dragged, in a browser."""

import io
import re
from importlib import resources

import numpy as np
import pytest
from golden import SCORES

pytest.importorskip("matplotlib")
pytest.importorskip("IPython")

import matplotlib.pyplot as plt

from siamese.teaching.lesson import drag_circle
from siamese.teaching.plots import plot_losses, plot_scores, plot_similarity_matrix


def test_curves_and_histograms_hold_their_numbers_and_leave_the_settings():
    before = dict(plt.rcParams)
    figure = plot_losses(
        {"training": [(1, 0.5), (2, 0.3)], "validation": [(2, 0.4)]}, margin=0.25
    )
    lines = {line.get_label(): line.get_xydata() for line in figure.axes[0].lines}
    assert lines["training"].tolist() == [[1, 0.5], [2, 0.3]]
    assert lines["2 × margin: all vectors equal"][:, 1].tolist() == [0.5, 0.5]
    figure = plot_scores([0.1, 0.2, 0.9], [0, 0, 1], threshold=0.7)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["not duplicates (2)", "duplicates (1)", "threshold 0.700"]
    tops = [
        [patch.get_path().vertices[:, 1].max() for patch in axes.patches]
        for axes in figure.axes
    ]
    assert tops == [[0.5, 1.0], [1.0, 1.0]]  # shares above, pairs below
    assert dict(plt.rcParams) == before and not plt.get_fignums()


# The lecture's: the values 0.3, 0.1, 0.3 (or -0.8), -0.2.
BOXES = {
    "the hardest": (SCORES, {}, [(0, 2), (1, 2), (2, 0), (3, 1)]),
    "masked": (SCORES, {"closest": "semi_hard"}, [(0, 2), (1, 2), (2, 3), (3, 1)]),
    "none asked for": (SCORES, {"closest": None}, []),
    "none allowed": ([[0.5, 0.9], [0.9, 0.5]], {"closest": "semi_hard"}, []),
    "all equal": (np.ones((12, 12)), {}, [(0, 1), *((i, 0) for i in range(1, 12))]),
    # A dollar sign or a backslash in a question is text, not a formula.
    "texts beside it": (
        np.eye(2),
        {"rows": ["costs $5 and $6", r"\frac{"], "columns": ["$", "x" * 90]},
        [(0, 1), (1, 0)],
    ),
}


@pytest.mark.parametrize("name", BOXES)
def test_the_closest_negative_of_each_row_has_a_dashed_box(name):
    scores, options, expected = BOXES[name]
    figure = plot_similarity_matrix(scores, **options)
    dashed = [p for p in figure.axes[0].patches if p.get_linestyle() == (0, (3, 1.2))]
    places = [(round(box.get_y() + 0.46), round(box.get_x() + 0.46)) for box in dashed]
    assert sorted(places) == sorted(expected)
    figure.savefig(io.BytesIO(), format="png")


def test_the_drawing_needs_no_network_and_two_of_them_do_not_disturb_each_other():
    text = (resources.files("siamese") / "teaching" / "circle.html").read_text("utf-8")
    assert not re.search(r"https?:|src=|import ", text)
    one, two = (set(re.findall(r"circle-\w+", drag_circle().data)) for _ in range(2))
    assert len(one) == len(two) == 1 and one != two


@pytest.mark.slow
def test_the_drawing_in_a_browser(browser):
    page = browser.new_page(viewport={"width": 390, "height": 900})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(drag_circle().data)
    loss = page.locator("[data-part=loss]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert loss.inner_text() == "loss = max(0.22 + 0.25, 0) = 0.47"
    page.get_by_role("slider", name="margin").fill("0")
    assert loss.inner_text() == "loss = max(0.22 + 0.00, 0) = 0.22"
    page.get_by_role("button").click()
    assert float(loss.inner_text()[-4:]) < 0.22  # a step lowers the loss
    circle = page.locator("svg").first.bounding_box()
    middle = circle["x"] + circle["width"] / 2
    point = page.locator("[data-part=negative] circle").last.bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    page.mouse.down()
    page.mouse.move(middle, circle["y"] + circle["height"] - 5, steps=5)
    page.mouse.up()
    assert loss.inner_text().endswith("= 0.00") and not errors
