"""One-shot classes: a loop over examples is the reference; edge cases first."""

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.errors import ArgumentError, DataError
from siamese.search.one_shot import OneShotClassifier


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.8)


def test_without_classes_everything_is_none(detector):
    classifier = OneShotClassifier(detector)
    assert classifier.predict("how far") is None
    assert classifier.predict(["how", "far"]) == [None, None]
    assert classifier.predict([]) == []
    assert classifier.scores("how").shape == (0,)
    classifier = OneShotClassifier(detector, threshold=-2).fit(["how far"], ["way"])
    assert classifier.predict(["", "how"]) == [None, "way"]  # without words, whatever the threshold


def test_predictions_equal_a_loop(detector):
    examples, labels = random_questions(30), [i % 7 for i in range(30)]
    classifier = OneShotClassifier(detector).fit(examples, labels)
    assert classifier.classes == tuple(range(7))
    for question in random_questions(40, seed=5):
        similar = [detector.similarity(question, example) for example in examples]
        wanted = [max(s for s, y in zip(similar, labels) if y == c) for c in range(7)]
        np.testing.assert_allclose(classifier.scores(question), wanted, atol=1e-5)
        best = int(np.argmax(wanted))
        assert classifier.predict(question) == (best if wanted[best] > 0.8 else None)
        assert classifier.predict(question, threshold=-1) == best
        assert classifier.predict(question, threshold=1) is None


def test_add_class_equals_fit_with_all(detector):
    one = OneShotClassifier(detector).fit(["how far", "what is rice"], ["way", "food"])
    one.add_class("age", "how old are you")
    one.add_class("food", ["cook rice", "learn to cook"])
    examples = ["how far", "what is rice", "how old are you", "cook rice", "learn to cook"]
    all_at_once = OneShotClassifier(detector).fit(examples, ["way", "food", "age", "food", "food"])
    asked = random_questions(20)
    assert one.classes == all_at_once.classes
    np.testing.assert_allclose(one.scores(asked), all_at_once.scores(asked), atol=1e-6)


def test_bad_examples_are_refused_and_change_nothing(detector):
    classifier = OneShotClassifier(detector).fit(["how far"], ["way"])
    with pytest.raises(DataError, match="Example 1 has no words"):
        classifier.add_class("x", ["how", " "])
    with pytest.raises(ArgumentError, match="at least one"):
        classifier.add_class("x", [])
    with pytest.raises(ArgumentError, match="None"):
        classifier.add_class(None, "how")
    with pytest.raises(ArgumentError, match="as many"):
        classifier.fit(["how", "far"], ["x"])
    assert classifier.classes == ("way",)
