"""trees.py: what comes back has the structure, dtypes and bits of what was saved."""

import math
from collections import defaultdict, namedtuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from siamese.errors import CheckpointError
from siamese.storage import trees

MARKER = {"__marker_for_cached_weights_": ()}  # What Trax puts where a layer stands a second time.
TAGS = ["__tuple__", "__dict__", "__lists__", "__array__", "__float__"]  # Of the format.
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64"),
)


def same(a, b):
    """Equal in structure, types and bits."""
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and (a.dtype, a.shape) == (b.dtype, b.shape)
            and a.tobytes() == b.tobytes()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b or (a != a and b != b)


def through_file(tmp_path, **named):
    trees.save_tensors(tmp_path / "t.safetensors", **named)
    return trees.load_tensors((tmp_path / "t.safetensors").read_bytes())


@pytest.mark.parametrize(
    "tree",
    [
        ((), [], {}, None),
        (((np.ones((2, 3), "float32"), ()), ()), MARKER),
        [None, {"a/b": np.zeros(1), "a": {"b": np.ones(1)}}],
        (1, 2.5, True, "text", math.inf),
        {"__tuple__": 3, "__array__": "x"},
        {1: np.zeros(2), "1": ()},
        np.array(3, "float32"),
        np.zeros((0, 4)),
        {"train": defaultdict(list, {"loss": [(1, 0.5), (2, math.nan)]})},  # As Trax's history.
    ],
    ids=str,
)
def test_structures_return_exactly(tmp_path, tree):
    assert same(tree, through_file(tmp_path, tree=tree)["tree"])


def test_arrays_of_every_kind_return_bit_for_bit(tmp_path):
    import jax.numpy as jnp

    bits = np.array([0x7FC00001, 0xFFC12345, 0x80000000], np.uint32).view(np.float32)
    dtypes = tuple(np.arange(-3, 3).astype(d).reshape(2, 3).T for d in DTYPES)
    assert same(dtypes, through_file(tmp_path, tree=dtypes)["tree"])
    tree = (np.arange(3, dtype=">f4"), bits, jnp.ones((2, 2), jnp.bfloat16), jnp.float32(2))
    big, nans, ones, two = through_file(tmp_path, tree=tree)["tree"]
    assert same(big, np.arange(3, dtype="float32")) and same(nans, bits)
    assert same((ones, two), (np.ones((2, 2), ml_dtypes.bfloat16), np.array(2, np.float32)))


def test_an_array_in_two_places_is_stored_once_and_is_one_again(tmp_path):
    array = np.ones(1000)
    back = through_file(tmp_path, tree=((array, array), [array]))["tree"]
    assert back[0][0] is back[0][1] is back[1][0]
    assert (tmp_path / "t.safetensors").stat().st_size < 2 * array.nbytes
    back[0][0][0] = 5  # And it can be written to.


@pytest.mark.parametrize("bad", [{1, 2}, object(), namedtuple("N", "a")(1), b"x", {(1,): 2}])
def test_what_cannot_be_stored_is_named_with_its_place(tmp_path, bad):
    with pytest.raises(CheckpointError, match="weights/1/deep"):
        trees.save_tensors(tmp_path / "t", weights=((), {"deep": bad}))
    with pytest.raises(CheckpointError, match="1/deep"):
        trees.to_json(((), {"deep": bad}))


def test_arrays_of_objects_or_text_are_refused(tmp_path):
    for bad in (np.array([None]), np.array(["a"]), np.zeros(2, "f4,i4"), np.zeros(2, "c16")):
        with pytest.raises(CheckpointError, match="cannot hold arrays of"):
            trees.save_tensors(tmp_path / "t", weights=bad)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | npst.arrays(st.sampled_from(DTYPES), npst.array_shapes(min_dims=1, min_side=0, max_side=3)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.text() | st.sampled_from(TAGS) | st.integers(),
            inner,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(PLAIN)
def test_any_plain_tree_returns_through_json(tree):
    assert same(tree, trees.from_json(trees.to_json(tree)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:7],
        lambda data: b"\xff" * 8 + data[8:],  # A header of 2**64 - 1 bytes.
        lambda data: (len(data) - 7).to_bytes(8, "little") + data[8:],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data.replace(b"__array__", b"__arraz__").replace(b"BF16", b"F999"),
    ],
)
def test_damaged_tensor_files_raise_and_take_no_memory(tmp_path, damage):
    trees.save_tensors(tmp_path / "t", tree=(np.ones(3, ml_dtypes.bfloat16),))
    with pytest.raises(Exception) as raised:
        trees.load_tensors(damage((tmp_path / "t").read_bytes()))
    assert not isinstance(raised.value, MemoryError)


def test_unflatten_puts_arrays_where_trax_would():
    like = (((np.zeros((2, 3)), ()), (np.zeros(4),)), MARKER)
    a, b = np.ones((2, 3)), np.ones(4)
    assert same(trees.unflatten([a, b], like), (((a, ()), (b,)), MARKER))
    with pytest.raises(CheckpointError, match="1 arrays, and the model has 2"):
        trees.unflatten([a], like)
    with pytest.raises(CheckpointError, match=r"shape \(5,\) at 0/1/0, and the model has \(4,\)"):
        trees.unflatten([a, np.ones(5)], like)
