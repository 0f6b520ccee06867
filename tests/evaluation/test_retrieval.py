"""Retrieval metrics against counting by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.errors import DataError
from siamese.evaluation.retrieval import evaluate_retrieval, read_relevance, shared_clusters


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 9), unique=True, max_size=8),
            st.sets(st.integers(0, 9), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_retrieval_equals_the_definitions(asked):
    reciprocal, recall, average = [], [], []
    for row, wanted in asked:
        ranks = [rank for rank, item in enumerate(row, 1) if item in wanted]
        reciprocal.append(1 / ranks[0] if ranks else 0)
        recall.append(len(set(row[:3]) & wanted) / len(wanted))
        average.append(sum(len(set(row[:r]) & wanted) / r for r in ranks) / len(wanted))
    found = evaluate_retrieval(*zip(*asked, ([1], [])), ks=(3,))
    assert found.mrr == pytest.approx(np.mean(reciprocal))
    assert found.recall == {3: pytest.approx(np.mean(recall))}
    assert found.map == pytest.approx(np.mean(average))
    assert found.queries == len(asked)


def test_ndcg_counts_graded_relevance():
    wanted = {"a": 3, "b": 1, "z": 2}
    ideal = 3 + 2 / np.log2(3) + 1 / 2
    for row, gain in (
        (["a", "z", "b"], ideal),
        (["x", "b", "a"], 1 / np.log2(3) + 3 / 2),
        (["x"] + ["y"] * 9 + ["a"], 0),  # the 11th does not count
    ):
        assert evaluate_retrieval([row], [wanted]).ndcg == pytest.approx(gain / ideal)


def test_intervals_draw_whole_clusters():
    ranked, relevant = [["a"], ["b"]] * 40, [{"a"}, {"c"}] * 40
    own = evaluate_retrieval(ranked, relevant, clusters=range(80)).intervals["MRR"]
    few = evaluate_retrieval(ranked, relevant, clusters=[i // 20 for i in range(80)])
    one = evaluate_retrieval(ranked, relevant, clusters=[0] * 80).intervals["MRR"]
    assert own.value == one.value == 0.5 and (one.low, one.high) == (0.5, 0.5)
    assert 0.35 < own.low < 0.45 and 0.55 < own.high < 0.65
    assert list(few.intervals) == ["MRR", "MAP", "nDCG@10", "recall@1", "recall@5", "recall@10"]
    halves = evaluate_retrieval(ranked, relevant, clusters=["a", "b"] * 40).intervals["MRR"]
    assert (halves.low, halves.high) == (0, 1)  # A sample may hold one of the two clusters twice.
    with pytest.raises(DataError, match="relevant"):
        evaluate_retrieval([["a"]], [[]])


def test_queries_that_share_an_answer_are_one_cluster():
    found = shared_clusters([{"a"}, {"b", "c"}, set(), {"c", "a"}, {"d"}])
    assert found[0] == found[1] == found[3] and len(set(found)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 a 1\nq1 0 b 0\nq2\t0\t7\t2\n\n",
        "q1\t0\ta\t1\nq2\t0\t7\t2\n",
        "query_id,id,relevance\nq1,a,\nq1,b,0\nq2,7,2\n",
        '{"query_id": "q1", "id": "a"}\n{"query_id": "q2", "id": 7, "relevance": 2}\n',
    ],
)
def test_relevance_is_read_from_trec_csv_and_json(tmp_path, text):
    (tmp_path / "r").write_text(text)
    assert read_relevance(tmp_path / "r") == {"q1": {"a": 1}, "q2": {"7": 2}}


@pytest.mark.parametrize(
    "text", ["q1 0 a\n", "q1 0 a 1\nq1 0 a much\n", "query_id,id,relevance\nq,a,x\n"]
)
def test_relevance_of_another_form_is_refused_with_its_line(tmp_path, text):
    (tmp_path / "r").write_text(text)
    with pytest.raises(DataError, match=r"line [12]: neither TREC"):
        read_relevance(tmp_path / "r")
