"""The mean of an LSTM's states as a pure JAX function on Trax's own weights.

Trax's `tl.LSTM` keeps one kernel [d_in + d_model, 4 * d_model], gates in the order input, candidate,
forget, output, and the forget bias inside the bias (Hochreiter & Schmidhuber, 1997, with the forget gate
of Gers et al., 2000)::

    i, j, f, o = split([x_t, h] @ kernel + bias)
    c = c * sigmoid(f) + sigmoid(i) * tanh(j)
    h = sigmoid(o) * tanh(c)

The input's part of the product, ``x_t @ Wx + bias``, is the same wherever a word
stands. A batch of 32,768 positions holds 2,000 to 3,000 different words, so it is
computed once a word, and a step looks it up.

The backward pass is our own. Of the forward pass only gates and cells are kept: the h
that a step was given is ``o * tanh(c)`` of the step before. The gradient of the gates'
sums is used up in the step that makes it; so neither is ever stored. And the mean is
taken inside the step. What else was tried: benchmarks/results/lstm_forms.md.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

# Of float32 in every bit, on accelerators too: a GPU would round the factors to 10 bits
# after the point.
_product = partial(jnp.matmul, precision="highest")


def word_products(kernel: Array, bias: Array, x: Array) -> Array:
    """The input's part of each word's gates, ``x @ Wx + bias``: float32 [words, 4 * d_model].

    `x` are the vectors of distinct words, float [words, d_in]; for the others see
    `mean_state`. The bias, float [4 * d_model], includes the forget bias.
    """
    return _product(x, kernel[: -kernel.shape[1] // 4]) + bias


def mean_state(
    kernel: Array,  # float [d_in + d_model, 4 * d_model], as in Trax
    products: Array,  # float [words, 4 * d_model], see `word_products`
    places: Array,  # int32 [batch, length], which of the words stands where
    mask: Array
    | None = None,  # bool [batch, length]; where False the state stays, uncounted
    reverse: bool = False,  # from the last position to the first
) -> Array:
    """The mean of an LSTM's states over the positions of a batch of sequences, from a zero state.

    It is float [batch, d_model]; zero for a row without any unmasked position.
    """
    from_state = jnp.asarray(kernel[-kernel.shape[1] // 4 :])
    if mask is None:
        return _sum(reverse, from_state, products, places.T, None) / places.shape[1]
    total = _sum(
        reverse, from_state, products, places.T, jnp.asarray(mask).T[:, :, None]
    )
    return total / jnp.maximum(mask.sum(axis=1, keepdims=True), 1).astype(total.dtype)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sum(
    reverse: bool, kernel: Array, products: Array, places: Array, mask: Array | None
) -> Array:
    """The states' sum [batch, d]; kernel [d, 4 d], places [length, batch], mask [length, batch, 1]."""
    return _forward(reverse, kernel, products, places, mask, keep=False)[0]


def _forward(
    reverse: bool,
    kernel: Array,
    products: Array,
    places: Array,
    mask: Array | None,
    keep: bool = True,
) -> tuple[Array, tuple]:
    def step(carry: tuple, inputs: tuple) -> tuple[tuple, tuple | None]:
        h, c, o, total = carry
        places_t, mask_t = inputs
        z = products[places_t] + _product(h, kernel)  # [batch, 4 * d]
        i, j, f, o_new = jnp.split(z, 4, axis=-1)
        i = _sigmoid(i)
        j = jnp.tanh(j)
        f = _sigmoid(f)
        o_new = _sigmoid(o_new)
        c_new = c * f + i * j
        # A masked position passes both on, and so h, which is o * tanh(c).
        if mask is not None:
            c_new = jnp.where(mask_t, c_new, c)
            o_new = jnp.where(mask_t, o_new, o)
        h_new = o_new * jnp.tanh(c_new)
        total = total + (h_new if mask is None else jnp.where(mask_t, h_new, 0))
        for_backward = (i, j, f, o_new, c_new) if keep else None
        return (h_new, c_new, o_new, total), for_backward

    zero = jnp.zeros((places.shape[1], kernel.shape[0]), products.dtype)
    (*_, total), gates = lax.scan(step, (zero,) * 4, (places, mask), reverse=reverse)
    return total, (gates, kernel, products, places, mask)


def _backward(reverse: bool, saved: tuple, d_total: Array) -> tuple:
    """Gradients of kernel and products, from that of the sum."""
    gates, kernel, products, places, mask = saved
    transposed = kernel.T
    *_, outputs, cells = gates
    first = len(places) - 1 if reverse else 0

    def step(carry: tuple, inputs: tuple) -> tuple[tuple, None]:
        dh, dc, d_kernel, d_products = carry
        t, (i, j, f, o, c), places_t, mask_t = inputs
        before = jnp.where(t == first, t, t + 1 if reverse else t - 1)
        # Before the first there is none.
        c_before = jnp.where(t == first, 0, cells[before])
        h_before = outputs[before] * jnp.tanh(c_before)
        tanh_c = jnp.tanh(c)
        dh_here = dh + d_total
        dc_here = dc + dh_here * o * (1 - tanh_c * tanh_c)
        if mask is not None:  # Here, where they are small: all of dz is zero then.
            dh_here = jnp.where(mask_t, dh_here, 0)
            dc_here = jnp.where(mask_t, dc_here, 0)
        dz = _gate_gradients((i, j, f, o), c_before, tanh_c, dh_here, dc_here)
        d_products = d_products.at[places_t].add(dz)
        # The barrier keeps the transposition apart: folded into the product it takes a
        # slower routine.
        d_kernel = d_kernel + _product(lax.optimization_barrier(h_before.T), dz)
        dh_before = _product(dz, transposed)
        dc_before = dc_here * f
        if mask is not None:  # A masked position passes its gradient through.
            dh_before = jnp.where(mask_t, dh_before, dh)
            dc_before = jnp.where(mask_t, dc_before, dc)
        return (dh_before, dc_before, d_kernel, d_products), None

    zero = jnp.zeros_like(cells[0])
    start = (zero, zero, jnp.zeros_like(kernel), jnp.zeros_like(products))
    inputs = (jnp.arange(len(places)), gates, places, mask)
    (*_, d_kernel, d_products), _ = lax.scan(step, start, inputs, reverse=not reverse)
    return d_kernel, d_products, None, None


_sum.defvjp(_forward, _backward)


def _gate_gradients(
    gates: tuple[Array, Array, Array, Array],
    c_before: Array,
    tanh_c: Array,
    dh: Array,
    dc: Array,
) -> Array:
    """The gradients of the gates' sums at a step, [batch, 4 * d], from those of its h and c."""
    i, j, f, o = gates
    d_i = dc * j * i * (1 - i)
    d_j = dc * i * (1 - j * j)
    d_f = dc * c_before * f * (1 - f)
    d_o = dh * tanh_c * o * (1 - o)
    return jnp.concatenate([d_i, d_j, d_f, d_o], axis=-1)


def _sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)); XLA's tanh takes less time on a CPU than its exp and a division."""
    return 0.5 * jnp.tanh(0.5 * x) + 0.5
