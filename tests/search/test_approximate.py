"""The graph: brute force is the reference; adding while others search."""

import numpy as np
import pytest
from small_models import make_detector, random_questions

pytest.importorskip("usearch")

from siamese.search.approximate import Graph
from siamese.search.index import QuestionIndex
from siamese.search.nearest import StoredVectors, top_k
from siamese.storage.store import find_current


def unit_vectors(count, d=16, seed=0):
    found = np.random.default_rng(seed).standard_normal((count, d)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_what_the_graph_finds_has_the_stored_vectors_products_best_first():
    kept, queries = StoredVectors.of(unit_vectors(2000), "int8"), unit_vectors(20, seed=1)
    graph = Graph(16)
    graph.add(kept)
    rows, products = graph.search(kept, queries, 10)
    exact, _ = top_k(kept, queries, 10)
    assert np.mean([len(set(a) & set(b)) for a, b in zip(rows, exact)]) > 9.5
    for query, row, found in zip(queries, rows, products):
        np.testing.assert_allclose(found, kept.rows(row) @ query, atol=1e-6)
        assert (np.diff(found) <= 0).all() and len(set(row)) == 10


def test_k_beyond_the_rows_nothing_asked_and_a_graph_that_has_grown_since():
    every = StoredVectors.of(unit_vectors(300))
    first = every.take(np.arange(20))
    graph = Graph(16)
    graph.add(every)
    queries = unit_vectors(10, seed=2)
    np.testing.assert_array_equal(graph.search(first, queries, 7)[0], top_k(first, queries, 7)[0])
    assert [sorted(row) for row in graph.search(first, queries, 50)[0]] == [[*range(20)]] * 10
    assert graph.search(every, queries[:0], 3)[0].shape == (0, 3)


def test_an_index_with_a_graph_finds_what_brute_force_finds(tmp_path):
    detector = make_detector()
    questions = list(dict.fromkeys(random_questions(3000)))
    index = QuestionIndex.build(detector, questions, approximate=True)
    asked = random_questions(50, seed=4)
    exact = index.search(asked, k=10, approximate=False)
    near = index.search(asked, k=10)
    shared = sum(len({h.id for h in a} & {h.id for h in b}) for a, b in zip(exact, near))
    assert shared / 500 >= 0.95
    index.save(tmp_path / "i")
    loaded = QuestionIndex.load(tmp_path / "i", detector)
    assert loaded.has_graph
    assert [h.id for h in loaded.search(asked[0])] == [h.id for h in near[0]]
    loaded.add("rice rice rice rice rice rice rice rice rice rice ?")
    hit = loaded.search("rice rice rice rice rice rice rice rice rice rice ?", k=1)[0]
    assert hit.similarity == pytest.approx(1, abs=1e-5)


def test_a_saved_graph_stays_as_it_is_until_a_tenth_is_new(tmp_path):
    detector, questions = make_detector(), list(dict.fromkeys(random_questions(1500)))
    path = QuestionIndex.build(detector, questions, approximate=True).save(tmp_path / "i")

    def graph_file():
        (file,) = find_current(path, "index").glob("*graph.usearch")
        return file.stat().st_ino

    first, new = graph_file(), "rice rice rice rice rice rice rice rice rice rice ?"
    with QuestionIndex.open_for_change(path, detector) as index:
        index.add(new, ids=["new"])
        index.remove([hit.id for hit in index.search("how far", k=5)])
    index = QuestionIndex.load(path, detector)
    assert graph_file() == first and index.has_graph and len(index) == len(questions) - 4
    for asked in (new, "how far"):
        exact = index.search(asked, k=5, approximate=False)
        assert [hit.id for hit in index.search(asked, k=5)][:2] == [hit.id for hit in exact][:2]
    assert index.search(new, k=1)[0].id == "new"
    with QuestionIndex.open_for_change(path, detector) as index:
        index.add(random_questions(400, seed=7))
    index = QuestionIndex.load(path, detector)
    assert graph_file() != first and index.has_graph and len(index) == len(questions) + 396
    assert index.search(new, k=1)[0].id == "new"
    with QuestionIndex.open_for_change(path, detector) as index:
        index.remove([record["id"] for record in index.records][:700])
        assert index.has_graph and index.search(new, k=1)[0].id == "new"
    assert len(QuestionIndex.load(path, detector).search("how far", k=2000)) == len(index)
