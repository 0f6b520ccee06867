"""Precision and recall above thresholds without labels: the cosine of `use`, and less the near-miss check.

    python benchmarks/default_threshold.py --questions questions.csv.gz --splits splits.json --data DATA

The default was chosen on Quora's valid rows, the forum, the help desk and the half
`choose` of the triples by hand; Quora's test rows, news and the handwritten questions
report. The help desk's figures are of groups, the others of pairs. Writes
results/default_threshold.md. --keep FILE keeps the vectors.
"""

import argparse
import json
from pathlib import Path

import helpdesk
import near_misses
import numpy as np
from results import FOLDER, markdown_table, titled

from siamese import DuplicateDetector, QuestionIndex, read_pairs, read_questions
from siamese.evaluation.groups import group_figures
from siamese.groups.grouping import group_labels
from siamese.model.near_misses import NearMissCheck

THRESHOLDS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8)
Scored = tuple[np.ndarray, np.ndarray, np.ndarray]  # labels, cosines, less penalties


def pair_sets(flags: argparse.Namespace) -> dict[str, Scored]:
    """The pairs of each set."""
    sets = near_misses.Sets(flags)
    check = NearMissCheck.shipped()
    splits = json.loads(Path(flags.splits).read_text())["rows"]
    valid = read_pairs(flags.questions).rows(*splits["valid"])
    _, same, near = sets.own
    both = np.concatenate([same, near])
    forum = [sets.transfer[part] for part in ("train", "valid")]
    rows = {
        "Quora, valid": (
            valid.is_duplicate,
            sets.rows(valid.question1, valid.question2),
        ),
        "forum": (
            np.concatenate([sets.labels["train"], sets.labels["valid"]]),
            np.concatenate(forum),
        ),
        "triples by hand, choose": (np.arange(len(both)) < len(same), both),
        "Quora, test": sets.test[::-1],
        "news": (sets.labels["news"] == 1, sets.transfer["news"]),
        "handwritten": sets.handwritten[::-1],
    }
    return {
        name: (np.asarray(labels, bool), own[:, 0], own[:, 0] - check.penalty_of(own))
        for name, (labels, own) in rows.items()
    }


def of_pairs(labels: np.ndarray, scores: np.ndarray, threshold: float) -> str:
    """Precision and recall of pairs above a threshold."""
    above = scores > threshold
    if not above.any():
        return "- / 0.00"
    return f"{labels[above].mean():.2f} / {above[labels].mean():.2f}"


def of_tickets(data: Path) -> dict[str, list[str]]:
    """Precision and recall of groups of the help desk, without and with the check."""
    questions = read_questions(
        data / "tickets.csv", id_column="Ticket-ID", encoding="cp1252"
    )
    truth = helpdesk.read_truth(data / "truth.csv", "Ticket-ID")
    problems = [truth[own] for own in questions.ids]
    use = DuplicateDetector.pretrained()
    figures = {}
    for name, detector in (("cosine", use.with_check(None)), ("check", use)):
        index = QuestionIndex.build(
            detector,
            questions.questions,
            compared=questions.compared,
            reading={"repeated": questions.repeated.to_json()},
        )
        cells = []
        for threshold in THRESHOLDS:
            groups = index.grouped(threshold, regroup=True).groups
            own = group_figures(group_labels(groups, len(problems)), problems)
            cells.append(f"{own['precision']:.2f} / {own['recall']:.2f}")
        figures[name] = cells
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", required=True)
    parser.add_argument("--splits", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    flags = parser.parse_args()
    flags.half = "choose"
    rows = []
    for name, (labels, *scores) in pair_sets(flags).items():
        for what, own in zip(("cosine", "check"), scores):
            cells = [of_pairs(labels, own, threshold) for threshold in THRESHOLDS]
            rows.append([f"{name}: {what}", *cells])
    for what, cells in of_tickets(flags.data / "helpdesk").items():
        rows.append([f"help desk, groups: {what}", *cells])
    table = markdown_table(["precision / recall above", *map(str, THRESHOLDS)], rows)
    print(table)
    words = "Made by `python benchmarks/default_threshold.py`."
    text = titled("Thresholds without labels", words, table)
    (FOLDER / "default_threshold.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
