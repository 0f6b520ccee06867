"""Trax's own files are read, and nothing in them is ever run."""

import collections
import gzip
import io
import pickle
import tracemalloc
from contextlib import suppress
from pathlib import Path

import jax
import make_hostile
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import write_trax_weights

from siamese.course.trax import files as trax_files
from siamese.course.trax import safe_pickle
from siamese.course.trax.files import read_arrays, read_course_model
from siamese.errors import CheckpointError


def same(a, b):
    """Whether two values are equal in kind, shape and every digit."""
    with np.printoptions(floatmode="unique"):
        return repr(a) == repr(b)


def read_plain_pickle(data):
    return safe_pickle.read_plain_pickle(io.BytesIO(data), "x")


def packed(path, content, protocol=pickle.HIGHEST_PROTOCOL):
    path.write_bytes(gzip.compress(pickle.dumps(content, protocol)))
    return path


NUMBERS = "bool", "int8", "uint16", "int32", "uint64", "float16", "<f4", "f8", "c8"
SHAPES = (), (0, 2), (3,), (2, 3)
HARMLESS = {
    "None": None,
    "a truth": True,
    **{f"the number {n:.3g}": n for n in (0, -1, 255, 2**31, -(2**70), 0.5)},
    "no number": float("nan"),
    "no text": "",
    "text": "é" * 300,
    "no bytes": b"",
    "bytes": b"a" * 300,
    "an empty list": [],
    "lists and tuples": [[1], (), (1,), (1, 2, 3, 4)],
    "an empty dict": {},
    "dicts": {"a": {"b": [None]}},
    "a scalar of float32": np.float32(2),
    "a scalar of int64": np.int64(3),
    "a defaultdict": collections.defaultdict(list, {"a": [1.5]}),
    **{
        f"{dtype} of {shape}": np.full(shape, 3, dtype)
        for dtype in NUMBERS
        for shape in SHAPES
    },
    "an array by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}
each_protocol = pytest.mark.parametrize("protocol", [3, 4, 5])


@each_protocol
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_content_is_read_as_python_reads_it(name, protocol):
    data = pickle.dumps(HARMLESS[name], protocol)
    assert same(pickle.loads(data), read_plain_pickle(data))


@each_protocol
def test_arrays_of_jax_become_those_of_numpy(protocol):
    content = (jax.numpy.arange(4.0), jax.numpy.float32(2))
    back = read_plain_pickle(pickle.dumps(content, protocol))
    assert same(back, (np.arange(4, dtype="float32"), np.array(2, "float32")))


@each_protocol
def test_what_two_places_share_stays_one_object(protocol):
    shared = [1]
    first, second = read_plain_pickle(pickle.dumps((shared, shared), protocol))
    assert first is second


@pytest.mark.parametrize(
    ("library", "name", "older"),
    [
        (np, b"numpy._core", b"numpy.core"),
        (
            jax.numpy,
            b"array\n_reconstruct_array",
            b"device_array\nreconstruct_device_array",
        ),
    ],
    ids=["numpy", "jax"],
)
def test_the_names_of_older_numpys_and_jax_are_known(library, name, older):
    data = pickle.dumps(library.arange(3), 3)
    assert name in data
    assert read_plain_pickle(data.replace(name, older)).tolist() == [0, 1, 2]


@each_protocol
def test_another_machines_byte_order_is_refused(protocol):
    with pytest.raises(CheckpointError):
        read_plain_pickle(pickle.dumps(np.arange(3, dtype=">i4"), protocol))


ONLY_WEIGHTS = {"flat_weights": [np.ones(2, "f4")]}


def test_an_old_file_that_holds_all_is_read_by_its_name_and_its_folders(tmp_path):
    rest = {"flat_state": [], "slots": [np.zeros(2)], "history": {"_values": {}}}
    content = {**ONLY_WEIGHTS, "step": 3, **rest}
    model = read_course_model(packed(tmp_path / "model.pkl.gz", content))
    assert model.step == 3 and same(model.weights[0], np.ones(2, "float32"))
    assert read_course_model(tmp_path).step == 3


def test_weights_alone_are_read(tmp_path):
    alone = read_course_model(packed(tmp_path / "x.pkl.gz", ONLY_WEIGHTS))
    assert alone.weights[0].tolist() == [1, 1] and alone.step == 0


def test_the_file_of_weights_that_a_model_names_must_be_there(tmp_path):
    with pytest.raises(CheckpointError):
        read_course_model(packed(tmp_path / "x.pkl.gz", {"flat_weights": 2}))


@pytest.fixture
def three_arrays(tmp_path):
    arrays = [np.arange(500), np.ones((3, 2), order="F"), np.ones(())]
    write_trax_weights(tmp_path / "a.pkl.gz", arrays)
    return tmp_path / "a.weights.npy.gz"


def test_arrays_come_back_in_order_and_shape(three_arrays):
    first, second, third = read_arrays(three_arrays)
    assert first[-1] == 499 and same(second, np.ones((3, 2))) and third.shape == ()


def test_fewer_arrays_than_were_written_are_noticed(three_arrays):
    """Trax's reader stops at a cut without a word and loads half a model."""
    whole = three_arrays.read_bytes()
    for length in range(0, len(whole), 31):
        three_arrays.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            read_arrays(three_arrays)
            pytest.fail(f"{length} bytes were read")


@pytest.mark.parametrize(
    "header",
    [
        make_hostile.image_header(1 << 60),
        make_hostile.image_header(-8),
        make_hostile.image_header(4).replace(b"'|u1', ", b"'<f16',"),
    ],
    ids=["a vast size", "a size below 0", "long double"],
)
def test_a_header_that_lies_is_refused(header, tmp_path):
    path = tmp_path / "a.npy.gz"
    path.write_bytes(gzip.compress(header + bytes(64)))
    with pytest.raises(CheckpointError):
        read_arrays(path)


HOSTILE = make_hostile.contents(Path("CANARY"))
HOSTILE["bomb-behind-image.npy.gz"] = lambda: make_hostile.bomb(
    make_hostile.image_header(10 << 20)
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_runs_nothing_and_takes_little_memory(
    name, tmp_path, monkeypatch
):
    """U22: a file takes no more memory than its arrays. The bombs hold 120 MB."""
    for module in (trax_files, safe_pickle):
        monkeypatch.setattr(module, "MAX_BYTES", 16 << 20)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(HOSTILE[name]())
    read = read_course_model if name.endswith(".pkl.gz") else read_arrays
    tracemalloc.start()  # It sees what Python and NumPy take.
    with pytest.raises(CheckpointError) as refused:
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 << 20, f"{peak >> 20} MB"
    assert str(path) in str(refused.value) and len(str(refused.value)) < 900
    assert not Path("CANARY").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("os.system-2", "'posix.system'"),
        ("eval-0", "'__builtin__.eval'"),
        ("op-INST", "'posix.system'"),
        ("op-NEWOBJ", "'builtins.bytes'"),
        ("array-objects", "'O8', not of numbers"),
    ],
)
def test_what_a_file_would_run_is_named(name, words, tmp_path):
    path = tmp_path / f"{name}.pkl.gz"
    path.write_bytes(HOSTILE[path.name]())
    with pytest.raises(CheckpointError) as refused:
        read_course_model(path)
    assert words in str(refused.value) and "was refused" in str(refused.value)


def test_the_corpus_of_hostile_files_is_hostile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pickle.loads(gzip.decompress(HOSTILE["os.system-2.pkl.gz"]()))
    assert Path("CANARY").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"(0" * 10_000_000 + b".",
        b"}(" + make_hostile.colliding(200_000) + b"u.",
    ],
    ids=["many instructions", "keys of one hash"],
)
def test_a_file_that_takes_long_is_refused_in_time(content, tmp_path):
    path = tmp_path / "slow.pkl.gz"
    path.write_bytes(gzip.compress(content, 1))
    with pytest.raises(CheckpointError) as refused:
        read_course_model(path, seconds=0.5)
    assert "0.5 s" in str(refused.value)


INSTRUCTIONS = [
    *(b"(", b"0", b"1", b"2", b"N", b"K\x01", b"C\x02ab", b"X\x01\0\0\0a", b"]", b"a", b"e", b")", b"t"),
    *(b"\x85", b"}", b"s", b"u", b"\x8f", b"\x90", b"\x91", b"q\x00", b"h\x00", b"\x94", b"R", b"b"),
    b"\x81",
    *(b"cnumpy\ndtype\n", b"X\x02\0\0\0f4", b"cnumpy\nndarray\n", b"ccollections\ndefaultdict\n"),
    *(b"cbuiltins\nlist\n", b"ctrax.shapes\nShapeDtype\n", b"cnumpy.core.multiarray\n_reconstruct\n"),
    *(b"c_codecs\nencode\n", b"cbuiltins\nset\n", b"cbuiltins\ncomplex\n", b"\x93", b"d"),
]  # fmt: skip


def holds_no_code(value):
    if isinstance(value, (list, tuple, dict)):
        return all(
            map(holds_no_code, value.values() if isinstance(value, dict) else value)
        )
    return not callable(value)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from(INSTRUCTIONS), max_size=25).map(
        lambda parts: b"".join(parts) + b"."
    )
)
def test_any_bytes_and_instructions_end_in_plain_content_or_a_checkpoint_error(data):
    with suppress(CheckpointError):
        assert holds_no_code(read_plain_pickle(data))
