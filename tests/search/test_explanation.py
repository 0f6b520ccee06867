"""Explanations: each effect is the similarity without the word; bars are the explanation's numbers."""

import json

import numpy as np
import pytest
from small_models import WORDS, make_detector

from siamese.cli.main import main
from siamese.errors import DataError
from siamese.evaluation.picture import to_png
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import DuplicateDetector
from siamese.search.explain import MOST_WORDS, Explanation, WordEffect, explain, plot_explanation


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
    assert json.loads(json.dumps(found.as_dict()))["words2"][3]["known"] is False
    assert "Never seen by the model: xyzzy" in str(found) and "look the same" in str(found)
    told_apart = DuplicateDetector(
        {**made.weights, "embedding": np.resize(made.weights["embedding"], (len(WORDS) + 7, 8))},
        made.vocabulary.with_unknown_ids(5),
        TowerConfig(len(WORDS) + 7, 8),
    )
    assert "tell such words apart" in str(explain(told_apart, one, two))


def test_the_only_word_has_no_effect_and_none_are_refused():
    found = explain(make_detector(), "rice", "rice far")
    assert found.words1[0].effect is None and found.words2[0].effect is not None
    assert "the only word" in str(found)
    for pair in (("", "rice"), ("rice", " \n")):
        with pytest.raises(DataError, match="no words"):
            explain(make_detector(), *pair)


def test_bars_are_the_effects_in_the_questions_order(tmp_path, capsys):
    found = explain(make_detector(), "how far is xyzzy ?", "how old")
    first, second = plot_explanation(found).axes
    for axes, words in ((first, found.words1), (second, found.words2)):
        assert [bar.get_width() for bar in axes.patches] == pytest.approx([w.effect for w in words])
        assert [label.get_text() for label in axes.get_yticklabels()] == [w.word for w in words]
        assert axes.yaxis_inverted()  # the first word on top
    assert any("never seen" in note.get_text() for note in first.texts)
    model = str(make_detector().save(tmp_path / "model"))
    path = tmp_path / "words.png"
    assert main(["explain", model, "how far", "how old", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG") and str(path) in capsys.readouterr().out
    assert main(["explain", model, "how far", "how old", "--plot", str(tmp_path / "a.doc")]) == 2
    assert ".png" in capsys.readouterr().err


def test_odd_words_are_drawn_and_a_long_question_keeps_its_strongest():
    words = [WordEffect(w, 0.1, True) for w in ("$x", r"\frac{", "\x07", "w" * 99, "$")]
    made = Explanation("$a_b \\frac{", "$", 0.5, 0.7, words, [WordEffect("$", None, True)])
    assert to_png(plot_explanation(made), dpi=30).startswith(b"\x89PNG")
    words = [WordEffect(f"w{i}", i / 1000, True) for i in range(500)]
    figure = plot_explanation(Explanation("long", "short", 0.5, 0.7, words, words[:2]))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"w{i}" for i in range(500 - MOST_WORDS, 500)]
    assert f"({MOST_WORDS} of 500 words)" in figure.axes[0].get_title(loc="left")
    assert figure.get_figheight() < 15
