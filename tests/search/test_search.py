"""QuestionIndex: brute force is the reference; edge cases, damage and other models first."""

import threading

import numpy as np
import pytest
from small_models import ODD, make_detector, random_questions

from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.index import QuestionIndex
from siamese.storage.store import find_current


@pytest.fixture(scope="module")
def detector():
    return make_detector()


# ---- Edge cases of the index ----


def test_empty_index_finds_nothing(detector, tmp_path):
    index = QuestionIndex.build(detector, [])
    assert index.search("how far") == []
    assert index.search(["how", "far"], k=3) == [[], []]
    index.save(tmp_path / "i")
    loaded = QuestionIndex.load(tmp_path / "i", detector)
    assert len(loaded) == 0 and loaded.search("how far") == []
    loaded.add(["how far"])
    assert loaded.search("how far")[0].similarity == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("k", [0, -1, True, 2.5, None])
def test_other_k_are_refused(detector, k):
    with pytest.raises(ArgumentError, match="k must be"):
        QuestionIndex.build(detector, ["how far"]).search("how", k=k)


@pytest.mark.parametrize("nothing", ["", "   ", "\n\t"])
def test_questions_without_words(detector, nothing):
    index = QuestionIndex.build(detector, ["how far"])
    assert index.search(nothing) == []
    assert [len(hits) for hits in index.search(["how", nothing])] == [1, 0]
    with pytest.raises(DataError, match="Question 1 has no words"):
        index.add(["how old", nothing])
    assert len(index) == 1


@pytest.mark.parametrize("odd", [text for text in ODD.values() if text.strip()])
def test_odd_questions_are_kept_and_found_as_they_are(detector, tmp_path, odd):
    index = QuestionIndex.build(detector, ["what is rice", odd, "how old are you ?"])
    index.save(tmp_path / "i")
    hit = QuestionIndex.load(tmp_path / "i", detector).search(odd, k=1)[0]
    assert hit.similarity == pytest.approx(1, abs=1e-5)
    found = [found.question for found in index.search(odd, k=50)]
    assert odd in found and len(found) == 3


# ---- Against the detector and brute force ----


def test_hits_have_the_detectors_similarity_and_probability():
    detector = make_detector(threshold=0.5)
    detector.calibration = lambda cosine: (np.asarray(cosine) + 1) / 2
    questions = random_questions(200)
    index = QuestionIndex.build(detector, questions)
    asked = random_questions(5, seed=9)
    for question, hits in zip(asked, index.search(asked, k=200)):
        assert sorted(hit.id for hit in hits) == list(range(200))
        wanted = detector.similarity([question] * 200, [hit.question for hit in hits])
        np.testing.assert_allclose([hit.similarity for hit in hits], wanted, atol=1e-5)
        assert (np.diff([hit.similarity for hit in hits]) <= 0).all()
        for hit in hits:
            assert hit.probability == pytest.approx((hit.similarity + 1) / 2)
            assert hit.is_duplicate == (hit.similarity > 0.5)


def test_ids_must_differ_and_be_plain(detector):
    index = QuestionIndex.build(detector, ["how", "far"], ids=["a", 7])
    assert index.add(["old", "age"]) == [0, 1]
    for ids in (["a"], [7], [1]):
        with pytest.raises(DataError, match="taken"):
            index.add(["rice"], ids=ids)
    with pytest.raises(DataError, match="An id must be"):
        index.add(["rice"], ids=[1.5])
    with pytest.raises(ArgumentError, match="2 ids for 1"):
        index.add(["rice"], ids=[5, 6])
    with pytest.raises(ArgumentError, match="id 57"):
        index.remove([1, 57])
    assert len(index) == 4 and index.add("rice") == [2]


@pytest.mark.parametrize("approximate", [False, True])
def test_searches_while_others_add_and_remove(detector, approximate):
    """Every answer must be that of some whole state: rows, ids and texts go together."""
    if approximate:
        pytest.importorskip("usearch")
    questions = random_questions(400)
    index = QuestionIndex.build(detector, questions[:100], columns=[{"n": i} for i in range(100)],
                                approximate=approximate)  # fmt: skip
    faults = []

    def change():
        for i in range(100, 400):
            index.add(questions[i], columns=[{"n": i}])
            if i % 3 == 0:
                index.remove([i - 100])

    def look():
        while writer.is_alive():
            for hit in index.search("how far is rice", k=20):
                if hit.columns["n"] != hit.id or questions[hit.id] != hit.question:
                    faults.append(hit)

    writer = threading.Thread(target=change)
    threads = [writer, *(threading.Thread(target=look) for _ in range(3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and len(index) == 300 and index.has_graph == approximate
    fresh = QuestionIndex.build(detector, [entry["question"] for entry in index.entries])
    found, wanted = index.search("how far", k=9), fresh.search("how far", k=9)
    assert [h.similarity for h in found] == pytest.approx([h.similarity for h in wanted], abs=1e-5)


# ---- Files ----


def test_columns_ids_and_storage_survive(detector, tmp_path):
    for storage in ("float32", "float16", "int8"):
        index = QuestionIndex.build(
            detector,
            ["how far", "how old"],
            ids=["x", 2],
            columns=[{"who": "ä", "n": 1}, {"n": None}],
            storage=storage,
        )
        index.save(tmp_path / "i")  # replaces the one before
        loaded = QuestionIndex.load(tmp_path / "i", detector)
        assert loaded.vectors.storage == storage
        hit = loaded.search("how far", k=1)[0]
        assert (hit.id, hit.columns) == ("x", {"who": "ä", "n": 1})


def test_the_model_is_found_again_after_both_moved(detector, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    detector.save(old / "model")
    QuestionIndex.build(detector, ["how far"]).save(old / "i", model=old / "model")
    old.rename(tmp_path / "new")
    assert QuestionIndex.load(tmp_path / "new" / "i").search("how far")[0].id == 0
    (tmp_path / "new" / "model").rename(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="--model"):
        QuestionIndex.load(tmp_path / "new" / "i")
    assert len(QuestionIndex.load(tmp_path / "new" / "i", tmp_path / "elsewhere")) == 1


@pytest.mark.parametrize(
    "name", ["vectors.npy", "questions.jsonl", "keys.npy", "index.json", "manifest.json"]
)
@pytest.mark.parametrize("how", ["flip", "cut", "remove"])
def test_damage_is_noticed(detector, tmp_path, name, how):
    path = QuestionIndex.build(detector, ["how far", "how old"]).save(tmp_path / "i")
    (file,) = find_current(path, "index").glob(f"*{name}")
    content = bytearray(file.read_bytes())
    if how == "remove":
        file.unlink()
    else:
        content[len(content) // 2] ^= 1
        file.write_bytes(content if how == "flip" else content[:-1])
    with pytest.raises(CheckpointError):
        QuestionIndex.load(path, detector)


def test_what_is_no_index_is_neither_read_nor_replaced(detector, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(CheckpointError, match="something other"):
        QuestionIndex.build(detector, ["how"]).save(tmp_path)
    with pytest.raises(CheckpointError, match="holds no index"):
        QuestionIndex.load(tmp_path, detector)
    detector.save(tmp_path / "model")
    with pytest.raises(CheckpointError):
        QuestionIndex.load(tmp_path / "model", detector)
    assert (tmp_path / "mine.txt").read_text() == "keep"
