"""Explanations: each effect is the similarity without the word; bars are the explanation's numbers."""

import json

import pytest
from small_models import make_detector

from siamese.errors import DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.explain import differences, explain


def test_effects_are_what_leaving_a_word_out_changes():
    detector = make_detector(threshold=0.5, mask_padding=False)
    one, two = "how do i cook rice ?", "what is the xyzzy way ?"
    found = explain(detector, one, two)
    full = detector.similarity(one, two)
    assert found.similarity == pytest.approx(full, abs=1e-6)
    for words, text, other in ((found.words1, one, two), (found.words2, two, one)):
        tokens = text.split()
        assert [w.word for w in words] == tokens
        left = [" ".join(tokens[:at] + tokens[at + 1 :]) for at in range(len(tokens))]
        effects = full - detector.similarity(left, other)
        assert [word.effect for word in words] == pytest.approx(effects, abs=1e-5)
    assert json.loads(json.dumps(found.as_dict()))["words2"][3]["known"] is False
    assert "(never seen by the model)" in str(found)
    assert "the only word" in str(explain(detector, "rice", "rice far"))
    with pytest.raises(DataError, match="question2 has no words"):
        explain(detector, "rice", " \n")


def test_the_encoder_hardly_sees_direction_and_negation():
    """The figures of docs/tasks/duplicates.md."""
    detector = DuplicateDetector.pretrained()
    for one, two, cosine in (
        ("How do I convert CSV to JSON?", "How do I convert JSON to CSV?", 0.993),
        ("Is this mushroom safe to eat?", "Is this mushroom not safe to eat?", 0.994),
    ):
        assert detector.similarity(one, two) == pytest.approx(cosine, abs=1e-3)
        assert differences(one, two)


def test_numbers_are_seen_wherever_they_stand():
    for one, two in (
        ("1920x1080 screen", "1920x1200 screen"),
        ("file 2024_01_05", "file 2024_02_05"),
        ("error 0x80070005", "error 0x80070057"),
        ("two boards", "three boards"),
        ("ipv4 router", "ipv6 router"),
        ("at 12h30", "at 12h45"),
        ("move it from 1.2 to 1.3", "move it from 1.3 to 1.2"),
        ("fly from rome to paris", "fly from paris to rome"),
        ("json from a csv", "csv from json"),
        ("git vs. svn", "svn vs. git"),
        ("csv into json", "json into csv"),
        ("h264 to h265", "h265 to h264"),
        ("Why isnt it safe?", "Why is it safe?"),
        ("it wont start", "it will start"),
        ("it doesn`t work", "it does work"),
    ):
        assert differences(one, two), one
    assert not differences("<h1>１,000 users&#39;", "1000 users'") + differences(
        "2 boards", "two boards"
    )
    assert not differences("I cant go from a to b", "I can't go from a to b")
    assert not differences("from 5 to 5", "from 5 to 5?")


def test_capitals_alone_are_explained_as_the_sentence_they_are_read_as():
    use, texts = DuplicateDetector.pretrained(), ("RESET MY PASSWORD", "Reset my password")
    loud, calm = (explain(use, text, "How can I reset it?").words1 for text in texts)
    assert [word.effect for word in loud] == [word.effect for word in calm]
