"""Lists of texts, checked: also the columns of a table in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, DataError, SiameseError
from siamese.text.names import USUAL_NAMES, question_columns


def arrow_values(column: Any) -> list:
    """The values of a column of pyarrow; a time that Python lacks (beyond the year 9999) as text."""
    try:
        return column.to_pylist()
    # LookupError: one of pytz for an unknown time zone.
    except (ArithmeticError, ValueError, LookupError):
        return list(map(arrow_value, column))


def arrow_value(scalar: Any) -> Any:
    """A value of pyarrow, as in `arrow_values`."""
    import pyarrow

    kind = scalar.type
    try:
        return scalar.as_py()
    except (ArithmeticError, ValueError, LookupError):
        if pyarrow.types.is_dictionary(kind):
            return arrow_value(scalar.value)
        if pyarrow.types.is_struct(kind):
            return {
                kind.field(at).name: arrow_value(scalar[at])
                for at in range(kind.num_fields)
            }
        if pyarrow.types.is_nested(kind):  # lists, maps
            return list(map(arrow_value, scalar.values))
        if not pyarrow.types.is_temporal(kind):
            raise
    zone = ""
    # in UTC: its time zone may be unknown
    if pyarrow.types.is_timestamp(kind) and kind.tz:
        scalar = scalar.cast(pyarrow.timestamp(kind.unit))
        zone = "Z"
    text = str(scalar.cast(pyarrow.string()))
    if pyarrow.types.is_duration(kind):
        return f"{text} {kind.unit}"
    return text if text.startswith("<") else f"{text.replace(' ', 'T')}{zone}"


def memory_columns(table: Any, name: str) -> tuple[list[str], list[list]]:
    """The names and the columns of a DataFrame, `datasets.Dataset`, pyarrow Table or dict; or DataError."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    names = list(table) if isinstance(table, Mapping) else names
    if names is None or isinstance(table, type) or hasattr(type(table), "collect"):
        raise DataError(
            f"{name} is neither a path nor a list, nor a table with columns in memory (a lazy one must be "
            "collected)."
        )
    if twice := [str(of) for of, times in Counter(names).items() if times > 1]:
        raise DataError(f"{name} has several columns of one name: {', '.join(twice)}.")
    values = []
    for of in names:
        expected = (
            f"{name}: column {of!r} must be a list of values (of many tables give one)"
        )
        values.append(as_list(table[of], expected, DataError))
    if len(set(map(len, values))) > 1:
        lengths = ", ".join(
            f"{of} {len(column):,}" for of, column in zip(names, values)
        )
        raise DataError(f"{name}: its columns have different lengths ({lengths}).")
    return list(map(str, names)), values


def text_list(texts: Any, function: str) -> list[str]:
    """Texts as a list; of a table of one column (a DataFrame, ...) its questions.

    DataError for a value that is not text, or another table; ArgumentError for one
    text, or a set.
    """
    if is_table(texts):
        what = f"{function}: the {type(texts).__name__}"
        names, columns = memory_columns(texts, what)
        if len(names) != 1 or not question_columns(names):
            raise DataError(
                f"{what} needs one column of questions ({', '.join(USUAL_NAMES)}, ...) and no other; the "
                f"columns: {', '.join(names)[:200]}. Give a column as a list, or read the table: q = "
                "read_questions(table), then q.questions (to an index also ids=q.ids, columns=q.columns)."
            )
        texts = columns[0]
    texts = as_list(texts, f"{function} takes a list of questions")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"Question {place} (from 0) is {text!r:.40}, not text. An empty cell of a table is often "
                "NaN or None: drop that row or write ''."
            )
    return texts


def as_list(
    values: Any, expected: str, error: type[SiameseError] = ArgumentError
) -> list:
    """Values in order, Python's own where they have a way to them; an error of what is `expected`."""
    is_one = isinstance(values, (str, bytes, set, frozenset)) or is_table(values)
    if is_one or not np.iterable(values):
        raise error(f"{expected}, not {values!r:.40}.")
    if hasattr(values, "to_pylist"):
        return arrow_values(values)
    return list(getattr(values, "to_list", lambda: values)())


def is_table(value: Any) -> bool:
    """Whether a value is a table with columns: a dict of them, a DataFrame, a Dataset, ..."""
    return (
        isinstance(value, Mapping)
        or hasattr(value, "columns")
        or hasattr(value, "column_names")
    )
