"""The modified loss of a matrix, TripletLossFn, and the loss of rows and columns."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from .batch import FAR_BELOW, HAND_MADE, WELL_APART, random_scores
from .engine import Case, Exercise, call
from .results import require
from .submission import Learner, Watched

if TYPE_CHECKING:
    import jax

OTHER_MARGINS = r"(?<![\d.])0?\.(5|125)(?!\d)"  # half and twice 0.25, as code has them


def _reread(sentence: str, code: str) -> str:
    """Which mistake it is where the masked negative's term is 0 in every row.

    It is 0 without its margin, it is 0 where the mask takes the margin off, and it may
    be missing: the results are the same.
    """
    if not sentence.startswith("only the mean negative"):
        return sentence
    nodes = list(ast.walk(ast.parse(code or "pass")))
    compared = [node for node in nodes if isinstance(node, ast.Compare)]
    if any(_is_margin(part) for node in compared for part in ast.walk(node)):
        return "the mask compares with the positive itself: the margin belongs to the hinge"
    used = [node for node in nodes if isinstance(node, ast.BinOp)]
    if any(isinstance(node.op, ast.Sub) and _is_margin(node.right) for node in used):
        return "the closest negative's term: the margin has the wrong sign"
    margins = [
        side for node in used for side in (node.left, node.right) if _is_margin(side)
    ]
    differences = [
        node
        for node in used
        if isinstance(node.op, ast.Sub) and not isinstance(node.right, ast.Constant)
    ]
    if len(margins) == 1 < len(differences):
        return "the closest negative's term: the margin is missing"
    return sentence


def _is_margin(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == 0.25
    return isinstance(node, ast.Name) and "margin" in node.id


def _reread_margin(sentence: str, code: str) -> str:
    """As `_reread`; half or twice the margin is another number where the margin is a number."""
    if "the margin counts half or twice" in sentence and re.search(OTHER_MARGINS, code):
        return "the margin is 0.25"
    return _reread(sentence, code)


check_modified_loss = Exercise(
    "modified_loss",
    [
        Case("the documents' four pairs", (HAND_MADE,)),
        Case("five pairs, rows and columns different", (random_scores(5, 1),)),
        Case("the last column the largest", (np.sort(random_scores(5, 8), axis=1),)),
        Case("all vectors equal", (np.ones((3, 3)),)),
        Case("negatives far below 0, and positives too", (-0.6 - 0.2 * np.eye(4),)),
        Case("all negatives far below 0", (WELL_APART,)),
        Case("a batch of two", (random_scores(2, 6),)),
        Case("a batch of nine", (random_scores(9, 7),)),
        Case("a positive of -0.9 below negatives of 0.9 and 0.8", (FAR_BELOW,)),
    ],
    reread=_reread_margin,
)

# ---- TripletLossFn and symmetric_loss ----


def _vectors(batch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two batches of unit rows, float32 [batch, 5]; row i of both are alike."""
    draw = np.random.default_rng(seed)
    first = draw.normal(size=(batch, 5))
    second = first + draw.normal(size=(batch, 5))
    return _unit_rows(first), _unit_rows(second)


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _from_scores(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows whose dot products are the matrix, float32 [batch, batch + 1].

    The columns of `scores` are not longer than 1.
    """
    rest = np.sqrt(1 - (scores * scores).sum(axis=0))
    first = np.eye(len(scores), len(scores) + 1)
    return first.astype(np.float32), np.column_stack([scores.T, rest]).astype(
        np.float32
    )


def _loss(
    fn: Watched, v1: np.ndarray, v2: np.ndarray, how: str = "", **options: object
) -> np.ndarray:
    """The loss, or the loss "compiled", or its "slope" along a turn of one vector."""
    is_learner = isinstance(fn, Learner)
    if not is_learner:
        v1 = v1.astype(np.float64)
        v2 = v2.astype(np.float64)
    if how == "slope":
        turn = np.zeros_like(v1, dtype=np.float64)
        # The row's length stays 1 to first order.
        turn[1] = np.eye(v1.shape[1])[2] - v1[1, 2] * v1[1]
        if is_learner:
            _, gradient = _compiled(fn)
            slope = (np.asarray(gradient) * turn).sum()
        else:
            loss = cast("Callable[..., np.ndarray]", fn)  # one of the table's
            slope = (
                np.sum(loss(v1 + 1e-5 * turn, v2) - loss(v1 - 1e-5 * turn, v2)) / 2e-5
            )
        hint = "the gradient does not flow: is a part computed in NumPy, or detached?"
        require(slope, "0", hint)
        return call(lambda: slope)
    if how and is_learner:
        return call(lambda: _compiled(fn)[0])
    return call(fn, v1, v2, **options)


@lru_cache(1)  # for two cases
def _compiled(learner: Learner) -> tuple[object, object]:
    """The loss of `_SEVEN` and its gradient by v1, compiled where it is JAX's."""
    fn = learner.fn
    v1, v2 = _SEVEN
    tf = sys.modules.get("tensorflow")
    if tf and tf.is_tensor(fn(v1, v2)):
        with tf.GradientTape() as tape:
            v1 = tf.Variable(v1)
            loss = fn(v1, tf.constant(v2))
        return loss, tape.gradient(loss, v1)
    import jax

    def loss_twice(v1: np.ndarray, v2: np.ndarray) -> tuple[jax.Array, jax.Array]:
        loss = cast("jax.Array", fn(v1, v2))
        return loss.sum(), loss

    (_, loss), gradient = jax.jit(jax.value_and_grad(loss_twice, has_aux=True))(v1, v2)
    return loss, gradient


_SEVEN = _vectors(7, 5)
_V1 = np.array(
    [[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]]
)
_CASES = [
    Case("four pairs", _vectors(4, 1)),
    Case("the assignment's two pairs", (_V1, _V1 * [[1], [-1]])),
    Case("four pairs, like the documents'", _from_scores(0.8 * HAND_MADE)),
    Case("a larger margin", _vectors(4, 2), {"margin": 0.8}),
    Case("margin 0", _from_scores(0.8 * HAND_MADE), {"margin": 0.0}),
    Case("all vectors equal", (np.full((4, 5), 0.2**0.5),) * 2),
    Case("all negatives below 0", _from_scores(0.9 * WELL_APART), {"margin": 1.5}),
    Case(
        "negatives far below 0, and positives too", _from_scores(-0.6 - 0.1 * np.eye(2))
    ),
    Case("a positive of -0.9 below negatives of 0.9 and 0.8", _from_scores(FAR_BELOW)),
    Case("a batch of seven, compiled", _SEVEN, {"how": "compiled"}),
    Case("its gradient", _SEVEN, {"how": "slope"}),
]
check_triplet_loss_fn = Exercise("TripletLossFn", _CASES, observe=_loss, reread=_reread)
_LATER, _EARLIER, *_ = map(
    check_triplet_loss_fn.function, check_triplet_loss_fn.answers.values()
)
_EDITIONS = {"edition2023": _LATER, "edition2022": _EARLIER}
check_symmetric_loss = Exercise(
    "symmetric_loss", _CASES, scope=_EDITIONS, observe=_loss, reread=_reread
)
