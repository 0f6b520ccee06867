"""QuestionPairs: what it holds, the course's split, reading in parts, and the real Quora rows."""

import json

import numpy as np
import pytest

from siamese.data.clusters import clusters, overlap
from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.errors import ArgumentError, DataError, ShapeError

HEADER = "id,qid1,qid2,question1,question2,is_duplicate\n"


def numbered(n, **changes):
    columns = {
        "question1": [f"a{i}" for i in range(n)],
        "question2": [f"b{i}" for i in range(n)],
        "is_duplicate": np.arange(n) % 3 == 0,
    }
    return QuestionPairs(**{**columns, **changes})


@pytest.mark.parametrize(
    ("columns", "error", "what"),
    [
        ((["a", "b"], ["c"], [1, 0]), ShapeError, "question1 has 2 entries and question2 has 1"),
        ((["a"], ["c"], [1, 0]), ShapeError, "question1 has 1 entries and is_duplicate has 2"),
        ((["a"], ["c"], [2]), DataError, "other than 0 and 1"),
    ],
)
def test_columns_must_fit_and_labels_be_0_or_1(columns, error, what):
    with pytest.raises(error, match=what):
        QuestionPairs(*columns)


def test_rows_select_and_duplicates():
    pairs = numbered(6, ids=list("uvwxyz"))
    assert pairs.rows(1, 3).question1 == ["a1", "a2"]
    assert pairs.rows(4, 99).ids == ["y", "z"]
    assert pairs.select(np.array([5, 0, 5])).question2 == ["b5", "b0", "b5"]
    assert pairs.select([-1]).question1 == ["a5"]
    assert pairs.select(pairs.is_duplicate).question1 == ["a0", "a3"]
    assert pairs.duplicates().question1 == ["a0", "a3"] and pairs.duplicates().base_rate == 1.0
    assert pairs.base_rate == 1 / 3
    for which, what in (
        (np.array([True]), "which of 6 pairs: boolean"),
        ([6], "index 6 is out of bounds"),
        ([0.5], "of integer"),
    ):
        with pytest.raises(ArgumentError, match=what):
            pairs.select(which)


def test_split_rows_is_the_courses():
    train, test = numbered(10).split_rows(6, 3)
    assert train.question1 == [f"a{i}" for i in range(6)]
    assert test.question1 == ["a6", "a7", "a8"]
    assert len(numbered(10).split_rows(6)[1]) == 4
    for train_rows, test_rows in [(0, 3), (6, 5), (10, None), (3, 0)]:
        with pytest.raises(ArgumentError, match="of 10 rows"):
            numbered(10).split_rows(train_rows, test_rows)


def test_rows_kept_out_still_count_in_split_rows(tmp_path):
    path = tmp_path / "questions.csv"
    rows = [f"{i},1,2,a{i},{'' if i in (2, 7) else f'b{i}'},1" for i in range(10)]
    path.write_text(HEADER + "\n".join(rows))
    pairs = read_pairs(path)
    assert pairs.row_numbers.tolist() == [0, 1, 3, 4, 5, 6, 8, 9]
    train, test = pairs.split_rows(5, 5)
    assert train.question1 == ["a0", "a1", "a3", "a4"]
    assert test.question1 == ["a5", "a6", "a8", "a9"]
    with pytest.raises(ArgumentError, match="of 10 rows"):
        pairs.split_rows(5, 6)
    # A selection stands for itself: its rows are its pairs.
    assert pairs.rows(2, 6).split_rows(2, 2)[1].question1 == ["a5", "a6"]


# -- The real file ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quora(quora_csv):
    return read_pairs(quora_csv)


@pytest.mark.quora
def test_quora_rows_and_clusters(quora):
    assert len(quora) == 113_100 and not quora.report.findings
    assert int(quora.is_duplicate.sum()) == 91_907
    assert quora.ids[-1] == "113099"
    found = clusters(quora)
    assert len(found.questions) == 144_593
    assert len(found) == 80_254 and found.sizes.max() == 103 and found.sizes.sum() == 144_593
    assert len(found.conflict_rows) == 4
    assert (found.cluster1 == found.cluster2)[quora.is_duplicate].all()


@pytest.mark.quora
def test_quora_splits(quora, shared):
    ranges = json.loads((shared / "data" / "quora" / "splits.json").read_text())["rows"]
    train, valid, test = (quora.rows(*ranges[name]) for name in ("train", "valid", "test"))
    assert [len(train), len(valid), len(test)] == [99_119, 6_000, 7_981]
    assert int(train.is_duplicate.sum()) == 86_774
    assert valid.base_rate == pytest.approx(0.37, abs=0.01)
    assert test.base_rate == pytest.approx(0.37, abs=0.01)
    by_rows = quora.split_rows(105_119, 7_981)
    assert by_rows[1].ids == test.ids
    assert overlap(*by_rows) == pytest.approx(0.259, abs=0.001)
    parts = quora.split_by_cluster((0.8, 0.1, 0.1), seed=5)
    assert sum(map(len, parts)) == len(quora)
    for part, share in zip(parts, (0.8, 0.1, 0.1)):
        assert len(part) == pytest.approx(share * len(quora), rel=0.01)
    assert overlap(parts[0], parts[1]) == overlap(parts[0], parts[2]) == 0.0
    assert overlap(parts[1], parts[2]) == 0.0


@pytest.mark.parametrize(
    ("content", "options", "labels"),
    [
        ("id1,id2,is_duplicate\na,b,1\nb,c,0\n", {}, [True, False]),
        ("id1,id2\na,b\nb,c\n", {}, [True, True]),
        ("one;two;same\na;b;1\nb;c;0\n", {"columns": "one,two,same"}, [True, False]),
        ("one,two\na,b\nb,c\n", {"columns": "one,two"}, [True, True]),
    ],
)
def test_pairs_may_name_their_questions_by_id(tmp_path, content, options, labels):
    (tmp_path / "links.csv").write_text(content)
    texts = {"a": "How far?", "b": "How far is it?", "c": "Who?"}
    pairs = read_pairs(tmp_path / "links.csv", texts=texts, **options)
    assert (pairs.question1, pairs.question2) == (
        ["How far?", "How far is it?"],
        ["How far is it?", "Who?"],
    )
    assert pairs.is_duplicate.tolist() == labels
    with pytest.raises(DataError, match=r"line 3: the list has no question with the id 'c'"):
        read_pairs(tmp_path / "links.csv", texts={"a": "x", "b": "y"}, **options)
