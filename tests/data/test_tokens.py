"""tokenize_questions against word_tokenize and the course's loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese.data.tokens import tokenize_questions
from siamese.data.vocabulary import Vocabulary, word_tokenize
from siamese.errors import ArgumentError, DataError

QUESTIONS = [
    "When will I see you?",
    "When can I see you again?",
    "When will I see you?",
    "I cannot. Dr. No can't, can he?",
    "",
    "café \ud83d \x00 क्या",
    "When will I see you? ",
]


def tokens_of(found):
    return [[found.words[word] for word in found.ids[row]] for row in found.rows]


def test_each_distinct_question_once_in_order():
    tokens = tokenize_questions(QUESTIONS)
    assert tokens_of(tokens) == [word_tokenize(text) for text in QUESTIONS]
    assert tokens.rows.tolist() == [0, 1, 0, 2, 3, 4, 5] and tokens.rows.dtype == np.int64
    assert tokens.words[:8] == ["When", "will", "I", "see", "you", "?", "can", "again"]
    assert tokens.ids.values.dtype == np.int32 and len(set(tokens.words)) == len(tokens.words)


@pytest.mark.parametrize(
    ("questions", "kind", "message"),
    [
        (["a", float("nan")], DataError, "Question 1 .* nan"),
        ("one text", ArgumentError, "a list of questions"),
    ],
)
def test_bad_input(questions, kind, message):
    with pytest.raises(kind, match=message):
        tokenize_questions(questions)


texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "x y", "<PAD>"])


@given(
    st.lists(st.tuples(texts, texts), max_size=10),
    st.integers(1, 4),
    st.booleans(),
)
def test_vocabulary_and_ids_equal_those_of_single_questions(pairs, min_count, folded):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = tokenize_questions(one + two)
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    n = len(pairs)
    assert found.vocabulary(found.rows[:n], found.rows[n:], **options) == slow
    ids = found.encode(slow)
    assert [ids[row].tolist() for row in found.rows] == [slow.encode(text) for text in one + two]
