"""With TensorFlow installed: where it is loaded before Trax, Trax uses it; it reads our event files."""

import importlib.util
import textwrap

import pytest
from programs import STOCK_LOOP, output_of

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None,
        reason="needs TensorFlow: make tensorflow, or pip install -r requirements/tensorflow.txt",
    ),
]


def test_where_tensorflow_comes_first_it_is_used():
    assert "ok" in output_of("""
        import tensorflow, siamese, trax
        from trax import shapes
        assert shapes.tf is tensorflow
        assert isinstance(shapes.ShapeDtype(tensorflow.TensorShape([2])).shape, tuple)
        print("ok")
    """)


@pytest.mark.slow
def test_event_files_are_read_by_tensorflow_and_written_by_it_where_it_is_loaded(tmp_path):
    for first in ("", "import tensorflow"):
        folder = tmp_path / (first or "light")
        shown = output_of(
            f"{first}\nFOLDER = {str(folder)!r}\n"
            + textwrap.dedent(STOCK_LOOP)
            + textwrap.dedent("""
                loop().run(2)
                assert loop().step == 2
                loaded = "tensorflow" in sys.modules
                import tensorflow as tf, glob
                tags = set()
                for file in glob.glob(FOLDER + "/train/events.*"):
                    for record in tf.data.TFRecordDataset(file):     # checks the checksums
                        event = tf.compat.v1.Event.FromString(record.numpy())
                        tags |= {(event.step, value.tag) for value in event.summary.value}
                assert {(1, "metrics/Loss"), (2, "metrics/Loss")} <= tags, tags
                print("loaded" if loaded else "not loaded")
            """)
        )
        assert shown.split("\n")[-2] == ("loaded" if first else "not loaded")
