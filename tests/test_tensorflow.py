"""With TensorFlow installed: the stand-ins give the real thing, and the loss runs on its tensors."""

import golden
import numpy as np
import pytest
from test_compat import output_of

from siamese import l2_normalize, similarity_matrix, standins
from siamese.loss import loss_from_scores
from siamese.quiet import quiet_load

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        not standins.installed("tensorflow"),
        reason="needs TensorFlow: make tensorflow, or pip install -r requirements-tensorflow.txt",
    ),
]


@pytest.fixture(scope="module")
def tf():
    with quiet_load():
        import tensorflow
    return tensorflow


def test_training_and_prediction_do_not_load_it():
    assert "not loaded" in output_of("""
        import sys, random, siamese, functools, numpy as np
        from siamese import Siamese, TripletLoss, data_generator, train_model
        q = [[3, 4], [5], [6, 7, 8], [9]]
        batches = lambda: data_generator(q, q, 2)
        loop = train_model(functools.partial(Siamese, 12, 4), TripletLoss, batches(), batches(), None)
        loop.run(2)
        print("loaded" if "tensorflow" in sys.modules else "not loaded")
    """)


def test_touching_a_stand_in_later_gives_the_real_thing():
    assert "ok" in output_of("""
        import siamese, trax, sys
        from trax.data import tf_inputs
        assert "tensorflow" not in sys.modules
        tensor = tf_inputs.tf.constant([1, 2])
        import tensorflow
        assert isinstance(tensor, tensorflow.Tensor)
        assert tf_inputs.tf.nest.flatten([1, [2]]) == [1, 2]
        print("ok")
    """)


def test_as_keras_wraps_a_layer():
    assert "ok" in output_of("""
        import siamese, trax, numpy as np
        layer = trax.AsKeras(trax.layers.Fn("Double", lambda x: 2 * x))
        import tensorflow as tf
        assert isinstance(layer, tf.keras.layers.Layer), type(layer).__mro__
        print("ok")
    """)


def test_where_tensorflow_comes_first_it_is_used():
    assert "ok" in output_of("""
        import tensorflow, siamese, trax
        from trax import shapes
        assert shapes.tf is tensorflow
        print("ok")
    """)


@pytest.mark.parametrize(("closest", "reduction", "direction", "expected"), golden.COSTS)
def test_the_loss_of_tensors_gives_the_documents_costs(tf, closest, reduction, direction, expected):
    """Document 000 does this in TensorFlow."""
    scores = tf.constant(golden.SCORES, tf.float32)
    found = loss_from_scores(scores, closest=closest, reduction=reduction, direction=direction)
    assert isinstance(found, tf.Tensor)
    assert float(found) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


@pytest.mark.parametrize(("document", "rows", "v2", "expected"), golden.MATRICES)
def test_the_similarity_matrix_of_tensors(tf, document, rows, v2, expected):
    v1, v2 = tf.constant(golden.MATRIX_V1, tf.float64), tf.constant(v2, tf.float64)
    found = similarity_matrix(*((v1, v2) if rows == "v1" else (v2, v1)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=golden.MATRIX_TOLERANCE)


def test_gradients_through_tensors_equal_those_of_jax(tf):
    import jax

    scores = np.random.RandomState(0).uniform(-1, 1, (5, 5)).astype(np.float32)
    for options in ({}, {"closest": "below_positive", "direction": "both"}):
        tensor = tf.constant(scores)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            loss = loss_from_scores(tensor, **options)
        expected = jax.grad(lambda s, o=options: loss_from_scores(s, **o))(
            jax.numpy.asarray(scores)
        )
        np.testing.assert_allclose(tape.gradient(loss, tensor).numpy(), expected, atol=1e-6)
    zeros = tf.zeros((2, 3))
    with tf.GradientTape() as tape:
        tape.watch(zeros)
        total = tf.reduce_sum(l2_normalize(zeros))
    assert np.all(tape.gradient(total, zeros).numpy() == 0)


def test_under_trax_tensorflow_numpy_backend():
    assert "ok" in output_of("""
        import siamese, trax
        from trax import fastmath
        import numpy as np
        from siamese import TripletLossFn
        with fastmath.use_backend("tensorflow-numpy"):
            from trax.fastmath import numpy as fastnp
            v = fastnp.asarray(np.eye(3, dtype="float32"))
            found = TripletLossFn(v, v[::-1])
            import tensorflow as tf
            assert isinstance(found, tf.Tensor), type(found)
        assert abs(float(found) - float(TripletLossFn(np.eye(3), np.eye(3)[::-1]))) < 1e-6
        print("ok")
    """)
