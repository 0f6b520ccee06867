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
    assert index.search("how far") == [] and index.search(["how", "far"], k=3) == [[], []]
    index.save(tmp_path / "i")
    loaded = QuestionIndex.load(tmp_path / "i", detector)
    assert len(loaded) == 0 and loaded.search("how far") == []
    loaded.add(["how far"])
    assert loaded.search("how far")[0].similarity == pytest.approx(1, abs=1e-6)


def test_questions_without_words_and_other_k(detector):
    index = QuestionIndex.build(detector, ["how far"])
    for nothing in ("", "   ", "\n\t"):
        assert index.search(nothing) == []
        assert [len(hits) for hits in index.search(["how", nothing])] == [1, 0]
        with pytest.raises(DataError, match="Question 1 has no words"):
            index.add(["how old", nothing])
    for k in (0, True, 2.5, None):
        with pytest.raises(ArgumentError, match="k must be"):
            index.search("how", k=k)
    assert len(index) == 1


def test_odd_questions_ids_and_columns_survive(detector, tmp_path):
    odd = [text for text in ODD.values() if text.strip()]
    columns = [{"who": "ä", "n": i} for i in range(len(odd))]
    ids = [f"q{i}" if i % 2 else i for i in range(len(odd))]
    index = QuestionIndex.build(detector, odd, ids=ids, columns=columns)
    index.save(tmp_path / "i")
    loaded = QuestionIndex.load(tmp_path / "i", detector)
    for text, hits in zip(odd, loaded.search(odd, k=50)):
        assert hits[0].similarity == pytest.approx(1, abs=1e-5)
        assert {(hit.id, hit.question, hit.columns["n"]) for hit in hits} == {
            *zip(ids, odd, range(9))
        }
        assert text in [hit.question for hit in hits if hit.similarity > hits[0].similarity - 0.02]


def test_ids_must_differ_and_be_plain(detector):
    index = QuestionIndex.build(detector, ["how", "far"], ids=["a", 7])
    assert index.add(["old", "age"]) == [0, 1]
    for ids, error, message in (
        (["a"], DataError, "taken"), ([7], DataError, "taken"), ([1], DataError, "taken"),
        ([1.5], DataError, "An id must be"), ([5, 6], ArgumentError, "2 ids for 1"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            index.add(["rice"], ids=ids)
    with pytest.raises(ArgumentError, match="id 57"):
        index.remove([1, 57])
    assert len(index) == 4 and index.add("rice") == [2]


# ---- Against the detector and brute force ----


def test_hits_have_the_detectors_similarity_and_probability():
    detector = make_detector(threshold=0.5)
    detector.calibration = lambda cosine: (np.asarray(cosine) + 1) / 2
    index = QuestionIndex.build(detector, random_questions(200))
    asked = random_questions(5, seed=9)
    for question, hits in zip(asked, index.search(asked, k=200, mode="vectors")):
        assert sorted(hit.id for hit in hits) == list(range(200))
        cosines = np.array([hit.similarity for hit in hits])
        wanted = detector.similarity([question] * 200, [hit.question for hit in hits])
        np.testing.assert_allclose(cosines, wanted, atol=1e-5)
        assert (np.diff(cosines) <= 0).all()
        np.testing.assert_allclose([hit.probability for hit in hits], (cosines + 1) / 2, atol=1e-6)
        assert [hit.is_duplicate for hit in hits] == (cosines > 0.5).tolist()


def test_searches_while_others_add_and_remove(detector):
    """Every answer must be that of some whole state: rows, ids and texts go together."""
    questions = random_questions(200)
    index = QuestionIndex.build(detector, questions[:50], columns=[{"n": i} for i in range(50)])
    faults = []

    def change():
        for i in range(50, 200):
            index.add(questions[i], columns=[{"n": i}])
            if i % 3 == 0:
                index.remove([i - 50])

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
    assert not faults and len(index) == 150
    fresh = QuestionIndex.build(detector, [entry["question"] for entry in index.entries])
    found, wanted = index.search("how far", k=9), fresh.search("how far", k=9)
    assert [h.similarity for h in found] == pytest.approx([h.similarity for h in wanted], abs=1e-5)


# ---- Files ----


def test_the_model_is_found_again_after_both_moved(detector, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    detector.save(old / "model")
    QuestionIndex.build(detector, ["how far"]).save(old / "i", model=old / "model")
    old.rename(new)
    with QuestionIndex.open_for_change(new / "i") as index:
        index.add("how old")
    assert QuestionIndex.load(new / "i").search("how old")[0].id == 1
    (new / "model").rename(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="--model"):
        QuestionIndex.load(new / "i")
    assert len(QuestionIndex.load(new / "i", tmp_path / "elsewhere")) == 2
    with pytest.raises(CheckpointError, match="made by another model"):
        QuestionIndex.load(new / "i", make_detector(seed=1))


@pytest.mark.parametrize(
    "name", ["vectors.npy", "questions.jsonl", "keys.npy", "index.json", "manifest.json"]
)
def test_damage_is_noticed(detector, tmp_path, name):
    path = QuestionIndex.build(detector, ["how far", "how old"]).save(tmp_path / "i")
    (file,) = find_current(path).glob(f"*{name}")
    content = file.read_bytes()
    at = len(content) // 2
    for damaged in (
        content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
        content[:-1],
        None,
    ):
        file.unlink()  # A new file: the old one may be mapped.
        if damaged is not None:
            file.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            QuestionIndex.load(path, detector)


def test_what_is_no_index_is_neither_read_nor_replaced(detector, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(CheckpointError, match="something other"):
        QuestionIndex.build(detector, ["how"]).save(tmp_path)
    detector.save(tmp_path / "model")
    for path in (tmp_path, tmp_path / "model"):
        with pytest.raises(CheckpointError, match="holds no index"):
            QuestionIndex.load(path, detector)
    assert (tmp_path / "mine.txt").read_text() == "keep"
