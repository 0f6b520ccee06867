"""A column of links "duplicate of" gives pairs of duplicates; an empty link is none."""

from pathlib import Path

import pytest

from siamese.errors import DataError
from siamese.reading.pairs import read_pairs
from siamese.reading.questions import read_questions

TABLE = {
    "id": ["1", "2", "3", "4", "5"],
    "title": ["how far", "how old", "rice ?", "learn to cook", "what is this"],
    "duplicate_of": ["", None, "1", "  ", 2],
}
NAMES = "duplicate_of|Duplicate of|duplicateOf|Duplicate-ID|dup_of|Duplikat von|Closed as duplicate of"


def texts(table):
    questions = read_questions(table)
    return dict(zip(questions.ids, questions.questions))


@pytest.mark.parametrize("name", NAMES.split("|"))
def test_a_column_of_links_is_found(name):
    table = {
        name if own == "duplicate_of" else own: values for own, values in TABLE.items()
    }
    pairs = read_pairs(table, texts=texts(table))
    assert list(zip(pairs.question1, pairs.question2)) == [
        ("rice ?", "how far"),
        ("what is this", "how old"),
    ]
    assert pairs.is_duplicate.all()
    assert pairs.report.counts["linkless"] == 3
    assert "3 rows without a link" in str(pairs.report)


def test_columns_that_are_named_may_have_empty_links():
    pairs = read_pairs(TABLE, texts=texts(TABLE), columns="id,duplicate_of")
    assert len(pairs) == 2 and pairs.report.counts["linkless"] == 3


def test_a_link_to_a_question_that_is_not_there_is_refused():
    table = TABLE | {"duplicate_of": ["", "", "9", "", ""]}
    with pytest.raises(DataError):
        read_pairs(table, texts=texts(table))
    assert (
        len(
            read_pairs(
                TABLE | {"duplicate_of": ["", "9", "1", "", ""]},
                texts=texts(TABLE),
                bad_rows="skip",
            )
        )
        == 1
    )


def test_training_finds_the_links_of_a_list(run):
    rows = [f"{n},how far is {n},{n - 1 if n % 2 else ''}" for n in range(60)]
    Path("posts.csv").write_text("\n".join(["id,title,duplicate_of", *rows]))
    code, _, err = run("train", "--questions", "posts.csv", "--output", "runs")
    assert code == 0, err
    assert "30 rows without a link" in err
