"""Duplicate groups of all distinct questions of a file of pairs, beside connected components.

Usage: python benchmarks/groups.py --questions questions.csv.gz (--model runs/best | --vectors vectors.npy)
           [--lowest 0.72] [--results benchmarks/results/groups.json]

The true clusters are the labels' transitive closure. Each way's threshold is chosen on a random half of
the clusters, by B-cubed F1, and reported on the other half; the groups are those of the whole list.
`--vectors` are float32 [questions, d] of length 1, in the order of `siamese.data.clusters.clusters`.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese.data.clusters import clusters, connected_groups
from siamese.data.pairs import read_pairs
from siamese.search.detector import DuplicateDetector
from siamese.search.linkage import average_linkage, strongest_pairs


class BCubed(NamedTuple):
    """How well groups agree with the true ones, item by item."""

    precision: float  # of an item's group, the share that is of its true group
    recall: float  # of an item's true group, the share that is in its group
    f: float  # F1 of the two means


def b_cubed(groups: Any, truth: Any, *, counted: Any = None) -> BCubed:
    """B-cubed precision, recall and F (Bagga and Baldwin, 1998; Amigo et al., 2009).

    Every item counts itself, so that all items alone have precision 1, and all in one group recall 1.

    Args:
      groups: [n]; the group of each item: equal values, one group.
      truth: [n]; its true group.
      counted: bool [n]; the items over which is averaged, all where None. Their groups are whole.

    Example:
      >>> b_cubed([0, 0, 0, 1], ["a", "a", "b", "b"]).precision
      0.6666666666666666
    """
    sizes, of_item = _sizes(groups)
    true_sizes, of_true = _sizes(truth)
    shared, _ = _sizes(of_true.astype(np.int64) * len(groups) + of_item)
    where = slice(None) if counted is None else np.asarray(counted, bool)
    precision = float((shared / sizes)[where].mean())
    recall = float((shared / true_sizes)[where].mean())
    return BCubed(precision, recall, 2 * precision * recall / (precision + recall))


def _sizes(groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """The size of each item's group, and the group's number: int [n], int [n]."""
    _, numbers, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return counts[numbers], numbers


def groupings(vectors: np.ndarray, lowest: float) -> list[tuple[float, np.ndarray]]:
    """Thresholds from 1 down to `lowest`, and the groups at each by average linkage.

    Groups at one threshold are joined further at the next.
    """
    cuts, labels = np.linspace(1, lowest, 29).tolist(), [np.arange(len(vectors))]
    for cut in cuts:
        labels.append(average_linkage(vectors, cut, parts=labels[-1]))
    return list(zip(cuts, labels[1:]))


def best_cut(
    cuts: list[tuple[float, np.ndarray]], score: Callable[[np.ndarray], float]
) -> tuple[float, float]:
    """Of falling thresholds the one whose groups score best, and that score.

    `score` takes int64 [size] groups, as `b_cubed` does. Of equal ones the highest threshold wins.
    """
    values = [score(labels) for _, labels in cuts]
    at = int(np.argmax(values))
    return cuts[at][0], float(values[at])


def report(cuts: list[tuple[float, np.ndarray]], truth: np.ndarray, half: np.ndarray) -> dict:
    """The threshold chosen on one half of the questions, and its figures on the other."""
    cut, _ = best_cut(cuts, lambda labels: b_cubed(labels, truth, counted=half).f)
    labels = dict(cuts)[cut]
    found = b_cubed(labels, truth, counted=~half)
    figures = {name: round(value, 4) for name, value in found._asdict().items()}
    return {"threshold": round(cut, 4), **figures, "largest": int(np.bincount(labels).max())}


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--questions", required=True, help="labelled pairs, any format")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help="directory of a saved model")
    source.add_argument("--vectors", metavar="FILE", help="vectors of any encoder, .npy")
    parser.add_argument("--lowest", type=float, default=0.72, help="the lowest threshold tried")
    parser.add_argument("--results", default="benchmarks/results/groups.json", metavar="FILE")
    flags = parser.parse_args()
    found = clusters(read_pairs(flags.questions))
    truth = found.question_cluster  # [questions]
    if flags.model:
        vectors = DuplicateDetector.load(flags.model).encode(found.questions)
    else:
        vectors = np.load(flags.vectors, mmap_mode="r")
    half = (np.random.default_rng(0).random(len(found)) < 0.5)[truth]  # [questions]

    started, cpu = time.perf_counter(), time.process_time()
    cuts = groupings(vectors, flags.lowest)
    spent = {"s": time.perf_counter() - started, "cpu_s": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # with all before it, in KiB
    spent["peak_mb"] = peak / 1024
    alone = b_cubed(np.arange(len(truth)), truth, counted=~half)
    results = {
        "questions": len(truth),
        "vectors": Path(flags.model or flags.vectors).stem,
        **{name: round(value, 1) for name, value in spent.items()},
        "every question alone": {name: round(v, 4) for name, v in alone._asdict().items()},
        "average linkage": report(cuts, truth, half),
    }
    first, second, cosines, least = strongest_pairs(vectors, flags.lowest)
    edges = np.stack([first, second], axis=1)
    single = [
        (cut, connected_groups(len(truth), edges[cosines > cut]))
        for cut in np.linspace(1, least, 101).tolist()
    ]
    results["connected components"] = report(single, truth, half)
    print(json.dumps(results, indent=1))
    Path(flags.results).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
