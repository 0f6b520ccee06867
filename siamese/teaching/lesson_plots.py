"""Pictures for the lessons: losses, similarity matrices with their negatives, and masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.course.loss import closest_negative
from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture

_CURVES = ((DARK, "-", ""), (LIGHT, "--", "o"), (GREY, "-.", "s"), (RED, ":", "^"))


def plot_losses(history: Mapping[str, Sequence[tuple[float, float]]], margin: float | None = None):
    """Loss curves.

    Args:
      history: name -> list of (step, loss), such as {"training": [...], "validation": [...]}; Trax's
        ``loop.history.get("train", "metrics/TripletLoss")`` is such a list.
      margin: draws 2 x margin, where the triplet loss stays when all vectors are equal: a model that
        has collapsed.

    Returns:
      A Matplotlib figure.

    Raises:
      DataError: no curve, or entries that are not pairs of numbers.
    """
    with new_picture() as figure:
        if not history or len(history) > len(_CURVES):
            raise DataError(
                f"history must hold 1 to {len(_CURVES)} named curves; {len(history)} given."
            )
        axes = figure.add_subplot()
        for (colour, line, marker), (name, curve) in zip(_CURVES, history.items()):
            try:
                points = np.asarray(list(curve), dtype=float).reshape(len(curve), 2)
            except (TypeError, ValueError):
                raise DataError(f"history[{name!r}] must be a list of (step, loss).") from None
            axes.plot(*points.T, line, color=colour, marker=marker, markersize=4, label=name)
        if margin is not None:
            axes.axhline(2 * margin, color="black", linewidth=0.8, linestyle=(0, (1, 3)),
                         label="2 × margin: all vectors equal")  # fmt: skip
        axes.set(xlabel="step", ylabel="loss")
        axes.set_ylim(bottom=0)
        axes.set_title("Loss")
        axes.legend(loc="best")
    return figure


def plot_similarity_matrix(
    scores: Any,
    *,
    closest: str | None = "hardest",
    same: Any = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "Similarity matrix",
):
    """The similarity matrix as a heat map, with each row's positive and its closest negative marked.

    Positives stand in solid boxes; the negative that the loss takes as the closest has a dashed one
    (none where a row has no allowed negative). The loss's own `closest_negative` chooses it.

    Args:
      scores: float [batch, batch]; rows question 1, columns question 2.
      closest: 'hardest', 'below_positive', or None to mark no negatives.
      same: None, or bool [batch, batch]: cells that are no negatives; hatched.
      rows: texts beside the rows, cut at 28 characters.
      columns: texts under the columns, likewise.
      title: over the picture.

    Returns:
      A Matplotlib figure.

    Raises:
      ShapeError: a matrix that is not square, or texts of another number.
    """
    with new_picture() as figure:
        from matplotlib.patches import Rectangle

        scores = np.asarray(scores, dtype=float)
        if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or not len(scores):
            raise ShapeError(f"scores must be [batch, batch]; its shape is {scores.shape}.")
        size = len(scores)
        for name, texts in (("rows", rows), ("columns", columns)):
            if texts is not None and len(texts) != size:
                raise ShapeError(f"{name} must hold {size} texts; it holds {len(texts)}.")
        axes = figure.add_subplot()
        side = min(max(3.6, 0.55 * size + 2.2), 9.0)
        figure.set_size_inches(side + (3.4 if rows is not None else 0.8), side)
        image = axes.imshow(scores, cmap="Greys", vmin=-1, vmax=1.9)  # the boxes stay visible
        bar = figure.colorbar(image, ax=axes, label="cosine", shrink=0.8)
        bar.ax.set_ylim(-1, 1)
        if size <= 12:
            for (i, j), value in np.ndenumerate(scores):
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9,
                          color="white" if value > 0.6 else "black")  # fmt: skip
        kept_apart = np.zeros(scores.shape, bool) if same is None else np.asarray(same, bool).copy()
        if kept_apart.shape != scores.shape:
            raise ShapeError(f"same has shape {kept_apart.shape}; scores has {scores.shape}.")
        np.fill_diagonal(kept_apart, False)

        def box(i, j, **options):
            axes.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, **options))

        for i, j in np.argwhere(kept_apart):
            box(i, j, hatch="xx", edgecolor="white" if scores[i, j] > 0.3 else GREY, linewidth=0)
        for i in range(size):
            box(i, i, edgecolor=DARK, linewidth=2.6)
        if closest is not None:
            for i, j in closest_places(scores, closest, kept_apart):
                box(i, j, edgecolor=LIGHT, linewidth=2.2, linestyle=(0, (2, 1)))
        marks = [Rectangle((0, 0), 1, 1, fill=False, edgecolor=DARK, linewidth=2.6)]
        names = ["positive"]
        if closest is not None:
            marks.append(
                Rectangle((0, 0), 1, 1, fill=False, edgecolor=LIGHT, linewidth=2.2, linestyle="--")
            )
            names.append(f"closest negative ({closest.replace('_', ' ')})")
        if kept_apart.any():
            marks.append(Rectangle((0, 0), 1, 1, fill=False, hatch="xx", edgecolor=GREY))
            names.append("known duplicates: no negatives")
        figure.legend(marks, names, loc="outside lower center", ncols=1 if size < 8 else len(names))
        axes.grid(False)
        if size <= 32:
            short = [str(i) for i in range(size)]
            axes.set_xticks(range(size), _short(columns) or short, rotation=0 if not columns else 60,
                            ha="center" if not columns else "right")  # fmt: skip
            axes.set_yticks(range(size), _short(rows) or short)
        axes.set(xlabel="question 2", ylabel="question 1")
        axes.set_title(title)
    return figure


def closest_places(scores: Any, closest: str, same: Any = None) -> list[tuple[int, int]]:
    """Where each row's closest negative stands, as (row, column); rows without one are left out.

    Example:
      >>> closest_places(np.array([[0.5, 0.9], [0.1, 0.6]]), "below_positive")
      [(1, 0)]
    """
    values = np.asarray(closest_negative(scores, closest, false_negative_mask=same))
    found = []
    for i, value in enumerate(values):
        allowed = np.arange(len(scores)) != i
        if same is not None:
            allowed &= ~np.asarray(same, bool)[i]
        here = np.flatnonzero(allowed & (np.asarray(scores)[i] == value))
        if len(here):
            found.append((i, int(here[0])))
    return found


def plot_masks(masks: Mapping[str, Any], values: Any = None):
    """Masks side by side: the cells they keep filled, the others empty.

    Args:
      masks: name -> bool [n, m], all of one shape.
      values: float [n, m]; written into the kept cells where the matrix is small.

    Returns:
      A Matplotlib figure.

    Raises:
      ShapeError: masks (or values) of different shapes.
      ArgumentError: no mask at all.
    """
    with new_picture() as figure:
        if not masks:
            raise ArgumentError("masks is empty: give a name and a bool matrix for each mask.")
        arrays = {name: np.asarray(mask, bool) for name, mask in masks.items()}
        shapes = {array.shape for array in arrays.values()}
        if values is not None:
            shapes.add(np.shape(values))
        if len(shapes) > 1 or len(next(iter(shapes))) != 2:
            raise ShapeError(
                f"Masks and values must be matrices of one shape; these have {shapes}."
            )
        height, width = next(iter(shapes))
        cell = 0.45 if max(height, width) <= 12 else 4.5 / max(height, width)
        figure.set_size_inches(
            max(2.2, cell * width + 0.6) * len(arrays), max(1.8, cell * height + 0.9)
        )
        for axes, (name, mask) in zip(np.ravel(figure.subplots(1, len(arrays))), arrays.items()):
            axes.imshow(mask, cmap="Greys", vmin=0, vmax=2.2)
            axes.set_title(name, fontsize=10)
            axes.grid(False)
            if max(height, width) <= 16:
                axes.set_xticks(range(width))
                axes.set_yticks(range(height))
            if values is not None and max(height, width) <= 12:
                for i, j in np.argwhere(mask):
                    axes.text(j, i, f"{np.asarray(values)[i, j]:.2g}", ha="center", va="center",
                              fontsize=8)  # fmt: skip
    return figure


def _short(texts: Sequence[str] | None, limit: int = 28) -> list[str] | None:
    if texts is None:
        return None
    # A dollar sign would start a formula.
    cut = [text if len(text) <= limit else text[: limit - 1] + "…" for text in texts]
    return [text.replace("$", r"\$") for text in cut]
