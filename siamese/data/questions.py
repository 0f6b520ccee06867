"""Reading a list of questions: their texts, ids and other columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from siamese.data.arguments import QUESTION_NAMES
from siamese.data.readers.columns import (
    first_column,
    normal_name,
    only_column,
    shown_names,
    spec_columns,
    spec_cut,
)
from siamese.data.readers.reading import Rows, open_rows, source_name
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import id_text, json_value
from siamese.data.repeated import repeated_lines, without_lines
from siamese.errors import DataError

PAIR_NAMES = ("question1", "question2")
ID_NAMES = ("id", "qid", "question_id", "idx")
BODY_NAMES = ("body", "description", "content", "details", "selftext", "message")
BODY_WORDS = 50  # of title and body, the first words that count


@dataclass
class QuestionList:
    """Questions as they were read.

    Args:
      report: what was left out while reading.
      questions: the texts.
      ids: text, one for each question: the file's own ids; where it has none, the numbers of its data rows
        from 0, rows that were left out counted (of a file of pairs the questions are counted).
      has_ids: whether the ids are the file's own.
      columns: the other columns of each question, as JSON values, or None where there are none; where
        columns were joined, these too. Columns of one name are a list of their values.
      rows: the number of each question's data row from 0.
      column: what the questions were made of, as `read_questions` takes it.
    """

    report: ReadReport
    questions: list[str]
    ids: list[str]
    has_ids: bool
    columns: list[dict[str, Any]] | None
    rows: list[int]
    column: str

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
    drop_repeated: bool = False,
) -> QuestionList:
    """Reads a list of questions; the content decides the format.

    Args:
      source: a path, '-' for standard input, or a table in memory (a DataFrame, a dict of columns, ...).
        CSV and tab-separated text have a header; JSON Lines have one object on each line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; None for question, text, title, ..., and for "title+body:50"
        where there is a body beside the title. "title+body" joins columns, "2*title+body" repeats the
        title so that its words weigh twice, and of "title+body:50" the first 50 words count.
      id_column: the column with the ids; None for id, qid, ...
      encoding: of the text; UTF-8 where None.
      bad_rows: 'refuse' a file with a row that cannot be read, or 'skip' such rows and count them.
      drop_repeated: leave out the lines that stand in more than 1 % of the bodies, such as signatures.

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
    known = () if column else (*QUESTION_NAMES, *PAIR_NAMES)
    with open_rows(source, report, names=known, specs=[column], encoding=encoding) as rows:
        spec, names, cut = _columns(rows, column)
        key = _id_column(rows, id_column) if names else None
        if names:
            records = _without_repeated(rows, names, drop_repeated)
            entries = list(_entries(rows, records, names, cut, key))
        else:
            sides = [[name] for name in rows.header if normal_name(name) in PAIR_NAMES]
            texts = (text for line, _, row in rows for text in rows.texts(line, row, sides))
            distinct = enumerate(dict.fromkeys(texts))
            entries = [(text, str(at), {}, at) for at, text in distinct]
    if not report.rows:
        raise DataError(f"{report.path} has no rows.")
    report.kept = len(entries)
    texts, ids, columns, numbers = map(list, zip(*entries)) if entries else ([], [], [], [])
    columns = columns if any(columns) else None
    return QuestionList(report, texts, ids, key is not None, columns, numbers, spec)


def _entries(
    rows: Rows, records: Iterable[tuple], names: list[str], cut: int | None, key: str | None
) -> Iterator[tuple[str, str, dict, int]]:
    """The text, the id, the other columns and the number of each row with a question."""
    used = {key} if len(names) > 1 or cut else {key, *names}  # Joined columns stay whole, too.
    for line, number, row, source in records:
        for text in rows.texts(line, source, [names]):
            own = id_text(row.get(key)) if key else str(number)
            if own:
                others = {n: json_value(v) for n, v in row.items() if n not in used}
                yield " ".join(text.split()[:cut]) if cut else text, own, others, number
            else:
                rows.report.bad_row(line, f"no {key}.")


def _without_repeated(rows: Rows, names: list[str], drop: bool) -> Iterable[tuple]:
    """The rows, each followed by what its question is made of.

    Lines that stand in more than 1 % of the bodies are noted, and with `drop` left out of the latter.
    """
    records: Iterable[tuple] = ((line, number, row, row) for line, number, row in rows)
    for name in dict.fromkeys(name for name in names if normal_name(name) in BODY_NAMES):
        records = list(records)
        cells = [row.get(name) for _, _, row, _ in records]
        texts = [cell if isinstance(cell, str) else "" for cell in cells]
        lines = repeated_lines(texts)
        if lines:
            shown = ", ".join(f"{line[:40]!r} ({n:,})" for line, n in islice(lines.items(), 3))
            shown += ", …" if len(lines) > 3 else ""
            head = f"{len(lines):,} line{'s' if len(lines) > 1 else ''} repeated"
            end = "left out" if drop else "--drop-repeated leaves such lines out"
            rows.report.notes.append(f"{head} in more than 1 % of {name}: {shown}: {end}")
        if lines and drop:
            shorter = [text or cell for text, cell in zip(without_lines(texts, lines), cells)]
            records = [(*r[:3], r[3] | {name: text}) for r, text in zip(records, shorter)]
    return records


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
    known = () if id_column else ID_NAMES
    with open_rows(source, report, names=known, specs=[id_column], encoding=encoding) as rows:
        key = rows.header[0] if rows.is_plain else _id_column(rows, id_column)
        if key is None:
            raise _no_column(rows, ID_NAMES, "--id-column")
        ids = []
        for line, _, row in rows:
            if text := id_text(row.get(key)):
                ids.append(text)
            elif not rows.is_plain:
                report.bad_row(line, f"no {key}.")
    report.kept = len(ids)
    return ids, report


def _columns(rows: Rows, column: str | None) -> tuple[str, list[str], int | None]:
    """What makes a question: as it is written, its columns (none of a file of pairs), how many words."""
    header, where = rows.header, rows.where
    if rows.is_plain and not column:
        return "each line", header, None
    if column:
        spec, cut = spec_cut(column, header)
        return column, spec_columns(spec, header, where), cut
    names = [name for name in header if normal_name(name) in QUESTION_NAMES]
    bodies = [name for name in header if normal_name(name) in BODY_NAMES]
    if list(map(normal_name, names)) == ["title"] and len(bodies) == 1:
        # Chosen on a made forum, where whole bodies drown the question: benchmarks/results/forum.json.
        names += bodies
        return f"{'+'.join(names)}:{BODY_WORDS}", names, BODY_WORDS
    if list(map(normal_name, names)) == ["title"]:
        names += bodies
    if len(names) > 1:
        raise DataError(
            f"{where}: {' and '.join(names)} may each hold the questions. Name one with --column "
            f"{names[0]}, or join them with --column {'+'.join(names)} (in Python: column=)."
        )
    if not names and not set(PAIR_NAMES) <= set(map(normal_name, header)):
        raise _no_column(rows, QUESTION_NAMES, "--column")
    return names[0] if names else " and ".join(PAIR_NAMES), names, None


def _id_column(rows: Rows, name: str | None) -> str | None:
    """The column with the ids: of this name, else of a usual one; None where there is none."""
    find, names = (only_column, name) if name else (first_column, ID_NAMES)
    return find(names, rows.header, rows.where)


def _no_column(rows: Rows, names: Sequence[str], flag: str) -> DataError:
    return DataError(
        f"{rows.where}: no column named {', '.join(names)}; the columns: {shown_names(rows.header)}. "
        f"Name yours with {flag} (in Python: {flag[2:].replace('-', '_')}=), or write a header line."
    )
