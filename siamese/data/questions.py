"""Reading a list of questions: their texts, ids and other columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from siamese.data.arguments import QUESTION_NAMES
from siamese.data.readers.columns import normal_name, places_of, shown_names, spec_places, text_at
from siamese.data.readers.reading import Rows, open_rows, source_name
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import id_text, json_value
from siamese.errors import DataError

PAIR_NAMES = ("question1", "question2")
ID_NAMES = ("id", "qid", "question_id", "idx")
BODY_NAMES = ("body", "description", "content", "details", "selftext", "message")


@dataclass
class QuestionList:
    """Questions as they were read.

    Args:
      report: what was left out while reading.
      questions: the texts.
      ids: text, one for each question: the file's own ids; where it has none, the numbers of its data rows
        from 0, rows that were left out counted (of a file of pairs the questions are counted).
      has_ids: whether the ids are the file's own.
      columns: the other columns of each question, as JSON values, or None where there are none. Columns of
        one name are a list of their values.
    """

    report: ReadReport
    questions: list[str]
    ids: list[str]
    has_ids: bool
    columns: list[dict[str, Any]] | None

    @property
    def left_out(self) -> int:
        """How many rows had an empty question."""
        return self.report.count("empty")


def read_questions(
    source: Any,
    *,
    column: str | None = None,
    id_column: str | None = None,
    encoding: str | None = None,
    bad_rows: str = "refuse",
) -> QuestionList:
    """Reads a list of questions; the content decides the format.

    Args:
      source: a path, '-' for standard input, or a table in memory (a DataFrame, a dict of columns, ...).
        CSV and tab-separated text have a header; JSON Lines have one object on each line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; None for question, text, title, ... "title+body" joins
        columns, "2*title+body" repeats the title so that its words weigh twice; a number, "2", where there
        is no header.
      id_column: the column with the ids; None for id, qid, ...
      encoding: of the text; UTF-8 where None.
      bad_rows: 'refuse' a file with a row that cannot be read, or 'skip' such rows and count them.

    Raises:
      DataError: a file that cannot be read so; names the file and line.
      ArgumentError: another word for `bad_rows`, or an unknown encoding.

    Example:
      >>> table = {"id": [7, 8, 9], "question": ["How far?", "", "Who?"], "by": ["me", "", "you"]}
      >>> result = read_questions(table)
      >>> result.questions, result.ids, result.columns, result.left_out
      (['How far?', 'Who?'], ['7', '9'], [{'by': 'me'}, {'by': 'you'}], 1)
    """
    report = ReadReport(source_name(source), bad_rows=bad_rows)
    result = QuestionList(report, [], [], False, [])
    distinct: dict[str, None] = {}  # the questions of a file of pairs, in order
    names: list[str] | None = None  # of the columns that make a question
    key: str | None = None
    rows = _open(source, report, column, encoding)
    with rows:
        for row, line, number in _dicts(rows):
            if names is None:
                header = list(row) if rows.is_json else rows.header
                names, key = _names(header, f"{report.path}, line 1", column, id_column)
                result.has_ids = key is not None
            if names == list(PAIR_NAMES):
                texts = [_text(row, [name], line, report) for name in row if _is_side(name)]
                distinct.update(dict.fromkeys(text for text in texts if text))
            else:
                texts = [_text(row, names, line, report)]
                own = id_text(row.get(key)) if key else str(number)
                if texts[0] and not own:
                    report.bad_row(line, f"no {key}.")
                elif texts[0]:
                    result.questions.append(texts[0])
                    result.ids.append(own)
                    others = {n: json_value(v) for n, v in row.items() if n not in (*names, key)}
                    result.columns.append(others)
            if "" in texts:
                report.add("empty", [line])
    if not report.rows:
        raise DataError(f"{report.path} has no rows.")
    if names == list(PAIR_NAMES):
        result.questions, result.ids = list(distinct), list(map(str, range(len(distinct))))
    report.kept = len(result.questions)
    result.columns = result.columns if any(result.columns) else None
    return result


def read_ids(
    source: Any,
    *,
    id_column: str | None = None,
    encoding: str | None = None,
    bad_rows: str = "refuse",
) -> tuple[list[str], ReadReport]:
    """Reads a list of ids: a table with a column of ids, or text with an id on each line.

    Args:
      source: as for `read_questions`.
      id_column: the column with the ids; None for id, qid, ...
      encoding: of the text.
      bad_rows: 'refuse' or 'skip'.

    Raises:
      DataError: a table without such a column, or another fault; names the file and line.
    """
    report = ReadReport(source_name(source), bad_rows=bad_rows)
    specs, names = ([id_column], ()) if id_column else ([], ID_NAMES)
    ids = []
    with open_rows(source, report, specs=specs, names=names, encoding=encoding) as rows:
        key = None
        for row, line, _ in _dicts(rows):
            if key is None:
                header = list(row) if rows.is_json else rows.header
                key = "question" if rows.is_plain and not id_column else _key(header, id_column)
                if key is None:
                    where = f"{report.path}, line 1"
                    raise _no_column(where, header, id_column, ID_NAMES, "--id-column")
            if text := id_text(row.get(key)):
                ids.append(text)
            elif not rows.is_plain:
                report.bad_row(line, f"no {key}.")
    report.kept = len(ids)
    return ids, report


def _open(source: Any, report: ReadReport, column: str | None, encoding: str | None) -> Rows:
    specs, names = ([column], ()) if column else ([], (*QUESTION_NAMES, *PAIR_NAMES))
    return open_rows(source, report, specs=specs, names=names, encoding=encoding)


def _dicts(rows: Rows) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Each row by the names of its columns, its line and its number; values of one name as a list."""
    places: dict[str, list[int]] = {}
    for at, name in enumerate(rows.header):
        places.setdefault(name, []).append(at)
    is_single = all(len(at) == 1 for at in places.values())
    for chunk in rows:
        for row, line, number in zip(*chunk):
            if not rows.is_json and is_single:
                row = dict(zip(rows.header, row))
            elif not rows.is_json:
                cells = {name: [row[at] for at in where] for name, where in places.items()}
                row = {name: cell if len(cell) > 1 else cell[0] for name, cell in cells.items()}
            yield row, line, number


def _text(row: dict[str, Any], names: Sequence[str], line: int, report: ReadReport) -> str | None:
    """The question; empty where there is none, None where it is not text."""
    text = text_at([row.get(name) for name in names], range(len(names)))
    if not isinstance(text, str | None):
        report.bad_row(line, f"{names[0]} is {text!r:.40}, not text.")
        return None
    return text if text and text.strip() else ""


def _names(
    header: Sequence[str], where: str, column: str | None, id_column: str | None
) -> tuple[list[str], str | None]:
    """The columns that make a question (of pairs `PAIR_NAMES`), and the column with the ids or None."""
    if column:
        names = [header[at] for at in spec_places(column, header, where)]
    else:
        names = [name for name in header if normal_name(name) in QUESTION_NAMES]
        bodies = [name for name in header if normal_name(name) in BODY_NAMES]
        if list(map(normal_name, names)) == ["title"]:
            names += bodies
        if len(names) > 1:
            raise DataError(
                f"{where}: {' and '.join(names)} may each hold the questions. Name one with --column "
                f"{names[0]}, or join them with --column {'+'.join(names)} (in Python: column=)."
            )
        if not names and set(PAIR_NAMES) <= set(map(normal_name, header)):
            return list(PAIR_NAMES), None
        if not names:
            raise _no_column(where, header, None, QUESTION_NAMES, "--column")
    key = _key(header, id_column)
    if key is None and id_column:
        raise _no_column(where, header, id_column, ID_NAMES, "--id-column")
    if key and len(places_of(key, header)) > 1:
        raise DataError(f"{where}: several columns are called {key!r}; ids need one of their own.")
    return names, key


def _key(header: Sequence[str], id_column: str | None) -> str | None:
    """The name of the column with the ids."""
    for name in [id_column] if id_column else ID_NAMES:
        if at := places_of(name, header):
            if len(at) > 1 and header[at[0]] != header[at[1]]:
                raise DataError(f"Several columns may be {name!r}: {shown_names(header)}.")
            return header[at[0]]
    return None


def _is_side(name: str) -> bool:
    return normal_name(name) in PAIR_NAMES


def _no_column(
    where: str, header: Sequence[str], name: str | None, names: Sequence[str], flag: str
) -> DataError:
    what = f"column {name!r}" if name else f"column named {', '.join(names)}"
    return DataError(
        f"{where}: no {what}; the columns: {shown_names(header)}. Name yours with {flag} (in Python: "
        f"{flag[2:].replace('-', '_')}=)."
    )
