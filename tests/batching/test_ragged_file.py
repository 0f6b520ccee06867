"""Token rows on disk: the same rows as in memory, whole files only, bounded memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese.batching.pair_batches import PairBatches
from siamese.batching.ragged_file import RaggedFile, write_token_rows
from siamese.errors import DataError
from siamese.nn.ragged import Ragged

parts = st.lists(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=4), max_size=4)


@given(parts)
def test_reads_back_what_was_written(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("rows") / "a.rows"
    rows = [row for part in parts for row in part]
    assert write_token_rows(path, (part for part in parts)) == len(rows)
    stored = RaggedFile(path)
    assert [row.tolist() for row in stored] == rows
    assert len(stored) == len(stored.lengths) == len(rows)
    assert np.asarray(stored.lengths).tolist() == [len(row) for row in rows]
    if rows:
        named = np.array([-1 % len(rows), 0, 0])
        in_memory = Ragged.from_lists(rows)
        assert stored.lengths[named].tolist() == in_memory.lengths[named].tolist()
        assert np.array_equal(stored.padded(named, 5), in_memory.padded(named, 5))
        assert np.array_equal(stored.take(named).values, in_memory.take(named).values)
        assert stored[-1].tolist() == rows[-1]
    with pytest.raises(IndexError):
        stored.lengths[len(rows)]


def test_batches_of_a_stored_file_equal_those_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    rows = [rng.integers(2, 99, n).tolist() for n in rng.integers(1, 20, 2000)]
    write_token_rows(tmp_path / "a.rows", [rows[:700], rows[700:]])
    stored, memory = RaggedFile(tmp_path / "a.rows"), Ragged.from_lists(rows)
    settings = {"batch_size": 32, "read_block": 16, "swap": True, "prefetch": 0}
    one, two = PairBatches(stored, stored, **settings), PairBatches(memory, memory, **settings)
    for _ in range(130):
        for a, b in zip(next(one), next(two)):
            np.testing.assert_array_equal(a, b)


def test_a_file_cut_short_damaged_or_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "a.rows"
    write_token_rows(path, [[[2, 3], [4]], [[5]]])
    whole = path.read_bytes()
    for content, message in (
        (b"", "no whole file"),
        (whole[:-1], "no whole file"),
        (whole[8:], "no whole file"),
        (b"id,question1\n" * 9, "no whole file"),
        (whole[:24] + b"\x09" + whole[25:], "do not rise"),
        (whole[:16] + b"\x01" + whole[17:], "rise from 0"),
        (whole[:40] + b"\x03" + whole[41:], "do not span"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            RaggedFile(path)
    with pytest.raises(DataError, match="does not exist"):
        RaggedFile(tmp_path / "none.rows")


def test_a_failed_write_leaves_what_stood_there(tmp_path):
    path = tmp_path / "a.rows"
    write_token_rows(path, [[[2]]])

    def failing():
        yield [[3]]
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        write_token_rows(path, failing())
    assert [row.tolist() for row in RaggedFile(path)] == [[2]]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.rows"]
    with pytest.raises(DataError, match="integer token ids"):
        write_token_rows(path, [[["word"]]])


PEAK = """
import sys
from siamese.batching.ragged_file import RaggedFile
from siamese.batching.pair_batches import PairBatches
one, two = RaggedFile(sys.argv[1]), RaggedFile(sys.argv[2])
batches = PairBatches(one, two, 256, last="drop")
pairs = sum(len(batch.q1) for batch in batches.one_epoch())
status = open("/proc/self/status").read()  # ru_maxrss would begin with the parent's memory
print(pairs, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_ten_times_the_pairs_take_hardly_more_memory(tmp_path):
    def peak(pairs):
        rng = np.random.default_rng(0)
        paths = []
        for side in (1, 2):
            offsets = np.concatenate([[0], np.cumsum(rng.integers(4, 20, 100_000))])
            part = Ragged(rng.integers(2, 9999, offsets[-1], dtype=np.int32), offsets)
            paths.append(str(tmp_path / f"{pairs}-{side}"))
            write_token_rows(paths[-1], (part for _ in range(pairs // 100_000)))
        result = subprocess.run(
            [sys.executable, "-c", PEAK, *paths], check=True, capture_output=True, text=True
        )
        seen, megabytes = map(int, result.stdout.split())
        assert seen == pairs // 256 * 256
        return megabytes

    # Two million pairs are 216 MB of tokens and offsets.
    assert peak(2_000_000) < peak(200_000) + 30
