"""The picture of an explanation: its bars are the explanation's numbers; odd words do no harm."""

import pytest

pytest.importorskip("matplotlib")

from small_models import make_detector

from siamese.cli.main import main
from siamese.evaluation.picture import to_png
from siamese.search.explain import MOST_WORDS, Explanation, WordEffect, explain, plot_explanation


def test_bars_are_the_effects_in_the_questions_order():
    found = explain(make_detector(), "how far is xyzzy ?", "how old")
    first, second = plot_explanation(found).axes
    for axes, words in ((first, found.words1), (second, found.words2)):
        assert [bar.get_width() for bar in axes.patches] == pytest.approx([w.effect for w in words])
        assert [label.get_text() for label in axes.get_yticklabels()] == [w.word for w in words]
        assert axes.yaxis_inverted()  # the first word on top
    assert any("never seen" in note.get_text() for note in first.texts)


def test_words_that_look_like_formulas_or_nothing_are_drawn():
    words = [WordEffect(w, 0.1, True) for w in ("$x", r"\frac{", "\x07", "w" * 99, "$")]
    made = Explanation("$a_b \\frac{", "$", 0.5, 0.7, words, [WordEffect("$", None, True)])
    assert to_png(plot_explanation(made), dpi=30).startswith(b"\x89PNG")


def test_a_long_question_keeps_its_strongest_words():
    words = [WordEffect(f"w{i}", i / 1000, True) for i in range(500)]
    figure = plot_explanation(Explanation("long", "short", 0.5, 0.7, words, words[:2]))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"w{i}" for i in range(500 - MOST_WORDS, 500)]
    assert f"({MOST_WORDS} of 500 words)" in figure.axes[0].get_title(loc="left")
    assert figure.get_figheight() < 15


def test_from_the_command_line(tmp_path, capsys):
    model = str(make_detector().save(tmp_path / "model"))
    path = tmp_path / "words.png"
    assert main(["explain", model, "how far", "how old", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG") and str(path) in capsys.readouterr().out
    assert main(["explain", model, "how far", "how old", "--plot", str(tmp_path / "a.doc")]) == 2
    assert ".png" in capsys.readouterr().err
