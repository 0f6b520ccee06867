"""Trax's import: quick, quiet, without TensorFlow and Gym, and everything put back after it.

Each case runs in a process of its own, because what was imported before matters.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from siamese import standins

ROOT = Path(__file__).parents[1]
needs_no_tensorflow = pytest.mark.skipif(
    standins.installed("tensorflow"), reason="what happens where TensorFlow is not installed"
)


def run(code, *flags, path=""):
    """Runs the code in a new interpreter; returns the finished process."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([path, str(ROOT)]).strip(os.pathsep)}
    env.pop("PYTHONWARNINGS", None)
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
    )


def output_of(code, *flags, path=""):
    done = run(code, *flags, path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_siamese_and_trax_is_silent_and_loads_neither_tensorflow_nor_gym():
    done = run("""
        import siamese
        import sys
        import trax
        found = [m for m in sys.modules if m.split(".")[0] in ("tensorflow", "gym", "tensorflow_text")]
        assert not found, found
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_importing_siamese_alone_loads_nothing_heavy():
    assert output_of("""
        import sys
        import siamese
        print([m for m in ("jax", "numpy", "trax", "nltk", "sklearn") if m in sys.modules])
    """).strip() in ("[]", "['numpy']")


def test_a_learners_own_imports_work_unchanged():
    assert "ok" in output_of("""
        import siamese
        from jax.interpreters.xla import DeviceArray
        import trax
        from trax import layers as tl
        from trax.supervised import training
        from trax.fastmath import numpy as fastnp
        from trax.supervised import trainer_lib
        import random as rnd
        trainer_lib.init_random_number_generators(34)
        assert isinstance(fastnp.ones(3), DeviceArray)
        print("ok")
    """)


def test_names_come_back_when_jax_and_trax_are_loaded_already():
    assert "ok" in output_of("""
        import siamese.compat as compat     # prepares; now undo it, as if siamese came late
        import sys, jax, trax, jax.interpreters.xla as xla
        from trax.supervised import trainer_lib
        del xla.DeviceArray, trainer_lib.init_random_number_generators
        sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != "siamese.compat"]
        compat._prepared = False
        compat.prepare()
        compat.prepare()
        assert xla.DeviceArray is jax.Array and trainer_lib.init_random_number_generators
        assert sum(type(f).__module__ == "siamese.compat" for f in sys.meta_path) == 1
        print("ok")
    """)


def test_all_is_put_back_when_the_import_of_trax_fails(tmp_path):
    (tmp_path / "gin").mkdir()
    (tmp_path / "gin" / "__init__.py").write_text("raise RuntimeError('broken gin')")
    assert "ok" in output_of(
        """
        import siamese, sys, inspect
        import matplotlib
        before = (inspect.stack, inspect.getframeinfo, matplotlib.use)
        try:
            import trax
        except RuntimeError as error:
            assert "broken gin" in str(error)
        else:
            raise SystemExit("trax was imported")
        assert (inspect.stack, inspect.getframeinfo, matplotlib.use) == before
        assert not [m for m in sys.modules if m.split(".")[0] in ("tensorflow", "gym", "trax")]
        assert not [f for f in sys.meta_path if type(f).__module__ == "siamese.standins"]
        sys.path = [p for p in sys.path if p != sys.argv[-1]]
        sys.path = [p for p in sys.path if not p.endswith("shadow")]
        import importlib; importlib.invalidate_caches()
        del sys.path_importer_cache
        """.replace("del sys.path_importer_cache", "import trax; print('ok')"),
        path=str(_renamed(tmp_path)),
    )


def _renamed(folder):
    target = folder.with_name("shadow")
    folder.rename(target)
    return target


def test_inspect_itself_is_not_replaced():
    assert "ok" in output_of("""
        import inspect
        before = (inspect.stack, inspect.getframeinfo)
        import siamese, trax
        assert (inspect.stack, inspect.getframeinfo) == before
        import sys
        layer = sys.modules["trax.layers.assert_shape"].AssertShape("ab")
        assert "<string>:" in layer._message, layer._message     # still names its caller
        print("ok")
    """)


def test_matplotlibs_backend_is_left_alone():
    assert "svg" in output_of("""
        import siamese, matplotlib
        matplotlib.use("svg")
        import trax
        print(matplotlib.get_backend())
    """)


def test_other_peoples_warnings_still_show():
    shown = run("""
        import siamese, trax, warnings
        warnings.warn("mine", DeprecationWarning)
        warnings.warn("also mine", FutureWarning)
    """)
    assert "DeprecationWarning: mine" in shown.stderr
    assert "FutureWarning: also mine" in shown.stderr


def test_a_stock_loop_trains_writes_events_and_resumes(tmp_path):
    done = run(f"""
        import siamese, sys, trax, numpy as np
        from trax import layers as tl
        from trax.fastmath import numpy as fastnp
        from trax.supervised import training
        def batches():
            draw = np.random.RandomState(0)
            while True:
                yield draw.randn(4, 3).astype("f"), draw.randn(4, 2).astype("f")
        def loop():
            loss = tl.Fn("Loss", lambda found, wanted: fastnp.mean((found - wanted) ** 2))
            task = training.TrainTask(
                batches(), loss, trax.optimizers.Adam(0.01), n_steps_per_checkpoint=2
            )
            return training.Loop(tl.Serial(tl.Dense(2)), task, output_dir={str(tmp_path)!r})
        first = loop(); first.run(2)
        second = loop(); assert second.step == 2; second.run(2)
        print("TF" if "tensorflow" in sys.modules else "no TF", second.step)
    """)
    assert "no TF 4" in done.stdout, done.stderr
    assert "GzipFile" not in done.stderr
    assert list((tmp_path / "train").glob("events.*"))


@needs_no_tensorflow
@pytest.mark.parametrize(
    "code",
    [
        "trax.AsKeras(trax.layers.Dense(2))",
        "trax.fastmath.set_backend('tensorflow-numpy'); trax.fastmath.numpy.ones(3)",
        "trax.data.TFDS('glue/qqp', keys=('a', 'b'))()",
    ],
)
def test_where_tensorflow_is_missing_the_error_says_who_needs_it_and_how_to_get_it(code):
    shown = run(f"import siamese, trax\n{code}")
    assert "MissingDependencyError" in shown.stderr and "is not installed" in shown.stderr
    assert "needs tensorflow" in shown.stderr or "needs trax.tf_numpy" in shown.stderr
    assert "requirements-tensorflow.txt" in shown.stderr


def test_nothing_is_an_instance_of_a_class_that_was_never_loaded():
    assert "ok" in output_of("""
        import siamese, trax, sys
        from trax import shapes
        assert shapes.ShapeDtype((2, 3)).shape == (2, 3)       # asks isinstance(x, tf.TensorShape)
        assert "tensorflow" not in sys.modules
        print("ok")
    """)


def test_only_known_banners_are_held_back(capfd):
    with standins.quiet_load():
        os.write(2, b"2026 I oneDNN custom operations are on. You may see...\n")
        os.write(2, b"Gym has been unmaintained since 2022 and ...\n")
        os.write(2, b"E something is really broken\n")
    assert capfd.readouterr().err == "E something is really broken\n"


def test_what_was_patched_is_told_with_its_reason():
    shown = output_of("""
        import siamese, trax
        import jax.interpreters.xla
        for name, why in siamese.compat.patched.items():
            print(name, "|", why)
    """)
    for name in (
        "inspect in trax",
        "DeviceArray",
        "tree_unflatten",
        "tensorflow, gym",
        "host_count",
    ):
        assert name in shown
