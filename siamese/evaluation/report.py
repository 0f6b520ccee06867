"""An evaluation as one HTML page that stands alone: no network, no scripts, any text escaped."""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siamese.data.arguments import whole_number
from siamese.data.vocabulary import word_tokenize
from siamese.errors import DataError
from siamese.evaluation import plots
from siamese.evaluation.picture import to_png
from siamese.evaluation.summary import FIGURES, Evaluation, worst_mistakes
from siamese.storage.atomic import explain, write_text_atomically

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1rem 3rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; border-bottom: 2px solid #12436d; }
p { margin: .4rem 0; max-width: 46rem; }
.lead { font-size: 1.1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 1px solid #1a1a1a; }
tbody tr + tr td, tbody tr + tr th { border-top: 1px solid #ddd; }
tbody th { font-weight: normal; }
.figures td:nth-child(2) { font-weight: 600; }
.range { color: #555; font-weight: normal; font-size: .85em; }
.facts th { padding-right: 1.5rem; color: #555; }
.facts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
  gap: 1.4rem 2rem; }
figure { margin: 0; }
figure img { width: 100%; height: auto; }
figcaption { font-size: .9rem; color: #444; }
.pairs { list-style: none; margin: 0; padding: 0; }
.pairs li { border-top: 1px solid #ddd; padding: .5rem 0; overflow-wrap: anywhere; }
.pairs p { margin: 0; max-width: none; }
.pairs .numbers { color: #555; font-size: .85rem; font-variant-numeric: tabular-nums; }
footer { margin-top: 3rem; font-size: .85rem; color: #555; }
@media (max-width: 40rem) { .range { display: block; } th, td { padding-right: .6rem; }
  th { white-space: normal; } }
@media print { body { max-width: none; } figure, li { break-inside: avoid; } }
"""


def write_report(
    directory: os.PathLike | str,
    evaluation: Evaluation,
    *,
    title: str = "Duplicate questions: evaluation",
    facts: Mapping[str, Any] | None = None,
    mistakes: int = 15,
) -> Path:
    """Writes ``index.html`` into a directory, made if need be, atomically.

    The page quotes questions from the evaluated file: whoever gets the page gets those.

    Args:
      directory: where to.
      evaluation: from `evaluate_pairs`.
      title: of the page.
      facts: rows of a table on what was evaluated: name -> value, such as the model and the file.
      mistakes: how many wrong answers of each direction are shown as text.

    Returns:
      The path of the page.

    Raises:
      DataError: where it cannot be written.
      MissingDependencyError: without Matplotlib.
      ArgumentError: `mistakes` below 0.
    """
    page = report_page(evaluation, title=title, facts=facts, mistakes=mistakes)
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise DataError(explain(failure, directory)) from failure
    path = Path(directory, "index.html")
    write_text_atomically(path, page)
    return path


def report_page(
    evaluation: Evaluation,
    *,
    title: str = "Duplicate questions: evaluation",
    facts: Mapping[str, Any] | None = None,
    mistakes: int = 15,
) -> str:
    """The page that `write_report` writes, as text; same arguments."""
    whole_number(mistakes, "mistakes", 0)
    wrongly, missed = worst_mistakes(evaluation, mistakes)
    metrics = evaluation.metrics
    own = {
        "Pairs": f"{metrics.n:,}, of which {metrics.base_rate:.1%} duplicates",
        "Threshold": f"{metrics.threshold:.4f} ({evaluation.threshold_from})",
    }
    errors = int(np.count_nonzero((evaluation.scores > metrics.threshold) != evaluation.labels))
    parts = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="lead">{_verdict(evaluation)}</p>',
        _table("facts", ((_text(k), _text(v)) for k, v in {**(facts or {}), **own}.items())),
        "<h2>Figures</h2>",
        _figures_table(evaluation),
        "<p>In brackets: 95 % bootstrap intervals over the pairs. The baselines' thresholds are chosen "
        "on these pairs.</p>",
        '<h2>Pictures</h2><div class="pictures">',
        *(_figure(*found) for found in _pictures(evaluation)),
        "</div>",
        f"<h2>Worst mistakes</h2><p>{errors:,} of {metrics.n:,} answers are wrong; these are the "
        "surest of them.</p>",
        "<h2>Taken for duplicates, labelled as not</h2>",
        _pairs(evaluation, wrongly),
        "<h2>Labelled duplicates, missed</h2>",
        _pairs(evaluation, missed),
        "<footer>Made by siamese. The page holds questions of the evaluated file.</footer>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        # Nothing is loaded from anywhere, whatever a question holds.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _verdict(evaluation: Evaluation) -> str:
    accuracy = evaluation.intervals["accuracy"]
    beside = ", ".join(
        f"{_text(name)} in {found.accuracy:.1%}" for name, found in evaluation.baselines.items()
    )
    return (
        f"Right in <strong>{accuracy.value:.1%}</strong> of {evaluation.metrics.n:,} pairs "
        f"({accuracy.low:.1%} to {accuracy.high:.1%}); {beside}."
    )


def _table(kind: str, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Rows of HTML, the first cell of each its heading, as a table."""
    above = (
        f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>" if head else ""
    )
    body = "".join(
        f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return f'<div class="wide"><table class="{kind}">{above}<tbody>{body}</tbody></table></div>'


def _figures_table(evaluation: Evaluation) -> str:
    beside = evaluation.baselines
    rows = []
    for name, title in FIGURES.items():
        found = evaluation.intervals[name]
        own = f'{found.value:.3f} <span class="range">[{found.low:.3f}, {found.high:.3f}]</span>'
        rows.append([title, own, *(f"{getattr(other, name):.3f}" for other in beside.values())])
    for strategy, error in evaluation.calibration_error.items():
        title = f"calibration error, {strategy.replace('_', '-')} bins"
        rows.append([title, f"{error:.3f}", *[""] * len(beside)])
    return _table("figures", rows, ["", "this model", *map(_text, beside)])


def _pictures(evaluation: Evaluation) -> Iterable[tuple[Any, str]]:
    """Each picture with the sentence under it, which is also read out in its place."""
    pairs = evaluation.scores, evaluation.labels
    at, overlap = evaluation.threshold, {"word overlap": evaluation.overlap}
    yield (
        plots.plot_roc(*pairs, at, overlap),
        "True positive against false positive rate over all thresholds; further up and left is better.",
    )
    yield (
        plots.plot_precision_recall(*pairs, at, overlap),
        "How many of the pairs called duplicates are, against how many of the duplicates are found.",
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
    questions = zip(evaluation.question1, evaluation.question2)
    lengths = [max(len(word_tokenize(one)), len(word_tokenize(two))) for one, two in questions]
    yield (
        plots.plot_accuracy_by(lengths, *pairs, at, "tokens of the longer question"),
        "Accuracy for short and long questions; at the foot of a bar its number of pairs.",
    )
    yield (
        plots.plot_accuracy_by(evaluation.overlap, *pairs, at, "word overlap"),
        "Accuracy by the share of words that the two questions have in common. Duplicates that share "
        "few words and other pairs that share most are the hard ones.",
    )


def _figure(figure, caption: str) -> str:
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
            f"<li><p><bdi>{_text(evaluation.question1[row])}</bdi></p>"
            f"<p><bdi>{_text(evaluation.question2[row])}</bdi></p>"
            f'<p class="numbers">{" · ".join(numbers)} · pair {row + 1:,}</p></li>'
        )
    return f'<ul class="pairs">{"".join(items)}</ul>'


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _text(value: Any) -> str:
    """Any text as HTML that shows it and does nothing else."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", str(value)), quote=True)
