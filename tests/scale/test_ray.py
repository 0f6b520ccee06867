"""Ray's local cluster with two workers: the examples ray_encode.py and ray_pairs.py on a small list."""

import csv
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from small_corpus import corpus_detector, corpus_questions

from siamese.search.linkage import similar_pairs

ray = pytest.importorskip("ray", reason="needs Ray, LanceDB and Qdrant: make scale")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import pyarrow.compute  # noqa: E402
import ray_encode  # noqa: E402
import ray_pairs  # noqa: E402
from pyarrow import parquet  # noqa: E402

Encode = ray_encode.Encode


@pytest.fixture(scope="module")
def cluster():
    paths = os.pathsep.join([str(ROOT), str(ROOT / "examples")])
    environment = {"env_vars": {"PYTHONPATH": paths}}
    options = {"include_dashboard": False, "object_store_memory": 200 << 20, "log_to_driver": False}
    yield ray.init("local", num_cpus=2, runtime_env=environment, **options)
    ray.shutdown()


@pytest.fixture(scope="module")
def questions():
    return corpus_questions(400)


@pytest.fixture
def folder(tmp_path, questions, monkeypatch):
    """A model, and four CSV files of questions."""
    corpus_detector().save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    for part in range(4):
        rows = range(part * 100, part * 100 + 100)
        with open(tmp_path / "in" / f"{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["id", "question"], *([i, questions[i]] for i in rows)])
    monkeypatch.setattr(ray_encode, "BATCH", 50)
    return tmp_path


def encode(folder, encoder=Encode):
    ray_encode.Encode = encoder
    try:
        paths = (str(folder / name) for name in ("model", "in", "out"))
        ray_encode.encode(*paths, "id", "question", workers=2)
    finally:
        ray_encode.Encode = Encode


def written(folder):
    """The ids, texts and vectors of the output, by rising id."""
    table = parquet.read_table(folder / "out").sort_by("id")
    return table["id"].to_pylist(), table["question"].to_pylist(), ray_pairs.matrix(table["vector"])


@pytest.mark.parametrize("killed", [False, True])
def test_a_list_is_encoded_also_when_a_worker_is_killed(cluster, folder, questions, killed):
    mark = folder / "killed"

    class Killed(Encode):
        def __call__(self, table):
            if killed and 210 in table["id"].to_pylist() and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(table)

    encode(folder, Killed)
    assert mark.exists() == killed
    ids, texts, vectors = written(folder)
    assert (ids, texts) == (list(range(400)), questions)
    np.testing.assert_allclose(vectors, corpus_detector().encode(questions), atol=1e-6)


def test_pairs_inside_clusters_are_those_of_the_list(questions):
    """Without Ray's shuffle: rows of a cluster are brought together here."""
    vectors = corpus_detector().encode(questions)
    found = [(i.tolist(), j.tolist()) for i, j, _ in similar_pairs(vectors, 0.9)]
    wanted = {pair for i, j in found for pair in zip(i, j)}
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), vectors.shape[1])
    table = pyarrow.table({"id": range(len(questions)), "vector": lists})
    # In one cluster nothing is missed; in several no pair is written twice.
    for clusters, near, share in ((1, 1, 1.0), (8, 3, 0.9)):
        placed = ray_pairs.to_clusters(table, vectors[:clusters], near)
        pairs = []
        for cluster in range(clusters):
            inside = placed.filter(pyarrow.compute.equal(placed["cluster"], cluster))
            made = ray_pairs.pairs_inside(inside, 0.9)
            pairs += zip(made["id1"].to_pylist(), made["id2"].to_pylist())
        found = {tuple(sorted(pair)) for pair in pairs}
        assert len(found) == len(pairs) and found <= wanted
        assert len(wanted) > 100 and len(found) >= share * len(wanted)
