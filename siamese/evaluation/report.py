"""What an evaluation finds on labelled pairs: a table for the terminal, and a page.

The page is one HTML file that stands alone: no network, no scripts, any text escaped.
"""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from siamese.data.arguments import check_pairs
from siamese.errors import DataError
from siamese.evaluation import plots
from siamese.evaluation.baselines import baselines, word_overlap
from siamese.evaluation.bootstrap import metric_intervals
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.metrics import check_scores, evaluate_scores
from siamese.evaluation.picture import to_png
from siamese.storage.atomic import explained, write_text_atomically

# What the tables show, in this order, and their titles.
FIGURES = {
    **{"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1"},
    **{"roc_auc": "ROC AUC", "average_precision": "average precision"},
}
WORST = 15  # mistakes of each kind that the page shows


class Evaluation:
    """A model's scores on n labelled pairs, and what they are worth.

    Args:
      question1: n texts.
      question2: n texts.
      scores: float [n], from any model.
      labels: bool or 0/1 [n].
      threshold: a pair counts as a duplicate where its score is above it.
      threshold_from: where it was chosen, such as "best accuracy on the validation rows".
      probabilities: float [n], calibrated probabilities; None without a calibration.

    Attributes:
      metrics: `Metrics` at the threshold.
      intervals: name of a metric -> its bootstrap interval.
      overlap: float64 [n], the pairs' word overlap.
      baselines: name -> `Metrics`; their thresholds are chosen on these pairs.
      calibration_error: None without probabilities.
      The others are the arguments: scores float64, labels bool.

    Raises:
      ArgumentError, DataError: see `siamese.evaluation.metrics.check_scores`; texts of another number.
    """

    def __init__(
        self,
        question1: Sequence[str],
        question2: Sequence[str],
        scores: Any,
        labels: Any,
        threshold: float,
        *,
        threshold_from: str = "given",
        probabilities: Any = None,
    ):
        check_pairs(question1, labels, "question1", "labels")
        self.question1, self.question2 = question1, question2
        self.scores, self.labels = check_scores(scores, labels)
        self.threshold_from, self.probabilities = threshold_from, probabilities
        self.metrics = evaluate_scores(scores, labels, threshold)
        self.intervals = metric_intervals(scores, labels, float(threshold))
        self.overlap = word_overlap(question1, question2)
        self.baselines = baselines(self.overlap, labels)
        self.calibration_error = None
        if probabilities is not None:
            self.calibration_error = expected_calibration_error(probabilities, labels)

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON; without the pairs."""
        return {
            **self.metrics.to_dict(),
            "threshold_from": self.threshold_from,
            "intervals": {name: [each.low, each.high] for name, each in self.intervals.items()},
            "baselines": {name: metrics.to_dict() for name, metrics in self.baselines.items()},
            "calibration_error": self.calibration_error,
        }


def short_table(evaluation: Evaluation) -> str:
    """The figures with their intervals, beside those of the baselines, in 80 columns."""
    metrics, others = evaluation.metrics, evaluation.baselines
    rows = [("", "this model", *others)]
    for name, title in FIGURES.items():
        beside = (f"{getattr(other, name):.3f}" for other in others.values())
        rows.append((title, str(evaluation.intervals[name]), *beside))
    if evaluation.calibration_error is not None:
        rows.append(("calibration error", f"{evaluation.calibration_error:.3f} (15 bins)"))
    table = (
        f"{title:<22}{own:<24}" + "".join(f"{other:>14}" for other in beside)
        for title, own, *beside in rows
    )
    lines = (
        f"{metrics.n:,} pairs, {metrics.base_rate:.1%} duplicates",
        f"threshold {metrics.threshold:.4f} ({evaluation.threshold_from})",
        *("", *table, ""),
        "[..]: 95 % bootstrap interval. Baselines' thresholds are chosen on these pairs.",
    )
    return "\n".join(lines)


def worst_mistakes(evaluation: Evaluation) -> tuple[np.ndarray, np.ndarray]:
    """The surest wrong answers: (taken for duplicates, missed duplicates), rows, worst first."""
    order = np.argsort(-evaluation.scores, kind="stable")
    answers = evaluation.scores[order] > evaluation.metrics.threshold
    labels = evaluation.labels[order]
    return order[answers & ~labels][:WORST], order[~answers & labels][::-1][:WORST]


def write_report(
    directory: os.PathLike | str, evaluation: Evaluation, facts: Mapping[str, Any] | None = None
) -> Path:
    """Writes ``index.html`` into a directory, made if need be, atomically, and returns its path.

    The page quotes questions from the evaluated file: whoever gets the page gets those.

    Args:
      directory: where to.
      evaluation: see `Evaluation`.
      facts: what was evaluated: name -> value, such as the model and the file.

    Raises:
      DataError: where it cannot be written.
      MissingDependencyError: without Matplotlib.
    """
    path = Path(directory, "index.html")
    page = report_page(evaluation, facts)
    with explained(directory, error=DataError):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path, page)
    return path


def report_page(evaluation: Evaluation, facts: Mapping[str, Any] | None = None) -> str:
    """The page that `write_report` writes, as text."""
    wrongly, missed = (_pairs(evaluation, rows) for rows in worst_mistakes(evaluation))
    lines = (f"{name}: {value}" for name, value in (facts or {}).items())
    answers = evaluation.scores > evaluation.metrics.threshold
    page = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        figures=_text("\n".join([*lines, short_table(evaluation)])),
        pictures="\n".join(_pictures(evaluation)),
        mistakes=f"{np.sum(answers != evaluation.labels):,} of {len(answers):,}",
        wrongly=wrongly,
        missed=missed,
    )


def _pictures(evaluation: Evaluation) -> Iterator[str]:
    """Each picture with the sentence under it, which is also read out in its place."""
    pairs = evaluation.scores, evaluation.labels
    at, overlap = evaluation.metrics.threshold, {"word overlap": evaluation.overlap}
    pictures = {
        "True positive against false positive rate over all thresholds; further up and left is "
        "better.": plots.plot_roc(*pairs, at, overlap),
        "Scores of both classes: the less they overlap, the better the model tells them "
        "apart.": plots.plot_score_histogram(*pairs, at),
        "Accuracy and F1 at every threshold. A peak elsewhere than at the threshold shows how far "
        "these pairs differ from those it was chosen on; it is not to be moved "
        "there.": plots.plot_accuracy_by_threshold(*pairs, at),
    }
    if evaluation.probabilities is not None:
        caption = "Predicted probability, and share of duplicates; on the diagonal they agree."
        pictures[caption] = plots.plot_reliability(evaluation.probabilities, evaluation.labels)
    for caption, figure in pictures.items():
        image = base64.b64encode(to_png(figure)).decode("ascii")
        yield (
            f'<figure><img src="data:image/png;base64,{image}" alt="{caption}"/>'
            f"<figcaption>{caption}</figcaption></figure>"
        )


def _pairs(evaluation: Evaluation, rows: np.ndarray) -> str:
    items = []
    for row in rows:
        numbers = [f"score {evaluation.scores[row]:.3f}"]
        if evaluation.probabilities is not None:
            numbers.append(f"probability {evaluation.probabilities[row]:.2f}")
        numbers += [f"word overlap {evaluation.overlap[row]:.2f}", f"pair {row + 1:,}"]
        # <bdi>: text that runs from right to left stays within its own line.
        items.append(
            f"<li><bdi>{_text(evaluation.question1[row])}</bdi><br/>"
            f"<bdi>{_text(evaluation.question2[row])}</bdi><br/>"
            f"<small>{' · '.join(numbers)}</small></li>"
        )
    return f"<ul>{''.join(items)}</ul>" if items else "<p>None.</p>"


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _text(value: Any) -> str:
    """Any text as HTML that shows it and does nothing else."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", str(value)), quote=True)
