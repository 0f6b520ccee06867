"""Ragged: rows of token ids against plain lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese import DataError
from siamese.nn.ragged import Ragged

rows_of_ids = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), max_size=8)


@settings(deadline=None, max_examples=40)
@given(rows_of_ids, st.data())
def test_rows_take_and_padded_equal_lists(rows, data):
    ragged = Ragged.from_lists(rows)
    assert [row.tolist() for row in ragged] == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    which = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6)) if rows else []
    taken = [rows[i] for i in which]
    assert [row.tolist() for row in ragged.take(np.array(which, int))] == taken
    length = max([len(row) for row in taken], default=0) + data.draw(st.integers(0, 3))
    found = ragged.padded(np.array(which, int), length, 1)
    assert found.tolist() == [row + [1] * (length - len(row)) for row in taken]
    assert found.dtype == np.int32


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1], ["a"]], "Row 1 holds something other"), ([[1.5]], "Row 0 holds something other"),
        ([[2**40]], "from 0 to"), ([[2**70]], "Row 0"), ([[3], [-1]], "Row 1 holds"),
        ([[[1, 2]], [3]], "Row 0"),
    ],
)  # fmt: skip
def test_what_is_no_token_id_is_refused_with_its_row(rows, message):
    with pytest.raises(DataError, match=message):
        Ragged.from_lists(rows)


def test_a_row_that_does_not_fit_is_not_cut():
    with pytest.raises(DataError, match="3 tokens does not fit in length 2"):
        Ragged.from_lists([[5, 6, 7]]).padded([0], 2)


@pytest.mark.parametrize("offsets", [[0, 2], [0, 2, 4], []])
def test_offsets_that_do_not_end_at_the_last_value_are_refused(offsets):
    with pytest.raises(DataError, match="must end at the number of values, 3"):
        Ragged([5, 6, 7], offsets)
