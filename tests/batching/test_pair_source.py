"""Reading pairs: padded rows against Ragged.padded, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese.batching.source import PairSource, padded_rows
from siamese.errors import DataError
from siamese.nn.ragged import Ragged

rows = st.lists(st.lists(st.integers(0, 9), max_size=7), min_size=1, max_size=9)


@given(rows, st.integers(1, 9), st.integers(0, 3), st.data())
def test_padded_rows_equal_a_loop(rows, length, pad, data):
    table = Ragged.from_lists(rows)
    named = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=12))
    out, tokens = padded_rows(table, np.array(named), length, pad)
    expected = [(rows[i] + [pad] * length)[:length] for i in named]
    assert out.tolist() == expected and out.dtype == np.int32
    assert tokens.tolist() == [min(len(rows[i]), length) for i in named]
    assert table.values.tolist() == [v for row in rows for v in row]  # not written over


def test_padded_rows_of_values_with_a_stride():
    table = Ragged(np.arange(20, dtype=np.int32)[::2], np.array([0, 3, 10]))
    assert padded_rows(table, np.array([1, 0]), 4, 1)[0].tolist() == [[6, 8, 10, 12], [0, 2, 4, 1]]


def test_histogram_is_of_the_longer_question_after_the_cut():
    source = PairSource([[2], [2] * 3, [2] * 9], [[2] * 2, [2], [2] * 7], max_length=5)
    assert source.histogram.tolist() == [0, 0, 1, 1, 0, 1]
    assert source.truncated == 2
    assert source.pair_lengths(np.array([2, 0])).tolist() == [5, 2]


def test_unused_rows_of_a_table_may_be_empty():
    table = Ragged.from_lists([[2], [], [3, 4]])
    assert PairSource(table, table, rows=([0, 2], [2, 0])).pairs == 2
    with pytest.raises(DataError, match="Pair 1 has an empty question in q2"):
        PairSource(table, table, rows=([0, 2], [2, 1]))


def test_only_files_mapped_for_reading_are_given_back(tmp_path):
    path = tmp_path / "values.npy"
    np.save(path, np.arange(2, 12, dtype=np.int32))
    offsets = np.array([0, 4, 10])
    for mode, mapped in (("r", True), ("c", False), (None, False)):
        values = np.load(path, mmap_mode=mode)
        if mode == "c":
            values[0] = 99  # a change that giving the pages back would lose
        table = Ragged(values, offsets)
        source = PairSource(table, table)
        assert source.on_disk == mapped
        source.forget_pages()
        out = source.padded(np.array([0]), 4, 1, None)[0]
        assert out.tolist() == [[99 if mode == "c" else 2, 3, 4, 5]]
