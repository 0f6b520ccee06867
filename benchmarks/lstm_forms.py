"""What was tried for the LSTM with the mean over its states: each form's time, forward and with gradient.

    python benchmarks/lstm_forms.py --batch 512 --length 32
    python benchmarks/lstm_forms.py --batch 128 512 2048 --length 16 32 64 --short
    python benchmarks/lstm_forms.py --step

A batch here is both questions of a pair: 512 is a training batch of 256 pairs. Forms take turns; medians.
All give the same values and gradients, which is checked first. The floor is the arithmetic of Trax's form
(twice more with the gradient) at the speed of a large product, measured in the same turns; a product once a
word does less of it.
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

from siamese.compat.process import keep_memory
from siamese.nn.lstm import lstm_mean
from siamese.nn.tower import TowerConfig, encode, towers
from siamese.training.step import words_of

D, VOCABULARY = 128, 41_699
sigmoid = jax.nn.sigmoid


def gates(z, c, axis=-1, sigmoid=sigmoid):
    """The new (h, c) from the gates' sums and the old c."""
    i, j, f, o = jnp.split(z, 4, axis)
    c = c * sigmoid(f) + sigmoid(i) * jnp.tanh(j)
    return jnp.tanh(c) * sigmoid(o), c


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


def split(w, b, x, sigmoid=sigmoid, **options):
    """Two products a step."""
    return scan_mean(
        lambda h, c, x_t: gates(x_t @ w[:D] + h @ w[D:] + b, c, sigmoid=sigmoid),
        x.swapaxes(0, 1),
        **options,
    )


def hoisted(w, b, x):
    """The product x @ Wx of all steps before the scan."""
    from_x = x.swapaxes(0, 1) @ w[:D] + b
    return scan_mean(lambda h, c, x_t: gates(x_t + h @ w[D:], c), from_x)


def features_major(w, b, x):
    """States as [d_model, batch]."""
    zero = jnp.zeros((D, len(x)))

    def step(carry, x_t):
        h, c = gates(w[:D].T @ x_t + w[D:].T @ carry[0] + b[:, None], carry[1], 0)
        return (h, c, carry[2] + h), None

    return lax.scan(step, (zero, zero, zero), x.transpose(1, 2, 0))[0][2].T / x.shape[1]


def once_a_word(w, b, rows, places):
    """The product x @ Wx once for each distinct word, looked up in the step; JAX's own backward pass."""
    products = rows @ w[:D] + b
    return scan_mean(lambda h, c, at: gates(products[at] + h @ w[D:], c), places.T, fused=True)


def own_backward(block=1, per_block=False, transposed=False):
    """A backward pass that keeps the gates and h, for a product at every position, with variations.

    block: steps in one turn of the scan. per_block: x @ Wx forward, and the products for the gradients
    of kernel and x backward, once a block. transposed: the kernel's gradient summed as [4 d, 2 d].
    """

    def forward(w, b, x, keep=True):
        blocks = x.swapaxes(0, 1).reshape(-1, block, len(x), D)

        def turn(carry, x_block):
            h, c, total = carry
            from_x = x_block.reshape(-1, D) @ w[:D] + b if per_block else None
            kept = []
            for k in range(block):
                x_k = from_x.reshape(block, -1, 4 * D)[k] if per_block else x_block[k] @ w[:D] + b
                i, j, f, o = jnp.split(x_k + h @ w[D:], 4, -1)
                i, j, f, o = sigmoid(i), jnp.tanh(j), sigmoid(f), sigmoid(o)
                kept.append((i, j, f, o, c, h))
                c = c * f + i * j
                h = o * jnp.tanh(c)
                total = total + h
            return (h, c, total), tuple(kept) if keep else None

        zero = jnp.zeros((len(x), D))
        (_, _, total), kept = lax.scan(turn, (zero, zero, zero), blocks)
        return total / x.shape[1], (kept, blocks, w)

    def backward(saved, d_mean):
        kept, blocks, w = saved
        d_mean = d_mean / (len(blocks) * block)

        def turn(carry, inputs):
            dh, dc, dw, db = carry
            kept_block, x_block = inputs
            dzs, dxs = [], []
            for k in reversed(range(block)):
                i, j, f, o, c, h = kept_block[k]
                tanh_c, dh = jnp.tanh(c * f + i * j), dh + d_mean
                dc = dc + dh * o * (1 - tanh_c * tanh_c)
                dz = [dc * j * i * (1 - i), dc * i * (1 - j * j), dc * c * f * (1 - f)]
                dz = jnp.concatenate([*dz, dh * tanh_c * o * (1 - o)], -1)
                dc = dc * f
                dzs.insert(0, dz)
                if per_block:
                    dh = dz @ w[D:].T
                    continue
                back, xh = dz @ w.T, jnp.concatenate([x_block[k], h], -1)
                dw, db = dw + (dz.T @ xh if transposed else xh.T @ dz), db + dz.sum(0)
                dh, _ = back[:, D:], dxs.insert(0, back[:, :D])
            if not per_block:
                return (dh, dc, dw, db), jnp.stack(dxs)
            dz, h = jnp.concatenate(dzs), jnp.concatenate([step[5] for step in kept_block])
            dw = dw + jnp.concatenate([x_block.reshape(-1, D), h], -1).T @ dz
            return (dh, dc, dw, db + dz.sum(0)), (dz @ w[:D].T).reshape(x_block.shape)

        zero, dw = jnp.zeros(blocks.shape[2:]), jnp.zeros(w.shape[::-1] if transposed else w.shape)
        start = (zero, zero, dw, jnp.zeros(4 * D))
        (_, _, dw, db), dx = lax.scan(turn, start, (kept, blocks), reverse=True)
        return dw.T if transposed else dw, db, dx.reshape(-1, *dx.shape[2:]).swapaxes(0, 1)

    run = jax.custom_vjp(lambda w, b, x: forward(w, b, x, keep=False)[0])
    run.defvjp(forward, backward)
    return run


def at_every_position(form):
    """A form that takes x [batch, length, d]."""
    return lambda w, b, rows, places: form(w, b, rows[places])


USED = "product once a word, own backward (used)"
AT_EVERY_POSITION = {
    "concatenation (Trax)": concatenated,
    "two products": split,
    "two products, mean fused": functools.partial(split, fused=True),
    "... unrolled by 4": functools.partial(split, fused=True, unroll=4),
    "... sigmoid from tanh": functools.partial(
        split, fused=True, sigmoid=lambda v: 0.5 * jnp.tanh(0.5 * v) + 0.5
    ),
    "... features-major": features_major,
    "x @ Wx hoisted": hoisted,
    "own backward, two products": own_backward(),
    "... two steps a turn": own_backward(2),
    "... x @ Wx, dW and dx per 4 steps": own_backward(4, per_block=True),
    "... x @ Wx, dW and dx per 8 steps": own_backward(8, per_block=True),
    "... dW summed transposed": own_backward(transposed=True),
}
FORMS = {name: at_every_position(form) for name, form in AT_EVERY_POSITION.items()} | {
    "product once a word": once_a_word,
    USED: lstm_mean,
}
SHORT = ("concatenation (Trax)", "two products, mean fused", "own backward, two products", USED)


def medians(jobs: dict, runs: int) -> dict:
    """Median milliseconds of each job, the jobs in turn."""
    for job in jobs.values():
        jax.block_until_ready(job())
        jax.block_until_ready(job())
    taken = {name: [] for name in jobs}
    for _ in range(runs):
        for name, job in jobs.items():
            start = time.perf_counter()
            jax.block_until_ready(job())
            taken[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(times) for name, times in taken.items()}


def large_product():
    """A product of 2048 x 2048, for the floor: its arithmetic is 17.2 GFLOP."""
    a, multiply = jnp.ones((2048, 2048)), jax.jit(lambda a: a @ a)
    return lambda: multiply(a)


def forms_table(batch: int, length: int, words: int, names, runs: int) -> str:
    """Checks the forms against each other and measures them."""
    draw = np.random.RandomState(0)
    x = jnp.asarray(draw.randn(words, D).astype(np.float32))
    w = jnp.asarray(draw.randn(2 * D, 4 * D).astype(np.float32) * 0.05)
    places = jnp.asarray(draw.randint(0, words, (batch, length)))
    values, jobs, expected = (w, jnp.zeros(4 * D), x, places), {"peak": large_product()}, None
    for name in names:
        loss = lambda *v, form=FORMS[name]: jnp.sum(form(*v) ** 2)  # noqa: E731
        forward, both = jax.jit(FORMS[name]), jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
        found = jax.tree_util.tree_leaves((forward(*values), both(*values)))
        expected = expected or found
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 * float(jnp.abs(b).max()))
        jobs[name, 1], jobs[name, 3] = (functools.partial(f, *values) for f in (forward, both))
    ms = medians(jobs, runs)
    peak = 2 * 2048**3 / ms["peak"] / 1e6
    floor = batch * length * 2 * (2 * D) * (4 * D) / peak / 1e6
    lines = [
        f"Batch {batch}, length {length}, {words} words; large product {peak:.0f} GFLOP/s.",
        "",
        "| form | forward ms | x floor | forward and backward ms | x floor |\n|---|---|---|---|---|",
    ]
    for name in names:
        cells = [f"{ms[name, k]:.1f} | {ms[name, k] / floor / k:.2f}" for k in (1, 3)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def step_table(runs: int) -> str:
    """The other parts of a training step: 256 pairs of length 32, the course's vocabulary."""
    config, draw = TowerConfig(VOCABULARY, D), np.random.RandomState(0)
    w = {n: jnp.asarray(draw.randn(*s).astype("f") * 0.05) for n, s in config.shapes().items()}
    q1, q2 = (draw.zipf(1.3, (256, 32)).clip(2, VOCABULARY - 1).astype(np.int32) for _ in range(2))
    q = jnp.concatenate([q1, q2])
    total = lambda pair: sum(jnp.sum(v[:, 0]) for v in pair)  # noqa: E731
    one = jax.jit(jax.grad(lambda w: total(towers(w, q1, q2, config))))
    two = jax.jit(jax.grad(lambda w: total([encode(w, q1, config), encode(w, q2, config)])))

    found = [jax.tree.map(jnp.asarray, side) for side in words_of([q1, q2], VOCABULARY)]
    by_words = jax.jit(jax.grad(lambda w: total(towers(w, *found, config))))
    take = jax.jit(lambda e: jnp.take(e, q, axis=0, mode="clip"))
    d_x = jnp.asarray(draw.randn(*q.shape, D).astype(np.float32))
    scatter = jax.jit(lambda d: jnp.zeros((VOCABULARY, D)).at[q].add(d))

    def adam(p, m, v, g):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 0.001 * m / (jnp.sqrt(v) + 1e-5), m, v

    def new():
        return [w["embedding"] + 0, jnp.zeros((VOCABULARY, D)), jnp.zeros((VOCABULARY, D))]

    kept, given, gradient = new(), new(), scatter(d_x)
    plain, donating = jax.jit(adam), jax.jit(adam, donate_argnums=(0, 1, 2))

    def donated():
        given[:] = donating(*given, gradient)
        return given

    jobs = {
        "gradient by distinct words, both questions in one batch (used)": lambda: by_words(w),
        "distinct words sought, on the host": lambda: words_of([np.asarray(q)], VOCABULARY),
        "gradient, a product at every position": lambda: one(w),
        "... one question after the other": lambda: two(w),
        "look-up alone": lambda: take(w["embedding"]),
        "its gradient: scatter into the whole embedding": lambda: scatter(d_x),
        "Adam on the whole embedding": lambda: plain(*kept, gradient),
        "the same, buffers donated": donated,
    }
    rows = [f"| {name} | {ms:.1f} |" for name, ms in medians(jobs, runs).items()]
    head = (
        f"256 pairs, length 32, {VOCABULARY:,} words, {len(np.unique(q)):,} of them in the batch.\n"
    )
    return "\n".join([head, "| part | ms |\n|---|---|", *rows]) + "\n"


def main() -> None:
    """Prints the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, nargs="+", default=[512], help="rows: twice the pairs")
    parser.add_argument("--length", type=int, nargs="+", default=[32])
    parser.add_argument("--words", type=int, default=3072, help="distinct words of a batch")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--short", action="store_true", help="four of the forms")
    parser.add_argument("--step", action="store_true", help="the other parts of a step instead")
    parser.add_argument("--give-back", action="store_true", help="glibc's own malloc settings")
    flags = parser.parse_args()
    if not flags.give_back:
        keep_memory()
    if flags.step:
        print(step_table(flags.runs))
        return
    for batch in flags.batch:
        for length in flags.length:
            names = SHORT if flags.short else tuple(FORMS)
            print(forms_table(batch, length, flags.words, names, flags.runs), flush=True)


if __name__ == "__main__":
    main()
