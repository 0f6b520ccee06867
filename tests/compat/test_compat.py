"""Trax's import: quick, quiet, without TensorFlow and Gym, and everything put back after it.

Each case runs in a process of its own, because what was imported before matters.
"""

import gzip
import pickle
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from programs import STOCK_LOOP, output_of, run

import siamese


def test_importing_siamese_and_trax_is_silent_and_leaves_the_process_as_a_learner_wants_it():
    done = run("""
        import inspect, sys, matplotlib
        matplotlib.use("svg")
        before = (inspect.stack, inspect.getframeinfo)
        import siamese
        heavy = [m for m in ("jax", "trax", "nltk", "sklearn") if m in sys.modules]
        from jax.interpreters.xla import DeviceArray      # before Trax
        import trax
        heavy += [m for m in sys.modules if m.split(".")[0] in ("tensorflow", "gym", "tensorflow_text")]
        assert not heavy, heavy
        assert (inspect.stack, inspect.getframeinfo) == before
        layer = sys.modules["trax.layers.assert_shape"].AssertShape("ab")
        assert "<string>:" in layer._message, layer._message     # still names its caller
        assert matplotlib.get_backend() == "svg"
        assert trax.shapes.ShapeDtype((2, 3)).shape == (2, 3)    # asks isinstance(x, tf.TensorShape)
        from trax import layers as tl
        from trax.supervised import training
        from trax.fastmath import numpy as fastnp
        from trax.supervised import trainer_lib
        import random as rnd
        import numpy as np
        drawn = []
        for _ in range(2):
            trainer_lib.init_random_number_generators(34)
            drawn.append((rnd.random(), np.random.rand()))
        assert drawn[0] == drawn[1]
        assert isinstance(fastnp.ones(3), DeviceArray)
        assert not isinstance(np.ones(3), DeviceArray)
        print("\\n".join(siamese.compat.patched))
        import warnings, gzip, io
        print("from here on they are mine", file=sys.stderr)
        warnings.warn("mine", DeprecationWarning)
        warnings.warn("also mine", FutureWarning)
        class Raw(io.BytesIO):
            mode = "wb"
        gzip.GzipFile(fileobj=Raw())          # my own, without naming the mode
    """)
    before, _, mine = done.stderr.partition("from here on they are mine\n")
    assert (done.returncode, before) == (0, "")
    for warning in (
        "DeprecationWarning: mine",
        "FutureWarning: also mine",
        "GzipFile was opened for",
    ):
        assert warning in mine
    for name in ("inspect in trax", "DeviceArray", "tree_unflatten", "tensorflow, gym", "host_count",
                 "Loop(eval_task=...)", "Loop.load_checkpoint", "Layer.init_from_file"):  # fmt: skip
        assert name in done.stdout


@pytest.mark.slow
def test_names_come_back_when_jax_and_trax_are_loaded_already():
    """The finders stay as they are while ours looks: another thread may be walking through them."""
    code = """
        import siamese.compat as compat     # prepares; now undo it, as if siamese came late
        import sys, jax, trax, jax.interpreters.xla as xla
        from trax.supervised import trainer_lib
        assert xla.DeviceArray is jax.Array
        del xla.DeviceArray, trainer_lib.init_random_number_generators
        sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != "siamese.compat"]
        compat.prepare()
        compat.prepare()
        assert xla.DeviceArray is jax.Array and trainer_lib.init_random_number_generators
        [hook] = [f for f in sys.meta_path if type(f).__module__ == "siamese.compat"]
        before = list(sys.meta_path)
        class Witness:
            def find_spec(self, name, path=None, target=None):
                assert sys.meta_path == [*before, witness], "changed while looking for " + name
        witness = Witness()
        sys.meta_path.append(witness)
        compat.after_import("no_such_module", print)
        assert hook.find_spec("no_such_module") is None     # every finder is asked
        assert hook.find_spec("trax").name == "trax" and hook.find_spec("json") is None
        print("ok")
        import warnings
        warnings.warn("mine", DeprecationWarning)
    """
    done = run(code, "-W", "error")  # No warning of Trax's import is an error, and mine is one.
    assert (done.returncode, done.stdout) == (1, "ok\n")
    assert "DeprecationWarning: mine" in done.stderr


@pytest.mark.slow
def test_all_is_put_back_when_the_import_of_trax_fails():
    """One module on the way is broken, early or late; the next attempt finds it mended."""
    assert "ok" in output_of("""
        import siamese, sys, inspect, importlib.abc, warnings
        import matplotlib

        class Broken(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name == broken:
                    raise RuntimeError("broken module")

        def state():
            return (
                inspect.stack, inspect.getframeinfo, matplotlib.use, list(warnings.filters),
                [f for f in sys.meta_path if type(f).__module__.startswith("siamese")],
            )

        fault = Broken()
        sys.meta_path.insert(0, fault)
        before = state()
        for broken in ("gin", "trax.trax2keras"):
            try:
                import trax
            except RuntimeError as error:
                assert "broken module" in str(error)
            else:
                raise SystemExit("trax was imported")
            assert state() == before
            left = [m for m in sys.modules if m.split(".")[0] in ("tensorflow", "gym", "trax")]
            assert not left, left
        sys.meta_path.remove(fault)
        import trax
        from trax.supervised import training
        assert trax.layers.Dense(2) and "tensorflow" not in sys.modules
        # The new modules are mended as the first ones were.
        assert sys.modules["trax.layers.assert_shape"].inspect is not inspect
        assert "siamese" in sys.modules["trax.fastmath.numpy"].tree_unflatten.__module__
        print("ok")
    """)


# The course's own cell of 2020, with Trax's Loop and `eval_task`.
COURSE_CELL = """
import siamese
import numpy as np, trax
from trax import layers as tl
from trax.supervised import training

def Siamese(vocab_size, d_model):
    tower = tl.Serial(
        tl.Embedding(vocab_size, d_model), tl.LSTM(d_model), tl.Mean(axis=1),
        tl.Fn("Normalize", lambda x: siamese.l2_normalize(x)),
    )
    return tl.Parallel(tower, tower)

def batches():
    while True:
        yield np.array([[2, 3, 4, 1], [5, 6, 1, 1]]), np.array([[2, 3, 1, 1], [5, 7, 1, 1]])

def train(vocab_size, d_model):
    train_task = training.TrainTask(
        labeled_data=batches(), loss_layer=siamese.TripletLoss(), optimizer=trax.optimizers.Adam(0.01)
    )
    eval_task = training.EvalTask(labeled_data=batches(), metrics=[siamese.TripletLoss()])
    return training.Loop(
        Siamese(vocab_size, d_model), train_task, eval_task=eval_task, output_dir=FOLDER
    )
"""


@pytest.mark.slow
def test_another_models_directory_is_one_sentence_with_traxs_own_loop(tmp_path, capsys):
    cell = {"FOLDER": str(tmp_path)}
    exec(COURSE_CELL, cell)
    loop = cell["train"](30, 8)
    assert [task.metric_names for task in loop.eval_tasks] == [["TripletLoss"]]
    loop.run(1)
    assert "eval  TripletLoss" in capsys.readouterr().out  # `eval_task` was heard.
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    words = "is of another model: it has an array of shape (30, 8) where the model has "
    for sizes in ((40, 8), (30, 4)):
        with pytest.raises(siamese.CheckpointError) as refused:
            cell["train"](*sizes)
        assert words in str(refused.value) and "\n" not in str(refused.value)
        assert f"{sizes}. Make the model with the vocabulary size" in str(refused.value)
        for weights_only in (False, True):
            with pytest.raises(siamese.CheckpointError) as refused:
                model = cell["Siamese"](*sizes)
                model.init_from_file(f"{tmp_path}/model.pkl.gz", weights_only=weights_only)
            assert words in str(refused.value)
    cell["Siamese"](30, 8).init_from_file(f"{tmp_path}/model.pkl.gz")
    assert capsys.readouterr().out == ""
    assert {file: file.read_bytes() for file in before} == before


def test_eval_task_and_eval_tasks_together_are_refused():
    from trax.supervised import training

    with pytest.raises(siamese.ArgumentError, match="eval_tasks or eval_task"):
        training.Loop(siamese.Siamese(10, 4), None, eval_task=[], eval_tasks=[])


# Before `import siamese`: no package of those names can be found, whether installed or not.
NOT_INSTALLED = """
import importlib.abc, sys
class NotInstalled(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package in ("tensorflow", "tensorflow_datasets", "tensorflow_text", "gym"):
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
sys.meta_path.insert(0, NotInstalled())
import siamese, trax
"""


@pytest.mark.slow
def test_a_stock_loop_trains_where_tensorflow_is_missing_and_other_uses_say_what_to_do(tmp_path):
    uses = {
        "trax.data.TFDS('glue/qqp', keys=('a', 'b'))()": "tensorflow_datasets.*install tensorflow_datasets",
        "from trax.rl import space_serializer as s; s.gym.spaces.Box(0, 1)": "gym.*install gym",
        "trax.fastmath.set_backend('tensorflow-numpy'); trax.fastmath.numpy.ones(3)": (
            "install tensorflow and import it before Trax"
        ),
    }
    code = f"""
first = loop(); first.run(2)
second = loop(); assert second.step == 2
for a, b in zip(first.model.weights[0], second.model.weights[0]):
    np.testing.assert_array_equal(a, b)
second.run(2)
assert np.abs(np.array(first.model.weights[0][0]) - second.model.weights[0][0]).max() > 0
print("step", second.step)
for code in {list(uses)!r}:
    try:
        exec(code)
    except siamese.MissingDependencyError as error:
        print(error)
"""
    done = run(f"FOLDER = {str(tmp_path)!r}\n{NOT_INSTALLED}" + textwrap.dedent(STOCK_LOOP) + code)
    assert done.returncode == 0 and "GzipFile" not in done.stderr, done.stderr
    assert len(list((tmp_path / "train").glob("events.*"))) == 2
    shown = done.stdout.splitlines()
    messages = [line for line in shown[shown.index("step 4") + 1 :] if not line.startswith("  ")]
    for message, expected in zip(messages, uses.values(), strict=True):
        assert re.search(expected, message), message


class _RunsCode:
    """Pickled, it asks the reader to create a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def test_trax_own_readers_run_nothing_of_a_strangers_file(tmp_path):
    from trax.data import inputs
    from trax.supervised import training

    marker, file = tmp_path / "ran", tmp_path / "model.pkl.gz"
    content = {"flat_weights": [_RunsCode(marker)], "flat_state": [], "input_signature": None}
    file.write_bytes(gzip.compress(pickle.dumps(content)))
    pickle.loads(gzip.decompress(file.read_bytes()))
    assert marker.exists()  # The file is hostile indeed:
    marker.unlink()
    plain = tmp_path / "data_counters0.pkl"
    plain.write_bytes(pickle.dumps(_RunsCode(marker)))
    for read in (
        lambda: siamese.Siamese(10, 4).init_from_file(str(file)),
        lambda: training.unpickle_from_file(str(file), gzip=True),
        lambda: training.unpickle_from_file(str(plain)),
        lambda: inputs.load_data_counters(str(tmp_path)),
    ):
        with pytest.raises(siamese.CheckpointError, match="refused"):
            read()
    assert not marker.exists()


@pytest.mark.slow
def test_trax_own_readers_still_read_honest_files(tmp_path):
    from trax import layers as tl
    from trax import shapes
    from trax.supervised import training

    signature = (shapes.ShapeDtype((2, 3), np.int32),) * 2
    model = siamese.Siamese(10, 4)
    model.init(signature)
    file = str(tmp_path / "model.pkl.gz")
    model.save_to_file(file, input_signature=signature)
    tokens = np.array([[2, 3, 1], [4, 5, 6]], np.int32)
    for weights_only in (False, True):
        again = siamese.Siamese(10, 4)
        again.init_from_file(file, weights_only=weights_only)
        for expected, found in zip(model((tokens, tokens)), again((tokens, tokens)), strict=True):
            np.testing.assert_array_equal(expected, found)
    layers = tl.Embedding(10, 4), tl.LSTM(4), tl.LSTM(4), tl.Mean(axis=1)
    larger = tl.Parallel(*[tl.Serial(*layers)] * 2)
    with pytest.raises(siamese.CheckpointError, match="3 arrays where the model has 5"):
        larger.init_from_file(file)
    content = {"step": 3, "slots": [1.5]}
    training.pickle_to_file(content, str(tmp_path / "a.pkl"), gzip=True)
    assert training.unpickle_from_file(str(tmp_path / "a.pkl"), gzip=True) == content
