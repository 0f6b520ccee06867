"""The unit circle of a triplet: a drawing to drag in a notebook, and a picture of it after some steps."""

from __future__ import annotations

import uuid
from importlib import resources
from typing import Any

import numpy as np

from siamese.course.loss import hinge
from siamese.evaluation.picture import DARK, GREY, RED, new_picture

ANGLES = {"anchor": 90.0, "positive": 25.0, "negative": 140.0}  # degrees, as in circle.html
GREEN = "#2e8b57"  # of the positive
STEP = 6.0  # degrees that a step turns a vector by where the gradient is 1, as in circle.html
ALT = (
    "Two unit circles. Before training the negative is nearer to the anchor than the positive. After three "
    "steps anchor and positive are close, the negative is farther away, and the loss is 0."
)


def drag_circle() -> Any:
    """A unit circle on which anchor, positive and negative are dragged, with hinge and loss beside it.

    It works without a network and without a kernel behind it, in JupyterLab, VS Code and Colab.

    Returns:
      An `IPython.display.HTML`, the last value of a cell.
    """
    from IPython.display import HTML

    text = (resources.files("siamese") / "teaching" / "circle.html").read_text("utf-8")
    return HTML(text.replace("circle-ID", f"circle-{uuid.uuid4().hex}"))


def plot_circle(margin: float = 0.25, steps: int = 3):
    """The circle's triplet before and after steps along the gradient of its loss.

    Args:
      margin: that of the loss.
      steps: how many.

    Returns:
      A Matplotlib figure; `ALT` says in words what it shows.
    """
    moved = dict(ANGLES)
    for _ in range(steps):
        moved = _after_a_step(moved, margin)
    with new_picture(6.4, 3.6) as figure:
        for axes, title, angles in zip(
            figure.subplots(1, 2), ("before", f"after {steps} steps"), (ANGLES, moved)
        ):
            axes.add_artist(_circle())
            for (name, degrees), colour in zip(angles.items(), (DARK, GREEN, RED)):
                x, y = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
                axes.annotate(
                    "", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "lw": 2}
                )
                axes.text(1.12 * x, 1.12 * y, name, color=colour, ha="left" if x > 0.3 else "right")
            sp, sn, loss = _triplet(angles, margin)
            axes.set(xlim=(-1.7, 1.7), ylim=(-1.3, 1.4), aspect="equal", xticks=[], yticks=[])
            axes.grid(False)
            for spine in axes.spines.values():
                spine.set_visible(False)
            axes.set_title(f"{title}: loss {loss:.2f}")
            axes.set_xlabel(f"s(a, p) = {sp:.2f}, s(a, n) = {sn:.2f}")
    return figure


def _circle():
    from matplotlib.patches import Circle

    return Circle((0, 0), 1, fill=False, color=GREY)


def _triplet(angles: dict[str, float], margin: float) -> tuple[float, float, float]:
    """Similarity of the positive, of the negative, and the loss."""
    sp, sn = (
        np.cos(np.radians(angles["anchor"] - angles[name])) for name in ("positive", "negative")
    )
    return sp, sn, float(hinge(np.array([sp]), np.array([sn]), margin)[0])


def _after_a_step(angles: dict[str, float], margin: float) -> dict[str, float]:
    """The angles after a step against the gradient; as they are where the loss is 0."""
    if not _triplet(angles, margin)[2]:
        return angles
    anchor = angles["anchor"]
    positive, negative = (
        STEP * np.sin(np.radians(anchor - angles[name])) for name in ("positive", "negative")
    )
    return {
        "anchor": anchor + negative - positive,
        "positive": angles["positive"] + positive,
        "negative": angles["negative"] - negative,
    }
