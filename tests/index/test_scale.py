"""Beyond one machine: Ray on a local cluster, Qdrant on an export."""

import csv
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from small_models import make_detector

import siamese
from siamese.index import QuestionIndex
from siamese.index.export import export_parquet

ray = pytest.importorskip("ray", reason="needs Ray and Qdrant: make scale")
pytest.importorskip("qdrant_client", reason="needs Ray and Qdrant: make scale")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import qdrant_search  # noqa: E402
import ray_duplicates  # noqa: E402
import ray_encode  # noqa: E402
from pyarrow import parquet  # noqa: E402


def corpus_questions(count):
    pairs = siamese.embedded_corpus().train
    return list(dict.fromkeys([*pairs.question1, *pairs.question2]))[:count]


def corpus_detector():
    words = " ".join(corpus_questions(800)).lower().replace("?", " ?").split()
    return make_detector(d=16, words=dict.fromkeys(words))


@contextmanager
def small_cluster():
    environment = {"env_vars": {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'examples'}"}}
    options = {
        "include_dashboard": False,
        "object_store_memory": 200 << 20,
        "log_to_driver": False,
    }
    with ray.init("local", num_cpus=2, runtime_env=environment, **options):
        yield


def test_a_list_is_encoded_though_a_worker_is_killed(tmp_path, monkeypatch):
    questions, mark = corpus_questions(400), tmp_path / "killed"
    corpus_detector().save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    for part in range(4):
        rows = [*enumerate(questions)][part * 100 :][:100]
        with open(tmp_path / "in" / f"{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["id", "question"], *rows])
    encode = ray_encode.Encode

    class Killed(encode):
        def __call__(self, table):
            if 210 in table["id"].to_pylist() and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(table)

    monkeypatch.setattr(ray_encode, "BATCH", 50)
    monkeypatch.setattr(ray_encode, "Encode", Killed)
    with small_cluster():
        paths = (str(tmp_path / name) for name in ("model", "in", "out"))
        ray_encode.encode(*paths, "id", "question", workers=2)
    table = parquet.read_table(tmp_path / "out").sort_by("id")
    assert mark.exists() and table["id"].to_pylist() == list(range(400))
    assert table["question"].to_pylist() == questions
    expected = corpus_detector().encode(questions)
    np.testing.assert_allclose(table["vector"].to_pylist(), expected, atol=1e-6)


def test_duplicates_are_those_of_one_machine_though_a_worker_is_killed(
    tmp_path, monkeypatch
):
    questions, mark, threshold = corpus_questions(400), tmp_path / "killed", 0.9
    detector = corpus_detector()
    detector.save(tmp_path / "model")
    with open(tmp_path / "questions.csv", "w", newline="") as file:
        rows = [["id", "question"], *enumerate(questions)]
        csv.writer(file).writerows(rows)
    compare = ray_duplicates.Compare

    class Killed(compare):
        def __call__(self, row):
            if "00001-00002" in row["pairs"] and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(row)

    monkeypatch.setattr(ray_encode, "BLOCK", 100)
    monkeypatch.setattr(ray_encode, "BATCH", 50)
    monkeypatch.setattr(ray_duplicates, "Compare", Killed)
    paths = [str(tmp_path / name) for name in ("model", "questions.csv", "out")]
    options = (threshold, "id", "question", 2)
    with small_cluster():
        counts = ray_duplicates.find_duplicates(*paths, *options)
        again = ray_duplicates.find_duplicates(*paths, *options)

    vectors = detector.encode(questions)
    first, second = np.nonzero(np.triu(vectors @ vectors.T > threshold, 1))
    expected = {*map(frozenset, zip(first.tolist(), second.tolist()))}
    pairs = parquet.read_table(tmp_path / "out" / "pairs").to_pydict()
    assert {*map(frozenset, zip(pairs["id1"], pairs["id2"]))} == expected
    ids = np.array([pairs["id1"], pairs["id2"]])
    cosines = np.vecdot(*vectors[ids])
    np.testing.assert_allclose(pairs["similarity"], cosines, atol=2e-6)
    assert pairs["question1"] == [questions[at] for at in ids[0]]

    groups = siamese.duplicate_groups(vectors, threshold)
    table = parquet.read_table(tmp_path / "out" / "groups.parquet").to_pandas()
    assert {*map(frozenset, table.groupby("group")["id"].apply(list))} == {
        frozenset(member.row for member in group) for group in groups
    }
    assert mark.exists() and counts == again == (len(expected), len(groups))
    assert len(groups) > 10


def test_qdrant_finds_what_the_index_finds(tmp_path):
    corpus = corpus_questions(800)
    questions = [text for at, text in enumerate(corpus) if at % 20]
    index = QuestionIndex.build(corpus_detector(), questions[1:])
    index.remove([3])
    index.add(questions[0], ids=["added"])
    export_parquet(index, tmp_path / "old.parquet")
    engine = qdrant_search.QdrantEngine(
        str(tmp_path / "old.parquet"), str(tmp_path / "database")
    )
    new = [*corpus[::20], "how how how old", "xyzzy"]
    shares = qdrant_search.recalls(engine, index, new)
    assert (
        set(shares) == {"vectors", "words", "hybrid"} and min(shares.values()) >= 0.99
    ), shares
