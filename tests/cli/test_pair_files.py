"""Answers for files of pairs: in order, part by part, stopped at a bad row or without it."""

import csv
import io
import json

import pytest
from small_models import make_detector, random_questions

from siamese.cli.pair_files import ANSWERS, QUESTIONS, answer_file
from siamese.data.readers.reading import ReadReport
from siamese.errors import DataError


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.4)


def answers(detector, path, bad_rows="refuse", **options):
    report = ReadReport(str(path), bad_rows=bad_rows)
    return list(answer_file(detector, path, report, **options)), report


@pytest.mark.parametrize("mark", ",;\t")
@pytest.mark.parametrize("names", ["question1,question2", "id,sentence1,sentence2", "key,a,b"])
def test_rows_are_answered_in_order_in_parts(detector, tmp_path, monkeypatch, mark, names):
    monkeypatch.setattr("siamese.cli.pair_files.CHUNK_ROWS", 7)
    texts = random_questions(60)
    pairs = [[f"n{i}", *texts[2 * i : 2 * i + 2]][-len(names.split(",")) :] for i in range(30)]
    out = io.StringIO()
    csv.writer(out, delimiter=mark).writerows([names.split(","), *pairs])
    path = tmp_path / "pairs"
    path.write_text(out.getvalue())
    lines, report = answers(detector, path, columns="a,b" if "key" in names else None)
    rows = list(csv.DictReader(lines))
    assert list(rows[0]) == [*QUESTIONS, *ANSWERS, *(["id"] if "id" in names else [])]
    assert [[row["question1"], row["question2"]] for row in rows] == [pair[-2:] for pair in pairs]
    assert [row.get("id") for row in rows] == [pair[0] if "id" in names else None for pair in pairs]
    expected = detector.similarity(texts[::2], texts[1::2]).tolist()
    assert [float(row["similarity"]) for row in rows] == pytest.approx(expected, abs=1e-6)
    assert [row["is_duplicate"] for row in rows] == ["01"[cosine > 0.4] for cosine in expected]
    assert report.rows == report.kept == 30


def test_json_lines_are_answered_by_json_lines(detector, tmp_path):
    path = tmp_path / "pairs"
    path.write_text('{"id": 7, "question2": "b\\nc", "question1": "a"}\n')
    lines, _ = answers(detector, path, threshold=-1.1)
    row = json.loads(lines[0])
    assert len(lines) == 1 and (row["question1"], row["question2"], row["id"]) == ("a", "b\nc", "7")
    assert row["is_duplicate"] is True and row["probability"] is None


def test_a_bad_row_stops_the_answers_or_is_left_out_and_counted(detector, tmp_path, monkeypatch):
    monkeypatch.setattr("siamese.cli.pair_files.CHUNK_ROWS", 2)
    path = tmp_path / "pairs.csv"
    path.write_text("question1,question2\na,b\nc,d\ne\n,f\ng,h\n")
    lines = []
    with pytest.raises(DataError, match=r"line 4: 1 field where .*--bad-rows skip"):
        lines.extend(answer_file(detector, path, ReadReport("pairs.csv")))
    assert [line.split(",")[0] for line in lines] == ["question1", "a", "c"]
    lines, report = answers(detector, path, bad_rows="skip")
    assert [line.split(",")[0] for line in lines] == ["question1", "a", "c", "g"]
    assert (report.rows, report.kept, report.count("bad"), report.count("empty")) == (5, 3, 1, 1)


def test_no_cell_is_a_formula_for_excel(detector, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("question1,question2\n=1+1,b\n")
    assert answers(detector, path, excel=True)[0][1].startswith("'=1+1,b,")


@pytest.mark.parametrize("content", ["a,b,c\n1,2,3\n", "how far?\n", ""])
def test_a_file_without_two_questions_is_refused(detector, tmp_path, content):
    path = tmp_path / "pairs.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=r"no column question1|is empty"):
        answers(detector, path)
