"""Lists of questions in every format; faults are named."""

import json

import pytest

from siamese.data.question_list import read_questions
from siamese.errors import DataError


@pytest.mark.parametrize(
    ("name", "content", "ids", "columns"),
    [
        ("a.txt", "how far?\n\nhow, old?\n", None, None),
        ("a.csv", 'id,question,by\n7,how far?,me\n8,"",x\n9,"how, old?",you\n', ["7", "9"], "by"),
        ("a.tsv", "qid\ttext\tby\n7\thow far?\tme\n9\thow, old?\tyou\n", ["7", "9"], "by"),
        (
            "a.jsonl",
            '{"id": 7, "text": "how far?", "by": "me"}\n{"id": 9, "text": "how, old?", "by": "you"}\n',
            [7, 9],
            "by",
        ),
        ("a.csv", 'question1,question2\nhow far?,"how, old?"\n"how, old?",how far?\n', None, None),
    ],
)
def test_question_files(tmp_path, name, content, ids, columns):
    path = tmp_path / name
    path.write_text(content)
    found = read_questions(path)
    assert found.questions == ["how far?", "how, old?"]
    assert found.ids == ids
    assert found.columns == (columns and [{"by": "me"}, {"by": "you"}])


def test_question_file_faults_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("number,words\n1,how far?\n")
    with pytest.raises(DataError, match="number, words"):
        read_questions(path)
    assert read_questions(path, column="words", id_column="number").ids == ["1"]
    path.write_text('{"question": "how"}\n{"question": \n')
    with pytest.raises(DataError, match="line 2"):
        read_questions(path)
    path.write_text(json.dumps({"question": 5}) + "\n")
    with pytest.raises(DataError, match="not text"):
        read_questions(path)
