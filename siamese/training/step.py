"""One training step as a function of its state: step(state, batch) -> state, metrics.

The distinct words of a batch are found on the host: the LSTM computes once for each
word what it would compute at each of its places (`siamese.nn.recurrence`). Only these words'
rows of the embedding have a gradient, so the loss sees them alone, as a small
embedding. Adam moves every row, because the moments of absent words decay; XLA looks
each row's gradient up inside Adam's loop, and the zeros are never stored.

Several devices: the weights are copied to each one and the batch's rows are spread over
them. XLA's partitioner sees one program over the whole batch, so the loss has the
negatives of the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax

from siamese.errors import ArgumentError
from siamese.nn.arrays import Array
from siamese.nn.lstm import PAD, UNKNOWN, Dropout, LstmConfig, Words, encode
from siamese.training.config import TrainConfig
from siamese.training.losses import Loss

WEIGHT_DECAY = 1e-5  # Trax's Adam multiplies each weight by 1 minus this at every step.
# With no more words a batch names all: one shape, where compiling more would take
# longer than it saves.
SMALL_VOCABULARY = 4096


Weights: TypeAlias = dict[str, jax.Array]  # see `siamese.nn.lstm`


class State(NamedTuple):
    """What training changes; with the position in the batches it is all that a resumed run needs."""

    step: Array  # int32, the steps done
    weights: Weights
    moments: optax.OptState  # the optimizer's state


class Batch(NamedTuple):
    """A batch as the compiled step takes it."""

    words: Array  # int32 [words], see `words_of`; empty for a head
    # int32 [2 * (batch + pairs), length]: the first questions of the duplicates and of
    # the labelled pairs, then the second ones. For a head an encoder's vectors of them,
    # float32 [2 * (batch + pairs), d].
    places: Array
    false_negative_mask: Array | None = None  # bool [batch, batch]
    is_duplicate: Array | None = None  # int32 [pairs]


def make_optimizer(
    config: TrainConfig, total_steps: int
) -> optax.GradientTransformation:
    """Trax's Adam: with weight decay that the learning rate does not scale, see `learning_rate`."""
    return optax.chain(
        optax.scale_by_adam(eps=config.adam_epsilon),
        optax.scale_by_learning_rate(partial(learning_rate, config, total_steps)),
        optax.add_decayed_weights(-WEIGHT_DECAY),
    )


def learning_rate(config: TrainConfig, total_steps: int, step: Array) -> jax.Array:
    """The learning rate of a step, counted from 1.

    'rsqrt' is the course's: it rises in a line during the warm-up and then falls with
    1/sqrt(step). 'linear' falls in a line to zero, which it would reach one step after
    the run's last.
    """
    if config.schedule == "rsqrt":
        full = config.warmup_steps + 1  # as Trax counts
        up = step / full
        down = jnp.sqrt(full / jnp.maximum(step, full))
    else:
        left = total_steps + 1
        up = step / max(config.warmup_steps, 1)
        down = jnp.maximum(0.0, (left - step) / max(left - config.warmup_steps, 1))
    return config.learning_rate * jnp.minimum(up, down)


def initial_state(
    weights: Mapping[str, Array], optimizer: optax.GradientTransformation
) -> State:
    """The state before the first step."""
    # Trax counts the first step as 1 and corrects Adam's moments as in the second.
    moments = optax.tree.set(optimizer.init(weights), count=np.int32(1))
    # Copies: a step uses its state's arrays up.
    return State(
        np.array(0, np.int32),
        {name: jnp.array(a) for name, a in weights.items()},
        moments,
    )


class Network(NamedTuple):
    """What trains, as functions of its weights, name -> array, and of a `Batch`."""

    to_device: Callable[[tuple], Batch]  # a batch of questions
    # Of the seen weights, a batch and a JAX random key (None: no dropout): the vectors
    # of its questions, float32 [2 * (batch + pairs), d], in the order of its places.
    vectors: Callable[[Weights, Batch, jax.Array | None], jax.Array]
    # The weights that the vectors of a batch depend on, and their gradients as those of
    # all weights.
    seen: Callable[[Weights, Batch], Weights] = lambda weights, _: weights
    whole: Callable[[Weights, Weights, Batch], Weights] = lambda gradients, *_: (
        gradients
    )


def lstm_network(
    lstm: LstmConfig,
    dropout: Dropout | None = None,
    mesh: jax.sharding.Mesh | None = None,
) -> Network:
    """An LSTM; `mesh` has the devices that share each batch, see `device_mesh`."""

    def seen(weights: Weights, batch: Batch) -> Weights:
        # [words, d_model]
        rows = jnp.take(weights["embedding"], batch.words, axis=0, mode="clip")
        return {**weights, "embedding": rows}

    def vectors(weights: Weights, batch: Batch, key: jax.Array | None) -> jax.Array:
        numbers = jnp.arange(len(batch.words), dtype=jnp.int32)
        rates = None if key is None else dropout
        return encode(weights, Words(numbers, batch.places), lstm, rates, key)

    def whole(gradients: Weights, weights: Weights, batch: Batch) -> Weights:
        # The place of each row's gradient; behind the end for rows of absent words,
        # whose gradient is 0.
        count = len(batch.words)
        place = jnp.full(len(weights["embedding"]), count)
        place = place.at[batch.words].set(
            jnp.arange(count, dtype=jnp.int32), mode="drop"
        )
        rows = jnp.take(
            gradients["embedding"], place, axis=0, mode="fill", fill_value=0
        )
        return {**gradients, "embedding": rows}

    return Network(
        lambda batch: to_device(batch, lstm.vocab_size, mesh), vectors, seen, whole
    )


def make_step(
    network: Network,
    loss: Loss,
    optimizer: optax.GradientTransformation,
    *,
    seed: int = 0,
) -> Callable[[State, tuple], tuple[State, dict[str, jax.Array]]]:
    """step(state, batch) -> (state, metrics), compiled once for each shape of batch.

    The given state is used up. A batch is (q1, q2), int32 [batch, length] each, or a
    `PairBatches`' batch; the metric is the mean loss a pair, a JAX number. The dropout
    draws from the seed and the step's number alone. For the loss see
    `siamese.training.losses.make_loss`.
    """

    @partial(jax.jit, donate_argnums=0)
    def train_step(state: State, batch: Batch) -> tuple[State, dict[str, jax.Array]]:
        key = jax.random.fold_in(jax.random.key(seed), state.step)

        def loss_of(weights: Weights) -> tuple[jax.Array, jax.Array]:
            return batch_loss(loss, network.vectors(weights, batch, key), batch)

        seen = network.seen(state.weights, batch)
        (_, mean), gradients = jax.value_and_grad(loss_of, has_aux=True)(seen)
        gradients = network.whole(gradients, state.weights, batch)
        updates, moments = optimizer.update(gradients, state.moments, state.weights)
        weights = optax.apply_updates(state.weights, updates)
        return State(state.step + 1, weights, moments), {"loss": mean}

    return lambda state, batch: train_step(state, network.to_device(batch))


def make_evaluation(
    network: Network, loss: Loss
) -> Callable[[Weights, tuple], jax.Array]:
    """evaluate(weights, batch) -> the mean loss a pair, without dropout."""

    @jax.jit
    def evaluate(weights: Weights, batch: Batch) -> jax.Array:
        vectors = network.vectors(network.seen(weights, batch), batch, None)
        return batch_loss(loss, vectors, batch)[1]

    return lambda weights, batch: evaluate(weights, network.to_device(batch))


def batch_loss(
    loss: Loss, vectors: jax.Array, batch: Batch
) -> tuple[jax.Array, jax.Array]:
    """The loss of a batch's vectors, float32 [2 * (batch + pairs), d], in the order of its places."""
    first, second = jnp.split(vectors, 2)
    pairs = 0 if batch.is_duplicate is None else len(batch.is_duplicate)
    v1 = first[: len(first) - pairs]  # [batch, d]
    v2 = second[: len(second) - pairs]
    # Accelerators multiply float32 in fewer bits unless told otherwise; the loss must
    # not drift.
    scores = jnp.matmul(v1, v2.T, precision="highest")  # [batch, batch]
    if not pairs:
        return loss(scores, batch.false_negative_mask)
    cosines = jnp.sum(first[-pairs:] * second[-pairs:], axis=-1)  # [pairs]
    return loss(scores, batch.false_negative_mask, cosines, batch.is_duplicate)


def to_device(
    batch: tuple, vocab_size: int, mesh: jax.sharding.Mesh | None = None
) -> Batch:
    """A batch of questions as a `Batch`; with a mesh its rows are spread over the devices.

    ArgumentError where it does not divide by their number: to cut or fill it would
    change the loss.
    """
    sides, other_arrays = sides_of(batch)
    length = max(side.shape[1] for side in sides)
    padded = [
        np.pad(side, ((0, 0), (0, length - side.shape[1])), constant_values=PAD)
        for side in sides
    ]
    tokens = np.concatenate(padded)
    words, places = words_of(tokens, vocab_size)
    result = Batch(words, places, **other_arrays)
    if mesh is None:
        return result
    pairs = len(sides[0])
    count = mesh.devices.size
    if pairs % count or len(tokens) // 2 % count:
        raise ArgumentError(
            f"A batch of {pairs} pairs does not divide by {count} devices. "
            f"Use a batch size of {-(-pairs // count) * count}."
        )
    by_row = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    copied = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    spread = jax.device_put(result, by_row)  # None stays None.
    return spread._replace(words=jax.device_put(words, copied))


def sides_of(batch: tuple) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """A batch's questions in the order of a `Batch`, and its other arrays by name."""
    fields = getattr(batch, "_fields", ("q1", "q2"))
    arrays = dict(zip(fields, map(np.asarray, batch)))
    names = ("q1", "labelled_q1", "q2", "labelled_q2")
    sides = [arrays.pop(name) for name in names if name in arrays]
    return sides, arrays


def device_mesh() -> jax.sharding.Mesh | None:
    """A one-dimensional mesh over all devices, or None where there is only one."""
    devices = jax.devices()
    if len(devices) == 1:
        return None
    return jax.sharding.Mesh(np.asarray(devices), ("batch",))


def words_of(tokens: np.ndarray, vocab_size: int) -> Words:
    """The distinct words of a batch and the place of each token among them.

    As in a look-up, a token, int [batch, length], beyond the vocabulary is its last
    word. The words are filled up to 256, 384, 512, 768, 1024, ... with vocab_size,
    which is no word: few shapes to compile, a function of the batch alone; up to
    `SMALL_VOCABULARY` words a function of vocab_size.

    Example:
      >>> words = words_of(np.array([[7, 5, 1]]), 40)
      >>> words.places.tolist(), words.words[:5].tolist(), len(words.words)
      ([[3, 2, 1]], [0, 1, 5, 7, 40], 256)
    """
    tokens = np.clip(tokens, 0, vocab_size - 1)
    present = np.zeros(max(vocab_size, PAD + 1), bool)
    present[[UNKNOWN, PAD]] = True
    present[tokens] = True
    distinct = np.flatnonzero(present)
    needed = vocab_size if vocab_size <= SMALL_VOCABULARY else len(distinct)
    size = 256
    while size < needed:
        is_power_of_two = size & (size - 1) == 0
        size = size * 3 // 2 if is_power_of_two else size * 4 // 3
    words = np.full(size, vocab_size, np.int32)
    words[: len(distinct)] = distinct
    return Words(words, (np.cumsum(present, dtype=np.int32) - 1)[tokens])
