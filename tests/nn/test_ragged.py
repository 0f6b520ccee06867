"""Ragged: which rows of token ids are refused."""

import pytest

from siamese import DataError
from siamese.nn.ragged import Ragged


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
