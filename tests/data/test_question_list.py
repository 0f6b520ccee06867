"""Lists of questions in every format; faults are named."""

import pytest

from siamese.data.question_list import read_questions
from siamese.errors import DataError

TWO = ["how far?", "how, old?"]
BY = [{"by": "me"}, {"by": "you"}]
GIVES = {  # name of the file, content, questions, ids, other columns, how many were empty
    "text": ("a.txt", "how far?\n\nhow, old?\n", TWO, None, None, 1),
    "a first line like a name": ("a.txt", "text\nhow far?\n", ["how far?"], None, None, 0),
    "CSV": ("a.csv", 'id,question,by\n7,how far?,me\n8,"",x\n9,"how, old?",you\n', TWO,
            ["7", "9"], BY, 1),
    "tabs": ("a.tsv", "qid\ttext\tby\n7\thow far?\tme\n9\thow, old?\tyou\n", TWO, ["7", "9"], BY, 0),
    "semicolons": ("a", "Title;by\nhow far?;me\nhow, old?;you\n", TWO, None, BY, 0),
    "JSON Lines": ("a", '{"id": 7, "text": "how far?", "by": "me"}\n\n{"id": 8, "text": null}\n'
                   '{"id": 9, "text": "how, old?", "by": "you"}\n', TWO, [7, 9], BY, 1),
    "pairs": ("a.csv", 'question1,question2\nhow far?,"how, old?"\n"how, old?",\n', TWO, None, None,
              1),
    "JSON pairs": ("a", '{"question1": "how far?", "question2": "how, old?"}\n', TWO, None, None, 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", GIVES)
def test_this_file_gives_these_questions(tmp_path, kind):
    name, content, questions, ids, columns, left_out = GIVES[kind]
    (tmp_path / name).write_text(content)
    found = read_questions(tmp_path / name)
    assert (found.questions, found.ids, found.columns) == (questions, ids, columns)
    assert found.left_out == left_out


REFUSED = {
    "no known column": ("number,words\n1,how far?\n", {}, "line 1: .*number, words.*--column"),
    "no such column": ("question\nhow\n", {"column": "words"}, "line 1: .*'words'"),
    "no such id": ("question\nhow\n", {"id_column": "number"}, "line 1: .*'number'"),
    "an empty id": ("id,question\n,how\n", {}, "line 2: no id"),
    "too many fields": ("id,question\n1,how,far\n", {}, "line 2: 3 fields"),
    "two columns of questions": ("title,text\nhow,far\n", {}, "line 1: title and text may each"),
    "one name twice": ("question,question\nhow,far\n", {}, "line 1: two columns have one name"),
    "cut JSON": ('{"question": "how"}\n{"question": \n', {}, "line 2.*not JSON"),
    "a JSON list": ('{"question": "how"}\n[1]\n', {}, "line 2: not a JSON object"),
    "a number": ('{"question": 5}\n', {}, "line 1: question is 5, not text"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_this_file_is_refused_with_this_line(tmp_path, kind):
    content, options, what = REFUSED[kind]
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=what):
        read_questions(tmp_path / "a.csv", **options)


FRED = '1\t"What is this thing?\n2\tHow are you today?\n3\tIs it called "Fred"\n4\tWhere is it?\n'


@pytest.mark.parametrize("mark", "\t,;")
def test_a_stray_quote_joins_no_rows_and_stays(tmp_path, mark):
    (tmp_path / "a").write_text(
        ("id\tquestion\n" + FRED + '5\t"Hello" is what?\n').replace("\t", mark)
    )
    found = read_questions(tmp_path / "a")
    assert found.questions == ['"What is this thing?', "How are you today?", 'Is it called "Fred"',
                               "Where is it?", '"Hello" is what?']  # fmt: skip
    assert list(found.report.findings) == ([] if mark == "\t" else ["quote"])


def test_what_was_mended_is_reported_and_bad_rows_can_be_skipped(tmp_path):
    (tmp_path / "a.csv").write_bytes("id,question\n1,Où?\n2,how,far\n3,\n4,how\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 3: 3 fields"):
        read_questions(tmp_path / "a.csv")
    found = read_questions(tmp_path / "a.csv", bad_rows="skip")
    assert found.questions == ["O\ufffd?", "how"] and found.left_out == 1
    kinds = {kind: finding.lines for kind, finding in found.report.findings.items()}
    assert kinds == {"bytes": [2], "bad": [3], "empty": [4]}


def test_columns_can_be_named(tmp_path):
    (tmp_path / "a").write_text("Number,Words\n1,how far?\n")
    found = read_questions(tmp_path / "a", column="words", id_column="number")
    assert (found.questions, found.ids) == (["how far?"], ["1"])
