"""The graph: brute force is the reference."""

import numpy as np
import pytest
from small_models import make_detector, random_questions

pytest.importorskip("usearch")

from siamese.search.approximate import Graph
from siamese.search.index import QuestionIndex
from siamese.search.nearest import StoredVectors, top_k
from siamese.storage.store import find_current

NEW = "rice rice rice rice rice rice rice rice rice rice ?"


def unit_vectors(count, d=16, seed=0):
    found = np.random.default_rng(seed).standard_normal((count, d)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_what_the_graph_finds_has_the_stored_vectors_products_best_first():
    kept, queries = StoredVectors.of(unit_vectors(2000), "int8"), unit_vectors(20, seed=1)
    half = Graph.of(kept.take(slice(900)))
    for graph in (Graph.of(kept), half.grown(kept)):
        rows, products = graph.search(kept, queries, 10)
        exact, _ = top_k(kept, queries, 10)
        assert np.mean([len(set(a) & set(b)) for a, b in zip(rows, exact)]) > 9.5
        for query, row, found in zip(queries, rows, products):
            np.testing.assert_allclose(found, kept.rows(row) @ query, atol=1e-6)
            assert (np.diff(found) <= 0).all() and len(set(row)) == 10
    first = kept.take(slice(20))
    rows, _ = Graph.of(first).search(first, queries[:3], 50, skip=np.arange(5, 20))
    assert [sorted(row) for row in rows] == [[*range(5)]] * 3
    assert half.search(first, queries[:0], 3)[0].shape == (0, 3)


def test_a_saved_graph_stays_as_it_is_until_a_tenth_is_new(tmp_path):
    detector, questions = make_detector(), list(dict.fromkeys(random_questions(1500)))
    path = QuestionIndex.build(detector, questions, approximate=True).save(tmp_path / "i")

    def graph_file():
        (file,) = find_current(path, "index").glob("*graph.usearch")
        return file.stat().st_ino

    def check(size):
        index = QuestionIndex.load(path, detector)
        assert index.has_graph and len(index) == size == len(index.search("how far", k=3000))
        asked = [NEW, *random_questions(30, seed=4)]
        exact, near = (index.search(asked, k=10, approximate=a) for a in (False, None))
        shared = sum(len({h.id for h in a} & {h.id for h in b}) for a, b in zip(exact, near))
        assert shared >= 290 and near[0][0].id == exact[0][0].id

    first = graph_file()
    check(len(questions))
    with QuestionIndex.open_for_change(path, detector) as index:
        index.add(NEW, ids=["new"])
        index.remove([hit.id for hit in index.search("how far", k=5)])
    assert graph_file() == first
    check(len(questions) - 4)
    with QuestionIndex.open_for_change(path, detector) as index:
        index.add(random_questions(400, seed=7))
    assert graph_file() != first
    check(len(questions) + 396)
    with QuestionIndex.open_for_change(path, detector) as index:
        index.remove([entry["id"] for entry in index.entries][:1200])
    check(len(questions) - 804)
