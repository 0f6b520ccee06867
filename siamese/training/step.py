"""One training step in one XLA program: loss, gradients, Adam, new weights and new slots.

Unlike in Trax's trainer the optimizer's slots, which nobody but the trainer holds, are donated: XLA writes
the new ones in their place. The weights stay valid: `model.weights` may be held by anyone.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp


def update_step(trainer) -> Callable:
    """The step that a `trax.optimizers.Trainer` on one device (or a mesh as one) runs, compiled anew.

    Returns:
      function ((weights, slots), step, opt_params, batch, state, rng) -> ((weights, slots), state,
      stats). The given slots are gone after the call.
    """
    gradient, optimizer = trainer._forward_and_backward_fn, trainer.optimizer
    # Trax's own takes the norms by `vdot`, which XLA runs on one core.
    optimizer._l2_norm = lambda arrays: jnp.sqrt(sum(jnp.sum(a * a) for a in arrays))

    def update(slots, weights, step, opt_params, batch, state, rng):
        (loss, state), gradients = gradient(batch, weights, state, rng)
        weights, slots, stats = optimizer.tree_update(
            step, gradients, weights, slots, opt_params, store_slots=False
        )
        return slots, weights, state, {**stats, "loss": loss}

    compiled = jax.jit(update, donate_argnums=0)

    def run(weights_and_slots, *arguments):
        weights, slots = weights_and_slots
        slots, weights, state, stats = compiled(slots, weights, *arguments)
        return (weights, slots), state, stats

    return run
