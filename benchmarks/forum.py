"""How well duplicates are found in a forum whose duplicates are known, by what makes the question.

    python tools/make_forum.py FOLDER [--posts 4000]
    python benchmarks/forum.py FOLDER [--words 50] [--model use]

compares title, body, title+body and title+title+body. Pairs: all pairs of the export in
falling order of their cosine, average precision and best F1. Search: the title of a
planted post finds its duplicate, MRR. `--words` cuts each text. Adds the figures to
benchmarks/results/forum.json.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from results import FOLDER, read_figures, rounded, write_figures
from sklearn.metrics import precision_recall_curve

from siamese import DuplicateDetector, QuestionIndex
from siamese.groups.linkage import strongest_pairs
from siamese.reading.questions import read_questions

COLUMNS = ("title", "body", "title+body", "title+title+body")
PRECISION = 0.7
DEPTH = 100  # hits of a search that count


def pair_figures(vectors: np.ndarray, planted: list[list[int]]) -> dict[str, float]:
    """How the planted pairs rank among all pairs of the list, by falling cosine."""
    pairs = {tuple(sorted(pair)) for pair in planted}
    lowest = np.quantile([vectors[i] @ vectors[j] for i, j in pairs], 0.02)
    first, second, cosines, _ = strongest_pairs(vectors, float(lowest))
    ends = zip(np.minimum(first, second).tolist(), np.maximum(first, second).tolist())
    right = np.array([pair in pairs for pair in ends])
    precision, recall, cuts = precision_recall_curve(right, cosines)
    recall *= right.sum() / len(pairs)  # Pairs below the lowest cosine are never found.
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    figures = {"average_precision": -np.sum(np.diff(recall) * precision[:-1])}
    figures[f"recall_at_precision_{PRECISION}"] = recall[precision >= PRECISION].max(
        initial=0
    )
    return figures | {"best_f1": f1.max(), "best_cut": cuts[f1[:-1].argmax()]}


def search_figures(
    index: QuestionIndex, titles: list[str], planted: list[list[int]]
) -> dict:
    """The mean reciprocal rank of a planted post's duplicate, asked for by the post's title."""
    asked = [pair[side] for pair in planted for side in (0, 1)]
    duplicates = [pair[1 - side] for pair in planted for side in (0, 1)]
    figures = {}
    for mode in ("vectors", "hybrid"):
        ranks = []
        answers = index.search([titles[row] for row in asked], DEPTH, mode=mode)
        for row, duplicate, hits in zip(asked, duplicates, answers):
            ids = [hit.id for hit in hits if hit.id != str(row)]
            ranks.append(
                1 + ids.index(str(duplicate)) if str(duplicate) in ids else np.inf
            )
        figures[f"mrr_{mode}"] = np.mean(1 / np.array(ranks))
    return figures


def main() -> None:
    """Measures each choice of columns, prints, and adds the figures to the file of results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="of posts.csv and truth.json")
    parser.add_argument(
        "--words", type=int, help="measure only the first words of each text"
    )
    parser.add_argument("--model", default="use")
    parser.add_argument("--results", type=Path, default=FOLDER / "forum.json")
    flags = parser.parse_args()
    planted = json.loads((flags.folder / "truth.json").read_text())["pairs"]
    results = read_figures(flags.results)
    detector = DuplicateDetector.load(flags.model)
    titles = []
    for column in COLUMNS:
        posts = read_questions(
            flags.folder / "posts.csv", column=column, encoding="cp1252"
        )
        titles = titles or posts.questions
        texts = [" ".join(text.split()[: flags.words]) for text in posts.questions]
        with QuestionIndex.build(detector, texts) as index:
            figures = pair_figures(index.vectors, planted)
            figures |= search_figures(index, titles, planted)
        name = f"{flags.folder.name}, {column}" + (
            f", {flags.words} words" if flags.words else ""
        )
        name += "" if flags.model == "use" else f", {flags.model}"
        results[name] = rounded(figures)
        print(name, json.dumps(results[name], indent=1), flush=True)
    write_figures(flags.results, results)


if __name__ == "__main__":
    main()
