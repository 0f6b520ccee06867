"""What was tried for the LSTM with the mean over its states: each form's time, forward and with gradient.

    python benchmarks/lstm_forms.py --batch 512 --length 32

Forms take turns; medians. All give the same values, which is checked first.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from siamese.freed_memory import keep_freed_memory
from siamese.lstm import lstm, lstm_pooled

D = 128


def gates(z, c):
    """The new (h, c) from the gates' sums [batch, 4 * d] and the old c."""
    i, j, f, o = jnp.split(z, 4, -1)
    c = c * jax.nn.sigmoid(f) + jax.nn.sigmoid(i) * jnp.tanh(j)
    return jnp.tanh(c) * jax.nn.sigmoid(o), c


def scan_mean(step, x, unroll=1, fused=False):
    """Mean over the states, from states written out or summed inside the scan."""
    zero = jnp.zeros((x.shape[1], D))

    def one(carry, x_t):
        h, c = step(*carry[:2], x_t)
        return (h, c, carry[2] + h if fused else None), None if fused else h

    (_, _, total), states = lax.scan(one, (zero, zero, zero if fused else None), x, unroll=unroll)
    return total / len(x) if fused else states.mean(0)


def concatenated(w, b, x):
    """Trax's: one product of [x, h] a step."""
    return scan_mean(
        lambda h, c, x_t: gates(jnp.concatenate([x_t, h], -1) @ w + b, c), x.swapaxes(0, 1)
    )


def split(w, b, x, **options):
    """Two products a step."""
    return scan_mean(
        lambda h, c, x_t: gates(x_t @ w[:D] + h @ w[D:] + b, c), x.swapaxes(0, 1), **options
    )


def hoisted(w, b, x):
    """The product x @ Wx of all steps before the scan."""
    from_x = x.swapaxes(0, 1) @ w[:D] + b
    return scan_mean(lambda h, c, x_t: gates(x_t + h @ w[D:], c), from_x)


FORMS = {
    "concatenation (Trax)": concatenated,
    "two products": split,
    "two products, mean fused": functools.partial(split, fused=True),
    "... unrolled by 4": functools.partial(split, fused=True, unroll=4),
    "x @ Wx hoisted": hoisted,
    "own backward, states": lambda w, b, x: lstm(w, b, x).mean(1),
    "own backward, mean fused (used)": lstm_pooled,
}


def main() -> None:
    """Checks the forms against each other, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument(
        "--give-back", action="store_true", help="glibc's own way with freed memory"
    )
    arguments = parser.parse_args()
    if not arguments.give_back:
        keep_freed_memory()
    draw = np.random.RandomState(0)
    x = jnp.asarray(draw.randn(arguments.batch, arguments.length, D).astype(np.float32))
    w = jnp.asarray(draw.randn(2 * D, 4 * D).astype(np.float32) * 0.05)
    values = (w, jnp.zeros(4 * D), x)
    forward = {name: jax.jit(form) for name, form in FORMS.items()}
    both = {
        name: jax.jit(jax.grad(lambda *v, form=form: jnp.sum(form(*v) ** 2), argnums=(0, 1, 2)))
        for name, form in FORMS.items()
    }
    expected = forward["concatenation (Trax)"](*values), both["concatenation (Trax)"](*values)
    for name in FORMS:
        found = forward[name](*values), both[name](*values)
        for a, b in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(expected)):
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 * float(jnp.abs(b).max()))
    times = {(name, kind): [] for name in FORMS for kind in ("forward", "gradient")}
    for _ in range(arguments.runs):
        for (name, kind), taken in times.items():
            start = time.perf_counter()
            jax.block_until_ready((forward if kind == "forward" else both)[name](*values))
            taken.append(1000 * (time.perf_counter() - start))
    print("| form | forward ms | forward and backward ms |\n|---|---|---|")
    for name in FORMS:
        ms = [statistics.median(times[name, kind]) for kind in ("forward", "gradient")]
        print(f"| {name} | {ms[0]:.1f} | {ms[1]:.1f} |")


if __name__ == "__main__":
    main()
