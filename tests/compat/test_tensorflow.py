"""With TensorFlow installed: where it is loaded before Trax, Trax uses it."""

import importlib.util
import textwrap

import pytest
from programs import STOCK_LOOP, output_of


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None,
    reason="needs TensorFlow: make tensorflow, or pip install -r requirements/tensorflow.txt",
)
def test_where_tensorflow_comes_first_it_is_used(tmp_path):
    code = f"import tensorflow\nFOLDER = {str(tmp_path)!r}\n" + textwrap.dedent(STOCK_LOOP)
    assert "ok" in output_of(
        code
        + textwrap.dedent("""
            from trax import shapes
            assert shapes.tf is tensorflow
            assert isinstance(shapes.ShapeDtype(tensorflow.TensorShape([2])).shape, tuple)
            loop().run(2)
            assert loop().step == 2
            assert tensorflow.io.gfile.glob(FOLDER + "/train/events.*")
            print("ok")
        """)
    )
