"""Trax's own files are read, and nothing in them is ever run."""

import collections
import gzip
import io
import pickle
import tracemalloc
from contextlib import suppress

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
HARMLESS = [
    *(
        None,
        True,
        0,
        -1,
        255,
        2**31,
        -(2**70),
        0.5,
        float("nan"),
        "",
        "é" * 300,
        b"",
        b"a" * 300,
    ),
    *(
        [],
        [[1], (), (1,), (1, 2, 3, 4)],
        {},
        {"a": {"b": [None]}},
        np.float32(2),
        np.int64(3),
    ),
    collections.defaultdict(list, {"a": [1.5]}),
    *(np.full(shape, 3, dtype) for dtype in NUMBERS for shape in SHAPES),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
]


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_harmless_content_is_read_as_python_reads_it(protocol):
    for content in HARMLESS:
        data = pickle.dumps(content, protocol)
        assert same(pickle.loads(data), read_plain_pickle(data)), content
    shared = [1]
    content = (jax.numpy.arange(4.0), jax.numpy.float32(2), shared, shared)
    back = read_plain_pickle(pickle.dumps(content, protocol))
    assert same(back[:2], (np.arange(4, dtype="float32"), np.array(2, "float32")))
    assert back[2] is back[3]


def test_the_names_of_older_numpys_and_jax_are_known():
    ours, theirs = (
        b"array\n_reconstruct_array",
        b"device_array\nreconstruct_device_array",
    )
    names = (np, b"numpy._core", b"numpy.core"), (jax.numpy, ours, theirs)
    for library, name, older in names:
        data = pickle.dumps(library.arange(3), 3)
        assert name in data
        assert read_plain_pickle(data.replace(name, older)).tolist() == [0, 1, 2]
    with pytest.raises(CheckpointError, match="another machine's byte order"):
        read_plain_pickle(pickle.dumps(np.arange(3, dtype=">i4"), 3))


def test_an_old_single_file_and_weights_alone_are_read(tmp_path):
    only = {"flat_weights": [np.ones(2, "f4")]}
    old = {
        **only,
        "step": 3,
        "flat_state": [],
        "slots": [np.zeros(2)],
        "history": {"_values": {}},
    }
    model = read_course_model(packed(tmp_path / "model.pkl.gz", old))
    assert model.step == 3 and same(model.weights[0], np.ones(2, "float32"))
    assert read_course_model(tmp_path).step == 3
    alone = read_course_model(packed(tmp_path / "x.pkl.gz", only))
    assert alone.weights[0].tolist() == [1, 1] and alone.step == 0
    with pytest.raises(CheckpointError, match=r"weights\.npy\.gz does not exist"):
        read_course_model(packed(tmp_path / "x.pkl.gz", {"flat_weights": 2}))


def test_fewer_arrays_than_were_written_are_noticed(tmp_path):
    """Trax's reader stops at a cut without a word and loads half a model."""
    path, arrays = (
        tmp_path / "a.weights.npy.gz",
        [np.arange(500), np.ones((3, 2), order="F")],
    )
    write_trax_weights(tmp_path / "a.pkl.gz", [*arrays, np.ones(())])
    back = read_arrays(path)
    assert same(back[1], np.ones((3, 2))) and back[2].shape == () and back[0][-1] == 499
    whole = path.read_bytes()
    for length in range(0, len(whole), 31):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="damaged or cut off"):
            read_arrays(path)


def test_a_header_that_claims_too_much_is_refused_with_its_reason(tmp_path):
    path, four = tmp_path / "a.npy.gz", make_hostile.image_header(4)
    for head, words in (
        *((make_hostile.image_header(size), "damaged") for size in (1 << 60, -8)),
        (four.replace(b"'|u1', ", b"'<f16',"), "'<f16', not of plain numbers"),
    ):
        path.write_bytes(gzip.compress(head + bytes(64)))
        with pytest.raises(CheckpointError, match=words):
            read_arrays(path)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    files, bomb = (
        make_hostile.write_corpus(directory),
        directory / "bomb-behind-image.npy.gz",
    )
    bomb.write_bytes(make_hostile.bomb(make_hostile.image_header(10 << 20)))
    return directory, [*files, bomb]


NAMED = {"os.system-2": "'posix.system'", "eval-0": "'__builtin__.eval'"}
NAMED |= {"op-INST": "'posix.system'", "op-NEWOBJ": "'builtins.bytes'"}
NAMED["array-objects"] = "'O8', not of numbers"


def test_nothing_in_the_corpus_runs_and_all_is_refused(corpus, monkeypatch):
    """U22: a file takes no more memory than its arrays. The bombs hold 120 MB."""
    for module in (trax_files, safe_pickle):
        monkeypatch.setattr(module, "MAX_BYTES", 16 << 20)
    directory, files = corpus
    for path in files:
        read = read_course_model if path.name.endswith(".pkl.gz") else read_arrays
        tracemalloc.start()  # It sees what Python and NumPy take.
        with pytest.raises(CheckpointError) as refused:
            read(path)
            pytest.fail(f"{path.name} was read")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 40 << 20, f"{path.name}: {peak >> 20} MB"
        assert directory.name in str(refused.value) and len(str(refused.value)) < 900
        assert not (directory / "CANARY").exists(), path.name
        if words := NAMED.get(path.name.removesuffix(".pkl.gz")):
            assert words in str(refused.value) and "was refused" in str(refused.value)


def test_a_vast_number_of_instructions_is_refused_early(monkeypatch):
    assert safe_pickle._MAX_INSTRUCTIONS <= 2_000_000
    monkeypatch.setattr(safe_pickle, "_MAX_INSTRUCTIONS", 2_000)
    with pytest.raises(CheckpointError, match="more than 2,000 instructions"):
        read_plain_pickle(b"(" * 2_002 + b".")


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
