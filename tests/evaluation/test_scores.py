"""Metrics, thresholds, calibration, intervals, retrieval: scikit-learn, and by hand."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.bootstrap import Interval, bootstrap_interval
from siamese.evaluation.calibration import (
    Calibration,
    expected_calibration_error,
    fit_calibration,
)
from siamese.evaluation.groups import group_figures
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.report import FIGURES, Evaluation, word_overlap
from siamese.evaluation.retrieval import (
    evaluate_retrieval,
    read_relevance,
)
from siamese.evaluation.thresholds import best_threshold, fit_threshold

PAIRS = st.lists(
    st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=25
).filter(lambda pairs: len({y for _, y in pairs}) == 2)


@settings(max_examples=40, deadline=None)
@given(pairs=PAIRS, cut=st.integers(-1, 7))
def test_metrics_equal_scikit_learn_and_no_cut_is_better_than_the_best(pairs, cut):
    scores = np.array([s / 6 for s, _ in pairs])
    labels = np.array([y for _, y in pairs])
    answers = scores > cut / 6
    expected = {"n": len(pairs), "base_rate": labels.mean(), "threshold": cut / 6}
    for some, names in (
        (answers, "accuracy recall f1"),
        (scores, "roc_auc average_precision"),
    ):
        expected |= {n: getattr(sk, f"{n}_score")(labels, some) for n in names.split()}
    expected["precision"] = sk.precision_score(labels, answers, zero_division=0)
    assert evaluate_scores(scores, labels, cut / 6).to_dict() == pytest.approx(
        expected, abs=1e-12
    )
    without = evaluate_scores(scores, labels)
    assert (without.accuracy, without.f1, without.threshold) == (None, None, None)
    cuts = [-1, *((a + b) / 2 for a, b in itertools.pairwise(sorted(set(scores)))), 2]
    best = max(np.mean((scores > cut) == labels) for cut in cuts)
    assert np.mean(
        (scores > best_threshold(scores, labels)) == labels
    ) == pytest.approx(best)


@pytest.mark.parametrize(
    ("scores", "labels", "threshold", "error"),
    [
        pytest.param([], [], 0.5, DataError, id="no scores"),
        pytest.param([0.1, 0.2], [1], 0.5, DataError, id="unequal lengths"),
        pytest.param([0.1, np.nan], [1, 0], 0.5, ArgumentError, id="a score of NaN"),
        pytest.param([0.1, 0.2], [1, 2], 0.5, ArgumentError, id="a label of 2"),
        pytest.param([0.1, 0.2], [1, 1], 0.5, DataError, id="one class"),
        pytest.param([[0.1, 0.2]], [1, 0], 0.5, ArgumentError, id="a matrix"),
        pytest.param(
            [0.1, 0.2], [0, 1], np.nan, ArgumentError, id="a threshold of NaN"
        ),
    ],
)
def test_wrong_input_is_refused(scores, labels, threshold, error):
    with pytest.raises(error):
        evaluate_scores(scores, labels, threshold)


def test_the_best_threshold_lies_midway_between_scores_or_beyond_all():
    assert best_threshold([0.25, 0.75], [0, 1]) == 0.5
    assert best_threshold([0.1, 0.2, 0.3], [1, 1, 0]) < 0.1
    # The highest of the equal cuts.
    assert best_threshold([0.1, 0.2, 0.3], [1, 0, 0]) == 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("low", [0.7, -0.3])
def test_neighbouring_floats_are_told_apart_in_their_own_precision(dtype, low):
    scores = np.array([dtype(low), np.nextafter(dtype(low), dtype(2))])
    threshold = best_threshold(scores, [0, 1])
    assert (scores > threshold).tolist() == [False, True]
    # NumPy rounds a Python float to its type.
    assert (scores.astype(np.float64) > threshold).tolist() == [False, True]


def test_the_fitted_threshold_is_where_the_curve_passes_one_half():
    rng = np.random.default_rng(0)
    scores = np.clip(rng.normal(0.6, 0.2, 1000), -1, 1)
    labels = rng.uniform(size=1000) < expit(12 * (scores - 0.6))
    fit = fit_threshold(scores, labels)
    assert fit.threshold == pytest.approx(0.6, abs=0.04)
    assert fit.low < fit.threshold < fit.high < fit.low + 0.1
    assert fit.calibration(fit.threshold) == pytest.approx(0.5)
    near = np.abs(scores - 0.75) < 0.2  # Pairs chosen by their score do not move it.
    assert fit_threshold(scores[near], labels[near]).threshold == pytest.approx(
        0.6, abs=0.06
    )
    few = fit_threshold(scores[:40], labels[:40])
    assert few.high - few.low > fit.high - fit.low


def test_no_threshold_is_fitted_where_duplicates_have_lower_scores():
    scores = np.linspace(0, 1, 100)
    with pytest.raises(DataError):
        fit_threshold(scores, scores < 0.5)


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("", "", 0),
        ("", "word", 0),
        ("same words", "words Same", 1),
        ("one", "two", 0),
        ("a a a b", "a b", 1),
        ("How old are you?", "What age are you?", 3 / 7),
    ],
)
def test_overlap_is_shared_of_all_distinct_words(first, second, share):
    assert word_overlap([first, second], [second, first]) == pytest.approx(share)


def test_overlap_needs_as_many_second_questions():
    with pytest.raises(DataError):
        word_overlap(["a", "b"], ["a"])


def test_baselines_are_the_commoner_answer_and_overlap():
    sides = ["a b", "a b", "c d", "e f", "g h"], ["a b", "a c", "x y", "e z", "g h"]

    def figures(labels, encoder=None):
        return Evaluation(
            *sides, [0.1, 0.2, 0.3, 0.4, 0.5], labels, 0.3, encoder=encoder
        ).baselines

    assert list(figures([1, 0, 0, 0, 1])) == ["always no", "word overlap"]
    constant = figures([1, 0, 0, 0, 1])["always no"]
    assert (constant.accuracy, constant.base_rate) == (
        pytest.approx(0.6),
        pytest.approx(0.4),
    )
    assert (constant.roc_auc, constant.recall, constant.f1) == (0.5, 0, 0)
    assert figures([1, 0, 0, 0, 1])["word overlap"].accuracy == 1.0
    encoder = "worst", 1 - word_overlap(*sides)
    assert figures([1, 0, 0, 0, 1], encoder)["encoder"].roc_auc == 0.0
    assert figures([1, 1, 1, 0, 1])["always yes"].accuracy == pytest.approx(0.8)


def drawn(n, seed=0):
    generator = np.random.default_rng(seed)
    scores = generator.uniform(-1, 1, n)
    return scores, generator.random(n) < expit(6 * scores - 1)


def test_a_fit_reaches_the_minimum_of_platts_loss_and_travels_through_json():
    scores, labels = drawn(400)
    fit = fit_calibration(scores, labels)
    ones = labels.sum()
    zeros = (~labels).sum()
    target = np.where(labels, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    error = expit(fit.slope * scores + fit.intercept) - target
    assert np.abs([error.mean(), (error * scores).mean()]).max() < 1e-6  # the gradient
    assert Calibration(**json.loads(json.dumps(fit.to_dict()))) == fit
    fresh, truth = drawn(8000, seed=1)
    assert expected_calibration_error((fresh + 1) / 2, truth) > 0.1
    assert (
        expected_calibration_error(fit_calibration(*drawn(4000))(fresh), truth) < 0.02
    )


def test_a_fit_stays_finite_where_scores_separate_the_classes_or_are_all_equal():
    fit = fit_calibration(np.linspace(0, 1, 40), np.arange(40) >= 20)
    low, high = fit([0.0, 1.0])
    assert 0 < low < 0.1 and 0.9 < high < 1
    with np.errstate(all="raise"):
        assert fit([[-1e9, 1e9]]).tolist() == [[0, 1]]
    constant = fit_calibration([0.5] * 100, [1] * 30 + [0] * 70)
    assert constant([0.5])[0] == pytest.approx(0.3, abs=0.01)


def test_the_error_is_that_of_scikit_learns_bins_of_equal_mass():
    scores, labels = drawn(3000)
    share, mean = calibration_curve(labels, scores**2, n_bins=15, strategy="quantile")
    expected = np.abs(share - mean).mean()  # 200 pairs in each
    assert expected_calibration_error(scores**2, labels) == pytest.approx(expected)
    # Two bins, of the pairs below and from 0.3 on.
    probabilities = [0.1, 0.1, 0.3, 0.3, 0.9, 0.9]
    labels = [0, 1, 0, 1, 1, 1]
    expected = (abs(1 - 0.2) + abs(3 - 2.4)) / 6
    assert expected_calibration_error(probabilities, labels, 2) == pytest.approx(
        expected
    )


GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.random(80) < 0.4
SCORES = np.round(np.clip(GENERATOR.normal(size=80) * 0.3 + LABELS * 0.4, -1, 1), 3)
TEXTS = [f"how far is {word} ?" for word in ("it", "home")] * 40


def evaluated(**options):
    return Evaluation(TEXTS, TEXTS[::-1], SCORES, LABELS, 0.2, **options)


@pytest.fixture(scope="module")
def evaluation():
    probabilities = {"probabilities": (SCORES + 1) / 2}
    return evaluated(threshold_from="given", encoder=("use", SCORES), **probabilities)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_stands_in_the_table_and_in_json(evaluation, name):
    value = getattr(evaluate_scores(SCORES, LABELS, 0.2), name)
    interval = evaluation.intervals[name]
    table = str(evaluation)
    assert re.search(rf"^{FIGURES[name]} +{value:.3f} \[", table, re.M)
    assert str(interval) in table
    assert interval.low <= value <= interval.high
    assert json.loads(json.dumps(evaluation.to_dict()))[name] == value


def test_the_table_tells_the_threshold_the_baselines_and_the_encoder(evaluation):
    expected = evaluate_scores(SCORES, LABELS, 0.2)
    table = str(evaluation)
    values = evaluation.to_dict()
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


def test_the_table_leaves_out_what_is_not_known():
    table = str(evaluated(measure="probability"))
    assert ", a probability (given)" in table
    assert "calibration" not in table and "encoder" not in table


def test_a_report_needs_as_many_second_questions():
    with pytest.raises(DataError):
        Evaluation(["a", "b"], ["a"], [0.1, 0.2], [0, 1], 0.5)


def intervals_of(scores, labels):
    texts = ["a"] * len(labels)
    return Evaluation(texts, texts, scores, labels, 0.5).intervals


def test_intervals_equal_one_resample_at_a_time():
    generator = np.random.default_rng(0)
    labels = generator.random(60) < 0.4
    scores = (generator.normal(size=60) + labels).round(1)  # With ties.
    rows = np.random.default_rng(0).integers(60, size=(1000, 60))
    for name, interval in intervals_of(scores, labels).items():
        metric = lambda *row, name=name: getattr(evaluate_scores(*row, 0.5), name)  # noqa: E731
        each = [metric(scores[row], labels[row]) for row in rows[:40]]
        expected = metric(scores, labels), *np.quantile(each, [0.025, 0.975])
        few = bootstrap_interval(metric, scores, labels, resamples=40)
        assert dataclasses.astuple(few) == pytest.approx(expected), name
        assert dataclasses.astuple(interval) == pytest.approx(expected, abs=0.1)
    assert str(Interval(0.8123, 0.8, 0.82456)) == "0.812 [0.800, 0.825]"
    # Resamples with one class are left out.
    area = intervals_of([0.1, 0.2, 0.9], [0, 0, 1])["roc_auc"]
    assert (area.value, area.low, area.high) == (1.0, 1.0, 1.0)


RANKED = st.lists(st.integers(0, 9), unique=True, max_size=8)
RELEVANT = st.sets(st.integers(0, 9), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(RANKED, RELEVANT), min_size=1, max_size=5))
def test_retrieval_equals_the_definitions(queries):
    reciprocal = []
    recall = []
    average = []
    for row, targets in queries:
        ranks = [rank for rank, item in enumerate(row, 1) if item in targets]
        reciprocal.append(1 / ranks[0] if ranks else 0)
        recall.append(len(set(row[:3]) & targets) / len(targets))
        average.append(
            sum(len(set(row[:r]) & targets) / r for r in ranks) / len(targets)
        )
    metrics = evaluate_retrieval(*zip(*queries, ([1], [])), ks=(3,))
    assert metrics.mrr == pytest.approx(np.mean(reciprocal))
    assert metrics.recall == {3: pytest.approx(np.mean(recall))}
    assert metrics.map == pytest.approx(np.mean(average))
    assert metrics.queries == len(queries)


@pytest.mark.parametrize(
    "text",
    [
        "query_id,id\nq1,a\nq2,7\n",
        '{"query_id": "q1", "id": "a"}\n{"query_id": "q2", "id": 7}\n',
        '{"query_id": " q1", "id": "a "}\n{"query_id": "q2", "id": 7.0, "relevance": null}\n',
        "query_id,id,Relevance\nq1,a,2\nq1,b,0\nq2,7,\nq3,a,-1\n",
    ],
)
def test_relevance_is_read_from_csv_and_json(tmp_path, text):
    path = tmp_path / "relevance"
    path.write_text(text)
    assert read_relevance(path)[0] == {"q1": {"a"}, "q2": {"7"}}


def test_relevance_is_read_in_an_encoding_and_without_bad_rows(tmp_path):
    path = tmp_path / "relevance"
    path.write_text("query_id,id\nq1,caf\xe9\nq2,\n", "cp1252")
    relevant, report = read_relevance(path, encoding="cp1252", bad_rows="skip")
    assert relevant == {"q1": {"caf\xe9"}} and report.findings == {"bad": [3]}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("query,id\nq1,a\n", "query_id"),
        ("query_id,id,relevance\nq1,a,yes\n", "line 2"),
    ],
)
def test_relevance_that_cannot_be_read_is_refused_with_its_place(tmp_path, text, place):
    path = tmp_path / "relevance"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_relevance(path)
    assert place in str(error.value)


def test_groups_are_measured_over_pairs_and_over_questions():
    figures = group_figures(np.array([0, 0, 1, 1, 2]), ["a", "a", "a", "", ""])
    assert (figures["pairs"], figures["true_pairs"], figures["right_pairs"]) == (
        2,
        3,
        1,
    )
    assert figures["precision"] == 1 / 2 and figures["recall"] == pytest.approx(1 / 3)
    assert figures["f1"] == pytest.approx(2 / 5)
    # Of the five questions: 2/2, 2/2, 1/2, 1/2, 1; and 2/3, 2/3, 1/3, 1, 1.
    assert figures["b_cubed_precision"] == pytest.approx(4 / 5)
    assert figures["b_cubed_recall"] == pytest.approx((5 / 3 + 2) / 5)
    same = group_figures(np.array([3, 3, 7]), ["x", "x", ""])
    assert same["f1"] == same["b_cubed_f1"] == 1
