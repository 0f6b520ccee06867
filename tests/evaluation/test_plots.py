"""Pictures: what stands in them equals the numbers, they render without a display, nothing leaks."""

import sys

import matplotlib
import numpy as np
import pytest
from programs import output_of
from sklearn import metrics as sk

from siamese.errors import MissingDependencyError
from siamese.evaluation import plots


def scored(n=300, seed=0):
    generator = np.random.default_rng(seed)
    labels = generator.random(n) < 0.4
    return np.tanh(generator.normal(size=n) + labels), labels


def line(figure, label):
    (curve,) = (x for x in figure.axes[0].lines if str(x.get_label()).startswith(label))
    return curve.get_xdata(), curve.get_ydata()


def test_roc_holds_the_curve_of_scikit_learn():
    scores, labels = scored()
    figure = plots.plot_roc(scores, labels, 0.5)
    false_rate, true_rate, _ = sk.roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose(line(figure, "this model"), [false_rate, true_rate])
    answers = scores > 0.5
    assert line(figure, "at the threshold") == ([answers[~labels].mean()], [answers[labels].mean()])


def test_accuracy_against_threshold_equals_trying_each():
    scores, labels = scored(40)
    figure = plots.plot_accuracy_by_threshold(scores, labels, 0.3)
    cuts, values = line(figure, "accuracy")
    assert values.tolist() == pytest.approx([np.mean((scores > cut) == labels) for cut in cuts])
    assert line(figure, "at 0.300")[1] == [np.mean((scores > 0.3) == labels)]


def test_histogram_shows_shares_of_each_class():
    scores, labels = scored()
    axes = plots.plot_score_histogram(scores, labels, 0.3).axes[0]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[0] == f"not duplicates ({(~labels).sum()})" and "threshold 0.300" in names
    assert axes.patches[0].get_hatch() and not axes.patches[1].get_hatch()


def test_reliability_holds_the_curve_and_its_error():
    probabilities, labels = [0.1, 0.1, 0.9, 0.9], [0, 1, 1, 1]
    figure = plots.plot_reliability(probabilities, labels, bins=2, strategy="equal_width")
    assert "ECE 0.250 (2 equal-width bins)" in figure.axes[0].get_title(loc="left")
    x, y = line(figure, "this model")
    assert (x.tolist(), y.tolist()) == ([0.1, 0.9], [0.5, 1.0])


def test_every_picture_renders_leaves_the_settings_and_shows_itself_in_a_notebook():
    scores, labels = scored()
    with matplotlib.rc_context({"font.size": 40}):
        before = dict(matplotlib.rcParams)
        for figure in (
            plots.plot_roc(scores, labels, 0.5, {"overlap": scored(seed=1)[0]}),
            plots.plot_score_histogram([0.5, 0.5], [0, 1], 0.5),
            plots.plot_reliability((scores + 1) / 2, labels),
            plots.plot_accuracy_by_threshold(scores, labels, 0.5),
        ):
            assert figure.axes[0].xaxis.label.get_fontsize() == 10
            assert figure._repr_png_().startswith(b"\x89PNG")
        assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        plots.plot_roc(*scored())


@pytest.mark.slow
def test_pyplot_and_its_settings_are_never_loaded():
    code = (
        "import sys, siamese.evaluation.plots as p; assert 'matplotlib' not in sys.modules;"
        "p.plot_roc([0.1, 0.9], [0, 1])._repr_png_(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    output_of(code)
