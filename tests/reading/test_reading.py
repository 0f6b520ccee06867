"""Tables of files: this one gives these questions or pairs, that one is refused."""

import csv
import datetime
import decimal
import gzip
import html
import io
import json
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses

from siamese.errors import ArgumentError, DataError, MissingDependencyError
from siamese.reading import rows as reading
from siamese.reading.pairs import read_pairs
from siamese.reading.questions import read_ids, read_questions
from siamese.text.values import text_list

HEADER = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
ROWS = [
    ["0", "1", "2", "How far is the moon?", "What is the distance to the moon?", "1"],
    ["1", "3", "4", 'What does "sic" mean?', "Is it cold, wet and dark there?", "0"],
    ["2", "5", "6", "Why?\nReally, why?", "How\tcome?", "1"],
    ["3", "7", "8", '"Quoted as a whole"', "Où est la gare — là?", "0"],
]
EXPECTED = [(row[3], row[4], int(row[5])) for row in ROWS]


def delimited(rows=ROWS, header=HEADER, **options):
    text = io.StringIO()
    csv.writer(text, **{"lineterminator": "\n", **options}).writerows([header, *rows])
    return text.getvalue()


def file_of(folder, content, name="any.xyz"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def triples(pairs):
    return list(zip(pairs.question1, pairs.question2, map(int, pairs.is_duplicate)))


OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(*sheets):
    """An Excel workbook of text and numbers."""
    pytest.importorskip("python_calamine")

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{html.escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    def relations(names, kind):
        link = f'<Relationship Id="{{0}}" Type="{OFFICE}/{kind}" Target="{{0}}.xml"/>'
        return f"<Relationships>{''.join(map(link.format, names))}</Relationships>"

    names = [f"S{at}" for at in range(len(sheets))]
    listed = "".join(
        f'<sheet name="{name}" sheetId="1" r:id="{name}"/>' for name in names
    )
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("_rels/.rels", relations(["xl/workbook"], "officeDocument"))
        book = f'<workbook xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        archive.writestr("xl/_rels/workbook.xml.rels", relations(names, "worksheet"))
        for name, rows in zip(names, sheets):
            xml = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            text = f"<worksheet><sheetData>{xml}</sheetData></worksheet>"
            archive.writestr(f"xl/{name}.xml", text)
    return data.getvalue()


def parquet(columns):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), data)
    return data.getvalue()


ORDER = [5, 4, 3, 0, 1, 2]
SAME = {
    "the course's": delimited(),
    "semicolons": delimited(delimiter=";"),
    "Quora's": delimited(delimiter="\t"),
    "JSON Lines": "".join(json.dumps(dict(zip(HEADER, row))) + "\n" for row in ROWS),
    "Kaggle's order and case": delimited(
        [[row[i] for i in ORDER] for row in ROWS],
        [HEADER[i].upper() + " " for i in ORDER],
    ),
    "labels as pandas writes them": delimited(
        [[*row[:5], row[5] + ".0"] for row in ROWS]
    ),
    "line ends of Windows": delimited(lineterminator="\r\n"),
    "blank lines above, no last line end": "\n\n" + delimited().rstrip("\n"),
    "UTF-16": delimited().encode("utf-16"),
    "UTF-32": delimited().encode("utf-32"),
    "UTF-32 of the other order": b"\0\0\xfe\xff" + delimited().encode("utf-32-be"),
    "UTF-8 with a mark": delimited().encode("utf-8-sig"),
    "gzip": gzip.compress(delimited().encode()),
    "Parquet": lambda: parquet(dict(zip(HEADER, zip(*ROWS)))),
    "Excel": lambda: workbook([HEADER, *ROWS]),
    "Excel, gzipped": lambda: gzip.compress(workbook([HEADER, *ROWS])),
}


@pytest.mark.parametrize("kind", SAME)
def test_every_format_gives_the_rows_that_were_written(tmp_path, kind):
    content = SAME[kind]() if callable(SAME[kind]) else SAME[kind]
    pairs = read_pairs(file_of(tmp_path, content))
    assert triples(pairs) == EXPECTED and pairs.ids == ["0", "1", "2", "3"]
    assert pairs.report.findings == {}


@pytest.mark.parametrize("module", ["pyarrow", "python_calamine"])
def test_a_missing_package_is_named(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    content = b"PAR1 and so on" if module == "pyarrow" else b"PK\x03\x04and so on"
    with refuses(MissingDependencyError, f"pip install {module.replace('_', '-')}"):
        read_pairs(file_of(tmp_path, content))


HEAD = "question1,question2,label\n"
GLUE = "id\tquestion1\tquestion2\tis_duplicate\n"
SKIP = {"bad_rows": "skip"}
TEXTS = {"a": "How far?", "b": "How far is it?", "c": "Who?"}
BY_ID = [(TEXTS["a"], TEXTS["b"], 1), (TEXTS["b"], TEXTS["c"], 1)]
PAIRS = {  # content, options, pairs, findings
    "ids and labels": ("id1,id2,is_duplicate\na,b,1\nb,c,0\n", {"texts": TEXTS},
                       [BY_ID[0], (*BY_ID[1][:2], 0)], {}),
    "links": ("id1,id2\na,b\nb,c\n", {"texts": TEXTS}, BY_ID, {}),
    "ids in other columns": ("one;two;same\na;b;1\nb;c;1\n",
                             {"texts": TEXTS, "columns": "one,two,same"}, BY_ID, {}),
    "hub names": ('{"sentence1": "a", "sentence2": "b", "label": false}', {}, [("a", "b", 0)], {}),
    "old line ends": (HEAD.replace("\n", "\r") + "a?,b?,1\rc?,d?,0\r", {},
                      [("a?", "b?", 1), ("c?", "d?", 0)], {}),
    "a null": ('{"question1": null, "question2": "b", "label": 1}\n'
               '{"question1": "a", "question2": "b", "label": 1}', {}, [("a", "b", 1)], {"empty": [1]}),
    "quotes between tabs": (GLUE + '0\t"What is ""sic""?"\tAn inch is 1"\t1\n', {},
                            [('What is "sic"?', 'An inch is 1"', 1)], {}),
    "cut lines": (GLUE + '0\tcut\n1\ta?\tb?\t0\n\n4\t"open\n2\tc?\td"\t1\nend\t1\n', SKIP,
                  [("a?", "b?", 0), ("c?", 'd"', 1)], {"bad": [2, 5, 7]}),
    "a header again": (HEAD + "a,b,1\n\ufeffQuestion1, question2,label\nc,d,0\n", {},
                       [("a", "b", 1), ("c", "d", 0)], {"header": [3]}),
    "an open quote": (HEAD + '"Who,b,1\nc,d,1\ne,"f"g,0\nh,i,0\n', SKIP,
                      [("c", "d", 1), ("h", "i", 0)], {"bad": [2, 4]}),
    "bad bytes": (HEAD.encode() + b"a\xe9,b,1\nc,d,0\n", SKIP, [("c", "d", 0)], {"bad": [2]}),
    "no labels": (HEAD + "a,b,7\n", {"labels": False}, [("a", "b", 1)], {}),
    "other names": ("key,title1,title2,body1,same\n1,A?,B?,more,1\n2,C?,D?,,0\n",
                    {"columns": "title1+body1,title2,same"}, [("A? more", "B?", 1), ("C?", "D?", 0)], {}),
    "a plus in a name": ("a+b,c,label\nx,y,1\n", {"columns": "a+b,c"}, [("x", "y", 1)], {}),
    "repeats": (HEAD + "a,b,1\nb,a,1\na,b,0\n", {}, [("a", "b", 1), ("b", "a", 1), ("a", "b", 0)], {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_this_file_gives_these_pairs(tmp_path, kind):
    content, options, expected, findings = PAIRS[kind]
    pairs = read_pairs(file_of(tmp_path, content), **options)
    assert triples(pairs) == expected
    assert pairs.report.findings == findings
    assert pairs.report.rows == len(expected) + sum(
        pairs.report.counts[k] for k in ("bad", "empty")
    )


TWO = ["how far?", "how, old?"]
BY = [{"by": "me"}, {"by": "you"}]
BODY = " ".join(f"w{n}" for n in range(60))
LISTS = {  # content, options, questions, ids, columns, findings
    "text": ("how far?\n\nhow, old?\n", {}, TWO, ["0", "2"], None, {"empty": [2]}),
    "a first line like a name": ("text\nhow far?\n", {}, ["how far?"], ["0"], None, {}),
    "one column and empty rows": ("question\nhow far?\n\n\"how, old?\"\n", {}, TWO, ["0", "2"], None,
                                  {"empty": [3]}),
    "CSV": ('id,question,by\n7,how far?,me\n8,"",x\n9,"how, old?",you\n', {}, TWO, ["7", "9"], BY,
            {"empty": [3]}),
    "skipped rows count": ("question,by\nhow far?,me\nbad\n\"how, old?\",you\n", SKIP, TWO,
                           ["0", "2"], BY, {"bad": [3]}),
    "JSON Lines": ('{"id": 7, "text": "how far?", "n": NaN}\n\n{"id": 8, "text": NaN}\n'
                   '\ufeff{"id": 9.0, "text": "how, old?", "more": [1]}\n', {}, TWO, ["7", "9"],
                   [{"n": None}, {"more": [1]}], {"empty": [3]}),
    "pairs": ('question1,question2\nhow far?,"how, old?"\n"how, old?",\n', {}, TWO, ["0", "1"], None,
              {"empty": [3]}),
    "pairs without words": ("question1,question2\n???,!\nhow far?,!!\n", {}, ["how far?"], ["0"],
                            None, {"wordless": [2, 3]}),
    "asked names and blanks": ('Ticket, Fra\u0301ga\u200b  1\n7, "Who, I?"\n8, Why\n',
                               {"column": "frága 1"}, ["Who, I?", "Why"], ["7", "8"], None, {}),
    "questions about tags": ("<T> in Java?\n<3 what is it?\n", {}, ["<T> in Java?", "<3 what is it?"],
                             ["0", "1"], None, {}),
    "a question about a break": ("<br> is for what?\n", {}, ["<br> is for what?"], ["0"], None, {}),
    "a row of a sheet without text": (lambda: workbook([["question"], ["How?"], [""], ["Who?"]]), {},
                                      ["How?", "Who?"], ["0", "2"], None, {"empty": [3]}),
    "columns of one name": ("id,text,S,S,,\n7,how?,a,,,\n", {}, ["how?"], ["7"], [{"S": ["a", ""]}], {}),
    "the exact name": ("ID,text,id\n1,how?,2\n", {"id_column": "ID"}, ["how?"], ["1"], [{"id": "2"}], {}),
    "keys that come later": ('{"title": "A b?"}\n{"title": "Help", "body": "C d."}\n', {},
                             ["A b?", "Help C d."], ["0", "1"],
                             [{"title": "A b?"}, {"title": "Help", "body": "C d."}], {}),
    "title and body": (f"title;Body\nA?;{BODY}\n", {}, [" ".join(["A?", *BODY.split()[:49]])], ["0"],
                       [{"title": "A?", "Body": BODY}], {}),
    "markup is no word": ("title,body\nA?,<i class=x></i> b <p>c\n<p>,<p>\n", {"column": "title+body:2"},
                          ["A? b"], ["0"], [{"title": "A?", "body": "<i class=x></i> b <p>c"}],
                          {"empty": [3]}),
    "a column alone": ("title;body\nA?;b\n", {"column": "title"}, ["A?"], ["0"], [{"body": "b"}], {}),
    "a question and a subject": ("id,subject,question\n7,a,b\n", {}, ["b"], ["7"], [{"subject": "a"}], {}),
    "subject and description": ("Issue key,Subject,Description\nA-1,A?,b\n", {}, ["A? b"], ["A-1"],
                                [{"Subject": "A?", "Description": "b"}], {}),
    "numbers and an empty row of a sheet": (
        lambda: workbook([["ID", "question", 2026], [7, "How?", 2.5], [8, "", 1], [9, "Who?", 1]]), {},
        ["How?", "Who?"], ["7", "9"], [{"2026": 2.5}, {"2026": 1}], {"empty": [3]}),
    "no letter or digit": ("id,question\n1,How far?\n2,🙂\n3,?!\n4,<p></p>\n5,&nbsp;\n", {}, ["How far?"],
                           ["1"], None, {"wordless": [3, 4, 5, 6]}),
    "bars": ("id|question\n7|How far?\n8|Who, me?\n", {}, ["How far?", "Who, me?"], ["7", "8"], None, {}),
    "lines with commas": ("How far is it?\nWell, how old are you?\nWhy?\n", {},
                          ["How far is it?", "Well, how old are you?", "Why?"], ["0", "1", "2"], None, {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", LISTS)
def test_this_file_gives_these_questions(tmp_path, kind):
    content, options, questions, ids, columns, findings = LISTS[kind]
    path = file_of(tmp_path, content() if callable(content) else content)
    result = read_questions(path, **options)
    assert (result.questions, result.ids, result.columns) == (questions, ids, columns)
    assert result.report.findings == findings
    assert result.rows == [1] or kind != "pairs without words"
    assert result.has_ids == (ids[0] not in "0")


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        pytest.param("id\n2\n3\n", ["2", "3"], id="a header"),
        pytest.param("2\n\n3\n", ["2", "3"], id="lines"),
        pytest.param("question,QID\na,2\n", ["2"], id="a list of questions"),
        pytest.param('{"id": 2}\n', ["2"], id="JSON Lines"),
        pytest.param('"2"\n3"\n', ["2", '3"'], id="quotes"),
    ],
)
def test_ids_to_remove(tmp_path, content, ids):
    assert read_ids(file_of(tmp_path, content))[0] == ids


GOOD = '{"question1": "a", "question2": "b", "is_duplicate": 1}\n'
REFUSED = {  # content, options, parts of the message
    "nothing": ("", {}, "is empty"),
    "a header only": (HEAD, {}, "no rows after its header"),
    "no usable pair": (HEAD + ",b,1\n", {}, "no usable pair"),
    "no labels": ("a,question1,question2\n0,a?,b?\n", {}, "line 1: no column is_duplicate; the columns"),
    "plain text": ("a fine day\nand another\n", {}, "the columns: a fine day"),
    "ids alone": ("id1,id2\na,b\n", {}, "the columns: id1, id2. Pairs by id need the list"),
    "a column twice": ("question1,question1,question2,label\na,b,c,1\n", {}, "question1 and question1"),
    "the asked column twice": ("q,q,r,l\na,b,c,1\n", {"columns": "q,r"}, "2 columns are called", "Rename"),
    "no such column": (HEAD + "a,b,1\n", {"columns": "x,y"}, "there is no column 'x'"),
    "a web page": ("<!DOCTYPE html><body>question1", {}, "line 1: ", "a web page"),
    "line breaks of a page": ("How far?<br>Who?<br/>Why?<BR>", {}, "is HTML"),
    **{tags: (f"{tags}\n", {}, "is HTML or XML") for tags in
       ("<br>How far?", "<h1>Help</h1>", "<posts>", "<!-- x -->", "<TR><TD>", '<row Title="How far?" />')},
    "Excel's separator": ("sep=;\nquestion1;question2;label\na;b;1\n", {}, "'sep=;' is a note for Excel"),
    "backslashes": (HEAD + '"say \\"no\\" now",b,1\n', {}, 'line 2: a quote is written as \\"'),
    "an open quote": (HEAD + '"a,b,1\nc,d,0\n', {}, "line 2: a quote is opened here and not closed"),
    "text after a quote": (HEAD + '"a" is,b,1\n', {}, "line 2: text follows a closing quote"),
    "a comma": (HEAD + "a, b,c,1\n", {}, "line 2: 4 fields where the header has 3", "must stand in quotes"),
    "a cut line": (GLUE + "1\tcut\n", {}, "line 2: 2 fields where the header has 4", "bad_rows='skip'"),
    "a label": (HEAD + "a,b,7\n", {}, "line 2: is_duplicate is '7'", "0 (different"),
    "Latin bytes": ((HEAD + "a,b,1\ncaf\xe9,b,1\n").encode("latin-1"), {},
                    "line 3: bytes that are not UTF-8 (0xe9)", "encoding='cp1252'"),
    "a NUL": (HEAD + "a\0,b,1\n", {}, "line 2: a NUL character"),
    "UTF-16 without a mark": (HEAD.encode("utf-16-be"), {}, "encoding='utf-16-be'"),
    "an archive": (b"PK\x03\x04train.csv", {}, "Unpack an archive"),
    "a cut gzip": (gzip.compress(HEAD.encode() + b"a,b,1")[:-9], {}, "cannot be read (", "is damaged"),
    "no mark": (HEAD.encode("utf-16-le"), {"encoding": "utf-16"}, "be read (", "encoding='utf-16-le'"),
    "Zstandard": (b"\x28\xb5\x2f\xfd\x04id", {"encoding": "cp1252"}, "binary file (compressed"),
    "a JSON array": ('[{"question1": "a"}]', {}, "line 1: ", "a JSON array", "as jq -c '.[]' does"),
    "no line ends": (b"x" * (17 << 20), {}, "line 1 is longer than 16 million"),
    "cut JSON": (GOOD + '{"question1": "a', {}, "line 2: not JSON, column"),
    "a dict of Python": ("{'question1': 'a'}\n", {}, "line 1: not JSON, column 2"),
    "a missing key": (GOOD + '{"question1": "a"}', {}, "line 2: question2 is missing"),
    "a number": (GOOD + GOOD.replace('"a"', "5"), {}, "line 2: question1 is 5, not text"),
    "an unknown id": ("id1,id2\na,b\nb,d\n", {"texts": TEXTS}, "line 3: the list has no", "the id 'd'"),
    "a key twice": (GOOD + GOOD.replace("{", '{"question1": "c", '), {}, "a key stands there twice"),
}  # fmt: skip
REFUSED_LISTS = {
    "blanks after the commas": ("Nr, Words\n1, How far?\n2, Who\n", {}, "the columns: Nr, Words"),
    "an id and blanks": ("id, words\n1, How far?\n2, Who, why\n", SKIP, "the columns: id, words"),
    "cells of many lines": ('"Nr\nx";Body\n1;"a\nb\nc"\n2;"d\ne\nf"\n', {}, "the columns: Nr x, Body"),
    "lines above": ("# made in 2026\n\nid,question\n1,How far?\n", {}, "line 3 looks like the header",
                    "Delete the lines above it"),
    "nested fields": ('{"id": 1, "post": {"a": "b"}}\n', {"column": "post"}, "{'a': 'b'}, not text"),
    "a nested name": ('{"id": 1, "post": {"at": "a"}}\n', {"column": "post.at"}, "the columns: id, post"),
    "an id again": ("id,question\n1,How far?\n1,Who?\n", {}, "line 3: the id '1' stands in an earlier row"),
    "a database": (b"SQLite format 3\0" + bytes(99), {}, "perhaps an index, not questions or pairs"),
    "JSON over lines": ('{\n "id": 1,\n "question": "How old?"\n}\n', {}, "Each line must hold one object"),
    "a title above": (lambda: workbook([["FAQ"], ["x"], ["id", "question"]]), {}, "row 1 names few"),
    "a long cell": (lambda: parquet({"text": ["a" * (17 << 20)]}), {}, "row 1: text has more than 16"),
    "a document": (b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n", {}, "binary file (compressed, a document"),
    "no header": ("7;How far?;x\n8;Who?;y\n", {}, "the columns: 7, How far?, x", "column=", "header line"),
    "title and body": ("Title;Body;Content\nA?;b;c\n", {}, "Title and Body and Content may each"),
    "an empty id": ("id,question\n,how\n", {}, "line 2: no id"),
    "no usable question": ('question,n\n"",1\n??,2\n', {}, "usable question", "empty", "a letter"),
    "two sheets": (lambda: workbook([["question"], ["a"]], [["b"]]), {}, "several sheets (S0, S1)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*REFUSED, *REFUSED_LISTS])
def test_this_file_is_refused_with_this_sentence(tmp_path, kind):
    read = read_pairs if kind in REFUSED else read_questions
    table = REFUSED if kind in REFUSED else REFUSED_LISTS
    content, options, *parts = table[kind]
    if kind == "an archive":
        pytest.importorskip("python_calamine")
    path = file_of(tmp_path, content() if callable(content) else content)
    with pytest.raises(DataError) as error:
        read(path, **options)
    message = str(error.value)
    assert message.startswith(str(path)) and all(part in message for part in parts), (
        message
    )


@pytest.mark.parametrize(
    "option", ["encoding=klingon", "encoding=hex", "bad_rows=mend", "columns=a"]
)
def test_arguments_that_cannot_be_read_with(tmp_path, option):
    path = file_of(tmp_path, HEAD + "a,b,1\n")
    with pytest.raises(ArgumentError):
        read_pairs(path, **dict([option.split("=")]))


TITLES = {
    "title1": ["A?", "C?", None],
    "title2": ["B?", "D?", "E?"],
    "label": [1, 0, 1],
}
each_table = pytest.mark.parametrize("kind", ["dict", "pandas", "pyarrow"])


def table_of(kind, columns):
    if kind == "dict":
        return columns
    library = pytest.importorskip(kind)
    return library.DataFrame(columns) if kind == "pandas" else library.table(columns)


@each_table
def test_pairs_in_memory_are_read_as_files_are(kind):
    pairs = read_pairs(table_of(kind, TITLES), columns="title1,title2")
    assert triples(pairs) == [("A?", "B?", 1), ("C?", "D?", 0)]
    assert pairs.report.findings == {"empty": [3]}


@pytest.mark.parametrize("names", [["question1", "question2"], ["question"]])
def test_a_column_of_ids_that_is_not_there_is_refused(names):
    table = {name: [f"{name} is how far?"] for name in names}
    assert len(read_questions(table).ids) == len(names)
    with pytest.raises(DataError):
        read_questions(table, id_column="ticket")


@each_table
def test_questions_in_memory_are_read_as_files_are(kind):
    result = read_questions(table_of(kind, TITLES), column="title2+title1")
    assert result.questions == ["B? A?", "D? C?", "E?"]


@pytest.mark.parametrize(
    "rows",
    [
        [
            {"id": 8, "question": "A?"},
            {"id": 9},
            {"question": "B?", "id": 7, "by": "me"},
        ],
        ("A?", None, "B?"),
        np.array(["A?", float("nan"), "B?"], object),
    ],
    ids=["dicts", "texts", "an array"],
)
def test_a_list_of_dicts_or_of_texts_is_a_table(rows):
    result = read_questions(rows)
    assert result.questions == ["A?", "B?"] and result.rows == [0, 2]
    assert result.report.findings == {"empty": [2]}
    if isinstance(rows, list):
        assert result.ids == ["8", "7"]
        assert result.columns == [{"by": None}, {"by": "me"}]


@pytest.mark.parametrize("wrong", [["A?", 3], ["A?", {"question": "B?"}], [["A?"]], []])
def test_a_list_of_other_things_is_no_table(wrong):
    with refuses(DataError, "the list"):
        read_questions(wrong)


@each_table
def test_a_table_of_several_columns_is_no_list_of_texts(kind):
    with refuses(DataError, "title1, title2, label"):
        text_list(table_of(kind, TITLES), "encode")


def test_an_index_of_pandas_named_id_gives_the_ids():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": ["A?"]}, pd.Index([7], name="id"))
    assert read_questions(frame).ids == ["7"]


def test_a_column_of_lists_as_of_polars_is_kept():
    lists = type("Series", (list,), {"to_list": lambda _: [[1]]})([0])
    assert read_questions({"text": ["A?"], "tags": lists}).columns == [{"tags": [1]}]


def test_a_column_alone_is_a_list_of_texts():
    pd = pytest.importorskip("pandas")
    assert text_list(pd.DataFrame({"question": ["A?"]}), "encode") == ["A?"]
    pyarrow = pytest.importorskip("pyarrow")
    assert text_list(pyarrow.array(["A?"]), "encode") == ["A?"]


def test_columns_without_names_are_told_by_their_numbers():
    pd = pytest.importorskip("pandas")
    unnamed = pd.DataFrame([[8, "A?"], [7, "B?"]])
    assert read_questions(unnamed, column=1, id_column=0).ids == ["8", "7"]
    pairs = read_pairs({"id1": [8], "id2": [7]}, texts=unnamed.set_index(0)[1])
    assert triples(pairs) == [("A?", "B?", 1)]


@pytest.mark.parametrize(
    "wrong",
    [{"A?", "A!"}, np.array("A?", object)],
    ids=["a set, which has no order", "an array without an axis"],
)
def test_what_is_no_list_of_questions_is_refused(wrong):
    with refuses(ArgumentError, "encode", "'A"):
        text_list(wrong, "encode")


def test_values_that_json_lacks_become_text():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({
        "id": [1.0, 2.0], "question": ["A?", "B?"],
        "when": pd.to_datetime(["2026-01-02 03:04", None]).to_numpy(), "n": pd.array([1, None], "Int64"),
        "price": [decimal.Decimal("1.50"), None],
        "day": [datetime.date(2026, 1, 2), datetime.time(3, 4)],
        "nested": [{"a": [datetime.timedelta(1), b"a"]}, float("inf")],
    })  # fmt: skip
    result = read_questions(frame)
    assert result.ids == ["1", "2"] and result.columns == [
        {"when": "2026-01-02T03:04:00", "n": 1, "price": "1.50", "day": "2026-01-02",
         "nested": {"a": ["1 day, 0:00:00", "a"]}},
        {"when": None, "n": None, "price": None, "day": "03:04:00", "nested": None},
    ]  # fmt: skip


fields = st.text(st.sampled_from('ab,\t\n" '), max_size=8).filter(str.strip)
tables = st.lists(
    st.tuples(fields, fields, st.sampled_from("01")), min_size=1, max_size=8
)
same_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)


@same_folder
@given(tables, st.sampled_from(",;\t"))
def test_quoted_tables_give_back_what_the_csv_module_wrote(tmp_path, rows, mark):
    text = delimited(rows, HEADER[3:], delimiter=mark, quoting=csv.QUOTE_ALL)
    assert triples(read_pairs(file_of(tmp_path, text))) == [
        (*r[:2], int(r[2])) for r in rows
    ]


@same_folder
@given(st.lists(st.text(st.sampled_from('a,\n"'), max_size=9), max_size=9))
def test_skipping_loses_no_line_of_a_damaged_file(tmp_path, pieces):
    """Lines without quotes before and after damage are read, whatever is between them."""
    good = "".join(f"q{i},r{i},1\n" for i in range(3))
    text = HEAD + good + "".join(f"{piece}\n" for piece in pieces) + 'x"\n' + good
    pairs = read_pairs(file_of(tmp_path, text), bad_rows="skip")
    assert pairs.question1[:3] == pairs.question1[-3:] == ["q0", "q1", "q2"]
    assert (
        pairs.report.rows
        == len(pairs) + pairs.report.counts["bad"] + pairs.report.counts["empty"]
    )


def peak_memory(function, *arguments):
    tracemalloc.start()
    try:
        result = function(*arguments)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


SMALL_AND_LARGE = {  # the unit of a gzipped file, how often, bytes of memory a unit
    "blank lines": ("\n", 200_000, 20),
    "blank lines of Windows": (" \t\r\n", 100_000, 30),
    "equal questions": ("How far is it to the sea?\n", 50_000, 250),
    "two questions in turn": ("How far is it?\nWho asks that?\n", 25_000, 500),
}


@pytest.mark.parametrize("name", SMALL_AND_LARGE)
def test_a_small_file_that_unpacks_to_much_takes_little_memory(tmp_path, name):
    unit, times, most = SMALL_AND_LARGE[name]
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress(f"Is it far?\n{unit * times}Who?\n".encode()))
    result, memory = peak_memory(read_questions, str(path))
    assert (result.questions[0], result.questions[-1]) == ("Is it far?", "Who?")
    assert result.report.rows == times * unit.count("\n") + 2
    assert len(result.questions) + result.report.counts["empty"] == result.report.rows
    assert result.rows[-1] == result.report.rows - 1
    assert memory < most * times + 1_000_000


def test_blank_lines_between_questions_are_counted_and_between_ids_mean_nothing(
    tmp_path,
):
    (tmp_path / "list").write_text("\nIs it far?\n\n \nWho?\n\n")
    result = read_questions(str(tmp_path / "list"))
    assert (result.questions, result.ids) == (["Is it far?", "Who?"], ["1", "4"])
    assert result.report.findings == {"empty": [1, 3, 4, 6]}
    assert result.report.counts["empty"] == result.report.left_out == 4
    (tmp_path / "ids").write_text("7\n\n9\n\n")
    ids, report = read_ids(str(tmp_path / "ids"))
    assert ids == ["7", "9"] and not report.findings and not report.left_out


def test_a_list_of_too_many_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    (tmp_path / "list").write_text("a\n\n\nb\n\nc\n")
    assert read_questions(str(tmp_path / "list")).questions == ["a", "b", "c"]
    (tmp_path / "list").write_text("a\n\n\nb\n\nc\nd\n")
    with pytest.raises(DataError):
        read_questions(str(tmp_path / "list"))
