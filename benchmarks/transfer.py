"""Other domains than Quora's: a forum, question titles, news sentences; without labels, and with a few.

    python benchmarks/transfer.py --model runs/general --model ready
    python benchmarks/transfer.py --model use --labels 30 100 300 1000 1958

Reads ../shared/data/transfer. The forum's queries have ten candidates each, which are ranked: MAP and MRR,
as in SemEval-2016 task 3B, of queries with a relevant candidate; "with words" in the order in which
`siamese search` has all candidates, by vectors and BM25. Titles: Pearson's correlation of cosine
and grade. News: ROC AUC. Prints a table and writes benchmarks/results/transfer.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import roc_auc_score

from siamese import (
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    enable_compile_cache,
    keep_memory,
)
from siamese.training.few_labels import teach

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "shared" / "data" / "transfer"
WORD = r"\w+"
COLUMNS = ["forum valid MAP", "MRR", "forum train MAP", "titles r", "news AUC"]


def rows_of(name: str) -> list[dict[str, str]]:
    data = (FOLDER / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline="")))


class Transfer:
    """The three sets, and the measures of functions (texts, texts) -> float [n]."""

    def __init__(self):
        self.forum = rows_of("forum.csv.gz")
        self.titles = rows_of("sts16_questions.csv")
        self.news = rows_of("news_paraphrases.csv")

    def texts(self) -> list[str]:
        """All texts of the three sets."""
        found = [row[name] for row in self.forum for name in ("query", "candidate")]
        found += [row[name] for row in self.titles for name in ("q1", "q2")]
        return found + [row[name] for row in self.news for name in ("sentence1", "sentence2")]

    def measure(self, ranking, pairs=None) -> dict[str, float]:
        """`ranking` orders candidates, `pairs` compares two texts: the same where None."""
        pairs = pairs or ranking
        found = {}
        for part in ("valid", "train"):
            rows = [row for row in self.forum if row["split"] == part]
            scores = ranking([r["query"] for r in rows], [r["candidate"] for r in rows])
            precision, reciprocal = average_precision(rows, scores)
            found[f"forum {part} MAP"] = precision
            if part == "valid":
                found["MRR"] = reciprocal
        scores = pairs([r["q1"] for r in self.titles], [r["q2"] for r in self.titles])
        grades = [float(r["score"]) for r in self.titles]
        found["titles r"] = float(np.corrcoef(scores, grades)[0, 1])
        scores = pairs([r["sentence1"] for r in self.news], [r["sentence2"] for r in self.news])
        found["news AUC"] = float(roc_auc_score([int(r["label"]) for r in self.news], scores))
        return found

    def labelled(self, count: int, seed: int) -> QuestionPairs:
        """About so many of the forum's training rows, those of whole queries, drawn by a seed."""
        rows = [row for row in self.forum if row["split"] == "train"]
        queries = sorted({row["query_id"] for row in rows})
        chosen = np.random.default_rng(seed).permutation(queries)[: -(-count // 10)]
        rows = (
            [row for row in rows if row["query_id"] in set(chosen)] if count < len(rows) else rows
        )
        labels = [row["label"] != "Irrelevant" for row in rows]
        return QuestionPairs([r["query"] for r in rows], [r["candidate"] for r in rows], labels)


def average_precision(rows: list[dict[str, str]], scores: np.ndarray) -> tuple[float, float]:
    """Mean average precision and mean reciprocal rank over the queries with a relevant candidate."""
    queries: dict[str, list[tuple[float, bool]]] = {}
    for row, score in zip(rows, scores):
        relevant = row["label"] != "Irrelevant"
        queries.setdefault(row["query_id"], []).append((float(score), relevant))
    precisions, reciprocals = [], []
    for candidates in queries.values():
        ordered = [relevant for _, relevant in sorted(candidates, key=lambda c: -c[0])]
        ranks = np.flatnonzero(ordered) + 1
        if len(ranks):
            precisions.append((np.arange(1, len(ranks) + 1) / ranks).mean())
            reciprocals.append(1 / ranks[0])
    return float(np.mean(precisions)), float(np.mean(reciprocals))


def tfidf(texts: list[str], **words_of):
    """The cosine of two texts' TF-IDF vectors; `words_of` is how scikit-learn takes their words."""
    words_of = words_of or {"token_pattern": WORD}
    words = TfidfVectorizer(sublinear_tf=True, **words_of).fit(texts)
    return lambda a, b: np.asarray(words.transform(a).multiply(words.transform(b)).sum(axis=1))[
        :, 0
    ]


def bm25(texts: list[str], k1: float = 1.5, b: float = 0.75):
    words = CountVectorizer(token_pattern=WORD)
    counts = words.fit_transform(texts)
    found = np.asarray((counts > 0).sum(axis=0))[0]
    idf = np.log(1 + (len(texts) - found + 0.5) / (found + 0.5))
    mean = counts.sum() / len(texts)

    def score(queries, candidates):
        query, candidate = words.transform(queries) > 0, words.transform(candidates).astype(float)
        lengths = np.asarray(candidate.sum(axis=1))[:, 0]
        norms = np.repeat(k1 * (1 - b + b * lengths / mean), np.diff(candidate.indptr))
        candidate.data = candidate.data * (k1 + 1) / (candidate.data + norms)
        return np.asarray(query.multiply(candidate.multiply(idf)).sum(axis=1))[:, 0]

    return score


def of_detector(detector: DuplicateDetector):
    """(ranking by the vectors that order searches, cosines of pairs)."""

    def ranking(first, second):
        return np.vecdot(detector.encode(first), detector.encode(second))

    return ranking, detector.similarity


def with_words(detector: DuplicateDetector):
    """(ranking as a search by vectors and words orders all candidates, cosines of pairs)."""

    def ranking(queries, candidates):
        index = QuestionIndex.build(detector, list(dict.fromkeys(candidates)))
        ranks = {}
        for query in dict.fromkeys(queries):
            hits = index.search(query, k=len(index), mode="hybrid")
            ranks[query] = {hit.question: -rank for rank, hit in enumerate(hits)}
        return np.array([ranks[query][text] for query, text in zip(queries, candidates)])

    return ranking, detector.similarity


def accuracy(rows: list[dict[str, str]], detector: DuplicateDetector) -> tuple[float, float]:
    """ROC AUC of the cosines of the forum's rows, and the accuracy of the model's answers."""
    sides = ([row[name] for row in rows] for name in ("query", "candidate"))
    vectors, labels = (
        [detector.encode(side) for side in sides],
        [r["label"] != "Irrelevant" for r in rows],
    )
    right = (detector.scores_of(*vectors) > detector.border()) == np.array(labels)
    return roc_auc_score(labels, np.vecdot(*vectors)), right.mean()


def few_labels(transfer: Transfer, start: DuplicateDetector, counts: list[int], seeds: int) -> None:
    """Prints what labels of the forum, drawn several times, change on its valid queries; and 500 links."""
    valid = [row for row in transfer.forum if row["split"] == "valid"]
    listed = [row["candidate"] for row in transfer.forum if row["split"] == "train"]
    table: dict[str, list[list[float]]] = {"none": [[*figures(valid, start), 0]]}
    for seed in range(seeds):
        for count in counts:
            pairs = transfer.labelled(count, seed)
            begun = time.monotonic()
            model, _ = teach(start, pairs, seed=seed)
            row = [*figures(valid, model), time.monotonic() - begun]
            table.setdefault(f"{count} labels", []).append(row)
            row = [*figures(valid, start.fitted(pairs)), 0]
            table.setdefault(f"{count} labels, the threshold alone", []).append(row)
        links = transfer.labelled(10**9, 0).duplicates()
        chosen = np.random.default_rng(seed).permutation(len(links))[:500]
        model, _ = teach(start, links.select(chosen), listed, seed=seed)
        table.setdefault("500 links", []).append([*figures(valid, model), 0])
    print(f"{'':<36}MAP, ROC AUC, accuracy, seconds: mean and standard deviation over the draws")
    for name, rows in table.items():
        cells = (f"{m:.3f} ± {s:.3f}" for m, s in zip(np.mean(rows, 0), np.std(rows, 0)))
        print(f"{name:<36}", *cells, sep="  ")


def figures(rows: list[dict[str, str]], detector: DuplicateDetector) -> tuple[float, float, float]:
    """MAP, ROC AUC and accuracy on the forum's rows."""
    ranking, _ = of_detector(detector)
    scores = ranking([r["query"] for r in rows], [r["candidate"] for r in rows])
    return average_precision(rows, scores)[0], *accuracy(rows, detector)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--model", action="append", default=[], help="a saved model; may be repeated"
    )
    parser.add_argument(
        "--labels", type=int, nargs="+", default=[], help="heads of so many labels instead"
    )
    parser.add_argument("--seeds", type=int, default=5, help="draws of the labels")
    parser.add_argument("--output", default=str(HERE / "results" / "transfer.md"))
    flags = parser.parse_args()
    keep_memory()
    enable_compile_cache()
    transfer = Transfer()
    if flags.labels:
        for path in flags.model:
            few_labels(transfer, DuplicateDetector.load(path), flags.labels, flags.seeds)
        return
    texts = transfer.texts()
    table: list[tuple[str, dict[str, float]]] = []

    def add(name: str, *scores) -> None:
        table.append((name, transfer.measure(*scores)))
        print(f"{name:<44}", *(f"{table[-1][1][c]:.4f}" for c in COLUMNS), flush=True)

    print(f"{'':<44}", *COLUMNS, sep="  ")
    add("TF-IDF word cosine", tfidf(texts))
    add("BM25", bm25(texts))
    for path in flags.model:
        start = DuplicateDetector.load(path)
        add(f"`{Path(path).name}`", *of_detector(start))
        add(f"`{Path(path).name}` with words", *with_words(start))
    lines = [
        "# Other domains, measured",
        "",
        "Made by `python benchmarks/transfer.py`; see its docstring.",
    ]
    lines += ["", f"| model | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, found in table:
        lines.append(f"| {name} | {' | '.join(f'{found[c]:.3f}' for c in COLUMNS)} |")
    Path(flags.output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
