"""Pictures of vectors for the lessons: angles, and clusters in a plane."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.course.similarity import cosine_similarity
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture

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
