"""Reading a list of questions: their texts, ids and other columns."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from siamese.data.readers.columns import Parts, normal_name, shown_names
from siamese.data.readers.reading import Rows, open_rows
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import QUESTION_NAMES, id_text, json_value, question_places
from siamese.data.text import cleaned, has_words
from siamese.errors import DataError

PAIR_NAMES = ("question1", "question2")
ID_NAMES = (
    "id", "qid", "question_id", "ticket", "ticket id", "ticket_id", "issue key", "post_id", "idx",
)  # fmt: skip
TITLE_NAMES = ("title", "subject", "summary")
BODY_NAMES = ("body", "description", "content", "details", "selftext", "message")
BODY_WORDS = 50  # of title and body, the first words that count
# Lines that stand in many texts of a list, such as signatures and templates:
SHARE = 0.01  # A line in more of the texts than this is repeated.
LEAST_TEXTS = 100  # A shorter list has no repeated lines.
LEAST_TIMES = 5  # More texts than this have it.
LEAST_WORDS = 3  # Shorter lines, such as "Hello all", are never counted.
_LINE_END = re.compile(r"<br\s*/?>|</(?:div|li|p|td|tr)\s*>", re.IGNORECASE)


@dataclass
class QuestionList:
    """Questions as they were read."""

    report: ReadReport  # the rows that were left out
    questions: list[str]  # the texts
    # The file's own ids; where it has none, the numbers of its data rows from 0, rows that were left out
    # counted (of a file of pairs the questions are counted).
    ids: list[str]
    has_ids: bool  # whether they are the file's own
    # The other columns of each question (and those that were joined), as JSON values, or None where there
    # are none. Columns of one name are a list of their values.
    columns: list[dict[str, Any]] | None
    rows: list[int]  # the number of each question's data row from 0
    column: str  # the columns of the questions, as `read_questions` takes them


def read_questions(
    source: Any,
    *,
    column: str | None = None,
    id_column: str | None = None,
    encoding: str | None = None,
    bad_rows: str = "refuse",
    drop_repeated: bool = False,
    repeated: Collection[str] = (),
) -> QuestionList:
    """Reads a list of questions; the content decides the format.

    Args:
      source: a path, '-' for standard input, or a table in memory (a DataFrame, a dict of columns, ...).
        CSV and tab-separated text have a header; JSON Lines have one object on each line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; None for question, text, title, ..., and for "title+body:50"
        where there is a body beside the title, subject or summary. "title+body" joins columns, and of
        "title+body:50" the first 50 words count.
      id_column: the column with the ids; None for id, qid, ...
      encoding: of the text; UTF-8 where None.
      bad_rows: 'refuse' a file with a row that cannot be read, or 'skip' such rows and count them.
      drop_repeated: leave out the lines that stand in more than 1 % of the bodies, such as signatures.
      repeated: such lines of an earlier list, which count here too, however few bodies have them.

    DataError for a file that cannot be read so, with the file and line; ArgumentError for another word for
    `bad_rows`, or an unknown encoding.

    Example:
      >>> table = {"id": [7, 8, 9], "question": ["How far?", "", "Who?"], "by": ["me", "", "you"]}
      >>> result = read_questions(table)
      >>> result.questions, result.ids, result.columns, result.report.count("empty")
      (['How far?', 'Who?'], ['7', '9'], [{'by': 'me'}, {'by': 'you'}], 1)
    """
    column, id_column = (name if name is None else str(name) for name in (column, id_column))
    known = () if column else (*QUESTION_NAMES, *PAIR_NAMES, *ID_NAMES)
    asked = [column, id_column]
    with open_rows(source, bad_rows, names=known, specs=asked, encoding=encoding) as rows:
        shown, parts = _question_parts(rows, column)
        key = rows.column(id_column) if id_column else rows.first_column(ID_NAMES)
        key = key if parts else None
        options = key, drop_repeated, repeated
        entries = [*(_entries(rows, parts, *options) if parts else _pair_entries(rows))]
    report = rows.report
    if not report.rows:
        raise DataError(f"{report.path} has no rows.")
    if not entries:
        raise DataError(f"{report.path} has no usable question.\n{report}")
    texts, ids, columns, numbers = map(list, zip(*entries))
    others = columns if any(columns) else None
    return QuestionList(report, texts, ids, key is not None, others, numbers, shown)


def read_ids(
    source: Any, *, id_column: str | None = None, **options: Any
) -> tuple[list[str], ReadReport]:
    """Reads a list of ids: a table's column of ids, or text with one on each line.

    Options, errors: `encoding` and `bad_rows` as of `read_questions`.
    """
    with open_rows(source, names=ID_NAMES, specs=[id_column], **options) as rows:
        usual = rows.header[0] if rows.is_plain else rows.first_column(ID_NAMES)
        key = rows.column(id_column or usual or "id")
        ids = []
        for line, _, row in rows:
            if own := re.sub('^"(.*)"$', r"\1", id_text(row.get(key))):  # as a spreadsheet saves it
                ids.append(own)
            elif not rows.is_plain:
                rows.report.bad_row(line, f"no {key}.")
    return ids, rows.report


Entry = tuple[str, str, dict[str, Any], int]  # the text, the id, the other columns, the data row


def _pair_entries(rows: Rows) -> Iterator[Entry]:
    """The distinct questions of a file of pairs."""
    sides = [Parts([rows.column(name)]) for name in PAIR_NAMES]
    known: set[str] = set()
    ids = itertools.count()
    for line, number, row in rows:
        new = [text for text in dict.fromkeys(rows.pair(line, row, sides)) if text not in known]
        good = [text for text in new if has_words(cleaned(text))]
        known.update(new)
        rows.report.add("wordless", [line] * (len(good) < len(new)))
        for text in good:
            yield text, str(next(ids)), {}, number


def _entries(
    rows: Rows, parts: Parts, key: str | None, drop: bool, earlier: Collection[str]
) -> Iterator[Entry]:
    """The rows with a question; lines that many texts repeat are noted, and left out on request."""
    is_joined = len(parts.columns) > 1 or parts.words  # Joined columns stay whole, too.
    used = {key} if is_joined else {key, *parts.columns}
    records = [*rows]  # All texts must be known before the first is shortened.
    repeated: dict[str, int] = {}
    for name in parts.columns:
        texts = [row[name] for *_, row in records if isinstance(row.get(name), str)]
        if lines := repeated_lines(texts, earlier):
            rows.report.notes.append(_repetition(name, lines, drop))
            repeated |= lines
    rows.report.repeated += repeated
    known: set[str] = set()  # ids
    for line, number, row in records:
        bodies = {n: row[n] for n in parts.columns if drop and isinstance(row.get(n), str)}
        shorter = {n: without_lines(text, repeated) for n, text in bodies.items()}
        if text := rows.question(line, row | shorter if shorter else row, parts):
            own = id_text(row.get(key)) if key else str(number)
            if not has_words(cleaned(text)):  # No model has a vector of markup alone.
                rows.report.add("wordless", [line])
            elif not own or own in known:
                what = f"the id {own!r} stands in an earlier row." if own else f"no {key}."
                rows.report.bad_row(line, what)
            else:
                known.add(own)
                others = {n: json_value(v) for n, v in row.items() if n not in used}
                yield text, own, others, number


def _lines(text: str) -> list[tuple[str, str]]:
    """The lines of a text, each with its key before it; some tags of HTML end a line too."""
    lines = _LINE_END.sub(r"\g<0>\n", text).splitlines()
    return [(" ".join(cleaned(line).split()).casefold(), line) for line in lines]


def repeated_lines(texts: Sequence[str], known: Collection[str] = ()) -> dict[str, int]:
    """The lines that stand in more than 1 % of at least 100 texts, the most frequent first.

    Lines are equal but for case, blanks and markup. A line counts once for each text; a text of one line
    does not count: a question that many people ask is no signature. A line of an earlier list, one of
    `known`, is repeated however seldom it stands here. Each line, as the last text with it has it, comes
    with the number of texts that have it.
    """
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for text in (text for text in texts if "<" in text or len(text.splitlines()) > 1):
        lines = {key: line.strip() for key, line in _lines(text) if key}
        if len(lines) > 1:
            long = {k: line for k, line in lines.items() if len(k.split()) >= LEAST_WORDS}
            counts.update(long.keys())
            shown |= long
    least = max(SHARE * len(texts), LEAST_TIMES) if len(texts) >= LEAST_TEXTS else len(texts)
    keys = {key for line in known for key, _ in _lines(line)}
    return {shown[k]: count for k, count in counts.most_common() if count > least or k in keys}


def without_lines(text: str, lines: Collection[str]) -> str:
    """The text without the lines of `repeated_lines`; a text of nothing else stays as it is."""
    keys = {key for line in lines for key, _ in _lines(line)}
    rest = [line for key, line in _lines(text) if key not in keys]
    return "\n".join(rest) if any(map(str.strip, rest)) else text


def _repetition(name: str, lines: dict[str, int], drop: bool) -> str:
    """A note on the lines that stand in many bodies."""
    shown = ", ".join(f"{cleaned(line)[:40]!r} ({n:,})" for line, n in [*lines.items()][:3])
    head = f"{len(lines):,} line{'s' * (len(lines) > 1)} repeated in more than 1 % of {name}"
    how = "left out" if drop else "--drop-repeated leaves such lines out"
    return f"{head}, such as {shown}: {how}"


def _question_parts(rows: Rows, column: str | None) -> tuple[str, Parts | None]:
    """What makes a question, as it is shown and taken apart; no parts of a file of pairs."""
    header = rows.header
    if column:
        return column, rows.parts(column)
    if rows.is_plain:
        return "each line", Parts(header)
    names = list(dict.fromkeys(header[at] for at in question_places(header)))
    if len(names) == 1 and normal_name(names[0]) in TITLE_NAMES:
        names += [name for name in header if normal_name(name) in BODY_NAMES]
        if len(names) == 2:
            # Chosen on a made forum, where whole bodies drown the question: benchmarks/results/forum.json.
            parts = Parts(list(map(rows.column, names)), BODY_WORDS)
            return f"{'+'.join(names)}:{BODY_WORDS}", parts
    if len(names) > 1:
        raise DataError(
            f"{rows.where}: {' and '.join(names)} may each hold the questions. Name one with --column "
            f"{names[0]}, or join them with --column {'+'.join(names)} (in Python: column=)."
        )
    if names:
        return names[0], Parts([rows.column(names[0])])
    if not set(PAIR_NAMES) <= set(map(normal_name, header)):
        raise DataError(
            f"{rows.where}: no column named {', '.join(QUESTION_NAMES)}; the columns: "
            f"{shown_names(header)}. Name yours with --column (in Python: column=), or write a header "
            "line."
        )
    return " and ".join(PAIR_NAMES), None
