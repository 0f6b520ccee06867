"""Reading a list of questions: their texts, ids and other columns.

In three stages: `rows` gives each row of a file as column -> value; a row with a
question and an id becomes an entry of the `QuestionList`; and what many of its texts
repeat is left out of what is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from siamese.errors import DataError
from siamese.reading.rows import ReadReport, Rows, open_rows
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.cleaning import cleaned, has_words
from siamese.text.columns import (
    ALL_ID_NAMES,
    BODY_NAMES,
    ID_NAMES,
    QUESTION_NAMES,
    SUBJECT_NAMES,
    TITLE_NAMES,
    USUAL_NAMES,
    TextColumns,
    columns_named,
    is_named,
    normal_name,
    question_columns,
    read_spec,
    shown_names,
)
from siamese.text.repeated import Repeated, find_repeated, repetition_note
from siamese.text.values import id_text, json_value
from siamese.text.wrapping import plain, plain_lines

PAIR_NAMES = ("question1", "question2")
SENTENCE_ENDS = ".?!:;,…。？！：；、，؟"
MOST_RECENT = 4_096  # texts that are compared with the next one
SHORT = 1_000  # characters; longer texts are seldom equal
BODY_WORDS = 50  # of title and body, the first words that count


@dataclass
class QuestionList:
    """Questions as they were read."""

    report: ReadReport  # the rows that were left out
    questions: list[str]  # the texts
    # The file's own ids; where it has none, the numbers of its data rows from 0, rows
    # that were left out counted (of a file of pairs the questions are counted).
    ids: list[str]
    has_ids: bool  # whether they are the file's own
    # The other columns of each question (and those that were joined), as JSON values,
    # or None where there are none. Columns of one name are a list of their values.
    columns: list[JsonObject] | None
    rows: list[int]  # the number of each question's data row from 0
    column: str  # the columns of the questions, as `read_questions` takes them
    # What is compared of each question: without what the list repeats, and of joined
    # columns without mail and markup, a sentence each. The question itself where it is
    # the same.
    compared: list[str]
    # what was left out of them, since many texts have it
    repeated: Repeated = field(default_factory=Repeated)

    def has_column(self, name: str) -> bool:
        """Whether a question has another column of that name."""
        return any(name in own for own in self.columns or ())

    def with_rows(self) -> QuestionList:
        """With `rows` as the column "row", unless the list has one of that name."""
        if self.has_column("row"):
            return self
        others = self.columns or [{}] * len(self.rows)
        columns = [{"row": row, **own} for row, own in zip(self.rows, others)]
        return replace(self, columns=columns)


def read_questions(
    source: Any,
    *,
    column: str | None = None,
    id_column: str | None = None,
    encoding: str | None = None,
    bad_rows: str = "refuse",
    keep_repeated: bool = False,
    repeated: JsonMapping | None = None,
) -> QuestionList:
    """Reads a list of questions; the content decides the format.

    Args:
      source: a path, '-' for standard input, or a table in memory (a DataFrame, a dict of columns, a list
        of dicts or of texts, ...).
        CSV and tab-separated text have a header; JSON Lines have one object on each line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; None for question, text, title, ..., and for "title+body:50"
        where there is a body beside the title, subject or summary. "title+body" joins columns, and of
        "title+body:50" the first 50 words count.
      id_column: the column with the ids; None for id, qid, ...
      encoding: of the text; UTF-8 where None.
      bad_rows: 'refuse' a file with a row that cannot be read, or 'skip' such rows and count them.
      keep_repeated: compare what many texts have, too: lines in more than 1 % of them (all digits
        count as 0), such as signatures, and tags before or after titles; and of joined columns greetings,
        sign-offs and quoted mail. All this is left out of what is compared, never of what is shown.
      repeated: what an earlier list left out (`Repeated.to_json`), in place of what this list repeats.

    DataError for a file that cannot be read so, with the file and line; ArgumentError
    for another word for `bad_rows`, or an unknown encoding.

    Example:
      >>> table = {"id": [7, 8, 9], "question": ["How far?", "", "Who?"], "by": ["me", "", "you"]}
      >>> result = read_questions(table)
      >>> result.questions, result.ids, result.columns, result.report.counts["empty"]
      (['How far?', 'Who?'], ['7', '9'], [{'by': 'me'}, {'by': 'you'}], 1)
    """
    column = None if column is None else str(column)
    id_column = None if id_column is None else str(id_column)
    known = () if column else (*QUESTION_NAMES, *PAIR_NAMES, *ALL_ID_NAMES)
    asked = [column, id_column]
    with open_rows(
        source, bad_rows, names=known, specs=asked, encoding=encoding
    ) as rows:
        shown, made_of = _question_columns(rows, column)
        sure = rows.column(id_column) if id_column else rows.first_column(ID_NAMES)
        ids = sure or rows.first_column(ALL_ID_NAMES)
        if made_of is None:
            listed = _questions_of_pairs(rows, shown)
        else:
            listed, texts = _questions_of_rows(rows, shown, made_of, ids, bool(sure))
            if not keep_repeated:
                _leave_out_repeated(listed, made_of, texts, repeated)
    report = rows.report
    if not report.rows:
        raise DataError(f"{report.path} has no rows.")
    if not listed.questions:
        raise DataError(
            f"{report.path} has no usable question.\n{report}",
            arguments=("bad_rows", "keep_repeated", "id_column"),
        )
    return listed


def read_ids(
    source: Any, *, id_column: str | None = None, **options: Any
) -> tuple[list[str], ReadReport]:
    """Reads a list of ids: a table's column of ids, or text with one on each line.

    Options, errors: `encoding` and `bad_rows` as of `read_questions`.
    """
    with open_rows(source, names=ALL_ID_NAMES, specs=[id_column], **options) as rows:
        named = rows.first_column(ID_NAMES) or rows.first_column(ALL_ID_NAMES)
        usual = rows.header[0] if rows.is_plain else named
        key = rows.column(id_column or usual or "id")
        ids = []
        for line, _, row in rows:
            # as a spreadsheet saves it
            if own := re.sub('^"(.*)"$', r"\1", id_text(row.get(key))):
                ids.append(own)
            elif not rows.is_plain:
                rows.report.bad_row(line, f"no {key}.")
        rows.report.forget("empty")  # A blank line between ids means nothing.
    return ids, rows.report


# ---- The rows with a question ----


def _questions_of_rows(
    rows: Rows,
    shown: str,
    made_of: TextColumns,
    id_column: str | None,
    is_sure: bool,
) -> tuple[QuestionList, list[list[str]]]:
    """The list, whole texts compared, and the texts of each of the questions' columns.

    Where the column of ids `is_sure`, each row must have an id of its own; a likely
    column may turn out to hold none.
    """
    questions: list[str] = []
    ids: list[str] = []
    columns: list[JsonObject | None] = []
    numbers: list[int] = []
    is_joined = made_of.is_joined
    texts: list[list[str]] = [[] for _ in made_of.columns] if is_joined else [questions]
    sure_ids = id_column if is_sure else None
    # Joined columns stay whole beside the question.
    used = {sure_ids, *(() if is_joined else made_of.columns)}
    recent: dict[str, str] = {}
    for number, text, row in _rows_with_question(rows, made_of, sure_ids):
        questions.append(_same_text(text, recent))
        ids.append(id_text(row.get(id_column)) if id_column else str(number))
        others = {n: json_value(v) for n, v in row.items() if n not in used}
        columns.append(others or None)
        numbers.append(number)
        if is_joined:
            for column, name in zip(texts, made_of.columns):
                column.append(_same_text(row.get(name) or "", recent))
    listed = QuestionList(
        report=rows.report,
        questions=questions,
        ids=ids,
        has_ids=is_sure,
        columns=[own or {} for own in columns] if any(columns) else None,
        rows=numbers,
        column=shown,
        compared=list(questions),
    )
    if id_column and not is_sure:
        _take_likely_ids(listed, id_column)
    return listed, texts


def _rows_with_question(
    rows: Rows, made_of: TextColumns, id_column: str | None
) -> Iterator[tuple[int, str, JsonObject]]:
    """The number, question and cells of each row with a question and an id of its own.

    The others go into the report.
    """
    known: set[str] = set()  # ids
    for line, number, row in rows:
        text = rows.question(line, row, made_of)
        if not text:
            continue
        # No model has a vector of markup alone; the first words of a text are cleaned.
        if not has_words(text if made_of.words else cleaned(text)):
            rows.report.add("wordless", [line])
            continue
        if id_column:
            own = id_text(row.get(id_column))
            if not own:
                rows.report.bad_row(line, f"no {id_column}.")
                continue
            if own in known:
                what = f"the id {own!r} stands in an earlier row."
                rows.report.bad_row(line, what)
                continue
            known.add(own)
        yield number, text, row


def _same_text(text: str, recent: dict[str, str]) -> str:
    """An equal text that was here lately, or this one: many equal rows take little memory."""
    if len(text) > SHORT:
        return text
    if len(recent) >= MOST_RECENT:
        recent.clear()
    return recent.setdefault(text, text)


def _take_likely_ids(listed: QuestionList, name: str) -> None:
    """Takes the likely ids that a column gave, unless a value is missing or occurs twice.

    The numbers of the rows are the ids then.
    """
    distinct = set(listed.ids)
    listed.has_ids = "" not in distinct and len(distinct) == len(listed.ids)
    if not listed.has_ids:
        listed.report.notes.append(
            f"{name} holds no ids, since rows lack it or have the same; id_column names such a column"
        )
        listed.ids = list(map(str, listed.rows))
    elif listed.columns is not None:
        for own in listed.columns:
            own.pop(name, None)
        listed.columns = listed.columns if any(listed.columns) else None


def _questions_of_pairs(rows: Rows, shown: str) -> QuestionList:
    """The distinct questions of a file of pairs."""
    sides = [TextColumns([rows.column(name)]) for name in PAIR_NAMES]
    known: set[str] = set()
    questions: list[str] = []
    numbers: list[int] = []
    for line, number, row in rows:
        new = [
            text
            for text in dict.fromkeys(rows.pair(line, row, sides))
            if text not in known
        ]
        good = [text for text in new if has_words(cleaned(text))]
        known.update(new)
        rows.report.add("wordless", [line] * (len(good) < len(new)))
        questions += good
        numbers += [number] * len(good)
    return QuestionList(
        report=rows.report,
        questions=questions,
        ids=list(map(str, range(len(questions)))),
        has_ids=False,
        columns=None,
        rows=numbers,
        column=shown,
        compared=list(questions),
    )


# ---- What is compared of them ----


def _leave_out_repeated(
    listed: QuestionList,
    made_of: TextColumns,
    texts: list[list[str]],
    earlier: JsonMapping | None,
) -> None:
    """Leaves out of what is compared what the texts of a column repeat, with a note on it.

    What an `earlier` list repeats is left out in its place, where it is given.
    """
    columns = []
    for name, whole in zip(made_of.columns, texts):
        # What mail repeats, such as quoted headers, is known by its rules, and goes as
        # a whole.
        column = list(map(plain if made_of.is_joined else plain_lines, whole))
        if earlier is None:
            repeated = find_repeated(column)
            shortened = sum(
                text.count("\n") < full.count("\n") for text, full in zip(column, whole)
            )
            if note := repetition_note(name, repeated, column, shortened):
                listed.report.notes.append(note)
        else:
            repeated = Repeated.from_json(earlier)
        if repeated:
            column = list(map(repeated.without, column))
            listed.repeated.update(repeated)
        columns.append(column)
    if not made_of.is_joined:
        listed.compared = columns[0]
        return
    for at, parts in enumerate(zip(*columns)):
        joined = " ".join(_sentences(parts).split()[: made_of.words])
        if has_words(joined):
            listed.compared[at] = joined


def _sentences(texts: Sequence[str]) -> str:
    """Texts in a row, each with a mark at its end: an encoder reads a title as a sentence of its own."""
    full = [text.strip() for text in texts if text.strip()]
    ended = [text if text[-1] in SENTENCE_ENDS else f"{text}." for text in full[:-1]]
    return " ".join([*ended, *full[-1:]])


# ---- The columns of the question ----


def _question_columns(rows: Rows, column: str | None) -> tuple[str, TextColumns | None]:
    """What makes a question, as it is shown and taken apart; None of a file of pairs."""
    header = rows.header
    if column:
        return column, rows.text_columns(column)
    if rows.is_plain:
        return "each line", TextColumns(header)
    names = question_columns(header)
    # Beside a subject it is the body.
    if len(names) == 1 and is_named(names[0], ("text",)):
        names = [*columns_named(SUBJECT_NAMES, header)[:1], *names]
        bodies = names[1:]
    elif len(names) == 1 and is_named(names[0], TITLE_NAMES):
        bodies = columns_named(BODY_NAMES, header)
        names += bodies
    else:
        bodies = []
    if len(bodies) == 1:
        # Chosen on a made forum, where whole bodies drown the question:
        # benchmarks/results/forum.json.
        made_of = TextColumns(list(map(rows.column, names)), BODY_WORDS)
        return f"{'+'.join(names)}:{BODY_WORDS}", made_of
    if len(names) > 1:
        both = "+".join(names)
        # A name may have a + itself.
        is_read = read_spec(both, header) == TextColumns(names)
        joined = f", or join them with column={both!r}" * is_read
        raise DataError(
            f"{rows.where}: {' and '.join(names)} may each hold the questions. Name one with "
            f"column={names[0]!r}{joined}.",
            arguments=("column",),
        )
    if names:
        return names[0], TextColumns([rows.column(names[0])])
    if not set(PAIR_NAMES) <= set(map(normal_name, header)):
        raise DataError(
            f"{rows.where}: no column named {', '.join(USUAL_NAMES)}, subject or summary; the "
            f"columns: {shown_names(header)}. Name yours with column=, or write a header line.",
            arguments=("column",),
        )
    return " and ".join(PAIR_NAMES), None
