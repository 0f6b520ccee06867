"""Checks of the model: normalize and shared_towers (notebook 02), Siamese (notebook 04)."""

from __future__ import annotations

import inspect

import numpy as np

from .expect import expect_close, expect_unchanged, show
from .score import Exercise, Score, Wrong
from .towers import SHARED_HINT, Towers, add_tower_cases, trax_layers

# ---- normalize ----

normal = Exercise("normalize", "normalize(x)")


def unit_rows(x):
    """The reference, as a loop over rows."""
    return np.array([row / np.sqrt(sum(number * number for number in row)) for row in x])


def _normal_mistakes(x):
    lengths = np.sqrt((x * x).sum(axis=1))
    found = [
        (x / np.sqrt((x * x).sum(axis=0)), "the columns have length 1: normalise the rows"),
        (x / np.sqrt((x * x).sum()), "one length for the whole batch: each row has its own"),
        (
            x / (x * x).sum(axis=1, keepdims=True),
            "divided by the squared length: a root is missing",
        ),
        (
            x / np.abs(x).sum(axis=1, keepdims=True),
            "divided by the sum of absolute values: a length is the root of the sum of squares",
        ),
        (x / x.sum(axis=1, keepdims=True), "divided by the sum: a length is the root of squares"),
        (
            x / np.abs(x).max(axis=1, keepdims=True),
            "divided by the largest entry, not by the length",
        ),
        (
            x / np.sqrt((x * x).mean(axis=1, keepdims=True)),
            "the mean of the squares, not their sum",
        ),
        (lengths, "these are the rows' lengths: divide the rows by them"),
        (lengths[:, None], "these are the rows' lengths: divide the rows by them"),
        (x, "the rows are as they were"),
    ]
    if x.shape[0] == x.shape[1]:
        found.append(
            (
                x / lengths,
                "row i was divided by the length of row j: lengths [batch] meet x [batch, d], and "
                "broadcasting lines them up with the columns",
            )
        )
    return found


def _normal_case(name, x, hint=""):
    x = np.array(x, float)

    @normal.case(name)
    def _(fn):
        given = x.copy()
        expect_close(fn(given), unit_rows(x), hint, mistakes=_normal_mistakes(x))
        expect_unchanged("x", x, given)


_normal_case("two rows of five", [[0.77, 0.02, 0.63, 0.75, 0.5], [0.22, 0.2, 0.76, 0.17, 0.09]])
_normal_case(
    "a square matrix", [[3.0, 4.0, 0.0], [0.0, 5.0, 12.0], [8.0, 0.0, 15.0]], "does it broadcast?"
)
_normal_case("negative numbers", [[-3.0, 4.0], [-5.0, -12.0], [0.5, -0.5]], "the signs stay")
_normal_case("one row", [[0.0, 3.0, 4.0]])
_normal_case("rows of length 1 already", [[0.6, -0.8], [1.0, 0.0]], "these stay as they are")


@normal.case("inside a Trax layer, compiled")
def _(fn):
    import jax

    tl = trax_layers()
    x = np.array([[3.0, 4.0, 0.0], [0.0, 5.0, 12.0]], np.float32)
    layer = tl.Fn("Normalize", lambda x: fn(x))
    came = jax.jit(lambda x: layer(x))(x)
    expect_close(came, unit_rows(x), mistakes=_normal_mistakes(x))


def check_normalize(fn) -> Score:
    """Checks ``normalize(x)``: float [batch, d] -> the same with rows of length 1; runs compiled."""
    return normal.check(fn)


# ---- shared_towers ----

shared = Exercise("shared_towers", "shared_towers(vocab_size, d_model)", seconds=60)
add_tower_cases(shared, lambda fn, vocab_size, d_model: fn(vocab_size, d_model))


def check_shared_towers(fn) -> Score:
    """Checks ``shared_towers(vocab_size, d_model)``: a Trax model of one shared tower."""
    return shared.check(fn)


# ---- Siamese ----

siamese = Exercise("Siamese", "Siamese(vocab_size=41699, d_model=128, mode='train')", seconds=60)
add_tower_cases(siamese, lambda fn, size, d: fn(vocab_size=size, d_model=d))

_TOWER = "Serial[ Embedding_{0}_{1} LSTM_{1} Mean Normalize ]"


@siamese.case("the printed model")
def _(fn):
    tower = _TOWER.format(11, 6)
    expected = f"Parallel_in2_out2[ {tower} {tower} ]"
    came = " ".join(str(Towers(lambda: fn(vocab_size=11, d_model=6)).layer()).split())
    if came != expected:
        missing = [
            word for word in ("Parallel", "Embedding_11_6", "LSTM_6", "Mean") if word not in came
        ]
        hint = f"there is no {missing[0]}" if missing else "compare name by name"
        if not missing and "Normalize" not in came:
            hint = "the last layer is a tl.Fn with the name 'Normalize'"
        raise Wrong(expected, came, hint)


@siamese.case("its default arguments")
def _(fn):
    wanted = {"vocab_size": 41699, "d_model": 128, "mode": "train"}
    try:
        found = {name: p.default for name, p in inspect.signature(fn.fn).parameters.items()}
    except (TypeError, ValueError):
        return
    if list(found)[:3] != list(wanted) or any(found[name] != wanted[name] for name in wanted):
        words = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        came = str(inspect.signature(fn.fn))
        raise Wrong(f"Siamese({words})", f"Siamese{came}", "the course's arguments in their order")


@siamese.case("mode='eval'")
def _(fn):
    layer = Towers(lambda: fn(vocab_size=11, d_model=6, mode="eval"))
    v1, v2 = layer.vectors([[3, 4, 5, 1]] * 3, [[3, 4, 5, 1]] * 3)
    if not np.allclose(v1, v2, atol=1e-5):
        raise Wrong("the same vector twice", f"{show(v1)} and {show(v2)}", SHARED_HINT)


def check_siamese(fn) -> Score:
    """Checks ``Siamese(vocab_size=41699, d_model=128, mode='train')``: the assignment's model."""
    return siamese.check(fn)
