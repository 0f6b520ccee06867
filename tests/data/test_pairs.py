"""QuestionPairs: what it holds, the course's split, and the real Quora rows."""

import json

import pytest

from siamese.data.clusters import clusters
from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.errors import ArgumentError, DataError, ShapeError


def test_columns_must_fit_and_labels_be_0_or_1():
    with pytest.raises(ShapeError, match="question1 has 2 entries and question2 has 1"):
        QuestionPairs(["a", "b"], ["c"], [1, 0])
    with pytest.raises(DataError, match="other than 0 and 1"):
        QuestionPairs(["a"], ["c"], [2])


def test_split_rows_is_the_courses_and_counts_rows_that_were_left_out(tmp_path):
    rows = [f"a{i},{'' if i in (2, 7) else f'b{i}'},1" for i in range(10)]
    (tmp_path / "questions.csv").write_text("\n".join(["question1,question2,label", *rows]))
    pairs = read_pairs(tmp_path / "questions.csv")
    assert pairs.row_numbers.tolist() == [0, 1, 3, 4, 5, 6, 8, 9]
    train, test = pairs.split_rows(5, 5)
    assert train.question1 == ["a0", "a1", "a3", "a4"]
    assert test.question1 == pairs.split_rows(5)[1].question1 == ["a5", "a6", "a8", "a9"]
    for train_rows, test_rows in [(0, 3), (6, 5), (10, None), (3, 0)]:
        with pytest.raises(ArgumentError, match="of 10 rows"):
            pairs.split_rows(train_rows, test_rows)
    # A selection stands for itself: its rows are its pairs.
    assert pairs.rows(2, 6).split_rows(2, 2)[1].question1 == ["a5", "a6"]


@pytest.mark.quora
def test_the_real_file(quora_csv, shared):
    quora = read_pairs(quora_csv)
    assert len(quora) == 113_100 and not quora.report.findings
    assert int(quora.is_duplicate.sum()) == 91_907 and quora.ids[-1] == "113099"
    joined = clusters(quora)
    assert len(joined.questions) == joined.sizes.sum() == 144_593
    assert len(joined.sizes) == 80_254 and joined.sizes.max() == 103
    assert len(joined.conflict_rows) == 4
    ranges = json.loads((shared / "data" / "quora" / "splits.json").read_text())["rows"]
    assert quora.split_rows(105_119, 7_981)[1].ids == quora.rows(*ranges["test"]).ids
    parts = quora.split_by_cluster((0.8, 0.1, 0.1), seed=5)
    assert [len(part) / len(quora) for part in parts] == pytest.approx([0.8, 0.1, 0.1], abs=1e-3)
