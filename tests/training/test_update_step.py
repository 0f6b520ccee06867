"""The training step: equal to stock Trax's, slots donated; lazy Adam against loops in NumPy."""

import jax
import numpy as np
import pytest
from trax import layers as tl
from trax import optimizers, shapes

from siamese import ArgumentError, Siamese, TripletLoss
from siamese.training.step import update_step

VOCAB, D_MODEL, RATE = 40, 8, 0.01


def batch(words=range(2, 20), rows=6, length=8, seed=0):
    """Two blocks of tokens from `words`, padded with 1, with unknown words (0) in between."""
    draw = np.random.RandomState(seed)
    kept = np.arange(length) < draw.randint(1, length + 1, (2, rows))[:, :, None]
    tokens = draw.choice([0, *words], (2, rows, length))
    return tuple(np.where(kept, tokens, 1).astype(np.int32))


def trainer_of(model=None, optimizer=None, lazy=None, **options):
    """Trax's trainer from always the same start, with the step that it makes where `lazy` is None."""
    both = tl.Serial(model or Siamese(VOCAB, D_MODEL, **options), TripletLoss())
    both.init(shapes.signature(batch()), rng=jax.random.PRNGKey(3))
    optimizer = optimizer or optimizers.Adam(RATE)
    optimizer.tree_init(both.weights)
    trainer = optimizers.Trainer(both, optimizer, n_devices=1)
    if lazy is not None:
        trainer._accelerated_update_fn = update_step(trainer, lazy)
    return trainer


def arrays(tree):
    return [np.array(leaf) for leaf in jax.tree_util.tree_leaves(tree)]


def assert_equal(found, expected, atol=1e-6):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol * max(1, np.abs(b).max()))


def steps(trainer, batches):
    return [
        float(trainer.one_step(b, jax.random.PRNGKey(n), step=n, learning_rate=RATE)[0])
        for n, b in enumerate(batches, 1)
    ]


MASKED = {"mask_padding": True, "bidirectional": True}


@pytest.mark.parametrize("options", [{}, pytest.param(MASKED, marks=pytest.mark.slow)])
def test_the_step_is_stock_trax_s(options):
    stock, ours = (trainer_of(lazy=lazy, **options) for lazy in (None, False))
    batches = [batch(seed=seed) for seed in range(5)]
    np.testing.assert_allclose(steps(ours, batches), steps(stock, batches), rtol=0, atol=1e-6)
    assert_equal(arrays(ours.slots), arrays(stock.slots))
    assert_equal(arrays(ours.model_with_loss.weights), arrays(stock.model_with_loss.weights))


def test_reported_norms_are_stock_trax_s_with_lazy_adam_the_gradient_s():
    stock, ours, lazy = (
        trainer_of(lazy=lazy).one_step(batch(), jax.random.PRNGKey(0), 1, RATE)[1]
        for lazy in (None, False, True)
    )
    assert ours.keys() == stock.keys()
    for name, value in stock.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-5)
    np.testing.assert_allclose(lazy["gradients_l2"], stock["gradients_l2"], rtol=1e-5)


def places(*trees):
    return [leaf.unsafe_buffer_pointer() for leaf in jax.tree_util.tree_leaves(trees)]


@pytest.mark.parametrize("lazy", [False, True])
def test_slots_are_written_in_place_and_weights_too_with_lazy_adam(lazy):
    trainer = trainer_of(lazy=lazy)
    steps(trainer, [batch()] * 2)
    weights, slots = trainer.accelerated_model_with_loss.weights, trainer.slots
    before, weights_at, slots_at = arrays(weights), places(weights), places(slots)
    steps(trainer, [batch(seed=1)])
    assert places(trainer.slots) == slots_at
    if lazy:
        assert places(trainer.accelerated_model_with_loss.weights) == weights_at
    else:  # Somebody may hold the weights: they stay valid.
        assert_equal(arrays(weights), before, atol=0)


@pytest.mark.parametrize("options", [{}, pytest.param(MASKED, marks=pytest.mark.slow)])
def test_lazy_adam_against_a_loop_over_the_batch_s_words(options):
    """Reference: the whole gradient of the same loss, and Adam in float64, row by row."""
    trainer = trainer_of(lazy=True, **options)
    model = trainer.model_with_loss
    gradient = jax.jit(jax.grad(lambda w, b: model.pure_fn(b, w, model.state, model.rng)[0]))
    weights = arrays(model.weights)
    structure = jax.tree_util.tree_structure(model.weights)
    m, v = ([np.zeros(w.shape) for w in weights] for _ in range(2))
    embedding = [w.shape for w in weights].index((VOCAB, D_MODEL))
    for n, words in enumerate((range(2, 10), range(8, 16), range(2, 4), range(2, 20)), 1):
        q = batch(words, seed=n)
        tree = jax.tree_util.tree_unflatten(structure, [w.astype(np.float32) for w in weights])
        for at, g in enumerate(arrays(gradient(tree, q))):
            touched = {0, 1, *np.concatenate([q[0], q[1]]).ravel()} if at == embedding else [...]
            for row in touched:
                m[at][row] = 0.9 * m[at][row] + 0.1 * g[row]
                v[at][row] = 0.999 * v[at][row] + 0.001 * g[row] ** 2
                mhat, vhat = m[at][row] / (1 - 0.9 ** (n + 1)), v[at][row] / (1 - 0.999 ** (n + 1))
                step = RATE * mhat / (np.sqrt(vhat) + 1e-5)
                weights[at][row] = (1 - 1e-5) * weights[at][row] - step
        trainer.one_step(q, jax.random.PRNGKey(n), step=n, learning_rate=RATE)
        assert_equal(arrays(model.weights), weights, atol=2e-6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: {"optimizer": optimizers.SGD(0.1)}, "the optimizer is SGD"),
        (lambda: {"optimizer": optimizers.Adam(0.1, clip_grad_norm=1.0)}, "without clip_grad_norm"),
        (lambda: {"model": tl.Parallel(tl.Dense(4), tl.Dense(4))}, "Siamese has made.*a Parallel"),
    ],
)
def test_what_lazy_adam_cannot_do_is_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        trainer_of(lazy=True, **make())
