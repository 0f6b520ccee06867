"""tokenize_questions: each distinct question tokenized once, on all cores, and kept on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from siamese.data.token_file import read_tokens, write_tokens
from siamese.data.token_workers import tokenize_in_workers, usable_cores
from siamese.data.tokenizer import short_way, tokenizer_version, word_tokenize
from siamese.data.vocabulary import Vocabulary, word_ids
from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged
from siamese.progress import Progress
from siamese.storage.atomic import explain, remove_stale

_log = logging.getLogger("siamese")

# A worker takes some 0.2 s to start, in which one process tokenizes this many texts the long way.
_TEXTS_WORTH_A_WORKER = 1500
_BLOCK = 2000  # texts between two looks at the clock, some 10 ms


class TokenizedQuestions:
    """Questions as rows of word ids, each distinct question once.

    Attributes:
      words: the distinct words, in order of first sight.
      ids: a `Ragged` of int32, one row per distinct question; ``words[id]`` is the token.
      rows: int64 [questions]; the row in `ids` of each question that was given.
      lowercase: whether the words were folded to lower case.

    Example:
      >>> pairs = tokenize_questions(["What is it?", "Is it?", "What is it?"], cache_dir=False)
      >>> pairs.rows.tolist(), pairs.tokens(2)
      ([0, 1, 0], ['What', 'is', 'it', '?'])
      >>> vocab = pairs.vocabulary(pairs.rows[:1], pairs.rows[1:2])
      >>> pairs.encode(vocab)[1].tolist()
      [6, 4, 5]
    """

    def __init__(self, words: list[str], ids: Ragged, rows: np.ndarray, *, lowercase: bool = False):
        self.words = words
        self.ids = ids
        self.rows = np.asarray(rows, dtype=np.int64)
        self.lowercase = lowercase
        if lowercase:
            self.words, fold = _folded(words)
            self.ids = Ragged(fold[ids.values], ids.offsets)

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, question: int) -> list[str]:
        """The tokens of one of the questions that were given, by its place."""
        return [self.words[word] for word in self.ids[int(self.rows[question])]]

    def vocabulary(
        self,
        rows1: np.ndarray | None = None,
        rows2: np.ndarray | None = None,
        *,
        lowercase: bool | None = None,
        min_count: int = 1,
        max_size: int | None = None,
    ) -> Vocabulary:
        """The course's vocabulary of training pairs, as `Vocabulary.from_pairs` makes it.

        Args:
          rows1: int [pairs], rows in `ids` (such as ``rows[:n]``) of each question 1. None: all
            distinct questions, in order.
          rows2: int [pairs], the same of each question 2. None: `rows1` alone.
          lowercase: fold case; by default as these questions were tokenized.
          min_count: leave out words seen fewer times in all the named rows.
          max_size: keep at most so many words, the most frequent ones.

        Raises:
          ArgumentError: where the two differ in length, or name a row that is not there.
        """
        if rows1 is None:
            rows1 = np.arange(len(self.ids))
        sides = [self._checked_rows(rows) for rows in (rows1, rows2) if rows is not None]
        if len({len(side) for side in sides}) > 1:
            raise ArgumentError(
                f"rows1 names {len(sides[0])} questions and rows2 {len(sides[1])}; "
                "a pair needs one of each."
            )
        in_order = np.stack(sides, axis=1).ravel()  # [pairs * 2]: q1, q2, q1, q2, ...
        rows, first, times = np.unique(in_order, return_index=True, return_counts=True)
        by_sight = np.argsort(first)
        rows, times = rows[by_sight], times[by_sight]
        tokens = self.ids.take(rows)  # a row seen again brings no new word, only counts
        counts = np.bincount(
            tokens.values, weights=np.repeat(times, tokens.lengths), minlength=len(self.words)
        )
        words, first = np.unique(tokens.values, return_index=True)
        words = words[np.argsort(first)]
        return Vocabulary.from_counts(
            {self.words[word]: int(counts[word]) for word in words.tolist()},
            lowercase=self.lowercase if lowercase is None else lowercase,
            min_count=min_count,
            max_size=max_size,
        )

    def encode(self, vocab: Mapping[str, int]) -> Ragged:
        """Each distinct question in ids of `vocab` (ours, a dict, a defaultdict); 0 if unknown."""
        table = np.asarray(word_ids(self.words, vocab), dtype=np.int32)
        return Ragged(table[self.ids.values], self.ids.offsets)

    def _checked_rows(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
            raise ArgumentError(
                "Rows must be a flat array of integers, such as questions.rows[:n]."
            )
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self.ids)):
            raise ArgumentError(
                f"Rows run from 0 to {len(self.ids) - 1}; got {rows.min()} to {rows.max()}."
            )
        return rows.astype(np.int64)


def tokenize_questions(
    questions: Iterable[str],
    *,
    cache_dir: str | os.PathLike | bool | None = None,
    processes: int | None = None,
    progress: bool | None = None,
    lowercase: bool = False,
) -> TokenizedQuestions:
    """Tokenizes questions, each distinct one once, or reads their tokens back from disk.

    Args:
      questions: text; repeated questions cost nothing.
      cache_dir: the folder that keeps the tokens, under a name made from the distinct questions
        and the tokenizer's version. None: ``$XDG_CACHE_HOME/siamese``, else ``~/.cache/siamese``.
        False: keep nothing.
      processes: worker processes at most; 1 works in this process alone. None: one a core, but
        none where they would take longer to start than to work.
      progress: False shows none. Else work of over two seconds shows a bar, or plain lines where
        stderr is no terminal.
      lowercase: fold the words to lower case (after tokenizing, which looks at capitals).

    Returns:
      A `TokenizedQuestions`.

    Raises:
      DataError: where a question is not text; the message names its place.
      ArgumentError: where `questions` is a single str, or `processes` is below 1.
    """
    if isinstance(questions, (str, bytes)):
        raise ArgumentError("tokenize_questions takes a list of questions, not one text.")
    if processes is not None and processes < 1:
        raise ArgumentError(
            f"processes must be 1 or more (or None for all cores), not {processes}."
        )
    places: dict[str, int] = {}
    rows = []
    for place, question in enumerate(questions):
        if not isinstance(question, str):
            raise DataError(
                f"Question {place} (from 0) is {question!r}, not text. An empty cell of a table is "
                "often NaN or None: drop that row or write ''."
            )
        rows.append(places.setdefault(question, len(places)))
    distinct = list(places)
    folder = _folder(cache_dir)
    key = _key(distinct)
    path = None if folder is None else folder / f"tokens-{key[:20]}.bin"
    kept = _read(path, key) if path else None
    if kept is None:
        kept = _tokenize(distinct, processes, progress)
        if path:
            _write(path, key, *kept)
    return TokenizedQuestions(*kept, np.asarray(rows, dtype=np.int64), lowercase=lowercase)


def default_cache_dir() -> Path:
    """``$XDG_CACHE_HOME/siamese``, else ``~/.cache/siamese``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "siamese"


def _folder(cache_dir: str | os.PathLike | bool | None) -> Path | None:
    if cache_dir is False:
        return None
    if cache_dir is None or cache_dir is True:
        try:
            return default_cache_dir()
        except RuntimeError as error:  # no home folder
            _log.warning("siamese: tokens are not kept on disk: %s", error)
            return None
    return Path(cache_dir).expanduser()


def _key(distinct: list[str]) -> str:
    """Names the questions, in their order, and all that decides their tokens."""
    lengths = np.fromiter(map(len, distinct), dtype="<i8", count=len(distinct))
    digest = hashlib.sha256(lengths.tobytes())
    digest.update("".join(distinct).encode("utf-8", "surrogatepass"))
    named = json.dumps([tokenizer_version(), len(distinct), digest.hexdigest()])
    return hashlib.sha256(named.encode()).hexdigest()


def _read(path: Path, key: str) -> tuple[list[str], Ragged] | None:
    try:
        return read_tokens(path, key)
    except FileNotFoundError:
        return None
    except DataError as error:
        _log.warning("siamese: the token cache cannot be used, tokenizing again: %s", error)
    return None


def _write(path: Path, key: str, words: list[str], ids: Ragged) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(path.parent)
        write_tokens(path, key, words, ids)
    except OSError as error:
        _log.warning(
            "siamese: tokens are not kept on disk: %s", explain(error, path.parent, "make")
        )
    except DataError as error:
        _log.warning("siamese: tokens are not kept on disk: %s", error)


def _tokenize(
    texts: list[str], processes: int | None, progress: bool | None
) -> tuple[list[str], Ragged]:
    quiet = progress is False
    with Progress(
        len(texts), "tokenizing", unit="questions", quiet=quiet, seconds_between_lines=2.5
    ) as show:
        tokens: list[list[str] | None] = []
        for start in range(0, len(texts), _BLOCK):
            block = [short_way(text) for text in texts[start : start + _BLOCK]]
            tokens += block
            show.update(sum(found is not None for found in block))
        hard = [place for place, found in enumerate(tokens) if found is None]
        wanted = processes or min(usable_cores(), len(hard) // _TEXTS_WORTH_A_WORKER)
        if wanted > 1:
            answers, reason = tokenize_in_workers(
                [texts[place] for place in hard], wanted, show.update
            )
            if reason:
                _log.warning("siamese: tokenized in one process, as %s", reason)
            for place, answer in zip(hard, answers):
                tokens[place] = answer
        else:
            for place in hard:
                tokens[place] = word_tokenize(texts[place])
                show.update()
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(word, len(numbers)) for row in tokens for word in row]
    offsets = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in tokens], out=offsets[1:])
    return list(numbers), Ragged(np.asarray(flat, dtype=np.int32), offsets)


def _folded(words: list[str]) -> tuple[list[str], np.ndarray]:
    """The distinct words in lower case, and the place there of each given word (int32)."""
    places: dict[str, int] = {}
    fold = [places.setdefault(word.lower(), len(places)) for word in words]
    return list(places), np.asarray(fold, dtype=np.int32)
