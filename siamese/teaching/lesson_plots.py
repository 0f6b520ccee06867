"""Pictures of one notebook each: masks, angles, the loss by its margin, clusters in a plane."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.course.loss import EDITIONS, closest_negative, hinge, loss_from_scores, mean_negative
from siamese.course.similarity import cosine_similarity
from siamese.errors import ArgumentError, ShapeError
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture

# Where notebooks still look for them.
from siamese.teaching.plots import plot_losses, plot_similarity_matrix, plot_states  # noqa: F401

_MARKS = (
    (DARK, "o"), (LIGHT, "s"), (GREY, "^"), (RED, "D"), ("#2e8b57", "v"), ("#8e5ea2", "P"),
    ("black", "X"), ("#c9a400", "*"),
)  # fmt: skip


def plot_angles(vector: Any, others: Mapping[str, Any]):
    """Arrows in the plane, and the cosine of each with the first one.

    Args:
      vector: float [2]; the arrow that the others are compared with.
      others: name -> float [2], one to three of them.

    Returns:
      A Matplotlib figure.

    Raises:
      ShapeError: a vector that is not of two numbers.
      ArgumentError: no other vector, or more than three.
    """
    if not 1 <= len(others) <= 3:
        raise ArgumentError(f"plot_angles compares with 1 to 3 others; {len(others)} given.")
    arrows = {"v1": np.asarray(vector, float)}
    arrows |= {name: np.asarray(other, float) for name, other in others.items()}
    for name, arrow in arrows.items():
        if arrow.shape != (2,):
            raise ShapeError(f"{name} must be a vector of two numbers; its shape is {arrow.shape}.")
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


def plot_loss_by_margin(scores: Any):
    """The loss of 2022 of one similarity matrix against the margin, and what each of its terms adds.

    Args:
      scores: float [batch, batch]; positives on the diagonal.

    Returns:
      A Matplotlib figure.
    """
    scores, margins = np.asarray(scores, float), np.linspace(0, 1, 101)
    positive = np.diagonal(scores)
    with new_picture(4.8, 4.4) as figure:
        axes = figure.add_subplot()
        nearest = closest_negative(scores, EDITIONS[2022]["closest"])
        terms = {"mean": (mean_negative(scores), LIGHT, "--"), "closest": (nearest, GREY, "-.")}
        for name, (negative, colour, line) in terms.items():
            term = [hinge(positive, negative, float(a)).mean() for a in margins]
            axes.plot(margins, term, line, color=colour, label=f"term of the {name} negative")
        whole = [float(loss_from_scores(scores, float(a), **EDITIONS[2022])) for a in margins]
        axes.plot(margins, whole, "-", color=DARK, label="loss: their sum")
        axes.plot(margins, 2 * margins, color="black", linewidth=0.8, linestyle=(0, (1, 3)),
                  label="2 × margin: all vectors equal")  # fmt: skip
        axes.axvline(0.25, color=RED, linewidth=1.2, label="the course's margin, 0.25")
        axes.set(xlabel="margin", ylabel="loss, mean over the rows")
        axes.set_ylim(bottom=0)
        axes.set_title("Loss against margin")
        figure.legend(loc="outside lower center")
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

    Raises:
      ShapeError: a panel that is not a matrix with one row for each name.
      ArgumentError: no panel, or more than eight clusters.
    """
    distinct = list(dict.fromkeys(names))
    if not panels or len(distinct) > len(_MARKS):
        raise ArgumentError(
            f"plot_clusters shows at least one panel and at most {len(_MARKS)} clusters; "
            f"{len(panels)} panels and {len(distinct)} clusters were given."
        )
    from sklearn.decomposition import PCA

    planes = {}
    for title, vectors in panels.items():
        vectors = np.asarray(vectors, float)
        if vectors.ndim != 2 or len(vectors) != len(names):
            raise ShapeError(f"{title}: {len(names)} names, but vectors of shape {vectors.shape}.")
        planes[title] = PCA(2).fit_transform(vectors)  # [n, 2]
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


def plot_masks(masks: Mapping[str, Any], values: Any = None):
    """Masks side by side: the cells they keep are grey, the others white, as the key says.

    Args:
      masks: name -> bool [n, m], all of one shape.
      values: float [n, m]; written into the kept cells where the matrix is small.

    Returns:
      A Matplotlib figure.

    Raises:
      ShapeError: no mask, or masks (or values) of different shapes.
    """
    arrays = {name: np.asarray(mask, bool) for name, mask in masks.items()}
    shapes = {np.shape(array) for array in (*arrays.values(), values) if array is not None}
    shape = next(iter(shapes), ())
    if not arrays or len(shapes) > 1 or len(shape) != 2:
        raise ShapeError(f"Masks and values must be matrices of one shape; these have {shapes}.")
    (height, width), largest = shape, max(shape)
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
