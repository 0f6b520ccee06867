"""Files of pairs: one line out for each record in, whatever the record holds."""

import csv
import gzip
import json
import os
import threading

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.data.files import ReadReport
from siamese.errors import DataError
from siamese.search.streaming import ANSWERS, answer_file


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.4)


@pytest.fixture
def answered(detector, tmp_path):
    def answer(content, **options):
        path = tmp_path / "pairs"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        answer.report = ReadReport("pairs")
        return list(answer_file(detector, path, answer.report, **options))

    return answer


def rows_of(found):
    return list(csv.DictReader(line for line, _ in found))


def test_csv_answers_equal_the_detector(detector, answered):
    one, two = random_questions(1200), random_questions(1200, seed=2)
    lines = [f'{i},"{b}, ""x""",{a}\n' for i, (a, b) in enumerate(zip(one, two))]
    found = answered(gzip.compress("".join(["n,question2,question1\n", *lines]).encode()))
    assert len(found) == 1201 and all(good for _, good in found)
    rows = rows_of(found)
    assert list(rows[0]) == ["n", "question2", "question1", *ANSWERS]
    wanted = detector.similarity(one, [b + ', "x"' for b in two])
    cosines = np.array([float(row["similarity"]) for row in rows])
    np.testing.assert_allclose(cosines, wanted, atol=1e-5)
    assert [row["n"] for row in rows] == [str(i) for i in range(1200)]
    assert [row["is_duplicate"] == "1" for row in rows] == (cosines > 0.4).tolist()


BAD = {
    b"question1,question2\n": [
        (b",how far\n", "question1 is empty"), (b"how far,   \n", "question2 is empty"),
        (b"a,b,c\n", "3 fields where"), (b'"a\n', "1 field where"),
    ],
    b"": [
        (b"{\n", "not JSON"), (b"5\n", "neither an object"), (b'["a"]\n', "neither an object"),
        (b'{"question1": "a"}\n', "no column question2"),
        (b'{"question1": "a", "question2": 5}\n', "question2 is not text"),
        (b'{"question1": null, "question2": "b"}\n', "question1 is empty"),
        (b'{"question1": "a", "question1": "b", "question2": "c"}\n', "stands there twice"),
        (b"[" * 100_000 + b"\n", "not JSON"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("header", "line", "error"), [(h, *case) for h in BAD for case in BAD[h]])
def test_a_bad_record_does_not_stop_the_others(answered, header, line, error):
    good = b'{"question1": "how far", "question2": "how old", "n": 1}\n'
    content = good + good + line + good
    if header:
        good = b"how far,how old\n"
        content = header + good + line + good
        rows = [None, *rows_of(answered(content))]
    else:
        rows = [json.loads(text) for text, _ in answered(content)]
        assert rows[1]["n"] == 1
    assert error in rows[2]["error"] and "line 3" in rows[2]["error"]
    assert rows[1] == rows[3] and not rows[1].get("error") and not rows[2].get("similarity")
    assert [good for _, good in answered(content)] == [True, True, False, True]
    assert [good for _, good in answered(content, bad_rows="skip")] == [True] * 3
    assert answered.report.count("bad") == 1


def test_records_are_answered_and_not_lines(answered):
    rows = rows_of(answered('question1,question2\n"how\nfar, then",how old\nhow,"far"\n'))
    assert [row["question1"] for row in rows] == ["how far, then", "how"]
    assert answered.report.findings["newline"].lines == [2]
    long = "how far " * 20_000
    assert [good for _, good in answered(f"{long},how\nhow,{long}\n")] == [True, True]
    odd = json.dumps({"question1": "how\nfar\u2028\u0085", "question2": "how \ud800 old"})
    ((line, _),) = answered(odd)
    assert len(line.splitlines()) == 1 and line.encode()


def test_a_first_line_that_names_the_columns_is_a_header(answered):
    for header in ("title1,title2", "q_a;q_b", "Text 1\tText 2", "sentence1,sentence2"):
        mark = next(mark for mark in ",;\t" if mark in header)
        found = answered(f"{header}\nhow far{mark}how old\n")
        assert found[0][0].split(mark)[:3] == [*header.split(mark), "is_duplicate"]
        assert len(found) == 2 and not answered.report.findings
    (row,) = rows_of(answered("question1,question2,is_duplicate\nhow far,how old,1\n"))
    assert row["is_duplicate"] == "1" and row["predicted_is_duplicate"] in "01"


def test_two_columns_need_no_header_and_other_files_are_refused(answered):
    for text in ("how far\thow old\n", "how,far\n", '["how far", "how old"]'):
        assert [good for _, good in answered(text)] == [True]
        assert answered.report.count("no_header") == (text[0] != "[")
    bomb = gzip.compress(b"how far,how old\n" + b"a" * (20 << 20))
    for text, what in (
        ("how far\n", "line 1"),
        ("a,b,c\n", "line 1"),
        ("", "is empty"),
        (bomb, "line 2 is longer than 16 MiB"),  # before it fills the memory
    ):
        with pytest.raises(DataError, match=what):
            answered(text)


def test_a_slow_writer_is_answered_at_once(detector):
    reader, writer = os.pipe()
    with open(writer, "wb", buffering=0) as file, open(reader, closefd=True):
        file.write(b'["how far", "how old"]\n')
        answers = answer_file(detector, f"/dev/fd/{reader}", ReadReport("pipe"))
        assert next(answers)[1]  # would wait for ever if it wanted a full block
        file.write(b'["how far", "how old"]\n["how", "how"]\n')
        assert next(answers)[1] and next(answers)[1]
        threading.Thread(target=file.close).start()
        assert list(answers) == []
