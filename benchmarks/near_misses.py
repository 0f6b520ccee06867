"""What the near-miss check does to near misses, to their paraphrases, and to what must not be refused.

    python benchmarks/near_misses.py --questions questions.csv.gz --splits splits.json --data ../shared/data

Rows: the cosine of the encoder `use` alone, the silly rule ("more than half of the
units in common is different"), and the cosine less the penalty of the shipped check.
The silly rule beats any check on sets made of near misses, since their paraphrases
share few words; it fails where pairs that share most words ask the same.

The shipped weights have seen Quora's train labels; "none seen" are the test rows of
whose questions none stands in the train rows. The pairs by hand (by_hand/) have a half
that chose settings and one that reports; here the reporting half is measured, unless
--half choose. Writes results/near_misses.json and .md. --keep FILE keeps the vectors.
"""

import argparse
import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import made_pairs
import numpy as np
import transfer
from results import FOLDER, markdown_table, rounded, titled, write_figures
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
)

from siamese import DuplicateDetector, read_pairs
from siamese.corpus import handwritten_questions
from siamese.model.near_miss_features import FEATURES, features
from siamese.model.near_misses import NearMissCheck

HERE = Path(__file__).parent
RESULTS = FOLDER / "near_misses.json"
THRESHOLD = 0.8
DEFAULT = 0.7  # without labels, of what the check leaves
MOST_WORDS = 0.6  # the share of units from which the whole penalty counts
SHARE = [*FEATURES].index("share")
Score = Callable[[np.ndarray], np.ndarray]  # of rows of features


def requests() -> list[str]:
    """A list of 64 requests, each another one: four beginnings, things and weeks."""
    beginnings = ("When must I", "How do I", "Can I", "Why should I")
    things = ("CSV file", "paper", "lecture notes", "feedback")
    return [
        f"{beginning} read the {thing} in week {week}?"
        for beginning in beginnings
        for week in range(1, 5)
        for thing in things
    ]


class Sets:
    """The pairs of each set as rows of features, with labels where there are any."""

    def __init__(self, flags: argparse.Namespace):
        self._vectors: dict[str, np.ndarray] = {}
        if flags.keep and flags.keep.exists():
            with np.load(flags.keep, allow_pickle=False) as kept:
                self._vectors = dict(zip(kept["texts"].tolist(), kept["vectors"]))
        self.encoder = DuplicateDetector.pretrained()
        pairs = read_pairs(flags.questions)
        rows = json.loads(Path(flags.splits).read_text())["rows"]
        train = pairs.rows(*rows["train"])
        test = pairs.rows(*rows["test"])
        seen = {*train.question1, *train.question2}
        self.test = self.rows(test.question1, test.question2), test.is_duplicate
        self.none_seen = np.array(
            [seen.isdisjoint(pair) for pair in zip(test.question1, test.question2)]
        )
        self.read_transfer(flags.data)
        asked = handwritten_questions()
        sides = [*itertools.combinations(asked, 2)]
        self.handwritten = (
            self.rows(*([pair[side]["question"] for pair in sides] for side in (0, 1))),
            np.array([one["group"] == two["group"] != "" for one, two in sides]),
        )
        made = made_pairs.near_misses()
        self.made = self.triples(made, [miss.kind for miss in made])
        own = [
            made_pairs.NearMiss(*row) for row in by_hand("near_misses.csv", flags.half)
        ]
        self.own = self.triples(own, [miss.kind for miss in own])
        kinds, ones, twos = zip(*by_hand("same.csv", flags.half))
        self.same = np.array(kinds), self.rows(ones, twos)
        fresh = [
            made_pairs.NearMiss(*row) for row in by_hand("near_misses.csv", "fresh")
        ]
        self.fresh = self.triples(fresh, [miss.kind for miss in fresh])
        sides = zip(*itertools.combinations(requests(), 2))
        self.requests = self.rows(*sides)
        if flags.keep:
            texts = np.array([*self._vectors])
            np.savez(flags.keep, texts=texts, vectors=[*self._vectors.values()])

    def read_transfer(self, data: Path) -> None:
        """Forum, titles, news, and PAWS."""
        transfer.DATA = data / "transfer"
        sets = transfer.Transfer()
        self.queries, self.labels = sets.queries, sets.labels
        self.transfer = {part: self.rows(*sides) for part, sides in sets.sides.items()}
        lines = (data / "languages" / "pawsx" / "dev-en.tsv").read_text().splitlines()
        ones, twos, labels = zip(*(line.split("\t")[-3:] for line in lines))
        self.paws = self.rows(ones, twos), np.array([label == "1" for label in labels])

    def rows(self, ones, twos) -> np.ndarray:
        """The features of pairs, of texts as the encoder reads them; each text is encoded once."""
        ones, twos = (
            list(map(self.encoder.encoder.read, side)) for side in (ones, twos)
        )
        new = [t for t in dict.fromkeys([*ones, *twos]) if t not in self._vectors]
        if new:
            self._vectors.update(zip(new, self.encoder.encode(new)))
        sides = (np.stack([self._vectors[t] for t in some]) for some in (ones, twos))
        return features(ones, twos, np.vecdot(*sides))

    def triples(self, misses: list, kinds: list[str]) -> tuple:
        """Kinds, and the rows of each question with its paraphrase and with its near miss."""
        _, asked, same, near = zip(*misses)
        return np.array(kinds), self.rows(asked, same), self.rows(asked, near)


def by_hand(name: str, half: str) -> list[list[str]]:
    """The rows of a half, without their first cell."""
    rows = csv.reader((HERE / "by_hand" / name).read_text("utf-8").splitlines())
    return [row[1:] for row in rows if row[0] == half]


def figures(sets: Sets, score: Score) -> dict[str, float]:
    """All figures of a score."""
    rows, labels = sets.test
    scores = score(rows)
    none = sets.none_seen
    found = {
        "test ROC AUC": roc_auc_score(labels, scores),
        "none seen": roc_auc_score(labels[none], scores[none]),
        "test precision": precision(labels, scores),
    }
    found |= stay(sets.test, score, "test")
    rows, labels = sets.handwritten
    scores = score(rows)
    precisions, recalls, _ = precision_recall_curve(labels, scores)
    found |= {
        "handwritten AP": average_precision_score(labels, scores),
        "recall at precision 0.7": recalls[precisions >= 0.7].max(),
        "handwritten precision": precision(labels, scores),
        "handwritten recall": (scores[labels] > THRESHOLD).mean(),
        "handwritten found": int((scores > THRESHOLD).sum()),
    }
    for name, (kinds, same, near) in (("made", sets.made), ("own", sets.own)):
        ahead, behind = score(same), score(near)
        scores = np.concatenate([ahead, behind])
        found[f"{name} ROC AUC"] = roc_auc_score(
            np.arange(len(scores)) < len(ahead), scores
        )
        found[f"{name} behind"] = (behind < ahead).mean()
        for kind in dict.fromkeys(kinds):
            of_kind = kinds == kind
            found[f"{name} behind, {kind}"] = (behind < ahead)[of_kind].mean()
    _, same, near = sets.fresh
    found["fresh behind"] = (score(near) < score(same)).mean()
    listed = score(sets.requests)
    found["requests, pairs above 0.7"] = int((listed > DEFAULT).sum())
    kinds, rows = sets.same
    accepted = rows[:, 0] > THRESHOLD
    found["same kept"] = (score(rows)[accepted] > THRESHOLD).mean()
    found["same accepted by the cosine"] = int(accepted.sum())
    for part, queries in sets.queries.items():
        ranks = transfer.by_query(
            queries, sets.labels[part], score(sets.transfer[part])
        )
        found[f"forum {part} MAP"] = np.nanmean(ranks, axis=0)[0]
    titles = score(sets.transfer["titles"])
    found["titles r"] = np.corrcoef(titles, sets.labels["titles"])[0, 1]
    news = sets.transfer["news"], sets.labels["news"] == 1
    scores = score(news[0])
    found["news ROC AUC"] = roc_auc_score(news[1], scores)
    found["news precision"] = precision(news[1], scores)
    found |= stay(news, score, "news")
    found["PAWS ROC AUC"] = roc_auc_score(sets.paws[1], score(sets.paws[0]))
    return rounded(found, 3)


def precision(labels: np.ndarray, scores: np.ndarray) -> float:
    """At the threshold without labels; nan where nothing is above it."""
    above = scores > THRESHOLD
    return labels[above].mean() if above.any() else np.nan


def stay(pairs: tuple, score: Score, name: str) -> dict[str, float]:
    """Of the pairs above the threshold that share most of their words: duplicates kept, others refused."""
    rows, labels = pairs
    near = (rows[:, 0] > THRESHOLD) & (rows[:, SHARE] >= MOST_WORDS)
    above = score(rows[near]) > THRESHOLD
    labels = labels[near]
    return {
        f"{name} duplicates kept": above[labels].mean(),
        f"{name} others refused": (~above[~labels]).mean(),
        f"{name} duplicates": int(labels.sum()),
        f"{name} others": int((~labels).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", required=True)
    parser.add_argument("--splits", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--half", choices=("report", "choose", "fresh"), default="report"
    )
    parser.add_argument("--keep", type=Path)
    flags = parser.parse_args()
    sets = Sets(flags)
    check = NearMissCheck.shipped()
    scores: dict[str, Score] = {
        "cosine": lambda rows: rows[:, 0],
        "silly rule": lambda rows: np.where(rows[:, SHARE] > 0.5, 0, rows[:, 0]),
        "check": lambda rows: rows[:, 0] - check.penalty_of(rows),
    }
    results = {name: figures(sets, score) for name, score in scores.items()}
    text = page(results, flags.half)
    print(text)
    if flags.half == "report":
        write_figures(RESULTS, results, text)


def page(results: dict[str, dict], half: str = "report") -> str:
    """The figures, a line each, and what they were measured on."""
    words = (
        "Made by `python benchmarks/near_misses.py`. The check has seen Quora's train "
        f"labels. Pairs by hand: the half `{half}`."
    )
    rows = [
        [name, *(f"{some[name]:g}" for some in results.values())]
        for name in results["cosine"]
    ]
    return titled("The near-miss check", words, markdown_table(["", *results], rows))


if __name__ == "__main__":
    main()
