"""Values from Python, checked: lists of texts, columns of a table in memory, ids, values that JSON has."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from siamese.errors import ArgumentError, DataError, SiameseError
from siamese.text.columns import USUAL_NAMES, question_columns

if TYPE_CHECKING:
    import pyarrow

MOST_DEPTH = 100  # of lists and dicts inside each other; Python gives up at some 500
CONTAINERS = (Mapping, list, tuple, set)
TOO_DEEP = f"is nested more than {MOST_DEPTH} deep."


class HasColumns(Protocol):
    """A table in memory, such as a DataFrame."""

    @property
    def columns(self) -> Iterable[Hashable]:
        """Its columns, or their names."""


# Questions as Python has them: one, a list or a column of them, or a table with one column.
Texts: TypeAlias = "str | Iterable[str] | HasColumns"


def text_list(texts: Texts, function: str) -> list[str]:
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
    if hasattr(values, "to_list"):
        values = values.to_list()
    return list(values)


def is_table(value: object) -> bool:
    """Whether a value is a table with columns: a dict of them, a DataFrame, a Dataset, ..."""
    return (
        isinstance(value, Mapping)
        or hasattr(value, "columns")
        or hasattr(value, "column_names")
    )


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


def arrow_values(column: pyarrow.ChunkedArray) -> list:
    """The values of a column of pyarrow; a time that Python lacks (beyond the year 9999) as text."""
    try:
        return column.to_pylist()
    # LookupError: one of pytz for an unknown time zone.
    except (ArithmeticError, ValueError, LookupError):
        return list(map(arrow_value, column))


def arrow_value(scalar: pyarrow.Scalar) -> Any:
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


# ---- One value ----


def id_text(value: object) -> str:
    """An id as text; empty where it is missing.

    Whole floats, as pandas has them, lose their .0.
    """
    if not isinstance(value, str):
        value = as_whole(json_value(value))
    return "" if value is None else str(value).strip()


def json_value(value: Any, depth: int = 0) -> Any:
    """A value that JSON has: dates and times become ISO 8601 text, NaN and infinity None, others text.

    DataError for one that is nested more than `MOST_DEPTH` deep; `depth` is that of the
    value in another one.
    """
    if value is None or isinstance(value, (str, int)):  # as most are
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, CONTAINERS):
        if depth == MOST_DEPTH:
            raise DataError(f"A value {TOO_DEEP} Write it as text.")
        if isinstance(value, Mapping):
            return {str(n): json_value(inner, depth + 1) for n, inner in value.items()}
        return [json_value(inner, depth + 1) for inner in value]
    return _other_value(value, depth)


def _other_value(value: Any, depth: int) -> Any:
    """`json_value` of what is neither text, number, dict nor list of Python's own."""
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    is_number = isinstance(value, (np.number, np.bool_, np.ndarray))
    if is_number and value.dtype.kind not in "mM":
        return json_value(value.tolist(), depth)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def as_whole(value: object) -> object:
    """A whole float, as sheets, pandas and JSON have them, as a whole number; others as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_missing(value: object) -> bool:
    """Whether a value is NaN, or what pandas has in its place."""
    is_nan = (
        isinstance(value, (float, np.datetime64, np.timedelta64)) and value != value
    )
    return is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_deep(value: object) -> bool:
    """Whether a value holds lists or dicts inside each other more than `MOST_DEPTH` times."""
    values = [value]
    for _ in range(MOST_DEPTH + 1):
        nested = [inner for inner in values if isinstance(inner, CONTAINERS)]
        if not nested:
            return False
        parts = (
            inner.values() if isinstance(inner, Mapping) else inner for inner in nested
        )
        values = list(itertools.chain.from_iterable(parts))
    return True
