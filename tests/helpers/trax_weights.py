"""A model's files as Trax's Loop writes them, for tests that have no Trax."""

import gzip
import pickle

import numpy as np


def write_trax_weights(path, arrays, step=0):
    """Writes ``model.pkl.gz`` and its weights: `path` is a directory, or the name of the first."""
    path = path / "model.pkl.gz" if path.is_dir() else path
    beside = path.with_name(path.name.removesuffix(".pkl.gz") + ".weights.npy.gz")
    with gzip.open(beside, "wb", 2) as file:
        for array in arrays:
            np.save(file, array, allow_pickle=False)
    content = {"step": step, "flat_weights": 2, "flat_state": [], "input_signature": None}
    path.write_bytes(gzip.compress(pickle.dumps(content), 2))
    return path
