"""Trax's import, each case in a process of its own: quiet, all put back after it; NLTK's names."""

import gzip
import pickle
import re
from importlib.util import find_spec
from pathlib import Path

import nltk
import numpy as np
import pytest
from make_hostile import Calls
from nltk.tokenize import punkt
from programs import COMPILED, output_of, run, without

import siamese
from siamese import word_tokenize
from siamese.compat.course_nltk import provide_punkt


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
    for words in ("DeprecationWarning: mine", "FutureWarning: also", "GzipFile was opened for"):
        assert words in mine
    for name in ("inspect.stack of trax", "DeviceArray", "tree_unflatten", "tensorflow, gym", "host_count",
                 "Loop(eval_task=...)", "Loop.load_checkpoint"):  # fmt: skip
        assert name in done.stdout


def test_names_come_back_when_jax_is_loaded_already():
    output_of("""
        import jax, jax.interpreters.xla, sys
        import siamese
        siamese.compat.prepare()     # again: nothing more happens
        from jax.interpreters.xla import DeviceArray
        assert DeviceArray is jax.Array
        assert len([f for f in sys.meta_path if type(f).__module__ == "siamese.compat"]) == 1
    """)


# Trax's Loop over a model of one layer.
STOCK_LOOP = """
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
    adam = trax.optimizers.Adam(0.01)
    task = training.TrainTask(batches(), loss, adam, n_steps_per_checkpoint=2)
    evaluation = training.EvalTask(batches(), [loss])
    model = tl.Serial(tl.Dense(2))
    return training.Loop(model, task, eval_tasks=[evaluation], output_dir=FOLDER)
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
    missing = without("tensorflow", "tensorflow_datasets", "tensorflow_text", "gym")
    done = run(f"FOLDER = {str(tmp_path)!r}\n{missing}{STOCK_LOOP}{code}", **COMPILED)
    assert done.returncode == 0 and "GzipFile" not in done.stderr, done.stderr
    shown = done.stdout.splitlines()
    messages = [line for line in shown[shown.index("step 4") + 1 :] if not line.startswith("  ")]
    for message, expected in zip(messages, uses.values(), strict=True):
        assert re.search(expected, message), message


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(find_spec("tensorflow") is None, reason="needs TensorFlow: make tensorflow")
def test_where_tensorflow_comes_first_it_is_used(tmp_path):
    code = """
from trax import shapes
assert shapes.tf is tensorflow
assert isinstance(shapes.ShapeDtype(tensorflow.TensorShape([2])).shape, tuple)
loop().run(2)
assert loop().step == 2
assert tensorflow.io.gfile.glob(FOLDER + "/train/events.*")
"""
    output_of(f"import tensorflow\nFOLDER = {str(tmp_path)!r}\n{STOCK_LOOP}{code}")


def test_trax_own_readers_run_nothing_of_a_strangers_file(tmp_path):
    from trax.data import inputs
    from trax.supervised import training

    marker, file = tmp_path / "ran", tmp_path / "model.pkl.gz"
    hostile = Calls(Path.touch, marker)
    content = {"flat_weights": [hostile], "flat_state": [], "input_signature": None}
    file.write_bytes(gzip.compress(pickle.dumps(content)))
    pickle.loads(gzip.decompress(file.read_bytes()))
    assert marker.exists()  # The file is hostile indeed:
    marker.unlink()
    plain = tmp_path / "data_counters0.pkl"
    plain.write_bytes(pickle.dumps(hostile))
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
def test_trax_own_readers_refuse_files_of_another_model_and_read_honest_ones(tmp_path, capsys):
    from trax import layers as tl
    from trax import shapes
    from trax.supervised import training

    signature = (shapes.ShapeDtype((2, 3), np.int32),) * 2
    model = siamese.Siamese(10, 4)
    model.init(signature)
    file = str(tmp_path / "model.pkl.gz")
    model.save_to_file(file, input_signature=signature)
    layers = tl.Embedding(10, 4), tl.LSTM(4), tl.LSTM(4), tl.Mean(axis=1)
    for other, words in (
        (tl.Parallel(*[tl.Serial(*layers)] * 2), r"shape none where .*\(8, 16\)"),
        (siamese.Siamese(40, 4), r"shape \(10, 4\) where .*\(40, 4\)\. Make the model"),
    ):
        with pytest.raises(siamese.CheckpointError, match=words) as refused:
            other.init_from_file(file)
        assert "\n" not in str(refused.value)
    assert capsys.readouterr().out == ""
    content = {"step": 3, "slots": [1.5]}
    training.pickle_to_file(content, str(tmp_path / "a.pkl"), gzip=True)
    assert training.unpickle_from_file(str(tmp_path / "a.pkl"), gzip=True) == content


TEXT = "Mr. Smith can't go. Why? It costs $3.50!"
SENTENCES = ["Mr. Smith can't go.", "Why?", "It costs $3.50!"]


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    yield
    nltk.tokenize._get_punkt_tokenizer.cache_clear()


def test_tokens_and_sentences_are_nltks_without_its_data(no_data):
    """L9: what the download promises."""
    assert nltk.download("punkt_tab", quiet=True) is True
    assert nltk.sent_tokenize("Hi. You?") == ["Hi.", "You?"]
    assert nltk.sent_tokenize(TEXT) == nltk.tokenize.sent_tokenize(TEXT) == SENTENCES
    assert nltk.word_tokenize(TEXT) == nltk.tokenize.word_tokenize(TEXT) == word_tokenize(TEXT)
    assert punkt.PunktTokenizer("english").tokenize(TEXT) == SENTENCES
    assert punkt.PunktTokenizer().tokenize(TEXT) == SENTENCES


def test_another_language_and_whole_lines_stay_nltks(no_data):
    assert nltk.word_tokenize("Go. Now", preserve_line=True) == ["Go.", "Now"]
    with pytest.raises(LookupError, match="NLTK Downloader to obtain"):
        nltk.sent_tokenize("a b", language="german")


def test_nltks_own_data_are_used_where_they_are(tmp_path, monkeypatch, no_data):
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    (folder / "abbrev_types.txt").write_text("zorb\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (folder / name).touch()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert nltk.sent_tokenize("A zorb. Like this. Go") == ["A zorb. Like this.", "Go"]


def test_punkt_alone_is_not_downloaded(capsys, monkeypatch):
    calls = []

    def download(*args, **options):
        calls.append((args, options))
        return "downloaded"

    for module in (nltk, nltk.downloader):
        monkeypatch.setattr(module, "download", download)
    load = punkt.PunktTokenizer.load_lang
    monkeypatch.setattr(punkt.PunktTokenizer, "load_lang", load)  # It comes back.
    provide_punkt(nltk)
    assert nltk.download("punkt") is True
    assert "nltk.download('punkt', force=True) gets all languages" in capsys.readouterr().out
    assert nltk.download("punkt_tab", quiet=True) is True
    assert nltk.download(["punkt", "punkt_tab"], quiet=True) is True
    assert capsys.readouterr().out == "" and not calls
    assert nltk.download(["punkt", "stopwords"]) and calls.pop() == (("stopwords", None), {})
    force = {"force": True}
    for args, options in ((["stopwords"], {}), (["punkt", "x"], {}), (["punkt"], force), ([], {})):
        for own in (nltk, nltk.downloader):
            assert own.download(*args, **options) == "downloaded"
