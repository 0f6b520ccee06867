"""tokenize_questions: each distinct question tokenized once, as rows of word ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.compat.progress import progress_bar
from siamese.data.readers.tables import text_list
from siamese.data.tokenizer import word_tokenize
from siamese.data.vocabulary import Vocabulary, word_ids
from siamese.nn.ragged import Ragged


@dataclass(frozen=True, eq=False, repr=False)
class TokenizedQuestions:
    """Questions as rows of word ids, each distinct question once.

    Args:
      words: the distinct words, in order of first appearance.
      ids: int32, one row for each distinct question; ``words[id]`` is the token.
      rows: int64 [questions]; the row in `ids` of each question.

    Example:
      >>> pairs = tokenize_questions(["What is it?", "Is it?", "What is it?"])
      >>> pairs.words, pairs.rows.tolist()
      (['What', 'is', 'it', '?', 'Is'], [0, 1, 0])
      >>> vocab = pairs.vocabulary(pairs.rows[:1], pairs.rows[1:2])
      >>> pairs.encode(vocab)[1].tolist()
      [6, 4, 5]
    """

    words: list[str]
    ids: Ragged
    rows: np.ndarray

    def vocabulary(self, rows1: np.ndarray, rows2: np.ndarray, **options: Any) -> Vocabulary:
        """`Vocabulary.from_pairs` of training pairs, int [pairs] each: the rows in `ids` of their sides."""
        pairs = np.stack([rows1, rows2], axis=1).ravel()  # q1, q2, q1, q2, ...
        in_order = map(self.words.__getitem__, self.ids.take(pairs).values.tolist())
        return Vocabulary.from_counts(Counter(in_order), **options)

    def encode(self, vocab: Mapping[str, int]) -> Ragged:
        """Each distinct question in ids of `vocab` (a `Vocabulary` or a dict); 0 for an unknown word."""
        table = np.asarray(word_ids(self.words, vocab), dtype=np.int32)
        return Ragged(table[self.ids.values], self.ids.offsets)


def tokenize_questions(questions: Iterable[str], *, progress: bool = True) -> TokenizedQuestions:
    """Tokenizes questions, each distinct one once; with `progress` a bar is shown after two seconds.

    Errors are those of `text_list`.
    """
    places: dict[str, int] = {}
    questions = text_list(questions, "tokenize_questions")
    rows = [places.setdefault(question, len(places)) for question in questions]
    numbers: dict[str, int] = {}  # of the distinct words, in order of first appearance
    ids = []
    with progress_bar(len(places), "tokenizing", "questions", quiet=not progress) as bar:
        for text in places:
            ids.append([numbers.setdefault(word, len(numbers)) for word in word_tokenize(text)])
            bar.update()
    return TokenizedQuestions(list(numbers), Ragged.from_lists(ids), np.asarray(rows, np.int64))
