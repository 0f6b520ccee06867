"""Pictures that several notebooks draw: losses, similarity matrices with their negatives, LSTM states."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.course.loss import closest_negative
from siamese.errors import DataError, ShapeError
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture


def plot_losses(history: Mapping[str, Sequence[tuple[float, float]]], margin: float | None = None):
    """Loss curves.

    Args:
      history: name -> list of (step, loss), up to four of them, such as {"training": [...]}; Trax's
        ``loop.history.get("train", "metrics/TripletLoss")`` is such a list.
      margin: draws 2 x margin, where the triplet loss stays when all vectors are equal: a model that
        has collapsed.

    Returns:
      A Matplotlib figure.

    Raises:
      DataError: entries that are not pairs of numbers.
    """
    try:
        curves = [
            (name, *np.array(curve, float).reshape(-1, 2).T) for name, curve in history.items()
        ]
    except (TypeError, ValueError, AttributeError):
        raise DataError("history must hold lists of (step, loss), by name.") from None
    with new_picture() as figure:
        axes = figure.add_subplot()
        looks = zip((DARK, LIGHT, GREY, RED), ("-", "--", "-.", ":"), ("", "o", "s", "^"))
        for (colour, line, marker), (name, steps, losses) in zip(looks, curves):
            every = max(1, len(steps) // 10)  # some marks tell the curves apart; all hide them
            axes.plot(steps, losses, line, color=colour, marker=marker, markevery=every, label=name)
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
    false_negative_mask: Any = None,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
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

    Raises:
      ShapeError: a matrix that is not square, or texts of another number.
    """
    scores = np.asarray(scores, dtype=float)
    size, positive = len(scores), np.eye(len(scores), dtype=bool)
    known = np.zeros_like(positive) if false_negative_mask is None else false_negative_mask
    for name, array in (("scores", scores), ("false_negative_mask", np.asarray(known))):
        if array.shape != (size, size) or not size:
            raise ShapeError(
                f"{name} must be [batch, batch] as scores; its shape is {array.shape}."
            )
    for name, texts in (("rows", rows), ("columns", columns)):
        if len(texts) not in (0, size):
            raise ShapeError(f"{name} must hold {size} texts; it holds {len(texts)}.")
    known = np.array(known, bool) & ~positive
    # What to mark: name -> the cells, and how their boxes look.
    marks = {"positive": (positive, {"edgecolor": "black", "linewidth": 2.4})}
    if closest is not None:
        values = closest_negative(scores, closest, false_negative_mask=known)
        chosen = ~positive & ~known & (scores == np.asarray(values)[:, None])
        chosen &= np.cumsum(chosen, axis=1) == 1  # the first of equal ones
        style = {"edgecolor": RED, "linewidth": 2.2, "linestyle": (0, (3, 1.2))}
        marks[f"closest negative ({closest.replace('_', ' ')})"] = chosen, style
    if known.any():
        style = {"edgecolor": DARK, "linewidth": 2.4, "linestyle": (0, (1, 1.2))}
        marks["known duplicates: not negatives"] = known, style
    # Whole texts in short lines; a dollar sign would start a formula.
    beside, below = (
        [textwrap.fill(text, 26).replace("$", r"\$") for text in texts] for texts in (rows, columns)
    )
    lines = max((text.count("\n") + 1 for text in [*beside, *below]), default=0)
    side = min(max(3.5, max(0.55, 0.14 * lines) * size + 2.2 * (not lines)), 9.0)
    wide, high = (2.0, 2.7 + 0.25 * len(marks)) if lines else (0.8, 0)
    with new_picture(side + wide, side + high) as figure:
        from matplotlib.patches import Rectangle

        axes = figure.add_subplot()
        # Pale colours: the boxes stay visible.
        image = axes.imshow(scores, cmap="PuOr", vmin=-1.7, vmax=1.7)
        # The key stands where it leaves the cells their width.
        place = {"location": "top", "aspect": 30} if lines else {"shrink": 0.8}
        bar = figure.colorbar(image, ax=axes, label="cosine (white: 0)", **place)
        bar.ax.set(**{"xlim" if lines else "ylim": (-1, 1)})
        bar.set_ticks([-1, -0.5, 0, 0.5, 1])
        for (i, j), value in np.ndenumerate(scores) if size <= 12 else ():
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9)
        for cells, style in marks.values():
            for i, j in np.argwhere(cells):
                axes.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, **style))
        handles = [Rectangle((0, 0), 1, 1, fill=False, **style) for _, style in marks.values()]
        ncols = 1 if size < 8 else len(marks)
        figure.legend(handles, list(marks), loc="outside lower center", ncols=ncols)
        axes.grid(False)
        if size <= 32:
            turn = 90 if below else 0
            axes.set_xticks(range(size), below or range(size), fontsize=8, rotation=turn)
            axes.set_yticks(range(size), beside or range(size), fontsize=8)
        axes.set(xlabel="question 2", ylabel="question 1")
        figure.suptitle(title, fontsize=11, fontweight="bold")
    return figure


def plot_states(states: Any, tokens: Sequence[str]):
    """The LSTM's output at each token as a heat map, and their mean beside it.

    Args:
      states: float [tokens, d].
      tokens: the words below the columns.

    Returns:
      A Matplotlib figure.

    Raises:
      ShapeError: another number of states than of tokens.
    """
    states = np.asarray(states, float)
    if states.ndim != 2 or len(states) != len(tokens):
        raise ShapeError(f"{len(tokens)} tokens, but states of shape {states.shape}.")
    with new_picture(max(4.0, min(4.8, 0.5 * len(tokens) + 2.2)), 4.2) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[len(tokens), 1], sharey=True)
        reach = max(1e-6, np.abs(states).max())
        options = {"cmap": "PuOr", "vmin": -reach, "vmax": reach, "aspect": "auto"}
        image = left.imshow(states.T, **options)
        right.imshow(states.mean(axis=0)[:, None], **options)
        shown = [token.replace("$", r"\$") for token in tokens]
        left.set_xticks(range(len(tokens)), shown, rotation=60, ha="right")
        right.set_xticks([0], ["mean"], rotation=60, ha="right")
        for axes in (left, right):
            axes.grid(False)
        left.set(ylabel="number of the state's entry")
        left.yaxis.get_major_locator().set_params(integer=True)
        left.set_title("The LSTM's state over a question")
        figure.colorbar(image, ax=right, label="value", fraction=0.5)
    return figure
