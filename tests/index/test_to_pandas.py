"""`find_duplicates` and `to_pandas`: duplicates and hits as tables."""

import csv
import datetime
import sys

import pytest
from refusals import refuses

import siamese
from siamese import (
    ArgumentError,
    DataError,
    MissingDependencyError,
    QuestionIndex,
    duplicate_groups,
    find_duplicates,
    to_pandas,
)
from siamese.cli.main import main
from siamese.groups.table import GROUP_COLUMNS
from siamese.index import Hit

TEXTS = [
    "How do I learn to cook?",
    "How far is it to the moon?",
    "How can I learn to cook?",
    None,
    "how do i learn to cook ?",
]
DAYS = [datetime.date(2026, 1, day) for day in range(1, 6)]
COLUMNS = {
    "title": TEXTS,
    "number": list("edcba"),
    "day": DAYS,
    "keep": [1, 2, 3, 4, 5],
}
OWN = [*GROUP_COLUMNS, "row"]


def table_of(kind, columns=COLUMNS):
    if kind == "dict":
        return columns
    if kind == "dicts":
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    library = pytest.importorskip(kind, reason=f"needs {kind}")
    if kind == "pandas":
        rows = len(columns["title"])
        return library.DataFrame(columns, index=[7, 7, 8, 9, 9][:rows])
    return library.DataFrame(columns) if kind == "polars" else library.table(columns)


def dicts(table):
    """The rows of a table of any kind."""
    if isinstance(table, list):
        return table
    if isinstance(table, dict):
        return [dict(zip(table, row)) for row in zip(*table.values())]
    if hasattr(table, "to_pylist"):
        return table.to_pylist()
    return table.to_dict("records") if hasattr(table, "iloc") else table.to_dicts()


each_kind = pytest.mark.parametrize(
    "kind", ["dict", "dicts", "pandas", "polars", "pyarrow"]
)


@each_kind
def test_duplicates_come_as_a_table_of_the_same_kind_with_its_own_values(kind):
    table = table_of(kind)
    found = find_duplicates(table, id_column="number", keep="day=max")
    assert type(found) is type(table)
    rows = dicts(found)
    assert [list(row) for row in rows] == [[*OWN, "day", "column_keep"]] * 3
    assert [
        (row["id"], row["row"], row["day"], row["column_keep"]) for row in rows
    ] == [
        ("a", 4, DAYS[4], 5),
        ("e", 0, DAYS[0], 1),
        ("c", 2, DAYS[2], 3),
    ]
    assert [row["group"] for row in rows] == ["e"] * 3
    assert [(row["keep"], row["same_text"]) for row in rows] == [(1, 1), (0, 0), (0, 0)]
    assert rows[0]["similarity"] == 1 > rows[1]["similarity"] > 0.8


@each_kind
def test_the_columns_are_there_where_nothing_is_found(kind):
    table = table_of(kind, {name: own[1:4] for name, own in COLUMNS.items()})
    found = find_duplicates(table, threshold=1, column="title")
    assert type(found) is type(table) and dicts(found) == []
    if kind != "dicts":
        names = getattr(found, "column_names", getattr(found, "columns", found))
        assert list(names) == [*OWN, "day", "column_keep"]


def test_a_data_frame_keeps_its_index_and_the_types_of_its_columns():
    frame = table_of("pandas").astype({"keep": "Int32"})
    found = find_duplicates(frame)
    assert list(found.index) == [frame.index[row] for row in found["row"]]
    assert found["column_keep"].dtype == "Int32" and found["row"].dtype == int


def test_texts_need_no_table():
    found = find_duplicates(TEXTS)
    assert {row["question"] for row in found} == {TEXTS[0], TEXTS[2], TEXTS[4]}
    assert all(TEXTS[row["row"]] == row["question"] for row in found)
    assert list(found[0]) == OWN
    with refuses(DataError, "item 1"):
        find_duplicates([TEXTS[0], 5])


@pytest.mark.parametrize("model", ["use", None], ids=["a name", "a detector"])
def test_it_finds_what_the_command_finds(tmp_path, monkeypatch, model):
    """Of a file, and of a table that has its own column `row`."""
    rows = [
        {"id": str(at), "question": text or "", "row": f"r{at}"}
        for at, text in enumerate(TEXTS)
    ]
    with open(tmp_path / "q.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    monkeypatch.chdir(tmp_path)
    command = ["duplicates", "q.csv", "--threshold", "0.7", "--output", "groups.csv"]
    assert main(command) == 0
    with open("groups.csv", encoding="utf-8-sig", newline="") as file:
        written = list(csv.DictReader(file))
    detector = model or siamese.DuplicateDetector.pretrained()
    for source in (rows, "q.csv"):
        found = find_duplicates(source, threshold=0.7, model=detector)
        assert [{n: str(v) for n, v in row.items()} for row in found] == written != []


HIT_COLUMNS = [*Hit._fields[:-1]]


@pytest.fixture(scope="module")
def index():
    texts = [text for text in TEXTS if text]
    columns = [{"id": at, "by": "me"} for at in range(len(texts))]
    return QuestionIndex.build("use", texts, columns=columns)


def test_hits_as_a_data_frame(index):
    pytest.importorskip("pandas")
    hits = index.search("cooking for beginners", 2)
    frame = to_pandas(hits)
    assert list(frame) == [*HIT_COLUMNS, "column_id", "by"]
    assert list(frame["question"]) == [hit.question for hit in hits]
    assert list(frame["column_id"]) == [hit.columns["id"] for hit in hits]
    assert frame["is_duplicate"].dtype == bool and frame["probability"].isna().all()
    assert list(to_pandas(index.search("?"))) == HIT_COLUMNS

    asked = to_pandas(index.search(["cooking", "?", "the moon"], 2))
    assert list(asked) == ["query", *HIT_COLUMNS, "column_id", "by"]
    assert list(asked["query"]) == [0, 0, 2, 2]


def test_groups_as_a_data_frame(index):
    pytest.importorskip("pandas")
    snapshot = index.grouped()
    frame = to_pandas(snapshot)
    members = [member for group in snapshot.groups for member in group]
    assert sorted(frame["id"]) == sorted(str(member.row) for member in members)
    assert list(frame) == [*OWN[:-1], "column_id", "by"]
    places = to_pandas(duplicate_groups(index))
    assert list(places["row"]) == [member.row for member in members]
    assert list(places) == ["group", "row", "similarity"]


@pytest.mark.parametrize("wrong", [None, "hits", ["hits"], [["hits"]], {"a": 1}])
def test_other_things_are_no_data_frame(wrong):
    pytest.importorskip("pandas")
    with refuses(ArgumentError, "to_pandas"):
        to_pandas(wrong)


def test_without_pandas_its_package_is_named(index, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refuses(MissingDependencyError, "pip install pandas"):
        to_pandas(index.search("cooking"))
