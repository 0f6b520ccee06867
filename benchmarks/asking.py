"""What thirty answers are worth on lists of questions whose duplicates are known.

    python benchmarks/asking.py [--questions questions.csv.gz --splits splits.json]

The lists: the 300 hand-written questions, whole, by source, without near misses,
without single ones, and three times two thirds of their groups; four of the embedded
corpus; with --questions, questions of Quora's valid and test rows, where pairs without
a label count as different. Of each list 95 % are drawn ten times, thirty answers come
from the truth, and `siamese duplicates` makes the groups by them. Prints a table, and
writes benchmarks/results/asking.md: the weight that the list has without answers,
average precision of its pairs by cosine and by this weight, F1 of the pairs in groups
before the answers and after them.
"""

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from results import FOLDER, markdown_table, table_row
from sklearn.metrics import average_precision_score

from siamese import DuplicateDetector, QuestionIndex, QuestionPairs
from siamese.corpus import embedded_corpus, handwritten_questions
from siamese.errors import DataError
from siamese.groups.grouping import group_labels
from siamese.groups.local import list_weight, local_means
from siamese.index.list_pairs import ListPairs
from siamese.reading.clusters import clusters
from siamese.reading.pairs import read_pairs

PAGE = FOLDER / "asking.md"
ANSWERS = 30
DRAWS = 10
SHARE = 0.95  # of a list, in each draw
HEADS = (
    "list",
    "questions",
    "weight",
    "AP, cosine",
    "AP, weight",
    "F1 before",
    "F1 after (worst)",
)

List = tuple[str, list[str], list[str]]  # name, questions, and the meaning of each


def handwritten_lists() -> Iterator[List]:
    """The hand-written questions, whole and in parts."""
    rows = handwritten_questions()
    parts = {"all": rows}
    for source in ("helpdesk", "forum", "everyday"):
        parts[source] = [row for row in rows if row["source"] == source]
    parts["without near misses"] = [row for row in rows if not row["near_miss"]]
    parts["without single ones"] = [
        row for row in rows if row["near_miss"] or row["group"]
    ]
    owners = np.unique([row["group"] or row["id"] for row in rows])
    rng = np.random.default_rng(5)
    for part in range(3):
        some = set(rng.permutation(owners)[: len(owners) * 2 // 3].tolist())
        parts[f"two thirds, {part + 1}"] = [
            row for row in rows if (row["group"] or row["id"]) in some
        ]
    for name, some in parts.items():
        texts = [row["question"] for row in some]
        yield (
            f"hand-written: {name}",
            texts,
            [row["group"] or row["id"] for row in some],
        )


def corpus_lists() -> Iterator[List]:
    """Questions of the embedded corpus."""
    questions = embedded_corpus().questions
    for part in ("valid", "test"):
        own = [question for question in questions if question.part == part]
        for size in (300, 1000):
            some = np.sort(np.random.default_rng(size).permutation(len(own))[:size])
            texts = [own[at].text for at in some]
            yield f"corpus: {part}, {size:,}", texts, [own[at].meaning for at in some]


def quora_lists(questions: str, splits: str) -> Iterator[List]:
    """Questions of pairs of Quora's valid and test rows."""
    pairs = read_pairs(questions)
    joined = clusters(pairs)
    meaning = dict(zip(joined.questions, map(str, joined.question_cluster.tolist())))
    parts = json.loads(Path(splits).read_text())["rows"]
    rows = np.concatenate([np.arange(*parts[name]) for name in ("valid", "test")])
    rows = rows[rows < len(pairs)]
    for size in (500, 1000):
        some = np.random.default_rng(size).permutation(rows)[:size]
        texts = [side[at] for at in some for side in (pairs.question1, pairs.question2)]
        texts = list(dict.fromkeys(texts))
        yield f"Quora: {size:,} pairs", texts, [meaning[text] for text in texts]


def pairs_of(labels: np.ndarray) -> np.ndarray:
    """Which pairs of questions have equal labels, bool [pairs]."""
    return np.equal.outer(labels, labels)[np.triu_indices(len(labels), 1)]


def f1_of(index: QuestionIndex, truth: np.ndarray) -> float:
    """F1 of the pairs in the groups of an index."""
    chosen = pairs_of(group_labels(index.grouped().groups, len(index)))
    return 2 * int((chosen & truth).sum()) / int(chosen.sum() + truth.sum())


def after_answers(
    detector: DuplicateDetector, texts: list[str], meanings: np.ndarray, start: float
) -> tuple[float, float]:
    """F1 of a list's groups before and after the answers."""
    meaning = dict(zip(texts, meanings.tolist()))
    truth = pairs_of(meanings)
    with QuestionIndex.build(detector, texts) as index:
        before = f1_of(index, truth)
        similar = ListPairs.of_list(index.snapshot())
        rows: list[tuple[str, str, bool]] = []
        while len(rows) < ANSWERS:
            answers = QuestionPairs(*([row[at] for row in rows] for at in range(3)))
            candidate = similar.next(answers, start=start)
            if candidate is None:
                break
            one, two = (similar.entries[row]["question"] for row in candidate[:2])
            rows.append((one, two, meaning[one] == meaning[two]))
        answers = QuestionPairs(*([row[at] for row in rows] for at in range(3)))
        index.add_answers(answers)
        with contextlib.suppress(DataError):  # Too few are duplicates.
            index.set_threshold(similar.fitted(detector, answers, resamples=0))
        return before, f1_of(index, truth)


def measured(
    detector: DuplicateDetector, name: str, texts: list[str], owners: list[str]
) -> list[str]:
    """A row of the table."""
    vectors = detector.encode(texts)
    meanings = np.unique(owners, return_inverse=True)[1]
    weight = list_weight(vectors)
    upper = np.triu_indices(len(texts), 1)
    truth = pairs_of(meanings)
    precisions = []
    for own in (0, weight):
        shifts = local_means(vectors) * np.float32(own / 2)
        scores = vectors @ vectors.T - shifts[:, None] - shifts
        precisions.append(average_precision_score(truth, scores[upper]))
    results = []
    for draw in range(DRAWS):
        some = np.random.default_rng(draw).permutation(len(texts))[
            : int(SHARE * len(texts))
        ]
        own = [texts[at] for at in np.sort(some)]
        results.append(
            after_answers(detector, own, meanings[np.sort(some)], draw / DRAWS)
        )
    before, after = np.array(results).T
    return [
        name,
        f"{len(texts):,}",
        f"{weight:g}",
        *(f"{precision:.3f}" for precision in precisions),
        f"{before.mean():.2f}",
        f"{after.mean():.2f} ({after.min():.2f})",
    ]


def main() -> None:
    """Measures the lists."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--questions", help="Quora's pairs")
    parser.add_argument("--splits", help="their rows")
    flags = parser.parse_args()
    lists = [*handwritten_lists(), *corpus_lists()]
    if flags.questions:
        lists += quora_lists(flags.questions, flags.splits)
    detector = DuplicateDetector.from_encoder("use")
    rows = []
    print(markdown_table(HEADS, rows), end="")
    for one in lists:
        rows.append(measured(detector, *one))
        print(table_row(rows[-1]), flush=True)
    PAGE.write_text(markdown_table(HEADS, rows), "utf-8")


if __name__ == "__main__":
    main()
