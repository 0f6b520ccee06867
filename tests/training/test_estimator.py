"""The estimator of scikit-learn: the detector is the reference; it works inside scikit-learn's tools."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from small_models import letters

import siamese
from siamese.errors import ArgumentError, ShapeError

TOPICS = ["Spanish", "rice", "chess", "Python", "piano", "physics", "yoga", "French"]
PAIRS = [(f"How do I learn {t}?", f"What is the best way to learn {t}?") for t in TOPICS]
PAIRS += [(f"How do I learn {t}?", f"Why does {o} cost so much?") for t, o in pairwise(TOPICS)]
LABELS = [1] * len(TOPICS) + [0] * (len(TOPICS) - 1)


def test_it_answers_as_the_detector_with_the_same_fit():
    pairs = siamese.QuestionPairs(*map(list, zip(*PAIRS)), LABELS)
    detector = siamese.DuplicateDetector.pretrained().fitted(pairs)
    for table in (PAIRS, np.array(PAIRS), np.array(PAIRS, dtype=object)):
        classifier = siamese.PairClassifier().fit(table, LABELS)
        assert classifier.detector_.threshold == pytest.approx(detector.threshold, abs=1e-6)
        assert classifier.predict(table).tolist() == LABELS
        expected = detector.probability(pairs.question1, pairs.question2)
        probabilities = classifier.predict_proba(table)
        np.testing.assert_allclose(probabilities[:, 1], expected, atol=1e-6)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert classifier.fit(PAIRS, np.array(LABELS, bool)).predict(PAIRS[:1]).tolist() == [True]


def test_it_works_in_scikit_learns_tools(tmp_path):
    classifier = siamese.PairClassifier(letters)
    assert classifier.get_params() == {"model": letters} == clone(classifier).get_params()
    assert classifier.set_params(model="use").model == "use"
    detector = siamese.DuplicateDetector.pretrained()
    grid = {"pairclassifier__model": [letters, detector.save(tmp_path / "model"), detector]}
    pipeline = make_pipeline(FunctionTransformer(), classifier)
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(PAIRS, LABELS)
    assert search.best_score_ > 0.9 and len(search.cv_results_["params"]) == 3
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(PAIRS).tolist() == LABELS


def test_other_pairs_and_labels_are_refused():
    classifier = siamese.PairClassifier(letters)
    with pytest.raises(ArgumentError):
        classifier.fit([("a", "b", "c")] * 2, [0, 1])
    with pytest.raises(ShapeError):
        classifier.fit(PAIRS, LABELS[1:])
    with pytest.raises(NotFittedError):
        classifier.predict(PAIRS)
