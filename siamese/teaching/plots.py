"""Pictures for the lessons: losses, similarity matrices, masks, angles, and clusters in a plane."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.course.loss import closest_negative
from siamese.course.similarity import cosine_similarity
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture

_CURVES = ((DARK, "-", ""), (LIGHT, "--", "o"), (GREY, "-.", "s"), (RED, ":", "^"))
_MARKS = (
    (DARK, "o"), (LIGHT, "s"), (GREY, "^"), (RED, "D"), ("#2e8b57", "v"), ("#8e5ea2", "P"),
    ("black", "X"), ("#c9a400", "*"),
)  # fmt: skip


def plot_losses(history: Mapping[str, Sequence[tuple[float, float]]], margin: float | None = None):
    """Loss curves.

    Args:
      history: name -> list of (step, loss), such as {"training": [...], "validation": [...]}, four at
        most; Trax's ``loop.history.get("train", "metrics/TripletLoss")`` is such a list.
      margin: draws 2 x margin, where the triplet loss stays when all vectors are equal: a model that
        has collapsed.

    Returns:
      A Matplotlib figure.
    """
    curves = {name: np.array(curve, float).T for name, curve in history.items()}  # [2, n] each
    with new_picture() as figure:
        axes = figure.add_subplot()
        for (colour, line, marker), (name, points) in zip(_CURVES, curves.items()):
            every = max(1, points.shape[1] // 10)  # some marks tell the curves apart; all hide them
            axes.plot(*points, line, color=colour, marker=marker, markersize=4, markevery=every,
                      label=name)  # fmt: skip
        if margin is not None:
            axes.axhline(2 * margin, color="black", linewidth=0.8, linestyle=(0, (1, 3)),
                         label="2 × margin: all vectors equal")  # fmt: skip
        axes.set(xlabel="step", ylabel="loss a pair")
        axes.set_ylim(bottom=0)
        axes.set_title("Loss")
        axes.legend(loc="best")
    return figure


def plot_similarity_matrix(
    scores: Any,
    *,
    closest: str | None = "hardest",
    false_negative_mask: Any = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "Similarity matrix",
):
    """The similarity matrix as a heat map, with each row's positive and its closest negative marked.

    Positives stand in solid boxes; the negative that the loss takes as the closest has a dashed one
    (none where a row has no allowed negative). The loss's own `closest_negative` chooses it.

    Args:
      scores: float [batch, batch]; rows question 1, columns question 2.
      closest: 'hardest', 'semi_hard', or None to mark no negatives.
      false_negative_mask: None, or bool [batch, batch]: cells that are not negatives; dotted boxes.
      rows: texts beside the rows, whole, in lines of 26 characters.
      columns: texts under the columns, upright, likewise.
      title: over the picture.

    Returns:
      A Matplotlib figure.
    """
    scores = np.asarray(scores, dtype=float)
    size = len(scores)
    positive = np.eye(size, dtype=bool)
    mask = np.zeros_like(positive) if false_negative_mask is None else false_negative_mask
    known = np.array(mask, bool) & ~positive
    # What to mark: name -> the cells, and how their boxes look.
    marks = {"positive": (positive, {"edgecolor": "black", "linewidth": 2.4})}
    if closest is not None:
        values = closest_negative(scores, closest, false_negative_mask=known)
        chosen = ~positive & ~known & (scores == np.asarray(values)[:, None])
        chosen &= np.cumsum(chosen, axis=1) == 1  # the first of equal ones
        style = {"edgecolor": RED, "linewidth": 2.2, "linestyle": (0, (3, 1.2))}
        name = {"hardest": "hardest negative", "semi_hard": "closest negative, masked"}[closest]
        marks[name] = chosen, style
    if known.any():
        style = {"edgecolor": DARK, "linewidth": 2.4, "linestyle": (0, (1, 1.2))}
        marks["known duplicates: not negatives"] = known, style
    with new_picture() as figure:
        from matplotlib.patches import Rectangle

        axes = figure.add_subplot()
        texts = rows is not None or columns is not None
        beside_rows, below_columns = _lines(rows), _lines(columns)
        lines = max((text.count("\n") + 1 for text in [*beside_rows, *below_columns]), default=0)
        cell = max(0.55, 0.14 * lines)
        side = min(max(3.4 if texts else 3.6, cell * size + (0 if texts else 2.2)), 9.0)
        beside, below = (2.0, 2.7 + 0.25 * len(marks)) if texts else (0.8, 0)
        figure.set_size_inches(side + beside, side + below)
        # Pale colours: the boxes stay visible.
        image = axes.imshow(scores, cmap="PuOr", vmin=-1.7, vmax=1.7)
        # The key stands where it leaves the cells their width.
        place = {"location": "top", "aspect": 30} if texts else {"shrink": 0.8}
        bar = figure.colorbar(image, ax=axes, label="cosine (white: 0)", **place)
        bar.ax.set(**{"xlim" if texts else "ylim": (-1, 1)})
        bar.set_ticks([-1, -0.5, 0, 0.5, 1])
        if size <= 12:
            for (i, j), value in np.ndenumerate(scores):
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9)
        for cells, style in marks.values():
            for i, j in np.argwhere(cells):
                axes.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, **style))
        handles = [Rectangle((0, 0), 1, 1, fill=False, **style) for _, style in marks.values()]
        ncols = 1 if size < 8 else len(marks)
        figure.legend(handles, list(marks), loc="outside lower center", ncols=ncols)
        axes.grid(False)
        if size <= 32:
            axes.set_xticks(range(size), below_columns or range(size), fontsize=8,
                            rotation=90 if columns else 0)  # fmt: skip
            axes.set_yticks(range(size), beside_rows or range(size), fontsize=8)
        axes.set(xlabel="question 2", ylabel="question 1")
        figure.suptitle(title, fontsize=11, fontweight="bold")
    return figure


def plot_masks(masks: Mapping[str, Any], values: Any = None):
    """Masks side by side: the cells they keep are grey, the others white, as the key says.

    Args:
      masks: name -> bool [n, m], all of one shape.
      values: float [n, m]; written into the kept cells where the matrix is small.

    Returns:
      A Matplotlib figure.
    """
    arrays = {name: np.asarray(mask, bool) for name, mask in masks.items()}
    height, width = next(iter(arrays.values())).shape
    largest = max(height, width)
    cell = 0.45 if largest <= 12 else 4.5 / largest
    size = max(2.2, cell * width + 0.6) * len(arrays), max(2.1, cell * height + 1.2)
    with new_picture(*size) as figure:
        from matplotlib.patches import Patch

        for axes, (name, mask) in zip(np.ravel(figure.subplots(1, len(arrays))), arrays.items()):
            axes.imshow(mask, cmap="Greys", vmin=0, vmax=2.2)
            axes.set_title(name, fontsize=10)
            axes.set(xlabel="question 2 (column)", ylabel="question 1 (row)")
            axes.grid(False)
            if largest <= 16:
                axes.set_xticks(range(width))
                axes.set_yticks(range(height))
            if values is not None and largest <= 12:
                for i, j in np.argwhere(mask):
                    axes.text(j, i, f"{np.asarray(values)[i, j]:.2g}", ha="center", va="center",
                              fontsize=9)  # fmt: skip
        grey = figure.axes[0].images[0].to_rgba(1)
        key = [Patch(facecolor=colour, edgecolor="black") for colour in (grey, "white")]
        figure.legend(key, ["counts", "left out"], loc="outside lower center", ncols=2)
    return figure


def _lines(texts: Sequence[str] | None) -> list[str]:
    # Whole texts in short lines; a dollar sign would start a formula.
    return [textwrap.fill(text, 26).replace("$", r"\$") for text in texts or ()]


def plot_angles(vector: Any, others: Mapping[str, Any]):
    """Arrows in the plane, and the cosine of each with the first one.

    Args:
      vector: float [2]; the arrow that the others are compared with.
      others: name -> float [2], one to three of them.

    Returns:
      A Matplotlib figure.
    """
    arrows = {"v1": np.asarray(vector, float)}
    arrows |= {name: np.asarray(other, float) for name, other in others.items()}
    with new_picture(4.8, 4.8) as figure:
        axes = figure.add_subplot()
        for (name, arrow), (colour, _), line in zip(arrows.items(), _MARKS, ("-", "--", "-.", ":")):
            cosine = float(cosine_similarity(arrows["v1"], arrow))
            label = name if name == "v1" else f"{name}: cosine {cosine:.2f}"
            axes.plot(*zip((0, 0), arrow), line, color=colour, linewidth=2.4, label=label)
            axes.plot(*arrow, "o", color=colour, markersize=6)
        reach = 1.15 * max(np.abs(arrow).max() for arrow in arrows.values())
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.axvline(0, color=GREY, linewidth=0.6)
        axes.set_title("The cosine sees directions, not lengths")
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_clusters(panels: Mapping[str, Any], names: Sequence[str]):
    """Vectors of a few clusters in two dimensions, panel by panel, such as before and after training.

    Each panel shows its vectors on the plane in which they differ most (principal components), all
    panels on one scale: cosines are near to distances, as the vectors have length 1.

    Args:
      panels: title -> float [n, d], the same n things in each.
      names: the cluster of each of the n vectors; at most eight different ones.

    Returns:
      A Matplotlib figure.
    """
    from sklearn.decomposition import PCA

    distinct = list(dict.fromkeys(names))
    planes = {title: PCA(2).fit_transform(vectors) for title, vectors in panels.items()}  # [n, 2]
    reach = max(1e-6, 1.1 * max(np.abs(plane).max() for plane in planes.values()))
    key = [textwrap.fill(str(name), 56).replace("$", r"\$") for name in distinct]
    height = 2.9 + 0.2 * sum(1 + text.count("\n") for text in key)
    with new_picture(2.45 * len(panels), height) as figure:
        row = np.ravel(figure.subplots(1, len(panels), sharex=True, sharey=True))
        for axes, (title, plane) in zip(row, planes.items()):
            for name, (colour, mark) in zip(distinct, _MARKS):
                chosen = np.array([other == name for other in names])
                axes.plot(*plane[chosen].T, mark, color=colour, markersize=6, alpha=0.75,
                          markeredgecolor="white", markeredgewidth=0.5, label=name)  # fmt: skip
            axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="1st component")
            axes.set_box_aspect(1)
            axes.set_title(title)
        row[0].set(ylabel="2nd principal component")
        handles, _ = row[0].get_legend_handles_labels()
        figure.legend(handles, key, loc="outside lower center", ncols=1 if len(panels) < 3 else 2)
    return figure
