"""What an evaluation finds on labelled pairs: a table for the terminal, and a page.

The page is one HTML file that stands alone: no network, no scripts, any text escaped.
"""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siamese.data.arguments import as_number
from siamese.errors import DataError
from siamese.evaluation import plots
from siamese.evaluation.baselines import baselines, word_overlap
from siamese.evaluation.bootstrap import Interval, bootstrap_interval
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.metrics import Metrics, check_scores, evaluate_scores
from siamese.evaluation.picture import to_png
from siamese.storage.atomic import explain, write_text_atomically

# What the tables show, in this order, and how it is called there.
FIGURES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "mcc": "Matthews correlation",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A model's scores on n labelled pairs, and what they are worth; made by `evaluate_pairs`."""

    question1: Sequence[str]
    question2: Sequence[str]
    scores: np.ndarray  # float64 [n]
    labels: np.ndarray  # bool [n]
    overlap: np.ndarray  # float64 [n], the pairs' word overlap
    probabilities: np.ndarray | None  # float64 [n]; None where the model is not calibrated
    threshold_from: str  # Where the threshold was chosen, in words.
    metrics: Metrics  # Of the model at the threshold, which stands there too.
    intervals: Mapping[str, Interval]  # Name of a metric -> its bootstrap interval.
    baselines: Mapping[str, Metrics]  # Their thresholds are chosen on these pairs.
    calibration_error: float | None  # None without probabilities

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON; without the pairs."""
        return {
            **self.metrics.to_dict(),
            "threshold_from": self.threshold_from,
            "intervals": {name: [found.low, found.high] for name, found in self.intervals.items()},
            "baselines": {name: found.to_dict() for name, found in self.baselines.items()},
            "calibration_error": self.calibration_error,
        }


def evaluate_pairs(
    question1: Sequence[str],
    question2: Sequence[str],
    scores: Any,
    labels: Any,
    threshold: float,
    *,
    threshold_from: str = "given",
    probabilities: Any = None,
) -> Evaluation:
    """Metrics with 95 % intervals, baselines and calibration error of scores on labelled pairs.

    Args:
      question1: n texts.
      question2: n texts.
      scores: float [n], from any model.
      labels: bool or 0/1 [n].
      threshold: a pair counts as a duplicate where its score is above it.
      threshold_from: where it was chosen, such as "best accuracy on the validation rows".
      probabilities: float [n], calibrated probabilities; None without a calibration.

    Raises:
      ArgumentError, DataError: see `siamese.evaluation.metrics.check_scores`; texts of another number.
    """
    values, truth = check_scores(scores, labels)
    threshold = as_number(threshold, "threshold")
    for name, texts in (("question1", question1), ("question2", question2)):
        if len(texts) != len(truth):
            raise DataError(f"{name} holds {len(texts)} texts for {len(truth)} labels.")
    error = None
    if probabilities is not None:
        probabilities, _ = check_scores(probabilities, labels)
        error = expected_calibration_error(probabilities, truth)
    return Evaluation(
        question1=list(question1),
        question2=list(question2),
        scores=values,
        labels=truth,
        overlap=word_overlap(question1, question2),
        probabilities=probabilities,
        threshold_from=threshold_from,
        metrics=evaluate_scores(values, truth, threshold),
        intervals={
            name: bootstrap_interval(name, values, truth, threshold=threshold) for name in FIGURES
        },
        baselines=baselines(question1, question2, truth),
        calibration_error=error,
    )


def figures(evaluation: Evaluation) -> Iterator[list[str]]:
    """The rows of a table: a name, this model's figure with its interval, those of the baselines."""
    beside = evaluation.baselines
    yield ["", "this model", *beside]
    for name, title in FIGURES.items():
        others = (f"{getattr(other, name):.3f}" for other in beside.values())
        yield [title, str(evaluation.intervals[name]), *others]
    if evaluation.calibration_error is not None:
        yield ["calibration error", f"{evaluation.calibration_error:.3f} (15 bins)"]


def short_table(evaluation: Evaluation) -> str:
    """The figures as a table of text for the terminal, at most 80 columns wide."""
    metrics = evaluation.metrics
    rows = (
        f"{title:<22}{own:<24}" + "".join(f"{other:>14}" for other in others)
        for title, own, *others in figures(evaluation)
    )
    return "\n".join(
        (
            f"{metrics.n:,} pairs, {metrics.base_rate:.1%} duplicates",
            f"threshold {metrics.threshold:.4f} ({evaluation.threshold_from})",
            "",
            *rows,
            "",
            "[..]: 95 % bootstrap interval. Baselines' thresholds are chosen on these pairs.",
        )
    )


def worst_mistakes(evaluation: Evaluation, count: int = 15) -> tuple[np.ndarray, np.ndarray]:
    """The surest wrong answers: (taken for duplicates, missed duplicates), rows, worst first."""
    order = np.argsort(-evaluation.scores, kind="stable")
    answers, labels = (
        evaluation.scores[order] > evaluation.metrics.threshold,
        evaluation.labels[order],
    )
    return order[answers & ~labels][:count], order[~answers & labels][::-1][:count]


# Nothing is loaded from anywhere, whatever a question holds.
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>siamese: evaluation</title>
<style>
body { margin: 0 auto; max-width: 68rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h2 { font-size: 1.15rem; margin-top: 2.4rem; border-bottom: 2px solid #12436d; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; font-weight: normal; }
tr + tr > *, li { border-top: 1px solid #ddd; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
figure { margin: .5rem; break-inside: avoid; }
img { width: 100%; }
ul { list-style: none; padding: 0; overflow-wrap: anywhere; }
small, figcaption, footer { color: #555; }
</style></head>
<body>
"""


def write_report(
    directory: os.PathLike | str, evaluation: Evaluation, facts: Mapping[str, Any] | None = None
) -> Path:
    """Writes ``index.html`` into a directory, made if need be, atomically.

    The page quotes questions from the evaluated file: whoever gets the page gets those.

    Args:
      directory: where to.
      evaluation: from `evaluate_pairs`.
      facts: rows of a table on what was evaluated: name -> value, such as the model and the file.

    Returns:
      The path of the page.

    Raises:
      DataError: where it cannot be written.
      MissingDependencyError: without Matplotlib.
    """
    page = report_page(evaluation, facts)
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise DataError(explain(failure, directory)) from failure
    path = Path(directory, "index.html")
    write_text_atomically(path, page)
    return path


def report_page(evaluation: Evaluation, facts: Mapping[str, Any] | None = None) -> str:
    """The page that `write_report` writes, as text."""
    wrongly, missed = worst_mistakes(evaluation)
    metrics, accuracy = evaluation.metrics, evaluation.intervals["accuracy"]
    beside = ", ".join(
        f"{_text(name)} in {found.accuracy:.1%}" for name, found in evaluation.baselines.items()
    )
    about = {
        **(facts or {}),
        "Pairs": f"{metrics.n:,}, of which {metrics.base_rate:.1%} duplicates",
        "Threshold": f"{metrics.threshold:.4f} ({evaluation.threshold_from})",
    }
    errors = int(np.count_nonzero((evaluation.scores > metrics.threshold) != evaluation.labels))
    parts = [
        "<h1>Duplicate questions: evaluation</h1>",
        f"<p>Right in <strong>{accuracy.value:.1%}</strong> of {metrics.n:,} pairs "
        f"({accuracy.low:.1%} to {accuracy.high:.1%}); {beside}.</p>",
        _table(about.items()),
        "<h2>Figures</h2>",
        _table(figures(evaluation)),
        "<p>In brackets: 95 % bootstrap intervals over the pairs. The baselines' thresholds are chosen "
        "on these pairs.</p>",
        '<h2>Pictures</h2><div class="pictures">',
        *(_picture(*found) for found in _pictures(evaluation)),
        "</div>",
        f"<h2>Worst mistakes</h2><p>{errors:,} of {metrics.n:,} answers are wrong; these are the "
        "surest of them.</p>",
        "<h2>Taken for duplicates, labelled as not</h2>",
        _pairs(evaluation, wrongly),
        "<h2>Labelled duplicates, missed</h2>",
        _pairs(evaluation, missed),
        "<footer>Made by siamese. The page holds questions of the evaluated file.</footer>",
    ]
    return _HEAD + "\n".join(parts) + "\n</body></html>\n"


def _table(rows: Iterable[Sequence[Any]]) -> str:
    """Rows of texts, the first cell of each its heading, as a table."""
    body = "".join(
        f"<tr><th>{_text(first)}</th>{''.join(f'<td>{_text(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return f"<table><tbody>{body}</tbody></table>"


def _pictures(evaluation: Evaluation) -> Iterable[tuple[Any, str]]:
    """Each picture with the sentence under it, which is also read out in its place."""
    pairs = evaluation.scores, evaluation.labels
    at, overlap = evaluation.metrics.threshold, {"word overlap": evaluation.overlap}
    yield (
        plots.plot_roc(*pairs, at, overlap),
        "True positive against false positive rate over all thresholds; further up and left is better.",
    )
    yield (
        plots.plot_score_histogram(*pairs, at),
        "Scores of both classes: the less they overlap, the better the model tells them apart.",
    )
    yield (
        plots.plot_accuracy_by_threshold(*pairs, at),
        "Accuracy and F1 at every threshold. A peak elsewhere than at the threshold shows how far "
        "these pairs differ from those it was chosen on; it is not to be moved there.",
    )
    if evaluation.probabilities is not None:
        yield (
            plots.plot_reliability(evaluation.probabilities, evaluation.labels),
            "Whether a probability means what it says: on the diagonal, it does.",
        )


def _picture(figure, caption: str) -> str:
    image = base64.b64encode(to_png(figure)).decode("ascii")
    return (
        f'<figure><img src="data:image/png;base64,{image}" alt="{_text(caption)}">'
        f"<figcaption>{_text(caption)}</figcaption></figure>"
    )


def _pairs(evaluation: Evaluation, rows: np.ndarray) -> str:
    if not len(rows):
        return "<p>None.</p>"
    items = []
    for row in rows:
        numbers = [f"score {evaluation.scores[row]:.3f}"]
        if evaluation.probabilities is not None:
            numbers.append(f"probability {evaluation.probabilities[row]:.2f}")
        numbers.append(f"word overlap {evaluation.overlap[row]:.2f}")
        # <bdi>: text that runs from right to left stays within its own line.
        items.append(
            f"<li><bdi>{_text(evaluation.question1[row])}</bdi><br>"
            f"<bdi>{_text(evaluation.question2[row])}</bdi><br>"
            f"<small>{' · '.join(numbers)} · pair {row + 1:,}</small></li>"
        )
    return f"<ul>{''.join(items)}</ul>"


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _text(value: Any) -> str:
    """Any text as HTML that shows it and does nothing else."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", str(value)), quote=True)
