"""One-shot classes: a loop over examples is the reference; edge cases first."""

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.errors import ArgumentError, DataError
from siamese.search.one_shot import OneShotClassifier


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.8)


def test_without_classes_or_words_everything_is_none(detector):
    classifier = OneShotClassifier(detector)
    assert classifier.predict(["how", "far"]) == [None, None]
    assert classifier.predict([]) == [] and classifier.scores("how").shape == (0,)
    classifier = OneShotClassifier(detector, threshold=-2).fit(["how far"], ["way"])
    assert classifier.predict(["", "how"]) == [None, "way"]  # without words, whatever the threshold


def test_predictions_equal_a_loop_and_classes_may_be_added(detector):
    examples, labels = random_questions(30), [i % 7 for i in range(30)]
    classifier = OneShotClassifier(detector).fit(examples[:20], labels[:20])
    for i in range(7):
        classifier.add_class(i, [e for e, label in zip(examples[20:], labels[20:]) if label == i])
    assert classifier.classes == tuple(range(7))
    for question in random_questions(20, seed=5):
        similar = [detector.similarity(question, example) for example in examples]
        wanted = [max(s for s, y in zip(similar, labels) if y == c) for c in range(7)]
        np.testing.assert_allclose(classifier.scores(question), wanted, atol=1e-5)
        best = int(np.argmax(wanted))
        assert classifier.predict(question) == (best if wanted[best] > 0.8 else None)
        assert classifier.predict(question, threshold=-1) == best
        assert classifier.predict(question, threshold=1) is None


def test_bad_examples_are_refused_and_change_nothing(detector):
    classifier = OneShotClassifier(detector).fit(["how far"], ["way"])
    for error, message, change, *arguments in (
        (DataError, "Example 1 has no words", classifier.add_class, "x", ["how", " "]),
        (ArgumentError, "at least one", classifier.add_class, "x", []),
        (ArgumentError, "None", classifier.add_class, None, "how"),
        (ArgumentError, "as many", classifier.fit, ["how", "far"], ["x"]),
    ):
        with pytest.raises(error, match=message):
            change(*arguments)
    assert classifier.classes == ("way",)
