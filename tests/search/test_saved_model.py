"""A saved model that was damaged or crafted ends in a message, whatever in it is wrong."""

import json

import numpy as np
import pytest
from safetensors.numpy import save

from siamese import CheckpointError, DuplicateDetector, SiameseError, Vocabulary
from siamese.nn.encoder import TowerConfig
from siamese.storage.store import MANIFEST, find_current, write_manifest

WORDS = Vocabulary.from_words(["how", "old", "are", "you"])


def a_detector():
    draw = np.random.default_rng(0)
    tower = TowerConfig(WORDS.size, 4)
    weights = {n: draw.normal(size=s).astype("float32") for n, s in tower.shapes().items()}
    return DuplicateDetector(weights, WORDS, tower, threshold=0.6, card={"steps": 3})


@pytest.fixture
def saved(tmp_path):
    """The directory of the files of a saved model."""
    return find_current(a_detector().save(tmp_path / "model"), "detector")


def load(folder):
    return DuplicateDetector.load(folder.parent)


def replace(folder, name, content):
    """Puts another file into a saved model, with a manifest that fits it: what an attacker can make."""
    (folder / name).write_bytes(content)
    (folder / MANIFEST).unlink()
    write_manifest(folder, kind="detector", step=0)


def facts(folder, **changes):
    found = {**json.loads((folder / "detector.json").read_text()), **changes}
    return json.dumps({k: v for k, v in found.items() if v != "left out"}).encode()


def test_what_is_saved_returns(saved):
    found = load(saved)
    questions = ["how old are you", "you are old"]
    np.testing.assert_array_equal(found.encode(questions), a_detector().encode(questions))
    assert (found.threshold, found.card) == (0.6, {"steps": 3})
    assert DuplicateDetector.load(saved.parents[1]).threshold == 0.6  # the run's directory will do


@pytest.mark.parametrize("name", ["weights.safetensors", "detector.json", "vocabulary.json"])
def test_each_damaged_file_is_named(saved, name):
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    for damaged in (content, content[:-5]):
        (saved / name).write_bytes(damaged)
        with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
            load(saved)


CRAFTED = {
    "detector.json": [
        b"", b"[]", b"3", b"{}", b"\xff", b"[" * 100_000, b'{"version": 1}',
        {"version": 99}, {"tower": None}, {"tower": {"vocab_size": "many"}}, {"tower": "left out"},
        {"tower": {"vocab_size": WORDS.size, "d_model": 4, "pooling": "none known"}},
        {"tower": {"vocab_size": WORDS.size, "d_model": 4, "compute": "none known"}},
        {"tower": {"vocab_size": WORDS.size, "d_model": -4}}, {"tower": {"vocab_size": 2}},
        {"threshold": None}, {"threshold": "high"}, {"threshold": float("nan")},
        {"calibration": {"method": "none known"}}, {"calibration": 3}, {"card": 3},
    ],
    "weights.safetensors": [b"", b"\xff" * 16, b"\x02\0\0\0\0\0\0\0{}", b"x" * 100,
        save({"embedding": np.zeros((2, 2), "float32")})],
    "vocabulary.json": [b"", b"{}", b"[]", b"\xff", b'{"words": 3}'],
}  # fmt: skip


@pytest.mark.parametrize(
    "name, content", [(name, content) for name, contents in CRAFTED.items() for content in contents]
)
def test_crafted_content_with_right_checksums_is_refused(saved, name, content):
    replace(saved, name, facts(saved, **content) if isinstance(content, dict) else content)
    with pytest.raises(SiameseError):
        load(saved)


@pytest.mark.parametrize("words", [["how", "old", "are", "you", "today"], ["how", "old", "are"]])
def test_a_vocabulary_one_word_long_or_short_is_refused(saved, words):
    Vocabulary.from_words(words).save(saved / "other.json")
    content = (saved / "other.json").read_bytes()
    (saved / "other.json").unlink()
    replace(saved, "vocabulary.json", content)
    with pytest.raises(CheckpointError, match="a word is missing or added"):
        load(saved)


def test_values_of_another_kind_are_refused_in_one_sentence(saved):
    tower = {"vocab_size": WORDS.size, "d_model": 4}
    replace(saved, "detector.json", facts(saved, tower={**tower, "bidirectional": "yes"}))
    with pytest.raises(
        CheckpointError, match=r"detector.json: bidirectional must be True .* 'yes'"
    ):
        load(saved)
    replace(saved, "detector.json", facts(saved, tower=tower))
    words = json.loads((saved / "vocabulary.json").read_text())
    replace(saved, "vocabulary.json", json.dumps({**words, "lowercase": "no"}).encode())
    with pytest.raises(SiameseError, match="say whether it is lowercase"):
        load(saved)
    replace(saved, "vocabulary.json", json.dumps(words).encode())
    whole = {n: np.ones(s, np.int32) for n, s in TowerConfig(WORDS.size, 4).shapes().items()}
    replace(saved, "weights.safetensors", save(whole))
    with pytest.raises(CheckpointError, match="its dtype is int32"):
        load(saved)
