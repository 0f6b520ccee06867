"""Every format a file of question pairs comes in, and every bad file with the message a user sees."""

import csv
import gzip
import io
import json

import pytest

from siamese.data.pairs import iter_pairs, read_pairs
from siamese.errors import ArgumentError, DataError

HEADER = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
ROWS = [
    ["0", "1", "2", "How far is the moon?", "What is the distance to the moon?", "1"],
    ["1", "3", "4", 'What does "sic" mean?', "Is it cold, wet and dark there?", "0"],
    ["2", "5", "6", "Why?\nReally, why?", "How\tcome?", "1"],
    ["3", "7", "8", '"Quoted as a whole"', "Où est la gare — là?", "0"],
]
PLAIN_ROWS = [row for row in ROWS if "\n" not in row[3]]


def delimited(rows=ROWS, header=HEADER, **options):
    text = io.StringIO()
    writer = csv.writer(text, **{"lineterminator": "\n", **options})
    writer.writerows([header, *rows])
    return text.getvalue()


def literal_tab(rows):
    return "".join("\t".join(row) + "\n" for row in [HEADER, *rows])


def write(folder, content, name="pairs.dat"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows_of(pairs):
    columns = (pairs.ids, pairs.qid1, pairs.qid2, pairs.question1, pairs.question2)
    labels = [str(int(label)) for label in pairs.is_duplicate]
    return [list(map(str, row)) for row in zip(*columns, labels)]


def message_of(path, **options):
    with pytest.raises(DataError) as caught:
        read_pairs(path, **options)
    return str(caught.value)


# -- Formats ----------------------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    "content",
    [
        delimited(),
        delimited(quoting=csv.QUOTE_ALL),
        delimited(quoting=csv.QUOTE_NONNUMERIC),
        delimited(delimiter=";"),
        delimited(delimiter="\t"),
        delimited(delimiter="\t", quoting=csv.QUOTE_ALL),
    ],
    ids=["course", "quote-all", "quote-text", "semicolons", "quora-tsv", "quora-tsv-quote-all"],
)
def test_delimited_files_give_the_rows_that_were_written(tmp_path, content, zipped):
    data = content.encode()
    # The name says nothing, and must not matter.
    path = write(tmp_path, gzip.compress(data) if zipped else data, "anything.xyz")
    assert rows_of(read_pairs(path)) == ROWS
    assert [row for part in iter_pairs(path, chunk_rows=3) for row in rows_of(part)] == ROWS


def test_kaggle_columns_in_another_order_and_case(tmp_path):
    order = [5, 4, 3, 0, 1, 2]
    header = [HEADER[i].upper() + " " for i in order]
    path = write(tmp_path, delimited([[row[i] for i in order] for row in ROWS], header))
    assert rows_of(read_pairs(path)) == ROWS


def test_only_the_three_needed_columns(tmp_path):
    pairs = read_pairs(write(tmp_path, delimited([row[3:] for row in ROWS], HEADER[3:])))
    assert pairs.question1 == [row[3] for row in ROWS]
    assert list(pairs.ids) == [0, 1, 2, 3] and pairs.qid1 is None


def test_tab_file_with_literal_quotes_keeps_them(tmp_path):
    # As GLUE's QQP is read (quoting=QUOTE_NONE): quotes are letters like any other.
    rows = [
        ["0", "1", "2", '"Quoted as a whole"', 'He said "no" to "what"?', "0"],
        ["1", "3", "4", '"Yes" or "no"', 'An inch is 1"', "1"],
        ["2", "5", "6", '"Never closed', '""', "1"],
    ]
    pairs = read_pairs(write(tmp_path, literal_tab(rows)))
    assert rows_of(pairs) == rows[:2]  # the third has a question of two quotes and nothing in them
    assert pairs.report.findings["empty"].lines == [4]


def test_tab_file_with_csv_quotes_loses_them_and_no_others(tmp_path):
    rows = [["0", "1", "2", '"Quoted"', 'What does "sic" mean?', "1"]] * 2
    text = delimited(rows, delimiter="\t")
    assert '"What does ""sic"" mean?"' in text
    assert rows_of(read_pairs(write(tmp_path, text))) == rows


def test_json_lines(tmp_path):
    lines = [dict(zip(HEADER, [*map(int, row[:3]), *row[3:5], int(row[5])])) for row in ROWS]
    lines[1]["is_duplicate"] = False
    content = "\n".join(map(json.dumps, lines))
    assert rows_of(read_pairs(write(tmp_path, content))) == ROWS
    assert rows_of(read_pairs(write(tmp_path, gzip.compress(content.encode())))) == ROWS
    other = "\n".join(json.dumps({"sentence1": "a", "sentence2": "b", "label": n}) for n in (0, 1))
    assert read_pairs(write(tmp_path, other)).is_duplicate.tolist() == [False, True]


def test_two_text_files_are_all_duplicates(tmp_path):
    one = write(tmp_path, "Why me?\nHow far?\n", "1.txt")
    two = write(tmp_path, gzip.compress(b"Why is it me?\nHow far is it?"), "2.txt")
    pairs = read_pairs((one, two))
    assert pairs.question1 == ["Why me?", "How far?"]
    assert pairs.question2 == ["Why is it me?", "How far is it?"]
    assert pairs.is_duplicate.all()
    assert [len(part) for part in iter_pairs([one, two], chunk_rows=1)] == [1, 1]


def test_format_can_be_insisted_on(tmp_path):
    path = write(tmp_path, delimited())
    assert len(read_pairs(path, format="csv")) == 4
    assert "no column question1" in message_of(path, format="tsv")
    assert "not JSON" in message_of(path, format="jsonl")
    with pytest.raises(ArgumentError, match="csv, tsv, jsonl, parquet, text"):
        read_pairs(path, format="xml")
    with pytest.raises(ArgumentError, match=r"\(path1, path2\)"):
        read_pairs(path, format="text")
    with pytest.raises(ArgumentError, match="3 paths"):
        read_pairs((path, path, path))


# -- What real files hold ---------------------------------------------------------------------

KINDS = ["clean", "empty", "newline", "bytes", "nul", "crlf", "bom", "blank", "carriage_return"]
KINDS += ["repeated", "contradicting"]


def file_with(kind):
    """A CSV of four rows with one oddity in the third (line 4), and what is then read."""
    rows = [list(row) for row in PLAIN_ROWS]
    rows.insert(2, ["9", "20", "21", "Is this odd?", "Is this row odd?", "1"])
    expected = [list(row) for row in rows]
    if kind == "empty":
        rows[2][3] = "  "
        del expected[2]
    elif kind == "newline":
        rows[2][3] = expected[2][3] = "Is this\nodd?"
    elif kind == "bytes":
        rows[2][3], expected[2][3] = "Is this BYTE odd?", "Is this \N{REPLACEMENT CHARACTER} odd?"
    elif kind == "nul":
        rows[2][3], expected[2][3] = "Is \0this odd?", "Is this odd?"
    elif kind == "carriage_return":
        rows[2][3], expected[2][3] = "Is this RETURN odd?", "Is this   odd?"
    elif kind == "repeated":  # the other way round
        rows[2][3], rows[2][4], rows[2][5] = rows[0][4], rows[0][3], rows[0][5]
        expected[2] = rows[2]
    elif kind == "contradicting":
        rows[2][3:] = expected[2][3:] = [rows[0][3], rows[0][4], "0"]
    data = delimited(rows).encode().replace(b"BYTE", b"\x92").replace(b"RETURN", b"\r")
    if kind == "crlf":
        data = data.replace(b"\n", b"\r\n")
    elif kind == "bom":
        data = b"\xef\xbb\xbf" + data
    elif kind == "blank":
        lines = data.split(b"\n")
        data = b"\n".join([*lines[:3], b"", *lines[3:]])
    return data, expected


@pytest.mark.parametrize("kind", KINDS)
def test_oddities_are_handled_counted_and_refused_when_strict(tmp_path, kind):
    data, expected = file_with(kind)
    path = write(tmp_path, data)
    pairs = read_pairs(path)
    assert rows_of(pairs) == expected
    if kind == "clean":
        assert pairs.report.clean and rows_of(read_pairs(path, strict=True)) == expected
        return
    counts = {found: pairs.report.count(found) for found in pairs.report.findings}
    lines = pairs.report.findings[kind].lines
    assert counts == {kind: 5 if kind == "crlf" else 1}
    assert lines == ([1, 2, 3, 4, 5] if kind == "crlf" else [1] if kind == "bom" else [4])
    refusal = message_of(path, strict=True)
    assert str(path) in refusal and pairs.report.finding_lines()[0] in refusal


JSON_LINE = b'{"question1": "Is this odd?", "question2": "Is it?", "is_duplicate": 1}\n'


@pytest.mark.parametrize(
    "kind, odd",
    [
        ("empty", JSON_LINE.replace(b"Is this odd?", b"")),
        ("bytes", JSON_LINE.replace(b"Is it?", b"Is\x92it?")),
        ("nul", JSON_LINE.replace(b"Is it?", b"Is \0it?")),
        ("crlf", JSON_LINE.replace(b"\n", b"\r\n")),
        ("carriage_return", JSON_LINE.replace(b", ", b",\r")),
        ("blank", b"\n"),
        ("repeated", JSON_LINE),
        ("contradicting", JSON_LINE.replace(b"1}", b"0}")),
    ],
)
def test_the_same_oddities_in_json_lines(tmp_path, kind, odd):
    other = JSON_LINE.replace(b"Is it?", b"Is it so?")
    path = write(tmp_path, JSON_LINE + other + odd)
    pairs = read_pairs(path)
    assert len(pairs) == (2 if kind in ("empty", "blank") else 3)
    assert pairs.report.findings.pop(kind).lines == [3]
    assert set(pairs.report.findings) <= {"repeated"}  # the mended row equals the first
    assert "(line 3)" in message_of(path, strict=True)


def test_report_reads_well(tmp_path):
    rows = [["0", "1", "2", "a?", "", "0"]] * 7 + [["7", "3", "4", "a?", "b?", "1"]]
    report = read_pairs(write(tmp_path, delimited(rows))).report
    assert str(report).split("pairs.dat")[1] == (
        ": 8 rows read, 1 pairs kept (CSV with Quora's columns)\n"
        "  7 rows with an empty question (lines 2, 3, 4, 5, 6, …): kept out of the pairs"
    )
    assert report.as_dict()["findings"] == {"empty": {"count": 7, "lines": [2, 3, 4, 5, 6]}}


def test_line_numbers_hold_far_into_a_file_and_after_multi_line_rows(tmp_path):
    rows = [["0", "1", "2", f"Question\n{i}?", "And\nthis\none?", "1"] for i in range(40_000)]
    rows[39_000][4] = ""
    pairs = read_pairs(write(tmp_path, delimited(rows)))
    assert pairs.report.findings["empty"].lines == [2 + 39_000 * 4]
    rows[39_000][4], rows[39_500][5] = "x?", "7"
    assert f"line {2 + 39_000 * 4 + 2 + 499 * 4:,}: is_duplicate is '7'" in message_of(
        write(tmp_path, delimited(rows))
    )


def test_old_mac_line_ends(tmp_path):
    path = write(tmp_path, delimited(PLAIN_ROWS).replace("\n", "\r"))
    assert rows_of(read_pairs(path)) == PLAIN_ROWS


# -- Bad files, with what the user sees -------------------------------------------------------


def test_missing_file_directory_and_empty_file(tmp_path):
    assert message_of(tmp_path / "no.csv") == f"{tmp_path}/no.csv: there is no such file."
    assert message_of(tmp_path) == (
        f"{tmp_path} is a directory; give the file with the question pairs."
    )
    empty = write(tmp_path, "")
    for content in (b"", b"\xef\xbb\xbf", b" \n\n", gzip.compress(b"")):
        empty.write_bytes(content)
        assert message_of(empty) == f"{empty} is empty."
    empty.write_text(",".join(HEADER))
    assert message_of(empty) == f"{empty} has no rows after its header."
    empty.write_text(delimited([["0", "1", "2", "", "b?", "1"]]))
    assert "has no usable pair" in message_of(empty)
    assert "(line 2): kept out of the pairs" in message_of(empty)


def test_missing_columns_say_which_were_found(tmp_path):
    path = write(tmp_path, "test_id,question1,question2\n0,a?,b?\n")
    assert message_of(path) == (
        f"{path}, line 1: no column is_duplicate; found: test_id, question1, question2. Question "
        "pairs need the columns question1, question2, is_duplicate. This is perhaps a test file "
        "that was published without labels."
    )
    path.write_text("a fine day\nand another\n")
    assert "line 1: no column question1 or question2 or is_duplicate; found: a fine day." in (
        message_of(path)
    )
    path.write_text("question1,question1,question2,label\na,b,c,1\n")
    assert "line 1: question1 stands in two columns (question1 and question1)" in message_of(path)
    path.write_text('{"question1": "a", "is_duplicate": 1}\n')
    assert "no column question2; found: question1, is_duplicate" in message_of(path)


@pytest.mark.parametrize("start", ["<!DOCTYPE html>", "\n <html lang='en'>", "\ufeff<HTML>"])
def test_web_page_saved_as_csv(tmp_path, start):
    path = write(tmp_path, start + "<body>Please log in, question1</body></html>")
    assert f"{path}, line 1: this is a web page, not question pairs" in message_of(path)


def test_truncated_and_damaged_gzip(tmp_path):
    rows = [["0", "1", "2", f"Question {i * i}?", f"Query {i}?", "1"] for i in range(200_000)]
    data = gzip.compress(delimited(rows).encode(), 1)
    path = write(tmp_path, data[:-4000])
    message = message_of(path)
    after = int(message.split("after line ")[1].split(":")[0].replace(",", ""))
    assert message.startswith(f"{path}, after line") and 100_000 < after < 200_000
    assert "the gzip stream ends too early: the file was cut short" in message
    path.write_bytes(data[:30])
    assert "after line 0: the gzip stream ends too early" in message_of(path)
    path.write_bytes(data[:-8] + b"\0\0\0\0" + data[-4:])
    assert "the gzip stream is damaged (CRC check failed" in message_of(path)
    path.write_bytes(data + b"more")
    assert "the gzip stream is damaged" in message_of(path)


@pytest.mark.parametrize("label", ["2", "-1", "duplicate", "yes", "", "0.5", "nan"])
def test_labels_that_are_neither_0_nor_1(tmp_path, label):
    rows = [list(row) for row in PLAIN_ROWS]
    rows[1][5] = label
    for delimiter in ",\t":
        path = write(tmp_path, delimited(rows, delimiter=delimiter))
        assert message_of(path) == (
            f"{path}, line 3: is_duplicate is {label!r}; it must be 0 (different questions) or 1 "
            "(duplicates)."
        )
    path = write(tmp_path, '{"question1": "a", "question2": "b", "is_duplicate": 2}')
    assert f"{path}, line 1: is_duplicate is 2; it must be" in message_of(path)


def test_labels_as_pandas_writes_them(tmp_path):
    rows = [[*row[:5], row[5] + ".0"] for row in PLAIN_ROWS]
    assert rows_of(read_pairs(write(tmp_path, delimited(rows)))) == PLAIN_ROWS


def test_too_few_and_too_many_fields(tmp_path):
    columns = ", ".join(HEADER)
    for delimiter, advice in ((",", " A question that holds a comma or a quote must stand in quotes."),
                              ("\t", " 1 of 3 lines so far are like this.")):  # fmt: skip
        lines = delimited(PLAIN_ROWS, delimiter=delimiter).split("\n")
        lines[2] = delimiter.join("abcd")
        path = write(tmp_path, "\n".join(lines))
        assert message_of(path) == (
            f"{path}, line 3: 4 fields where the header has 6 ({columns}).{advice}"
        )
        lines[2] = delimiter.join("abcdefgh")
        path = write(tmp_path, "\n".join(lines))
        assert message_of(path) == (
            f"{path}, line 3: 8 fields where the header has 6 ({columns}).{advice}"
        )


def test_a_quote_never_closed(tmp_path):
    rows = delimited(PLAIN_ROWS * 3).split("\n")
    broken = '5,1,2,"Who am I?,Who are you?,1'  # the closing quote is missing
    # The next quote is at the start of a later question, whose row then has the right field count.
    path = write(tmp_path, "\n".join([*rows[:2], broken, *rows[2:]]))
    assert f"{path}, line 3: a quote opened in this row is not closed before line 4" in (
        message_of(path)
    )
    path = write(tmp_path, "\n".join([*rows[:2], broken, *["5,1,2,a?,b?,1"] * 20]))
    assert f"{path}, line 3: a quote opened in this row is not closed" in message_of(path)
    path = write(tmp_path, "\n".join([*rows[:2], broken, *["5,1,2,a long question?,b?,1"] * 9000]))
    assert "A quote opened in a question is probably never closed." in message_of(path)


def test_text_files_of_different_length(tmp_path):
    one, two = write(tmp_path, "a?\nb?\nc?\n", "1.txt"), write(tmp_path, "a?\n", "2.txt")
    expected = (
        f"{two} has 1 lines and {one} has 3; line i of the one must be a duplicate of line i of the "
        "other."
    )
    assert message_of((one, two)) == expected
    assert message_of((two, one)) == expected
    with pytest.raises(DataError) as caught:
        list(iter_pairs((one, two), chunk_rows=1))
    assert str(caught.value) == expected


def test_files_of_other_kinds(tmp_path):
    for content, what in [
        (b"PK\x03\x04train.csv", "is a ZIP archive; unpack it"),
        (b"BZh91AY", "bzip2"),
        ("question1,question2".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        ("question1,question2".encode("utf-16-le"), "is a binary file or UTF-16 text"),
        (b'[{"question1": "a"}]', "line 1: this is a JSON array"),
        (b"x" * (17 << 20), "line 1 is longer than 16 MiB"),
    ]:
        assert what in message_of(write(tmp_path, content))


def test_bad_json_lines(tmp_path):
    good = '{"question1": "a", "question2": "b", "is_duplicate": 1}\n'
    for line, what in [
        ('{"question1": "a", ', "line 2, column 20: not JSON (Expecting property name"),
        ("[1, 2]", "line 2: not a JSON object: '[1, 2]'"),
        ('{"question1": "a", "is_duplicate": 1}', "line 2: no question2; found: question1, is_d"),
        (
            '{"question1": 5, "question2": "b", "is_duplicate": 1}',
            "column question1: 5 is not text",
        ),
    ]:
        assert what in message_of(write(tmp_path, good + line))
    null = '{"question1": null, "question2": "b", "is_duplicate": 1}'
    assert read_pairs(write(tmp_path, good + null)).report.findings["empty"].lines == [2]
