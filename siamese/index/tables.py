"""Duplicates of a table as a table of the same kind; hits and groups as tables of pandas."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from siamese.errors import ArgumentError, MissingDependencyError
from siamese.groups.grouping import GroupedSnapshot, Member, Snapshot, grouped
from siamese.groups.table import (
    GROUP_COLUMNS,
    group_columns,
    group_rows,
    renamed,
    table_names,
)
from siamese.index import Hit
from siamese.model.detector import DuplicateDetector
from siamese.reading.questions import read_questions
from siamese.reading.tables import is_list
from siamese.system.open_types import Record
from siamese.text.values import memory_columns

if TYPE_CHECKING:
    import pandas

# How the columns of numbers are stored in a data frame; the others are objects.
NUMBERS = {int: np.int64, float: np.float64}


def find_duplicates(
    table: Any,
    *,
    column: str | int | None = None,
    id_column: str | int | None = None,
    threshold: float | None = None,
    keep: str = "central",
    model: DuplicateDetector | str | os.PathLike = "use",
) -> Any:
    """The groups of duplicate questions in a table, as a table of the same kind.

    Args:
      table: a list of texts or of dicts, a data frame of pandas or polars, a pyarrow Table, a dict of
        columns, or the path of a file; see `read_questions` for what is read.
      column: the column with the questions, as `read_questions` takes it; found by its name where None.
      id_column: the column with the ids; found by its name where None, else the numbers of the rows.
      threshold: groups are joined where their mean cosine is above it; the model's own where None.
      keep: the question of each group to keep: 'central', 'first', 'longest', 'COLUMN=min' or 'COLUMN=max'.
      model: a detector, the path of a saved one, or an encoder's name.

    Returns:
      A row for each question that is in a group, the largest group first: group (the id of its first
      question), keep (1 for one question of a group, which stands first), similarity (the cosine with that
      one), difference (what the near-miss check took a penalty for), same_text (1 where the texts are
      equal), id, question, row (the place in the table, from 0) and the table's other columns, of a taken
      name with ``column_`` before it. Of texts, dicts and files it is a list of dicts, of data frames and
      pyarrow Tables one of their kind (of pandas with its index), of another table a dict of columns. A row
      without a question is in no group.

    DataError for a table that cannot be read so; ArgumentError for a threshold outside
    -1 to 1, or another rule for `keep`.

    Example:
      >>> texts = ["How do I learn to cook?", "How far is it?", "How can I learn to cook?"]
      >>> [(row["group"], row["row"], row["question"]) for row in find_duplicates(texts)]
      [('0', 0, 'How do I learn to cook?'), ('0', 2, 'How can I learn to cook?')]
    """
    read = read_questions(
        table,
        column=None if column is None else str(column),
        id_column=None if id_column is None else str(id_column),
    )
    if not isinstance(model, DuplicateDetector):
        model = DuplicateDetector.load(model)
    snapshot = grouped(Snapshot.of(model, read.with_rows()), threshold)
    rows = group_rows(snapshot, keep)
    if isinstance(table, (str, os.PathLike)):
        return rows

    # The others are the table's own values: a date stays a date.
    others = group_columns(snapshot.entries)
    own = dict(GROUP_COLUMNS)
    if not read.has_column("row"):
        own[others.pop("row")] = int
    place_of = dict(zip(read.ids, read.rows))
    places = [place_of[row["id"]] for row in rows]
    if is_list(table):
        given = list(table)
        return [
            {name: row[name] for name in own} | _renamed(given[place], others)
            for row, place in zip(rows, places)
        ]
    columns = {
        name: np.array([row[name] for row in rows], NUMBERS.get(kind, object))
        for name, kind in own.items()
    }
    return _of_its_kind(table, columns, places, others)


def _renamed(row: object, names: Mapping[str, str]) -> Record:
    """The cells of a row by other names; a text has none."""
    if not isinstance(row, Mapping):
        return {}
    cells = {str(key): value for key, value in row.items()}
    return {shown: cells.get(name) for name, shown in names.items()}


def _of_its_kind(
    table: Any,
    columns: dict[str, np.ndarray],
    places: Sequence[int],
    others: Mapping[str, str],
) -> Any:
    """A table like the one that was given: columns, and others of its own at some places.

    `others` are their names, and what they are called.
    """
    # Whoever gives a data frame has imported its library.
    pandas, polars, pyarrow = map(sys.modules.get, ("pandas", "polars", "pyarrow"))
    if pandas and isinstance(table, pandas.DataFrame):
        return _pandas(table, columns, places, others)
    if polars and isinstance(table, polars.DataFrame):
        taken = table[np.array(places, np.int64)]
        kept = {shown: taken[name] for name, shown in others.items()}
        series = {
            name: polars.Series(values.tolist(), dtype=polars.String)
            if values.dtype == object
            else polars.Series(values)
            for name, values in columns.items()
        }
        return polars.DataFrame(series | kept)
    if pyarrow and isinstance(table, pyarrow.Table):
        taken = table.take(pyarrow.array(places, pyarrow.int64()))
        kept = {shown: taken.column(name) for name, shown in others.items()}
        arrays = {
            name: pyarrow.array(
                values, pyarrow.string() if values.dtype == object else None
            )
            for name, values in columns.items()
        }
        return pyarrow.table(arrays | kept)
    values = dict(zip(*memory_columns(table, "the table")))
    lists = {name: column.tolist() for name, column in columns.items()}
    for name, shown in others.items():
        lists[shown] = [values[name][place] for place in places]
    return lists


def _pandas(
    table: Any,
    columns: Mapping[str, np.ndarray],
    places: Sequence[int],
    others: Mapping[str, str],
) -> Any:
    header = list(map(str, table.columns))
    # A column that is a named index stays the index.
    kept = [name for name in others if name in header]
    frame = table.iloc[list(places), [header.index(name) for name in kept]].copy()
    frame.columns = [others[name] for name in kept]
    for at, (name, values) in enumerate(columns.items()):
        frame.insert(at, name, values)
    return frame


# ---- Hits and groups ----

HIT_COLUMNS = Hit._fields[:-1]


def to_pandas(
    found: GroupedSnapshot | list[Hit] | list[list[Hit]] | list[list[Member]],
) -> pandas.DataFrame:
    """The hits of a search, or groups, as a data frame of pandas.

    Args:
      found: what `QuestionIndex.search` returns for a question (a row for each hit: id, question,
        similarity, probability, is_duplicate, and the columns of the hits) or for a list of questions (also
        query, the place of the question, from 0); what `QuestionIndex.grouped` returns (a row for each
        question of a group, as of `find_duplicates`); or groups of `duplicate_groups` (group, a number from
        0, row and similarity). An empty list counts as no hits.

    MissingDependencyError where pandas is not installed; ArgumentError for something
    else.

    Example:
      >>> import numpy as np
      >>> from siamese import duplicate_groups
      >>> groups = duplicate_groups(np.array([[1, 0], [0, 1], [1, 0]], np.float32), 0.9)
      >>> to_pandas(groups).to_dict("list")
      {'group': [0, 0], 'row': [0, 2], 'similarity': [1.0, 1.0]}
    """
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError(
            "to_pandas makes a data frame of pandas: pip install pandas"
        ) from None
    rows, columns = _rows_of(found)
    return pandas.DataFrame(rows, columns=columns)


def _rows_of(found: object) -> tuple[list[Record], list[str]]:
    """Hits or groups as rows, and the names of their columns."""
    if isinstance(found, GroupedSnapshot):
        columns = [*GROUP_COLUMNS, *group_columns(found.entries).values()]
        return group_rows(found), columns
    if isinstance(found, list):
        if all(isinstance(hit, Hit) for hit in found):
            return _hit_rows([found], ())
        lists = [own for own in found if isinstance(own, list)]
        kinds = {type(item) for own in lists for item in own}
        if len(lists) == len(found) and kinds <= {Hit}:
            return _hit_rows(found, ("query",))
        if len(lists) == len(found) and kinds == {Member}:
            rows = [
                {"group": number, **member._asdict()}
                for number, group in enumerate(found)
                for member in group
            ]
            return rows, ["group", *Member._fields]
    raise ArgumentError(
        f"to_pandas takes hits of QuestionIndex.search, or groups, not {found!r:.40}."
    )


def _hit_rows(
    lists: Sequence[Sequence[Hit]], numbered: Sequence[str]
) -> tuple[list[Record], list[str]]:
    """Hits as rows; with the column that `numbered` names for the place of their question."""
    columns = [*numbered, *HIT_COLUMNS]
    others = (name for hits in lists for hit in hits for name in hit.columns)
    names = table_names(columns, others)
    rows = []
    for number, hits in enumerate(lists):
        for hit in hits:
            row = dict.fromkeys(numbered, number) | hit._asdict()
            del row["columns"]
            rows.append(row | renamed(hit.columns, names))
    return rows, [*columns, *names.values()]
