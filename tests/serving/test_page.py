"""What the page shows, without Gradio: the detector's own answers, control characters escaped."""

import pytest
from siamese.storage.store import find_current
from small_models import letters, make_detector, random_questions

from siamese.search.detector import DuplicateDetector
from siamese.search.index import QuestionIndex
from siamese.serving import page
from siamese.serving.service import QuestionService


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.5)


def hits_table(index, *arguments, **options):
    return page.hits_table(QuestionService(index.detector, index), *arguments, **options)


@pytest.mark.parametrize("threshold", [None, -0.999, 0.999])
def test_the_answer_is_the_detectors(detector, threshold):
    one, two = "how far ?", "how old are you ?"
    answer, figures, *words = page.comparison(detector, one, two, threshold)
    yes = detector.predict(one, two, threshold)
    assert answer == ("Duplicate" if yes else "Not a duplicate")
    shown = 0.5 if threshold is None else threshold
    assert figures == f"Cosine {detector.similarity(one, two):.3f}, threshold {shown:.3f}."
    assert [[text.split()[0] for text, _ in side] for side in words] == [one.split(), two.split()]
    assert max(abs(effect) for side in words for _, effect in side) == 1


def test_the_probability_is_shown_where_the_model_has_one():
    detector = make_detector()
    detector.calibration = lambda cosine: cosine * 0 + 0.25
    assert "probability 25%" in page.comparison(detector, "how far", "how old")[1]
    assert "(25%)" in hits_table(QuestionIndex.build(detector, ["how far"]), "how")[0][0][1]


def test_a_default_threshold_is_named_as_one():
    detector = DuplicateDetector.from_encoder(letters, "letters")
    assert "No labels stand behind" in page.comparison(detector, "how far", "how old")[1]
    assert "No labels" not in page.comparison(detector, "how far", "how old", 0.5)[1]


def test_questions_without_words_get_a_sentence(detector):
    for pair, words in (
        (("", ""), "Write two questions"),
        ((None, None), "Write two questions"),
        (("", "how"), "first question has no words"),
        (("how", " \n"), "second question has no words"),
    ):
        answer, *rest = page.comparison(detector, *pair)
        assert words in answer and rest == ["", [], []]


def test_long_and_odd_questions_are_shown_harmlessly(detector):
    long, odd = "how far " * 5000, "元気 \x00\x1b[31m \ud800 👩‍👩‍👧 \u202e"
    answer, figures, first, second = page.comparison(detector, long, odd)
    assert "first 40 words" in figures and len(first) == 40
    index = QuestionIndex.build(detector, ["how far", odd], ids=["\x07", 2])
    rows, note = hits_table(index, odd)
    shown = "".join([answer, figures, note, *(text for text, _ in second), *rows[0], *rows[1]])
    assert shown.encode() and all(c.isprintable() or c in "\n\u200d" for c in shown)
    assert r"\x1b[31m" in rows[0][2] and "👩‍👩‍👧" in rows[0][2]
    assert page.comparison(detector, "rice", "rice")[2] == [("rice (the only word)", None)]


def test_hits_are_those_of_the_index(detector):
    index = QuestionIndex.build(detector, random_questions(50))
    rows, note = hits_table(index, "how far xyzzy ?", 5, threshold=0.9)
    hits = index.search("how far xyzzy ?", 5, threshold=0.9)
    marks = ["* " if hit.is_duplicate else "" for hit in hits]
    shown = [[f"{m}{h.similarity:.3f}", h.question, str(h.id)] for m, h in zip(marks, hits)]
    assert [row[1:] for row in rows] == shown
    ranks = [(hit.vector_rank, hit.word_rank) for hit in hits]
    assert [row[0] for row in rows] == [
        f"{rank} ({vectors}, {words or '–'})"
        for rank, (vectors, words) in enumerate(ranks, start=1)
    ]
    assert "Never seen by the model: xyzzy" in note
    assert hits_table(index, "") == hits_table(index, None) == ([], "")
    assert hits_table(QuestionIndex.build(detector, []), "how") == ([], "The index is empty.")


def test_a_running_page_finds_what_another_process_has_added(detector, tmp_path):
    path = QuestionIndex.build(detector, ["how far"], path=tmp_path / "i")
    shown = QuestionIndex.open(path, detector)
    with QuestionIndex.open(path, detector) as index:
        index.add("how old")
    assert hits_table(shown, "how old", 1)[0][0][2:] == ["how old", "1"]
    with QuestionIndex.open(path, detector) as index:
        index.remove(1)
    (find_current(path) / "index.json").unlink()
    rows, note = hits_table(shown, "how old", 1)
    assert rows[0][2] == "how old" and "Searched as it was before" in note
