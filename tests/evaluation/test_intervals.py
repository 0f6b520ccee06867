"""Bootstrap intervals against resampling one by one; retrieval metrics against counting by hand."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.errors import DataError
from siamese.evaluation.bootstrap import Interval, bootstrap_interval
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.report import Evaluation
from siamese.evaluation.retrieval import evaluate_retrieval, read_relevance, shared_clusters


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


def test_resamples_with_one_class_are_left_out():
    area = intervals_of([0.1, 0.2, 0.9], [0, 0, 1])["roc_auc"]
    assert (area.value, area.low, area.high) == (1.0, 1.0, 1.0)


RANKED = st.lists(st.integers(0, 9), unique=True, max_size=8)
RELEVANT = st.sets(st.integers(0, 9), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(RANKED, RELEVANT), min_size=1, max_size=5))
def test_retrieval_equals_the_definitions(queries):
    reciprocal, recall, average = [], [], []
    for row, targets in queries:
        ranks = [rank for rank, item in enumerate(row, 1) if item in targets]
        reciprocal.append(1 / ranks[0] if ranks else 0)
        recall.append(len(set(row[:3]) & targets) / len(targets))
        average.append(sum(len(set(row[:r]) & targets) / r for r in ranks) / len(targets))
    metrics = evaluate_retrieval(*zip(*queries, ([1], [])), ks=(3,))
    assert metrics.mrr == pytest.approx(np.mean(reciprocal))
    assert metrics.recall == {3: pytest.approx(np.mean(recall))}
    assert metrics.map == pytest.approx(np.mean(average))
    assert metrics.queries == len(queries)


def test_intervals_draw_whole_clusters_of_queries_that_share_an_answer():
    ranked, relevant = [["a"], ["b"]] * 40, [{"a"}, {"c"}] * 40
    own = evaluate_retrieval(ranked, relevant, clusters=range(80)).intervals
    one = evaluate_retrieval(ranked, relevant, clusters=[0] * 80).intervals["MRR"]
    assert list(own) == ["MRR", "MAP", "recall@1", "recall@5", "recall@10"]
    assert own["MRR"].value == one.value == 0.5 and (one.low, one.high) == (0.5, 0.5)
    assert 0.35 < own["MRR"].low < 0.45 and 0.55 < own["MRR"].high < 0.65
    halves = evaluate_retrieval(ranked, relevant, clusters=["a", "b"] * 40).intervals["MRR"]
    assert (halves.low, halves.high) == (0, 1)  # A sample may hold one of the two clusters twice.
    clusters = shared_clusters([{"a"}, {"b", "c"}, set(), {"c", "a"}, {"d"}])
    assert clusters[0] == clusters[1] == clusters[3] and len(set(clusters)) == 3


def test_relevance_is_read_from_csv_and_json_or_refused_with_its_line(tmp_path):
    path = tmp_path / "r"
    for text in (
        "query_id,id\nq1,a\nq2,7\n",
        '{"query_id": "q1", "id": "a"}\n{"query_id": "q2", "id": 7}\n',
        '{"query_id": " q1", "id": "a "}\n{"query_id": "q2", "id": 7.0, "relevance": null}\n',
        "query_id,id,Relevance\nq1,a,2\nq1,b,0\nq2,7,\nq3,a,-1\n",
    ):
        path.write_text(text)
        assert read_relevance(path)[0] == {"q1": {"a"}, "q2": {"7"}}
    path.write_text("query_id,id\nq1,caf\xe9\nq2,\n", "cp1252")
    relevant, report = read_relevance(path, encoding="cp1252", bad_rows="skip")
    assert relevant == {"q1": {"caf\xe9"}} and report.findings == {"bad": [3]}
    for text, message in (
        ("query,id\nq1,a\n", "there is no column 'query_id'; the columns: query, id"),
        ("query_id,id,relevance\nq1,a,yes\n", "line 2: relevance is 'yes', not a number"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_relevance(path)
