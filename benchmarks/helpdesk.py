"""How well duplicates are found in a help desk's export, before and after thirty answers.

    python benchmarks/helpdesk.py --data tickets.csv --truth truth.csv [--encoding cp1252]

The truth has the column `problem` beside the ids: tickets of one problem are
duplicates. Printed are

- of all pairs as `siamese duplicates --pairs` ranks them: average precision, best F1 and its precision and
  recall, how many of the first 50 are right;
- F1 of the pairs in the groups that `siamese duplicates` makes, before and after thirty answers from the
  truth, in twenty draws: mean and worst, precision and recall in the mean;
- for how many problems `match -k 3` finds another ticket of the problem, asked for by its first ticket.

`--column` and `--keep-repeated` are those of the command; `--output` writes the figures
as JSON.
"""

import argparse
import contextlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from results import rounded, write_figures
from sklearn.metrics import precision_recall_curve

from siamese import DuplicateDetector, QuestionIndex
from siamese.errors import SiameseError
from siamese.evaluation.groups import group_figures
from siamese.groups.grouping import GroupedSnapshot, group_labels
from siamese.groups.local import local_means, ranking_weight
from siamese.index.list_pairs import ListPairs
from siamese.model.decision import Questions
from siamese.reading.pairs import QuestionPairs
from siamese.reading.questions import QuestionList, read_questions

FIRST = 50  # pairs as ranked of which the right ones are counted
MATCHES = 3  # other tickets that are looked at for each problem


def read_truth(path: Path, id_column: str) -> dict[str, str]:
    """The problem of each ticket, by its id."""
    truth = read_questions(path, column="problem", id_column=id_column)
    return dict(zip(truth.ids, truth.questions))


def reading_of(questions: QuestionList) -> dict[str, Any]:
    """What the list repeats, which the near-miss check leaves out, too."""
    return {"repeated": questions.repeated.to_json()}


def all_scores(
    detector: DuplicateDetector, vectors: np.ndarray, compared: list[str]
) -> tuple[np.ndarray, float]:
    """What pairs are ranked by, float32 [n, n], and the weight of local scaling in it.

    It is the score that decides, so the near-miss check takes its penalty off.
    """
    questions = Questions(list(map(detector.encoder.read, compared)), vectors)
    one, two = np.triu_indices(len(vectors), 1)
    scores = np.zeros((len(vectors), len(vectors)), np.float32)
    scores[one, two] = detector.decision.scores(
        questions.rows(one), questions.rows(two)
    )
    weight = ranking_weight(detector, vectors)
    shifts = local_means(vectors) * np.float32(weight / 2)
    return scores - shifts[:, None] - shifts, weight


def pair_figures(scores: np.ndarray, problems: list[str]) -> dict[str, float]:
    """How the pairs of one problem rank among all pairs."""
    same = np.equal.outer(problems, problems)
    upper = np.triu_indices(len(problems), 1)
    right, ranks = same[upper], scores[upper]
    order = np.argsort(-ranks, kind="stable")
    precision, recall, cuts = precision_recall_curve(right, ranks)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    best = int(f1[:-1].argmax())
    return {
        "pairs": int(right.sum()),
        "average_precision": float(-np.sum(np.diff(recall) * precision[:-1])),
        "best_f1": f1[best],
        "best_precision": precision[best],
        "best_recall": recall[best],
        "best_cut": cuts[best],
        f"right_of_first_{FIRST}": int(right[order[:FIRST]].sum()),
    }


FIGURES = ("f1", "precision", "recall", "right_pairs")


def of_groups(snapshot: GroupedSnapshot, problems: list[str]) -> dict[str, float]:
    """Precision, recall and F1 of the pairs in groups."""
    figures = group_figures(group_labels(snapshot.groups, len(problems)), problems)
    return {name: figures[name] for name in FIGURES}


def answered(
    index: QuestionIndex, problem_of: dict[str, set[str]], count: int, start: float
) -> tuple[Any, int, float]:
    """Groups after some answers from the truth, how many of these were yes, and the fitted weight."""
    similar = ListPairs.of_list(index.snapshot())
    answers: list[tuple[str, str, int]] = []
    while len(answers) < count:
        given = QuestionPairs(*([answer[at] for answer in answers] for at in range(3)))
        candidate = similar.next(given, start=start)
        if candidate is None:
            break
        first, second = (similar.entries[row]["question"] for row in candidate[:2])
        answers.append(
            (first, second, int(bool(problem_of[first] & problem_of[second])))
        )
    pairs = QuestionPairs(*([answer[at] for answer in answers] for at in range(3)))
    index.add_answers(pairs)
    # Too few are duplicates: the former threshold stays.
    with contextlib.suppress(SiameseError):
        index.set_threshold(similar.fitted(index.detector, pairs, resamples=0))
    snapshot = index.grouped()
    return snapshot, sum(answer[2] for answer in answers), snapshot.weight


def answer_figures(
    detector: DuplicateDetector,
    questions: QuestionList,
    problems: list[str],
    count: int,
    draws: int,
) -> dict[str, Any]:
    """What is found after some answers, in the mean and the worst of some draws.

    A draw shuffles the list, and begins the sequence of pairs that are asked elsewhere.
    """
    problem_of: dict[str, set[str]] = defaultdict(set)
    for text, problem in zip(questions.questions, problems):
        problem_of[text].add(problem)
    results = []
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(problems))
        texts = [questions.questions[at] for at in order]
        compared = [questions.compared[at] for at in order]
        ids = [questions.ids[at] for at in order]
        options = {"ids": ids, "compared": compared, "reading": reading_of(questions)}
        with QuestionIndex.build(detector, texts, **options) as index:
            snapshot, yes, weight = answered(index, problem_of, count, draw / draws)
        result = of_groups(snapshot, [problems[at] for at in order])
        results.append({**result, "yes": yes, "weight": weight})
    figures = {
        f"{name}_mean": float(np.mean([result[name] for result in results]))
        for name in results[0]
    }
    figures |= {
        f"{name}_worst": min(r[name] for r in results) for name in ("f1", "right_pairs")
    }
    return figures


def matched(
    index: QuestionIndex, questions: QuestionList, problems: list[str]
) -> dict[str, int]:
    """For how many problems the nearest other tickets of its first one hold another of it."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, problem in enumerate(problems):
        places[problem].append(place)
    several = {name: rows for name, rows in places.items() if len(rows) > 1}
    asked = [rows[0] for rows in several.values()]
    texts = [questions.compared[at] for at in asked]
    problem_of = dict(zip(questions.ids, problems))
    hits = 0
    found = index.search(texts, MATCHES + 1, mode="vectors")
    for name, at, best in zip(several, asked, found):
        others = [hit.id for hit in best if hit.id != questions.ids[at]][:MATCHES]
        hits += any(problem_of[other] == name for other in others)
    return {"problems": len(several), "matched": hits}


def main() -> None:
    """Measures a list and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the export")
    parser.add_argument(
        "--truth", type=Path, required=True, help="id and problem of each ticket"
    )
    parser.add_argument("--encoding", default="cp1252")
    parser.add_argument("--id-column", default="Ticket-ID")
    parser.add_argument("--column")
    parser.add_argument("--keep-repeated", action="store_true")
    parser.add_argument("--model", default="use")
    parser.add_argument("--labels", type=int, default=30)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    options = {
        "column": flags.column,
        "id_column": flags.id_column,
        "encoding": flags.encoding,
    }
    if flags.keep_repeated:
        options["keep_repeated"] = True
    questions = read_questions(flags.data, **options)
    truth = read_truth(flags.truth, flags.id_column)
    problems = [truth[own] for own in questions.ids]
    detector = DuplicateDetector.load(flags.model)
    figures: dict[str, Any] = {"questions": len(problems), "column": questions.column}
    options = {"ids": questions.ids, "compared": questions.compared}
    options["reading"] = reading_of(questions)
    with QuestionIndex.build(detector, questions.questions, **options) as index:
        scores, figures["weight"] = all_scores(
            detector, index.vectors, questions.compared
        )
        figures |= pair_figures(scores, problems)
        before = of_groups(index.grouped(), problems)
        figures |= {f"before_{name}": value for name, value in before.items()}
        figures |= matched(index, questions, problems)
    if flags.draws:
        options = {"count": flags.labels, "draws": flags.draws}
        after = answer_figures(detector, questions, problems, **options)
        figures |= {
            f"after_{flags.labels}_{name}": value for name, value in after.items()
        }
    figures = rounded(figures)
    print(json.dumps(figures, indent=1))
    if flags.output:
        write_figures(flags.output, figures)


if __name__ == "__main__":
    main()
