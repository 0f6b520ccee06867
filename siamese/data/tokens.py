"""tokenize_questions: each distinct question tokenized once, on all cores."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass

import numpy as np

from siamese.compat.progress import progress_bar
from siamese.data.arguments import text_list
from siamese.data.tokenizer import fast_path, tokenize_many
from siamese.data.vocabulary import Vocabulary, word_ids
from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged

_log = logging.getLogger("siamese")

_TEXTS_WORTH_A_WORKER = 1500  # what one process tokenizes through NLTK while a worker starts
_BLOCK = 500  # texts of one task, some 50 ms of NLTK


@dataclass(frozen=True, eq=False, repr=False)
class TokenizedQuestions:
    """Questions as rows of word ids, each distinct question once.

    Args:
      words: the distinct words, in order of first sight.
      ids: a `Ragged` of int32, one row per distinct question; ``words[id]`` is the token.
      rows: int64 [questions]; the row in `ids` of each question that was given.

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

    def vocabulary(self, rows1: np.ndarray, rows2: np.ndarray, **options) -> Vocabulary:
        """The course's vocabulary of training pairs, as `Vocabulary.from_pairs` makes it.

        Args:
          rows1: int [pairs], rows in `ids` (such as ``rows[:n]``) of each question 1.
          rows2: int [pairs], the same of each question 2.
          **options: of `Vocabulary.from_counts`.

        Raises:
          ArgumentError: the two differ in length, or name a row that does not exist.
        """
        if len(rows1) != len(rows2):
            raise ArgumentError(
                f"rows1 names {len(rows1)} questions and rows2 {len(rows2)}; "
                "a pair needs one of each."
            )
        try:
            pairs = np.stack([rows1, rows2], axis=1).ravel()  # q1, q2, q1, q2, ...
            in_order = self.ids.take(pairs).values
        except IndexError:
            raise ArgumentError(f"The rows are numbers from 0 to {len(self.ids) - 1}.") from None
        words, first, counts = np.unique(in_order, return_index=True, return_counts=True)
        by_sight = np.argsort(first)
        seen = zip(words[by_sight].tolist(), counts[by_sight].tolist())
        return Vocabulary.from_counts({self.words[word]: count for word, count in seen}, **options)

    def encode(self, vocab: Mapping[str, int]) -> Ragged:
        """Each distinct question in ids of `vocab` (ours, a dict, a defaultdict); 0 if unknown."""
        table = np.asarray(word_ids(self.words, vocab), dtype=np.int32)
        return Ragged(table[self.ids.values], self.ids.offsets)


def tokenize_questions(
    questions: Iterable[str],
    *,
    processes: int | None = None,
    progress: bool = True,
) -> TokenizedQuestions:
    """Tokenizes questions, each distinct one once.

    Args:
      questions: text; repeated questions cost nothing.
      processes: worker processes at most; 1 works in this process alone. None: one a core, but
        none where they would take longer to start than to work.
      progress: show a bar for work of over two seconds.

    Raises:
      DataError: a question is not text; the message names its place.
      ArgumentError: `questions` is a single str, or `processes` is below 1.
    """
    if processes is not None and processes < 1:
        raise ArgumentError(
            f"processes must be 1 or more (or None for all cores), not {processes}."
        )
    places: dict[str, int] = {}
    questions = text_list(questions, "tokenize_questions")
    rows = [places.setdefault(question, len(places)) for question in questions]
    numbers: dict[str, int] = {}  # of the distinct words, in order of first appearance
    tokens = _tokenize(list(places), processes, not progress)
    ids = [[numbers.setdefault(word, len(numbers)) for word in row] for row in tokens]
    return TokenizedQuestions(list(numbers), Ragged.from_lists(ids), np.asarray(rows, np.int64))


def _tokenize(texts: list[str], processes: int | None, quiet: bool) -> list[list[str]]:
    """The tokens of each text. What needs NLTK is shared among worker processes."""
    from joblib import Parallel, cpu_count, delayed

    tokens = [fast_path(text) for text in texts]
    hard = [place for place, row in enumerate(tokens) if row is None]
    blocks = [hard[start : start + _BLOCK] for start in range(0, len(hard), _BLOCK)]
    workers = processes or min(cpu_count(), len(hard) // _TEXTS_WORTH_A_WORKER)
    tasks = [[str(texts[place]) for place in block] for block in blocks]
    answers = map(tokenize_many, tasks)
    if workers > 1:  # Workers of a killed process end by themselves after the idle time.
        parallel = Parallel(workers, return_as="generator", idle_worker_timeout=10)
        answers = parallel(map(delayed(tokenize_many), tasks))
    with progress_bar(len(texts), "tokenizing", "questions", quiet=quiet) as show:
        show.update(len(texts) - len(hard))
        for at, block in enumerate(blocks):
            try:
                rows = next(answers)
            except (BrokenExecutor, OSError) as error:
                reason = str(error).strip().partition(".")[0]
                _log.warning("siamese: tokenized in one process, as a worker failed: %s", reason)
                answers = map(tokenize_many, tasks[at:])
                rows = next(answers)
            for place, row in zip(block, rows):
                tokens[place] = row
            show.update(len(block))
    return tokens
