"""Any number of devices with one and the same loss: the batch is spread, the weights are copied.

In-batch negatives are over the whole batch whatever the number of devices: XLA's partitioner sees one
program over the whole batch and adds the communication. (Trax's own way, a `pmap`, computes the loss on
each device's part: fewer negatives, another loss; and it no longer runs on today's JAX.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from siamese.errors import ArgumentError


def mesh(devices=None):
    """A one-dimensional `jax.sharding.Mesh` over all devices, or None where there is only one."""
    import jax

    devices = jax.devices() if devices is None else devices
    return jax.sharding.Mesh(np.asarray(devices), ("batch",)) if len(devices) > 1 else None


def replicate(mesh, tree):
    """The tree with every array copied to all devices of the mesh."""
    import jax

    if mesh is None:
        return tree
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    return jax.tree_util.tree_map(lambda leaf: _put(np.asarray(leaf), whole), tree)


def shard_batch(mesh, batch):
    """The batch's arrays spread over the mesh along their first axis.

    Raises:
      ArgumentError: where the batch does not divide by the number of devices. It would have to be cut
        or filled, and either changes the loss.
    """
    import jax

    if mesh is None:
        return batch
    count = mesh.devices.size // jax.process_count()
    rows = len(batch[0])
    if rows % count:
        raise ArgumentError(
            f"A batch of {rows} pairs does not divide by {count} devices. "
            f"Use a batch size of {max(rows // count, 1) * count} or {(rows // count + 1) * count}."
        )
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    if jax.process_count() > 1:  # Each process holds its own rows of the global batch.
        return tuple(jax.make_array_from_process_local_data(spread, array) for array in batch)
    return tuple(jax.device_put(array, spread) for array in batch)


def _put(array, sharding):
    import jax

    if jax.process_count() > 1:
        return jax.make_array_from_process_local_data(sharding, array, array.shape)
    return jax.device_put(array, sharding)


@contextmanager
def told_of_one() -> Iterator[None]:
    """Lets Trax believe that there is one device, on one host, while it builds its objects."""
    from trax import fastmath

    with (
        mock.patch.object(fastmath, "local_device_count", lambda: 1),
        mock.patch.object(fastmath, "global_device_count", lambda: 1),
    ):
        yield
