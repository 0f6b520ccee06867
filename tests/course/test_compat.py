"""Trax's import, each case in a process of its own: quiet, all put back after it; NLTK's names."""

import gzip
import inspect
import pickle
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import nltk
import numpy as np
import pytest
from make_hostile import Calls
from nltk.tokenize import punkt
from programs import COMPILED, output_of, run, without
from refusals import refuses

import siamese
from siamese import word_tokenize
from siamese.text.punkt import provide_punkt


def test_importing_siamese_and_trax_is_silent_and_leaves_the_process_as_a_learner_wants_it():
    done = run("""
        import inspect, sys, matplotlib
        matplotlib.use("svg")
        before = (inspect.stack, inspect.getframeinfo)
        import siamese
        heavy = [m for m in ("jax", "trax", "nltk", "sklearn") if m in sys.modules]
        import trax
        from jax.interpreters.xla import DeviceArray
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
        from siamese.course.trax.importing import mended
        print("\\n".join(mended))
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
    for words in (
        "DeprecationWarning: mine",
        "FutureWarning: also",
        "GzipFile was opened for",
    ):
        assert words in mine
    for name in ("inspect.stack of trax", "DeviceArray", "tree_unflatten", "tensorflow, gym", "host_count",
                 "Loop(eval_task=...)", "Loop.load_checkpoint"):  # fmt: skip
        assert name in done.stdout


MENDED = """
import sys
assert sys.modules["trax"] is trax
assert trax.__spec__.origin == trax.__file__
from jax.interpreters.xla import DeviceArray
import jax
assert DeviceArray is jax.Array
trax.supervised.trainer_lib.init_random_number_generators(34)
from siamese import Siamese
assert "LSTM" in str(Siamese(10, 4)) and trax.layers.Layer.__call__.__wrapped__
assert "tensorflow" not in sys.modules and "gym" not in sys.modules
"""
FAILS = """
import sys
try:
    import trax
except ModuleNotFoundError as error:
    assert error.name == "tensorflow", error
else:
    raise AssertionError("TensorFlow is here")
assert [name for name in sys.modules if name.startswith("trax")]
"""
# The import fails only where most of Trax has run, and has given Gin its names.
FAILS_LATE = """
import sys
from siamese.course.trax.standins import standing_in
class Fails:
    def find_spec(self, name, path=None, target=None):
        if name == "trax.supervised":
            raise ModuleNotFoundError("late", name="late")
sys.meta_path.insert(0, Fails())
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_CourseFirst"]
try:
    with standing_in():
        import trax
except ModuleNotFoundError as error:
    assert error.name == "late"
del sys.meta_path[0]
assert "trax.layers" in sys.modules and "gin" in sys.modules
"""


@pytest.mark.parametrize(
    "code",
    [
        "import siamese.course\nimport trax",
        "import siamese\nimport trax",
        "import siamese\nfrom trax import layers\nimport trax",
        "import siamese\nimport trax.supervised.training",
        "import siamese\nfrom trax.fastmath import numpy as fastnp\nimport trax",
        "from siamese import Siamese\nimport trax",
        "import jax, jax.interpreters.xla\nimport siamese, trax",
        "import siamese.course, siamese.course\nimport siamese, trax",
        "from siamese import train_model\nimport trax",
        "import importlib, siamese\ntrax = importlib.import_module('trax')",
        "from importlib.util import find_spec\nimport siamese, sys\nassert find_spec('trax')\n"
        "assert 'jax' not in sys.modules\nimport trax",
        FAILS + "import siamese.course\nimport trax",
        FAILS + "import siamese\nimport trax",
        FAILS + "from siamese import Siamese\nimport trax",
        FAILS_LATE + "import siamese.course\nimport trax",
    ],
)
@pytest.mark.slow
def test_trax_is_imported_and_mended(code):
    missing = without("tensorflow", "tensorflow_datasets", "tensorflow_text", "gym")
    missing = missing.replace("import siamese\n", "")
    output_of(f"{missing}{code}\n{MENDED}")


def test_what_needs_no_trax_is_there_without_it():
    output_of(f"""{without("trax")}
import sys
from siamese import cosine_similarity, data_generator, edition, l2_normalize, predict
from siamese import similarity_matrix, TripletLossFn, word_tokenize
assert round(float(cosine_similarity([1, 2], [2, 4]))) == 1
assert l2_normalize([[3.0, 4.0]]).tolist() == [[0.6, 0.8]]
assert similarity_matrix([[1.0, 0.0]], [[0.0, 2.0]]).tolist() == [[0.0]]
assert next(data_generator([[5], [6]], [[7], [8]], 2))[0].shape == (2, 1)
v1, v2 = [[0.6, 0.8], [-0.8, -0.6]], [[0.6, 0.8], [0.8, 0.6]]
assert round(float(TripletLossFn(v1, v2)), 2) == 0.71
assert round(float(edition(2022).TripletLossFn(v1, v2)), 2) == 0.5
assert word_tokenize("Mr. Smith can't.") == ["Mr.", "Smith", "ca", "n't", "."]
import siamese.course
assert not [name for name in sys.modules if name.partition(".")[0] == "trax"]
for name in ("Siamese", "train_model", "fast_forward"):
    try:
        getattr(siamese, name)
    except siamese.MissingDependencyError:
        continue
    raise AssertionError(name)
try:
    siamese.TripletLoss()
except ModuleNotFoundError as error:
    assert "rax" in str(error)
try:
    import trax
except ModuleNotFoundError as error:
    assert error.name == "trax"
else:
    raise AssertionError("Trax is here")
""")


def test_the_import_of_trax_draws_no_random_numbers():
    output_of("""
        import random
        import numpy as np
        random.seed(34)
        np.random.seed(34)
        drawn = random.random(), np.random.rand()
        random.seed(34)
        np.random.seed(34)
        import siamese.course
        assert (random.random(), np.random.rand()) == drawn
    """)


@pytest.fixture
def finder():
    """The only one that `import siamese` adds."""
    (found,) = (each for each in sys.meta_path if type(each).__module__ == "siamese")
    return found


def test_the_finder_is_short(finder):
    assert len(inspect.getsource(type(finder)).splitlines()) <= 15


@pytest.mark.parametrize(
    "name", ["jax", "nltk", "trax.layers", "tensorflow", "traxx", "siamese"]
)
def test_the_finder_finds_nothing_but_trax(finder, name):
    assert finder.find_spec(name) is None


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
def test_a_stock_loop_trains_where_tensorflow_is_missing_and_other_uses_say_what_to_do(
    tmp_path,
):
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
    messages = [
        line for line in shown[shown.index("step 4") + 1 :] if not line.startswith("  ")
    ]
    for message, expected in zip(messages, uses.values(), strict=True):
        assert re.search(expected, message), message


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="needs TensorFlow: make tensorflow"
)
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


def unpickle(path, **options):
    from trax.supervised import training

    return training.unpickle_from_file(str(path), **options)


def load_counters(folder):
    from trax.data import inputs

    return inputs.load_data_counters(str(folder))


READERS = {
    "init_from_file": lambda folder: siamese.Siamese(10, 4).init_from_file(
        str(folder / "model.pkl.gz")
    ),
    "a gzipped pickle": lambda folder: unpickle(folder / "model.pkl.gz", gzip=True),
    "a pickle": lambda folder: unpickle(folder / "data_counters0.pkl"),
    "counters of data": load_counters,
}


@pytest.mark.parametrize("name", READERS)
def test_trax_own_readers_run_nothing_of_a_strangers_file(tmp_path, name):
    marker = tmp_path / "ran"
    file = tmp_path / "model.pkl.gz"
    hostile = Calls(Path.touch, marker)
    content = {"flat_weights": [hostile], "flat_state": [], "input_signature": None}
    file.write_bytes(gzip.compress(pickle.dumps(content)))
    pickle.loads(gzip.decompress(file.read_bytes()))
    assert marker.exists()  # The file is hostile indeed:
    marker.unlink()
    (tmp_path / "data_counters0.pkl").write_bytes(pickle.dumps(hostile))
    with pytest.raises(siamese.CheckpointError):
        READERS[name](tmp_path)
    assert not marker.exists()


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
    from trax import shapes

    signature = (shapes.ShapeDtype((2, 3), np.int32),) * 2
    model = siamese.Siamese(10, 4)
    model.init(signature)
    file = str(tmp_path_factory.mktemp("saved") / "model.pkl.gz")
    model.save_to_file(file, input_signature=signature)
    return file


def two_lstms():
    from trax import layers as tl

    layers = tl.Embedding(10, 4), tl.LSTM(4), tl.LSTM(4), tl.Mean(axis=1)
    return tl.Parallel(*[tl.Serial(*layers)] * 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (two_lstms, ["none", "(8, 16)"]),
        (lambda: siamese.Siamese(40, 4), ["(10, 4)", "(40, 4)"]),
    ],
    ids=["two LSTMs", "more words"],
)
def test_a_file_of_another_model_is_refused_by_both_shapes(
    saved_model, capsys, make, shapes
):
    with refuses(siamese.CheckpointError, *shapes):
        make().init_from_file(saved_model)
    assert capsys.readouterr().out == ""


def test_trax_own_reader_reads_an_honest_file(tmp_path):
    from trax.supervised import training

    content = {"step": 3, "slots": [1.5]}
    training.pickle_to_file(content, str(tmp_path / "a.pkl"), gzip=True)
    assert training.unpickle_from_file(str(tmp_path / "a.pkl"), gzip=True) == content


TEXT = "Mr. Smith can't go. Why? It costs $3.50!"
SENTENCES = ["Mr. Smith can't go.", "Why?", "It costs $3.50!"]


@pytest.fixture
def no_data(monkeypatch):
    # As `import siamese.course` does where NLTK is imported above it.
    provide_punkt(nltk)
    monkeypatch.setattr(nltk.data, "path", [])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    yield
    nltk.tokenize._get_punkt_tokenizer.cache_clear()


def test_tokens_and_sentences_are_nltks_without_its_data(no_data):
    """L9: what the download promises."""
    assert nltk.download("punkt_tab", quiet=True) is True
    assert nltk.sent_tokenize("Hi. You?") == ["Hi.", "You?"]
    assert nltk.sent_tokenize(TEXT) == nltk.tokenize.sent_tokenize(TEXT) == SENTENCES
    assert (
        nltk.word_tokenize(TEXT)
        == nltk.tokenize.word_tokenize(TEXT)
        == word_tokenize(TEXT)
    )
    assert punkt.PunktTokenizer("english").tokenize(TEXT) == SENTENCES
    assert punkt.PunktTokenizer().tokenize(TEXT) == SENTENCES


def test_another_language_and_whole_lines_stay_nltks(no_data):
    assert nltk.word_tokenize("Go. Now", preserve_line=True) == ["Go.", "Now"]
    with pytest.raises(LookupError) as error:
        nltk.sent_tokenize("a b", language="german")
    assert "NLTK Downloader" in str(error.value)


def test_nltks_own_data_are_used_where_they_are(tmp_path, monkeypatch, no_data):
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    (folder / "abbrev_types.txt").write_text("zorb\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (folder / name).touch()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert nltk.sent_tokenize("A zorb. Like this. Go") == ["A zorb. Like this.", "Go"]


@pytest.fixture
def downloads(monkeypatch):
    """The calls of NLTK's own download, which does nothing."""
    calls = []

    def download(*args, **options):
        calls.append((args, options))
        return "downloaded"

    for module in (nltk, nltk.downloader):
        monkeypatch.setattr(module, "download", download)
    load = punkt.PunktTokenizer.load_lang
    monkeypatch.setattr(punkt.PunktTokenizer, "load_lang", load)  # It comes back.
    provide_punkt(nltk)
    return calls


def test_punkt_alone_is_not_downloaded(downloads, capsys):
    assert nltk.download("punkt") is True
    assert "force=True" in capsys.readouterr().out
    assert not downloads


@pytest.mark.parametrize("data", ["punkt_tab", ["punkt", "punkt_tab"]])
def test_a_quiet_download_of_punkt_prints_nothing(downloads, capsys, data):
    assert nltk.download(data, quiet=True) is True
    assert capsys.readouterr().out == "" and not downloads


def test_of_punkt_and_others_the_others_are_downloaded(downloads):
    assert nltk.download(["punkt", "stopwords"])
    assert downloads == [(("stopwords", None), {})]


@pytest.mark.parametrize("own", [nltk, nltk.downloader], ids=["nltk", "downloader"])
@pytest.mark.parametrize(
    ("args", "options"),
    [(["stopwords"], {}), (["punkt", "x"], {}), (["punkt"], {"force": True}), ([], {})],
    ids=["other data", "into a folder", "by force", "the window"],
)
def test_other_downloads_are_nltks(downloads, own, args, options):
    assert own.download(*args, **options) == "downloaded"


def test_nltk_that_is_imported_after_siamese_finds_its_model():
    code = """
        import siamese.course
        import nltk
        nltk.data.path.clear()
        assert nltk.download("punkt") is True
        print(nltk.word_tokenize("How far is it?"))
    """
    assert output_of(code).splitlines()[-1] == str(["How", "far", "is", "it", "?"])
