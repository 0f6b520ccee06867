"""Tables go out as they came: with the list's delimiter, and so that Excel reads them."""

import csv
import io
from pathlib import Path

import pytest

QUESTIONS = ["how far", "how far ?", "Größe?", "rice", '=1+1 "a"; b', "rice !"]
COMMANDS = {
    "duplicates": ["duplicates", "a.csv", "--threshold", "-0.9"],
    "pairs": ["duplicates", "a.csv", "--threshold", "-0.9", "--pairs"],
    "match": ["match", "a.csv", "a.csv"],
}


@pytest.fixture
def write():
    def write(mark):
        with open("a.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=mark).writerows(
                [
                    ["id", "question", "by"],
                    *([n, q, "me"] for n, q in enumerate(QUESTIONS)),
                ]
            )

    return write


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("command", COMMANDS)
def test_csv_goes_out_with_the_delimiter_of_the_list(run, write, mark, command):
    write(mark)
    arguments = [*COMMANDS[command], "--model", "model"]
    assert run(*arguments, "--output", "out.csv")[0] == 0
    content = Path("out.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig")), delimiter=mark))
    assert len(rows) > 1 and len(set(map(len, rows))) == 1 and len(rows[0]) > 4
    code, out, _ = run(*arguments)
    assert code == 0 and list(csv.reader(io.StringIO(out), delimiter=mark)) == rows


def test_predictions_go_out_with_the_delimiter_of_the_pairs(run):
    Path("pairs.csv").write_text("question1;question2\nhow far;rice\n")
    run("predict", "model", "pairs.csv", "--output", "out.csv")
    assert Path("out.csv").read_text("utf-8-sig").startswith("question1;question2;")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_workbook_has_the_same_table(run, write, command):
    pytest.importorskip("xlsxwriter")
    calamine = pytest.importorskip("python_calamine")
    write(";")
    arguments = [*COMMANDS[command], "--model", "model"]
    assert run(*arguments, "--output", "out.xlsx")[0] == 0
    run(*arguments, "--output", "out.csv")
    expected = list(
        csv.reader(io.StringIO(Path("out.csv").read_text("utf-8-sig")), delimiter=";")
    )
    book = calamine.CalamineWorkbook.from_path("out.xlsx")
    cells = book.get_sheet_by_index(0).to_python()
    assert cells[0] == expected[0]
    assert len(cells) == len(expected)
    assert [row[1] for row in cells[1:]] == [
        type(own[1])(row[1]) for own, row in zip(cells[1:], expected[1:])
    ]
    texts = {cell for row in cells for cell in row if isinstance(cell, str)}
    assert {"how far", "how far ?"} <= texts
    assert command != "match" or '=1+1 "a"; b' in texts
    assert run(*arguments, "--output", "out.xlsx")[0] == 2  # It is there already.


def test_a_cell_that_no_sheet_holds_is_refused(run):
    pytest.importorskip("xlsxwriter")
    long = "far " * 9_000
    Path("a.csv").write_text(
        f"id,question,note\n1,how far,{long}\n2,how far ?,{long}\n"
    )
    command = ["duplicates", "a.csv", "--model", "model", "--threshold", "-0.9"]
    code, _, err = run(*command, "--output", "out.xlsx")
    assert code == 2 and "32,767" in err and not Path("out.xlsx").exists()
