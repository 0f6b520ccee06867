"""Files that were put one after another: rows are never read by the columns of another table."""

import io

import pytest
from refusals import refuses

from siamese.errors import DataError
from siamese.reading.pairs import read_pairs
from siamese.reading.questions import read_questions

FIRST = "id,question\n1,How do I log in?\n2,Where is my invoice?\n"
MORE = "id,question,by\n1,How far?,me\n"
ONE = "question\nHow do I log in?\n"
PAIRS = "question1,question2,is_duplicate\nHow far?,How near?,0\n"
PLAIN = "How do I log in?\n" * 60
# The first table, and one whose header begins at the line.
OTHERS = {
    "another order": (FIRST, "question,id\nHow far?,3\n", 4),
    "another order and case": (FIRST, "QUESTION, Id\nHow far?,3\n", 4),
    "another order after a mark": (FIRST, "\ufeffquestion,id\nHow far?,3\n", 4),
    "another order in quotes": (FIRST, '"question","id"\n"How far?",3\n', 4),
    "another order of three": (MORE, "question,by,id\nHow near?,you,3\n", 3),
    "another order and other line ends": (FIRST, "question,id\r\nHow far?,3\r\n", 4),
    "another order after blank lines": (FIRST, "\n\nquestion,id\nHow far?,3\n", 6),
    "another name": (FIRST, "id,text\n3,How far?\n", 4),
    "other names": (FIRST, "text,qid\nHow far?,3\n", 4),
    "another last column": (MORE, "id,question,topic\n3,How near?,ways\n", 3),
    "one column more": (FIRST, "id,question,by\n3,How far?,me\n", 4),
    "one column more before": (FIRST, "by,id,question\nme,3,How far?\n", 4),
    "one column less": (MORE, "id,question\n3,How near?\n", 3),
    "semicolons": (FIRST, "id;question\n3;How far?\n", 4),
    "tabs": (FIRST, "id\tquestion\n3\tHow far?\n", 4),
    "bars and another order": (FIRST, "question|id\nHow far?|3\n", 4),
    "several columns after one": (ONE, "id,question\n3,How far?\n", 3),
    "semicolons after one column": (ONE, "id;question\n3;How far?\n", 3),
    "a table after plain text": (PLAIN, "id,question\n3,How far?\n", 61),
    "pairs, swapped": (PAIRS, "question2,question1,is_duplicate\nc,d,0\n", 3),
    "pairs, the label first": (PAIRS, "is_duplicate,question1,question2\n0,c,d\n", 3),
    "pairs, another label": (PAIRS, "question1,question2,label\nc,d,0\n", 3),
    "pairs and ids": (PAIRS, "id,question1,question2,is_duplicate\n7,c,d,0\n", 3),
}
SAME = {
    "the same header": (FIRST, "id,question\n3,How far?\n", 3),
    "the same in another case": (FIRST, "ID,Question\n3,How far?\n", 3),
    "the same after a mark": (FIRST, "\ufeffid,question\n3,How far?\n", 3),
    "the same in quotes": (FIRST, '"id","question"\n3,"How far?"\n', 3),
    "names as questions": (FIRST, "3,question\n4,id\nid,How far?\n", 5),
    "names as other cells": ("id,question,open,new\n", "1,How far?,new,open\n2,Why?,new,new\n", 2),
    "a glossary": ("number,word\n", "1,title\nquestion,Frage\nsubject,Betreff\n", 3),
    "a glossary as plain text": (PLAIN, "question;Frage\n", 61),
    "a name as plain text": (PLAIN, "question\nid and question\nquestion: id?\n", 63),
    "JSON Lines of other keys": ('{"id": 1, "question": "A b?"}\n', '{"question": "id", "id": 2}\n', 2),
}  # fmt: skip


@pytest.mark.parametrize("bad_rows", ["refuse", "skip"])
@pytest.mark.parametrize("kind", OTHERS)
def test_another_header_is_refused_with_its_line(tmp_path, kind, bad_rows):
    first, second, line = OTHERS[kind]
    path = tmp_path / "joined.csv"
    path.write_bytes((first + second).encode())
    read = read_pairs if first == PAIRS else read_questions
    with pytest.raises(DataError) as error:
        read(path, bad_rows=bad_rows)
    assert f"line {line}" in str(error.value)


@pytest.mark.parametrize("kind", SAME)
def test_the_same_header_and_its_words_in_cells_are_read(tmp_path, kind):
    first, second, count = SAME[kind]
    path = tmp_path / "joined.csv"
    path.write_bytes((first + second).encode())
    result = read_questions(path, column="word" if kind == "a glossary" else None)
    assert len(result.questions) == count
    assert result.report.counts["header"] == ("the same" in kind)


def test_a_sheet_of_two_tables_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    rows = [["question", "id"], ["How far?", 3]]
    table = pd.DataFrame([[1, "How do I log in?"], *rows], columns=["id", "question"])
    with pytest.raises(DataError):
        read_questions(table)


def test_another_header_far_below_is_found(tmp_path):
    text = io.StringIO()
    text.write("id,question\n")
    text.writelines(f"{n},How do I log in {n} times?\n" for n in range(5000))
    text.write("question,id\nHow far?,x\n")
    path = tmp_path / "joined.csv"
    path.write_text(text.getvalue())
    with refuses(DataError, str(path), "line 5,002"):
        read_questions(path)
