"""Word overlap by hand, and the baselines' thresholds."""

import pytest

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.baselines import baselines, word_overlap


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", 0.0),
        ("", "word", 0.0),
        ("same words", "words Same", 1.0),
        ("a a a b", "a b", 1.0),
        ("How old are you?", "What age are you?", 3 / 7),
        ("one", "two", 0.0),
    ],
)
def test_shared_of_all_distinct_words(first, second, expected):
    assert word_overlap([first, second], [second, first]).tolist() == [pytest.approx(expected)] * 2


def test_wrong_questions():
    with pytest.raises(DataError, match="2 questions and question2 holds 1"):
        word_overlap(["a", "b"], ["a"])
    with pytest.raises(ArgumentError, match="5"):
        word_overlap(["a", 5], ["a", "b"])


def test_always_the_commoner_answer_and_overlap():
    overlap = word_overlap(["a b", "a b", "c d", "e f", "g h"], ["a b", "a c", "x y", "e z", "g h"])
    figures = baselines(overlap, [1, 0, 0, 0, 1])
    assert list(figures) == ["always no", "word overlap"]
    constant = figures["always no"]
    assert (constant.accuracy, constant.base_rate) == (pytest.approx(0.6), pytest.approx(0.4))
    assert (constant.roc_auc, constant.recall, constant.f1) == (0.5, 0, 0)
    assert figures["word overlap"].accuracy == 1.0
    yes = baselines(overlap, [1, 1, 1, 0, 1])["always yes"]
    assert yes.accuracy == pytest.approx(0.8) and yes.recall == 1.0
    with pytest.raises(DataError, match="All 5"):
        baselines(overlap, [1] * 5)
