"""word_tokenize against NLTK itself, and the imports that it costs."""

import csv
import gzip
import itertools
import json

import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import output_of

from siamese.data.tokenizer import fast_path, word_tokenize
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
def test_quora_questions_equal_nltk_with_its_own_data(quora_csv, shared):
    """The packaged parameters here; in another process NLTK with the real punkt_tab."""
    with gzip.open(quora_csv, "rt", encoding="utf-8", newline="") as file:
        texts = [row["question1"] for row in itertools.islice(csv.DictReader(file), 2000)]
    code = f"""{QUICK_NLTK}
        import json, nltk
        nltk.data.find("tokenizers/punkt_tab/english/")
        tokens = [nltk.word_tokenize(text) for text in json.load(sys.stdin)]
        json.dump(tokens, sys.stdout)
    """
    options = {"stdin": json.dumps(texts), "NLTK_DATA": str(shared / "data" / "nltk_data")}
    answer = output_of(code, **options)
    assert sum(fast_path(text) is not None for text in texts) / len(texts) > 0.9
    for text, tokens in zip(texts, json.loads(answer), strict=True):
        assert word_tokenize(text) == tokens, text
