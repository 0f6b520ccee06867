"""The training step: equal to stock Trax's, with the optimizer's slots written in place."""

import jax
import numpy as np
import pytest
from trax import layers as tl
from trax import optimizers, shapes

from siamese import Siamese, TripletLoss
from siamese.training.step import update_step

VOCAB, D_MODEL, RATE = 40, 8, 0.01
MASKED = {"mask_padding": True, "bidirectional": True}


def batch(seed=0):
    """Two blocks of 6 questions, padded with 1, with unknown words (0) in between."""
    draw = np.random.RandomState(seed)
    kept = np.arange(8) < draw.randint(1, 9, (2, 6))[:, :, None]
    tokens = draw.choice([0, *range(2, 20)], (2, 6, 8))
    return tuple(np.where(kept, tokens, 1).astype(np.int32))


def trainer_of(ours, **options):
    """Trax's trainer from always the same start, with our step or its own."""
    both = tl.Serial(Siamese(VOCAB, D_MODEL, **options), TripletLoss())
    both.init(shapes.signature(batch()), rng=jax.random.PRNGKey(3))
    optimizer = optimizers.Adam(RATE)
    optimizer.tree_init(both.weights)
    trainer = optimizers.Trainer(both, optimizer, n_devices=1)
    if ours:
        trainer._accelerated_update_fn = update_step(trainer)
    return trainer


def arrays(tree):
    return [np.array(leaf) for leaf in jax.tree_util.tree_leaves(tree)]


@pytest.mark.parametrize("options", [{}, pytest.param(MASKED, marks=pytest.mark.slow)])
def test_the_step_is_stock_trax_s(options):
    stock, ours = trainer_of(False, **options), trainer_of(True, **options)
    for n in range(1, 6):
        (expected, norms), (loss, own) = (
            trainer.one_step(batch(n), jax.random.PRNGKey(n), step=n, learning_rate=RATE)
            for trainer in (stock, ours)
        )
        assert (
            float(loss) == pytest.approx(float(expected), abs=1e-6) and own.keys() == norms.keys()
        )
        for name, value in norms.items():
            np.testing.assert_allclose(own[name], value, rtol=1e-5)
    for mine, its in ((ours.slots, stock.slots), (ours, stock)):
        mine, its = (getattr(side, "model_with_loss", side) for side in (mine, its))
        for a, b in zip(*(arrays(getattr(side, "weights", side)) for side in (mine, its))):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * max(1, np.abs(b).max()))


def test_slots_are_written_in_place_and_weights_stay_valid():
    trainer = trainer_of(True)

    def places():
        leaves = jax.tree_util.tree_leaves(trainer.slots)
        return [leaf.unsafe_buffer_pointer() for leaf in leaves]

    for n in (1, 2):
        trainer.one_step(batch(), jax.random.PRNGKey(n), step=n, learning_rate=RATE)
    weights, slots_at = trainer.accelerated_model_with_loss.weights, places()
    before = arrays(weights)
    trainer.one_step(batch(1), jax.random.PRNGKey(3), step=3, learning_rate=RATE)
    assert places() == slots_at
    for a, b in zip(arrays(weights), before):  # Somebody may hold the weights.
        np.testing.assert_array_equal(a, b)
