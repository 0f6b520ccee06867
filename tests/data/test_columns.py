"""Columns as people have them: other names, joined, no header, graded labels, tables in memory."""

import json

import pytest

from siamese import DataError, read_pairs
from siamese.data.question_list import read_questions
from siamese.data.split import split
from siamese.errors import ArgumentError

TITLES = "key,title1,title2,body1,body2,same\n1,A?,B?,more a,,1\n2,C?,D?,,more d,0\n"


def written(tmp_path, text, name="my.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def columns_of(pairs):
    return pairs.question1, pairs.question2, pairs.is_duplicate.tolist()


@pytest.mark.parametrize(
    "text, name",
    [
        (TITLES, "my.csv"),
        (TITLES.replace(",", "\t"), "my.tsv"),
        (TITLES.replace(",", ";"), "my.csv"),
        (
            "\n".join(
                json.dumps(dict(zip(TITLES.split("\n")[0].split(","), line.split(","))))
                for line in TITLES.split("\n")[1:3]
            ),
            "my.jsonl",
        ),
    ],
)
def test_columns_are_named_and_joined_in_every_format(tmp_path, text, name):
    path = written(tmp_path, text, name)
    found = read_pairs(path, columns="title1,title2,same")
    assert columns_of(found) == (["A?", "C?"], ["B?", "D?"], [True, False])
    found = read_pairs(path, columns=["2*title1+body1", "title2+body2", "same"])
    assert columns_of(found)[:2] == (["A? A? more a", "C? C?"], ["B?", "D? more d"])
    with pytest.raises(DataError, match="no column 'titel1'; found: key, title1"):
        read_pairs(path, columns="titel1,title2,same")
    with pytest.raises(DataError, match="--columns"):
        read_pairs(path)


def test_a_name_may_hold_a_plus(tmp_path):
    path = written(tmp_path, "a+b,c,label\nx,y,1\n")
    assert read_pairs(path, columns="a+b,c").question1 == ["x"]


@pytest.mark.parametrize("mark", [",", "\t", "|"])
def test_numbers_name_the_columns_of_a_file_without_a_header(tmp_path, mark):
    path = written(tmp_path, "7,A?,B?,1\n8,C?,D?,0\n".replace(",", mark))
    found = read_pairs(path, columns="2,3,4")
    assert columns_of(found) == (["A?", "C?"], ["B?", "D?"], [True, False])
    assert read_questions(path, column="2").questions == ["A?", "C?"]
    with pytest.raises(DataError, match="no column '9'"):
        read_pairs(path, columns="2,3,9")


def test_graded_labels_are_cut(tmp_path):
    path = written(tmp_path, "question1,question2,label\na,b,0.5\nc,d,0.2\ne,f,5\n")
    assert read_pairs(path, duplicate_from=0.5).is_duplicate.tolist() == [True, False, True]
    with pytest.raises(DataError, match="--duplicate-from"):
        read_pairs(path)
    path = written(tmp_path, "question1,question2,label\na,b,Perfect\nc,d,Irrelevant\ne,f,good\n")
    found = read_pairs(path, duplicate_labels="perfect,Good")
    assert found.is_duplicate.tolist() == [True, False, True]
    with pytest.raises(DataError, match="is_duplicate is 'Perfect'"):
        read_pairs(path, duplicate_from=0.5)
    with pytest.raises(ArgumentError, match="give one"):
        read_pairs(path, duplicate_from=0.5, duplicate_labels="good")


def test_a_label_that_is_missing_is_a_bad_row(tmp_path):
    path = written(tmp_path, "question1,question2,label\na,b,\nc,d,good\n")
    with pytest.raises(DataError, match="line 2"):
        read_pairs(path, duplicate_labels="good")


class HuggingFaceLike:
    """What `datasets.Dataset` has of columns."""

    def __init__(self, columns):
        self.columns, self.column_names = columns, list(columns)

    def __getitem__(self, name):
        return self.columns[name]


def test_tables_in_memory_are_read_as_files_are():
    pd = pytest.importorskip("pandas", reason="needs pandas: make extras")
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: make extras")
    rows = {
        "title1": ["A?", "C?", None],
        "title2": ["B?", "D?", "E?"],
        "label": [1, 0, 1],
        "same": [True, False, True],
    }
    for table in (rows, pd.DataFrame(rows), pyarrow.table(rows), HuggingFaceLike(rows)):
        for label in ("label", "same"):
            found = read_pairs(table, columns=f"title1,title2,{label}")
            assert columns_of(found) == (["A?", "C?"], ["B?", "D?"], [True, False])
            assert found.report.count("empty") == 1
        assert read_questions(table, column="title2+title1").questions == ["B? A?", "D? C?", "E?"]
    floats = pd.DataFrame({"question1": ["a", "b"], "question2": ["c", "d"], "label": [1.0, None]})
    with pytest.raises(DataError, match=r"the DataFrame, row 2"):
        read_pairs(floats)
    with pytest.raises(DataError, match="several tables"):
        read_pairs(_dataset_dict())


def _dataset_dict():
    table = HuggingFaceLike({})
    table.column_names = {"train": ["question1"]}
    return table


def test_other_files_validate_and_test(tmp_path):
    path = written(tmp_path, "question1,question2,label\n" + "a,b,1\nc,d,0\n" * 5)
    pairs = read_pairs(path)
    pairs.question1[:] = list("abcdefghij")
    train, valid, test = split(pairs, how="rows", valid=pairs, test=pairs)
    assert train.question1 == pairs.question1 and valid is pairs and test is pairs
    shuffled = split(pairs, how="shuffled", test=pairs)[0]
    assert sorted(shuffled.question1) == sorted(pairs.question1) != shuffled.question1
    assert len(split(pairs, 4, test=pairs)[0]) == 4
    with pytest.raises(ArgumentError, match="test_rows"):
        split(pairs, test_rows=2, test=pairs)
    with pytest.raises(ArgumentError, match="clusters"):
        split(pairs, how="clusters", test=pairs)
