"""With TensorFlow installed: the stand-ins give the real thing, and the loss runs on its tensors."""

import importlib.util
import textwrap

import golden
import numpy as np
import pytest
import reference
from programs import ROOT, STOCK_LOOP, output_of

from siamese import (
    ShapeError,
    TripletLossFn,
    cosine_similarity,
    l2_normalize,
    similarity_matrix,
)
from siamese.course.loss import CLOSEST, DIRECTIONS, hinge, loss_from_scores

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None,
        reason="needs TensorFlow: make tensorflow, or pip install -r requirements/tensorflow.txt",
    ),
]


@pytest.fixture(scope="module")
def tf():
    import tensorflow

    return tensorflow


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


def test_each_function_that_trax_took_in_passing_is_the_real_one_when_called():
    """The table of the TensorFlow-NumPy backend holds stand-ins since the import."""
    assert "ok" in output_of("""
        import siamese, trax, numpy as np
        from trax import fastmath
        with fastmath.use_backend("tensorflow-numpy"):
            np.testing.assert_allclose(fastmath.logsumexp(np.zeros(4, "f")), np.log(4), rtol=1e-6)
            assert fastmath.numpy.sum(fastmath.numpy.arange(4)) == 6
            key = fastmath.random.get_prng(0)
            assert fastmath.random.uniform(key, (2, 3)).shape == (2, 3)
            # Asked for a name that is not there, they say so, as any object.
            from trax.fastmath import tf as trax_tf
            assert not hasattr(trax_tf.tf_np_extensions, "no_such_name")
            assert not hasattr(trax_tf.tf_np_extensions.split, "no_such_name")
        import tensorflow as tf
        assert isinstance(tf.constant(1), tf.Tensor)
        print("ok")
    """)


def test_where_tensorflow_comes_first_it_is_used():
    assert "ok" in output_of("""
        import tensorflow, siamese, trax
        from trax import shapes
        assert shapes.tf is tensorflow
        assert "real TensorFlow" in siamese.compat.patched["tensorflow, gym during `import trax`"]
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


def test_the_documents_numbers_with_tensors(tf):
    """Document 000 does this in TensorFlow."""
    for closest, reduction, direction, expected in golden.COSTS:
        scores = tf.constant(golden.SCORES, tf.float32)
        found = loss_from_scores(scores, closest=closest, reduction=reduction, direction=direction)
        assert isinstance(found, tf.Tensor)
        assert float(found) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)
    for _, rows, v2, expected in golden.MATRICES:
        v1, v2 = tf.constant(golden.MATRIX_V1, tf.float64), tf.constant(v2, tf.float64)
        found = similarity_matrix(*((v1, v2) if rows == "v1" else (v2, v1)))
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=golden.MATRIX_TOLERANCE)
    for v1, v2, expected in golden.COSINE:
        found = cosine_similarity(tf.constant(v1, tf.float32), tf.constant(v2, tf.float32))
        assert float(found) == pytest.approx(expected, abs=golden.COSINE_TOLERANCE)
    found = l2_normalize(tf.constant(golden.NORMALIZE_X, tf.float32))
    np.testing.assert_allclose(
        found.numpy(), golden.NORMALIZE_EXPECTED, rtol=0, atol=golden.NORMALIZE_TOLERANCE
    )
    v1, v2 = (tf.constant(v, tf.float32) for v in (golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2))
    for closest, reduction, expected in golden.ASSIGNMENT:
        for loss in (TripletLossFn, tf.function(TripletLossFn, autograph=False)):
            found = loss(v1, v2, closest=closest, reduction=reduction)
            assert float(found) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("closest", CLOSEST[:2])
def test_gradients_through_tensors_equal_the_loops(tf, closest, direction):
    draw = np.random.RandomState(0)
    scores, same = draw.uniform(-1, 1, (5, 5)), draw.rand(5, 5) < 0.2
    for known in (None, same):
        options = {"closest": closest, "direction": direction}
        tensor = tf.constant(scores, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            loss = loss_from_scores(tensor, false_negative_mask=known, **options)
        options["same"] = known
        assert float(loss) == pytest.approx(reference.triplet_loss(scores, **options), abs=1e-14)
        expected = reference.triplet_gradient(scores, **options)
        np.testing.assert_allclose(tape.gradient(loss, tensor).numpy(), expected, atol=1e-14)


def test_wrong_shapes_of_tensors_are_named(tf):
    with pytest.raises(ShapeError, match=r"\(4,\).*\(4, 1\)"):
        hinge(tf.zeros(4), tf.zeros((4, 1)))
    with pytest.raises(ShapeError, match=r"\(2, 3\).*\(3, 3\)"):
        TripletLossFn(tf.zeros((2, 3)), tf.zeros((3, 3)))


BACKEND = """
    import siamese, trax, jax, numpy as np
    from trax import fastmath, shapes
    from trax import layers as tl
    from trax.supervised import training
    from siamese import Siamese, TripletLoss, TripletLossFn, similarity_matrix
    from siamese.course.loss import loss_from_scores
"""


def test_under_trax_tensorflow_numpy_backend_the_loss_gives_the_documents_numbers():
    """Trax 1.4.1's own backend runs on TensorFlow 2.21: values, gradients, compiled and not."""
    tests = str(ROOT / "tests")
    assert "ok" in output_of(
        textwrap.dedent(BACKEND)
        + textwrap.dedent(f"""
            import sys; sys.path.insert(0, {tests!r})
            import golden, reference
            fastmath.set_backend("tensorflow-numpy")
            from trax.fastmath import numpy as fastnp
            import tensorflow as tf
            scores = fastnp.asarray(golden.SCORES.astype("f"))
            for closest, reduction, direction, expected in golden.COSTS:
                options = dict(closest=closest, reduction=reduction, direction=direction)
                loss = lambda s: loss_from_scores(s, **options)
                for found in (loss(scores), fastmath.jit(loss)(scores)):
                    assert isinstance(found, tf.Tensor)
                    assert abs(float(found) - expected) < golden.LOSS_TOLERANCE
                found = fastmath.grad(loss)(scores)
                wanted = reference.triplet_gradient(golden.SCORES, **options)
                np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-6)
            for _, rows, v2, expected in golden.MATRICES:
                v1, v2 = fastnp.asarray(golden.MATRIX_V1 * 1.0), fastnp.asarray(v2)
                found = similarity_matrix(*((v1, v2) if rows == "v1" else (v2, v1)))
                np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=2e-8)
            v = [fastnp.asarray(v.astype("f")) for v in (golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2)]
            assert abs(float(TripletLossFn(*v)) - 0.703508) < golden.LOSS_TOLERANCE
            assert abs(float(TripletLoss()(tuple(v))) - 0.703508) < golden.LOSS_TOLERANCE
            print("ok")
        """)
    )


@pytest.mark.slow
def test_under_trax_tensorflow_numpy_backend_the_model_computes_and_trains():
    """Trax's layers run one by one, the LSTM's scan too."""
    assert "ok" in output_of(
        textwrap.dedent(BACKEND)
        + textwrap.dedent("""
            q = (np.array([[1, 2], [3, 4]], np.int32), np.array([[5, 2], [3, 1]], np.int32))
            model = Siamese(10, 4)
            model.init(shapes.signature(q))
            expected, weights = model(q), model.weights
            fastmath.set_backend("tensorflow-numpy")
            import tensorflow as tf
            model = Siamese(10, 4)
            model.init(shapes.signature(q))
            tower = jax.tree_util.tree_map(
                lambda a: fastmath.numpy.asarray(np.asarray(a)), weights[0]
            )
            model.weights = (tower, weights[1])
            for a, b in zip(model(q), expected):
                assert isinstance(a, tf.Tensor)
                np.testing.assert_allclose(a.numpy(), np.asarray(b), atol=1e-6)
            def batches():
                while True:
                    yield q
            task = training.TrainTask(
                batches(), TripletLoss(), trax.optimizers.Adam(0.05), n_steps_per_checkpoint=100
            )
            loop = training.Loop(Siamese(10, 4), task)
            before = float(TripletLoss()(loop.model(q)))
            loop.run(20)
            after = float(TripletLoss()(loop.model(q)))
            assert after < before - 0.01, (before, after)
            print("ok")
        """)
    )
