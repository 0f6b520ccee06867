"""The LSTM as a pure JAX function on Trax's own weights.

Trax's `tl.LSTM` keeps one kernel [d_in + d_model, 4 * d_model], gates in the order input, candidate,
forget, output, and the forget bias inside the bias (Hochreiter & Schmidhuber, 1997, with the forget gate
of Gers et al., 2000)::

    i, j, f, o = split([x_t, h] @ kernel + bias)
    c = c * sigmoid(f) + sigmoid(i) * tanh(j)
    h = sigmoid(o) * tanh(c)

What was tried to make it quick, and what each form takes, is in benchmarks/lstm_forms.py. Two things
pay on a CPU: two products, ``x_t @ Wx + h @ Wh``, inside the step instead of one of a concatenation; and
pooling inside the step, so that the states [batch, length, d_model] are never written.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from siamese.errors import ArgumentError, ShapeError

POOLINGS = ("mean", "max")


def lstm(kernel, bias, x, mask=None, *, reverse: bool = False):
    """All states of an LSTM over a batch of sequences, from a zero state.

    Args:
      kernel: float [d_in + d_model, 4 * d_model], as in Trax.
      bias: float [4 * d_model], the forget bias included.
      x: float [batch, length, d_in].
      mask: None, or bool [batch, length]; where False the state does not advance.
      reverse: run from the last position to the first; state t has then seen positions t and later.

    Returns:
      float [batch, length, d_model]: the output h at each position.

    Raises:
      ShapeError: shapes that do not go together; the message names them.

    Example:
      >>> lstm(jnp.zeros((5, 8)), jnp.zeros(8), jnp.ones((1, 4, 3))).shape
      (1, 4, 2)
    """
    step, start, sequence = _setup(kernel, bias, x, mask)

    def outputs(state, inputs):
        state = step(state, inputs)
        return state, state[0]

    _, states = lax.scan(outputs, start, sequence, reverse=reverse)  # [length, batch, d_model]
    return states.swapaxes(0, 1)


def lstm_pooled(kernel, bias, x, mask=None, *, pooling: str = "mean", reverse: bool = False):
    """The mean or maximum of an LSTM's states over the positions, without keeping the states.

    Args:
      kernel: as for `lstm`.
      bias: as for `lstm`.
      x: as for `lstm`.
      mask: None pools over all positions; bool [batch, length] over those that are True.
      pooling: 'mean' or 'max'.
      reverse: as for `lstm`.

    Returns:
      float [batch, d_model]; zero for a row without any True position.

    Raises:
      ShapeError: as `lstm`.
      ArgumentError: another pooling.
    """
    if pooling not in POOLINGS:
        raise ArgumentError(f"pooling must be one of {', '.join(POOLINGS)}; it is {pooling!r}.")
    step, start, sequence = _setup(kernel, bias, x, mask)
    lowest = jnp.full_like(start[0], -2.0)  # Below any output: sigmoid * tanh lies within -1 and 1.
    pooled = jnp.zeros_like(start[0]) if pooling == "mean" else lowest

    def pool(carry, inputs):
        state, pooled = carry
        state = step(state, inputs)
        h = state[0]
        if pooling == "mean":
            return (state, pooled + (h if mask is None else jnp.where(inputs[1], h, 0))), None
        taken = h if mask is None else jnp.where(inputs[1], h, lowest)
        return (state, jnp.maximum(pooled, taken)), None

    (_, pooled), _ = lax.scan(pool, (start, pooled), sequence, reverse=reverse)
    if mask is None:
        return pooled / x.shape[1] if pooling == "mean" else pooled
    count = mask.sum(axis=1, keepdims=True).astype(x.dtype)
    if pooling == "mean":
        return pooled / jnp.maximum(count, 1)
    return jnp.where(count > 0, pooled, 0)


def _setup(kernel, bias, x, mask):
    """The step (state, inputs) -> state, the zero state, and the time-major inputs."""
    d_model = kernel.shape[-1] // 4
    d_in = kernel.shape[0] - d_model
    if x.ndim != 3 or x.shape[-1] != d_in or bias.shape != (4 * d_model,):
        raise ShapeError(
            f"An LSTM with kernel {kernel.shape} and bias {bias.shape} takes x of shape "
            f"[batch, length, {d_in}] and a bias of shape ({4 * d_model},); x has shape {x.shape}."
        )
    if mask is not None and mask.shape != x.shape[:2]:
        raise ShapeError(f"mask must have shape {x.shape[:2]}, as x; it has {mask.shape}.")
    wx, wh = kernel[:d_in], kernel[d_in:]

    def step(state, inputs):
        h, c = state
        z = inputs[0] @ wx + h @ wh + bias  # [batch, 4 * d_model]
        i, j, f, o = jnp.split(z, 4, axis=-1)
        c_new = c * jax.nn.sigmoid(f) + jax.nn.sigmoid(i) * jnp.tanh(j)
        h_new = jax.nn.sigmoid(o) * jnp.tanh(c_new)
        if mask is None:
            return h_new, c_new
        return jnp.where(inputs[1], h_new, h), jnp.where(inputs[1], c_new, c)

    zero = jnp.zeros((x.shape[0], d_model), x.dtype)
    time_major = x.swapaxes(0, 1)  # [length, batch, d_in]
    if mask is None:
        return step, (zero, zero), (time_major,)
    return step, (zero, zero), (time_major, mask.T[:, :, None])
