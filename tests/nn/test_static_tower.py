"""The tower over static vectors: three cosines in one, and the same by Trax, JAX and NumPy."""

import hashlib
from math import log

import jax
import numpy as np
import pytest
from small_vectors import D, write_vectors
from trax import layers as tl
from trax import optimizers, shapes

from siamese.course.loss import TripletLoss
from siamese.course.model import Siamese, tower_weights
from siamese.data.subwords import StaticVectors
from siamese.errors import ArgumentError
from siamese.nn.characters import CharacterTable, StaticStart
from siamese.nn.encoder import Encoder, encode_few
from siamese.nn.tower import PAD, TowerConfig, encode
from siamese.training.step import update_step

QUESTIONS = ["how do i cook rice?", "what is the best way", "old cats", "age"]
SHARES = {"static_share": 0.4, "character_share": 0.25, "familiar_length": 5}
D_MODEL = 8


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    vectors = StaticVectors.read(write_vectors(tmp_path_factory.mktemp("table") / "small"))
    vocabulary = vectors.vocabulary
    occurrences = np.arange(vocabulary.size) % 5
    characters = CharacterTable.counted(vocabulary.text, vocabulary.size, occurrences, 20)
    projection = vectors.principal(D_MODEL)
    made = StaticStart(vectors.table, characters, projection, SHARES, vectors.checksum)
    return made, vocabulary


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_character_vectors(start):
    """The docstring's formula, one trigram at a time."""
    made, vocabulary = start
    table = np.asarray(made.characters)
    counts = {}
    for i in range(vocabulary.size):
        text = vocabulary.text(i)
        for at in range(max(1, len(text) - 2)) if text else []:
            counts[text[at : at + 3]] = counts.get(text[at : at + 3], 0) + i % 5
    for i in (0, 1, vocabulary["?"], vocabulary["▁what"], vocabulary.size - 1):
        text, expected = vocabulary.text(i), np.zeros(256)
        for at in range(max(1, len(text) - 2)) if text else []:
            trigram = text[at : at + 3]
            bits = "".join(f"{byte:08b}" for byte in hashlib.sha256(trigram.encode()).digest())
            signs = np.array([1.0 if bit == "1" else -1.0 for bit in bits]) / 16
            expected += signs * log((3 * 20 + 1) / (counts[trigram] + 1))
        np.testing.assert_allclose(table[i], expected, atol=1e-5)
    some = np.array([[5, 7], [0, 5]])
    np.testing.assert_array_equal(made.characters[some], table[some])
    assert table.shape == made.characters.shape and table.dtype == np.float32
    again = CharacterTable(vocabulary.text, vocabulary.size, **made.characters.to_dict())
    np.testing.assert_array_equal(np.asarray(again), table)


@pytest.mark.slow
def test_trax_jax_and_numpy_give_one_vector(start):
    made, vocabulary = start
    batch = vocabulary.encode_many(QUESTIONS).padded(np.arange(len(QUESTIONS)), 32, PAD)
    options = {"mask_padding": True, "bidirectional": True, "static": made}
    model = Siamese(vocabulary.size, D_MODEL, "eval", lstm_bias="forget_gate", **options)
    model.init(shapes.signature((batch, batch)))
    weights = tower_weights(model)
    np.testing.assert_array_equal(weights["embedding"], 0)
    np.testing.assert_array_equal(weights["projection"], made.projection)
    assert not set(weights) & {"static", "characters"}
    assert str(model).count("Embedding") == 2 and str(model).count("Dense") == 4
    weights |= made.tables
    config = TowerConfig(vocabulary.size, D_MODEL, True, True, **made.options)
    expected = encode_few(weights, batch, config)
    assert expected.shape == (4, config.output_size) == (4, D + 256 + D)
    first, second = model((batch, batch[::-1].copy()))
    tower = model.sublayers[0](batch)
    by_encoder = Encoder(config, weights).encode(vocabulary.encode_many(QUESTIONS * 20))
    by_jax = encode({n: np.asarray(a) for n, a in weights.items()}, batch, config)
    for found in (first, second[::-1], tower, by_jax, by_encoder[:4], by_encoder[-4:]):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    # The cosine is the weighted mean of three, whatever the padding.
    np.testing.assert_allclose(np.linalg.norm(expected, axis=1), 1, atol=1e-6)
    cut = {0: D, D: D + 256, D + 256: config.output_size}
    parts = [expected[:, a:b] for a, b in cut.items()]
    rows = list(vocabulary.encode_many(QUESTIONS))
    # Of more than 5 tokens less of what was learned counts.
    learned = 0.6 * np.minimum(1, 5 / np.array([len(row) for row in rows])) ** 2
    assert learned.max() == 0.6 and learned.min() < 0.5
    for part, share in zip(parts, (0.75 * (1 - learned), 0.25 * (1 - learned), learned)):
        np.testing.assert_allclose((part**2).sum(axis=1), share, atol=1e-6)
    for part, table in zip(parts, (made.static, np.asarray(made.characters))):
        mean = np.stack([table[row].astype(np.float64).mean(axis=0) for row in rows])
        np.testing.assert_allclose(unit(part), unit(mean), atol=1e-5)
    # Untrained and without LSTMs the learned block is the static mean.
    still = {**weights, "output": np.zeros_like(weights["output"])}
    found = encode_few(still, batch, config)[:, D + 256 :]
    np.testing.assert_allclose(unit(found), unit(parts[0]), atol=1e-5)


def test_without_learning_there_is_no_lstm(start):
    made, vocabulary = start
    config = TowerConfig(
        vocabulary.size, D_MODEL, True, True, static_size=D, static_share=1.0, character_share=0.5
    )
    assert set(config.shapes()) == {"static", "characters"} and config.output_size == D + 256
    encoder = Encoder(config, made.tables)
    few = encoder.encode(vocabulary.encode_many(QUESTIONS))
    many = encoder.encode(vocabulary.encode_many(QUESTIONS * 20))
    np.testing.assert_allclose(many, np.tile(few, (20, 1)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(few, axis=1), 1, atol=1e-6)


def test_unknown_tokens_count_for_nothing_in_the_frozen_blocks(start):
    made, vocabulary = start
    config = TowerConfig(vocabulary.size, D_MODEL, True, True, **made.options)
    draw = np.random.default_rng(0)
    weights = {n: draw.normal(size=s).astype(np.float32) for n, s in config.shapes().items()}
    weights |= made.tables
    known, mixed, unknown = [5, 9], [5, 0, 9, 0], [0, 0]
    by_numpy, by_jax = (
        Encoder(config, weights).encode([known, mixed, unknown, []] * repeat) for repeat in (1, 20)
    )
    np.testing.assert_allclose(by_jax[:4], by_numpy, atol=1e-6)
    for found in (by_numpy, by_jax):
        frozen = found[:, : D + 256]
        np.testing.assert_allclose(frozen[0], frozen[1], atol=1e-6)
        assert not found[2:4].any() and np.isfinite(found).all()


@pytest.mark.slow
def test_only_what_is_learned_has_a_gradient_and_no_step_copies_the_tables(start):
    made, vocabulary = start
    batch = vocabulary.encode_many(QUESTIONS).padded(np.arange(len(QUESTIONS)), 32, PAD)
    options = {"mask_padding": True, "bidirectional": True, "static": made}
    model = Siamese(vocabulary.size, D_MODEL, **options)
    weights, state = model.init(shapes.signature((batch, batch)))

    def loss(weights):
        (first, second), _ = model.pure_fn((batch, batch), weights, state, jax.random.PRNGKey(0))
        return (first * second[::-1]).sum()

    gradient = jax.grad(loss)(weights)
    assert jax.tree.structure(gradient) == jax.tree.structure(weights)
    assert all(np.asarray(leaf).any() for leaf in jax.tree.leaves(gradient))
    sizes = [np.shape(leaf) for leaf in jax.tree.leaves((weights, state))]
    # The one array of the static table's shape is the embedding.
    assert sizes.count(made.static.shape) == 1 and made.characters.shape not in sizes


def test_a_tower_over_static_vectors_is_masked_and_reads_both_ways():
    with pytest.raises(ArgumentError, match="mask_padding and bidirectional"):
        TowerConfig(10, 4, static_size=3)
    with pytest.raises(ArgumentError, match="static_share must lie"):
        TowerConfig(10, 4, True, True, static_size=3, static_share=1.5)
    # What checksums of towers without static vectors are made from.
    assert repr(TowerConfig(10, 4)) == (
        "TowerConfig(vocab_size=10, d_model=4, mask_padding=False, bidirectional=False, "
        "compute='float32')"
    )


def test_lazy_adam_is_refused(start):
    """Its rows have other numbers than those of the static vectors."""
    made, vocabulary = start
    model = tl.Serial(
        Siamese(vocabulary.size, D_MODEL, mask_padding=True, bidirectional=True, static=made),
        TripletLoss(),
    )
    q = np.array([[2, 3], [4, 5]], np.int32)
    model.init(shapes.signature((q, q)))
    optimizer = optimizers.Adam(0.01)
    optimizer.tree_init(model.weights)
    trainer = optimizers.Trainer(model, optimizer, n_devices=1)
    with pytest.raises(ArgumentError, match="without static vectors"):
        update_step(trainer, lazy_adam=True)
