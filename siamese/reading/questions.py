"""Reading a list of questions: their texts, ids and other columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from siamese.errors import DataError
from siamese.reading.columns import TextColumns, read_spec, shown_names
from siamese.reading.rows import ReadReport, Rows, open_rows
from siamese.reading.tables import id_text, json_value
from siamese.text.cleaning import cleaned, has_words
from siamese.text.names import (
    ALL_ID_NAMES,
    BODY_NAMES,
    ID_NAMES,
    QUESTION_NAMES,
    SUBJECT_NAMES,
    TITLE_NAMES,
    USUAL_NAMES,
    columns_named,
    is_named,
    normal_name,
    question_columns,
)
from siamese.text.repeated import Repeated, find_repeated, repetition_note
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
    columns: list[dict[str, Any]] | None
    rows: list[int]  # the number of each question's data row from 0
    column: str  # the columns of the questions, as `read_questions` takes them
    # What is compared of each question: without what the list repeats, and of joined
    # columns without mail and markup, a sentence each. The question itself where it is
    # the same.
    compared: list[str]
    repeated: Repeated  # what was left out of them, since many texts have it

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
    repeated: Mapping[str, Any] | None = None,
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
      >>> result.questions, result.ids, result.columns, result.report.count("empty")
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
        ids = _id_column(rows, id_column)
        if made_of is None:
            has_ids = False
            entries = _pair_entries(rows)
            left_out = Repeated()
        else:
            entries, texts = _entries(rows, made_of, ids)
            has_ids = _has_ids(rows, entries, ids)
            earlier = None if repeated is None else Repeated.from_json(repeated)
            entries.compared, left_out = _compared(
                rows, made_of, entries.texts, texts, keep_repeated, earlier
            )
    _check_usable(rows.report, entries)
    return QuestionList(
        report=rows.report,
        questions=entries.texts,
        ids=entries.ids,
        has_ids=has_ids,
        columns=entries.columns(),
        rows=entries.rows,
        column=shown,
        compared=entries.compared,
        repeated=left_out,
    )


def _check_usable(report: ReadReport, entries: Entries) -> None:
    if not report.rows:
        raise DataError(f"{report.path} has no rows.")
    if not entries.texts:
        raise DataError(
            f"{report.path} has no usable question.\n{report}",
            arguments=("bad_rows", "keep_repeated", "id_column"),
        )


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


class RecentTexts:
    """Equal texts as one string, so that a small file of many equal rows takes little memory."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The string of an equal text that was here lately, or this one."""
        if len(text) > SHORT:
            return text
        if len(self._texts) >= MOST_RECENT:
            self._texts.clear()
        return self._texts.setdefault(text, text)


@dataclass
class Entries:
    """The questions of a list, column by column."""

    texts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    # the other columns
    others: list[dict[str, Any] | None] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # the data rows
    compared: list[str] = field(default_factory=list)  # what is compared of each

    def add(self, text: str, own: str, others: dict[str, Any], row: int) -> None:
        """Adds a question; what is compared of it comes later."""
        self.texts.append(text)
        self.ids.append(own)
        self.others.append(others or None)
        self.rows.append(row)

    def drop_column(self, name: str) -> None:
        """Takes a column out of the others."""
        for others in self.others:
            if others:
                others.pop(name, None)

    def columns(self) -> list[dict[str, Any]] | None:
        """The other columns of each question; None where no question has any."""
        return [others or {} for others in self.others] if any(self.others) else None


def _pair_entries(rows: Rows) -> Entries:
    """The distinct questions of a file of pairs."""
    sides = [TextColumns([rows.column(name)]) for name in PAIR_NAMES]
    known: set[str] = set()
    entries = Entries()
    for line, number, row in rows:
        new = [
            text
            for text in dict.fromkeys(rows.pair(line, row, sides))
            if text not in known
        ]
        good = [text for text in new if has_words(cleaned(text))]
        known.update(new)
        rows.report.add("wordless", [line] * (len(good) < len(new)))
        for text in good:
            entries.add(text, str(len(entries.texts)), {}, number)
    entries.compared = list(entries.texts)
    return entries


class _IdColumn(NamedTuple):
    """The column of ids, None without one; a likely one may turn out to hold none."""

    name: str | None
    is_likely: bool = False


def _id_column(rows: Rows, named: str | None) -> _IdColumn:
    """The column of ids that the user has named, or that is called as ids usually are."""
    name = rows.column(named) if named else rows.first_column(ID_NAMES)
    if name:
        return _IdColumn(name)
    return _IdColumn(rows.first_column(ALL_ID_NAMES), is_likely=True)


def _entries(
    rows: Rows, made_of: TextColumns, ids: _IdColumn
) -> tuple[Entries, list[list[str]]]:
    """The rows with a question, and the texts of each of its columns; the others go into the report."""
    known: set[str] = set()  # ids
    recent = RecentTexts()
    entries = Entries()
    texts: list[list[str]] = [[] for _ in made_of.columns]
    # Joined columns stay whole beside the question.
    used = set() if made_of.is_joined else set(made_of.columns)
    sure = None if ids.is_likely else ids.name
    if sure:
        used.add(sure)
    for line, number, row in rows:
        text = recent.of(rows.question(line, row, made_of))
        if not text:
            continue
        # No model has a vector of markup alone; the first words of a text are cleaned.
        if not has_words(text if made_of.words else cleaned(text)):
            rows.report.add("wordless", [line])
            continue
        own = id_text(row.get(ids.name)) if ids.name else str(number)
        if sure and (not own or own in known):
            what = f"the id {own!r} stands in an earlier row." if own else f"no {sure}."
            rows.report.bad_row(line, what)
            continue
        if sure:
            known.add(own)
        others = {n: json_value(v) for n, v in row.items() if n not in used}
        entries.add(text, own, others, number)
        if made_of.is_joined:
            for column, name in zip(texts, made_of.columns):
                column.append(recent.of(row.get(name) or ""))
        else:
            texts[0].append(text)
    return entries, texts


def _has_ids(rows: Rows, entries: Entries, ids: _IdColumn) -> bool:
    """Whether the ids are the file's own.

    A likely column of ids holds none where a value is missing or occurs twice; the
    numbers of the rows are the ids then.
    """
    if ids.name is None or not ids.is_likely:
        return ids.name is not None
    distinct = set(entries.ids)
    if "" not in distinct and len(distinct) == len(entries.ids):
        entries.drop_column(ids.name)
        return True
    rows.report.notes.append(
        f"{ids.name} holds no ids, since rows lack it or have the same; id_column names such a column"
    )
    entries.ids = list(map(str, entries.rows))
    return False


def _compared(
    rows: Rows,
    made_of: TextColumns,
    questions: list[str],
    texts: list[list[str]],
    keeps: bool,
    earlier: Repeated | None,
) -> tuple[list[str], Repeated]:
    """What is compared of each question, and what the list repeats, with a note on it.

    `texts` are those of the questions' columns, one after the other.
    """
    if keeps:
        return list(questions), Repeated()
    repeated = Repeated()
    columns = []
    for name, whole in zip(made_of.columns, texts):
        # What mail repeats, such as quoted headers, is known by its rules, and goes as
        # a whole.
        column = list(map(plain if made_of.is_joined else plain_lines, whole))
        own = find_repeated(column) if earlier is None else earlier
        if earlier is None:
            lines = (
                text.count("\n") < full.count("\n") for text, full in zip(column, whole)
            )
            if note := repetition_note(name, own, column, sum(lines)):
                rows.report.notes.append(note)
        if own:
            column = list(map(own.without, column))
            repeated.update(own)
        columns.append(column)
    if not made_of.is_joined:
        return columns[0], repeated
    words = made_of.words
    joined = [" ".join(_sentences(row).split()[:words]) for row in zip(*columns)]
    compared = [
        text if has_words(text) else whole for text, whole in zip(joined, questions)
    ]
    return compared, repeated


def _sentences(texts: Sequence[str]) -> str:
    """Texts in a row, each with a mark at its end: an encoder reads a title as a sentence of its own."""
    full = [text.strip() for text in texts if text.strip()]
    ended = [text if text[-1] in SENTENCE_ENDS else f"{text}." for text in full[:-1]]
    return " ".join([*ended, *full[-1:]])


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
