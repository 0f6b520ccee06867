"""tokenize_questions against word_tokenize and the course's loops."""

from hypothesis import given
from hypothesis import strategies as st

from siamese.data.tokens import tokenize_questions
from siamese.data.vocabulary import Vocabulary, word_tokenize

texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "é \ud83d", "<PAD>"])


@given(st.lists(st.tuples(texts, texts), max_size=10), st.integers(1, 4), st.booleans())
def test_vocabulary_and_ids_equal_those_of_single_questions(pairs, min_count, folded):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    tokens, n = tokenize_questions(one + two), len(pairs)
    # Each distinct question is cut once, in the order of first appearance.
    assert [(one + two).index(text) for text in dict.fromkeys(one + two)] == [
        tokens.rows.tolist().index(row) for row in range(len(set(one + two)))
    ]
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    assert tokens.vocabulary(tokens.rows[:n], tokens.rows[n:], **options) == slow
    ids = tokens.encode(slow)
    assert [ids[row].tolist() for row in tokens.rows] == [slow.encode(text) for text in one + two]
