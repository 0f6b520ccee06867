"""Ragged: rows of token ids against plain lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese import DataError
from siamese.nn.ragged import Ragged

rows_of_ids = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), max_size=8)


@settings(deadline=None)
@given(rows_of_ids)
def test_rows_come_back_as_they_were_given(rows):
    ragged = Ragged.from_lists(rows)
    assert [row.tolist() for row in ragged] == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]


@settings(deadline=None)
@given(rows_of_ids.filter(len), st.data())
def test_take_and_padded_equal_a_loop(rows, data):
    which = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    ragged = Ragged.from_lists(rows)
    taken = [rows[i] for i in which]
    assert [row.tolist() for row in ragged.take(np.array(which, int))] == taken
    length = max([len(row) for row in taken], default=0) + data.draw(st.integers(0, 3))
    expected = [row + [1] * (length - len(row)) for row in taken]
    found = ragged.padded(np.array(which, int), length, 1)
    assert found.tolist() == expected and found.dtype == np.int32


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1], ["a"]], "Row 1 holds something other"),
        ([[1.5]], "Row 0 holds something other"),
        ([[2**40]], "from 0 to"),
        ([[2**70]], "Row 0"),
        ([[3], [-1]], "Row 1 holds something other"),
        ([[[1, 2]], [3]], "Row 0"),
    ],
)
def test_what_is_no_token_id_is_refused_with_its_row(rows, message):
    with pytest.raises(DataError, match=message):
        Ragged.from_lists(rows)


def test_a_row_that_does_not_fit_is_not_cut():
    with pytest.raises(DataError, match="3 tokens does not fit in length 2"):
        Ragged.from_lists([[5, 6, 7]]).padded([0], 2)


def test_offsets_that_describe_other_values_are_refused():
    with pytest.raises(DataError, match="must rise from 0 to 2"):
        Ragged(np.array([1, 2]), np.array([0, 3]))
