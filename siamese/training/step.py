"""One training step in one XLA program: loss, gradients, Adam, new weights and new slots.

Trax's trainer writes weights and slots to fresh memory at every step. Here the optimizer's slots, which
nobody but the trainer holds, are donated: XLA writes the new ones in their place. The weights stay valid:
`model.weights` may be held by anyone.

The distinct words of a batch are sought here, on the host: the model computes once for each of them what
it would compute at each of their places (`siamese.nn.lstm`).

The embedding's gradient is zero but for the rows of those words. So the model is given these rows alone,
as a small embedding. Adam moves every row, because the moments of absent words decay; the zeros are neither
written nor read. Lazy Adam (the LazyAdam of TensorFlow Addons, PyTorch's SparseAdam) moves only the rows of
the batch's words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import trax
from trax import fastmath

from siamese.errors import ArgumentError
from siamese.nn.tower import PAD, UNKNOWN, Words
from siamese.training import devices

# Of no more words a batch names all: one shape, where compiling more would take longer than it saves.
SMALL_VOCABULARY = 4096


def update_step(
    trainer,
    lazy_adam: bool = False,
    embedding_rate: float = 1.0,
    embedding_pull: float = 0.0,
    mesh: jax.sharding.Mesh | None = None,
) -> Callable:
    """The step that `trax.optimizers.Trainer` runs, compiled anew.

    Args:
      trainer: a `trax.optimizers.Trainer` of one device.
      lazy_adam: move only the embedding rows of the batch's words. The weights are then donated too:
        arrays taken from ``model.weights`` are gone after the next step, so copy what is to be kept.
      embedding_rate: the model's first weights, an embedding, move so many times as far as Adam says.
      embedding_pull: its rows' mean squared length times this is part of the loss that is minimised (and
        not of the one reported): what a rare word has learned fades where nothing confirms it.
      mesh: the devices that share each batch, see `siamese.training.devices`.

    Returns:
      ((weights, slots), step, opt_params, batch, state, rng) -> ((weights, slots), state, stats).

    Raises:
      ArgumentError: lazy_adam with another optimizer than Adam, with clipped gradients, or with another
        model than `Siamese`'s.
    """
    by_rows = _moves_rows(trainer)
    if lazy_adam and not by_rows:
        raise ArgumentError(_why_not_lazy(trainer))
    # Trax's own takes the norms by `vdot`, which XLA runs on one core.
    trainer.optimizer._l2_norm = _l2_norm
    update = partial(_update, embedding_rate, embedding_pull)
    if lazy_adam or (by_rows and embedding_rate == 1 and not embedding_pull):
        update = partial(_update_rows, lazy_adam)
    update = partial(update, trainer._forward_and_backward_fn, trainer.optimizer)
    # Slots before weights, in and out: JAX pairs donated arrays and results of one shape by their order.
    # Embedding and moments have one shape, and a moment in the embedding's place would have to be copied.
    compiled = jax.jit(update, donate_argnums=(0, 1) if lazy_adam else (0,))

    takes_words = getattr(trainer.model_with_loss.sublayers[0], "takes_words", False)

    def run(weights_and_slots, step, opt_params, batch, state, rng):
        weights, slots = weights_and_slots
        if takes_words:
            vocab_size = fastmath.tree_flatten(weights)[0].shape[0]
            batch = (*words_of([np.asarray(q) for q in batch[:2]], vocab_size), *batch[2:])
        batch = devices.shard_batch(mesh, batch)
        slots, weights, state, stats = compiled(slots, weights, step, opt_params, batch, state, rng)
        return (weights, slots), state, stats

    return run


def words_of(batches: list[np.ndarray], vocab_size: int) -> list[Words]:
    """The batches by the distinct words of all of them together.

    Args:
      batches: int [batch, length] each; as in a look-up, a number beyond the vocabulary is its last word.
      vocab_size: how many words there are.

    Returns:
      `Words` for each, with the same words. Their number is filled up to 256, 384, 512, 768, 1024, ...,
      with vocab_size, which is no word: few shapes to compile, a function of the batches alone; up to
      `SMALL_VOCABULARY` words a function of vocab_size.

    Example:
      >>> [found] = words_of([np.array([[7, 5, 1]])], 40)
      >>> found.places.tolist(), found.words[:5].tolist(), len(found.words)
      ([[3, 2, 1]], [0, 1, 5, 7, 40], 256)
    """
    batches = [np.clip(batch, 0, vocab_size - 1) for batch in batches]
    present = np.zeros(max(vocab_size, PAD + 1), bool)
    present[[UNKNOWN, PAD]] = True
    for batch in batches:
        present[batch] = True
    found = np.flatnonzero(present)
    needed = vocab_size if vocab_size <= SMALL_VOCABULARY else len(found)
    size = 256
    while size < needed:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    words = np.full(size, vocab_size, np.int32)
    words[: len(found)] = found
    place = np.cumsum(present, dtype=np.int32) - 1
    return [Words(words, place[batch]) for batch in batches]


def _l2_norm(arrays):
    return jnp.sqrt(sum(jnp.sum(array * array) for array in arrays))


def _update(rate, pull, gradient, optimizer, slots, weights, step, opt_params, batch, state, rng):
    (loss, state), gradients = gradient(batch, weights, state, rng)
    before = fastmath.tree_flatten(weights)[0]
    if pull:
        first, *others = fastmath.tree_flatten(gradients)
        first = first + (2 * pull / len(before)) * before
        gradients, _ = fastmath.tree_unflatten([first, *others], gradients)
    weights, slots, stats = optimizer.tree_update(
        step, gradients, weights, slots, opt_params, store_slots=False
    )
    if rate != 1:
        embedding, *others = fastmath.tree_flatten(weights)
        embedding = before + rate * (embedding - before)
        weights, _ = fastmath.tree_unflatten([embedding, *others], weights)
    return slots, weights, state, {**stats, "loss": loss}


def _update_rows(lazy, gradient, optimizer, slots, weights, step, opt_params, batch, state, rng):
    """The model sees a small embedding of the batch's words; its gradient is as small."""
    embedding, *others = fastmath.tree_flatten(weights)
    words = batch[0].words
    small = _rows(embedding, words)
    small_weights, _ = fastmath.tree_unflatten([small, *others], weights)
    numbers = jnp.arange(len(words), dtype=jnp.int32)
    small_batch = (*(Words(numbers, q.places) for q in batch[:2]), *batch[2:])

    (loss, state), gradients = gradient(small_batch, small_weights, state, rng)
    small_gradient, *other_gradients = fastmath.tree_flatten(gradients)
    stats = {"gradients_l2": _l2_norm([small_gradient, *other_gradients]), "loss": loss}
    if lazy:
        found = small, tuple(_rows(slot, words) for slot in slots[0])
        moved, moved_slots = optimizer.update(step, small_gradient, *found, opt_params)

        def put(whole, rows):  # What fills the words up is beyond the end, and dropped.
            return whole.at[words].set(rows, mode="drop")

        first = put(embedding, moved), tuple(map(put, slots[0], moved_slots))
    else:
        stats["weights_l2"] = _l2_norm([embedding, *others])
        # Each row looks its gradient up inside XLA's loop for Adam: that of the whole is never stored.
        place = jnp.full(len(embedding), len(words)).at[words].set(numbers, mode="drop")
        whole = jnp.take(small_gradient, place, axis=0, mode="fill", fill_value=0)
        first = optimizer.update(step, whole, embedding, slots[0], opt_params)
    updated = [first] + [
        optimizer.update(step, *given, opt_params)
        for given in zip(other_gradients, others, slots[1:], strict=True)
    ]
    moved, slots = zip(*updated)
    weights, _ = fastmath.tree_unflatten(moved, weights)
    return slots, weights, state, stats


def _rows(whole, words):
    return jnp.take(whole, words, axis=0, mode="clip")


def _moves_rows(trainer) -> bool:
    """Whether Adam alone moves an embedding of which a batch's words can be taken by themselves."""
    optimizer, model = trainer.optimizer, trainer.model_with_loss.sublayers[0]
    is_adam = isinstance(optimizer, trax.optimizers.adam.Adam)
    return is_adam and optimizer._clip_grad_norm is None and getattr(model, "takes_rows", False)


def _why_not_lazy(trainer) -> str:
    model = trainer.model_with_loss.sublayers[0]
    if getattr(model, "takes_rows", False):
        return (
            "lazy_adam needs trax.optimizers.Adam without clip_grad_norm; the optimizer is "
            f"{type(trainer.optimizer).__name__}."
        )
    return (
        "lazy_adam needs a model that Siamese has made, with fast=True and without static vectors; it "
        f"was given a {type(model).__name__}."
    )
