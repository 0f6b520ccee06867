"""Any number of devices with one and the same loss: the batch is spread, the weights are copied.

In-batch negatives are over the whole batch whatever the number of devices: XLA's partitioner sees one
program over the whole batch and adds the communication. (Trax's `pmap` computes the loss on each device's
part: fewer negatives, another loss; and it no longer runs on today's JAX.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import jax
import numpy as np

from siamese.errors import ArgumentError
from siamese.nn.tower import Words


def mesh() -> jax.sharding.Mesh | None:
    """A one-dimensional mesh over all devices, or None where there is only one."""
    devices = jax.devices()
    return jax.sharding.Mesh(np.asarray(devices), ("batch",)) if len(devices) > 1 else None


def connect(coordinator: str | None, processes: int | None, process_id: int | None) -> None:
    """Joins this process to the others of a run on several hosts, before anything else of JAX.

    Every process runs the same command on the same data; each one feeds its rows of the global batch, and
    the first one writes. See `jax.distributed.initialize` for the arguments: None takes what the cluster
    says (Slurm, Open MPI, Kubernetes, Cloud TPU). ArgumentError where they cannot be joined.
    """
    try:
        jax.distributed.initialize(coordinator, processes, process_id)
    except (ValueError, RuntimeError) as error:
        raise ArgumentError(
            f"The processes could not be joined: {str(error).rstrip('.')}. Give --coordinator "
            "HOST:PORT, --processes N and --process-id I to each, I from 0 to N - 1."
        ) from error


def replicate_trainer(mesh, trainer) -> None:
    """Copies a `trax.optimizers.Trainer`'s arrays to every device of the mesh, or to the one there is.

    Trax leaves the optimizer's slots committed to the CPU: beside one GPU the first step would run on the
    CPU, and so all later ones. On the CPU alone the second step would compile anew.
    """

    def copied(tree):
        if mesh is None:
            return jax.device_put(tree, jax.local_devices()[0])
        return jax.tree.map(lambda leaf: _placed(mesh, leaf, jax.sharding.PartitionSpec()), tree)

    accelerated = trainer.accelerated_model_with_loss
    accelerated.weights = copied(accelerated.weights)
    accelerated.state = copied(accelerated.state)
    # Not through the setter of `slots`, which moves them back to the first device.
    trainer._slots = trainer.optimizer.slots = copied(trainer.slots)
    trainer._opt_params = copied(trainer.optimizer.opt_params)


def shard_batch(mesh, batch):
    """The batch's arrays spread over the mesh along their first axis; every process passes the same batch.

    Of `Words` the places are spread, and every device has the words.

    A batch that does not divide by the number of devices is an ArgumentError: to cut or fill it would
    change the loss.
    """
    if mesh is None:
        return batch
    first = batch[0].places if isinstance(batch[0], Words) else batch[0]
    count, rows = mesh.devices.size, len(first)
    if rows % count:
        near = [size for size in (rows // count * count, (rows // count + 1) * count) if size]
        raise ArgumentError(
            f"A batch of {rows} pairs does not divide by {count} devices. "
            f"Use a batch size of {' or '.join(map(str, near))}."
        )
    spread, whole = jax.sharding.PartitionSpec("batch"), jax.sharding.PartitionSpec()
    return tuple(
        Words(_placed(mesh, part.words, whole), _placed(mesh, part.places, spread))
        if isinstance(part, Words)
        else _placed(mesh, part, spread)
        for part in batch
    )


def _placed(mesh, leaf, spec):
    array = np.asarray(leaf)
    sharding = jax.sharding.NamedSharding(mesh, spec)
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


@contextmanager
def as_single_device() -> Iterator[None]:
    """Tells Trax, which refuses to use fewer than there are, of one device while it builds its objects."""
    from trax import fastmath  # Not above: `connect` comes before Trax touches the devices.

    with (
        mock.patch.object(fastmath, "local_device_count", lambda: 1),
        mock.patch.object(fastmath, "global_device_count", lambda: 1),
        mock.patch.object(jax, "host_count", lambda: 1),
    ):
        yield
