"""The head: one square matrix over a frozen encoder's vectors, a siamese network of one linear layer.

A question's vector is ``h = M e / |M e|``, where `e` is the encoder's vector of length 1, computed once,
and M starts as the identity. Many labels train it as they train an LSTM, by the ranking loss with a loss of
labelled pairs beside it (`siamese.training.losses`). On fewer than `MANY` labels the loss of labelled pairs
alone does it, with a slope and a centre that are learned, and M is pulled towards the identity::

    mean over pairs of log(1 + exp(-s_k * slope * (c_k - centre))) + PULL * |M - I|^2,  s_k = 1 or -1

Where all labels are yes ("closed as a duplicate of"), each first question looks for its
second one among the other pairs' and among questions drawn from a list, less those that
are known duplicates of it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

from siamese.nn.arrays import Array
from siamese.training.losses import PAIR_TEMPERATURE, TEMPERATURE
from siamese.training.step import Batch, Network, Weights, sides_of

# Chosen by cross-validation over the forum's training queries and by Quora's validation
# rows.
MANY = 5_000  # labels
PULL = 0.03
STEPS = 300
BATCH = 128
LEARNING_RATE = 1e-3
DROPOUT = 0.1
DRAWN = 512  # questions of the list that are no answer, a step


def head_vectors(
    matrix: Array, vectors: Array, dropout: float = 0.0, key: jax.Array | None = None
) -> jax.Array:
    """The head's vectors, float32 [n, d] of length 1, of an encoder's; some numbers dropped by the key."""
    if dropout and key is not None:
        stays = jax.random.bernoulli(key, 1 - dropout, vectors.shape)
        vectors = vectors * stays / (1 - dropout)
    products = jnp.matmul(vectors, matrix, precision="highest")
    lengths = jnp.sqrt(jnp.maximum(jnp.sum(products**2, axis=-1, keepdims=True), 1e-12))
    return products / lengths


# ---- Many labels: a run of `siamese.training.run` ----


def head_network(vectors: np.ndarray, dropout: float) -> Network:
    """A head, to train as an LSTM is trained; the questions of a batch are rows of `vectors`.

    These are the encoder's, float32 [questions, d]; `dropout` is the share of their
    numbers set to zero.
    """

    def to_device(batch: tuple) -> Batch:
        sides, other_arrays = sides_of(batch)
        rows = np.concatenate(sides)[:, 0]
        return Batch(np.zeros(0, np.int32), vectors[rows], **other_arrays)

    def vectors_of(weights: Weights, batch: Batch, key: jax.Array | None) -> jax.Array:
        return head_vectors(weights["head"], batch.places, dropout, key)

    return Network(to_device, vectors_of)


# ---- Few labels: some hundred steps, in seconds ----


def fit_head(
    vectors: np.ndarray,  # the encoder's of all questions, those of a list among them, float32 [m, d]
    rows: np.ndarray,  # int64 [n, 2]: each pair's two questions
    labels: np.ndarray,  # bool [n]
    groups: np.ndarray | None = None,  # of links, int [m]: known duplicates share one
    *,
    start: np.ndarray
    | None = None,  # the matrix to go on from; the identity where None
    seed: int = 0,  # of the batches and of the dropout
) -> np.ndarray:
    """The matrix of a head, float32 [d, d], of at most some thousand labelled pairs; it stays near `start`.

    With `groups` each first question looks for its second one among the questions of
    other groups.
    """
    matrix = np.eye(vectors.shape[1], dtype=np.float32) if start is None else start
    one, two = rows.T
    weights = {
        "head": jnp.asarray(matrix),
        "slope": jnp.asarray(np.float32(1 / PAIR_TEMPERATURE)),
        "centre": jnp.asarray(np.float32(np.vecdot(vectors[one], vectors[two]).mean())),
    }
    moments = optax.adam(LEARNING_RATE).init(weights)
    draw = np.random.default_rng([seed, len(labels)])
    for step in range(STEPS):
        batch = draw.choice(len(labels), min(BATCH, len(labels)), replace=False)
        one, two = rows[batch].T
        known = None
        if groups is not None:
            two = np.concatenate([two, draw.integers(len(vectors), size=DRAWN)])
            known = groups[one][:, None] == groups[two]  # [n, n + DRAWN]
            np.fill_diagonal(known, False)
        key = jax.random.fold_in(jax.random.key(seed), step)
        weights, moments = _step(
            weights,
            moments,
            matrix,
            vectors[one],
            vectors[two],
            labels[batch],
            known,
            key,
        )
    return np.asarray(weights["head"])


@jax.jit
def _step(
    weights: Weights,
    moments: optax.OptState,
    matrix: Array,
    one: Array,
    two: Array,
    is_duplicate: Array,
    known: Array | None,
    key: jax.Array,
) -> tuple[Weights, optax.OptState]:
    """One step of Adam on pairs, [n, d] each; of links also drawn questions, behind the second ones.

    `known` is None, or for links bool [n, n + drawn]: True where another answer is
    known too.
    """

    def loss_of(weights: Weights) -> jax.Array:
        heads = head_vectors(weights["head"], jnp.concatenate([one, two]), DROPOUT, key)
        first = heads[: len(one)]
        second = heads[len(one) :]
        if known is not None:
            cosines = jnp.matmul(first, second.T, precision="highest")
            logits = jnp.where(known, -jnp.inf, cosines / TEMPERATURE)
            losses = optax.softmax_cross_entropy_with_integer_labels(
                logits, jnp.arange(len(one))
            )
        else:
            cosines = jnp.sum(first * second, axis=-1)
            logits = weights["slope"] * (cosines - weights["centre"])
            losses = optax.sigmoid_binary_cross_entropy(
                logits, is_duplicate.astype(np.float32)
            )
        return jnp.mean(losses) + PULL * jnp.sum((weights["head"] - matrix) ** 2)

    gradients = jax.grad(loss_of)(weights)
    updates, moments = optax.adam(LEARNING_RATE).update(gradients, moments)
    return optax.apply_updates(weights, updates), moments
