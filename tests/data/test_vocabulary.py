"""word_tokenize against NLTK itself; the vocabulary against the course's own loop."""

import json
import pickle
import zlib
from collections import defaultdict
from collections.abc import Mapping

import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import output_of

from siamese.data.pairs import read_pairs
from siamese.data.tokenizer import fast_path, word_tokenize
from siamese.data.vocabulary import Vocabulary, tokenize_questions
from siamese.errors import ArgumentError

PIECES = (
    ["a", "I", "do", "he", "Bob", "can", "not", "gon", "na", "U.S", "Mr", "Dr", "e.g", "x", "10"]
    + ["'s", "'S", "'m", "'D", "'ll", "'LL", "'Ll", "n't", "N'T", "'re", "'ve", "'t", "'", "''"]
    + ['"', "``", ",", ":", ".", "...", "?", "!", "(", ")", "[", "]", "{", "}", "<", ">", "-", "--"]
    + ["_", "/", "+", "$", "&", "*", "#", "@", "%", ";", "^", "=", "~", "|", "\\", "é", "’", "\n"]
    + [" "] * 25
)


mixes = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)
# NLTK imports these where they are; no tokenizer needs them, and they take seconds.
QUICK_NLTK = """
        import sys
        sys.modules.update(dict.fromkeys(('pandas', 'scipy', 'sklearn')))"""


@settings(max_examples=100)
@given(mixes | st.text(max_size=40))
@example("I can't, don't and won't.")
@example("It's what they do're'D")
@example('Say "yes" or "no" at 10:30, $5 (about 4.50%) or 1,000?')
@example("I met Dr. No. Then he left. क्या है? half a pair: \ud83d?")
def test_any_text_equals_nltk(text):
    assert word_tokenize(text) == nltk.word_tokenize(text)


@pytest.mark.parametrize("text", [None, float("nan"), b"bytes"])
def test_no_text_is_refused(text):
    with pytest.raises(ArgumentError, match=f"not {type(text).__name__}"):
        word_tokenize(text)


def test_nltk_is_imported_by_many_threads():
    output_of(f"""{QUICK_NLTK}
        from multiprocessing.pool import ThreadPool
        from siamese.data.tokenizer import word_tokenize
        tokens = ThreadPool(8).map(word_tokenize, ["Mr. X cannot."] * 8, chunksize=1)
        assert tokens == [["Mr.", "X", "can", "not", "."]] * 8, tokens
    """)


@pytest.mark.quora
@pytest.mark.slow
def test_quora_questions_equal_nltk_with_its_own_data(quora):
    """The packaged parameters here; in another process NLTK with the real punkt_tab."""
    texts = read_pairs(quora / "questions.csv.gz").question1[:2000]
    code = f"""{QUICK_NLTK}
        import json, nltk
        nltk.data.find("tokenizers/punkt_tab/english/")
        tokens = [nltk.word_tokenize(text) for text in json.load(sys.stdin)]
        json.dump(tokens, sys.stdout)
    """
    folder = quora.with_name("nltk_data")
    answer = output_of(code, stdin=json.dumps(texts), NLTK_DATA=str(folder))
    assert sum(fast_path(text) is not None for text in texts) / len(texts) > 0.9
    for text, tokens in zip(texts, json.loads(answer), strict=True):
        assert word_tokenize(text) == tokens, text


texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "é \ud83d", "<PAD>"])
questions = st.lists(st.sampled_from(["a", "b", "c", "A", "B", "?", "<PAD>", "é"]), max_size=5)


@given(st.lists(st.tuples(questions, questions), max_size=8))
def test_any_pairs_number_as_the_courses_loop(pairs):
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    vocab = defaultdict(lambda: 0, {"<PAD>": 1})  # the assignment's cell
    for word in (word for one, two in pairs for word in one + two):
        if word not in vocab:
            vocab[word] = len(vocab) + 1
    assert dict(Vocabulary.from_pairs(*sides)) == vocab


@given(st.lists(st.tuples(texts, texts), max_size=10), st.integers(1, 4), st.booleans())
def test_questions_tokenized_together_number_and_encode_as_one_by_one(pairs, min_count, folded):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    tokens, n = tokenize_questions(one + two), len(pairs)
    # Each distinct question is cut once, in the order of first appearance.
    order = [*dict.fromkeys(one + two)]
    assert tokens.rows.tolist() == [order.index(text) for text in one + two]
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    assert tokens.vocabulary(tokens.rows[:n], tokens.rows[n:], **options) == slow
    ids = tokens.encode(slow)
    assert [ids[row].tolist() for row in tokens.rows] == [slow.encode(text) for text in one + two]


def test_a_vocabulary_is_a_mapping_that_stays_as_it_is():
    vocab = Vocabulary.from_pairs([["When", "will", "I"]], [["see", "you", "?"]])
    assert vocab.encode("When will I see you? x") == [2, 3, 4, 5, 6, 7, 0]
    assert isinstance(vocab, Mapping) and (vocab.size, len(vocab)) == (8, 7)
    assert vocab["never"] == 0 and "never" not in vocab and vocab.get("never") is None
    for change in (lambda: vocab.__setitem__("new", 3), lambda: setattr(vocab, "folded", True)):
        with pytest.raises(AttributeError):
            change()
    assert Vocabulary(list(vocab)) == vocab != Vocabulary(list(vocab)[:-1])
    assert Vocabulary(["a"]) != Vocabulary(["a"], folded=True)


def test_folded_is_applied_in_building_counting_looking_and_encoding():
    vocab = Vocabulary.from_pairs([["When", "WHEN", "I"]], [["i", "?"]], folded=True)
    assert dict(vocab) == {"<PAD>": 1, "when": 2, "i": 3, "?": 4}
    assert vocab["When"] == vocab["when"] == 2 and "I" in vocab and vocab.get("I") == 3
    assert vocab["<PAD>"] == 1 and vocab["<pad>"] == 0
    assert vocab.encode("<p>\uff37hen\u00ad &quest;</p>") == [2, 4]
    pairs = [["a", "b", "A"], ["c"]], [["b", "d"], ["d", "e"]]
    for least, folds, words in ((2, False, "bd"), (2, True, "abd"), (3, True, "")):
        options = {"min_count": least, "folded": folds}
        assert list(Vocabulary.from_pairs(*pairs, **options)) == ["<PAD>", *words]


def test_bad_arguments():
    for make, message in (
        (lambda: Vocabulary("a b"), "word_tokenize"),
        (lambda: Vocabulary(["a", 5]), "not 5"),
        (lambda: Vocabulary.from_pairs(["a b"], ["c"]), "list of tokens"),
        (lambda: Vocabulary.from_pairs([["a"]], []), "1 questions and tokens2 0"),
        (lambda: Vocabulary().encode([5]), "not 5"),
    ):
        with pytest.raises(ArgumentError, match=message):
            make()


def test_unknown_words_have_ids_of_their_own():
    plain = Vocabulary(["how", "are", "you"], folded=True)
    vocab = Vocabulary(["how", "are", "you"], folded=True, unknown_ids=50)
    assert vocab.size == plain.size + 50 and len(vocab) == len(plain) and vocab != plain
    expected = plain.size + zlib.crc32(b"zorkmids") % 50  # folded before it is hashed
    assert vocab["Zorkmids"] == vocab["zorkmids"] == expected
    assert "Zorkmids" not in vocab and vocab.get("Zorkmids") is None
    assert pickle.loads(pickle.dumps(vocab)) == vocab
