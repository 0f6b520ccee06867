"""Static vectors and subwords: what is read, what is refused, and how text becomes ids."""

import gzip
import importlib.util

import numpy as np
import pytest
from small_models import ODD
from small_vectors import D, bpe_tokenizer, write_vectors

from siamese.data.subwords import StaticVectors, Subwords, fold
from siamese.data.tokens import tokenize_questions
from siamese.errors import DataError, MissingDependencyError

GLOVE = "the 1 2 3\nCat 4 5 6\ncat 7 8 9\n? 0.5 0 -1\n"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    return StaticVectors.read(write_vectors(tmp_path_factory.mktemp("table") / "small"))


def test_a_table_with_its_tokenizer(vectors):
    tokens = bpe_tokenizer()["model"]["vocab"]
    vocabulary = vectors.vocabulary
    assert vectors.table.shape == (len(tokens) + 2, D) and vectors.table.dtype == np.float16
    assert vocabulary.size == len(vocabulary) + 1 == len(tokens) + 2
    assert not vectors.table[:2].any() and vectors.table[2:].any(axis=1).all()
    assert vocabulary.encode("How do cats?") == [
        tokens[t] + 2 for t in ("▁how", "▁do", "▁cat", "s", "?")
    ]
    assert vocabulary["<PAD>"] == 1 and vocabulary["▁how"] == tokens["▁how"] + 2
    # Unknown: neither a token, nor the tokenizer's own unknown token.
    assert vocabulary["zz"] == vocabulary["<unk>"] == 0 and "zz" not in vocabulary
    assert vocabulary.encode("7") == [tokens["▁"] + 2, 0]
    assert [vocabulary.text(i) for i in (0, 1, 2, tokens["▁how"] + 2)] == ["", "", "", " how"]


def test_text_is_folded():
    assert fold("  Don’t  &amp; “Ｈｏｗ”\n") == 'don\'t & "how"'
    assert fold("how \ud800 far") == "how ? far"


def test_many_questions_are_tokenized_once_and_as_alone(vectors):
    questions = ["How far?", *ODD.values(), "how do I cook rice", "How far?"]
    tokenized = tokenize_questions(questions, vocabulary=vectors.vocabulary)
    ids = tokenized.encode(vectors.vocabulary)
    assert len(ids) == len(set(questions))
    for question, row in zip(questions, tokenized.rows):
        assert ids[row].tolist() == vectors.vocabulary.encode(question)
        words = [tokenized.words[i] for i in tokenized.ids[row]]
        assert vectors.vocabulary.encode(words) == ids[row].tolist()


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz", "word2vec.vec"])
def test_text_files_of_vectors(tmp_path, name):
    content = ("4 3\n" + GLOVE if name == "word2vec.vec" else GLOVE).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    made = StaticVectors.read(tmp_path / name)
    # Lower case, and the first of several spellings; id 2 is the tokenizer's own unknown word.
    expected = np.array([[0] * 3] * 3 + [[1, 2, 3], [4, 5, 6], [0.5, 0, -1]])
    expected /= np.sqrt((expected[2:] ** 2).mean())  # All tables have a mean square of 1.
    np.testing.assert_allclose(made.table, expected, rtol=1e-3)
    assert made.vocabulary.encode("The CAT, the dog?") == [3, 4, 0, 3, 0, 5]
    assert made.vocabulary.split("The dog?") == ["the", "dog", "?"]
    assert made.vocabulary.text(4) == " cat" and "dog" not in made.vocabulary
    again = Subwords(made.vocabulary.content)
    assert again.encode("The CAT") == [3, 4] and again.checksum == made.vocabulary.checksum


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GLOVE + "dog 1 2\n", "line 5: 3 numbers are wanted"),
        (GLOVE + "dog 1 x 2\n", "line 5"),
        (GLOVE + "dog 1 nan 2\n", "NaN"),
        ("just some text\n", "line 1"),
        ("", "the first has none"),
        (b"\xff\xfe\x00", "is not text with vectors"),
    ],
)
def test_text_files_that_do_not_fit(tmp_path, content, message):
    path = tmp_path / "glove.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        StaticVectors.read(path)


def test_tables_that_do_not_fit(tmp_path):
    def read(name, **tables):
        return StaticVectors.read(write_vectors(tmp_path / name, **tables))

    rows = np.ones((500, 4), np.float32)
    assert read("more rows", table=rows).table.shape[1] == 4
    for name, tables, message in [
        ("few", {"table": rows[:5]}, "5 rows and its tokenizer"),
        ("flat", {"table": rows[0]}, "0 two-dimensional tables"),
        ("two", {"a": rows, "b": rows}, "2 two-dimensional tables"),
        ("nan", {"table": rows * np.nan}, "NaN"),
    ]:
        with pytest.raises(DataError, match=message):
            read(name, **tables)
    alone = write_vectors(tmp_path / "alone", table=rows)
    (alone / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match=r"tokenizer\.json cannot be read"):
        StaticVectors.read(alone)
    (alone / "tokenizer.json").unlink()
    with pytest.raises(DataError, match="needs its tokenizer"):
        StaticVectors.read(alone / "table.safetensors")
    (alone / "table.safetensors").write_bytes(b"no")
    (alone / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="not a safetensors file"):
        StaticVectors.read(alone)
    with pytest.raises(DataError, match="nowhere"):
        StaticVectors.read(tmp_path / "nowhere.txt")


def test_wordllama_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install wordllama tokenizers"):
        StaticVectors.read("wordllama")


def test_wordllama():
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("needs the package wordllama: make extras")
    made = StaticVectors.read("wordllama")
    assert made.table.shape == (32_002, 256)
    assert made.vocabulary.split("How do I learn?") == ["▁how", "▁do", "▁i", "▁learn", "?"]
    first = made.principal(128)
    assert first.shape == (256, 128)
    np.testing.assert_allclose(first.T @ first, np.eye(128), atol=1e-5)
    lengths = np.linalg.norm(made.table.astype(np.float32) @ first, axis=0)
    assert (np.diff(lengths) <= 1e-3 * lengths[0]).all()
