"""word_tokenize against NLTK itself: the short way, the long way, and the imports they cost."""

import csv
import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import output_of

from siamese.data.tokenizer import fast_path, word_tokenize
from siamese.errors import ArgumentError


def write_punkt(folder, *abbreviations):
    """punkt_tab files as NLTK's own, made from the package's parameters and more abbreviations."""
    import punkt

    learned = punkt.load_model("english")
    english = folder / "tokenizers" / "punkt_tab" / "english"
    english.mkdir(parents=True)
    tab = {
        "collocations.tab": ["\t".join(pair) for pair in sorted(learned.collocations)],
        "sent_starters.txt": sorted(learned.sent_starters),
        "abbrev_types.txt": sorted({*learned.abbrev_types, *abbreviations}),
        "ortho_context.tab": [f"{w}\t{flags}" for w, flags in learned.ortho_context.items()],
    }
    for name, lines in tab.items():
        (english / name).write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def plain_nltk(tmp_path_factory):
    """``nltk.word_tokenize`` itself."""
    import nltk

    folder = tmp_path_factory.mktemp("nltk_data")
    write_punkt(folder)
    nltk.data.path.insert(0, str(folder))
    nltk.word_tokenize("The data are found. Dr. No.")
    nltk.data.path.remove(str(folder))
    return nltk.word_tokenize  # keeps the parameters it has loaded


# Tokens by hand, from the rules or the course's documents; no library made this list.
BY_HAND = {
    "": [],
    "   \t\n ": [],
    "When will  I see you?": ["When", "will", "I", "see", "you", "?"],
    "I can't, don't and won't.": ["I", "ca", "n't", ",", "do", "n't", "and", "wo", "n't", "."],
    "It's what they'd've said": ["It", "'s", "what", "they'd", "'ve", "said"],
    "cannot Gonna WANNA": ["can", "not", "Gon", "na", "WAN", "NA"],
    "d'ye like more'n one?": ["d", "'ye", "like", "more", "'n", "one", "?"],
    "the students' books": ["the", "students", "'", "books"],
    'Say "yes" or "no"?': ["Say", "``", "yes", "''", "or", "``", "no", "''", "?"],
    "1,000 at 10:30, or 3.14": ["1,000", "at", "10:30", ",", "or", "3.14"],
    "$5 (about 4.50%)": ["$", "5", "(", "about", "4.50", "%", ")"],
    "well-known -- and/or C#": ["well-known", "--", "and/or", "C", "#"],
    "I met Dr. No. Then he left.": ["I", "met", "Dr.", "No", ".", "Then", "he", "left", "."],
    "Wait... what?": ["Wait", "...", "what", "?"],
    "क्या है?": ["क्या", "है", "?"],
    "a\x00b \x07\r\nc": ["a\x00b", "\x07", "c"],
    "half a pair: \ud83d?": ["half", "a", "pair", ":", "\ud83d", "?"],
}


@pytest.mark.parametrize("text", BY_HAND, ids=repr)
def test_known_tokens(text, plain_nltk):
    assert word_tokenize(text) == BY_HAND[text]
    assert plain_nltk(text) == BY_HAND[text]


PIECES = (
    ["a", "I", "do", "he", "Bob", "can", "not", "gon", "na", "U.S", "Mr", "Dr", "e.g", "x", "10"]
    + ["'s", "'S", "'m", "'D", "'ll", "'LL", "'Ll", "n't", "N'T", "'re", "'ve", "'t", "'", "''"]
    + ['"', "``", ",", ":", ".", "...", "?", "!", "(", ")", "[", "]", "{", "}", "<", ">", "-", "--"]
    + ["_", "/", "+", "$", "&", "*", "#", "@", "%", ";", "^", "=", "~", "|", "\\", "é", "’", "\n"]
    + [" "] * 25
)


mixes = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)


@settings(max_examples=1500)
@given(mixes | st.text(max_size=40))
def test_any_text_equals_nltk(plain_nltk, text):
    assert word_tokenize(text) == plain_nltk(text)


@pytest.mark.parametrize("text", [None, float("nan"), b"bytes"])
def test_no_text_is_refused(text):
    with pytest.raises(ArgumentError, match=f"not {type(text).__name__}"):
        word_tokenize(text)


def test_nltk_is_imported_late_in_part_by_many_threads_and_leaves_no_trace():
    code = """
import sys
from multiprocessing.pool import ThreadPool
from siamese.data.tokenizer import word_tokenize
assert word_tokenize("Is it?") == ["Is", "it", "?"]
assert not {"nltk", "punkt", "numpy", "jax", "trax"} & set(sys.modules)
tokens = ThreadPool(8).map(word_tokenize, ["Mr. X cannot."] * 8, chunksize=1)
assert tokens == [["Mr.", "X", "can", "not", "."]] * 8, tokens
assert not [name for name in sys.modules if name.split(".")[0] in ("nltk", "scipy", "sklearn")]
import nltk
assert nltk.tokenize.NLTKWordTokenizer().tokenize("a cannot") == ["a", "can", "not"]
assert nltk.__file__.endswith("__init__.py") and callable(nltk.download)
assert word_tokenize("I cannot.") == ["I", "can", "not", "."]
"""
    output_of(code)


def test_nltk_data_are_used_where_present(tmp_path):
    write_punkt(tmp_path, "wug")
    text = "A wug. Then two."
    assert "wug." not in word_tokenize(text)
    code = f"""
from siamese.data.tokenizer import word_tokenize
assert word_tokenize({text!r})[:2] == ["A", "wug."]
"""
    output_of(code, NLTK_DATA=str(tmp_path))


@pytest.mark.quora
@pytest.mark.slow
def test_every_distinct_quora_question_equals_nltk_with_its_own_data(quora_csv, shared):
    """Our packaged parameters here; in another process NLTK with the real punkt_tab."""
    with gzip.open(quora_csv, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = list(dict.fromkeys(row[side] for row in rows for side in ("question1", "question2")))
    code = """
import json, sys, nltk
nltk.data.find("tokenizers/punkt_tab/english/")
tokens = [nltk.word_tokenize(text) for text in json.load(sys.stdin)]
json.dump(tokens, sys.stdout)
"""
    answer = output_of(code, stdin=json.dumps(texts), NLTK_DATA=str(shared / "data" / "nltk_data"))
    tokens = json.loads(answer)
    assert len(texts) == 144_593
    assert sum(fast_path(text) is not None for text in texts) / len(texts) > 0.9
    for text, found in zip(texts, tokens, strict=True):
        assert word_tokenize(text) == found, text
