"""The mean of an LSTM's states as a pure JAX function on Trax's own weights.

Trax's `tl.LSTM` keeps one kernel [d_in + d_model, 4 * d_model], gates in the order input, candidate,
forget, output, and the forget bias inside the bias (Hochreiter & Schmidhuber, 1997, with the forget gate
of Gers et al., 2000)::

    i, j, f, o = split([x_t, h] @ kernel + bias)
    c = c * sigmoid(f) + sigmoid(i) * tanh(j)
    h = sigmoid(o) * tanh(c)

The input's part of the product, ``x_t @ Wx + bias``, is the same wherever a word stands. A batch of 32,768
positions holds 2,000 to 3,000 different words, so it is computed once a word, and a step looks it up.

The backward pass is our own. Of the forward pass only gates and cells are kept: h is ``o * tanh(c)``. The
gradient of the gates' sums is carried one step on, where it meets that h; so neither is ever stored. And
the mean is taken inside the step. What else was tried: benchmarks/lstm_forms.py.

Where x is bfloat16 the products are too; the cell, the mean and the gradients' sums stay float32.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from siamese.errors import ShapeError


def lstm_mean(kernel, bias, x, places, mask=None, *, reverse: bool = False):
    """The mean of an LSTM's states over the positions of a batch of sequences, from a zero state.

    Args:
      kernel: float [d_in + d_model, 4 * d_model], as in Trax.
      bias: float [4 * d_model], the forget bias included.
      x: float [words, d_in], the vectors of distinct words.
      places: int32 [batch, length], which of them stands where.
      mask: None, or bool [batch, length]; where False the state does not advance and does not count.
      reverse: run from the last position to the first.

    Returns:
      float [batch, d_model]; zero for a row without any unmasked position.

    Raises:
      ShapeError: shapes that do not go together; the message names them.

    Example:
      >>> places = jnp.zeros((1, 4), jnp.int32)
      >>> lstm_mean(jnp.zeros((5, 8)), jnp.zeros(8), jnp.ones((1, 3)), places).shape
      (1, 2)
    """
    return mean_state(kernel, word_products(kernel, bias, x), places, mask, x.dtype, reverse)


def word_products(kernel, bias, x):
    """``x @ Wx + bias``, float32 [words, 4 * d_model], of x and the others as `lstm_mean` takes them."""
    d_in = kernel.shape[0] - kernel.shape[1] // 4
    if x.ndim != 2 or x.shape[1] != d_in or bias.shape != kernel.shape[1:]:
        raise ShapeError(
            f"An LSTM with kernel {kernel.shape} and bias {bias.shape} takes x of shape [words, {d_in}] "
            f"and a bias of shape {kernel.shape[1:]}; x has shape {x.shape}."
        )
    return _product(x, jnp.asarray(kernel[:d_in], x.dtype)) + bias


def mean_state(kernel, products, places, mask=None, dtype=jnp.float32, reverse: bool = False):
    """`lstm_mean` from what `word_products` gives; `dtype` is that of the products inside the steps."""
    d_model = kernel.shape[1] // 4
    if mask is not None and mask.shape != places.shape:
        raise ShapeError(f"mask must have shape {places.shape}, as places; it has {mask.shape}.")
    from_state = jnp.asarray(kernel[-d_model:], dtype)
    if mask is None:
        return _sum(reverse, from_state, products, places.T, None) / places.shape[1]
    total = _sum(reverse, from_state, products, places.T, jnp.asarray(mask).T[:, :, None])
    return total / jnp.maximum(mask.sum(axis=1, keepdims=True), 1).astype(total.dtype)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sum(reverse, kernel, products, places, mask):
    """The states' sum [batch, d]; kernel [d, 4 d], places [length, batch], mask [length, batch, 1]."""
    return _forward(reverse, kernel, products, places, mask, keep=False)[0]


def _forward(reverse, kernel, products, places, mask, keep=True):
    dtype = kernel.dtype

    def step(carry, inputs):
        h, c, o, total = carry
        places_t, mask_t = inputs
        z = products[places_t] + _product(h.astype(dtype), kernel)  # [batch, 4 * d]
        i, j, f, o_new = jnp.split(z, 4, axis=-1)
        i, j, f, o_new = _sigmoid(i), jnp.tanh(j), _sigmoid(f), _sigmoid(o_new)
        c_new = c * f + i * j
        h_new = o_new * jnp.tanh(c_new)
        if mask is None:
            total = total + h_new
        else:
            total = total + jnp.where(mask_t, h_new, 0)
            # A masked position hands all three on: there too h is o * tanh(c).
            h_new, c_new, o_new = (
                jnp.where(mask_t, new, old) for new, old in ((h_new, h), (c_new, c), (o_new, o))
            )
        kept = tuple(a.astype(dtype) for a in (i, j, f, o_new, c)) if keep else None
        return (h_new, c_new, o_new, total), kept

    zero = jnp.zeros((places.shape[1], kernel.shape[0]), products.dtype)
    (*_, total), kept = lax.scan(step, (zero,) * 4, (places, mask), reverse=reverse)
    return total, (kept, kernel, products, places, mask)


def _backward(reverse, saved, d_total):
    """Gradients of kernel and products, from that of the sum."""
    kept, kernel, products, places, mask = saved
    exact, dtype = products.dtype, kernel.dtype
    back = kernel.T

    def step(carry, inputs):
        # dz is the gradient of the gates' sums one step later, which this step's h was part of.
        dz, dh, dc, d_kernel, d_products = carry
        gates_and_cell, places_t, mask_t = inputs
        i, j, f, o, c = (a.astype(exact) for a in gates_and_cell)
        c_new = c * f + i * j
        if mask is not None:
            c_new = jnp.where(mask_t, c_new, c)
        tanh_c = jnp.tanh(c_new)
        h = (o * tanh_c).astype(dtype)
        # The barrier keeps the transposition apart: folded into the product it takes a slower routine.
        d_kernel = d_kernel + _product(lax.optimization_barrier(h.T), dz)
        dh = dh + _product(dz, back)
        passed_on = dh, dc
        dh = dh + d_total
        dc = dc + dh * o * (1 - tanh_c * tanh_c)
        dz = jnp.concatenate(
            [
                dc * j * i * (1 - i),
                dc * i * (1 - j * j),
                dc * c * f * (1 - f),
                dh * tanh_c * o * (1 - o),
            ],
            axis=-1,
        )  # [batch, 4 * d]
        dh, dc = jnp.zeros_like(dh), dc * f
        if mask is not None:  # What a masked position was handed it hands on.
            dz = jnp.where(mask_t, dz, 0)
            dh, dc = (jnp.where(mask_t, new, old) for new, old in zip((dh, dc), passed_on))
        d_products = d_products.at[places_t].add(dz)
        return (dz.astype(dtype), dh, dc, d_kernel, d_products), None

    zero = jnp.zeros(kept[0].shape[1:], exact)
    dz = jnp.zeros((zero.shape[0], kernel.shape[1]), dtype)
    start = (dz, zero, zero, jnp.zeros(kernel.shape, exact), jnp.zeros_like(products))
    (*_, d_kernel, d_products), _ = lax.scan(step, start, (kept, places, mask), reverse=not reverse)
    return d_kernel.astype(dtype), d_products, None, None


_sum.defvjp(_forward, _backward)


def _product(a, b):
    """The matrix product, with sums in float32 at least."""
    return jnp.matmul(a, b, preferred_element_type=jnp.promote_types(a.dtype, jnp.float32))


def _sigmoid(x):
    """1 / (1 + exp(-x)); XLA's tanh takes less time on a CPU than its exp and a division."""
    return 0.5 * jnp.tanh(0.5 * x) + 0.5
