"""The LSTM through cuDNN, on one NVIDIA GPU: one kernel for all steps instead of a few for each.

Not measured: no GPU was at hand. The tests run everything here but cuDNN itself, for which JAX's own
reference stands in, and the first use on a GPU compares the results with the scan's.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax


@functools.cache
def cudnn_is_there() -> bool:
    """Whether JAX can call cuDNN.

    With several GPUs it is left out: XLA cannot split the call, and each would run the whole batch.
    """
    if jax.default_backend() != "gpu" or jax.device_count() != 1:
        return False
    try:
        from jax.experimental import rnn
    except ImportError:
        return False
    return hasattr(getattr(rnn, "gpu_rnn", None), "compute_rnn_workspace_reserve_space_sizes")


@functools.cache
def cudnn_agrees(scan: Callable) -> bool:
    """Compares cuDNN with the scan in value and gradient, once a process; a warning where they differ.

    Args:
      scan: (kernel, bias, x, mask) -> the states from the last position to the first.

    Returns:
      Whether the largest difference is below a thousandth of the largest entry.
    """

    def gradient(run, *arguments):
        return jax.value_and_grad(lambda *a: jnp.sum(run(*a) ** 2), (0, 1, 2))(*arguments)

    try:
        # At once, also where the caller is being traced; and the scan in all its bits.
        with (
            jax.ensure_compile_time_eval(),
            jax.default_matmul_precision("highest"),
            jax.default_device(jax.devices()[0]),
        ):
            kernel, bias, x = (
                jnp.sin(jnp.arange(n, dtype=jnp.float32)).reshape(shape)
                for n, shape in ((24 * 64, (24, 64)), (64, (64,)), (3 * 4 * 8, (3, 4, 8)))
            )
            mask = jnp.arange(4) < jnp.array([4, 1, 3])[:, None]
            expected = jax.tree_util.tree_leaves(gradient(scan, kernel, bias, x, mask))
            found = gradient(lambda *a: cudnn_states(*a, True), kernel, bias, x, mask)
            largest = [
                float(jnp.abs(a - b).max() / jnp.abs(b).max())
                for a, b in zip(jax.tree_util.tree_leaves(found), expected)
            ]
        # A comparison with NaN is False: `not all` catches it.
        if all(difference < 1e-3 for difference in largest):
            return True
        reason = f"its results differ from the scan's by up to {max(largest):.1e}"
    except Exception as error:  # Whatever the driver, the library or JAX may raise.
        reason = f"it fails here: {type(error).__name__}: {error}"
    warnings.warn(f"cuDNN's LSTM is left out, and the slower scan runs: {reason}", stacklevel=2)
    return False


def cudnn_states(kernel, bias, x, mask, reverse):
    """All states of an LSTM, from cuDNN; arguments and result as for `siamese.nn.lstm.lstm`.

    cuDNN knows lengths, not masks: the kept positions of each row go first, and each position then
    takes the state of the last one kept.

    Args:
      kernel: float32 [d_in + d_model, 4 * d_model].
      bias: float32 [4 * d_model].
      x: float32 [batch, length, d_in].
      mask: None or bool [batch, length].
      reverse: from the last position to the first.

    Returns:
      float32 [batch, length, d_model].
    """
    if reverse:
        flipped = None if mask is None else mask[:, ::-1]
        return cudnn_states(kernel, bias, x[:, ::-1], flipped, False)[:, ::-1]
    batch, length, d_in = x.shape
    if mask is None:
        lengths = jnp.full(batch, length, jnp.int32)
        return _cudnn_call(x, pack_weights(kernel, bias), lengths, d_in, bias.shape[0] // 4)
    mask = jnp.asarray(mask, bool)
    lengths = mask.sum(axis=1, dtype=jnp.int32)
    order = jnp.argsort(~mask, axis=1, stable=True)  # Kept positions first, in their order.
    first = jnp.take_along_axis(x, order[:, :, None], axis=1)
    # Zeros behind them: whatever gradient cuDNN gives there stops here.
    first = jnp.where((jnp.arange(length) < lengths[:, None])[:, :, None], first, 0)
    # A length of at least 1; rows without any position are put to zero below.
    states = _cudnn_call(
        first, pack_weights(kernel, bias), jnp.maximum(lengths, 1), d_in, bias.shape[0] // 4
    )
    last = (
        jnp.cumsum(mask, axis=1) - 1
    )  # The last kept position up to each one; -1 before the first.
    found = jnp.take_along_axis(states, jnp.maximum(last, 0)[:, :, None], axis=1)
    return jnp.where((last >= 0)[:, :, None], found, 0)


def pack_weights(kernel, bias):
    """Trax's kernel and bias as cuDNN's one vector: Wx, Wh, their two biases; gates i, f, j, o.

    Args:
      kernel: float32 [d_in + d_model, 4 * d_model], gates i, j, f, o.
      bias: float32 [4 * d_model].

    Returns:
      float32 [4 * d_model * (d_in + d_model + 2)]; the second bias is zero.
    """
    d_model = bias.shape[0] // 4
    order = jnp.array([0, 2, 1, 3])
    by_gate = kernel.reshape(-1, 4, d_model)[:, order].reshape(kernel.shape).T
    gate_bias = bias.reshape(4, d_model)[order].ravel()
    d_in = kernel.shape[0] - d_model
    parts = by_gate[:, :d_in], by_gate[:, d_in:], gate_bias, jnp.zeros_like(gate_bias)
    return jnp.concatenate([part.ravel() for part in parts])


def _cudnn_call(x, weights, lengths, d_in, d_model):
    from jax.experimental import rnn

    zero = jnp.zeros((1, x.shape[0], d_model), x.dtype)
    # One layer, no dropout, one direction; 'highest' is float32 proper, not TF32.
    return rnn.lstm(
        x, zero, zero, weights, lengths, d_in, d_model, 1, 0.0, False, lax.Precision.HIGHEST
    )[0]
