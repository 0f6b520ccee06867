"""Ray's local cluster with two workers: examples/ray_encode.py on a small list."""

import csv
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from small_corpus import corpus_detector, corpus_questions

ray = pytest.importorskip("ray", reason="needs Ray and Qdrant: make scale")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples"))

import ray_encode  # noqa: E402
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
    return (table[name].to_pylist() for name in ("id", "question", "vector"))


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
