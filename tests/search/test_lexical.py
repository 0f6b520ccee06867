"""Search by words and by both: BM25 against a loop over its formula, fusion against its own in NumPy."""

import math
import re

import numpy as np
import pytest
import Stemmer
from small_models import make_detector, make_mixed_detector, random_questions

from siamese.errors import ArgumentError
from siamese.search.index import QuestionIndex
from siamese.search.index.lexical import best_rows, folded

STEMMER = Stemmer.Stemmer("english")


def bm25_by_hand(texts, question):
    """The formula of the docstring, word by word."""

    def stems(text):
        return [STEMMER.stemWord(word) for word in re.findall(r"\w+", folded(text))]

    rows = list(map(stems, texts))
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        score = 0
        for word in stems(question):
            with_word, c = sum(word in other for other in rows), row.count(word)
            idf = math.log(1 + (len(rows) - with_word + 0.5) / (with_word + 0.5))
            score += idf * c * 2.2 / (c + 1.2 * (0.25 + 0.75 * len(row) / mean))
        scores.append(score)
    return np.array(scores)


@pytest.fixture(scope="module")
def detector():
    return make_detector()


@pytest.mark.parametrize("rows", [0, 9, 5_000, 5_063])  # The last two by the maxima of tiles.
@pytest.mark.parametrize("different", [2, 40, 10_000])  # Many equal scores, and few.
def test_best_rows_are_those_of_a_whole_sort(rows, different):
    rng = np.random.default_rng(rows + different)
    scores = (rng.integers(0, different, rows) * (rng.random(rows) < 0.5)).astype(np.float32)
    for k in (1, 10, 60):
        expected = [row for row in np.argsort(-scores, kind="stable") if scores[row] > 0][:k]
        assert best_rows(scores, k).tolist() == expected


def changed_index(detector, folder):
    """An index with removed and added questions, and the same opened again."""
    index = QuestionIndex.build(detector, random_questions(400), path=folder / "i")
    index.remove(range(0, 30, 3))
    index.add(["How FAR is “rice”, rice rice?", *random_questions(15, seed=5)])
    index.add("zanzibar how")
    index.remove([405, 17])
    return index, QuestionIndex.open(folder / "i", detector)


def test_words_alone_are_bm25_of_the_live_questions(detector, tmp_path):
    for index in changed_index(detector, tmp_path):
        entries = list(index.entries)
        for question in ("how far is rice ?", "rice rice cook", "zanzibar way", "HOW"):
            wanted = bm25_by_hand([entry["question"] for entry in entries], question)
            hits = index.search(question, k=500, mode="words")
            assert sorted(hit.id for hit in hits) == sorted(
                entry["id"] for entry, score in zip(entries, wanted) if score > 0
            )
            score_of = {entry["id"]: score for entry, score in zip(entries, wanted)}
            found = [score_of[hit.id] for hit in hits]
            np.testing.assert_allclose(found, -np.sort(-np.array(found)), rtol=1e-5)
            assert [hit.word_rank for hit in hits] == [*range(1, len(hits) + 1)]
        assert index.search("xyzzy plugh", mode="words") == []


@pytest.mark.parametrize("make, weight", [(make_detector, 0.6), (make_mixed_detector, 0.75)])
def test_hybrid_is_the_weighted_sum_of_both_over_the_union(make, weight, tmp_path):
    detector = make()
    index, loaded = changed_index(detector, tmp_path)
    assert index.vector_weight == loaded.vector_weight == weight
    entries = list(index.entries)
    for question in ("how far is rice ?", "best way to cook"):
        cosine = detector.similarity([question] * len(entries), [e["question"] for e in entries])
        words = bm25_by_hand([entry["question"] for entry in entries], question)
        searched = np.vecdot(
            detector.encode([e["question"] for e in entries]), detector.encode(question)
        )
        near = np.argsort(-searched, kind="stable")[:300]
        shared = np.argsort(-words, kind="stable")[:300]
        union = np.union1d(near, shared[words[shared] > 0])
        z = [(v - v[union].mean()) / v[union].std() for v in (cosine, words)]
        wanted = weight * z[0] + (1 - weight) * z[1]
        score_of = {entry["id"]: score for entry, score in zip(entries, wanted)}
        hits = index.search(question, k=50)
        found = [score_of[hit.id] for hit in hits]
        np.testing.assert_allclose(found, -np.sort(-wanted[union])[:50], atol=1e-4)
        np.testing.assert_allclose(
            [hit.similarity for hit in hits],
            detector.similarity([question] * 50, [hit.question for hit in hits]),
            atol=1e-5,
        )
        assert hits == loaded.search(question, k=50)
        by_vector = index.search(question, k=400, mode="vectors")
        rank_of = {hit.id: hit.vector_rank for hit in by_vector}
        assert all(hit.vector_rank in (None, rank_of[hit.id]) for hit in hits)


def test_a_word_is_found_in_its_other_forms(detector):
    index = QuestionIndex.build(
        detector, ["Which cities have parks ?", "Learned to cook", "how far"]
    )
    for question, wanted in (("a CITY with a park", 0), ("who learns cooking", 1)):
        assert index.search(question, mode="words")[0].id == str(wanted)


def test_the_weight_is_saved_and_chooses_between_the_parts(detector, tmp_path):
    index = QuestionIndex.build(detector, random_questions(200), path=tmp_path / "i")
    words = bm25_by_hand(random_questions(200), "how far rice")
    for weight, mode in ((1, "vectors"), (0, "words")):
        index.vector_weight = weight
        loaded = QuestionIndex.open(tmp_path / "i", detector)
        assert loaded.vector_weight == weight
        hits, wanted = (loaded.search("how far rice", 5, mode=m) for m in ("hybrid", mode))
        if mode == "vectors":
            assert [hit.similarity for hit in hits] == [hit.similarity for hit in wanted]
        else:
            found, wanted = ([words[int(hit.id)] for hit in some] for some in (hits, wanted))
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for wrong in (-0.1, 2, "much"):
        with pytest.raises(ArgumentError, match="vector_weight"):
            index.vector_weight = wrong
    with pytest.raises(ArgumentError, match="mode"):
        index.search("how", mode="both")


def test_only_questions_with_a_columns_value(detector):
    columns = [{"by": "me" if n % 2 else "you", "year": n % 5} for n in range(100)]
    index = QuestionIndex.build(detector, random_questions(100), columns=columns)
    index.remove([1])
    index.add("how far away", columns=[{"by": ["she", "me"], "year": 3}])
    for mode in ("hybrid", "vectors"):
        hits = index.search("how far", 200, mode=mode, where={"by": "me", "year": "3"})
        assert sorted(int(hit.id) for hit in hits) == [*range(3, 100, 10), 100]
    assert index.search("how far", where={"by": "nobody"}) == []
    with pytest.raises(ArgumentError, match=r"no column 'who'\. It has by, year"):
        index.search("how far", where={"who": "me"})


def test_hits_of_one_text_name_each_other(detector):
    index = QuestionIndex.build(detector, ["how far ?", "How  far ?", "what is rice", "HOW FAR ?"])
    same = {hit.id: hit.same for hit in index.search("how far ?")}
    assert same == {"0": ("1", "3"), "1": ("0", "3"), "2": (), "3": ("0", "1")}
