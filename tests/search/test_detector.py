"""The detector: the encoder and a loop are the references; odd questions, company, threads."""

import re

import numpy as np
import pytest
from programs import output_of
from small_models import ODD, make_detector, random_questions
from tqdm import tqdm

from siamese.errors import ArgumentError, DataError
from siamese.nn.encoder import FEW, TowerConfig
from siamese.search.detector import DuplicateDetector
from siamese.search.index import QuestionIndex


@pytest.fixture(scope="module", params=["masked", "as the course's"])
def detector(request):
    made = make_detector(threshold=0.5)
    if request.param == "masked":
        return made
    tower = TowerConfig(made.tower.vocab_size, made.tower.d_model)  # padding counts in the mean
    return DuplicateDetector(made.weights, made.vocabulary, tower, threshold=0.5)


def test_similarity_is_the_product_of_the_encoders_vectors(detector):
    for one, two in zip(random_questions(20), random_questions(20, seed=2)):
        ids = [detector.vocabulary.encode(text.split()) for text in (one, two)]
        length = None
        if not detector.tower.mask_padding:
            length = 1 << (max(map(len, ids)) - 1).bit_length()
        v1, v2 = detector.tower_encoder.encode(ids, length=length).astype(np.float64)
        assert detector.similarity(one, two) == pytest.approx(v1 @ v2, abs=1e-6)
        assert detector.similarity(one, two) == pytest.approx(detector.similarity(two, one))


def test_the_answer_is_the_same_alone_and_in_company(detector):
    first = [*ODD.values(), *random_questions(300)]
    second = random_questions(len(first), seed=2)
    together = detector.similarity(first, second)  # above FEW: by JAX
    assert len(first) > FEW and together.dtype == np.float32
    for i in range(0, len(first), 17):
        assert detector.similarity(first[i], second[i]) == pytest.approx(together[i], abs=1e-5)
    assert detector.encode("how far").shape == (8,)
    many = random_questions(4500)  # tokenized on all cores
    np.testing.assert_allclose(detector.encode(many)[-30:], detector.encode(many[-30:]), atol=1e-5)


def test_predict_follows_the_threshold(detector):
    one, two = random_questions(2)
    cosine = detector.similarity(one, two)
    assert detector.predict(one, two, threshold=cosine - 1e-3) is True
    assert detector.predict(one, two, threshold=cosine + 1e-3) is False
    assert detector.predict(one, one) is True
    answers = detector.predict([one, one], [two, one], threshold=cosine + 1e-3)
    assert answers.tolist() == [False, True]
    assert detector.predict([], []).tolist() == []


def test_odd_questions_and_unknown_words_have_an_answer(detector):
    for text in ODD.values():
        nothing = not text.strip()
        assert detector.similarity(text, text) == pytest.approx(0 if nothing else 1, abs=1e-5)
        assert detector.predict(text, "how far ?") in (True, False)
        assert detector.similarity(text, "how far ?") == 0 or not nothing
    assert detector.unknown_words("how xyzzy is plugh ?") == ["xyzzy", "plugh"]
    assert detector.similarity("how xyzzy ?", "how plugh ?") == pytest.approx(1, abs=1e-6)


def test_what_is_no_question_is_refused(detector):
    with pytest.raises(DataError, match=r"Question 1 \(from 0\) is 5, not text"):
        detector.similarity(["how", 5], ["how", "far"])
    with pytest.raises(DataError, match="is None, not text"):
        detector.encode([None])
    with pytest.raises(ArgumentError, match="2 first and 1 second"):
        detector.similarity(["how", "far"], ["how"])
    with pytest.raises(ArgumentError, match="no calibration"):
        detector.probability("how", "far")


def test_a_saved_model_answers_without_trax_tensorflow_or_jax(tmp_path):
    path = make_detector().save(tmp_path / "model")
    code = (
        "import sys; from siamese import DuplicateDetector;"
        "print(DuplicateDetector.load(sys.argv[1]).predict('how far', 'how far'));"
        "print([m for m in ('trax', 'tensorflow', 'jax', 'pickle5') if m in sys.modules])"
    )
    assert output_of(code, arguments=[path]).split("\n")[:2] == ["True", "[]"]


@pytest.mark.parametrize("model", ["use", "tower"])
@pytest.mark.parametrize("options", [{"batch_size": 7}, {"show_progress": True}, {"processes": 2}])
def test_encode_takes_a_text_a_list_and_tables_in_batches_of_any_size(model, options):
    pandas = pytest.importorskip("pandas")
    detector = DuplicateDetector.pretrained() if model == "use" else make_detector()
    texts = [*random_questions(30), "how far ?", "how far ?"]
    expected = detector.encode(texts)
    assert expected.shape == (32, detector.output_size)
    np.testing.assert_allclose(detector.encode(texts[3], **options), expected[3], atol=1e-5)
    frame = pandas.DataFrame({"id": range(32), "question": texts}, index=range(5, 37))
    for table in (texts, tuple(texts), frame["question"], frame, np.array(texts), {"text": texts}):
        np.testing.assert_allclose(detector.encode(table, **options), expected, atol=1e-5)
    assert detector.encode([], **options).shape == (0, detector.output_size)


def test_tables_without_a_column_of_questions_and_other_batch_sizes_are_refused(detector):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1], "body": ["how far ?"], "score": [2]})
    for call in (
        detector.encode,
        lambda table: detector.similarity(table, "how"),
        lambda table: QuestionIndex.build(detector, table),
        QuestionIndex.build(detector, ["how far ?"]).add,
    ):
        with pytest.raises(DataError, match=r"one column of questions .*: id, body, score\."):
            call(frame)
    for size in (0, 2.5, "many"):
        with pytest.raises(ArgumentError, match="batch_size must be"):
            detector.encode(["how"], batch_size=size)


def test_long_work_shows_a_bar_with_the_time_left(monkeypatch, capsys):
    at_once = {"delay": 0, "mininterval": 0}
    monkeypatch.setattr("tqdm.tqdm", lambda **options: tqdm(**options | at_once))
    detector = make_detector()
    detector.encode(random_questions(20), batch_size=5)
    QuestionIndex.build(detector, random_questions(20))
    assert capsys.readouterr().err == ""
    detector.encode(random_questions(20), batch_size=5, show_progress=True)
    assert re.search(r"encoding: +\d+%.*/20\.0.*<\d\d:\d\d", capsys.readouterr().err)
    QuestionIndex.build(detector, random_questions(20), show_progress=True)
    assert "encoding: 100%" in capsys.readouterr().err


def test_one_question_is_compared_with_many_on_either_side(detector):
    one, many = "how far ?", random_questions(12)
    pairwise = detector.similarity([one] * 12, many)
    for sides in ((one, many), (many, one), (one, tuple(many))):
        np.testing.assert_allclose(detector.similarity(*sides), pairwise, atol=1e-6)
        assert detector.predict(*sides, threshold=0.5).tolist() == (pairwise > 0.5).tolist()
    assert detector.similarity(one, []).shape == (0,)
