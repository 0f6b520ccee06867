"""Tab-separated files as they really are: cut lines, literal and CSV quotes."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese.data.delimited import csv_rows, tab_rows
from siamese.data.read_report import ReadReport
from siamese.errors import DataError

HEADER = ["id", "question1", "question2", "is_duplicate"]


def read_tabs(lines, all_quoted=False, chunk_rows=1000):
    report = ReadReport("file.tsv")
    found = list(tab_rows(iter(lines), HEADER, 3, all_quoted, report, chunk_rows))
    return [row for rows, _ in found for row in rows], [s for _, ss in found for s in ss], report


def filled(rows, count=400):
    """Enough good lines that a few broken ones are no reason to refuse the file."""
    return [*rows, *["0\tgood?\tfine?\t1\n"] * count]


def test_a_line_break_inside_a_literal_question_is_joined():
    rows, starts, report = read_tabs(
        filled(["1\tWhy\n", "is it so?\tHow come?\t1\n", "2\ta?\tb\n", "\n", "c?\t0\n"])
    )
    assert rows[:2] == [
        ["1", "Why\nis it so?", "How come?", "1"],
        ["2", "a?", "b\n\nc?", "0"],
    ]
    assert starts[:3] == [2, 4, 7]
    assert report.findings["newline"].lines == [2, 4] and report.count("broken") == 0


def test_pieces_that_fit_nowhere_are_kept_out_and_swallow_nothing():
    lines = ["1\tcut off\n", "2\ta?\tb?\t0\n", "a lone end?\t1\n", "3\ta?\tb?\t1\n", '4\t"open\n']
    rows, starts, report = read_tabs(filled(lines))
    assert [row[0] for row in rows[:2]] == ["2", "3"] and starts[:2] == [3, 5]
    assert len(rows) == 402
    assert report.findings["broken"].lines == [2, 4, 6]


def test_a_joined_row_must_end_in_a_label():
    # Two cut lines that happen to have the right number of tabs together.
    _, _, report = read_tabs(filled(["1\tcut\n", "2\tcut\tthere\n", "3\tcut\n"]))
    assert report.count("broken") == 3


def test_more_than_one_in_a_hundred_broken_lines_is_an_error():
    read_tabs(filled(["cut\n"] * 4, 396))
    with pytest.raises(
        DataError, match=r"file.tsv, line 2: 1 field where the header has 4.* 5 of 400"
    ):
        read_tabs(filled(["cut\n"] * 5, 395))


questions = st.text(st.sampled_from('ab,\t\n" '), max_size=8).filter(str.strip)


@given(st.lists(st.tuples(st.just("7"), questions, questions, st.sampled_from("01")), max_size=8))
def test_tabs_give_back_what_the_csv_module_wrote_with_all_quoted(rows):
    # A row with line breaks and tabs may have a piece that looks whole: a whole line always wins.
    rows = [list(row) for row in rows if not ("\n" in "".join(row) and "\t" in "".join(row))]
    text = io.StringIO()
    csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    got, _, report = read_tabs(io.StringIO(text.getvalue(), newline="\n"), all_quoted=True)
    assert [[*row[:3], row[3].strip('"')] for row in got] == rows
    assert report.count("broken") == 0


plain = st.text(st.sampled_from("ab\" '"), max_size=8)


@given(st.lists(st.tuples(st.just("7"), plain, plain, st.sampled_from("01")), max_size=8))
def test_literal_quotes_stay_unless_only_csv_could_have_written_them(rows):
    got, _, _ = read_tabs(["\t".join(row) + "\n" for row in rows])
    for row, read in zip(rows, got, strict=True):
        for field, value in zip(row, read):
            as_csv = next(csv.reader([field], delimiter="\t"), [""])[0] if field else ""
            assert value in (field, as_csv)
            if '""' not in field:
                assert value == field


@given(
    st.lists(st.tuples(st.just("7"), questions, questions, st.sampled_from("01")), max_size=8),
    st.integers(1, 5),
)
def test_csv_rows_equal_the_csv_module_and_start_where_they_start(rows, chunk_rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    lines = io.StringIO(text.getvalue(), newline="\n")
    found = list(csv_rows(lines, ",", HEADER, ReadReport("file.csv"), chunk_rows))
    assert [tuple(row) for part, _ in found for row in part] == rows
    reader, expected, line = csv.reader(io.StringIO(text.getvalue(), newline="\n")), [], 2
    for _ in reader:
        expected.append(line)
        line = 2 + reader.line_num
    assert [start for _, starts in found for start in starts] == expected
