"""Search and groups over all distinct questions of a file of pairs, beside other ways.

    python benchmarks/search.py --questions questions.csv.gz --splits splits.json \\
        --model lstm=runs/lstm --model ensemble=runs/ensemble [--parts models,words,bm25,tfidf,speed]
    python benchmarks/search.py ... --model use=use --parts groups

models    MRR and recall of each model's search by vectors. Pool: every distinct question; queries:
          question1 of the test duplicates (--rows valid: of the valid ones), once each; relevant: the other
          questions of its cluster. "Unseen" are the queries no question of whose cluster stands in a row
          before those rows
words     the same by words and vectors together, as `siamese search` has it, and by words alone; the weight
          is the index's own, not chosen on these queries
bm25, tfidf   the same by BM25 (bm25s) and TF-IDF cosine
speed     of the first model: building the index, one query (p50) and in batches; a million vectors, the
          file's repeated with noise
groups    of each model: average linkage beside connected components, B-cubed against the closure of the
          labels. Each threshold is chosen on a random half of the clusters; the figures are of the other

Results are merged into PREFIX.json, and PREFIX.md is made from it: a part can be run
again alone.
"""

import argparse
import functools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from results import FOLDER, markdown_table, read_figures, write_figures

from siamese import DuplicateDetector, QuestionIndex, read_pairs
from siamese.evaluation.retrieval import evaluate_retrieval
from siamese.groups.linkage import average_linkage, strongest_pairs
from siamese.nn.nearest import top_k
from siamese.reading.clusters import clusters, connected_groups

DEPTH = 100  # answers looked at for MRR
LOWEST = 0.72  # the lowest threshold of groups that is tried
LABELS = {
    "bm25": "BM25 (bm25s)",
    "words": "siamese, words only (BM25 of stems)",
    "tfidf": "TF-IDF cosine",
    "minilm": "`minilm` (trained on Quora's duplicates)",
    "use+minilm": "`use+minilm` (`minilm` was trained on Quora's duplicates)",
}
HEADS = [
    "search",
    "MRR",
    "recall@1",
    "recall@10",
    "unseen: MRR",
    "recall@1",
    "recall@10",
    "prepared in, s",
    "queries/s",
]
MEASURES = ("mrr", "recall_at_1", "recall_at_10")
FIGURES = [*MEASURES, *(f"unseen_{name}" for name in MEASURES)]


def timed(work: Callable, *arguments: Any, **options: Any) -> tuple[Any, float]:
    """The result of a call, and the seconds it took."""
    start = time.perf_counter()
    return work(*arguments, **options), time.perf_counter() - start


def one_by_one(search: Callable, queries: Any, **options: Any) -> float:
    """Median milliseconds of a search."""
    return 1e3 * statistics.median(
        timed(search, query, **options)[1] for query in queries
    )


class Pool:
    """The file's distinct questions, the queries, and each model's index, made once."""

    def __init__(self, flags: argparse.Namespace):
        pairs = read_pairs(flags.questions)
        grouped = clusters(pairs)
        self.texts = grouped.questions
        self.cluster = grouped.question_cluster
        row_of = {text: row for row, text in enumerate(self.texts)}
        first, last = json.loads(Path(flags.splits).read_text())["rows"][flags.rows]
        asked = dict.fromkeys(pairs.rows(first, last).duplicates().question1)
        self.queries = [row_of[text] for text in asked]
        members: dict[int, set[int]] = {}
        for row, cluster in enumerate(self.cluster.tolist()):
            members.setdefault(cluster, set()).add(row)
        self.relevant = [members[self.cluster[i]] - {i} for i in self.queries]
        before = pairs.rows(0, first)
        trained = {
            int(self.cluster[row_of[t]]) for t in (*before.question1, *before.question2)
        }
        self.unseen = [int(self.cluster[row]) not in trained for row in self.queries]
        self.models = dict(model.split("=", 1) for model in flags.model)
        self._indexes: dict[str, tuple[QuestionIndex, float]] = {}

    def index(self, name: str) -> tuple[QuestionIndex, float]:
        """A model's index of all texts and the seconds to build it."""
        if name not in self._indexes:
            detector = DuplicateDetector.load(self.models[name])
            self._indexes[name] = timed(QuestionIndex.build, detector, self.texts)
        return self._indexes[name]

    def quality(
        self, rows: list[list[int]], prepared_s: float, answered_s: float
    ) -> dict:
        """The figures of ranked rows, DEPTH + 1 a query at most, the query's own among them."""
        ranked = [
            [r for r in row if r != own][:DEPTH] for row, own in zip(rows, self.queries)
        ]
        answers = list(zip(ranked, self.relevant))
        figures = {"prepare_s": prepared_s, "queries_per_s": len(ranked) / answered_s}
        unseen = [
            answer for answer, is_unseen in zip(answers, self.unseen) if is_unseen
        ]
        for start, part in (("", answers), ("unseen_", unseen)):
            metrics = evaluate_retrieval(*zip(*part), ks=(1, 10))
            figures |= {f"{start}mrr": metrics.mrr, f"{start}queries": metrics.queries}
            figures |= {
                f"{start}recall_at_{k}": value for k, value in metrics.recall.items()
            }
        return figures


# ---- Search: a row of the table each, name -> figures ----


def models(pool: Pool) -> dict:
    """By the vectors of each model."""
    figures = {}
    for name in pool.models:
        index, seconds = pool.index(name)
        vectors = index.vectors[np.asarray(pool.queries)]
        (rows, _), answered = timed(top_k, index.vectors, vectors, DEPTH + 1)
        figures[name] = pool.quality(rows.tolist(), seconds, answered)
    return figures


def words(pool: Pool) -> dict:
    """By words and vectors together, and by words."""
    figures = {}
    asked = [pool.texts[row] for row in pool.queries]
    for name in pool.models:
        index, seconds = pool.index(name)
        _, counted = timed(index.search, asked[0], mode="words")
        ways = {
            "words": ("words", counted),
            "hybrid": (f"{name} and words", seconds + counted),
        }
        for mode, (label, prepared) in ways.items():
            hits, answered = timed(index.search, asked, DEPTH + 1, mode=mode)
            rows = [[int(hit.id) for hit in row] for row in hits]
            figures[label] = pool.quality(rows, prepared, answered)
    return figures


def tfidf(pool: Pool) -> dict:
    """By the cosine of TF-IDF vectors: words, logarithmic counts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = TfidfVectorizer(
        sublinear_tf=True, token_pattern=r"(?u)\b\w+\b", dtype=np.float32
    )
    vectors, prepared = timed(table.fit_transform, pool.texts)
    by_word = vectors.T.tocsr()
    rows = []
    begun = time.perf_counter()
    for at in range(0, len(pool.queries), 64):
        # [64, texts]
        scores = (vectors[pool.queries[at : at + 64]] @ by_word).toarray()
        best = np.argpartition(-scores, DEPTH + 1, axis=1)[:, : DEPTH + 1]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1, kind="stable")
        rows += np.take_along_axis(best, order, 1).tolist()
    return {"tfidf": pool.quality(rows, prepared, time.perf_counter() - begun)}


def bm25(pool: Pool) -> dict:
    """By BM25 as the package bm25s has it by default, without a list of words to leave out."""
    import bm25s

    def tokens(texts):
        return bm25s.tokenize(texts, stopwords=None, show_progress=False)

    scorer = bm25s.BM25()
    _, prepared = timed(scorer.index, tokens(pool.texts), show_progress=False)
    asked = tokens([pool.texts[row] for row in pool.queries])
    (rows, _), answered = timed(
        scorer.retrieve, asked, k=DEPTH + 1, show_progress=False
    )
    return {"bm25": pool.quality(np.asarray(rows).tolist(), prepared, answered)}


def speed(pool: Pool) -> dict:
    """Building and searching, from the text and in memory, also of a million vectors."""
    name = next(iter(pool.models))
    index, seconds = pool.index(name)
    asked = [pool.texts[row] for row in pool.queries]
    figures = {"model": name, "questions": len(index), "build_s": seconds}
    for mode in ("vectors", "hybrid"):
        index.search(asked[:512], mode=mode)
        figures[f"{mode}_text_p50_ms"] = one_by_one(
            index.search, asked[:200], mode=mode
        )
    base = np.array(index.vectors)
    rng = np.random.default_rng(0)
    million = np.resize(base, (1_000_000, base.shape[1]))
    for part in np.array_split(million, 20):
        part += 0.02 * rng.standard_normal(part.shape, np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    for label, vectors in (("", base), ("million_", million)):
        search = functools.partial(top_k, vectors, k=10)
        best = min(timed(search, base[:1024])[1] for _ in range(3))
        figures[f"{label}p50_ms"] = one_by_one(search, base[:50, None])
        figures |= {
            f"{label}queries_per_s": 1024 / best,
            f"{label}MB": vectors.nbytes / 1e6,
        }
    return figures


# ---- Groups ----


def b_cubed(groups: Any, truth: Any, counted: Any) -> dict[str, float]:
    """B-cubed precision, recall and F (Bagga and Baldwin, 1998; Amigo et al., 2009).

    Every item counts itself, so that all items alone have precision 1, and all in one
    group recall 1. `groups` and `truth` hold the group of each item, `counted` whether
    it is averaged over: all [n].
    """
    sizes, of_item = _sizes(groups)
    true_sizes, of_true = _sizes(truth)
    shared, _ = _sizes(of_true.astype(np.int64) * len(groups) + of_item)
    precision = float((shared / sizes)[counted].mean())
    recall = float((shared / true_sizes)[counted].mean())
    f1 = 2 * precision * recall / (precision + recall)
    return {"precision": precision, "recall": recall, "f": f1}


def _sizes(groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """The size of each item's group, and the group's number: int [n], int [n]."""
    _, numbers, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return counts[numbers], numbers


def groupings(vectors: np.ndarray, lowest: float) -> list[tuple[float, np.ndarray]]:
    """Thresholds from 1 down to `lowest`, and the groups at each by average linkage.

    Groups at one threshold are joined further at the next.
    """
    cuts = np.linspace(1, lowest, 29).tolist()
    labels = [np.arange(len(vectors))]
    for cut in cuts:
        labels.append(average_linkage(vectors, cut, together=labels[-1]))
    return list(zip(cuts, labels[1:]))


def groups(pool: Pool) -> dict:
    """The groups of each model's vectors; a row of the table each."""
    truth = pool.cluster
    alone = np.arange(len(pool.texts))
    half = (np.random.default_rng(0).random(len(alone)) < 0.5)[truth]  # [questions]
    figures = {"every question alone": {**b_cubed(alone, truth, ~half), "largest": 1}}
    for name in pool.models:
        vectors = np.array(pool.index(name)[0].vectors)
        ways = {"average linkage": timed(groupings, vectors, LOWEST)}
        first, second, cosines, least = strongest_pairs(vectors, LOWEST)
        edges = np.stack([first, second], axis=1)
        cuts = np.linspace(1, least, 101).tolist()
        components = [
            (c, connected_groups(len(truth), edges[cosines > c])) for c in cuts
        ]
        for way, (cuts, seconds) in (
            ways | {"connected components": (components, None)}
        ).items():
            cut, labels = max(cuts, key=lambda pair: b_cubed(pair[1], truth, half)["f"])
            scores = b_cubed(labels, truth, ~half)
            largest = int(np.bincount(labels).max())
            row = {"threshold": cut, **scores, "largest": largest, "seconds": seconds}
            figures[f"{name}, {way}"] = row
    return figures


# ---- The page ----


def page(results: dict) -> str:
    """The tables of the parts that were measured."""
    text = (
        "# Search, measured\n\nMade by `python benchmarks/search.py`. Pool: "
        f"{results['pool']['questions']:,} distinct real questions; {results['pool']['queries']:,} "
        "queries: question1 of the test duplicates.\n"
    )
    found = sorted(
        results.get("retrieval", {}).items(), key=lambda item: -item[1]["mrr"]
    )
    rows = []
    for name, figures in found:
        label = LABELS.get(name, f"`{name}`".replace(" and words`", "` and words"))
        cells = [f"{figures[field]:.3f}" for field in FIGURES]
        cells += [f"{figures[field]:,.0f}" for field in ("prepare_s", "queries_per_s")]
        rows.append([label, *cells])
    if found:
        text += (
            "\nMRR looks at 100 answers; recall@k is the share of a question's known duplicates among the "
            "first k. Labels are incomplete: a true duplicate that nobody labelled counts as a mistake. "
            f"Unseen: the {found[0][1]['unseen_queries']:,} queries no question of whose cluster "
            f"stands in a training row.\n\n{markdown_table(HEADS, rows)}"
        )
    if "speed" in results:
        cells = ", ".join(f"{name} {value}" for name, value in results["speed"].items())
        text += f"\nSpeed: {cells}.\n"
    if "groups" in results:
        fields = ("threshold", "precision", "recall", "f", "largest")
        rows = [
            [name, *(figures.get(field, "") for field in fields)]
            for name, figures in results["groups"].items()
        ]
        heads = ["groups", "threshold", "precision", "recall", "F1", "largest"]
        text += f"\n{markdown_table(heads, rows)}"
    return text


def rounded(value: Any) -> Any:
    """Numbers in four significant digits, all the way down."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


PARTS = {part.__name__: part for part in (models, words, bm25, tfidf, speed, groups)}


def main() -> None:
    """Runs the parts asked for, merges their numbers into the file, and prints them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--questions", required=True, help="labelled pairs, any format")
    add("--splits", required=True, help='JSON: {"rows": {"test": [start, stop]}}')
    add("--rows", default="test", help="the split whose duplicates are the queries")
    add("--model", action="append", default=[], metavar="NAME=MODEL")
    add("--parts", type=lambda text: text.split(","), default=[*PARTS][:-1])
    add("--results", type=Path, default=FOLDER / "search", metavar="PREFIX")
    flags = parser.parse_args()
    pool = Pool(flags)
    file = flags.results.with_suffix(".json")
    for part in flags.parts:
        try:
            figures = rounded(PARTS[part](pool))
        except ImportError as error:
            print(f"{part}: left out: {error}", flush=True)
            continue
        print(part, json.dumps(figures, indent=1), flush=True)
        results = read_figures(file)
        key = part if part in ("speed", "groups") else "retrieval"
        results[key] = {**results.get(key, {}), **figures}
        results["pool"] = {"questions": len(pool.texts), "queries": len(pool.queries)}
        write_figures(file, results, page(results))


if __name__ == "__main__":
    main()
