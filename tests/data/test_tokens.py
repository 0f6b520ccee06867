"""tokenize_questions against word_tokenize and the course's loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siamese.data.tokens import tokenize_questions
from siamese.data.vocabulary import Vocabulary, word_tokenize


def test_each_distinct_question_once_in_order():
    questions = ["Who is it?", "Who, again?", "Who is it?", "", "café \ud83d \x00", "Who is it? "]
    tokens = tokenize_questions(questions)
    words = [[tokens.words[word] for word in tokens.ids[row]] for row in tokens.rows]
    assert words == list(map(word_tokenize, questions))
    assert tokens.rows.tolist() == [0, 1, 0, 2, 3, 4] and tokens.rows.dtype == np.int64
    assert tokens.words[:6] == ["Who", "is", "it", "?", ",", "again"]
    assert tokens.ids.values.dtype == np.int32


texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "x y", "<PAD>"])


@given(st.lists(st.tuples(texts, texts), max_size=10), st.integers(1, 4), st.booleans())
def test_vocabulary_and_ids_equal_those_of_single_questions(pairs, min_count, folded):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    tokens, n = tokenize_questions(one + two), len(pairs)
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    assert tokens.vocabulary(tokens.rows[:n], tokens.rows[n:], **options) == slow
    ids = tokens.encode(slow)
    assert [ids[row].tolist() for row in tokens.rows] == [slow.encode(text) for text in one + two]
