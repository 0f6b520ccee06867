"""The losses and the training step: stock Trax's arithmetic, plain gradients, four devices."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from programs import on_four_devices
from stock_trax import GOLDEN_LOSSES, batches_and_vocabulary, stock_steps

from siamese import ArgumentError, PairBatches, TrainConfig
from siamese.nn.lstm import Dropout, LstmConfig, encode, init
from siamese.nn.triplet import loss_from_scores
from siamese.training import losses as ours
from siamese.training import step as steps
from siamese.training.losses import make_loss, pair_loss, ranking_loss
from siamese.training.step import (
    initial_state,
    lstm_network,
    make_optimizer,
    make_step,
)

LONG = 10**9  # steps of a run whose linear rate has not begun to fall


def course_step(vocab_size, d_model, **changes):
    config = TrainConfig(d_model=d_model, **changes)
    lstm = LstmConfig(vocab_size, d_model)
    optimizer = make_optimizer(config, LONG)
    return (
        make_step(lstm_network(lstm), make_loss(config), optimizer),
        optimizer,
        config,
    )


def assert_close(arrays, expected, atol):
    for name in expected:
        assert_allclose(arrays[name], expected[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.slow
def test_50_steps_of_2022_have_stock_trax_s_losses_and_the_golden_ones():
    stock = list(stock_steps(2022, 3))
    words = len(stock[0].weights["embedding"])
    step, optimizer, config = course_step(words, 128, edition=2022)
    state = initial_state(stock[0].weights, optimizer)
    losses = []
    for number, batch in enumerate(batches_and_vocabulary(256)[0][1:], 1):
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
        if number <= len(stock):
            rate = float(steps.learning_rate(config, LONG, number))
            assert rate == pytest.approx(stock[number - 1].learning_rate, rel=1e-6)
        if number == len(stock):
            assert_close(state.weights, stock[-1].new_weights, atol=2e-6)
    assert_allclose(losses[: len(stock)], [s.loss for s in stock], rtol=0, atol=1e-5)
    assert_allclose(losses, GOLDEN_LOSSES["course"], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_each_step_of_2023_from_stock_trax_s_weights_and_moments_is_its_step():
    # At the course's own start vectors are so nearly equal that rounding decides the
    # mask.
    step = None
    for reference in stock_steps(2023, setting="quick"):
        if step is None:
            words = len(reference.weights["embedding"])
            step, optimizer, _ = course_step(
                words, 16, schedule="linear", warmup_steps=0
            )
        state = initial_state(reference.weights, optimizer)
        moments = {"mu": reference.first_moments, "nu": reference.second_moments}
        moments = optax.tree.set(
            state.moments, **moments, count=np.int32(reference.step)
        )
        state = steps.State(np.int32(reference.step - 1), state.weights, moments)
        state, metrics = step(state, reference.batch)
        mean = reference.loss / len(reference.batch[0])  # 2023 sums over the batch.
        assert float(metrics["loss"]) == pytest.approx(mean, abs=1e-6)
        for name, weight in reference.new_weights.items():
            expected = weight - reference.weights[name]
            error = np.linalg.norm(state.weights[name] - weight) / np.linalg.norm(
                expected
            )
            assert error < 0.02, (name, reference.step)
    assert reference.step == 50


def tokens(rows, length, seed=0, words=range(2, 20)):
    """int32 [rows, length] from `words`, unknown words (0) in between, padded with 1."""
    draw = np.random.RandomState(seed)
    inside = np.arange(length) < draw.randint(1, length + 1, rows)[:, None]
    return np.where(inside, draw.choice([0, *words], (rows, length)), 1).astype(
        np.int32
    )


def batches_of(rows, *sizes, **options):
    labelled = (*rows, np.arange(40) % 2)
    clusters = [np.arange(40) // 4] * 2
    return PairBatches(*rows, *sizes, clusters=clusters, labelled=labelled, **options)


MASKED = LstmConfig(5000, 4, mask_padding=True, bidirectional=True)
BEST = TrainConfig.preset("lstm", pair_batch_size=4, batch_size=6)


def test_a_step_equals_plain_autodiff_over_the_whole_embedding():
    weights = init(jax.random.key(1), MASKED, "forget_gate")
    sides = tokens(40, 7), tokens(40, 7, 1)
    rows = [[row[row != 1].tolist() for row in side] for side in sides]
    batch = next(batches_of(rows, 6, pair_batch_size=4))

    def reference(weights):
        sides = batch.q1, batch.labelled_q1, batch.q2, batch.labelled_q2
        one, two = jnp.split(encode(weights, np.concatenate(sides), MASKED), 2)
        loss = ranking_loss(one[:6] @ two[:6].T, batch.false_negative_mask).mean()
        cosines = jnp.sum(one[6:] * two[6:], axis=1)
        return loss + 2.0 * pair_loss(cosines, batch.is_duplicate).mean()

    value, gradients = jax.jit(jax.value_and_grad(reference))(weights)
    # Nothing is dropped when a model is evaluated.
    evaluate = steps.make_evaluation(
        lstm_network(MASKED, Dropout(0.3, 0.1)), make_loss(BEST)
    )
    assert float(evaluate(weights, batch)) == pytest.approx(float(value), rel=1e-5)
    optimizer = make_optimizer(BEST, 100)
    start = initial_state(weights, optimizer)
    updates, _ = optimizer.update(gradients, start.moments, weights)
    expected = {name: np.array(weights[name] + updates[name]) for name in weights}
    state, metrics = make_step(lstm_network(MASKED), make_loss(BEST), optimizer)(
        start, batch
    )
    assert float(metrics["loss"]) == pytest.approx(float(value), rel=1e-5)
    assert_close(state.weights, expected, atol=2e-6)


def test_the_linear_rate_rises_and_falls_to_zero_behind_the_last_step():
    config = TrainConfig.preset("lstm", warmup_steps=3, steps=9)
    rates = np.array([steps.learning_rate(config, 9, step) for step in range(1, 11)])
    assert_allclose(rates[:3], 0.01 * np.array([1, 2, 3]) / 3, rtol=1e-6)
    assert rates[2] == rates.max() and 0 < rates[8] < 0.002 and rates[9] == 0
    assert np.all(np.diff(rates[2:]) < 0)


SCORES = np.random.RandomState(0).uniform(-1, 1, (6, 6))
MASK = np.zeros((6, 6), bool)
MASK[0, 3] = MASK[4, 1] = True


def loop_loss(scores, mask):
    """-log of the positive's share of exp(cosine / temperature), for each row; the mean of both sides."""
    losses = np.zeros(len(scores))
    for side, known in ((scores, mask), (scores.T, mask.T)):
        for i, row in enumerate(side):
            terms = np.exp(row / ours.TEMPERATURE)[~known[i]]
            losses[i] += (np.log(terms.sum()) - row[i] / ours.TEMPERATURE) / 2
    return losses


def test_a_row_without_negatives_has_neither_loss_nor_gradient():
    scores = jnp.asarray(SCORES[:2, :2], jnp.float32)
    mask = jnp.asarray(~np.eye(2, dtype=bool))
    loss, gradient = jax.value_and_grad(lambda s: ranking_loss(s, mask).sum())(scores)
    assert float(loss) == 0.0
    assert_array_equal(gradient, np.zeros_like(gradient))


COSINES = np.array([0.3, 0.8])
LABELS = np.array([0, 1])


def pair_losses():
    p = 1 / (1 + np.exp(-(COSINES - ours.PAIR_CENTRE) / ours.PAIR_TEMPERATURE))
    return -np.log([1 - p[0], p[1]])


def test_the_loss_of_labelled_pairs():
    assert_allclose(pair_loss(COSINES, LABELS), pair_losses(), rtol=1e-5)


@pytest.mark.parametrize("mask", [MASK, None], ids=["known duplicates", "none"])
@pytest.mark.parametrize(("in_float64", "rel"), [(True, 1e-12), (False, 1e-5)])
def test_the_loss_of_the_preset_lstm_adds_that_of_labelled_pairs(mask, in_float64, rel):
    loss = make_loss(TrainConfig.preset("lstm", pair_loss_weight=0.5))
    known = np.zeros_like(MASK) if mask is None else mask
    expected = loop_loss(SCORES, known).mean() + 0.5 * pair_losses().mean()
    with jax.enable_x64(in_float64):
        found = loss(SCORES, mask, COSINES, LABELS)
        assert found == pytest.approx([expected] * 2, rel=rel)


@pytest.mark.parametrize(
    ("edition", "closest", "total"),
    [(2022, "hardest", np.mean), (2023, "semi_hard", np.sum)],
)
def test_the_loss_of_an_edition_and_its_mean(edition, closest, total):
    loss = make_loss(TrainConfig(edition=edition, margin=0.3))
    rows = loss_from_scores(SCORES, 0.3, closest=closest, reduction="none")
    minimised, mean = loss(SCORES)
    assert float(minimised) == pytest.approx(float(total(rows)), rel=1e-5)
    assert float(mean) == pytest.approx(float(np.mean(rows)), rel=1e-5)


def test_each_loss_that_a_configuration_accepts_has_a_function():
    accepted = TrainConfig.__dataclass_fields__["loss"].metadata["accepted"]
    assert sorted(ours.LOSSES) == sorted(accepted)


def test_a_loss_without_a_function_is_refused_by_name():
    config = TrainConfig()
    object.__setattr__(config, "loss", "contrastive")
    with pytest.raises(ArgumentError) as error:
        make_loss(config)
    assert "contrastive" in str(error.value) and "ranking" in str(error.value)


@pytest.mark.parametrize("edition", [2022, 2023])
def test_the_loss_of_equal_vectors_is_twice_the_margin(edition):
    loss = make_loss(TrainConfig(edition=edition, margin=0.3))
    # All vectors, but for rounding.
    equal = 1 + 1e-7 * np.random.RandomState(0).randn(64, 64)
    assert float(loss(equal)[1]) == pytest.approx(2 * 0.3, abs=1e-2)


def test_a_batch_that_does_not_divide_names_one_that_does():
    mesh = jax.sharding.Mesh(np.array(jax.devices() * 4), ("batch",))
    with pytest.raises(ArgumentError) as error:
        steps.to_device((tokens(6, 5), tokens(6, 5)), 40, mesh)
    assert "8" in str(error.value)


def three_losses():
    rows = np.random.RandomState(0).randint(2, 30, (2, 40, 5)).tolist()
    batches = batches_of(rows, 8, pair_batch_size=8)
    optimizer = make_optimizer(BEST, 100)
    lstm = LstmConfig(40, 4, mask_padding=True)
    network = lstm_network(lstm, mesh=steps.device_mesh())
    step = make_step(network, make_loss(BEST), optimizer)
    state = initial_state(init(jax.random.key(1), lstm, "forget_gate"), optimizer)
    losses = []
    for _ in range(3):
        state, metrics = step(state, next(batches))
        losses.append(float(metrics["loss"]))
    return losses


@pytest.mark.slow
def test_several_devices_give_the_same_losses():
    code = "import siamese, jax, test_step as t; print(jax.device_count(), *t.three_losses())"
    out = on_four_devices(code).stdout
    devices, *losses = map(float, out.splitlines()[-1].split())
    assert devices == 4
    assert_allclose(losses, three_losses(), rtol=1e-5)
