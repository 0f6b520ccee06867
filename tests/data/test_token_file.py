"""The token file: what is written is read, and no damage passes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.data.token_file import read_tokens, write_tokens
from siamese.errors import DataError
from siamese.nn.ragged import Ragged

WORDS = ["one", "zwei", "क्या", "\ud83d", "\x00", "?"]
ROWS = [[0, 1, 5], [], [2, 3, 4, 2]]


def assert_same(found, words, rows):
    assert found[0] == words
    assert [row.tolist() for row in found[1]] == rows
    assert found[1].values.dtype == np.int32 and found[1].offsets.dtype == np.int64


@pytest.mark.parametrize(("words", "rows"), [(WORDS, ROWS), ([], []), ([], [[], []]), (["a"], [])])
def test_round_trip(words, rows, tmp_path):
    write_tokens(tmp_path / "t.bin", "key", words, Ragged.from_lists(rows))
    assert_same(read_tokens(tmp_path / "t.bin", "key"), words, rows)
    assert [path.name for path in tmp_path.iterdir()] == ["t.bin"]


word = st.text(min_size=1, max_size=8).filter(lambda text: len(text.split()) == 1)
words = st.lists(word.map(lambda text: text.split()[0]), min_size=1, max_size=8, unique=True)


@settings(deadline=None)
@given(words, st.data())
def test_round_trip_of_anything(tmp_path_factory, words, data):
    rows = data.draw(st.lists(st.lists(st.integers(0, len(words) - 1), max_size=4), max_size=5))
    path = tmp_path_factory.getbasetemp() / "any.bin"
    write_tokens(path, "key", words, Ragged.from_lists(rows))
    assert_same(read_tokens(path, "key"), words, rows)


def test_every_cut_and_every_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "t.bin"
    write_tokens(path, "key", WORDS, Ragged.from_lists(ROWS))
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        _refused_or_the_same(path)
        path.write_bytes(whole[:place])
        with pytest.raises(DataError, match=r"t\.bin"):
            read_tokens(path, "key")


def _refused_or_the_same(path):
    """White space in the header may change into other white space; nothing else may pass."""
    try:
        found = read_tokens(path, "key")
    except DataError as error:
        assert str(path) in str(error)
    else:
        assert_same(found, WORDS, ROWS)


def test_another_key(tmp_path):
    write_tokens(tmp_path / "t.bin", "key", WORDS, Ragged.from_lists(ROWS))
    with pytest.raises(DataError, match="other questions"):
        read_tokens(tmp_path / "t.bin", "another key")


def test_missing_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_tokens(tmp_path / "none.bin", "key")


def test_a_directory(tmp_path):
    with pytest.raises(DataError, match="directory"):
        read_tokens(tmp_path, "key")


@pytest.mark.parametrize("ids", [[0, 6], [-1]])
def test_ids_without_a_word_with_right_checksums(ids, tmp_path):
    path = tmp_path / "t.bin"
    write_tokens(path, "key", WORDS, Ragged(np.array(ids), np.array([0, len(ids)])))
    with pytest.raises(DataError, match="do not go together"):
        read_tokens(path, "key")


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{}",
        b"null",
        b"5",
        b'{"key": "key", "words": 1, "bytes": [1, 2], "sha256": ["a", "b"]}',
        b'{"key": "key", "words": 1, "bytes": [-1, 8, 0], "sha256": ["", "", ""]}',
        b'{"key": "key", "words": 1, "bytes": [1, 9, 0], "sha256": ["", "", ""]}',
        b'{"key": "key", "words": 1, "bytes": [1e300, 8, 0], "sha256": ["", "", ""]}',
        b'{"key": "key", "words": 1, "bytes": ["a", "b", "c"], "sha256": ["", "", ""]}',
        b'{"key": "key", "words": "many", "bytes": [0, 8, 0], "sha256": ["", "", ""]}',
        b'{"key": "key", "words": 1, "bytes": [9999999999999, 8, 0], "sha256": ["", "", ""]}',
        b"\xff\xff",
        b"[" * 3000,
    ],
)
def test_headers_that_make_no_sense(header, tmp_path):
    path = tmp_path / "t.bin"
    path.write_bytes(b"siamese tokens 1\n" + header + b"\n" + b"\x00" * 8)
    with pytest.raises(DataError, match=r"t\.bin"):
        read_tokens(path, "key")


def test_the_header_says_what_is_inside(tmp_path):
    write_tokens(tmp_path / "t.bin", "key", WORDS, Ragged.from_lists(ROWS))
    first, second = (tmp_path / "t.bin").read_bytes().split(b"\n")[:2]
    assert first == b"siamese tokens 1"
    assert json.loads(second)["words"] == 6 and json.loads(second)["bytes"][1:] == [32, 28]
