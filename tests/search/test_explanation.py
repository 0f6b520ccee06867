"""Explanations: each effect is checked against the similarity without the word."""

import json

import pytest
from small_models import make_detector

from siamese.errors import DataError
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import DuplicateDetector
from siamese.search.explain import explain


@pytest.mark.parametrize("mask_padding", [True, False])
def test_effects_are_what_leaving_a_word_out_changes(mask_padding):
    made = make_detector()
    tower = TowerConfig(made.tower.vocab_size, made.tower.d_model, mask_padding=mask_padding)
    detector = DuplicateDetector(made.weights, made.vocabulary, tower, threshold=0.5)
    one, two = "how do i cook rice ?", "what is the xyzzy way ?"
    found = explain(detector, one, two)
    full = detector.similarity(one, two)
    assert found.similarity == pytest.approx(full, abs=1e-6)
    for words, text in ((found.words1, one), (found.words2, two)):
        tokens = text.split()
        assert [w.word for w in words] == tokens
        for at, word in enumerate(words):
            left = " ".join(tokens[:at] + tokens[at + 1 :])
            pair = (left, two) if text == one else (one, left)
            assert word.effect == pytest.approx(full - detector.similarity(*pair), abs=1e-5)
    assert found.unknown_words == ["xyzzy"]
    assert "Never seen by the model: xyzzy" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["words2"][3]["known"] is False


def test_the_only_word_has_no_effect():
    found = explain(make_detector(), "rice", "rice far")
    assert found.words1[0].effect is None and found.words2[0].effect is not None
    assert "the only word" in str(found)


def test_equal_questions_lose_with_every_word():
    found = explain(make_detector(), "how do i cook rice ?", "how do i cook rice ?")
    assert found.similarity == pytest.approx(1, abs=1e-6)
    assert all(word.effect >= -1e-6 for word in found.words1 + found.words2)


@pytest.mark.parametrize("pair", [("", "rice"), ("rice", " \n")])
def test_questions_without_words_are_refused(pair):
    with pytest.raises(DataError, match="no words"):
        explain(make_detector(), *pair)


def test_the_note_says_whether_unknown_words_look_the_same():
    found = explain(make_detector(), "how xyzzy", "how plugh")
    assert "look the same" in str(found)
    assert "tell such words apart" in str(found._replace(unknown_alike=False))
