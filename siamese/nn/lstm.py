"""The mean of an LSTM's states as a pure JAX function on Trax's own weights.

Trax's `tl.LSTM` keeps one kernel [d_in + d_model, 4 * d_model], gates in the order input, candidate,
forget, output, and the forget bias inside the bias (Hochreiter & Schmidhuber, 1997, with the forget gate
of Gers et al., 2000)::

    i, j, f, o = split([x_t, h] @ kernel + bias)
    c = c * sigmoid(f) + sigmoid(i) * tanh(j)
    h = sigmoid(o) * tanh(c)

Three things make it quick on a CPU (benchmarks/lstm_forms.py): the mean taken inside the step, so that the
states are never written; a backward pass of our own, which keeps gates and ``[x_t, h]`` and adds up the
kernel's gradient as it goes; and in it a transposition apart, because XLA's fast products take none.

Where x is bfloat16 the products are too; the cell, the mean and the gradients' sums stay float32.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from siamese.errors import ShapeError


def lstm_mean(kernel, bias, x, mask=None, *, reverse: bool = False):
    """The mean of an LSTM's states over the positions of a batch of sequences, from a zero state.

    Args:
      kernel: float [d_in + d_model, 4 * d_model], as in Trax.
      bias: float [4 * d_model], the forget bias included.
      x: float [batch, length, d_in].
      mask: None, or bool [batch, length]; where False the state does not advance and does not count.
      reverse: run from the last position to the first.

    Returns:
      float [batch, d_model]; zero for a row without any unmasked position.

    Raises:
      ShapeError: shapes that do not go together; the message names them.

    Example:
      >>> lstm_mean(jnp.zeros((5, 8)), jnp.zeros(8), jnp.ones((1, 4, 3))).shape
      (1, 2)
    """
    d_model = kernel.shape[-1] // 4
    d_in = kernel.shape[0] - d_model
    if x.ndim != 3 or x.shape[-1] != d_in or bias.shape != (4 * d_model,):
        raise ShapeError(
            f"An LSTM with kernel {kernel.shape} and bias {bias.shape} takes x of shape "
            f"[batch, length, {d_in}] and a bias of shape ({4 * d_model},); x has shape {x.shape}."
        )
    x = x.swapaxes(0, 1)  # [length, batch, d_in]
    if mask is None:
        return _sum(reverse, kernel, bias, x, None) / len(x)
    if mask.shape != x.shape[1::-1]:
        raise ShapeError(f"mask must have shape {x.shape[1::-1]}, as x; it has {mask.shape}.")
    total = _sum(reverse, kernel, bias, x, jnp.asarray(mask).T[:, :, None])
    return total / jnp.maximum(mask.sum(axis=1, keepdims=True), 1).astype(total.dtype)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sum(reverse, kernel, bias, x, mask):
    """The states' sum, [batch, d_model]; x is [length, batch, d_in] here, the mask [length, batch, 1]."""
    return _forward(reverse, kernel, bias, x, mask, keep=False)[0]


def _forward(reverse, kernel, bias, x, mask, keep=True):
    d_model = kernel.shape[1] // 4
    exact = jnp.promote_types(x.dtype, jnp.float32)  # What sums are kept in.
    weights = jnp.asarray(kernel, x.dtype)

    def step(carry, inputs):
        h, c, total = carry
        x_t, mask_t = inputs
        xh = jnp.concatenate([x_t, h], axis=-1)  # [batch, d_in + d_model]
        z = jnp.matmul(xh, weights, preferred_element_type=exact) + bias  # [batch, 4 * d_model]
        i, j, f, o = jnp.split(z, 4, axis=-1)
        i, j, f, o = _sigmoid(i), jnp.tanh(j), _sigmoid(f), _sigmoid(o)
        c_new = c * f + i * j
        h_new = o * jnp.tanh(c_new)
        kept = tuple(a.astype(x.dtype) for a in (i, j, f, o, c, xh)) if keep else None
        if mask is None:
            total = total + h_new
        else:
            total = total + jnp.where(mask_t, h_new, 0)
            h_new, c_new = jnp.where(mask_t, h_new, h), jnp.where(mask_t, c_new, c)
        return (h_new.astype(x.dtype), c_new, total), kept

    zero = jnp.zeros((x.shape[1], d_model), exact)
    start = (zero.astype(x.dtype), zero, zero)
    (_, _, total), kept = lax.scan(step, start, (x, mask), reverse=reverse)
    return total, (kept, kernel, bias, mask)


def _backward(reverse, saved, d_total):
    """Gradients of kernel, bias and x, from that of the sum."""
    kept, kernel, bias, mask = saved
    d_model = kernel.shape[1] // 4
    d_in = kernel.shape[0] - d_model
    dtype = kept[0].dtype  # That of x.
    exact = jnp.promote_types(dtype, jnp.float32)
    product = partial(jnp.matmul, preferred_element_type=exact)
    back = jnp.asarray(kernel, dtype).T

    def step(carry, inputs):
        dh, dc, d_kernel, d_bias = carry
        (*gates_and_state, xh), mask_t = inputs
        i, j, f, o, c = (a.astype(exact) for a in gates_and_state)
        if mask is None:
            dh = dh + d_total
        else:
            # A masked position hands its state on, and so its gradient.
            before = jnp.where(mask_t, 0, dh), jnp.where(mask_t, 0, dc)
            dh, dc = jnp.where(mask_t, dh + d_total, 0), jnp.where(mask_t, dc, 0)
        tanh_c = jnp.tanh(c * f + i * j)
        dc = dc + dh * o * (1 - tanh_c * tanh_c)
        dz = jnp.concatenate(
            [
                dc * j * i * (1 - i),
                dc * i * (1 - j * j),
                dc * c * f * (1 - f),
                dh * tanh_c * o * (1 - o),
            ],
            axis=-1,
        )  # [batch, 4 * d_model]
        d_bias = d_bias + dz.sum(axis=0)
        dz = dz.astype(dtype)
        d_input = product(dz, back)  # [batch, d_in + d_model]
        # The barrier keeps the transposition apart: folded into the product it takes a slower routine.
        d_kernel = d_kernel + product(lax.optimization_barrier(xh.T), dz)
        dh, dc = d_input[:, d_in:], dc * f
        if mask is not None:
            dh, dc = dh + before[0], dc + before[1]
        return (dh, dc, d_kernel, d_bias), d_input[:, :d_in].astype(dtype)

    zero = jnp.zeros(kept[0].shape[1:], exact)
    start = (zero, zero, jnp.zeros(kernel.shape, exact), jnp.zeros(bias.shape, exact))
    (_, _, d_kernel, d_bias), dx = lax.scan(step, start, (kept, mask), reverse=not reverse)
    return d_kernel.astype(kernel.dtype), d_bias.astype(bias.dtype), dx, None


_sum.defvjp(_forward, _backward)


def _sigmoid(x):
    """1 / (1 + exp(-x)); XLA's tanh takes less time on a CPU than its exp and a division."""
    return 0.5 * jnp.tanh(0.5 * x) + 0.5
