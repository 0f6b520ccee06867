"""The LSTM as an encoder of questions of any length, without Trax or TensorFlow in the process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from siamese.encoders.protocol import BaseEncoder, checksum
from siamese.errors import CheckpointError
from siamese.nn.arrays import unit_vectors
from siamese.nn.lstm import PAD, LstmConfig, encode, products_of
from siamese.nn.ragged import Ragged
from siamese.text.cleaning import has_words
from siamese.text.tokenizer import LONGEST, MAX_TOKENS, word_ids, word_tokenize
from siamese.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import jax

TRAIN_AGAIN = "Train the model again, or take another copy."
# Lengths and row counts that batches are padded to: few shapes, so few compilations.
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
ROWS = (1, 16, 256)
TOKENS_PER_CALL = 16_384
# Of the LSTMs' products with every word, kept while an encoder lives.
MAX_PRODUCT_BYTES = 512 << 20
FEW = 32  # Up to so many questions NumPy answers sooner than JAX starts.


def encode_few(
    weights: Mapping[str, np.ndarray], tokens: np.ndarray, config: LstmConfig
) -> np.ndarray:
    """`encode` in plain NumPy, for a handful of questions: no second to import JAX, none to compile."""
    x = weights["embedding"][tokens]  # [batch, length, d_model]
    batch, _, d = x.shape
    mask = tokens != PAD if config.mask_padding else np.ones(tokens.shape, bool)
    steps = np.flatnonzero(mask.any(axis=0))
    means = []
    for name, order in zip(config.lstms, (steps, steps[::-1])):
        kernel = weights[f"{name}/kernel"]
        bias = weights[f"{name}/bias"]
        h = c = total = np.zeros((batch, d), np.float32)
        for t in order:
            # One product a step: of a single question BLAS then starts no threads,
            # which would wait.
            i, j, f, o = np.split(np.hstack([x[:, t], h]) @ kernel + bias, 4, axis=-1)
            c_new = c * _sigmoid(f) + _sigmoid(i) * np.tanh(j)
            h_new = _sigmoid(o) * np.tanh(c_new)
            here = mask[:, t, None]
            h = np.where(here, h_new, h)
            c = np.where(here, c_new, c)
            total = total + np.where(here, h, 0)
        count = mask.sum(axis=1, keepdims=True)
        means.append(total / np.maximum(count, 1).astype(np.float32))
    return np.asarray(unit_vectors(np, np.concatenate(means, axis=-1)))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * np.tanh(0.5 * x) + 0.5  # Never overflows, unlike 1 / (1 + exp(-x)).


class Lstm(BaseEncoder):
    """An LSTM over the words of a vocabulary; threads may share it.

    It reads the first `MAX_TOKENS` tokens of the first `LONGEST` characters of a text.
    One whose vocabulary tells case apart, as the course's, reads every letter.

    Args:
      config: its shape.
      weights: name -> array, see `siamese.nn.lstm`.
      vocabulary: the words of its embedding.

    CheckpointError where they do not fit each other; it names the array and both
    shapes.
    """

    name = "lstm"
    longest = LONGEST

    def __init__(
        self,
        config: LstmConfig,
        weights: Mapping[str, np.ndarray],
        vocabulary: Vocabulary,
    ):
        self.config = config
        self.vocabulary = vocabulary
        self.size = config.output_size
        if config.vocab_size != vocabulary.size:
            sizes = f"{vocabulary.size} different words, and its embedding {config.vocab_size} rows"
            raise CheckpointError(f"The LSTM's vocabulary has {sizes}. {TRAIN_AGAIN}")
        self.weights = {}
        for name, shape in config.shapes().items():
            array = np.asarray(weights.get(name, ()))
            is_float = array.dtype.kind == "f"
            if array.shape != shape or not is_float or not np.isfinite(array).all():
                raise CheckpointError(
                    f"The model's weights do not fit its configuration, or are damaged: {name} must be "
                    f"finite floats {list(shape)}; it is {array.dtype} {list(array.shape)}. {TRAIN_AGAIN}"
                )
            self.weights[name] = np.array(array, np.float32, order="C")
            self.weights[name].flags.writeable = False

    @functools.cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The SHA-256 of shape, vocabulary and weights."""
        words = self.vocabulary
        reading = [list(words.words), words.folded, words.unknown_ids]
        return checksum(self.weights, [asdict(self.config), reading])

    # ---- Texts ----

    def beginning(self, text: str) -> tuple[str, bool]:
        """A question as it is tokenized, and whether it is longer."""
        if self.vocabulary.folded:
            return super().beginning(text)
        return text[: self.longest], len(text) > self.longest

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text that it reads."""
        return word_tokenize(self.vocabulary.read(text)[:LONGEST])[:MAX_TOKENS]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's tokens."""
        return [word_ids(self.tokens(text), self.vocabulary) for text in texts]

    def knows(self, text: str) -> bool:
        """Whether its vocabulary has a word of a text."""
        # Most texts have a known word between blanks; the others are read as a whole.
        near = (text.lower() if self.vocabulary.folded else text).split()
        return self._knows_one(near) or self._knows_one(self.tokens(text))

    def _knows_one(self, words: Iterable[str]) -> bool:
        return any(word in self.vocabulary and has_words(word) for word in words)

    def has_more(self, text: str) -> bool:
        """Whether it does not read a text to its end."""
        text = self.vocabulary.read(text)
        return len(text) > LONGEST or len(word_tokenize(text)) > MAX_TOKENS

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts as they are read, float32 [texts, size], of length 1 or 0.

        Where padding is in the mean, as in the course's, each text is padded to a power
        of two of its own.
        """
        return self.encode_ids(self.ids(texts))

    def encode_pairs(
        self, texts: Sequence[str], others: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of pairs of texts, float32 [pairs, size] each, both padded to one length.

        It is the power of two of the longer one, as in the course's predict.
        """
        ids = self.ids([*texts, *others])
        longest = np.reshape([max(len(row), 1) for row in ids], (2, -1)).max(axis=0)
        vectors = self.encode_ids(ids, length=np.tile(powers_of_two(longest), 2))
        return vectors[: len(texts)], vectors[len(texts) :]

    # ---- Token ids ----

    @functools.cached_property
    def _compiled(self) -> Callable[[np.ndarray], jax.Array]:
        import jax

        config = self.config
        on_device = jax.device_put(self.weights)
        size = 16 * config.d_model * config.vocab_size * len(config.lstms)
        if size <= MAX_PRODUCT_BYTES:
            products = jax.jit(
                lambda weights: products_of(weights, weights["embedding"], config)
            )
            names = (f"{name}/products" for name in config.lstms)
            on_device |= dict(zip(names, products(on_device)))
        run = jax.jit(lambda weights, tokens: encode(weights, tokens, config))
        return lambda tokens: run(on_device, tokens)

    def encode_ids(
        self,
        questions: Ragged | Sequence[Sequence[int]],
        *,
        length: int | np.ndarray | None = None,
    ) -> np.ndarray:
        """The vectors of questions, int token ids without padding: float32 [questions, size].

        The vector of a question without tokens is zero. All are padded to `length`, or
        each to its own, int [questions], which matters where padding is not masked:
        there, without it, each is padded to its own power of two, as the course's
        predict does. DataError where one is longer than `length`.
        """
        rows = Ragged.from_lists(questions)
        vectors = np.zeros((len(rows), self.size), np.float32)
        if length is None:
            length = self._padded_lengths(rows)
        padded = np.broadcast_to(length, len(rows))
        few = len(rows) <= FEW
        calls = []  # (questions, their vectors): JAX works on a call while the next one is prepared.
        for size in sorted(set(padded.tolist())):
            at = np.flatnonzero((padded == size) & (rows.lengths > 0))
            rows_per_call = _rows_per_call(size, len(at))
            for start in range(0, len(at), rows_per_call):
                chunk = at[start : start + rows_per_call]
                tokens = rows.padded(chunk, size, PAD)
                if few:
                    vectors[chunk] = encode_few(self.weights, tokens, self.config)
                else:
                    # Filled up with repeated rows: few shapes, so few compilations.
                    filled = tokens[np.arange(rows_per_call) % len(chunk)]
                    calls.append((chunk, self._compiled(filled)))
        for chunk, result in calls:
            vectors[chunk] = np.asarray(result)[: len(chunk)]
        return vectors

    def _padded_lengths(self, rows: Ragged) -> np.ndarray:
        """The length to pad each row to where the caller gives none, int [rows]."""
        lengths = np.maximum(rows.lengths, 1)
        if not self.config.mask_padding:
            return powers_of_two(lengths)
        longest = max(int(lengths.max(initial=1)), LENGTHS[-1])
        sizes = np.array([*LENGTHS, longest])
        return sizes[np.searchsorted(sizes, lengths)]


def _rows_per_call(length: int, rows: int) -> int:
    """How many of so many rows of a length a call of the compiled function takes."""
    most = max(1, TOKENS_PER_CALL // length)
    if rows >= most:
        return most
    return min(most, next((count for count in ROWS if count >= rows), ROWS[-1]))


def powers_of_two(lengths: np.ndarray) -> np.ndarray:
    """The least power of two of each length's size at least, int [n]: what the course pads to."""
    return 1 << np.ceil(np.log2(lengths)).astype(int)
