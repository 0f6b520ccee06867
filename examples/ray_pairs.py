"""Near-duplicate pairs of a list too large for one machine: of the output of ray_encode.py.

Usage: python examples/ray_pairs.py VECTORS OUTPUT [--threshold 0.8] [--clusters 64] [--near 3]

Each question goes to the `--near` clusters whose centres (k-means on a sample) are nearest to its vector.
Ray brings the questions of a cluster together (a shuffle by hash), and all pairs inside it are looked at. A
pair that shares several clusters is written by the first of them. Pairs that share none are missed.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import pyarrow
import ray
from sklearn.cluster import MiniBatchKMeans

from siamese.search.linkage import similar_pairs

SAMPLED = 256  # questions a cluster, that its centre is found with


def matrix(column: pyarrow.ChunkedArray) -> np.ndarray:
    """A column of lists of one length, [rows, length]."""
    whole = column.combine_chunks()
    return whole.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)


def centres_of(dataset: ray.data.Dataset, clusters: int) -> np.ndarray:
    """The centres of clusters of a sample, float32 [clusters, d]."""
    share = min(1.0, clusters * SAMPLED / max(1, dataset.count()))
    sample = np.stack([row["vector"] for row in dataset.random_sample(share, seed=0).take_all()])
    clusters = min(clusters, len(sample))
    return MiniBatchKMeans(clusters, n_init=1, random_state=0).fit(sample).cluster_centers_


def to_clusters(table: pyarrow.Table, centres: np.ndarray, near: int) -> pyarrow.Table:
    """Each question once for each of its nearest centres, `cluster`; all of them are in `clusters`."""
    near = min(near, len(centres))
    vectors = matrix(table["vector"])
    distances = (centres**2).sum(axis=1) - 2 * vectors @ centres.T  # [rows, clusters], less |v|^2
    found = np.argpartition(distances, near - 1, axis=1)[:, :near].astype(np.int32)
    rows = np.repeat(np.arange(len(table)), near)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(found[rows].ravel()), near)
    table = table.select(["id", "vector"]).take(rows)
    return table.append_column("clusters", lists).append_column("cluster", [found.ravel()])


def pairs_inside(table: pyarrow.Table, threshold: float) -> pyarrow.Table:
    """The pairs of one cluster above a cosine, of which it is the first that both share."""
    ids, clusters = table["id"].to_numpy(), matrix(table["clusters"])
    vectors = matrix(table["vector"])
    kept = [(ids[:0], ids[:0], np.zeros(0, np.float32))]
    for i, j, cosines in similar_pairs(vectors, threshold):
        shared = (clusters[i][:, :, None] == clusters[j][:, None, :]).any(axis=2)  # [pairs, near]
        first = np.where(shared, clusters[i], clusters.max() + 1).min(axis=1)
        own = first == table["cluster"][0].as_py()
        kept.append((ids[i[own]], ids[j[own]], cosines[own]))
    columns = map(np.concatenate, zip(*kept))
    return pyarrow.table(dict(zip(("id1", "id2", "similarity"), columns)))


def write_pairs(source: str, output: str, threshold: float, clusters: int, near: int) -> None:
    """Finds the pairs and writes them as Parquet: id1, id2, similarity."""
    dataset = ray.data.read_parquet(source, columns=["id", "vector"])
    centres = centres_of(dataset, clusters)
    dataset.map_batches(
        to_clusters, batch_format="pyarrow", fn_kwargs={"centres": centres, "near": near}
    ).groupby("cluster").map_groups(
        pairs_inside, batch_format="pyarrow", fn_kwargs={"threshold": threshold}
    ).write_parquet(output)


def main() -> None:
    """Reads the flags."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vectors")
    parser.add_argument("output")
    parser.add_argument("--threshold", type=float, default=0.8, help="a cosine [%(default)s]")
    parser.add_argument("--clusters", type=int, default=64, help="[%(default)s]")
    parser.add_argument("--near", type=int, default=3, help="clusters of a question [%(default)s]")
    flags = parser.parse_args()
    paths = map(os.path.abspath, (flags.vectors, flags.output))
    write_pairs(*paths, flags.threshold, flags.clusters, flags.near)


if __name__ == "__main__":
    main()
