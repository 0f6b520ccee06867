"""One complete command for a list that was not read: its encoding and columns, tried before."""

from __future__ import annotations

import os
import shlex
from itertools import islice

from siamese.errors import SiameseError
from siamese.reading.likely import likely_encoding
from siamese.reading.questions import BODY_WORDS, read_questions
from siamese.reading.rows import open_rows
from siamese.system.open_types import Keywords, Record

ROWS = 300  # by which columns of questions are told from others
SIZE = 1 << 24  # bytes by which the encoding is told
LEAST_WORDS = 2.5  # a title's, in the mean
LONGEST_TITLE = 25  # words in the mean; a longer text is a body
DISTINCT = 0.6  # the share of a column's texts that differ


def complete_command(path: str, options: Keywords, words: list[str]) -> str:
    """A command that reads a list which the given one cannot read; "" where none is found.

    Args:
      path: the list.
      options: those of `read_questions` that the command had.
      words: the command as it was given.
    """
    if not os.path.isfile(path) or not words:
        return ""
    added: dict[str, str] = {}
    for step in (_encoding, _column, _rows):
        options = {**options, **added}
        if added and _is_readable(path, options):
            break
        added |= step(path, options)
    if not added or not _is_readable(path, {**options, **added}):
        return ""
    flags = [part for name, value in added.items() for part in (f"--{name}", value)]
    flags = [
        part.replace("_", "-") if part.startswith("--") else part for part in flags
    ]
    return f"\nThis command reads it:\n  {shlex.join(['siamese', *words, *flags])}"


def _is_readable(path: str, options: Keywords) -> bool:
    try:
        read_questions(path, **options)
    except SiameseError:
        return False
    return True


def _encoding(path: str, options: Keywords) -> dict[str, str]:
    if options.get("encoding"):
        return {}
    with open(path, "rb") as file:
        encoding = likely_encoding(file.read(SIZE))
    return {"encoding": encoding} if encoding else {}


def _rows(path: str, options: Keywords) -> dict[str, str]:
    return {} if options.get("bad_rows") == "skip" else {"bad_rows": "skip"}


def _column(path: str, options: Keywords) -> dict[str, str]:
    """The column that reads like titles or questions, and that of their bodies."""
    if options.get("column"):
        return {}
    try:
        with open_rows(
            path, "skip", names=(), encoding=options.get("encoding")
        ) as rows:
            if rows.is_plain:
                return {}
            header = [name for name in dict.fromkeys(rows.header) if name.strip()]
            some = [row for _, _, row in islice(rows, ROWS)]
    except SiameseError:
        return {}
    lengths = {
        name: length for name in header if (length := _words_of(name, some)) is not None
    }
    titles = [name for name in lengths if LEAST_WORDS <= lengths[name] <= LONGEST_TITLE]
    bodies = [name for name in lengths if lengths[name] > LEAST_WORDS]
    if not bodies:
        return {}
    body = max(bodies, key=lengths.__getitem__)
    title = next((name for name in titles if name != body), None)
    if title is None:
        return {"column": body}
    return {"column": f"{title}+{body}:{BODY_WORDS}"}


def _words_of(name: str, rows: list[Record]) -> float | None:
    """The mean number of words of a column's texts; None where most are alike, or no text."""
    texts = [
        row[name]
        for row in rows
        if isinstance(row.get(name), str) and row[name].strip()
    ]
    worded = [text for text in texts if sum(map(str.isalpha, text)) > len(text) / 2]
    if (
        not texts
        or 2 * len(worded) < len(rows)
        or len(set(texts)) < DISTINCT * len(texts)
    ):
        return None
    return sum(len(text.split()) for text in texts) / len(texts)
