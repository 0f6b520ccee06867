"""An evaluation: its figures as a table and as JSON, beside the baselines; the surest mistakes."""

import json
import re

import numpy as np
import pytest

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.report import FIGURES, Evaluation

GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.random(80) < 0.4
SCORES = np.round(np.clip(GENERATOR.normal(size=80) * 0.3 + LABELS * 0.4, -1, 1), 3)
TEXTS = [f"how far is {word} ?" for word in ("it", "home")] * 40


def evaluated(**options):
    return Evaluation(TEXTS, TEXTS[::-1], SCORES, LABELS, 0.2, **options)


def test_the_figures_stand_in_the_table_and_in_json():
    expected = evaluate_scores(SCORES, LABELS, 0.2)
    evaluation = evaluated(
        threshold_from="given",
        probabilities=(SCORES + 1) / 2,
        encoder=("use", SCORES),
    )
    table, values = str(evaluation), json.loads(json.dumps(evaluation.to_dict()))
    for name, title in FIGURES.items():
        value, interval = getattr(expected, name), evaluation.intervals[name]
        assert re.search(rf"^{title} +{value:.3f} \[", table, re.M) and str(interval) in table
        assert interval.low <= value <= interval.high and values[name] == value
    best = values["baselines"]["encoder"]["accuracy"]
    assert best >= expected.accuracy and f"{best:.3f}\n" in table
    for words in (
        "threshold 0.2000, a cosine (given)",
        "always no word overlap      encoder",
        f"calibration error  {values['calibration_error']:.3f}",
        "encoder: use, untrained.",
    ):
        assert words in table, words
    assert max(map(len, table.splitlines())) <= 80


def test_what_is_not_known_is_left_out():
    table = str(evaluated(measure="probability"))
    assert ", a probability (given)" in table and not re.search("calibration|encoder", table)


def test_the_surest_mistakes_by_hand():
    scores, labels = [0.9, 0.8, 0.7, 0.1, 0.2, 0.3], [0, 1, 0, 1, 0, 1]
    evaluation = Evaluation("abcdef", "uvwxyz", scores, labels, 0.5)
    expected = [(0.9, False, "a", "u"), (0.7, False, "c", "w")]
    expected += [(0.1, True, "d", "x"), (0.3, True, "f", "z")]
    assert [tuple(row.values()) for row in evaluation.mistakes(9)] == expected
    assert [tuple(row.values()) for row in evaluation.mistakes(1)] == expected[::2]
    with pytest.raises(ArgumentError, match="mistakes must be at least 0, not -1"):
        evaluation.mistakes(-1)
    with pytest.raises(DataError, match="question2 holds 1:"):
        Evaluation(["a", "b"], ["a"], [0.1, 0.2], [0, 1], 0.5)
