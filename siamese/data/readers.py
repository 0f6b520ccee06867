"""Which format a file of question pairs has, found out by its content, and its rows as columns.

Every reader yields `PairColumns`: checked labels, no empty questions, and for each pair the line
and row it came from. `siamese.data.pairs` makes `QuestionPairs` of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from siamese.data.delimited import csv_rows, split_header, tab_rows
from siamese.data.file_lines import OpenFile
from siamese.data.pair_columns import (
    COLUMN_NAMES,
    PairColumns,
    checked,
    column_places,
    normal_name,
)
from siamese.data.read_report import ReadReport
from siamese.errors import ArgumentError, DataError

FORMATS = ("csv", "tsv", "jsonl", "parquet", "text")


def read_columns(
    path: Any, report: ReadReport, format: str | None, chunk_rows: int
) -> Iterator[PairColumns]:
    """Yields the rows of `path`, at most `chunk_rows` at a time; see `questions.read_pairs`."""
    if format is not None and format not in FORMATS:
        raise ArgumentError(
            f"format is {format!r}; it must be one of {', '.join(FORMATS)} or None."
        )
    if chunk_rows < 1:
        raise ArgumentError(f"chunk_rows is {chunk_rows}; it must be at least 1.")
    if isinstance(path, (tuple, list)):
        if len(path) != 2 or format not in (None, "text"):
            raise ArgumentError(
                f"{len(path)} paths with format={format!r}: two text files, line by line, are read "
                "together; every other format is one path."
            )
        yield from _read_text_pair(path, report, chunk_rows)
        return
    if format == "text":
        raise ArgumentError(f"format='text' takes two files, (path1, path2); got {path!r}.")
    with OpenFile(path) as file:
        found = format or _format_of(file)
        if found == "jsonl":
            yield from _read_jsonl(file, report, chunk_rows)
        elif found == "parquet":
            yield from _read_parquet(file, report, chunk_rows)
        else:
            delimiters = {"csv": ",;|", "tsv": "\t"}.get(found, ",\t;|")
            yield from _read_delimited(file, report, chunk_rows, delimiters)
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")


def _format_of(file: OpenFile) -> str:
    head = file.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"{"):
        return "jsonl"
    if head.startswith(b"["):
        raise DataError(
            f"{file.name}, line 1: this is a JSON array; JSON Lines has one object on each line."
        )
    return "delimited"


def _described(file: OpenFile, what: str) -> str:
    return f"{what}, gzipped" if file.is_gzip else what


# -- Comma- and tab-separated files -----------------------------------------------------------


def _read_delimited(
    file: OpenFile, report: ReadReport, chunk_rows: int, delimiters: str
) -> Iterator[PairColumns]:
    lines = file.lines(report)
    first = next(lines)
    # The delimiter is the one that makes the most known columns of the header.
    known = {name for names in COLUMN_NAMES.values() for name in names}
    header, delimiter = max(
        ((split_header(first, delimiter), delimiter) for delimiter in delimiters),
        key=lambda pair: sum(normal_name(name) in known for name in pair[0]),
    )
    places = column_places(header, report.path)
    quora_names = {"id", "qid1", "qid2", "question1", "question2", "is_duplicate"}
    like = " with Quora's columns" if quora_names <= set(map(normal_name, header)) else ""
    if delimiter == "\t":
        report.format = _described(file, f"tab-separated{like}")
        label_at = places["is_duplicate"]
        all_quoted = first.startswith('"')
        chunks = tab_rows(lines, header, label_at, all_quoted, report, chunk_rows)
    else:
        report.format = _described(file, f"{'CSV' if delimiter == ',' else delimiter}{like}")
        chunks = csv_rows(lines, delimiter, header, report, chunk_rows)
    for rows, starts in chunks:
        values = list(zip(*rows))
        columns = {name: values[place] for name, place in places.items()}
        yield checked(columns, np.array(starts, np.int64), report)


# -- JSON Lines, Parquet and text files -------------------------------------------------------


def _read_jsonl(file: OpenFile, report: ReadReport, chunk_rows: int) -> Iterator[PairColumns]:
    report.format = _described(file, "JSON Lines")
    lines = enumerate(file.lines(report), start=1)
    names: dict[str, str] = {}  # our column -> the key in this file
    while chunk := list(islice(lines, chunk_rows)):
        rows: list[dict[str, Any]] = []
        starts = []
        for number, line in chunk:
            if not line.strip():
                report.add("blank", [number])
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                where = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
                raise DataError(
                    f"{report.path}, line {number:,}{where}: not JSON "
                    f"({getattr(error, 'msg', error)}); JSON Lines has one whole object on each line."
                ) from None
            if not isinstance(row, dict):
                raise DataError(
                    f"{report.path}, line {number:,}: not a JSON object: {line[:40]!r}."
                )
            if not names:
                keys = list(row)
                names = {c: keys[place] for c, place in column_places(keys, report.path).items()}
            missing = [names[column] for column in names if names[column] not in row]
            if missing:
                raise DataError(
                    f"{report.path}, line {number:,}: no {' or '.join(missing)}; found: "
                    f"{', '.join(row)}."
                )
            rows.append(row)
            starts.append(number)
        if rows:
            columns = {column: [row[key] for row in rows] for column, key in names.items()}
            yield checked(columns, np.array(starts, np.int64), report)


def _read_parquet(file: OpenFile, report: ReadReport, chunk_rows: int) -> Iterator[PairColumns]:
    from siamese.data.table_readers import parquet_batches

    report.format = _described(file, "Parquet")
    report.unit = "row"
    for columns in parquet_batches(file, chunk_rows):
        first = report.rows + 1
        numbers = np.arange(first, first + len(columns["question1"]), dtype=np.int64)
        yield checked(columns, numbers, report)


def _read_text_pair(
    paths: Sequence[str | os.PathLike], report: ReadReport, chunk_rows: int
) -> Iterator[PairColumns]:
    """Two text files: line i of the one and line i of the other are duplicates."""
    report.format = "two text files, line by line"
    with OpenFile(paths[0]) as file1, OpenFile(paths[1]) as file2:
        pairs = enumerate(zip_longest(file1.lines(report), file2.lines(report)), start=1)
        while chunk := list(islice(pairs, chunk_rows)):
            for number, (line1, line2) in chunk:
                if line1 is None or line2 is None:
                    short, long = (file1, file2) if line1 is None else (file2, file1)
                    more = (
                        number + sum(1 for _ in pairs) + (len(chunk) - 1 - (number - chunk[0][0]))
                    )
                    raise DataError(
                        f"{short.name} has {number - 1:,} lines and {long.name} has {more:,}; "
                        "line i of the one must be a duplicate of line i of the other."
                    )
            numbers, lines = zip(*chunk)
            columns = {
                "question1": [line1.removesuffix("\n") for line1, _ in lines],
                "question2": [line2.removesuffix("\n") for _, line2 in lines],
                "is_duplicate": ["1"] * len(lines),
            }
            yield checked(columns, np.array(numbers, np.int64), report)
