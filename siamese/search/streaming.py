"""Answers for a stream of pairs: one line out for each line in, errors included.

CSV or tab-separated (with a header that names question1 and question2, or two columns without one)
is answered in kind: the line's own columns, then is_duplicate, similarity, probability and error.
JSON Lines (objects with question1 and question2, or lists of two texts) is answered by objects.
Each line is a record: a question with a line break belongs into JSON Lines.
"""

from __future__ import annotations

import csv
import io
import json
import queue
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from siamese.data.files import OpenFile
from siamese.data.formats import (
    COLUMN_NAMES,
    DELIMITERS,
    column_places,
    normal_name,
    parse_json,
    split_header,
)
from siamese.errors import DataError
from siamese.search.detector import DuplicateDetector

BATCH = 512  # lines answered together at most; fewer where no more are there yet
ANSWERS = ("is_duplicate", "similarity", "probability", "error")
QUESTIONS = ("question1", "question2")


def answer_stream(
    detector: DuplicateDetector,
    lines: Iterable[bytes],
    *,
    threshold: float | None = None,
    name: str = "input",
) -> Iterator[tuple[str, bool]]:
    """Yields for each line in (line out, whether it was answered); a header counts as answered.

    Args:
      detector: the model.
      lines: lines as bytes in UTF-8; read ahead by one batch, in a thread.
      threshold: cosine for a duplicate; the model's own where None.
      name: what to call the input in a message.

    Raises:
      DataError: a first line that is neither JSON, nor a header, nor a pair.
    """
    cut = detector.threshold if threshold is None else threshold
    form: _Json | _Delimited | None = None
    number = 0
    for batch in _ready_batches(lines):
        if form is None:
            first = batch[0].decode("utf-8", "replace").removeprefix("\ufeff")
            form = _Json() if first.lstrip()[:1] in ("{", "[") else _Delimited(first, name)
            if isinstance(form, _Delimited) and form.header:
                yield form.header_line(), True
                batch, number = batch[1:], 1
        parsed = [_parsed(form, line, number + i) for i, line in enumerate(batch, start=1)]
        number += len(batch)
        scores = _scores(detector, [pair for pair, _, error in parsed if error is None])
        for _, kept, error in parsed:
            answer: dict[str, Any] = dict.fromkeys(ANSWERS)
            if error is None:
                cosine, probability = next(scores)
                answer["is_duplicate"] = cosine > cut
                answer["similarity"] = round(cosine, 6)
                answer["probability"] = None if probability is None else round(probability, 6)
            yield form.line(kept, {**answer, "error": error}), error is None


def open_lines(path: str) -> Iterator[bytes]:
    """The lines of a file (gzip is unpacked), or of standard input where the path is ``-``."""
    if path == "-":
        yield from iter(sys.stdin.buffer.readline, b"")
        return
    with OpenFile(path) as file:
        yield from file.raw_lines()


def _scores(
    detector: DuplicateDetector, pairs: list[list[str]]
) -> Iterator[tuple[float, float | None]]:
    """The cosine and the probability of each pair."""
    if pairs:
        cosines = detector.similarity(*zip(*pairs))
        known = detector.calibration is not None
        probabilities = detector.calibrated(cosines).tolist() if known else [None] * len(pairs)
        yield from zip(cosines.tolist(), probabilities)


def _parsed(
    form: _Json | _Delimited, line: bytes, number: int
) -> tuple[list[str], Any, str | None]:
    """A line's two questions, what of it is written out again, and what is wrong with it."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    text = text.removeprefix("\ufeff") if number == 1 else text
    row = form.failed(text)
    questions: list[Any] = []
    try:
        line.decode("utf-8")
        if not text.strip():
            raise DataError(f"line {number:,}: blank")
        row = form.row(text, number)
        questions = form.questions(row, number)
        for column, value in zip(QUESTIONS, questions):
            if value is None or (isinstance(value, str) and not value.strip()):
                raise DataError(f"line {number:,}: {column} is empty")
            if not isinstance(value, str):
                raise DataError(f"line {number:,}: {column} is not text")
    except UnicodeDecodeError as error:
        return questions, row, f"line {number:,}: not UTF-8 ({error.reason})"
    except DataError as error:
        return questions, row, str(error)
    return questions, row, None


class _Json:
    """JSON Lines."""

    def row(self, text: str, number: int) -> dict[str, Any]:
        row = parse_json(text, "", number)
        if isinstance(row, list) and len(row) == 2:
            return dict(zip(QUESTIONS, row))
        if not isinstance(row, dict):
            raise DataError(f"line {number:,}: neither an object nor a list of two texts")
        return row

    def questions(self, row: dict[str, Any], number: int) -> list[Any]:
        places = column_places(list(row), f"line {number:,}", QUESTIONS, ())
        return [list(row.values())[places[column]] for column in QUESTIONS]

    def failed(self, text: str) -> dict[str, Any]:
        return {"line": text}

    def line(self, kept: dict[str, Any], answer: dict[str, Any]) -> str:
        row = {**kept, **{name: value for name, value in answer.items() if value is not None}}
        text = json.dumps(row, ensure_ascii=False)
        # A lone surrogate cannot be written in UTF-8.
        return text if text.isprintable() else json.dumps(row)


class _Delimited:
    """CSV, tab-separated and their kin, one record a line; `first` is the first line."""

    def __init__(self, first: str, name: str):
        known = {known for column in QUESTIONS for known in COLUMN_NAMES[column]}
        self.header, self.delimiter = split_header(first, known)
        self.width = len(self.header)
        try:
            places = column_places(self.header, name, QUESTIONS, ())
            self.places = [places[column] for column in QUESTIONS]
        except DataError:  # no header: two columns will do
            self.header, self.width, self.places = [], 2, [0, 1]
            two = (mark for mark in DELIMITERS if len(_split(first.rstrip("\r\n"), mark)) == 2)
            self.delimiter = next(two, "")
        if not self.delimiter:
            raise DataError(
                f"{name}, line 1: neither JSON, nor a header with question1 and question2, nor two "
                "columns. Name the columns in a first line."
            )

    def header_line(self) -> str:
        taken = set(map(normal_name, self.header))
        new = [f"predicted_{name}" if name in taken else name for name in ANSWERS]
        return self._written([*self.header, *new])

    def row(self, text: str, number: int) -> list[str]:
        try:
            row = _split(text, self.delimiter, strict=True)
        except csv.Error as error:
            open_quote = "unexpected end" in str(error)
            why = "a quote is not closed on this line" if open_quote else f"not CSV ({error})"
            raise DataError(f"line {number:,}: {why}") from None
        if len(row) != self.width:
            raise DataError(f"line {number:,}: {len(row)} fields, not {self.width}")
        return row

    def questions(self, row: list[str], number: int) -> list[str]:
        return [row[at] for at in self.places]

    def failed(self, text: str) -> list[str]:
        return [text, *[""] * (self.width - 1)]  # the line in the first column: the width stays

    def line(self, kept: list[str], answer: dict[str, Any]) -> str:
        yes = answer["is_duplicate"]
        answer = {**answer, "is_duplicate": yes if yes is None else int(yes)}
        return self._written([*kept, *answer.values()])

    def _written(self, row: list[Any]) -> str:
        out = io.StringIO()
        cells = [re.sub("[\r\n]", " ", cell) if type(cell) is str else cell for cell in row]
        csv.writer(out, delimiter=self.delimiter, lineterminator="").writerow(cells)
        return out.getvalue().encode("utf-8", "replace").decode()


def _split(text: str, delimiter: str, strict: bool = False) -> list[str]:
    return next(csv.reader([text], delimiter=delimiter, strict=strict), [])


def _ready_batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Batches of the lines that are there already, so that a slow writer is answered at once."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=2 * BATCH)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except BaseException as error:  # raised again where the answers are made
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        batch = [waiting.get()]
        while isinstance(batch[-1], bytes) and len(batch) < BATCH and not waiting.empty():
            batch.append(waiting.get())
        end = b"" if isinstance(batch[-1], bytes) else batch.pop()
        if batch:
            yield batch
        if isinstance(end, BaseException):
            raise end
        if end is None:
            return
