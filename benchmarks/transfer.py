"""Other domains than Quora's: a forum, question titles, news sentences; without labels, and with a few.

    python benchmarks/transfer.py --model use --model runs/head --model runs/ensemble
    python benchmarks/transfer.py --model use --labels 30 100 300 1000 1958
    python benchmarks/transfer.py --model use --labels 3000 10000 \\
        --questions questions.csv.gz --splits splits.json

Reads ../shared/data/transfer. The forum's queries have ten candidates each, which are
ranked: MAP and MRR, as in SemEval-2016 task 3B, of queries with a relevant candidate;
"with words" in the order in which `siamese search` has all candidates, by vectors and
BM25. Titles: Pearson's correlation of cosine and grade. News: ROC AUC. Prints a table
and writes benchmarks/results/transfer.md.

With --labels: what so many labels of the forum change, and 500 links: its queries in
five folds, each ranked by a model that learned from the other four alone; or rows of
--questions on its valid rows. Several draws of labels and folds; the intervals of 95 %
are a bootstrap over queries (or rows) and draws together, of the gain over the model
that the labels were given to. Writes few_labels.md.
"""

import argparse
import csv
import functools
import gzip
import io
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from results import FOLDER, markdown_table, table_row
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

import siamese
from siamese import (
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    TrainConfig,
    Trainer,
)
from siamese.evaluation.thresholds import best_threshold
from siamese.model.detector import border_of, pairs_of
from siamese.reading.pairs import read_pairs
from siamese.text.cleaning import has_words
from siamese.training.few_labels import teach
from siamese.training.head import MANY

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data" / "transfer"
COLUMNS = ["forum valid MAP", "MRR", "forum train MAP", "titles r", "news AUC"]
FEW_LABELS = [
    "labels",
    "MAP",
    "gain, 95 %",
    "ROC AUC",
    "gain, 95 %",
    "accuracy",
    "CPU s",
]
LINKS = 500
FOLDS = 5  # of the forum's queries
NONE = "none"
ALONE = ", the threshold alone"
RESAMPLES = 500  # of the bootstrap


def rows_of(name: str) -> list[dict[str, str]]:
    data = (DATA / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline="")))


class Transfer:
    """The three sets, and the measures of functions (texts, texts) -> float [n]."""

    def __init__(self):
        rows = {
            "titles": rows_of("sts16_questions.csv"),
            "news": rows_of("news_paraphrases.csv"),
        }
        forum = rows_of("forum.csv.gz")
        rows |= {
            part: [r for r in forum if r["split"] == part]
            for part in ("train", "valid")
        }
        names = {"titles": ("q1", "q2"), "news": ("sentence1", "sentence2")}
        self.sides = {}  # set -> its two columns of texts
        for part, of_set in rows.items():
            columns = names.get(part, ("query", "candidate"))
            self.sides[part] = [[row[column] for row in of_set] for column in columns]
        self.queries = {
            part: [r["query_id"] for r in rows[part]] for part in ("train", "valid")
        }
        labels = {
            part: [r["label"] != "Irrelevant" for r in rows[part]]
            for part in self.queries
        }
        labels["titles"] = [float(r["score"]) for r in rows["titles"]]
        labels["news"] = [int(r["label"]) for r in rows["news"]]
        self.labels = {part: np.array(some) for part, some in labels.items()}

    def measure(self, ranking: Callable, pairs: Callable | None) -> dict[str, float]:
        """`ranking` orders a query's candidates, `pairs` compares two texts, where it can."""
        figures = {}
        for part, queries in self.queries.items():
            ranks = by_query(queries, self.labels[part], ranking(*self.sides[part]))
            figures[f"forum {part} MAP"], figures["MRR"] = np.nanmean(ranks, axis=0)
        if not pairs:
            return figures
        scores = {part: pairs(*self.sides[part]) for part in ("titles", "news")}
        figures["titles r"] = np.corrcoef(scores["titles"], self.labels["titles"])[0, 1]
        return figures | {
            "news AUC": roc_auc_score(self.labels["news"], scores["news"])
        }

    def best_thresholds(self, similarity: Callable) -> dict[str, float]:
        """The thresholds that judge the most pairs of a set right."""
        best = {}
        for name, parts in (("news", ["news"]), ("forum", ["train", "valid"])):
            scores = np.concatenate([similarity(*self.sides[part]) for part in parts])
            best[name] = best_threshold(
                scores, np.concatenate([self.labels[p] for p in parts])
            )
        return best


def by_query(queries: list[str], relevant: Any, scores: np.ndarray) -> np.ndarray:
    """Average precision and reciprocal rank, [queries, 2]; nan where no candidate is relevant."""
    candidates: dict[str, list[tuple[float, bool]]] = {}
    for query, score, is_relevant in zip(queries, scores, relevant):
        candidates.setdefault(query, []).append((float(score), is_relevant))
    figures = []
    for some in candidates.values():
        ranks = np.flatnonzero([r for _, r in sorted(some, key=lambda c: -c[0])]) + 1
        precision = (
            np.mean(np.arange(1, len(ranks) + 1) / ranks) if len(ranks) else np.nan
        )
        figures.append((precision, 1 / ranks[0] if len(ranks) else np.nan))
    return np.array(figures)


def tfidf(texts: list[str]) -> Callable:
    """The cosine of two texts' TF-IDF vectors, whose weights are those of `texts`."""
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit(texts)
    return lambda a, b: np.ravel(
        words.transform(a).multiply(words.transform(b)).sum(axis=1)
    )


def search_order(detector: DuplicateDetector, mode: str) -> Callable:
    """A ranking as a search orders all candidates: by words, or by words and vectors ('hybrid')."""

    def ranking(queries: list[str], candidates: list[str]) -> np.ndarray:
        index = QuestionIndex.build(
            detector, [*filter(has_words, dict.fromkeys(candidates))]
        )
        ranks = {}
        for query in dict.fromkeys(queries):
            hits = index.search(query, k=len(index), mode=mode)
            ranks[query] = {hit.question: -rank for rank, hit in enumerate(hits)}
        # No hits are a candidate without words, and by words alone one without a common
        # word.
        return np.array(
            [ranks[q].get(text, -len(index)) for q, text in zip(queries, candidates)]
        )

    return ranking


# ---- Few labels ----


class Task(NamedTuple):
    """Labels to draw, and the pairs on which they are measured."""

    name: str
    pairs: QuestionPairs  # all that are measured
    queries: np.ndarray  # of each pair; what is drawn anew by the bootstrap
    # of each draw: the queries of each fold, measured together
    folds: list[list[np.ndarray]]
    # (draw, fold, count) -> so many
    labelled: Callable[[int, np.ndarray, int], QuestionPairs]
    listed: list[str]  # in which links are learned; none where empty


class Outcome(NamedTuple):
    """What the models of one draw do, each on the fold that it never saw."""

    scores: np.ndarray  # the cosines, which order
    accuracy: float  # of their answers
    precision: dict[str, float]  # average precision of each query
    cpu_s: float  # a model's mean


def forum_task(draws: int) -> Task:
    """All queries of the forum in folds, divided anew for each draw; a query's labels stay together."""
    transfer = Transfer()
    parts = ("train", "valid")
    sides = (
        [text for part in parts for text in transfer.sides[part][side]]
        for side in (0, 1)
    )
    pairs = QuestionPairs(
        *sides, np.concatenate([transfer.labels[part] for part in parts])
    )
    queries = np.array(
        [f"{part} {query}" for part in parts for query in transfer.queries[part]]
    )
    orders = [
        np.random.default_rng(seed).permutation(np.unique(queries))
        for seed in range(draws)
    ]

    def labelled(draw: int, fold: np.ndarray, count: int) -> QuestionPairs:
        others = orders[draw][~np.isin(orders[draw], fold)]
        return pairs.select(np.isin(queries, others[: -(-count // 10)]))

    folds = [np.array_split(order, FOLDS) for order in orders]
    return Task("forum", pairs, queries, folds, labelled, list(pairs.question2))


def rows_task(questions: str, splits: str, draws: int) -> Task:
    """Labelled rows: train rows, drawn with the share of duplicates of the valid rows, and these."""
    pairs = read_pairs(questions)
    rows = json.loads(Path(splits).read_text())["rows"]
    train, valid = (pairs.rows(*rows[part]) for part in ("train", "valid"))

    def labelled(draw: int, fold: np.ndarray, count: int) -> QuestionPairs:
        duplicates = round(count * valid.base_rate)
        drawn = np.random.default_rng(draw).permutation(len(train))
        labels = np.array(train.is_duplicate, bool)[drawn]
        parts = drawn[labels][:duplicates], drawn[~labels][: count - duplicates]
        return train.select(np.sort(np.concatenate(parts)))

    queries = np.array(valid.question1)
    return Task(
        Path(questions).name,
        valid,
        queries,
        [[np.unique(queries)]] * draws,
        labelled,
        [],
    )


def head_of(start: DuplicateDetector, pairs: QuestionPairs, listed: Any, seed: int):
    """The model that `siamese train` makes of so many labels."""
    if len(pairs) < MANY:
        return teach(start, pairs, listed, seed=seed)[0]
    trainer = Trainer(
        pairs, TrainConfig.preset("head", seed=seed), init_from=start, quiet=True
    )
    trainer.train()
    return trainer.save(trainer.evaluate(trainer.data.held_out))


def remember_vectors(encoder: Any) -> None:
    """Lets an encoder's bases encode each text once: their seconds are not those of a head.

    Models that a process loads share their bases: one that remembers already stays.
    """
    for base in encoder.bases:
        if not isinstance(base.encode, functools.partial):
            base.encode = functools.partial(remembered, base.encode, {})


def remembered(
    encode: Callable, known: dict[str, np.ndarray], texts: Sequence[str]
) -> np.ndarray:
    """The vectors of texts, of which those that are known are not encoded again."""
    new = [text for text in dict.fromkeys(texts) if text not in known]
    known.update(zip(new, encode(new)))
    return np.stack([known[text] for text in texts])


# rows, scores, right, CPU seconds
Judged = tuple[np.ndarray, np.ndarray, np.ndarray, float]


def judged(task: Task, path: str, name: str, draw: int, fold: np.ndarray) -> Judged:
    """A fold judged by the model of a row's name, learned from labels of the other queries."""
    model = DuplicateDetector.load(path)
    labelled = functools.partial(task.labelled, draw, fold)
    remember_vectors(model.encoder)
    model.encode([*task.pairs.question1, *task.pairs.question2, *task.listed])
    begun = time.process_time()
    if name.endswith("links"):
        links = labelled(10**9).duplicates()
        some = links.select(np.random.default_rng(draw).permutation(len(links))[:LINKS])
        model = head_of(model, some, task.listed, draw)
    elif name != NONE:
        pairs = labelled(int(name.split(ALONE)[0].replace(",", "")))
        alone = name.endswith(ALONE)
        model = model.fitted(pairs) if alone else head_of(model, pairs, None, draw)
    seconds = time.process_time() - begun
    rows = np.flatnonzero(np.isin(task.queries, fold))
    pairs = task.pairs.select(rows)
    one, two = pairs_of(model, pairs.question1, pairs.question2)
    answers = model.decision.scores(one, two) > border_of(model)
    right = answers == np.array(pairs.is_duplicate)
    return rows, np.vecdot(one.vectors, two.vectors), right, seconds


def outcome(task: Task, folds: list[Judged]) -> Outcome:
    """The folds of one draw together."""
    rows, cosines, right, seconds = zip(*folds)
    scores = np.zeros(len(task.queries))
    scores[np.concatenate(rows)] = np.concatenate(cosines)
    precision = by_query(list(task.queries), task.pairs.is_duplicate, scores)[:, 0]
    by_name = dict(zip(dict.fromkeys(task.queries.tolist()), precision))
    return Outcome(scores, np.concatenate(right).mean(), by_name, np.mean(seconds))


def few_labels(task: Task, path: str, counts: list[int], draws: int) -> str:
    """A table of what labels, drawn several times, change."""
    names = [NONE, *(f"{count:,}{more}" for count in counts for more in (ALONE, ""))]
    names += [f"{LINKS} links"] if task.listed else []
    places = [
        (name, draw, f)
        for name in names
        for draw in range(draws)
        for f in task.folds[draw]
    ]
    folds: dict[tuple, list[Judged]] = {place[:2]: [] for place in places}
    for place, fold in zip(
        places, Parallel(-1)(delayed(judged)(task, path, *p) for p in places)
    ):
        folds[place[:2]].append(fold)
    rows = []
    bare: list[Outcome] = []
    for name in names:
        outcomes = [outcome(task, folds[name, draw]) for draw in range(draws)]
        bare = bare or outcomes
        figures = np.array([ranked(task, *some) for some in zip(outcomes, task.folds)])
        gains = intervals(task, bare, outcomes) if outcomes is not bare else ["", ""]
        columns = *figures.T, [some.accuracy for some in outcomes]
        cells = [f"{np.mean(c):.3f} ± {np.std(c):.3f}" for c in columns]
        cells = [cells[0], gains[0], cells[1], gains[1], cells[2]]
        if not task.listed:  # Of rows there is hardly a query with two candidates.
            cells[:2] = "", ""
        seconds = np.mean([some.cpu_s for some in outcomes])
        rows.append([name, *cells, f"{seconds:.0f}"])
    return f"## {task.name}, {draws} draws\n\n{markdown_table(FEW_LABELS, rows)}"


def ranked(task: Task, result: Outcome, folds: list[np.ndarray]) -> np.ndarray:
    """MAP, and the mean ROC AUC of the folds: the cosines of two models are not compared."""
    labels = np.array(task.pairs.is_duplicate, bool)
    rows = {}  # the pairs of each query
    for row, query in enumerate(task.queries.tolist()):
        rows.setdefault(query, []).append(row)
    chosen = [np.concatenate([rows[query] for query in fold]) for fold in folds]
    auc = [roc_auc_score(labels[some], result.scores[some]) for some in chosen]
    precision = [result.precision[query] for fold in folds for query in fold]
    return np.array([np.nanmean(precision), np.mean(auc)])


def intervals(task: Task, bare: list[Outcome], draws: list[Outcome]) -> list[str]:
    """95 % intervals of the gains in MAP and ROC AUC, over queries and draws of the labels."""
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(RESAMPLES):
        at = rng.integers(len(draws))
        folds = [rng.choice(fold, len(fold)) for fold in task.folds[at]]
        gains.append(ranked(task, draws[at], folds) - ranked(task, bare[at], folds))
    low, high = np.quantile(gains, [0.025, 0.975], axis=0)
    return [f"{a:+.3f} to {b:+.3f}" for a, b in zip(low, high)]


def main() -> None:
    """Reads the arguments, measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--model", action="append", default=[], help="a saved model; may be repeated")
    add("--labels", type=int, nargs="+", help="heads of so many labels instead")
    add("--seeds", type=int, default=5, help="draws of the labels")
    add(
        "--questions", help="labels of this file instead of the forum's; needs --splits"
    )
    add("--splits", help='JSON: {"rows": {"train": [first, end], "valid": ...}}')
    add("--results", type=Path, default=FOLDER, help="folder")
    flags = parser.parse_args()
    siamese.keep_memory()
    siamese.enable_compile_cache()
    if flags.labels:
        rows = flags.questions
        draws = flags.seeds
        task = rows_task(rows, flags.splits, draws) if rows else forum_task(draws)
        text = few_labels(task, flags.model[0], flags.labels, draws)
        print(text)
        path = flags.results / "few_labels.md"
        parts = path.read_text("utf-8").split("\n## ") if path.exists() else []
        parts = [p.rstrip() for p in parts[1:] if not p.startswith(f"{task.name},")]
        title = "# Few labels, measured\n\nMade by `python benchmarks/transfer.py --labels`."
        page = "\n\n## ".join([title, *parts, text.removeprefix("## ")])
        path.write_text(page, "utf-8")
        return
    transfer = Transfer()
    rows = []

    def row(name: str, ranking: Callable, pairs: Callable | None = None) -> None:
        figures = transfer.measure(ranking, pairs)
        cells = [
            f"{figures[column]:.3f}" if column in figures else "" for column in COLUMNS
        ]
        rows.append([name, *cells])
        print(table_row(rows[-1]), flush=True)

    words = tfidf(
        [text for sides in transfer.sides.values() for side in sides for text in side]
    )
    row("TF-IDF word cosine", words, words)
    for at, path in enumerate(flags.model):
        model = DuplicateDetector.load(path)
        name = f"`{Path(path).stem}`"
        if not at:
            row("BM25 of stems", search_order(model, "words"))
            best = transfer.best_thresholds(model.similarity)
            cuts = ", ".join(
                f"{value:.3f} on the {part} pairs" for part, value in best.items()
            )
            note = f"The threshold of {name} that judges most pairs right: {cuts}."
        row(name, model.similarity, model.similarity)
        row(f"{name} with words", search_order(model, "hybrid"))
    text = "# Other domains, measured\n\nMade by `python benchmarks/transfer.py`.\n\n"
    text += markdown_table(["model", *COLUMNS], rows)
    text += f"\n{note}\n" if flags.model else ""
    (flags.results / "transfer.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
