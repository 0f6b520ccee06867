"""A saved model whose content was changed or crafted ends in a message, whatever in it is wrong."""

import numpy as np
import pytest

from siamese import CheckpointError, DuplicateDetector, Vocabulary
from siamese.nn.encoder import TowerConfig
from siamese.search.encoders import find_encoder
from siamese.search.model_file import read_file, write_file

WORDS = Vocabulary(["how", "old", "are", "you"])
TOWER = {"vocab_size": WORDS.size, "d_model": 4, "mask_padding": True, "bidirectional": False}


def arrays(dtype="float32"):
    draw = np.random.default_rng(0)
    shapes = TowerConfig(**TOWER).shapes()
    return {name: draw.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


@pytest.fixture
def saved(tmp_path):
    """The file of a saved model, in the directory of a run."""
    detector = DuplicateDetector(
        arrays(), WORDS, TowerConfig(**TOWER), threshold=0.6, card={"steps": 3}
    )
    path = detector.save(tmp_path)
    assert path == tmp_path / "model.safetensors"
    return path


def test_what_is_saved_returns(saved):
    loaded = DuplicateDetector.load(saved)
    for name, array in arrays().items():
        np.testing.assert_array_equal(loaded.weights[name], array)
    assert (loaded.threshold, loaded.card, loaded.vocabulary) == (0.6, {"steps": 3}, WORDS)
    assert loaded.calibration is None and loaded.encoder is None
    run = DuplicateDetector.load(saved.parent)  # The run's directory will do.
    assert run.checksum == loaded.checksum
    assert run.with_fit({"threshold": 0.5, "calibration": None}).checksum == loaded.checksum
    changed = {**arrays(), "lstm/bias": arrays()["lstm/bias"] + 1}
    other = DuplicateDetector(changed, WORDS, TowerConfig(**TOWER))
    assert other.checksum != loaded.checksum


def test_a_directory_without_a_model_is_refused_in_a_sentence(tmp_path):
    for path in (tmp_path, tmp_path / "none", str(tmp_path / "none")):
        with pytest.raises(CheckpointError, match=r"There is no model at .*\. `siamese train`"):
            DuplicateDetector.load(path)


VOCABULARY = {"words": list(WORDS.words), "folded": False, "unknown_ids": 0}
USE = find_encoder("use").fingerprint
SIZES = "its vocabulary needs .* rows, and its embedding has"
REFUSED = "damaged|do not fit|not with the version"
CRAFTED = [
    *({"tower": value} for value in (None, "left out", 3, {"vocab_size": 4}, {**TOWER, "d_model": -4},
        {**TOWER, "vocab_size": "many"})),
    ({"tower": {**TOWER, "bidirectional": "yes"}}, "bidirectional must be True .* 'yes'"),
    ({"tower": {**TOWER, "vocab_size": 2}}, SIZES),
    *({"threshold": value} for value in (None, "high", float("nan"), "left out")),
    *({"calibration": value} for value in ({"method": "none known"}, 3, "left out")),
    *({"card": value} for value in (3, "text", "left out")),
    *({"vocabulary": value} for value in (None, 3, [], {}, {**VOCABULARY, "words": "text"},
        {**VOCABULARY, "unknown_ids": -1}, {**VOCABULARY, "folded": "no"}, "left out")),
    ({"vocabulary": {**VOCABULARY, "words": VOCABULARY["words"] * 2}}, "each word once"),
    ({"vocabulary": {**VOCABULARY, "words": [*VOCABULARY["words"], "today"]}}, SIZES),
    ({"vocabulary": {**VOCABULARY, "words": VOCABULARY["words"][:-1]}}, SIZES),
    *({"encoder": value} for value in (3, [], "use", {}, {"name": "use"}, "left out",
        *({"name": "use", "fingerprint": USE, "share": share} for share in (2, "half", None)),
        {"name": "use", "fingerprint": 3, "share": 1})),
]  # fmt: skip


@pytest.mark.parametrize("changes", CRAFTED)
def test_crafted_facts_with_a_right_checksum_are_refused(saved, changes):
    changes, message = changes if isinstance(changes, tuple) else (changes, REFUSED)
    content, facts = read_file(saved, "model")
    facts = {name: value for name, value in {**facts, **changes}.items() if value != "left out"}
    write_file(saved, "model", content, facts)
    with pytest.raises(CheckpointError, match=message):
        DuplicateDetector.load(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "do not fit its configuration"),
        ({"embedding": np.zeros((2, 2), np.float32)}, "do not fit its configuration"),
        (arrays("int32"), "finite floats .* it is int32"),
        ({**arrays(), "lstm/bias": np.full(16, np.nan, np.float32)}, "finite"),
    ],
)
def test_crafted_arrays_with_a_right_checksum_are_refused(saved, content, message):
    write_file(saved, "model", content, read_file(saved, "model")[1])
    with pytest.raises(CheckpointError, match=message):
        DuplicateDetector.load(saved)
