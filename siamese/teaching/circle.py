"""The unit circle of a triplet: a drawing to drag in a notebook, and a picture of it after some steps."""

from __future__ import annotations

import uuid
from importlib import resources
from typing import Any

import numpy as np

from siamese.course.loss import hinge
from siamese.evaluation.picture import DARK, GREY, RED, new_picture

ANGLES = {"anchor": 90.0, "positive": 25.0, "negative": 140.0}  # degrees, as in circle.html
COLOURS = DARK, "#2e8b57", RED
STEP = 6.0  # degrees that a step turns a vector by where the gradient is 1, as in circle.html


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
    """The circle's triplet before and after steps along the gradient of its loss, a Matplotlib figure."""
    angles = np.array(list(ANGLES.values()))
    with new_picture(6.4, 3.6) as figure:
        from matplotlib.patches import Circle

        panels = zip(figure.subplots(1, 2), ("before", f"after {steps} steps"), (0, steps))
        for axes, title, count in panels:
            for _ in range(count):
                angles = _after_a_step(angles, margin)
            sp, sn, loss = _triplet(angles, margin)
            axes.add_artist(Circle((0, 0), 1, fill=False, color=GREY))
            for name, degrees, colour in zip(ANGLES, angles, COLOURS):
                tip = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
                arrow = {"arrowstyle": "->", "color": colour, "lw": 2}
                axes.annotate("", tip, (0, 0), arrowprops=arrow)
                axes.text(*1.12 * tip, name, color=colour, ha="left" if tip[0] > 0.3 else "right")
            axes.set(xlim=(-1.7, 1.7), ylim=(-1.3, 1.4), aspect="equal", xticks=[], yticks=[])
            axes.grid(False)
            axes.spines[:].set_visible(False)
            axes.set_title(f"{title}: loss {loss:.2f}")
            axes.set_xlabel(f"s(a, p) = {sp:.2f}, s(a, n) = {sn:.2f}")
    return figure


def _triplet(angles: np.ndarray, margin: float) -> tuple[float, float, float]:
    """Similarity of the positive, of the negative, and the loss."""
    similar = np.cos(np.radians(angles[0] - angles[1:]))  # [2]
    return *similar, float(hinge(similar[:1], similar[1:], margin)[0])


def _after_a_step(angles: np.ndarray, margin: float) -> np.ndarray:
    """The angles after a step against the gradient; as they are where the loss is 0."""
    positive, negative = STEP * np.sin(np.radians(angles[0] - angles[1:]))
    moves = np.array([negative - positive, positive, -negative])
    return angles + moves * (_triplet(angles, margin)[2] > 0)
