"""Parquet files and TensorFlow Datasets; each skipped where its optional package is absent."""

import gzip
import sys

import pytest

from siamese.data.pairs import iter_pairs, read_pairs, read_tfds
from siamese.errors import DataError, MissingDependencyError

COLUMNS = {
    "idx": [3, 4, 5],
    "question1": ["Why?", "Is it cold?", None],
    "question2": ["Why is that?", "Où est la gare?", "x?"],
    "label": [1, 0, 1],
}


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: siamese[parquet]")


def write_parquet(parquet, path, columns):
    import pyarrow

    parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("zipped", [False, True])
def test_parquet(parquet, tmp_path, zipped):
    path = write_parquet(parquet, tmp_path / "pairs", {**COLUMNS, "more": [[1], [2], [3]]})
    if zipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    pairs = read_pairs(path)
    assert pairs.question1 == COLUMNS["question1"][:2]
    assert pairs.question2 == COLUMNS["question2"][:2]
    assert pairs.is_duplicate.tolist() == [True, False] and pairs.ids == ["3", "4"]
    assert "1 rows with an empty question (row 3)" in str(pairs.report)
    assert [part.ids for part in iter_pairs(path, chunk_rows=1)] == [["3"], ["4"]]


def test_parquet_with_bool_labels(parquet, tmp_path):
    columns = {**COLUMNS, "question1": ["a", "b", "c"], "label": [True, False, True]}
    path = write_parquet(parquet, tmp_path / "pairs", columns)
    assert read_pairs(path, strict=True).is_duplicate.tolist() == [True, False, True]


def test_bad_parquet(parquet, tmp_path):
    path = tmp_path / "pairs"
    write_parquet(parquet, path, {"question1": ["a"], "question2": ["b"]})
    with pytest.raises(DataError, match="no column is_duplicate; found: question1, question2"):
        read_pairs(path)
    write_parquet(parquet, path, {**COLUMNS, "label": [1, 2, 0]})
    with pytest.raises(DataError, match="row 2: is_duplicate is 2; it must be 0"):
        read_pairs(path)
    write_parquet(parquet, path, {**COLUMNS, "question2": [1, 2, 3]})
    with pytest.raises(DataError, match="row 1, column question2: 1 is not text"):
        read_pairs(path)
    whole = write_parquet(parquet, path, COLUMNS).read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match="the Parquet file cannot be read"):
        read_pairs(path)


def test_parquet_without_pyarrow_says_how_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "pairs"
    path.write_bytes(b"PAR1 and so on")
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        read_pairs(path)


# -- TensorFlow Datasets ----------------------------------------------------------------------

QQP = [
    {"question1": "Why?", "question2": "Why is that?", "label": 1, "idx": 7},
    {"question1": "Où?", "question2": "Quand?", "label": 0, "idx": 8},
    {"question1": "", "question2": "x?", "label": 0, "idx": 9},
]


def test_tfds_without_tensorflow_says_how_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(MissingDependencyError, match="pip install tensorflow tensorflow-datasets"):
        read_tfds("train")


@pytest.fixture
def tfds():
    pytest.importorskip("tensorflow", reason="needs requirements-tensorflow.txt")
    return pytest.importorskip("tensorflow_datasets", reason="needs requirements-tensorflow.txt")


def qqp_dataset(rows):
    """What tfds.testing.mock_data calls in place of the builder's own as_dataset."""

    def as_dataset(builder, *args, **kwargs):
        import tensorflow as tf

        def generate():
            yield from rows

        types = {name: feature.tf_dtype for name, feature in builder.info.features.items()}
        assert set(types) == {"question1", "question2", "label", "idx"}
        return tf.data.Dataset.from_generator(
            generate,
            output_signature={n: tf.TensorSpec((), t) for n, t in types.items()},
        )

    return as_dataset


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tfds_rows(tfds, tmp_path):
    with tfds.testing.mock_data(as_dataset_fn=qqp_dataset(QQP)):
        pairs = read_tfds("validation", data_dir=tmp_path)
    assert pairs.question1 == ["Why?", "Où?"] and pairs.question2 == ["Why is that?", "Quand?"]
    assert pairs.is_duplicate.tolist() == [True, False] and pairs.ids == ["7", "8"]
    assert "1 rows with an empty question (row 3)" in str(pairs.report)


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tfds_with_its_own_random_rows(tfds, tmp_path):
    with tfds.testing.mock_data(num_examples=12):
        pairs = read_tfds("train", data_dir=tmp_path)
    assert pairs.report.rows == 12 and len(pairs) == pairs.report.kept


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tfds_split_without_labels_and_unknown_split(tfds, tmp_path):
    unlabelled = [{**row, "label": -1} for row in QQP]
    with (
        tfds.testing.mock_data(as_dataset_fn=qqp_dataset(unlabelled)),
        pytest.raises(DataError, match="glue/qqp, test, row 1: is_duplicate is -1; it must be 0"),
    ):
        read_tfds("test", data_dir=tmp_path)


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tfds_failures_say_what_there_is(tfds, tmp_path):
    def as_dataset(builder, *args, **kwargs):  # as the real builder does; the mock checks no split
        raise ValueError(
            "Unknown split 'nosuch'. Should be one of ['train', 'validation', 'test']."
        )

    with (
        tfds.testing.mock_data(as_dataset_fn=as_dataset),
        pytest.raises(DataError, match=r"split 'nosuch': Unknown split .* Its splits are train"),
    ):
        read_tfds("nosuch", data_dir=tmp_path)
