"""Course weights into a detector: its vectors are those of the course's own lookup, clamped."""

import json

import numpy as np
import pytest

from siamese.data.vocabulary import Vocabulary
from siamese.errors import CheckpointError, DataError
from siamese.nn.encoder import TowerConfig, encode
from siamese.search.detector import DuplicateDetector
from siamese.search.import_weights import import_weights, read_vocabulary
from siamese.storage.trax_files import write_course_model

WORDS = ["how", "far", "is", "it", "?"]
INPUT = None  # Not looked at.


def course_arrays(rows, d=4):
    rng = np.random.default_rng(0)
    shapes = [(rows, d), (2 * d, 4 * d), (4 * d,)]
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.fixture
def vocabulary():
    return Vocabulary.from_words(WORDS)


def test_the_id_beyond_the_last_row_is_clamped_as_in_the_course(tmp_path, vocabulary):
    arrays = course_arrays(len(vocabulary))  # one row too few: ids run to len(vocabulary)
    write_course_model(tmp_path, arrays, input_signature=INPUT)
    detector = import_weights(tmp_path / "model.pkl.gz", vocabulary)
    assert detector.threshold == 0.7 and detector.tower.vocab_size == len(vocabulary) + 1
    ids = vocabulary.encode(["?", "how", "never"])
    assert max(ids) == len(vocabulary)
    weights = dict(zip(("embedding", "lstm/kernel", "lstm/bias"), arrays))
    clamped = np.minimum([[*ids, 1]], len(vocabulary) - 1)
    wanted = encode(weights, clamped, TowerConfig(len(vocabulary), 4))
    np.testing.assert_allclose(detector.encode(["? how never"]), wanted, atol=1e-6)


def test_enough_rows_are_taken_as_they_are_and_saved(tmp_path, vocabulary):
    arrays = course_arrays(vocabulary.size)
    write_course_model(tmp_path / "model.pkl.gz", arrays, input_signature=INPUT)
    detector = import_weights(tmp_path, vocabulary, threshold=0.6)
    np.testing.assert_array_equal(detector.weights["embedding"], arrays[0])
    detector.save(tmp_path / "out")
    loaded = DuplicateDetector.load(tmp_path / "out")
    assert loaded.similarity("how far", "is it ?") == detector.similarity("how far", "is it ?")
    assert loaded.card["imported_from"] == "model.pkl.gz" and loaded.threshold == 0.6


@pytest.mark.parametrize("rows", [3, 5, 8, 100])
def test_weights_of_another_vocabulary_are_refused(tmp_path, vocabulary, rows):
    write_course_model(tmp_path, course_arrays(rows), input_signature=INPUT)
    with pytest.raises(CheckpointError, match=f"{rows} rows.*needs 6 or 7"):
        import_weights(tmp_path, vocabulary)
    write_course_model(tmp_path, course_arrays(6)[:2], input_signature=INPUT)
    with pytest.raises(CheckpointError, match="another model"):
        import_weights(tmp_path, vocabulary)


def test_whole_numbers_are_no_weights(tmp_path, vocabulary):
    arrays = [array.astype(np.int32) for array in course_arrays(7)]
    write_course_model(tmp_path, arrays, input_signature=INPUT)
    with pytest.raises(CheckpointError, match="arrays of int32; weights are floating-point"):
        import_weights(tmp_path, vocabulary)


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"<PAD>": 1, **{word: i for i, word in enumerate(WORDS, 2)}}),
        json.dumps({"?": 6, "how": 2, "far": 3, "is": 4, "it": 5, "<PAD>": 1}),
        json.dumps(["<PAD>", *WORDS]),
        json.dumps(WORDS),
        "\n".join(WORDS) + "\n",
        "\r\n".join(["<PAD>", *WORDS]),
    ],
)
def test_every_form_of_vocabulary_is_the_same(tmp_path, vocabulary, content):
    (tmp_path / "v").write_text(content, newline="")
    assert read_vocabulary(tmp_path / "v") == vocabulary
    (tmp_path / "v").write_text("[\n]\nhow\n")  # a word list may start with a bracket
    assert read_vocabulary(tmp_path / "v").words == ("<PAD>", "[", "]", "how")
    vocabulary.save(tmp_path / "own")
    assert read_vocabulary(tmp_path / "own") == vocabulary


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no words"),
        ("how\nfar\nhow\n", "line 3.*line 1 already"),
        ("how\n\nfar\n", "line 2"),
        ("how\n<PAD>\n", "must come first"),
        ('{"how": 2}', "<PAD> 1"),
        ('{"<PAD>": 1, "how": 3}', "'how' has 3"),
        ('{"<PAD>": 1, "how": "2"}', "'how' has '2'"),
        ('{"<PAD>": 1', "not complete JSON"),
        ("[5]", "entry 1"),
        (b"\xff\xfe\x00", "UTF-8"),
        (None, "does not exist"),
    ],
)
def test_other_vocabularies_are_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "v").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        read_vocabulary(tmp_path / "v")
