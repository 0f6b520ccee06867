"""TensorFlow Datasets; skipped where it is absent."""

import sys

import pytest

from siamese.data.pairs import read_tfds
from siamese.errors import DataError, MissingDependencyError

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
