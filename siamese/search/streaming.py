"""Answers for a stream of pairs: one line out for each line in, errors included, as they come.

CSV or tab-separated (with a header that names question1 and question2, or two columns without one)
is answered in kind: the line's own columns, then is_duplicate, similarity, probability and error.
JSON Lines (objects with question1 and question2, or lists of two texts) is answered by objects.
Each line is a record: a question with a line break belongs into JSON Lines.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from siamese.data.delimited import split_header
from siamese.data.file_lines import OpenFile
from siamese.data.pair_columns import COLUMN_NAMES, normal_name
from siamese.errors import DataError
from siamese.search.detector import DuplicateDetector

BATCH = 512  # lines answered together at most; fewer where no more have come yet
ANSWERS = ("is_duplicate", "similarity", "probability", "error")


class Pair(NamedTuple):
    """A line's pair, or what is wrong with it; `kept` is what of the line is written out again."""

    question1: str | None
    question2: str | None
    kept: Any
    error: str | None = None


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
    batches = _as_they_come(lines)
    batch = next(batches, [])
    if not batch:
        return
    first = batch[0].decode("utf-8", "replace").removeprefix("\ufeff")
    cut = detector.threshold if threshold is None else threshold
    form: _Json | _Delimited
    if first.lstrip()[:1] in ("{", "["):
        form = _Json()
    else:
        form, header = _Delimited.of(first, name)
        if header is not None:
            yield header, True
            batch = batch[1:]
    number = 2 if isinstance(form, _Delimited) and form.header else 1
    while batch is not None:
        pairs = []
        for line in batch:
            pairs.append(_parsed(form, line, number))
            number += 1
        yield from _answers(detector, form, pairs, cut)
        batch = next(batches, None)


def open_lines(path: str) -> Iterator[bytes]:
    """The lines of a file (gzip is unpacked), or of standard input where the path is ``-``."""
    if path == "-":
        stream: BinaryIO = sys.stdin.buffer
        yield from iter(stream.readline, b"")
        return
    with OpenFile(path) as opened:  # Refuses what is no text, with a reason.
        is_gzip = opened.is_gzip
    with gzip.open(path, "rb") if is_gzip else open(path, "rb") as file:
        yield from file


def _answers(
    detector: DuplicateDetector, form: _Json | _Delimited, pairs: list[Pair], cut: float
) -> Iterator[tuple[str, bool]]:
    good = [pair for pair in pairs if pair.error is None]
    similarities = iter(())
    probabilities = iter(())
    if good:
        found = detector.similarity([p.question1 for p in good], [p.question2 for p in good])
        similarities = iter(found.tolist())
        if detector.calibration is not None:
            probabilities = iter(detector.calibrated(found).tolist())
    for pair in pairs:
        answer: dict[str, Any] = dict.fromkeys(ANSWERS)
        if pair.error is None:
            similarity = next(similarities)
            probability = next(probabilities, None)
            answer["is_duplicate"] = similarity > cut
            answer["similarity"] = round(similarity, 6)
            answer["probability"] = None if probability is None else round(probability, 6)
        else:
            answer["error"] = pair.error
        yield form.line(pair.kept, answer), pair.error is None


def _parsed(form: _Json | _Delimited, line: bytes, number: int) -> Pair:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = line.decode("utf-8", "replace").rstrip("\r\n")
        return form.failed(shown, f"line {number}: not UTF-8 ({error.reason})")
    text = text.removeprefix("\ufeff") if number == 1 else text
    text = text.rstrip("\r\n")
    if not text.strip():
        return form.failed(text, f"line {number}: blank")
    pair = form.pair(text, number)
    if pair.error is None:
        for column in ("question1", "question2"):
            value = getattr(pair, column)
            if not isinstance(value, str) or not value.strip():
                why = "is empty" if value in (None, "") or isinstance(value, str) else "is not text"
                return pair._replace(error=f"line {number}: {column} {why}")
    return pair


class _Json:
    """JSON Lines."""

    def pair(self, text: str, number: int) -> Pair:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", "nested too deeply")
            return self.failed(text, f"line {number}: not JSON ({why})")
        if isinstance(row, list) and len(row) == 2:
            return Pair(row[0], row[1], {"question1": row[0], "question2": row[1]})
        if not isinstance(row, dict):
            return self.failed(text, f"line {number}: neither an object nor a list of two texts")
        found: list[Any] = []
        for column in ("question1", "question2"):
            names = [key for key in row if normal_name(key) in COLUMN_NAMES[column]]
            if len(names) != 1:
                return Pair(None, None, row, f"line {number}: no {column}")
            found.append(row[names[0]])
        return Pair(*found, row)

    def failed(self, text: str, error: str) -> Pair:
        return Pair(None, None, {"line": text}, error)

    def line(self, kept: dict[str, Any], answer: dict[str, Any]) -> str:
        row = {**kept, **{name: value for name, value in answer.items() if value is not None}}
        text = json.dumps(row, ensure_ascii=False)
        # A lone surrogate cannot be written in UTF-8.
        return text if text.isprintable() else json.dumps(row)


class _Delimited:
    """CSV, tab-separated and their kin, one record a line."""

    def __init__(self, delimiter: str, header: list[str], places: tuple[int, int], width: int):
        self.delimiter, self.header = delimiter, header
        self.places, self.width = places, width

    @classmethod
    def of(cls, first: str, name: str) -> tuple[_Delimited, str | None]:
        """From the first line: the form, and the header to write where there is one."""
        for delimiter in ",\t;|":
            header = split_header(first, delimiter)
            normal = [normal_name(column) for column in header]
            places = [
                [at for at, column in enumerate(normal) if column in COLUMN_NAMES[wanted]]
                for wanted in ("question1", "question2")
            ]
            if all(len(found) == 1 for found in places):
                form = cls(delimiter, header, (places[0][0], places[1][0]), len(header))
                return form, form._written([*header, *form._new_names()])
        for delimiter in ",\t;|":
            if len(split_header(first, delimiter)) == 2:
                return cls(delimiter, [], (0, 1), 2), None
        raise DataError(
            f"{name}, line 1: neither JSON, nor a header with question1 and question2, nor two "
            "columns. Name the columns in a first line."
        )

    def _new_names(self) -> list[str]:
        taken = {normal_name(column) for column in self.header}
        return [f"predicted_{name}" if name in taken else name for name in ANSWERS]

    def pair(self, text: str, number: int) -> Pair:
        try:
            row = next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except (csv.Error, StopIteration) as error:
            why = (
                "a quote is not closed on this line"
                if "unexpected end" in str(error)
                else f"not CSV ({error})"
            )
            return self.failed(text, f"line {number}: {why}")
        if len(row) != self.width:
            return self.failed(text, f"line {number}: {len(row)} fields, not {self.width}")
        return Pair(row[self.places[0]], row[self.places[1]], row)

    def failed(self, text: str, error: str) -> Pair:
        # The whole line in the first column keeps the row's width.
        return Pair(None, None, [text, *[""] * (self.width - 1)], error)

    def line(self, kept: list[str], answer: dict[str, Any]) -> str:
        values = [answer[name] for name in ANSWERS]
        if values[0] is not None:
            values[0] = int(values[0])
        return self._written([*kept, *("" if value is None else value for value in values)])

    def _written(self, row: list[Any]) -> str:
        out = io.StringIO()
        row = [
            cell.replace("\n", " ").replace("\r", " ") if type(cell) is str else cell
            for cell in row
        ]
        csv.writer(out, delimiter=self.delimiter, lineterminator="").writerow(row)
        return out.getvalue().encode("utf-8", "replace").decode()


def _as_they_come(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Batches of the lines that have come so far, so that a slow writer is answered at once."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=2 * BATCH)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except BaseException as error:  # Raised again where the answers are made.
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    batch: list[bytes] = []
    while True:
        try:
            item = waiting.get(block=not batch)
        except queue.Empty:
            item = Ellipsis
        if isinstance(item, bytes):
            batch.append(item)
        if batch and (not isinstance(item, bytes) or len(batch) >= BATCH):
            yield batch
            batch = []
        if item is None:
            return
        if isinstance(item, BaseException):
            raise item


def flush_lines(answers: Iterable[tuple[str, bool]], write=None) -> tuple[int, int]:
    """Prints each answer at once; returns how many lines there were and how many failed."""
    out = write or (lambda text: (sys.stdout.write(text), sys.stdout.flush()))
    count = failed = 0
    for line, good in answers:
        out(line + "\n")
        count += 1
        failed += not good
    return count, failed
