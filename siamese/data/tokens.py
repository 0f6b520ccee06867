"""tokenize_questions: each distinct question tokenized once, on all cores, and kept on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese.compat.progress import progress_bar
from siamese.data.arguments import text_list
from siamese.data.tokenizer import fast_path, tokenize_many, tokenizer_version, word_tokenize
from siamese.data.vocabulary import Vocabulary, word_ids
from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged
from siamese.storage.atomic import explain, open_atomically, remove_stale

_log = logging.getLogger("siamese")

_TEXTS_WORTH_A_WORKER = 1500  # what one process tokenizes through NLTK while a worker starts
_BLOCK = 500  # texts of one task, some 50 ms of NLTK
_TEXT = ("utf-8", "surrogatepass")  # a question may hold half a surrogate pair


@dataclass(frozen=True, eq=False, repr=False)
class TokenizedQuestions:
    """Questions as rows of word ids, each distinct question once.

    Args:
      words: the distinct words, in order of first sight.
      ids: a `Ragged` of int32, one row per distinct question; ``words[id]`` is the token.
      rows: int64 [questions]; the row in `ids` of each question that was given.

    Example:
      >>> pairs = tokenize_questions(["What is it?", "Is it?", "What is it?"], cache_dir=False)
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
    cache_dir: str | os.PathLike | bool | None = None,
    processes: int | None = None,
    progress: bool = True,
) -> TokenizedQuestions:
    """Tokenizes questions, each distinct one once, or reads their tokens back from disk.

    Args:
      questions: text; repeated questions cost nothing.
      cache_dir: the folder that keeps the tokens, under a name made from the distinct questions
        and the tokenizer's version. None: ``$XDG_CACHE_HOME/siamese``, else ``~/.cache/siamese``.
        False: keep nothing.
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
    path = _cache_file(list(places), cache_dir)
    kept = _read(path, len(places)) if path else None
    if kept is None:
        numbers: dict[str, int] = {}  # of the distinct words, in order of first sight
        tokens = _tokenize(list(places), processes, not progress)
        ids = [[numbers.setdefault(word, len(numbers)) for word in row] for row in tokens]
        kept = list(numbers), Ragged.from_lists(ids)
        if path:
            _write(path, *kept)
    return TokenizedQuestions(*kept, np.asarray(rows, dtype=np.int64))


def _tokenize(texts: list[str], processes: int | None, quiet: bool) -> list[list[str]]:
    """The tokens of each text. What needs NLTK is shared among worker processes."""
    from joblib import Parallel, cpu_count, delayed

    with progress_bar(len(texts), "tokenizing", "questions", quiet=quiet) as show:
        tokens = [fast_path(text) for text in texts]
        hard = [place for place, found in enumerate(tokens) if found is None]
        show.update(len(texts) - len(hard))
        blocks = [hard[start : start + _BLOCK] for start in range(0, len(hard), _BLOCK)]
        tasks = ([str(texts[place]) for place in block] for block in blocks)
        wanted = processes or min(cpu_count(), len(hard) // _TEXTS_WORTH_A_WORKER)
        answers = map(tokenize_many, tasks)
        if wanted > 1:  # Workers of a killed process end by themselves after the idle time.
            workers = Parallel(wanted, return_as="generator", idle_worker_timeout=10)
            answers = workers(map(delayed(tokenize_many), tasks))
        try:
            for block, answer in zip(blocks, answers):
                for place, found in zip(block, answer):
                    tokens[place] = found
                show.update(len(block))
        except (BrokenExecutor, OSError) as error:
            reason = str(error).strip().partition(".")[0]
            _log.warning("siamese: tokenized in one process, as a worker failed: %s", reason)
            for place in [place for place in hard if tokens[place] is None]:
                tokens[place] = word_tokenize(texts[place])
                show.update()
    return tokens


# ---- The file that keeps tokens: NumPy's .npz, whose CRC-32s are checked as it is read ----


def _cache_file(distinct: list[str], cache_dir: str | os.PathLike | bool | None) -> Path | None:
    """Where the tokens of these questions, by this tokenizer, are kept; None where they are not."""
    if cache_dir is False:
        return None
    try:
        if cache_dir is None:
            base = os.environ.get("XDG_CACHE_HOME", "")
            cache_dir = (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "siamese"
        folder = Path(cache_dir).expanduser()
    except RuntimeError as error:  # no home folder
        _log.warning("siamese: tokens are not kept on disk: %s", error)
        return None
    digest = hashlib.sha256(json.dumps([tokenizer_version(), distinct]).encode())
    return folder / f"tokens-{digest.hexdigest()[:32]}.npz"


def _read(path: Path, questions: int) -> tuple[list[str], Ragged] | None:
    try:
        with np.load(path, allow_pickle=False) as kept:
            text = kept["words"].tobytes().decode(*_TEXT)
            words, ids = text.split("\n") if text else [], Ragged(kept["values"], kept["offsets"])
        if len(ids) != questions or ids.values.max(initial=-1) >= len(words):
            raise ValueError("its words and its ids do not go together")
        return words, ids
    except FileNotFoundError:
        return None
    except Exception as error:  # Whatever a damaged archive makes zipfile and NumPy raise.
        _log.warning("siamese: cannot use %s, tokenizing again: %s", path, error)
        return None


def _write(path: Path, words: list[str], ids: Ragged) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(path.parent)
        with open_atomically(path) as file:
            text = np.frombuffer("\n".join(words).encode(*_TEXT), np.uint8)
            np.savez(file, words=text, values=ids.values, offsets=ids.offsets)
    except (OSError, DataError) as error:
        why = explain(error, path.parent, "make") if isinstance(error, OSError) else error
        _log.warning("siamese: tokens are not kept on disk: %s", why)
