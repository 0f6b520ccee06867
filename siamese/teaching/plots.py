"""Pictures that several lessons draw, in one style: legible in grey, on paper and on a phone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from siamese.nn.triplet import closest_negative

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

# Far apart in lightness, so that they differ in grey too; line styles and hatches tell
# them apart again.
DARK = "#12436d"
LIGHT = "#e8871e"
GREY = "#6b6b6b"
RED = "#a31515"
STYLE: dict[RcKeyType, object] = {
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "hatch.linewidth": 0.6,
    "figure.dpi": 110,
    "legend.frameon": False,
    "legend.fontsize": 9,
}
POSITIVE_BOX = {"edgecolor": "black", "linewidth": 2.4}
NEGATIVE_BOX = {"edgecolor": RED, "linewidth": 2.2, "linestyle": (0, (3, 1.2))}
_CLOSEST = {"hardest": "hardest negative", "semi_hard": "closest negative, masked"}


@contextmanager
def new_picture(width: float = 4.8, height: float = 3.8) -> Iterator[Figure]:
    """A Matplotlib figure, its size in inches, to draw on inside the block; a cell shows its value."""
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(width, height), layout="constrained")
        plt.close(figure)
        yield figure


def plot_losses(
    history: Mapping[str, Sequence[tuple[float, float]]], margin: float
) -> Figure:
    """Loss curves, four at most, of name -> list of (step, loss per pair); a Matplotlib figure.

    A line stands at 2 x margin: the hardest negative's loss when all vectors are equal.
    """
    with new_picture(4.8, 4.2) as figure:
        axes = figure.add_subplot()
        axes.set_prop_cycle(
            color=[DARK, LIGHT, GREY, RED], linestyle=["-", "--", "-.", ":"]
        )
        for name, curve in history.items():
            axes.plot(*np.array(curve, float).T, label=name)
        axes.axhline(
            2 * margin,
            color="black",
            linewidth=0.8,
            linestyle=(0, (1, 3)),
            label="2 × margin: all vectors equal",
        )
        axes.set(title="Loss", xlabel="step", ylabel="loss per pair")
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_scores(scores: ArrayLike, labels: ArrayLike, threshold: float) -> Figure:
    """Histograms of the scores of duplicates and of the others; a Matplotlib figure.

    Above each bar is a share of its own class, below it is a number of pairs: where one
    class is larger than the other, the two panels differ. Scores are float [n], labels
    bool or 0/1 [n]; a line stands at the threshold.
    """
    scores = np.asarray(scores)
    is_duplicate = np.asarray(labels, bool)
    edges = np.linspace(scores.min(), scores.max(), 41)
    hatched = {
        "facecolor": "none",
        "hatch": "////",
        "linestyle": "--",
        "edgecolor": LIGHT,
    }
    filled = {"facecolor": DARK, "alpha": 0.45, "edgecolor": DARK}
    classes = (
        ("not duplicates", ~is_duplicate, hatched),
        ("duplicates", is_duplicate, filled),
    )
    with new_picture(4.8, 5.0) as figure:
        panels = figure.subplots(2, sharex=True)
        for axes, ylabel in zip(panels, ("share of the class", "pairs")):
            for name, rows, look in classes:
                size = rows.sum() if axes is panels[0] else 1
                axes.hist(
                    scores[rows],
                    edges,
                    weights=rows[rows] / max(size, 1),
                    histtype="stepfilled",
                    linewidth=1.4,
                    label=f"{name} ({rows.sum():,})",
                    **look,
                )
            label = f"threshold {threshold:.3f}"
            axes.axvline(threshold, color="black", linewidth=1.4, label=label)
            axes.set(ylabel=ylabel)
            axes.margins(y=0.15)
        panels[0].set_title("Scores of both classes")
        panels[1].set(xlabel="similarity")
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=2)
    return figure


def plot_similarity_matrix(
    scores: ArrayLike,  # float [batch, batch]: rows question 1, columns question 2, twelve at most
    *,
    closest: str | None = "hardest",  # or 'semi_hard'; None marks no negatives
    rows: Sequence[str] = (),  # texts beside the rows, whole, in lines of 26 characters
    columns: Sequence[str] = (),  # texts under the columns, upright, likewise
    title: str = "Similarity matrix",
) -> Figure:
    """The similarity matrix as a heat map, with each row's positive and its closest negative marked.

    Positives stand in solid boxes; the negative that the loss takes as the closest has
    a dashed one (none where a row has no allowed negative). The loss's own
    `closest_negative` chooses it. The result is a Matplotlib figure.
    """
    scores = np.asarray(scores, dtype=float)
    row_texts = _wrapped(rows)
    column_texts = _wrapped(columns)
    lines = max(
        (text.count("\n") + 1 for text in [*row_texts, *column_texts]), default=0
    )
    side = max(3.4, max(0.55, 0.14 * lines) * len(scores))
    size = (side + 2, side + 2.4) if lines else (side, side + 0.8)
    with new_picture(*size) as figure:
        axes = figure.add_subplot()
        # Pale colours, so that boxes and numbers stay visible: below 0 orange, above it
        # violet.
        axes.imshow(scores, cmap="PuOr", vmin=-1.7, vmax=1.7)
        for (i, j), value in np.ndenumerate(scores):
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9)
        handles = {}  # of the legend
        for name, (cells, style) in _boxes(scores, closest).items():
            for i, j in np.argwhere(cells):
                axes.add_patch(_box(j - 0.46, i - 0.46, 0.92, style))
            handles[name] = _box(0, 0, 1, style)
        figure.legend(list(handles.values()), list(handles), loc="outside lower center")
        axes.grid(False)
        places = range(len(scores))
        numbers = [str(place) for place in places]
        turn = 90 if column_texts else 0
        axes.set_xticks(places, column_texts or numbers, fontsize=8, rotation=turn)
        axes.set_yticks(places, row_texts or numbers, fontsize=8)
        axes.set(xlabel="question 2", ylabel="question 1")
        figure.suptitle(title, fontsize=11, fontweight="bold")
    return figure


def _wrapped(texts: Sequence[str]) -> list[str]:
    """Texts in lines of 26 characters; a dollar sign would start a formula."""
    return [textwrap.fill(text, 26).replace("$", r"\$") for text in texts]


def _boxes(
    scores: np.ndarray, closest: str | None
) -> dict[str, tuple[np.ndarray, dict]]:
    """What to mark: name -> the cells, bool [batch, batch], and how the boxes look."""
    positive = np.eye(len(scores), dtype=bool)
    boxes = {"positive": (positive, POSITIVE_BOX)}
    if closest is not None:
        values = np.asarray(closest_negative(scores, closest))
        chosen = ~positive & (scores == values[:, None])
        chosen &= np.cumsum(chosen, axis=1) == 1  # the first of equal ones
        boxes[_CLOSEST[closest]] = (chosen, NEGATIVE_BOX)
    return boxes


def _box(left: float, top: float, size: float, style: dict) -> plt.Rectangle:
    return plt.Rectangle((left, top), size, size, fill=False, **style)
