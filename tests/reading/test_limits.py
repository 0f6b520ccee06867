"""Small files that stand for very much, and values that Python or JSON lacks: one sentence, or text."""

import decimal
import html
import io
import json
import zipfile

import pytest
from refusals import refuses
from small_models import make_detector

from siamese.errors import DataError
from siamese.index import QuestionIndex
from siamese.reading import tables
from siamese.reading.questions import read_questions

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FAR = 400_000_000_000_000_000  # microseconds from 1970: the year 14,645


def text_cell(text, place=""):
    place = f' r="{place}"' if place else ""
    return f'<c{place} t="inlineStr"><is><t>{html.escape(text)}</t></is></c>'


def relations(targets):
    link = '<Relationship Id="{0}" Type="' + OFFICE + '/{1}" Target="{0}.xml"/>'
    return f"<Relationships>{''.join(link.format(*target) for target in targets)}</Relationships>"


def workbook(rows, after="", before="", shared=""):
    """An Excel workbook of one sheet, from the XML of its rows."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", relations([("xl/workbook", "officeDocument")]))
        book = f'<workbook xmlns:r="{OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="S"/></sheets>'
        archive.writestr("xl/workbook.xml", f"{book}</workbook>")
        targets = [("S", "worksheet"), ("sharedStrings", "sharedStrings")]
        archive.writestr("xl/_rels/workbook.xml.rels", relations(targets))
        archive.writestr("xl/sharedStrings.xml", f"<sst>{shared}</sst>")
        sheet = f"<worksheet>{before}<sheetData>{rows}</sheetData>{after}</worksheet>"
        archive.writestr("xl/S.xml", sheet)
    return data.getvalue()


def ods(rows):
    names = {"office": "office", "table": "table", "text": "text"}
    spaces = " ".join(
        f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in names
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
    return data.getvalue()


def ods_row(text, of_row="", of_cell=""):
    cell = (
        f'<table:table-cell office:value-type="string"{of_cell}><text:p>{text}</text:p>'
    )
    return f"<table:table-row{of_row}>{cell}</table:table-cell></table:table-row>"


def row(*cells, place=""):
    place = f' r="{place}"' if place else ""
    return f"<row{place}>{''.join(cells)}</row>"


def parquet(columns):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), data)
    return data.getvalue()


HEAD = row(text_cell("question", "A1"), place="1")
ASKED = row(text_cell("How far?", "A2"), place="2")
REFERENCE = row('<c t="s"><v>0</v></c>')
LARGE = {
    "two corners": lambda: workbook(HEAD + row(text_cell("x", "XFD1048576"), place="1048576")),
    "a diagonal": lambda: workbook(
        HEAD + "".join(row(text_cell("x", f"{'ABCD'[n % 4]}AA{9000 * n}")) for n in range(1, 99))
    ),
    "a far cell in a second row": lambda: workbook(HEAD + ASKED + row(text_cell("x", "ZZZ1048576"))),
    "one text many times": lambda: workbook(
        HEAD + REFERENCE * 5000, shared=f"<si><t>{'a' * 1_000_000}</t></si>"
    ),
    "blanks of a document": lambda: ods(
        ods_row("question") + ods_row('How<text:s text:c="2000000000"/>far?')
    ),
    "a far cell of a document": lambda: ods(
        ods_row("question")
        + '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>'
        + '<table:table-row><table:table-cell table:number-columns-repeated="16380"/>'
        + ods_row("x").removeprefix("<table:table-row>")
    ),
    "a million columns": lambda: ("question," + "x," * 1_000_000 + "\nHow far?\n").encode(),
    "a million nameless columns": lambda: b"," * 1_000_000 + b"\n",
    "columns of Parquet": lambda: parquet({"question": ["Why?"], **{f"c{n}": [1] for n in range(17_000)}}),
}  # fmt: skip
SMALL = {
    "a wrong dimension": lambda: workbook(HEAD + ASKED, before='<dimension ref="A1:XFD1048576"/>'),
    "merged cells": lambda: workbook(
        HEAD + ASKED, '<mergeCells count="1"><mergeCell ref="A2:XFD1048576"/></mergeCells>'
    ),
    "cells without places": lambda: workbook(row(text_cell("question")) + row(text_cell("How far?"))),
    "a document": lambda: ods(ods_row("question") + ods_row("How far?")),
    "an empty rest of a document": lambda: ods(
        ods_row("question") + ods_row("How far?")
        + '<table:table-row table:number-rows-repeated="1048574">'
        + '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", LARGE)
def test_a_small_file_that_stands_for_very_much_is_refused(tmp_path, kind):
    pytest.importorskip("python_calamine")
    path = tmp_path / "questions"
    path.write_bytes(LARGE[kind]())
    with pytest.raises(DataError) as error:
        read_questions(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("kind", SMALL)
def test_a_workbook_whose_cells_are_few_is_read(tmp_path, kind):
    pytest.importorskip("python_calamine")
    path = tmp_path / "questions"
    path.write_bytes(SMALL[kind]())
    assert read_questions(path).questions == ["How far?"]


def test_an_archive_that_unpacks_to_much_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("python_calamine")
    monkeypatch.setattr(tables, "LARGEST_UNPACKED", 1 << 20)
    path = tmp_path / "questions.xlsx"
    path.write_bytes(workbook(HEAD + ASKED + row(text_cell("a" * (1 << 20)))))
    with refuses(DataError, str(path), "unpacked"):
        read_questions(path)


@pytest.mark.parametrize("column", ["numbers", "texts", "texts of a dictionary"])
def test_a_parquet_file_whose_values_take_much_memory_is_refused(
    tmp_path, monkeypatch, column
):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(tables, "MOST_MEMORY", 2 << 20)
    values = pyarrow.array(
        ["a" * 50_000] * 100 if "texts" in column else [[0] * 5_000] * 100
    )
    values = values.dictionary_encode() if "dictionary" in column else values
    path = tmp_path / "questions.parquet"
    path.write_bytes(parquet({"question": ["Why?"] * 100, "values": values}))
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError):
        read_questions(path)


# ---- Values ----


def times():
    pyarrow = pytest.importorskip("pyarrow")
    micro = pyarrow.timestamp("us")
    inner = pyarrow.struct([("at", micro), ("n", pyarrow.int8())])
    far = "14645-06-30T15:06:40.000000"
    days = "<value out of range: 1073741824>"
    return {
        "a time": ([0, FAR], micro, ["1970-01-01T00:00:00", far]),
        "a time before": ([0, -FAR], micro, ["1970-01-01T00:00:00", "-10706-07-03T08:53:20.000000"]),
        "a time zone": ([0, FAR], pyarrow.timestamp("us", "Europe/Berlin"),
                        ["1970-01-01T01:00:00+01:00", f"{far}Z"]),
        "an unknown time zone": ([0], pyarrow.timestamp("us", "Mars/Phobos"),
                                 ["1970-01-01T00:00:00.000000Z"]),
        "a day": ([0, 2**30], pyarrow.date32(), ["1970-01-01", days]),
        "a duration": ([0, 2**62], pyarrow.duration("s"), ["0:00:00", f"{2**62} s"]),
        "nothing": ([None, FAR], micro, [None, far]),
        "times in a list": ([[0, FAR]], pyarrow.list_(micro), [["1970-01-01T00:00:00", far]]),
        "times in lists": ([[[FAR]]], pyarrow.list_(pyarrow.list_(micro)), [[[far]]]),
        "a time in a field": ([{"at": FAR, "n": 1}], inner, [{"at": far, "n": 1}]),
        "decimals": ([decimal.Decimal("1.50")], pyarrow.decimal128(10, 2), ["1.50"]),
        "bytes": ([b"\xff\x00a"], pyarrow.binary(), ["\\xff\x00a"]),
    }  # fmt: skip


TIMES = [
    "a time",
    "a time before",
    "a time zone",
    "an unknown time zone",
    "a day",
    "a duration",
    "nothing",
    "times in a list",
    "times in lists",
    "a time in a field",
    "decimals",
    "bytes",
]


@pytest.mark.parametrize("where", ["a file", "memory"])
@pytest.mark.parametrize("kind", TIMES)
def test_a_time_that_python_lacks_is_text(tmp_path, kind, where):
    pyarrow = pytest.importorskip("pyarrow")
    values, of_type, expected = times()[kind]
    columns = {
        "question": ["How far?"] * len(values),
        "at": pyarrow.array(values, of_type),
    }
    table = pyarrow.table(columns)
    if where == "a file":
        table = tmp_path / "questions.parquet"
        table.write_bytes(parquet(columns))
    result = read_questions(table)
    assert [own["at"] for own in result.columns] == expected


def nested(kind, depth):
    value = 1
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


@pytest.mark.parametrize("depth", [101, 500, 5000])
@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("where", ["a file", "memory"])
def test_a_value_that_is_nested_deep_is_one_bad_row(tmp_path, kind, depth, where):
    source = {"question": ["How far?", "Who?"], "a": [nested(kind, depth), None]}
    if where == "a file":
        opening, closing = ("[", "]") if kind is list else ('{"a": ', "}")
        text = opening * depth + "1" + closing * depth
        source = tmp_path / "questions.jsonl"
        source.write_text(
            f'{{"question": "How far?", "a": {text}}}\n{{"question": "Who?"}}\n'
        )
    with refuses(DataError, " 1: "):
        read_questions(source)
    assert read_questions(source, bad_rows="skip").questions == ["Who?"]


@pytest.mark.parametrize("depth", [101, 500, 5000])
@pytest.mark.parametrize("kind", [list, dict])
def test_an_index_stores_no_value_that_is_nested_deep(kind, depth):
    columns = [{"a": nested(kind, depth)}]
    with pytest.raises(DataError):
        QuestionIndex.build(make_detector(), ["How far?"], columns=columns)


def test_a_value_that_is_nested_less_deep_is_kept(tmp_path):
    value = nested(list, 90)
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({"question": "How far?", "a": value}))
    assert read_questions(path).columns == [{"a": value}]
