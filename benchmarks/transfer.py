"""Other domains than Quora's: a forum, question titles, news sentences; without labels, and with a few.

    python benchmarks/transfer.py --model use --model runs/head --model runs/general
    python benchmarks/transfer.py --model use --labels 30 100 300 1000 1958
    python benchmarks/transfer.py --model use --labels 3000 10000 --questions FILE --splits splits.json

Reads ../shared/data/transfer. The forum's queries have ten candidates each, which are ranked: MAP and MRR,
as in SemEval-2016 task 3B, of queries with a relevant candidate; "with words" in the order in which
`siamese search` has all candidates, by vectors and BM25. Titles: Pearson's correlation of cosine
and grade. News: ROC AUC. Prints a table and writes benchmarks/results/transfer.md.

With --labels: what so many labels of the forum change on its valid queries, and 500 links; or rows of
--questions on its valid rows. Several draws of the labels; the intervals of 95 % are a bootstrap over
queries (or rows) and draws together, of the gain over the model that the labels were given to. Writes
few_labels.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from siamese import (
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    TrainConfig,
    Trainer,
    best_threshold,
    enable_compile_cache,
    keep_memory,
    read_pairs,
)
from siamese.training.few_labels import teach
from siamese.training.head import MANY

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "shared" / "data" / "transfer"
COLUMNS = ["forum valid MAP", "MRR", "forum train MAP", "titles r", "news AUC"]
LINKS = 500
RESAMPLES = 500  # of the bootstrap


def rows_of(name: str) -> list[dict[str, str]]:
    data = (FOLDER / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline="")))


class Transfer:
    """The three sets, and the measures of functions (texts, texts) -> float [n]."""

    def __init__(self):
        rows = {"titles": rows_of("sts16_questions.csv"), "news": rows_of("news_paraphrases.csv")}
        forum = rows_of("forum.csv.gz")
        rows |= {part: [r for r in forum if r["split"] == part] for part in ("train", "valid")}
        names = {"titles": ("q1", "q2"), "news": ("sentence1", "sentence2")}
        self.sides = {
            part: [[r[name] for r in some] for name in names.get(part, ("query", "candidate"))]
            for part, some in rows.items()
        }
        self.queries = {part: [r["query_id"] for r in rows[part]] for part in ("train", "valid")}
        self.labels = {
            part: np.array([r["label"] != "Irrelevant" for r in rows[part]])
            for part in self.queries
        }
        self.labels["titles"] = np.array([float(r["score"]) for r in rows["titles"]])
        self.labels["news"] = np.array([int(r["label"]) for r in rows["news"]])

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
        return figures | {"news AUC": roc_auc_score(self.labels["news"], scores["news"])}

    def best_thresholds(self, similarity: Callable) -> dict[str, float]:
        """The thresholds that judge the most pairs of a set right."""
        best = {}
        for name, parts in (("news", ["news"]), ("forum", ["train", "valid"])):
            scores = np.concatenate([similarity(*self.sides[part]) for part in parts])
            best[name] = best_threshold(scores, np.concatenate([self.labels[p] for p in parts]))
        return best


def by_query(queries: list[str], relevant: Any, scores: np.ndarray) -> np.ndarray:
    """Average precision and reciprocal rank, [queries, 2]; nan where no candidate is relevant."""
    candidates: dict[str, list[tuple[float, bool]]] = {}
    for query, score, is_relevant in zip(queries, scores, relevant):
        candidates.setdefault(query, []).append((float(score), is_relevant))
    figures = []
    for some in candidates.values():
        ranks = np.flatnonzero([r for _, r in sorted(some, key=lambda c: -c[0])]) + 1
        precision = np.mean(np.arange(1, len(ranks) + 1) / ranks) if len(ranks) else np.nan
        figures.append((precision, 1 / ranks[0] if len(ranks) else np.nan))
    return np.array(figures)


def tfidf(texts: list[str]) -> Callable:
    """The cosine of two texts' TF-IDF vectors, whose weights are those of `texts`."""
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit(texts)
    return lambda a, b: np.ravel(words.transform(a).multiply(words.transform(b)).sum(axis=1))


def search_order(detector: DuplicateDetector, mode: str) -> Callable:
    """A ranking as a search orders all candidates: by words, or by words and vectors ('hybrid')."""

    def ranking(queries: list[str], candidates: list[str]) -> np.ndarray:
        index = QuestionIndex.build(detector, list(dict.fromkeys(candidates)))
        ranks = {}
        for query in dict.fromkeys(queries):
            hits = index.search(query, k=len(index), mode=mode)
            ranks[query] = {hit.question: -rank for rank, hit in enumerate(hits)}
        # By words alone, a candidate without a common word is no hit.
        return np.array([ranks[q].get(text, -len(index)) for q, text in zip(queries, candidates)])

    return ranking


# ---- Few labels ----


class Task(NamedTuple):
    """Labels to draw, and the pairs on which they are measured."""

    name: str
    valid: QuestionPairs
    queries: list[str]  # of each valid pair; what is drawn anew by the bootstrap
    labelled: Callable[[int, int], QuestionPairs]  # (count, seed) -> about so many labels
    listed: list[str]  # in which links are learned; none where empty


class Outcome(NamedTuple):
    """What a model does on the valid pairs of a task."""

    scores: np.ndarray  # the cosines, which order
    accuracy: float  # of its answers
    precision: np.ndarray  # average precision of each query
    cpu_s: float


def forum_task() -> Task:
    """The forum's train queries, drawn whole, and its valid ones."""
    transfer = Transfer()
    train, valid = (
        QuestionPairs(*transfer.sides[part], transfer.labels[part]) for part in ("train", "valid")
    )
    queries = np.array(transfer.queries["train"])

    def labelled(count: int, seed: int) -> QuestionPairs:
        chosen = np.random.default_rng(seed).permutation(np.unique(queries))[: -(-count // 10)]
        return train.select(np.isin(queries, chosen)) if count < len(train) else train

    return Task("forum", valid, transfer.queries["valid"], labelled, list(train.question2))


def rows_task(questions: str, splits: str) -> Task:
    """Labelled rows: train rows, drawn with the share of duplicates of the valid rows, and these."""
    pairs, rows = read_pairs(questions), json.loads(Path(splits).read_text())["rows"]
    train, valid = (pairs.rows(*rows[part]) for part in ("train", "valid"))

    def labelled(count: int, seed: int) -> QuestionPairs:
        duplicates = round(count * valid.base_rate)
        drawn = np.random.default_rng(seed).permutation(len(train))
        labels = np.array(train.is_duplicate, bool)[drawn]
        parts = drawn[labels][:duplicates], drawn[~labels][: count - duplicates]
        return train.select(np.sort(np.concatenate(parts)))

    return Task(Path(questions).name, valid, list(valid.question1), labelled, [])


def head_of(start: DuplicateDetector, pairs: QuestionPairs, listed: Any, seed: int):
    """The model that `siamese train` makes of so many labels."""
    if len(pairs) < MANY:
        return teach(start, pairs, listed, seed=seed)[0]
    trainer = Trainer(pairs, TrainConfig.preset("head", seed=seed), init_from=start, quiet=True)
    trainer.train()
    return trainer.save(trainer.evaluate(trainer.data.held_out))


def outcome(task: Task, model: DuplicateDetector, cpu_s: float = 0.0) -> Outcome:
    """A model on the valid pairs."""
    sides, labels = (task.valid.question1, task.valid.question2), task.valid.is_duplicate
    vectors = [model.encode(side) for side in sides]
    scores = np.vecdot(*vectors)
    right = (model.scores_of(*vectors) > model.border()) == np.array(labels)
    precision = by_query(task.queries, labels, scores)[:, 0]
    return Outcome(scores, right.mean(), precision, cpu_s)


def few_labels(task: Task, start: DuplicateDetector, counts: list[int], seeds: int) -> str:
    """A table of what labels, drawn several times, change."""
    draws: dict[str, list[Outcome]] = {}
    bare = outcome(task, start)

    def add(name: str, make: Callable[[], DuplicateDetector]) -> None:
        begun = time.process_time()
        model = make()
        draws.setdefault(name, []).append(outcome(task, model, time.process_time() - begun))

    for seed in range(seeds):
        for count in counts:
            pairs = task.labelled(count, seed)
            add(f"{count:,}, the threshold alone", lambda: start.fitted(pairs))  # noqa: B023
            add(f"{count:,}", lambda: head_of(start, pairs, None, seed))  # noqa: B023
        if task.listed:
            links = task.labelled(10**9, 0).duplicates()
            some = links.select(np.random.default_rng(seed).permutation(len(links))[:LINKS])
            add(f"{LINKS} links", lambda: head_of(start, some, task.listed, seed))  # noqa: B023
    header = "labels|MAP|gain, 95 %|ROC AUC|gain, 95 %|accuracy|CPU s"
    lines = [
        f"## {task.name}, {seeds} draws\n",
        f"| {header.replace('|', ' | ')} |",
        "|---" * 7 + "|",
    ]
    for name, outcomes in {"none": [bare], **draws}.items():
        auc = [roc_auc_score(task.valid.is_duplicate, o.scores) for o in outcomes]
        ranked = [np.nanmean(o.precision) for o in outcomes]
        columns = ranked, auc, [o.accuracy for o in outcomes]
        cells = [f"{np.mean(c):.3f} ± {np.std(c):.3f}" for c in columns]
        gains = intervals(task, bare, outcomes) if name != "none" else ["", ""]
        cells = [cells[0], gains[0], cells[1], gains[1], cells[2]]
        if not task.listed:  # Of rows there is hardly a query with two candidates.
            cells[:2] = "", ""
        seconds = np.mean([o.cpu_s for o in outcomes])
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds:.0f} |")
    return "\n".join(lines) + "\n"


def intervals(task: Task, bare: Outcome, draws: list[Outcome]) -> list[str]:
    """95 % intervals of the gains in MAP and ROC AUC, over queries and draws of the labels."""
    members: dict[str, list[int]] = {}
    for row, query in enumerate(task.queries):
        members.setdefault(query, []).append(row)
    rows_of, rng = [*members.values()], np.random.default_rng(0)
    labels, gains = np.array(task.valid.is_duplicate), []
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(rows_of), size=len(rows_of))
        draw, rows = draws[rng.integers(len(draws))], np.concatenate([rows_of[i] for i in chosen])
        auc = [roc_auc_score(labels[rows], o.scores[rows]) for o in (draw, bare)]
        precision = [np.nanmean(o.precision[chosen]) for o in (draw, bare)]
        gains.append([precision[0] - precision[1], auc[0] - auc[1]])
    low, high = np.quantile(gains, [0.025, 0.975], axis=0)
    return [f"{a:+.3f} to {b:+.3f}" for a, b in zip(low, high)]


def main() -> None:
    """Reads the arguments, measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--model", action="append", default=[], help="a saved model; may be repeated")
    add("--labels", type=int, nargs="+", help="heads of so many labels instead")
    add("--seeds", type=int, default=5, help="draws of the labels")
    add("--questions", help="labels of this file instead of the forum's; needs --splits")
    add("--splits", help='JSON: {"rows": {"train": [first, end], "valid": ...}}')
    add("--results", type=Path, default=HERE / "results")
    flags = parser.parse_args()
    keep_memory()
    enable_compile_cache()
    if flags.labels:
        rows = flags.questions
        task = rows_task(rows, flags.splits) if rows else forum_task()
        start = DuplicateDetector.load(flags.model[0])
        text = few_labels(task, start, flags.labels, flags.seeds)
        print(text)
        path = flags.results / "few_labels.md"
        parts = path.read_text().split("\n## ") if path.exists() else []
        parts = [p.rstrip() for p in parts[1:] if not p.startswith(f"{task.name},")]
        title = "# Few labels, measured\n\nMade by `python benchmarks/transfer.py --labels`."
        path.write_text("\n\n## ".join([title, *parts, text.removeprefix("## ")]))
        return
    transfer, lines = Transfer(), []

    def row(name: str, ranking: Callable, pairs: Callable | None = None) -> None:
        figures = transfer.measure(ranking, pairs)
        cells = [f"{figures[column]:.3f}" if column in figures else "" for column in COLUMNS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    words = tfidf([text for sides in transfer.sides.values() for side in sides for text in side])
    row("TF-IDF word cosine", words, words)
    for at, path in enumerate(flags.model):
        model, name = DuplicateDetector.load(path), f"`{Path(path).stem}`"
        if not at:
            row("BM25 of stems", search_order(model, "words"))
            best = transfer.best_thresholds(model.similarity)
            cuts = ", ".join(f"{value:.3f} on the {part} pairs" for part, value in best.items())
            note = f"The threshold of {name} that judges most pairs right: {cuts}."
        row(name, model.similarity, model.similarity)
        row(f"{name} with words", search_order(model, "hybrid"))
    text = "# Other domains, measured\n\nMade by `python benchmarks/transfer.py`.\n\n| model | "
    text += f"{' | '.join(COLUMNS)} |\n{'|---' * (len(COLUMNS) + 1)}|\n" + "\n".join(lines)
    text += f"\n\n{note}" if flags.model else ""
    (flags.results / "transfer.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
