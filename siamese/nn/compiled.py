"""A Trax layer as one compiled function: called as it is, it traces its recurrence at every call."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

_COMPILED: weakref.WeakKeyDictionary[Any, Callable] = weakref.WeakKeyDictionary()


def compiled(model: Callable) -> Callable:
    """A Trax layer without state as one compiled function of its weights; any other model as it is."""
    trax_layer = getattr(sys.modules.get("trax.layers.base"), "Layer", ())
    if not isinstance(model, trax_layer):
        return model
    import jax

    if jax.tree_util.tree_leaves(model.state):
        return model
    if model not in _COMPILED:
        layer = weakref.ref(model)  # a strong one would keep every model alive for ever
        _COMPILED[model] = jax.jit(
            lambda pair, weights, state, rng: layer().pure_fn(pair, weights, state, rng)[0]
        )
    return lambda pair: _COMPILED[model](pair, model.weights, model.state, model.rng)
