"""A model's or checkpoint's file: old or new, whole; the course's weights."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from refusals import refuses
from safetensors.numpy import load, save
from small_models import write_trax_weights

from siamese import DuplicateDetector
from siamese.course.import_weights import import_weights, read_vocabulary
from siamese.encoders import find_encoder
from siamese.encoders.lstm import Lstm
from siamese.errors import CheckpointError, DataError
from siamese.model.file import VERSION, read_file, write_file
from siamese.nn.lstm import LstmConfig, encode
from siamese.system.files import lock_run
from siamese.text.vocabulary import Vocabulary

FACTS = {
    "step": 3,
    "counts": {"2": 1, "10": float("inf")},
    "card": {"figures": [0.5, None, True]},
    "words": ["how", "né", "\ud800", "日本"],
}


def arrays():
    draw = np.random.default_rng(0)
    kinds = ("float32", "int32", "bool", "uint8")
    content = {name: draw.integers(0, 2, (3, 2)).astype(name) for name in kinds}
    content["empty"] = np.zeros((0, 4), np.float32)
    content["a number"] = np.array(7, np.int64)
    content["transposed"] = draw.normal(size=(5, 3)).astype("float32").T
    return content


@pytest.fixture
def path(tmp_path):
    write_file(tmp_path / "model.safetensors", "model", arrays(), FACTS, overwrite=True)
    return tmp_path / "model.safetensors"


def assert_equal_arrays(actual, expected):
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, strict=True)


def refusal(path, kind="model"):
    with pytest.raises(CheckpointError) as caught:
        read_file(path, kind)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read_again_and_is_plain_safetensors(path):
    actual, facts = read_file(path, "model")
    assert_equal_arrays(actual, arrays())
    written = {**FACTS, "format": "siamese", "kind": "model", "version": VERSION}
    assert facts == written | {"sha256": facts["sha256"]}
    # With the old checksum among the facts.
    write_file(path, "model", actual, facts, overwrite=True)
    assert read_file(path, "model")[1] == facts
    assert_equal_arrays(load(path.read_bytes()), arrays())
    assert os.listdir(path.parent) == [path.name]


def test_every_flipped_byte_is_refused_or_changes_nothing(path):
    content = path.read_bytes()
    expected, facts = read_file(path, "model")
    for n, place in enumerate(range(0, len(content), max(1, len(content) // 150))):
        changed = bytearray(content)
        changed[place] ^= (1, 0x80, 0xFF)[n % 3]
        path.write_bytes(changed)
        try:
            actual = read_file(path, "model")
        except CheckpointError as error:
            assert "\n" not in str(error)
        else:  # a blank of the header
            assert_equal_arrays(actual[0], expected)
            assert actual[1] == facts


def test_every_truncation_is_refused(path):
    content = path.read_bytes()
    for length in {*range(16), *range(16, len(content), 399), len(content) - 1}:
        path.write_bytes(content[:length])
        assert "damaged" in refusal(path), length


DAMAGES = {
    "a byte more": lambda content: content + b"x",
    "the longest header": lambda content: b"\xff" * 8 + content[8:],
    "a header of text": lambda content: b"x" * 8 + content[8:],
    "a header beyond the file": lambda content: (
        (99_000_000).to_bytes(8, "little") + content[8:]
    ),
    "no header": lambda content: bytes(8) + content[8:],
    "a nested header": lambda _: (100_000).to_bytes(8, "little") + b"[" * 100_000,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_an_appended_byte_or_a_false_header_is_refused(path, name):
    path.write_bytes(DAMAGES[name](path.read_bytes()))
    assert "damaged" in refusal(path)


def test_a_link_is_followed_and_stays(path):
    link = path.with_name("link")
    link.symlink_to(path.name)
    write_file(link, "model", arrays(), {}, overwrite=True)
    assert link.is_symlink()
    assert_equal_arrays(read_file(path, "model")[0], arrays())


def test_a_file_of_another_kind_is_refused_by_both_kinds(path):
    message = refusal(path, "checkpoint")
    assert "a model of version" in message and "checkpoint" in message


def test_a_file_that_is_not_there_is_named(path):
    assert "no checkpoint" in refusal(path.parent / "none", "checkpoint")


def test_a_folder_is_no_file(path):
    assert "not a file" in refusal(path.parent)


def test_safetensors_of_another_program_are_refused(path):
    path.write_bytes(save({"a": np.zeros(1, "f")}))
    assert "siamese" in refusal(path)


def test_another_version_is_refused_by_both_numbers(path):
    versions = {"format": "siamese", "kind": "model", "version": VERSION + 1}
    path.write_bytes(save({}, {"siamese": json.dumps(versions)}))
    message = refusal(path)
    assert f"version {VERSION + 1}" in message and f"version {VERSION}" in message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "[]",
        "{}",
        pytest.param("[" * 100_000, id="nested"),
        '{"format": "siamese", "version": [1]}',
    ],
)
def test_facts_that_are_none_are_refused(path, text):
    path.write_bytes(save({}, {"siamese": text}))
    refusal(path)


HOLDER = "import sys; from siamese.system.files import lock_run as lock\n"
HOLDER += "with lock(sys.argv[1]): print('held', flush=True); sys.stdin.read()"


def test_two_processes_never_hold_a_run_and_the_second_is_refused(tmp_path):
    run = tmp_path / "new" / "run"
    command = [sys.executable, "-c", HOLDER, str(run)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "held\n"
        with refuses(CheckpointError, str(run)), lock_run(run):
            pass
        holder.kill()
    with lock_run(run), lock_run(run):  # A notebook cell may run again.
        pass


WORDS = Vocabulary(["how", "old", "are", "you"])
LSTM = {
    "vocab_size": WORDS.size,
    "d_model": 4,
    "mask_padding": True,
    "bidirectional": False,
}
VOCABULARY = {"words": list(WORDS.words), "folded": False, "unknown_ids": 0}


def weights(dtype="float32"):
    draw, shapes = np.random.default_rng(0), LstmConfig(**LSTM).shapes()
    return {
        name: draw.normal(size=shape).astype(dtype) for name, shape in shapes.items()
    }


def lstm_of(weights):
    return Lstm(LstmConfig(**LSTM), weights, WORDS)


@pytest.fixture
def saved(tmp_path):
    options = {"threshold": 0.6, "card": {"steps": 3}}
    detector = DuplicateDetector(lstm_of(weights()), **options)
    path = detector.save(tmp_path)
    assert path == tmp_path / "model.safetensors"
    return path


def test_a_saved_model_returns(saved):
    loaded = DuplicateDetector.load(saved)
    np.testing.assert_equal(loaded.encoder.weights, weights())
    assert (loaded.encoder.config, loaded.encoder.vocabulary) == (
        LstmConfig(**LSTM),
        WORDS,
    )
    assert (loaded.threshold, loaded.card) == (0.6, {"steps": 3})
    assert loaded.calibration is None


def test_a_runs_directory_will_do_for_its_model(saved):
    assert DuplicateDetector.load(saved.parent).card == {"steps": 3}


def test_the_fingerprint_is_that_of_the_weights_whatever_the_fit(saved):
    loaded = DuplicateDetector.load(saved)
    fit = {"threshold": 0.5, "calibration": None}
    fingerprint = loaded.encoder.fingerprint
    assert loaded.with_threshold(fit).encoder.fingerprint == fingerprint
    changed = {**weights(), "lstm/bias": weights()["lstm/bias"] + 1}
    assert lstm_of(changed).fingerprint != fingerprint


def test_a_model_that_is_not_there_is_named(tmp_path):
    with refuses(CheckpointError, str(tmp_path / "none")):
        DuplicateDetector.load(tmp_path / "none")


USE = find_encoder("use").fingerprint
TREE = {"lstm": LSTM, "vocabulary": VOCABULARY}


def tree(**changes):
    return {"encoder": {**TREE, **changes}}


CRAFTED = [
    *(tree(lstm=value) for value in (None, {"vocab_size": 4}, {**LSTM, "vocab_size": "many"})),
    tree(lstm={**LSTM, "bidirectional": "yes"}),
    tree(lstm={**LSTM, "vocab_size": 2}),
    *({"threshold": value} for value in (None, "high", float("nan"))),
    *({"calibration": value} for value in ({"method": "none known"}, 3,
        {"n": 5, "borders": [0.5], "weights": [1.0]}, {"n": 5, "slope": "steep", "intercept": 0.0},
        {"n": 5, "slope": float("nan"), "intercept": 0.0})),
    {"card": 3},
    *(tree(vocabulary=value) for value in (3, {}, {**VOCABULARY, "words": "text"},
        {**VOCABULARY, "unknown_ids": -1}, {**VOCABULARY, "folded": "no"},
        {**VOCABULARY, "words": VOCABULARY["words"] * 2})),
    tree(vocabulary={**VOCABULARY, "words": [*VOCABULARY["words"], "today"]}),
    *({"encoder": value} for value in (None, "left out", "use", {}, [], {"name": "use"},
        {"name": "use", "fingerprint": 3}, {"head": TREE}, {"head": {"name": "use", "fingerprint": USE}},
        {"joined": []}, {"joined": 3}, {"joined": [[0.0, TREE]]}, {"joined": [TREE]},
        {"joined": [[1.0, TREE]]})),
]  # fmt: skip


@pytest.mark.parametrize("changes", CRAFTED, ids=lambda changes: repr(changes)[:60])
def test_crafted_facts_with_a_right_checksum_are_refused(saved, changes):
    content, facts = read_file(saved, "model")
    crafted = {**facts, **changes}
    if crafted["encoder"] == "left out":
        del crafted["encoder"]
    write_file(saved, "model", content, crafted, overwrite=True)
    with refuses(CheckpointError):
        DuplicateDetector.load(saved)


CRAFTED_ARRAYS = {
    "none": ({}, []),
    "other shapes": (
        {"embedding": np.zeros((2, 2), np.float32)},
        ["embedding", "float32 [2, 2]"],
    ),
    "whole numbers": (weights("int32"), ["int32"]),
    "no numbers": (
        {**weights(), "lstm/bias": np.full(16, np.nan, np.float32)},
        ["lstm/bias", "finite"],
    ),
}


@pytest.mark.parametrize("name", CRAFTED_ARRAYS)
def test_crafted_arrays_with_a_right_checksum_are_refused(saved, name):
    _, facts = read_file(saved, "model")
    arrays, names = CRAFTED_ARRAYS[name]
    write_file(saved, "model", arrays, facts, overwrite=True)
    with refuses(CheckpointError, *names):
        DuplicateDetector.load(saved)


COURSE_VOCABULARY = Vocabulary(["how", "far", "is", "it", "?"])


def write_arrays(path, rows, dtype=np.float32, count=3):
    draw = np.random.default_rng(0).standard_normal
    shapes = LstmConfig(rows, 4).shapes()
    arrays = [draw(shape).astype(dtype) for shape in [*shapes.values()][:count]]
    write_trax_weights(path, arrays)
    return arrays


def test_the_id_beyond_the_last_row_is_clamped_as_in_the_course(tmp_path):
    # One row too few: ids run to len(vocabulary).
    arrays = write_arrays(tmp_path, len(COURSE_VOCABULARY))
    detector = import_weights(tmp_path / "model.pkl.gz", COURSE_VOCABULARY)
    assert detector.threshold == 0.7
    assert detector.encoder.config.vocab_size == len(COURSE_VOCABULARY) + 1
    ids = COURSE_VOCABULARY.encode(["?", "how", "never"])
    assert max(ids) == len(COURSE_VOCABULARY)
    weights = dict(zip(("embedding", "lstm/kernel", "lstm/bias"), arrays))
    clamped = np.minimum([[*ids, 1]], len(COURSE_VOCABULARY) - 1)
    expected = encode(weights, clamped, LstmConfig(len(COURSE_VOCABULARY), 4))
    np.testing.assert_allclose(detector.encode(["? how never"]), expected, atol=1e-6)


def test_rows_of_unseen_words_are_left_out(tmp_path):
    arrays = write_arrays(tmp_path, COURSE_VOCABULARY.size + 2)
    detector = import_weights(tmp_path, COURSE_VOCABULARY, 2)
    np.testing.assert_array_equal(detector.encoder.weights["embedding"], arrays[0][:-2])
    assert detector.card["imported_from"] == "model.pkl.gz"


@pytest.mark.parametrize(
    ("rows", "options", "names"),
    [
        pytest.param(5, {}, ["5 rows", "6 to 9"], id="too few rows"),
        pytest.param(10, {}, ["10 rows", "6 to 9"], id="too many rows"),
        pytest.param(6, {"count": 2}, ["(6, 4)"], id="two arrays"),
        pytest.param(7, {"dtype": np.int32}, ["int32"], id="whole numbers"),
    ],
)
def test_other_weights_are_refused(tmp_path, rows, options, names):
    write_arrays(tmp_path, rows, **options)
    with refuses(CheckpointError, *names):
        import_weights(tmp_path, COURSE_VOCABULARY, 2)


def test_a_vocabulary_without_an_end_is_refused():
    with pytest.raises(DataError):
        read_vocabulary("/dev/zero")


def test_a_vocabulary_is_the_courses_dict_in_any_order(tmp_path):
    ids = {"?": 6, "how": 2, "far": 3, "is": 4, "it": 5, "<PAD>": 1}
    unseen = {"Astronomy": 0, "cats": 0}
    (tmp_path / "right").write_text(json.dumps(ids | unseen))
    assert read_vocabulary(tmp_path / "right") == (COURSE_VOCABULARY, 2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b'{"how": 2}', "every number once", id="no padding"),
        pytest.param(b'{"<PAD>": 1, "how": "2"}', "every number once", id="a text"),
        pytest.param(b"{}", "JSON object", id="no words"),
        pytest.param(b'{"<PAD>": 2, "how": 1}', "the id 1", id="another padding"),
        pytest.param(b'["how"]', "JSON object", id="a list"),
        pytest.param(b"how", "JSON object", id="no JSON"),
        pytest.param(b"\xff\xfe\x00", "JSON object", id="no text"),
        pytest.param(None, "does not exist", id="no file"),
    ],
)
def test_another_file_is_no_vocabulary(tmp_path, content, words):
    if content is not None:
        (tmp_path / "v").write_bytes(content)
    with refuses(DataError, str(tmp_path / "v"), words):
        read_vocabulary(tmp_path / "v")
