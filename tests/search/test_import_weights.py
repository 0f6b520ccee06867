"""Course weights into a detector: its vectors are those of the course's own lookup, clamped."""

import json

import numpy as np
import pytest
from trax_weights import write_trax_weights

from siamese.data.vocabulary import Vocabulary
from siamese.errors import CheckpointError, DataError
from siamese.nn.encoder import TowerConfig, encode
from siamese.search.import_weights import import_weights, read_vocabulary

WORDS = ["how", "far", "is", "it", "?"]
VOCABULARY = Vocabulary(WORDS)


def write_arrays(path, rows, dtype=np.float32, count=3):
    rng, d = np.random.default_rng(0), 4
    shapes = [(rows, d), (2 * d, 4 * d), (4 * d,)][:count]
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    write_trax_weights(path, arrays)
    return arrays


def test_the_id_beyond_the_last_row_is_clamped_as_in_the_course(tmp_path):
    arrays = write_arrays(tmp_path, len(VOCABULARY))  # one row too few: ids run to len(vocabulary)
    detector = import_weights(tmp_path / "model.pkl.gz", VOCABULARY)
    assert detector.threshold == 0.7 and detector.tower.vocab_size == len(VOCABULARY) + 1
    ids = VOCABULARY.encode(["?", "how", "never"])
    assert max(ids) == len(VOCABULARY)
    weights = dict(zip(("embedding", "lstm/kernel", "lstm/bias"), arrays))
    clamped = np.minimum([[*ids, 1]], len(VOCABULARY) - 1)
    expected = encode(weights, clamped, TowerConfig(len(VOCABULARY), 4))
    np.testing.assert_allclose(detector.encode(["? how never"]), expected, atol=1e-6)
    arrays = write_arrays(tmp_path, VOCABULARY.size + 2)  # those of unseen words are left out
    detector = import_weights(tmp_path, VOCABULARY, 2)
    np.testing.assert_array_equal(detector.weights["embedding"], arrays[0][:-2])
    assert detector.card["imported_from"] == "model.pkl.gz"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [*((rows, {}, f"{rows} rows.*needs 6 to 9") for rows in (5, 10)),
     (6, {"count": 2}, "another model"),
     (7, {"dtype": np.int32}, "finite floats .* it is int32")],
)  # fmt: skip
def test_other_weights_are_refused(tmp_path, rows, options, message):
    write_arrays(tmp_path, rows, **options)
    with pytest.raises(CheckpointError, match=message):
        import_weights(tmp_path, VOCABULARY, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"how": 2}', "every number once"), (b'{"<PAD>": 1, "how": "2"}', "every number once"),
        (b"{}", "the id 1"), (b'{"<PAD>": 2, "how": 1}', "the id 1"), (b'["how"]', "no JSON object"),
        (b"how", "no JSON object"), (b"\xff\xfe\x00", "no JSON"), (None, "does not exist"),
    ],
)  # fmt: skip
def test_a_vocabulary_is_the_courses_dict_in_any_order_and_no_other(tmp_path, content, message):
    ids = {"?": 6, "how": 2, "far": 3, "is": 4, "it": 5, "<PAD>": 1, "Astronomy": 0, "cats": 0}
    (tmp_path / "right").write_text(json.dumps(ids))
    assert read_vocabulary(tmp_path / "right") == (VOCABULARY, 2)
    if content is not None:
        (tmp_path / "v").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_vocabulary(tmp_path / "v")
