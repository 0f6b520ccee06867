"""Static vectors and their subwords: a table with a row for each token, and the tokenizer for them.

Read without network and without running anything of the file:
  wordllama        the two files inside the installed package of that name
  FILE             word2vec's or GloVe's text format, also as .gz: a word and its numbers on each line
  FOLDER           one .safetensors file with one table, and a tokenizer.json
  FILE.safetensors likewise, the tokenizer.json beside it
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
import importlib.util
import itertools
import json
import os
import unicodedata
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese.data.tokenizer import UNKNOWN_ID, word_tokenize
from siamese.data.vocabulary import PAD, PAD_ID
from siamese.errors import DataError, MissingDependencyError
from siamese.nn.characters import CharacterTable
from siamese.nn.ragged import Ragged
from siamese.storage.atomic import explain

WORDLLAMA = "wordllama"

_SPECIAL = 2  # Unknown and padding: the tokenizer's token i has the id i + 2.
_BLANKS = ("▁", "Ġ")  # How tokenizers write the blank before a token.
_BLOCK = 10_000  # Texts encoded at once.
_MOST_BYTES = 36_000_000  # Bytes of a saved model for the rows: it is to stay below 40 MB.
_WORD = 28  # Of them for a row's word, beside its static vector and its embedding, both float16.
_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_UNKNOWN = "<unk>"


def fold(text: str) -> str:
    """Text as static vectors know it: HTML entities resolved, NFKC, straight quotes, lower case.

    Example:
      >>> fold("What’s  the &quot;Ｑ&quot;?")
      'what\\'s the "q"?'
    """
    # Half a surrogate pair has no UTF-8, which the tokenizer works on.
    return plain(html.unescape(text)).lower().encode("utf-8", "replace").decode()


def plain(text: str) -> str:
    """Text with compatibility characters resolved (NFKC), straight quotes, and single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT).split())


class Subwords(Mapping):
    """A tokenizer.json as a vocabulary: unknown 0, ``<PAD>`` 1, token i of the tokenizer i + 2.

    It stands where a `Vocabulary` does, and splits text itself, folded by `fold`. A WordLevel tokenizer
    without a pre-tokenizer, such as is made of a text file of vectors, gets the words of `word_tokenize`.

    Args:
      content: the bytes of the tokenizer.json.

    Raises:
      MissingDependencyError: the package tokenizers is not installed.
      DataError: not a tokenizer.
    """

    unknown_ids, lowercase = 0, True

    def __init__(self, content: bytes):
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise _missing("Subwords need the package tokenizers", "tokenizers") from None
        try:
            self._tokenizer = made = Tokenizer.from_buffer(content)
        except Exception as error:  # tokenizers' own is a bare Exception.
            raise DataError(f"The tokenizer.json cannot be read ({str(error)[:200]}).") from error
        made.no_padding()
        made.no_truncation()
        self.content = content
        self.size = made.get_vocab_size() + _SPECIAL
        self._of_words = type(made.model).__name__ == "WordLevel" and made.pre_tokenizer is None
        self._unknown = made.token_to_id(getattr(made.model, "unk_token", None) or "")

    def __repr__(self) -> str:
        return f"<Subwords: {len(self):,} tokens>"

    def __getitem__(self, token: str) -> int:
        found = PAD_ID - _SPECIAL if token == PAD else self._tokenizer.token_to_id(token)
        return UNKNOWN_ID if found in (None, self._unknown) else found + _SPECIAL

    def get(self, token: str, default=None):
        """The id of a known token, else `default`."""
        return self[token] or default

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self[token] != UNKNOWN_ID

    def __iter__(self) -> Iterator[str]:
        return iter([PAD, *map(self._tokenizer.id_to_token, range(self.size - _SPECIAL))])

    def __len__(self) -> int:
        return self.size - 1

    @functools.cached_property
    def checksum(self) -> str:
        """The SHA-256 of the tokenizer.json."""
        return hashlib.sha256(self.content).hexdigest()

    def split(self, question: str) -> list[str]:
        """The tokens of a text, in order, unknown words as they are."""
        text = fold(question)
        if self._of_words:
            return word_tokenize(text)
        return self._tokenizer.encode(text, add_special_tokens=False).tokens

    def whole_words(self, tokens: Iterable[str]) -> list[tuple[str, int]]:
        """The words that a text's tokens make, and of how many each; a blank begins a word."""
        found: list[tuple[str, int]] = []
        for token in tokens:
            if self._of_words or not found or token.startswith(_BLANKS):
                found.append((token.lstrip("".join(_BLANKS)), 1))
            else:
                found[-1] = found[-1][0] + token, found[-1][1] + 1
        return found

    def encode(self, question: str | Iterable[str]) -> list[int]:
        """The ids of a text, or of tokens."""
        if not isinstance(question, str):
            return [self[token] for token in question]
        return self.encode_many([question])[0].tolist()

    def encode_many(self, questions: list[str]) -> Ragged:
        """The ids of each text; the tokenizer works on all cores."""
        ids, lengths = array("i"), array("q", [0])
        for start in range(0, len(questions), _BLOCK):
            texts = [fold(text) for text in questions[start : start + _BLOCK]]
            if self._of_words:
                texts = [word_tokenize(text) for text in texts]
            options = {"is_pretokenized": self._of_words, "add_special_tokens": False}
            for encoded in self._tokenizer.encode_batch_fast(texts, **options):
                ids.extend(encoded.ids)
                lengths.append(len(encoded))
        values = np.array(ids, np.int32) + _SPECIAL
        if self._unknown is not None:
            values[values == self._unknown + _SPECIAL] = UNKNOWN_ID
        return Ragged(values, np.cumsum(lengths))

    def text(self, i: int) -> str:
        """The text of a token by its id, with the blank before it where it begins a word."""
        if i < _SPECIAL or i - _SPECIAL == self._unknown:
            return ""
        token = self._tokenizer.id_to_token(i - _SPECIAL)
        if self._of_words:
            return " " + token
        for blank in _BLANKS:
            token = token.replace(blank, " ")
        return token

    def characters(self, questions: Ragged | None = None) -> CharacterTable:
        """The tokens' character vectors, with trigrams counted in questions (ids), or in the tokens."""
        occurrences, count = np.ones(self.size, int), self.size
        if questions is not None:
            count = len(questions)
            of = np.repeat(np.arange(count), questions.lengths)
            once = np.unique(of * self.size + questions.values) % self.size
            occurrences = np.bincount(once, minlength=self.size)
        return CharacterTable.counted(self.text, self.size, occurrences, count)


@dataclass(frozen=True, eq=False)
class StaticVectors:
    """A table of vectors and its subwords.

    Args:
      table: float16 [size, d], a row for each id of `vocabulary`, scaled to a mean square of 1; those of
        unknown and padding are zero.
      vocabulary: the subwords.
    """

    table: np.ndarray
    vocabulary: Subwords

    @classmethod
    def read(cls, source: str | os.PathLike) -> StaticVectors:
        """Reads one of the forms that this module's docstring names.

        Raises:
          MissingDependencyError: a package is not installed; the message says how to install it.
          DataError: a file is missing or does not fit; one sentence says which and why.
        """
        path = Path(source)
        try:
            if str(source) == WORDLLAMA:
                spec = importlib.util.find_spec(WORDLLAMA)  # Imports nothing.
                if spec is None:
                    needs = "These vectors need the packages wordllama and tokenizers"
                    raise _missing(needs, "wordllama tokenizers")
                folder = Path(spec.submodule_search_locations[0])
                tokenizer = folder / "tokenizers/l2_supercat_tokenizer_config.json"
                return cls._from_table(folder / "weights/l2_supercat_256.safetensors", tokenizer)
            if path.is_dir():
                tables = sorted(path.glob("*.safetensors"))
                if len(tables) != 1:
                    raise DataError(
                        f"{path} holds {len(tables)} .safetensors files; one is wanted."
                    )
                path = tables[0]
            if path.suffix == ".safetensors":
                return cls._from_table(path, path.parent / "tokenizer.json")
            return cls._from_text(path)
        except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno:
                raise DataError(explain(error, error.filename or path, "read")) from error
            raise DataError(f"{path} is not text with vectors, or is damaged ({error}).") from error

    @classmethod
    def _from_table(cls, path: Path, tokenizer: Path) -> StaticVectors:
        from safetensors.numpy import load

        if not tokenizer.exists():
            raise DataError(f"{path} needs its tokenizer beside it, and there is no {tokenizer}.")
        content = path.read_bytes()
        try:
            arrays = load(content)
        except Exception as error:  # safetensors' own is a bare Exception.
            raise DataError(f"{path} is not a safetensors file of numbers ({error}).") from error
        tables = [a for a in arrays.values() if a.ndim == 2 and a.dtype.kind == "f"]
        if len(tables) != 1:
            raise DataError(
                f"{path} holds {len(tables)} two-dimensional tables of vectors; one is wanted."
            )
        return cls._made(path, tables[0], Subwords(tokenizer.read_bytes()))

    @classmethod
    def _from_text(cls, path: Path) -> StaticVectors:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            lines = (line.decode("utf-8").rstrip().split(" ") for line in file)
            first = next(lines, [""])
            header = len(first) == 2 and all(map(str.isdecimal, first))
            d = int(first[1]) if header else len(first) - 1
            if d < 1:
                raise DataError(
                    f"{path}: a line must have a word and its numbers; the first has none."
                )
            most = _MOST_BYTES // (4 * d + _WORD)  # The most frequent words stand first.
            rows: dict[str, np.ndarray] = {}
            for number, line in enumerate(itertools.chain([] if header else [first], lines)):
                if len(rows) == most:
                    break
                word, *numbers = line
                try:
                    vector = np.array(numbers, np.float32)
                except ValueError:  # Common Crawl's GloVe has a few words with blanks in them.
                    vector = None if len(numbers) > d else np.zeros(0)
                if vector is None:
                    continue
                if len(vector) != d:
                    raise DataError(
                        f"{path}, line {number + 1 + header}: {d} numbers are wanted, as in the first "
                        f"line; there are {len(vector)}."
                    )
                rows.setdefault(word.lower(), vector)
        words = [_UNKNOWN, *(word for word in rows if word not in (_UNKNOWN, ""))]
        model = {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": _UNKNOWN,
        }
        made = {"version": "1.0", "added_tokens": [], "model": model}
        table = np.stack([np.zeros(d, np.float32), *(rows[word] for word in words[1:])])
        content = json.dumps(made, ensure_ascii=False).encode("utf-8", "replace")
        return cls._made(path, table, Subwords(content))

    @classmethod
    def _made(cls, path: Path, rows: np.ndarray, vocabulary: Subwords) -> StaticVectors:
        tokens = 1 + max(vocabulary._tokenizer.get_vocab().values(), default=0)
        if not len(vocabulary) - 1 == tokens <= len(rows):
            raise DataError(
                f"{path} has {len(rows):,} rows and its tokenizer {tokens:,} tokens: they do not "
                "belong together."
            )
        table = np.zeros((vocabulary.size, rows.shape[1]), np.float16)
        rows = rows[:tokens].astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            table[_SPECIAL:] = rows / (np.sqrt(np.mean(np.square(rows))) or 1)
        if not np.isfinite(table).all():
            raise DataError(f"{path} holds numbers that are NaN or too large for a vector.")
        return cls(table, vocabulary)

    @functools.cached_property
    def checksum(self) -> str:
        """The SHA-256 of the table and of the tokenizer."""
        digest = hashlib.sha256(self.vocabulary.checksum.encode())
        digest.update(np.ascontiguousarray(self.table).data)
        return digest.hexdigest()

    def principal(self, size: int) -> np.ndarray:
        """The table's first principal directions as columns, float32 [d, size].

        Of an uncentred singular value decomposition; zeros where the table has fewer.
        """
        table = self.table.astype(np.float32)
        _, directions = np.linalg.eigh((table.T @ table).astype(np.float64))
        found = np.zeros((len(directions), size), np.float32)
        kept = min(size, len(directions))
        found[:, :kept] = directions[:, ::-1][:, :kept]
        return found


def _missing(what: str, packages: str) -> MissingDependencyError:
    return MissingDependencyError(f"{what}, which is not installed: pip install {packages}")
