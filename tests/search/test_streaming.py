"""Streams of pairs: one line out for each line in, whatever the line holds."""

import csv
import gzip
import io
import json
import queue

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.errors import DataError
from siamese.search.streaming import ANSWERS, answer_stream, open_lines


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.4)


def answered(detector, text, **options):
    lines = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return list(answer_stream(detector, lines, **options))


def test_csv_answers_equal_the_detector(detector):
    one, two = random_questions(1200), random_questions(1200, seed=2)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["n", "question2", "question1"])
    writer.writerows([i, b + ', "x"', a] for i, (a, b) in enumerate(zip(one, two)))
    found = answered(detector, out.getvalue())
    assert len(found) == 1201 and all(good for _, good in found)
    rows = list(csv.DictReader(line for line, _ in found))
    assert list(rows[0]) == ["n", "question2", "question1", *ANSWERS]
    wanted = detector.similarity(one, [b + ', "x"' for b in two])
    np.testing.assert_allclose([float(r["similarity"]) for r in rows], wanted, atol=1e-5)
    assert [r["n"] for r in rows] == [str(i) for i in range(1200)]
    assert [r["is_duplicate"] for r in rows] == [
        str(int(float(r["similarity"]) > 0.4)) for r in rows
    ]


BAD = [
    (b'"how far\n', "a quote is not closed"),
    (b"\n", "blank"),
    (b",how far\n", "question1 is empty"),
    (b"how far,   \n", "question2 is empty"),
    (b"a,b,c\n", "3 fields, not 2"),
    (b"a\n", "1 fields, not 2"),
    (b"how \xff,far\n", "not UTF-8"),
]
BAD_JSON = [
    (b"{\n", "not JSON"),
    (b"5\n", "neither an object"),
    (b'["a"]\n', "neither an object"),
    (b'{"question1": "a"}\n', "no column question2"),
    (b'{"question1": "a", "question2": 5}\n', "question2 is not text"),
    (b'{"question1": null, "question2": "b"}\n', "question1 is empty"),
    (b"[" * 100_000 + b"\n", "not JSON"),
    (b"\xff\n", "not UTF-8"),
    (b"\n", "blank"),
]


@pytest.mark.parametrize(
    ("form", "line", "error"),
    [*(("csv", *case) for case in BAD), *(("json", *case) for case in BAD_JSON)],
)
def test_a_bad_line_does_not_stop_the_others(detector, form, line, error):
    if form == "csv":
        good = b"how far,how old\n"
        found = answered(detector, b"question1,question2\n" + good + line + good)
        rows = [None, *csv.DictReader(text for text, _ in found)]
    else:
        good = b'{"question1": "how far", "question2": "how old", "n": 1}\n'
        found = answered(detector, good + good + line + good)
        rows = [json.loads(text) for text, _ in found]
        assert rows[1]["n"] == 1
    assert [well for _, well in found] == [True, True, False, True]
    assert error in rows[2]["error"] and "line 3" in rows[2]["error"]
    assert rows[1] == rows[3] and not rows[1].get("error") and not rows[2].get("similarity")


def test_odd_content_stays_one_line_and_in_its_column(detector):
    odd = json.dumps({"question1": "how\nfar\u2028\u0085", "question2": "how \ud800 old"})
    ((line, _),) = answered(detector, odd)
    assert len(line.splitlines()) == 1 and line.encode()
    found = answered(detector, "question1,question2,is_duplicate\nhow far,how old,1\n")
    row = next(csv.DictReader(line for line, _ in found))
    assert row["is_duplicate"] == "1" and row["predicted_is_duplicate"] in "01"


def test_two_columns_need_no_header_and_other_files_are_refused(detector):
    assert answered(detector, "") == []
    for text in ("how far\thow old\n", '["how far", "how old"]'):
        assert [good for _, good in answered(detector, text)] == [True]
    for text in ("how far\n", "a,b,c\n"):
        with pytest.raises(DataError, match="line 1"):
            answered(detector, text)


def test_a_slow_writer_is_answered_at_once(detector):
    waiting = queue.Queue()
    answers = answer_stream(detector, iter(waiting.get, None))
    for _ in range(3):
        waiting.put(b'["how far", "how old"]\n')
        assert next(answers)[1]  # would wait for ever if it wanted a full batch
    waiting.put(None)
    assert list(answers) == []

    def broken():
        yield b'["how far", "how old"]\n'
        raise OSError(5, "gone")

    with pytest.raises(OSError, match="gone"):
        list(answer_stream(detector, broken()))


def test_gzip_is_unpacked_and_other_files_are_named(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a,b\nc,d\n"))
    assert list(open_lines(str(tmp_path / "a.gz"))) == [b"a,b\n", b"c,d\n"]
    with pytest.raises(DataError, match="no such file"):
        list(open_lines(str(tmp_path / "b")))
