"""Answers whether one question is a duplicate of another, by an encoder, a learned LSTM, or both."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from siamese.encoders import USE, find_encoder, is_encoder_name, runs, unit_rows
from siamese.encoders.lstm import Encoder, LstmConfig, powers_of_two
from siamese.errors import ArgumentError
from siamese.evaluation.thresholds import COURSE_THRESHOLD, fit_threshold
from siamese.model import file as model_file
from siamese.model.parts import Decisions, calibration_of
from siamese.nn.nearest import cosines_with
from siamese.system.arguments import as_number, whole_number
from siamese.system.progress import progress_bar
from siamese.text.cleaning import LONGEST_TEXT, cleaned, has_words, straightened
from siamese.text.lists import text_list
from siamese.text.tokenizer import LONGEST, MAX_TOKENS, word_ids, word_tokenize
from siamese.text.vocabulary import Vocabulary
from siamese.text.wrapping import plain

# Of an encoder without labels. Above a cosine of 0.8 most pairs of the encoder `use`
# are duplicates (0.62 of Quora's, 0.84 of news'), but the best threshold depends on the
# topic: 0.82, 0.66, on a forum 0.4.
UNLABELLED_THRESHOLD = 0.8
# The parts' shares of the cosine, chosen by validation rows and other topics
# (docs/topics/quality.md).
SHARES = {
    ("encoder",): (1.0,),
    ("lstm",): (1.0,),
    ("encoder", "head"): (0.5, 0.5),
    ("encoder", "lstm"): (0.75, 0.25),
    ("encoder", "head", "lstm"): (0.65, 0.18, 0.17),
}
AT_ONCE = 250_000 * (os.cpu_count() or 1)  # characters encoded at once, in two seconds


class DuplicateDetector(Decisions):
    """A saved siamese model that answers; threads may share it.

    The vector of a question is ``[sqrt(w_e) * e, sqrt(w_h) * h, sqrt(w_t) * t]``: `e`
    is the frozen encoder's, `h` that of a head, a square matrix over `e`, `t` the
    learned LSTM's, all of length 1. So the cosine of two questions is the mean of the
    parts' cosines, weighed by their shares `w`. Parts may be missing.

    Args:
      weights: name -> array of the LSTM, see `siamese.nn.lstm`; None without an LSTM.
      vocabulary: the words of its embedding; None without an LSTM.
      lstm: the LSTM's configuration; None without one.
      encoder: an encoder's name or an object, see `siamese.encoders.find_encoder`; None for a
        LSTM alone. An object must be thread-safe if the detector is shared by threads.
      head: float32 [d, d] for an encoder's vectors of d numbers, or None; see `siamese.training.head`.
      shares: part -> its weight in the cosine, above 0 and 1 together; those of `SHARES` where None.
      threshold: what a pair's score must exceed to count as a duplicate, see `judged`.
      calibration: turns a cosine into a probability; None where the model was saved without one.
      card: what the model was trained on, its figures and versions; JSON values.

    ArgumentError for neither an LSTM nor an encoder, a part of an LSTM, or a share that
    does not fit; CheckpointError for weights that do not fit the LSTM.
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray] | None,
        vocabulary: Vocabulary | None,
        lstm: LstmConfig | None,
        *,
        encoder: Any = None,
        head: np.ndarray | None = None,
        shares: Mapping[str, float] | None = None,
        threshold: float = COURSE_THRESHOLD,
        calibration: Any = None,
        card: dict[str, Any] | None = None,
    ):
        absent = [part is None for part in (weights, vocabulary, lstm)]
        if any(absent) and not (all(absent) and encoder is not None):
            raise ArgumentError(
                "Pass weights, vocabulary and LSTM together, an encoder, or both."
            )
        self.vocabulary, self.lstm = vocabulary, lstm
        self.encoder = None if encoder is None else find_encoder(encoder)
        self.head = None
        if head is not None:
            self.head = np.array(head, np.float32)
            self.head.flags.writeable = False
        parts = {"encoder": self.encoder, "head": self.head, "lstm": lstm}
        names = tuple(name for name, part in parts.items() if part is not None)
        square, head = (getattr(self.encoder, "size", 0),) * 2, self.head
        if head is not None and not (head.shape == square and np.isfinite(head).all()):
            raise ArgumentError(
                f"head must be a finite matrix {square}; it is {self.head.shape}."
            )
        self.shares = dict(shares or dict(zip(names, SHARES[names])))
        shares = self.shares.values()
        if (*self.shares,) != names or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
            what = f"shares must be above 0 for {', '.join(names)}, in this order, and 1 together"
            raise ArgumentError(f"{what}; they are {self.shares!r}.")
        self.threshold, self.calibration = (
            as_number(threshold, "threshold"),
            calibration,
        )
        self.card = dict(card or {})
        self.lstm_encoder = None if lstm is None else Encoder(lstm, weights)
        self.weights = {} if lstm is None else self.lstm_encoder.weights

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {share:g}" for name, share in self.shares.items())
        return f"DuplicateDetector({parts}, threshold {self.threshold:.3f})"

    @classmethod
    def pretrained(cls) -> DuplicateDetector:
        """The default encoder `use`; its threshold is not fitted to labels.

        Example:
          >>> detector = DuplicateDetector.pretrained()
          >>> detector.predict("How do I learn Spanish?", "What is the best way to learn Spanish?")
          True
        """
        return cls.from_encoder(USE)

    @classmethod
    def from_encoder(cls, encoder: Any) -> DuplicateDetector:
        """A detector of an encoder alone; see `fitted` for a threshold from labelled pairs.

        The encoder is a name, a path, an object or a function: see
        `siamese.encoders.find_encoder`, also for what it raises.
        """
        encoder, threshold = find_encoder(encoder), UNLABELLED_THRESHOLD
        card = {"encoder": encoder.name, "threshold_from": "default"}
        return cls(None, None, None, encoder=encoder, threshold=threshold, card=card)

    def fitted(self, pairs: Any, *, resamples: int = 200) -> DuplicateDetector:
        """The same model with threshold and calibration of labelled pairs, 30 at least to be of use.

        For `resamples` and errors see `siamese.evaluation.thresholds.fit_threshold`.
        """
        sides, labels = (
            self._pairs(pairs.question1, pairs.question2),
            pairs.is_duplicate,
        )
        if self.measure == "probability":
            cosines = self.part_cosines(*sides)
            return self.with_fit(self.calibration.refitted(cosines, labels, resamples))
        fit = fit_threshold(cosines_with(*sides), labels, resamples=resamples)
        return self.with_fit(fit.to_dict())

    def with_fit(self, fit: Mapping[str, Any]) -> DuplicateDetector:
        """The same model with another threshold and calibration, as plain values."""
        if not isinstance(fit, Mapping):
            raise ArgumentError(
                f"A fit is a dict of threshold and calibration, not {fit!r:.40}."
            )
        detector = copy.copy(self)
        detector.threshold = as_number(fit.get("threshold"), "threshold", -1, 1)
        if as_number(fit.get("weight", 0), "weight", 0, 1):
            as_number(fit.get("list_threshold"), "list_threshold", -3, 1)
        detector.calibration = calibration_of(fit.get("calibration"))
        source = fit.get("threshold_from", "labels")
        detector.card = {
            **self.card,
            "threshold_fit": dict(fit),
            "threshold_from": source,
        }
        return detector

    @property
    def fit(self) -> dict[str, Any]:
        """Threshold and calibration as plain values, for `with_fit`."""
        calibration = self.calibration and asdict(self.calibration)
        facts = {"threshold": self.threshold, "calibration": calibration}
        return {**facts, "threshold_from": self.threshold_from}

    @property
    def list_cut(self) -> tuple[float, float]:
        """Which groups of a list are joined: a mean cosine, and the weight of local scaling.

        With a weight above 0 the cosine is less what `siamese.groups.local` takes off
        it. Answers to pairs of a list fit both; without such answers they are the
        threshold and 0.
        """
        fit = self.card.get("threshold_fit", {})
        weight = float(fit.get("weight", 0))
        return (
            (float(fit["list_threshold"]), weight) if weight else (self.threshold, 0.0)
        )

    @property
    def threshold_from(self) -> str:
        """Where the threshold comes from: 'labels', 'default' (no labels at all), or 'model'."""
        return str(self.card.get("threshold_from", "model"))

    @property
    def places(self) -> dict[str, slice]:
        """The place of each part in a question's vector."""
        sizes = (
            self.lstm.output_size if part == "lstm" else self.encoder.size
            for part in self.shares
        )
        ends = np.cumsum([0, *sizes]).tolist()
        return dict(zip(self.shares, map(slice, ends[:-1], ends[1:])))

    @property
    def output_size(self) -> int:
        """The size of a question's vector."""
        return max(place.stop for place in self.places.values())

    @functools.cached_property
    def checksum(self) -> str:
        """The SHA-256 of what decides the vectors: arrays, vocabulary, LSTM, encoder, head and shares."""
        return model_file.checksum(
            model_file.arrays_of(self), model_file.vector_facts(self)
        )

    # ---- Saving ----

    @classmethod
    def load(cls, path: str | os.PathLike) -> DuplicateDetector:
        """Loads a model; runs nothing of its file.

        The path is the file of a model, the directory of a training run, or an
        encoder's name such as 'use' (for a file of that name write './use').
        CheckpointError: missing, damaged, of another version, or made with another
        encoder. MissingDependencyError: its encoder's package is not installed.
        """
        if isinstance(path, str) and is_encoder_name(path):
            return cls.from_encoder(path)
        return model_file.read_model(path)

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> Path:
        """Writes the model's file (in a directory ``model.safetensors``) atomically; returns its path.

        ArgumentError for a file that is there without `overwrite`; CheckpointError
        where it cannot be written, or its encoder is an object in Python.
        """
        model_file.check_encoder(self)
        path = model_file.model_path(path)
        facts = {**model_file.vector_facts(self), **self.fit, "card": self.card}
        del facts["threshold_from"]  # The card has it.
        arrays = model_file.arrays_of(self)
        model_file.write_file(path, "model", arrays, facts, overwrite=overwrite)
        return path

    # ---- Answering ----

    def cut(self, questions: Iterable[str]) -> int:
        """How many questions the model does not read to their end.

        Of a question, its tags counted, `siamese.text.cleaning.LONGEST_TEXT` characters
        are cleaned. Of the cleaned text an encoder reads at most its `longest`
        characters, an LSTM the first `MAX_TOKENS` tokens of the first `LONGEST`
        characters.
        """
        # A token has a character.
        return sum(len(text) > MAX_TOKENS and self._is_cut(text) for text in questions)

    def _is_cut(self, text: str) -> bool:
        text, is_cut = self._beginning(text)
        if is_cut or (self.encoder and self.encoder.cut([text])):
            return True
        if self.lstm is None:
            return False
        text = self.vocabulary.read(text)
        return len(text) > LONGEST or len(word_tokenize(text)) > MAX_TOKENS

    def encode(
        self, questions: Any, batch_size: int | None = None, show_progress: bool = False
    ) -> np.ndarray:
        """The questions' vectors, float32 [questions, d], of length 1; [d] for a single text.

        A blank question has a zero vector; with an encoder also one without a letter or
        digit, or of a script that no part knows. A vector is the same alone or in
        company. (A model trained with padding in its mean, as the course's, sees each
        question padded to a power of two.)

        Args:
          questions: one text, a list or a column of texts, or a table with one column of questions.
          batch_size: how many are encoded at once; what takes seconds where None.
          show_progress: show a bar on standard error for work of over two seconds.

        ArgumentError for a `batch_size` below 1; DataError for a question that is not
        text, with its place, and for a table without one column of questions.
        """
        if isinstance(questions, str):
            return self.encode([questions])[0]
        texts = text_list(questions, "encode")
        places = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = list(places)
        sizes, most = list(map(len, distinct)), AT_ONCE
        if batch_size is not None:
            sizes, most = [1] * len(distinct), whole_number(batch_size, "batch_size", 1)
        vectors = np.empty((len(distinct), self.output_size), np.float32)
        parts = list(runs(sizes, most))
        bar: Any = nullcontext()
        if show_progress:
            bar = progress_bar(len(distinct), "encoding", "questions")
        with (
            bar,
            ThreadPoolExecutor(1) as thread,
        ):  # It reads texts while earlier ones are encoded.
            read = thread.map(self._read, [distinct[part] for part in parts])
            try:
                for part, texts_and_ids in zip(parts, read):
                    vectors[part] = self._vectors(*texts_and_ids)
                    if show_progress:
                        bar.update(part.stop - part.start)
            finally:
                thread.shutdown(cancel_futures=True)  # after Ctrl-C
        return vectors[[places[text] for text in texts]]

    def as_read(self, text: str) -> str:
        """A question as the parts read it: `plain`, straightened, and slips set right.

        An LSTM that tells case apart, as the course's, reads every letter.
        """
        text, _ = self._beginning(text)
        if self.encoder and self._is_folded:
            return self.encoder.respelled(text)
        return text

    @property
    def _is_folded(self) -> bool:
        """Whether all parts read plain text; the course's LSTM does not."""
        return self.vocabulary is None or self.vocabulary.folded

    def _beginning(self, text: str) -> tuple[str, bool]:
        """A question cleaned, and cut to what the parts read; whether it is longer."""
        is_longer = len(text) > LONGEST_TEXT
        if self._is_folded:
            text = straightened(plain(text))
        elif self.encoder:
            text = cleaned(text)
        longest = self.encoder.longest if self.encoder else LONGEST_TEXT
        if len(text) > longest:
            text = " ".join(text.split())  # Blanks alone hide no words behind them.
        return text[:longest], is_longer or len(text) > longest

    def _token_ids(self, text: str) -> list[int]:
        """The ids of the tokens that the LSTM reads of a text that is cleaned."""
        words = word_tokenize(self.vocabulary.read(text)[:LONGEST])
        return word_ids(words[:MAX_TOKENS], self.vocabulary)

    def _read(self, texts: Sequence[str]) -> tuple[list[str], Any]:
        """Texts as they are read, and their token ids where there is an LSTM."""
        read = list(map(self.as_read, texts))
        if self.lstm is None:
            return read, None
        return read, list(
            map(self._token_ids, read if self.vocabulary.folded else texts)
        )

    def _vectors(self, texts: list[str], ids: Any, length: Any = None) -> np.ndarray:
        """The vectors of texts and their token ids, padded to `length`, float32 [texts, d]."""
        parts = []
        if self.encoder is not None:
            parts.append(self.encoder.encode(texts))
        if self.head is not None:
            parts.append(unit_rows(parts[0] @ self.head))
        if self.lstm is not None:
            parts.append(self.lstm_encoder.encode(ids, length=length))
        vectors = parts[0] if len(parts) == 1 else self.joined(parts)
        if self.encoder is not None:  # An LSTM alone has a vector of marks.
            vectors[[not has_words(text) for text in texts]] = 0
        return vectors

    def joined(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Questions' vectors, of the vectors of their parts, float32 [n, size] each, as in `shares`."""
        weights = np.sqrt(np.array(list(self.shares.values()), np.float32))
        # A text that one part has no vector for has the others'.
        return unit_rows(
            np.concatenate([w * part for w, part in zip(weights, parts)], axis=1)
        )

    def similarity(self, question1: Any, question2: Any) -> Any:
        """The cosine of two questions (a float), or of two lists pair by pair (float32 [n]).

        One question is compared with each of a list; lists of different lengths are an
        ArgumentError.
        """
        return self._compared(cosines_with, question1, question2)

    def score(self, question1: Any, question2: Any) -> Any:
        """What decides, see `scores_of`; arguments and shape as `similarity`."""
        return self._compared(self.scores_of, question1, question2)

    def probability(self, question1: Any, question2: Any) -> Any:
        """The probability of two questions (or lists, pair by pair); ArgumentError without calibration."""
        if self.calibration is None:
            raise ArgumentError(
                "This model has no calibration, so no probabilities. Fit one on labelled pairs: "
                "`siamese threshold MODEL --answers FILE`."
            )
        chances = self.probabilities_of(self.score(question1, question2))
        return chances if np.ndim(chances) else float(chances)

    def predict(
        self, question1: Any, question2: Any, threshold: float | None = None
    ) -> Any:
        """Whether two questions (or two lists, pair by pair) have a score above a threshold or the own."""
        answer = self.score(question1, question2) > self.border(threshold)
        return answer if np.ndim(answer) else bool(answer)

    def answers(
        self, question1: Any, question2: Any, threshold: float | None = None
    ) -> list[tuple[float, float | None, bool]]:
        """`judged` for the pairs of two lists of questions."""
        return self.judged(*self._pairs(question1, question2), threshold)

    def _compared(self, measure: Callable, question1: Any, question2: Any) -> Any:
        """The one value of two texts as a float, or the values of lists."""
        values = measure(*self._pairs(question1, question2))
        single = isinstance(question1, str) and isinstance(question2, str)
        return float(values[0]) if single else values

    def _pairs(self, question1: Any, question2: Any) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of pairs, float32 [pairs, d] for each side."""
        sides = [
            [side] if isinstance(side, str) else text_list(side, "similarity")
            for side in (question1, question2)
        ]
        first, second = sides
        if isinstance(question1, str):
            first = first * len(second)
        elif isinstance(question2, str):
            second = second * len(first)
        if len(first) != len(second):
            raise ArgumentError(
                f"Questions are compared pair by pair: {len(first)} first and {len(second)} second ones."
            )
        texts = [*first, *second]
        if self.lstm is None or self.lstm.mask_padding:
            vectors = self.encode(texts)
        else:  # As the course's predict: both of a pair padded to the power of two of the longer one.
            texts, ids = self._read(texts)
            longest = np.reshape([max(len(row), 1) for row in ids], (2, -1)).max(axis=0)
            vectors = self._vectors(
                texts, ids, length=np.tile(powers_of_two(longest), 2)
            )
        return vectors[: len(first)], vectors[len(first) :]

    def unknown_words(self, question: str) -> list[str]:
        """The question's words that no part of the model knows, in order; see `FrozenEncoder.unread`."""
        text, vocabulary = self.as_read(question), self.vocabulary or ()
        words = word_tokenize((vocabulary.read(text) if vocabulary else text)[:LONGEST])
        unknown = [word for word in words if word not in vocabulary]
        if self.encoder is None:
            return unknown
        return [
            word for word in unknown if has_words(word) and self.encoder.unread(word)
        ]

    def without_known_words(self, questions: Sequence[str]) -> np.ndarray:
        """Which questions have no word that the model knows, bool [questions]: it cannot tell them apart.

        A mark is no word. An encoder knows the words of all but `unread` questions.
        """

        def has_known(words: list[str]) -> bool:
            return any(w in self.vocabulary and has_words(w) for w in words)

        def is_unknown(text: str) -> bool:
            if self.encoder and not self.encoder.unread(plain(text)):
                return False
            if self.lstm is None:
                return True
            text, words = self.as_read(text), self.vocabulary
            # Most texts have a known word between blanks; the others are read as the
            # LSTM reads them.
            near = (text.lower() if words.folded else text).split()
            return not (
                has_known(near) or has_known(word_tokenize(words.read(text)[:LONGEST]))
            )

        return np.array(list(map(is_unknown, questions)), bool)
