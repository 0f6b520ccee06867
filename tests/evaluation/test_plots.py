"""Pictures: what stands in them equals the numbers; they render without a display, and nothing leaks."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn import metrics as sk

from siamese.errors import MissingDependencyError
from siamese.evaluation import plots

GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.random(60) < 0.4
SCORES = np.tanh(GENERATOR.normal(size=60) + LABELS)


def line(figure, label):
    (curve,) = (x for x in figure.axes[0].lines if str(x.get_label()).startswith(label))
    return curve.get_xdata(), curve.get_ydata()


def test_every_picture_holds_its_figures_renders_and_leaves_the_settings():
    with matplotlib.rc_context({"font.size": 40}):
        before = dict(matplotlib.rcParams)
        figures = [
            roc := plots.plot_roc(SCORES, LABELS, 0.5, {"overlap": SCORES**2}),
            histogram := plots.plot_score_histogram(SCORES, LABELS, 0.3),
            reliability := plots.plot_reliability([0.1, 0.1, 0.9, 0.9], [0, 1, 1, 1], 2),
            accuracy := plots.plot_accuracy_by_threshold(SCORES, LABELS, 0.3),
        ]
        for figure in figures:
            assert figure.axes[0].xaxis.label.get_fontsize() == 10
            assert figure._repr_png_().startswith(b"\x89PNG")
        assert dict(matplotlib.rcParams) == before
    false_rate, true_rate, _ = sk.roc_curve(LABELS, SCORES, drop_intermediate=False)
    np.testing.assert_allclose(line(roc, "this model"), [false_rate, true_rate])
    cuts, values = line(accuracy, "accuracy")
    assert values.tolist() == pytest.approx([np.mean((cut < SCORES) == LABELS) for cut in cuts])
    assert line(accuracy, "at 0.300")[1] == [np.mean((SCORES > 0.3) == LABELS)]
    names = [text.get_text() for text in histogram.axes[0].get_legend().get_texts()]
    assert names[0] == f"not duplicates ({(~LABELS).sum()})" and "threshold 0.300" in names
    assert "ECE 0.250 (2 equal-mass bins)" in reliability.axes[0].get_title(loc="left")
    assert line(reliability, "this model")[1].tolist() == [0.5, 1.0]


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        plots.plot_roc(SCORES, LABELS)
