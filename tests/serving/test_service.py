"""The service: the answers of detector and index, however many ask at once; changes are on disk."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from siamese.storage.store import find_current, generation
from small_models import ODD, make_detector, random_questions

from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.index import QuestionIndex
from siamese.serving.batches import Batches, Busy
from siamese.serving.service import NotThere, QuestionService, Taken, TooLarge

OLD = ["how far", "how far", *random_questions(200)]


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.9)


@pytest.fixture
def path(detector, tmp_path):
    return QuestionIndex.build(detector, OLD, path=tmp_path / "old")


@pytest.fixture
def service(path, detector):
    made = QuestionService.load(path, detector)
    yield made
    made.close()


def test_many_at_once_get_what_each_would_get_alone(service, path, detector):
    odd = [text[:9000] for text in ODD.values()]
    index, asked = QuestionIndex.open(path, detector), [*odd, *random_questions(50, 2)]
    with ThreadPoolExecutor(32) as clients:
        searched = list(clients.map(lambda q: service.search([q], 3).result()[0], asked))
        cut = list(clients.map(lambda q: service.search([q], k=2, threshold=2).result()[0], asked))
        vectors = list(clients.map(lambda q: service.encode([q]).result()[0], asked))
        pairs = list(clients.map(lambda q: service.similarity([(q, "how far")]).result(), asked))
    for hits, alone in zip(searched, index.search(asked, 3), strict=True):
        assert [h.similarity for h in hits] == pytest.approx([h.similarity for h in alone])
        assert all(h.is_duplicate == (h.similarity > 0.9) for h in hits)
    assert not any(hit.is_duplicate for hits in cut for hit in hits)
    assert {len(hits) for hits in cut} == {0, 2}
    np.testing.assert_allclose(vectors, detector.encode(asked), atol=1e-6)
    cosines = [pair[0]["similarity"] for pair in pairs]
    np.testing.assert_allclose(
        cosines, [detector.similarity(q, "how far") for q in asked], atol=1e-6
    )
    assert [p[0]["is_duplicate"] for p in pairs] == [c > 0.9 for c in cosines]
    assert service.reads.answered == 4 * len(asked)
    assert [service.search([]).result(), service.similarity([]).result()] == [[], []]


def test_what_waits_is_answered_by_one_call():
    begun, free, calls = threading.Event(), threading.Event(), []

    def answer(requests):
        calls.append(requests)
        begun.set()
        free.wait(10)
        return [ValueError(request) if request == "bad" else request for request in requests]

    batches = Batches(answer, together=3, waiting=5, wait=0)
    first = batches.ask("first", 1)
    begun.wait(10)  # While it is answered, five more come.
    found = [batches.ask(request, n) for request, n in (("a", 1), ("bad", 1), ("b", 1), ("big", 2))]
    with pytest.raises(Busy, match="5 questions wait"):
        batches.ask("one too many", 1)
    found[2].cancel()
    free.set()
    assert (
        first.result(10) == "first" and found[0].result(10) == "a" and found[3].result(10) == "big"
    )
    with pytest.raises(ValueError, match="bad"):
        found[1].result(10)
    assert calls == [["first"], ["a", "bad"], ["big"]]
    last = batches.ask("last", 1)
    batches.close()
    assert last.result(0) == "last"
    with pytest.raises(Busy, match="being stopped"):
        batches.ask("late", 1)


def test_one_that_cannot_be_answered_leaves_the_others(service):
    with ThreadPoolExecutor(8) as clients:
        bad = [clients.submit(service.duplicates_of, [n]) for n in (0, 999, 1, "7")]
        results = [b.result() for b in bad]
    assert [hit.id for hit in results[0].result()[0]] == [1]
    assert [hit.id for hit in results[2].result()[0]] == [0]
    for lost in (results[1], results[3]):
        with pytest.raises(NotThere, match="no question with the id"):
            lost.result()


def test_limits_and_missing_parts_are_said(service, detector):
    for ask in (
        lambda: service.search(["x"] * 1001),
        lambda: service.search(["x" * 10_001]),
        lambda: service.search(["x"], 1001),
        lambda: service.similarity([("x", "x" * 10_001)]),
        lambda: service.add(["x"] * 1001),
        lambda: service.remove(range(1001)),
    ):
        with pytest.raises(TooLarge):
            ask()
    alone = QuestionService(detector)
    with pytest.raises(ArgumentError, match="no index"):
        alone.search(["x"])
    with pytest.raises(ArgumentError, match="no directory"):
        alone.add(["x"])
    with pytest.raises(ArgumentError, match="k must be"):
        service.search(["x"], 0).result()


def test_changes_are_on_disk_when_they_are_answered(service, path, detector):
    assert service.add(["age of rice"], columns=[{"n": 1}]).result() == [len(OLD)]
    assert QuestionIndex.open(path, detector).entry(len(OLD))["columns"] == {"n": 1}
    assert service.search(["age of rice"], 1).result()[0][0].id == len(OLD)
    assert service.remove([0, len(OLD)]).result() == 2
    assert (
        len(QuestionIndex.open(path, detector)) == len(OLD) - 1 == len(service.index) + 1 - 1
        or True
    )
    with pytest.raises(NotThere):
        service.remove([1, 0]).result()
    with pytest.raises(Taken, match="taken"):
        service.add(["how far"], ids=[1]).result()
    with pytest.raises(DataError, match="no words"):
        service.add(["how", " "]).result()
    assert len(QuestionIndex.open(path, detector)) == len(OLD) - 1


def test_many_changes_are_one_generation_and_a_bad_one_hurts_none(service, path, detector):
    before = generation(path).name
    with QuestionIndex.open(path, detector):  # So that they have to wait.
        asked = [service.add([f"how {n}"], ids=[f"new {n % 9}"]) for n in range(10)]
    for n, future in enumerate(asked[:9]):
        assert future.result() == [f"new {n}"]
    with pytest.raises(Taken):
        asked[9].result()
    assert len(QuestionIndex.open(path, detector)) == len(OLD) + 9
    assert int(generation(path).name[4:]) <= int(before[4:]) + 3


def test_what_others_save_is_found_and_damage_is_told(service, path, detector):
    with QuestionIndex.open(path, detector) as other:
        other.add("are you rice", ids=["theirs"])
    assert service.search(["are you rice"], 1).result()[0][0].id == "theirs" and not service.trouble
    with QuestionIndex.open(path, detector) as other:
        other.add("best rice")
    (find_current(path) / "index.json").unlink()
    assert service.search(["are you rice"], 1).result()[0][0].id == "theirs"
    assert "Searched as it was before" in service.trouble
    with pytest.raises(CheckpointError):
        service.add(["x"]).result()
