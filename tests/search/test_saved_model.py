"""A saved model that was damaged or crafted ends in a message, whatever in it is wrong."""

import json

import numpy as np
import pytest
from safetensors.numpy import save

from siamese import CheckpointError, DuplicateDetector, SiameseError, Vocabulary
from siamese.nn.encoder import TowerConfig
from siamese.storage.store import MANIFEST, find_current, write_manifest

WORDS = Vocabulary.from_words(["how", "old", "are", "you"])
TOWER = {"vocab_size": WORDS.size, "d_model": 4}


def arrays(dtype="float32"):
    draw = np.random.default_rng(0)
    shapes = TowerConfig(**TOWER).shapes()
    return {name: draw.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


@pytest.fixture
def saved(tmp_path):
    """The directory of the files of a saved model."""
    made = DuplicateDetector(
        arrays(), WORDS, TowerConfig(**TOWER), threshold=0.6, card={"steps": 3}
    )
    return find_current(made.save(tmp_path / "model"), "detector")


def load(folder):
    return DuplicateDetector.load(folder.parent)


def replace(folder, name, content):
    """Puts another file into a saved model, with a manifest that fits it: what an attacker can make."""
    if isinstance(content, dict):
        facts = {**json.loads((folder / name).read_text()), **content}
        content = json.dumps({k: v for k, v in facts.items() if v != "left out"}).encode()
    (folder / name).write_bytes(content)
    (folder / MANIFEST).unlink()
    write_manifest(folder, kind="detector", step=0)


def test_what_is_saved_returns(saved):
    found = load(saved)
    for name, array in arrays().items():
        np.testing.assert_array_equal(found.weights[name], array)
    assert (found.threshold, found.card, found.vocabulary) == (0.6, {"steps": 3}, WORDS)
    assert DuplicateDetector.load(saved.parents[1]).threshold == 0.6  # the run's directory will do


@pytest.mark.parametrize("name", ["weights.safetensors", "detector.json", "vocabulary.json"])
def test_each_damaged_file_is_named(saved, name):
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    for damaged in (content, content[:-5]):
        (saved / name).write_bytes(damaged)
        with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
            load(saved)


MISSING = "a word is missing or added"
CRAFTED = {
    "detector.json": [
        b"", b"[]", b"3", b"{}", b"\xff", b"[" * 100_000, b'{"version": 1}',
        ({"version": 99}, "format version 99"), {"tower": None}, {"tower": "left out"},
        {"tower": {"vocab_size": "many"}}, {"tower": {**TOWER, "pooling": "max"}},
        ({"tower": {**TOWER, "compute": "none"}}, "detector.json: compute must be float32 or bfloat16"),
        ({"tower": {**TOWER, "bidirectional": "yes"}}, "bidirectional must be True .* 'yes'"),
        {"tower": {**TOWER, "d_model": -4}}, ({"tower": {"vocab_size": 2}}, MISSING),
        {"threshold": None}, {"threshold": "high"}, {"threshold": float("nan")},
        {"calibration": {"method": "none known"}}, {"calibration": 3}, {"card": 3},
    ],
    "weights.safetensors": [b"", b"\xff" * 16, b"\x02\0\0\0\0\0\0\0{}", b"x" * 100,
        save({"embedding": np.zeros((2, 2), "float32")}), (save(arrays("int32")), "its dtype is int32")],
    "vocabulary.json": [b"", b"{}", b"[]", b"\xff", b'{"words": 3}',
        ({"lowercase": "no"}, "say whether it is lowercase"),
        ({"words": [*WORDS.words, "today"]}, MISSING), ({"words": WORDS.words[:-1]}, MISSING)],
}  # fmt: skip


@pytest.mark.parametrize(
    "name, content", [(name, content) for name, contents in CRAFTED.items() for content in contents]
)
def test_crafted_content_with_right_checksums_is_refused(saved, name, content):
    content, message = content if isinstance(content, tuple) else (content, None)
    replace(saved, name, content)
    with pytest.raises(SiameseError, match=message):
        load(saved)
