"""Any encoder: the vectors are its own, an index names it and refuses another."""

import numpy as np
import pytest
from small_models import SENTENCES, make_detector

from siamese import DuplicateDetector, QuestionIndex, QuestionPairs
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.explain import explain

TEXTS = [*SENTENCES, "how far is it", "what is the way"]


def letters(texts):
    """Counts of letters, [n, 26], as an encoder's vectors."""
    return np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts])


class Letters:
    def encode(self, texts):
        return letters(texts) * 2.0


def made(encoder=letters, name="letters", **options):
    return DuplicateDetector.from_encoder(encoder, name, **({"threshold": 0.9} | options))


def test_vectors_are_the_encoders_own_with_length_1():
    expected = letters(TEXTS) / np.linalg.norm(letters(TEXTS), axis=1, keepdims=True)
    for detector in (made(), made(Letters())):
        np.testing.assert_allclose(detector.encode(TEXTS), expected, atol=1e-6)
        assert detector.similarity(TEXTS[0], TEXTS[1]) == pytest.approx(
            expected[0] @ expected[1], abs=1e-6
        )
        np.testing.assert_array_equal(detector.encode(["", "how far"])[0], np.zeros(26))
        assert detector.similarity(" ", "how far") == 0 and detector.unknown_words("xyzzy") == []
        assert detector.predict("how far", "far how") and detector.encode([]).shape == (0, 26)


def test_threshold_and_calibration_are_fitted_on_labels():
    first = TEXTS * 2
    second = [*TEXTS, *TEXTS[1:], TEXTS[0]]
    labels = [1] * len(TEXTS) + [0] * len(TEXTS)
    detector = made(threshold=None, pairs=QuestionPairs(first, second, labels))
    scores = detector.similarity(first, second)
    assert (scores[: len(TEXTS)] > detector.threshold).all()
    assert detector.calibrated(detector.threshold) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(DataError, match="do not have higher cosines"):
        detector.fitted(QuestionPairs(first, second, 1 - np.array(labels)))
    for options in ({"threshold": None}, {"pairs": QuestionPairs(first, second, labels)}):
        with pytest.raises(ArgumentError, match="or a threshold"):
            made(**options)


@pytest.mark.parametrize(
    "encoder",
    [
        lambda texts: letters(texts)[:1],
        lambda texts: letters(texts)[0],
        lambda texts: letters(texts) / 0.0,
        lambda texts: list(texts),
        7,
    ],
)
@pytest.mark.filterwarnings("ignore:divide", "ignore:invalid")
def test_what_is_no_encoder_is_refused(encoder):
    with pytest.raises(ArgumentError, match="encoder"):
        made(encoder).encode(["a b", "c"])


def test_an_index_names_its_encoder_and_refuses_another(tmp_path):
    index = QuestionIndex.build(made(), TEXTS)
    path = index.save(tmp_path / "index")
    hits = index.search("how far is that")
    for given in (letters, made(threshold=0.5)):
        loaded = QuestionIndex.load(path, given)
        assert [hit.id for hit in loaded.search("how far is that")] == [hit.id for hit in hits]
    assert QuestionIndex.load(path, letters).detector.threshold == 0.9
    for given, why in (
        (None, "'letters', which is not saved with it. Pass that encoder"),
        (tmp_path, "which is not saved with it"),
        (make_detector(), "was made with the encoder 'letters'"),
        (made(name="other"), "not with 'other'"),
        (lambda texts: letters([text[::2] for text in texts]), "another encoder called 'letters'"),
        (lambda texts: letters(texts)[:, :9], "another encoder called 'letters'"),
    ):
        with pytest.raises(CheckpointError, match=why):
            QuestionIndex.load(path, given)
    with QuestionIndex.open_for_change(path, letters) as shared:
        shared.add("one more")
    assert len(QuestionIndex.load(path, letters)) == len(TEXTS) + 1
    QuestionIndex.build(make_detector(), TEXTS).save(tmp_path / "words")
    with pytest.raises(CheckpointError, match="was made by a saved model"):
        QuestionIndex.load(tmp_path / "words", made())


def test_what_needs_the_words_or_the_weights_says_so(tmp_path):
    with pytest.raises(ArgumentError, match="nothing is explained"):
        explain(made(), "how far", "how old")
    with pytest.raises(CheckpointError, match="not saved with siamese"):
        made().save(tmp_path / "model")
