"""Tables of files: this one gives these pairs, that one is refused with this line."""

import csv
import gzip
import io
import json
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese.data.pairs import iter_pairs, read_pairs
from siamese.data.question_list import read_questions
from siamese.errors import ArgumentError, DataError, MissingDependencyError

HEADER = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
ROWS = [
    ["0", "1", "2", "How far is the moon?", "What is the distance to the moon?", "1"],
    ["1", "3", "4", 'What does "sic" mean?', "Is it cold, wet and dark there?", "0"],
    ["2", "5", "6", "Why?\nReally, why?", "How\tcome?", "1"],
    ["3", "7", "8", '"Quoted as a whole"', "Où est la gare — là?", "0"],
]
PLAIN = [row for row in ROWS if "\n" not in row[3]]


def delimited(rows=ROWS, header=HEADER, **options):
    text = io.StringIO()
    csv.writer(text, **{"lineterminator": "\n", **options}).writerows([header, *rows])
    return text.getvalue()


def json_lines(rows):
    return "".join(json.dumps(dict(zip(HEADER, row))) + "\n" for row in rows)


def file_of(folder, content, name="pairs.dat"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def triples(pairs):
    return list(zip(pairs.question1, pairs.question2, map(int, pairs.is_duplicate)))


EXPECTED = [(row[3], row[4], int(row[5])) for row in ROWS]


def found_in(read):
    return {kind: found.lines for kind, found in read.report.findings.items()}


def assert_refused(path, *parts, **options):
    with pytest.raises(DataError) as caught:
        read_pairs(path, **options)
    message = str(caught.value)
    assert all(part in message for part in parts), message
    return message


# -- This file gives these pairs --------------------------------------------------------------

order = [5, 4, 3, 0, 1, 2]
SAME_ROWS = {
    "the course's": delimited(),
    "all quoted": delimited(quoting=csv.QUOTE_ALL),
    "text quoted": delimited(quoting=csv.QUOTE_NONNUMERIC),
    "semicolons": delimited(delimiter=";"),
    "bars": delimited(delimiter="|"),
    "Quora's": delimited(delimiter="\t"),
    "Quora's, all quoted": delimited(delimiter="\t", quoting=csv.QUOTE_ALL),
    "JSON Lines": json_lines(ROWS),
    "Kaggle's order and case": delimited(
        [[row[i] for i in order] for row in ROWS], [HEADER[i].upper() + " " for i in order]
    ),
    "labels as pandas writes them": delimited([[*row[:5], row[5] + ".0"] for row in ROWS]),
}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", SAME_ROWS)
def test_every_format_gives_the_rows_that_were_written(tmp_path, kind, zipped):
    data = SAME_ROWS[kind].encode()
    # The name says nothing, and must not matter.
    path = file_of(tmp_path, gzip.compress(data) if zipped else data, "anything.xyz")
    pairs = read_pairs(path)
    assert triples(pairs) == EXPECTED and pairs.ids == ["0", "1", "2", "3"]
    assert [row for part in iter_pairs(path) for row in triples(part)] == EXPECTED


OPEN = '5,"Who am I?,Who are you?,1\n'  # the closing quote is missing
LONG = "a long question " * 10_000
GLUE = "id\tquestion1\tquestion2\tis_duplicate\n"
FILL = 400  # good lines after it, so that a few broken ones are no reason to refuse the file
GIVES = {
    "three columns": ("question1,question2,is_duplicate\na?,b?,1\n", [("a?", "b?", 1)], {}),
    "hub names": ('{"sentence1": "a", "sentence2": "b", "label": false}', [("a", "b", 0)], {}),
    "old Mac line ends": ("question1,question2,label\ra?,b?,1\rc?,d?,0\r",
                          [("a?", "b?", 1), ("c?", "d?", 0)], {}),
    "line ends of three kinds": (b"question1,question2,label\ra?,b?,1\nc?,d?,0\r\ne?,f?,1",
                                [("a?", "b?", 1), ("c?", "d?", 0), ("e?", "f?", 1)], {"crlf": [3]}),
    "UTF-16": ("question1,question2,label\né?,b?,1\n".encode("utf-16"), [("é?", "b?", 1)], {}),
    "a very long question": (f"question1,question2,label\n{LONG},b?,1\nc?,d?,0\n",
                             [(LONG, "b?", 1), ("c?", "d?", 0)], {}),
    "a very long first line": (f"question1,{LONG},question2,label\na?,x,b?,1\n", [("a?", "b?", 1)], {}),
    # A quote that is opened and not closed swallows no row.
    "a stray quote": ("id,question1,question2,label\n" + OPEN + "6,a?,b?,1\n7,c?,d?,0\n",
                      [('"Who am I?', "Who are you?", 1), ("a?", "b?", 1), ("c?", "d?", 0)],
                      {"quote": [2]}),
    "two stray quotes": ("id,question1,question2,label\n" + OPEN + '6,a?,"b" or c?,1\n7,c?,Is it "d"?,0\n',
                         [('"Who am I?', "Who are you?", 1), ("a?", '"b" or c?', 1),
                          ("c?", 'Is it "d"?', 0)], {"quote": [2, 3]}),
    "a stray quote and one at the end": ("id,label,question1,question2\n1,0,a?,\"b?\n2,1,c?,d?\"\n",
                                         [("a?", '"b?', 0), ("c?", 'd?"', 1)], {"quote": [2]}),
    "a question that looks like a row": ('label,question1,question2\n0,a?,"b\nc, d, e?"\n',
                                         [("a?", "b\nc, d, e?", 0)], {"newline": [2]}),
    "a null question": ('{"question1": null, "question2": "b", "label": 1}\n'
                        '{"question1": "a", "question2": "b", "label": 1}',
                        [("a", "b", 1)], {"empty": [1]}),
    # GLUE's QQP has no quoting: quotes are letters like any other.
    "literal quotes": (GLUE + '0\t"As a whole"\tHe said "no" to "what"?\t0\n'
                       '1\t"Yes" or "no"\tAn inch is 1"\t1\n2\t"Never closed\t""\t1\n',
                       [('"As a whole"', 'He said "no" to "what"?', 0),
                        ('"Yes" or "no"', 'An inch is 1"', 1)], {"empty": [4]}),
    "quotes as in CSV": (GLUE + '0\t"What is ""sic""?"\t"Quoted"\t1\n',
                         [('What is "sic"?', '"Quoted"', 1)], {}),
    "blank lines": (GLUE + "1\ta?\tb?\t0\n\n2\tc?\td?\t1\n\n\n",
                    [("a?", "b?", 0), ("c?", "d?", 1)], {"blank": [3, 5, 6]}),
    "pieces that fit nowhere": (
        GLUE + "1\tcut off\n2\ta?\tb?\t0\na lone end?\t1\n3\tc?\td?\t1\n" + '4\t"open\n'
        + "5\tgood?\tfine?\t1\n" * FILL,
        [("a?", "b?", 0), ("c?", "d?", 1), *[("good?", "fine?", 1)] * FILL],
        {"bad": [2, 4, 6]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", GIVES)
def test_this_file_gives_these_pairs(tmp_path, kind):
    content, expected, findings = GIVES[kind]
    pairs = read_pairs(file_of(tmp_path, content))
    assert triples(pairs) == expected
    found = found_in(pairs)
    if len(expected) >= FILL:
        assert len(found.pop("repeated")) == 5
    assert found == findings


# -- What real files hold ---------------------------------------------------------------------

ODD = ["9", "20", "21", "Is this odd?", "Is it?", "1"]
LINE = ",".join(ODD).encode() + b"\n"
ODDITIES = {  # what is found -> (the CSV's line 3, the pair that is read from it)
    "empty": (LINE.replace(b"Is this odd?", b"  "), None),
    "newline": (LINE.replace(b"Is this odd?", b'"Is this\nodd?"'), ("Is this\nodd?", "Is it?")),
    "bytes": (LINE.replace(b"Is it", b"Is\x92it"), ("Is this odd?", "Is\ufffdit?")),
    "nul": (LINE.replace(b"Is it", b"Is\0 it"), ("Is this odd?", "Is it?")),
    "crlf": (LINE.replace(b"\n", b"\r\n"), ("Is this odd?", "Is it?")),
    "carriage_return": (LINE.replace(b"Is it", b"Is\rit"), ("Is this odd?", "Is it?")),
    "blank": (b"\n", None),
    "repeated": (b'9,1,2,"%s","%s",1\n' % (ROWS[0][4].encode(), ROWS[0][3].encode()),
                 (ROWS[0][4], ROWS[0][3])),
    "contradicting": (b'9,1,2,"%s","%s",0\n' % (ROWS[0][3].encode(), ROWS[0][4].encode()),
                      (ROWS[0][3], ROWS[0][4])),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODDITIES)
def test_oddities_are_read_reported_and_refused_when_strict(tmp_path, kind):
    odd, expected = ODDITIES[kind]
    head, *rest = delimited(PLAIN).encode().splitlines(keepends=True)
    path = file_of(tmp_path, b"".join([head, rest[0], odd, *rest[1:]]))
    pairs = read_pairs(path)
    assert found_in(pairs) == {kind: [3]}
    assert_refused(path, str(path), pairs.report.finding_lines()[0], strict=True)
    found = list(zip(pairs.ids, pairs.question1, pairs.question2))
    plain = [(row[0], *row[3:5]) for row in PLAIN]
    assert found == [*plain[:1], *([("9", *expected)] if expected else []), *plain[1:]]
    assert not read_pairs(file_of(tmp_path, delimited(PLAIN)), strict=True).report.findings


def test_a_byte_order_mark_counts_only_at_the_start(tmp_path):
    path = file_of(tmp_path, "\ufeffquestion1,question2,label\n\ufeffa,b,1\n")
    pairs = read_pairs(path)
    assert pairs.question1 == ["\ufeffa"] and found_in(pairs) == {"bom": [1]}
    assert pairs.report.as_dict()["findings"] == {"bom": {"count": 1, "lines": [1]}}


def test_line_numbers_hold_far_into_a_file_and_after_multi_line_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("siamese.data.files.BLOCK_BYTES", 1 << 12)
    rows = [["0", "1", "2", f"Question\n{i}?", "And\nthis\none?", "1"] for i in range(1_000)]
    rows[900][4] = ""
    pairs = read_pairs(file_of(tmp_path, delimited(rows)))
    assert found_in(pairs)["empty"] == [2 + 900 * 4]
    rows[900][4], rows[950][5] = "x?", "7"
    line = f"line {2 + 900 * 4 + 2 + 49 * 4:,}: is_duplicate is '7'"
    assert_refused(file_of(tmp_path, delimited(rows)), line)


pieces = [b"a", b"b c", b"\n", b"\r\n", b"\0", b"\xc3\xa9", b"\xe9", b"\xff", b"\n\n"]
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@same_folder
@given(st.lists(st.sampled_from(pieces), max_size=30), st.booleans())
def test_lines_equal_the_whole_file_decoded_at_once(tmp_path, monkeypatch, parts, zipped):
    """In blocks of 8 bytes: a character or a line end may lie half in each of two."""
    monkeypatch.setattr("siamese.data.files.BLOCK_BYTES", 8)
    # The letters before keep the file from being empty or mostly NUL bytes.
    data = b"a" * 400 + b"".join(parts)
    clean = data.replace(b"\0", b"").replace(b"\r\n", b"\n").decode("utf-8", "replace")
    expected = clean.removesuffix("\n").split("\n")
    found = read_questions(file_of(tmp_path, gzip.compress(data) if zipped else data))
    assert found.questions == [line for line in expected if line.strip()]
    raw = data.split(b"\n")
    for kind, odd in {
        "nul": lambda line: b"\0" in line,
        "crlf": lambda line: line.endswith(b"\r"),
        "bytes": lambda line: "\ufffd" in line.decode("utf-8", "replace"),
    }.items():
        numbers = [number for number, line in enumerate(raw, start=1) if odd(line)]
        assert found.report.count(kind) == len(numbers)
        assert found_in(found).get(kind, []) == numbers[:5]


fields = st.text(st.sampled_from('ab,\t\n" '), max_size=8).filter(str.strip)
tables = st.lists(st.tuples(fields, fields, st.sampled_from("01")), min_size=1, max_size=8)
NAMES = ["question1", "question2", "label"]


@same_folder
@given(tables)
def test_csv_gives_back_what_the_csv_module_wrote(tmp_path, rows):
    pairs = read_pairs(file_of(tmp_path, delimited(rows, NAMES)))
    assert triples(pairs) == [(*r[:2], int(r[2])) for r in rows]
    starts = [2 + sum(1 + "".join(r).count("\n") for r in rows[:i]) for i in range(len(rows))]
    runs_on = [start for row, start in zip(rows, starts) if "\n" in "".join(row)]
    assert found_in(pairs).get("newline", []) == runs_on[:5]


@same_folder
@given(tables)
def test_tabs_all_quoted_give_back_what_the_csv_module_wrote(tmp_path, rows):
    # A row with line breaks and tabs may have a piece that looks whole: a whole line always wins.
    rows = [row for row in rows if not ("\n" in "".join(row) and "\t" in "".join(row))]
    rows += [("a", "b", "1")]
    numbered = [("7", *row) for row in rows]
    text = delimited(numbered, ["id", *NAMES], delimiter="\t", quoting=csv.QUOTE_ALL)
    pairs = read_pairs(file_of(tmp_path, text))
    assert triples(pairs) == [(*row[:2], int(row[2])) for row in rows]


# -- This file is refused with this line ------------------------------------------------------

GOOD = '{"question1": "a", "question2": "b", "is_duplicate": 1}\n'
HEAD = delimited(PLAIN[:1])
REFUSED = {
    "nothing": ("", "is empty"),
    "blank lines only": (" \n\n", "is empty"),
    "a gzip of nothing": (gzip.compress(b""), "is empty"),
    "a header only": (",".join(HEADER), "no rows after its header"),
    "no usable pair": (delimited([["0", "1", "2", "", "b?", "1"]]), "no usable pair", "(line 2)"),
    "no labels": ("test_id,question1,question2\n0,a?,b?\n", "line 1: no column is_duplicate; found: "
                  "test_id, question1, question2", "question1, question2, is_duplicate",
                  "without labels"),
    "another text": ("a fine day\nand another\n",
                     "line 1: no column question1 or question2 or is_duplicate; found: a fine day"),
    "a column twice": ("question1,question1,question2,label\na,b,c,1\n", "line 1: question1",
                       "two columns (question1 and question1)"),
    "a JSON key missing": ('{"question1": "a", "is_duplicate": 1}',
                           "line 1: no column question2; found: question1, is_duplicate"),
    "a web page": ("<!DOCTYPE html><body>question1", "line 1", "a web page"),
    "a web page after a mark": ("\ufeff<HTML>question1", "line 1", "a web page"),
    "a ZIP archive": (b"PK\x03\x04train.csv", "a ZIP archive; unpack it"),
    "bzip2": (b"BZh91AY", "bzip2"),
    "UTF-16 without a mark": ("question1,question2".encode("utf-16-le"), "UTF-16 text"),
    "a JSON array": ('[{"question1": "a"}]', "line 1", "a JSON array"),
    "no line ends": (b"x" * (17 << 20), "line 1 is longer than 16 MiB"),
    "cut JSON": (GOOD + '{"question1": "a", ', "line 2, column 20: not JSON (Expecting property"),
    "a JSON list": (GOOD + "[1, 2]", "line 2: not a JSON object: '[1, 2]'"),
    "deep JSON": (GOOD + "[" * 100_000, "line 2", "not JSON"),
    "a key missing later": (GOOD + '{"question1": "a", "is_duplicate": 1}',
                            "line 2: no question2; found: question1, is_duplicate"),
    "a number for a question": (GOOD + GOOD.replace('"a"', "5"),
                                "line 2, column question1: 5 is not text"),
    "a JSON label": (GOOD.replace("1}", "2}"), "line 1: is_duplicate is 2", "0", "1 (duplicates)"),
    "an open quote and a comma": (HEAD + "5,1,2," + OPEN[2:].replace("am", ", am") + "5,1,2,a?,b?,1\n" * 9,
                                  "line 3: 7 fields where", "opened here is not closed"),
    "broken lines, 1 in 80": (GLUE + "cut\n" * 5 + "1\ta?\tb?\t1\n" * 395, "5 rows cannot be",
                              "line 2: 1 field ", "header has 4", "line 6: 1 field"),
    "a JSON key twice": (GOOD + GOOD.replace("{", '{"question1": "c", '),
                         "line 2: the key 'question1' stands there twice"),
}  # fmt: skip
for width in (4, 8):
    for mark in ",\t":
        lines = delimited(PLAIN, delimiter=mark).split("\n")
        lines[2] = mark.join("abcdefgh"[:width])
        REFUSED[f"{width} fields between {mark!r}"] = (
            "\n".join(lines),
            f"line 3: {width} fields where the header has 6 ({', '.join(HEADER)})",
        )
for label in ("2", "yes", "", "0.5"):
    for mark in ",\t":
        rows = [PLAIN[0], [*PLAIN[1][:5], label]]
        REFUSED[f"label {label!r} between {mark!r}"] = (
            delimited(rows, delimiter=mark),
            f"line 3: is_duplicate is {label!r}",
            "0 (different questions) or 1 (duplicates)",
        )


@pytest.mark.parametrize("kind", REFUSED)
def test_this_file_is_refused_with_this_line(tmp_path, kind):
    content, *parts = REFUSED[kind]
    path = file_of(tmp_path, content)
    assert assert_refused(path, *parts).startswith(str(path))


def bad_file(folder):
    """30 rows, of which every third is good; the bad ones are bad in two ways."""
    good, label, width = "a{0}?,b{0}?,1\n", "a?,b?,2\n", "a?,b?\n"
    rows = [(good, label, width)[i % 3].format(i) for i in range(90)]
    return file_of(folder, "question1,question2,label\n" + "".join(rows))


def test_all_bad_rows_are_listed_or_skipped_and_counted(tmp_path):
    path = bad_file(tmp_path)
    message = assert_refused(path, "60 rows cannot be read; the first 20", "--bad-rows skip")
    lines = message.split("\n")
    assert (
        len(lines) == 22 and "line 3: is_duplicate is '2'" in lines[1] and "line 4: 2" in lines[2]
    )
    pairs = read_pairs(path, bad_rows="skip")
    assert triples(pairs) == [(f"a{i}?", f"b{i}?", 1) for i in range(0, 90, 3)]
    assert "60 rows that cannot be read" in str(pairs.report)
    (part,) = iter_pairs(path, bad_rows="skip")
    assert len(part) == 30 and part.report.count("bad") == 60
    assert_refused(path, "rows that cannot be read", strict=True, bad_rows="skip")
    with pytest.raises(ArgumentError, match="refuse"):
        read_pairs(path, bad_rows="ignore")


def test_what_is_no_file_is_refused(tmp_path):
    assert_refused(tmp_path / "no.csv", f"{tmp_path}/no.csv cannot be read: no such file")
    assert_refused(tmp_path, f"{tmp_path} cannot be read: is a directory")
    assert_refused("x" * 5000, "cannot be read: file name too long")


def test_truncated_and_damaged_gzip(tmp_path, monkeypatch):
    monkeypatch.setattr("siamese.data.files.BLOCK_BYTES", 1 << 12)
    rows = [["0", "1", "2", f"Question {i * i}?", f"Query {i}?", "1"] for i in range(2_000)]
    data = gzip.compress(delimited(rows).encode(), 1)
    path = file_of(tmp_path, data[: -len(data) // 4])
    message = assert_refused(path, "gzip stream ends", "cut short")
    after = int(message.split("after line ")[1].split(":")[0].replace(",", ""))
    assert message.startswith(f"{path}, after line") and 1_000 < after < 2_000
    for content, what in (
        (data[:30], "cut short"),
        (data[:-8] + b"\0\0\0\0" + data[-4:], "CRC check failed"),
        (data + b"more", "gzip stream is damaged"),
    ):
        assert_refused(file_of(tmp_path, content), what)


# -- Parquet ----------------------------------------------------------------------------------

COLUMNS = {
    "idx": [3, 4, 5],
    "question1": ["Why?", "Is it cold?", None],
    "question2": ["Why is that?", "Où est la gare?", "x?"],
    "label": [1, 0, 1],
}


def parquet_file(folder, **changes):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: make extras")
    import pyarrow

    columns = {name: values for name, values in {**COLUMNS, **changes}.items() if values}
    parquet.write_table(pyarrow.table(columns), folder / "pairs")
    return folder / "pairs"


def test_parquet(tmp_path):
    path = parquet_file(tmp_path, more=[[1], [2], [3]])
    pairs = read_pairs(path)
    assert triples(pairs) == [("Why?", "Why is that?", 1), ("Is it cold?", "Où est la gare?", 0)]
    assert pairs.ids == ["3", "4"] and "an empty question (row 3)" in str(pairs.report)
    path = parquet_file(tmp_path, question1=["a", "b", "c"], label=[True, False, True])
    assert read_pairs(path, strict=True).is_duplicate.tolist() == [True, False, True]


def test_bad_parquet(tmp_path):
    for changes, what in (
        ({"label": None}, "no column is_duplicate; found: idx, question1, question2"),
        ({"label": [1, 2, 0]}, "row 2: is_duplicate is 2"),
        ({"question2": [1, 2, 3]}, "row 1, column question2: 1 is not text"),
    ):
        assert_refused(parquet_file(tmp_path, **changes), what)
    content = parquet_file(tmp_path).read_bytes()
    assert_refused(file_of(tmp_path, content[:-20]), "Parquet file cannot be read")
    assert_refused(file_of(tmp_path, gzip.compress(content)), "Give the file itself, unzipped")


def test_parquet_without_pyarrow_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pyarrow"):
        read_pairs(file_of(tmp_path, b"PAR1 and so on"))
