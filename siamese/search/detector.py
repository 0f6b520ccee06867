"""Answers whether one question is a duplicate of another: a saved model; no pickle, neither Trax nor JAX.

model/                    a store (`siamese.storage.store`); in its current generation:
  weights.safetensors     one tower's arrays, by name
  vocabulary.json         the words of its embedding; or, of a tower over static vectors,
  tokenizer.json, characters.json    its subwords and their trigrams' counts
  detector.json           tower configuration, threshold, calibration, card
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siamese.data.subwords import Subwords
from siamese.data.vocabulary import Vocabulary
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.nn.characters import CharacterTable
from siamese.nn.encoder import Encoder, TowerConfig
from siamese.storage.store import (
    is_store,
    read_files,
    read_store,
    unreadable_explained,
    write_store,
)

FORMAT_VERSION = 1
COURSE_THRESHOLD = 0.7
MAX_TOKENS = 512  # Longer questions are cut: beyond it the mean of an LSTM says nothing more.
MANY = 4_000  # from so many questions on they are tokenized on all cores


class DuplicateDetector:
    """A saved siamese model that answers; needs neither Trax nor TensorFlow; threads may share it.

    Args:
      weights: name -> array of the tower, see `siamese.nn.tower`.
      vocabulary: the words of its embedding, a `Vocabulary` or `Subwords`.
      tower: the tower's configuration.
      threshold: cosine above which two questions count as duplicates.
      calibration: turns a cosine into a probability; None where the model was saved without one.
      card: what the model was trained on, its figures and versions; JSON values.

    Example:
      >>> detector = DuplicateDetector.load("demo")  # doctest: +SKIP
      >>> detector.predict("How do I learn Spanish?", "Best way to learn Spanish?")  # doctest: +SKIP
      True
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        vocabulary: Vocabulary | Subwords,
        tower: TowerConfig,
        *,
        threshold: float = COURSE_THRESHOLD,
        calibration: Any = None,
        card: dict[str, Any] | None = None,
    ):
        self.vocabulary, self.tower = vocabulary, tower
        self.threshold, self.calibration = float(threshold), calibration
        self.card = dict(card or {})
        self.encoder = Encoder(tower, weights)
        self.weights = self.encoder.weights

    def __repr__(self) -> str:
        return (
            f"DuplicateDetector({len(self.vocabulary):,} words, vectors of {self.tower.output_size}, "
            f"threshold {self.threshold:.3f})"
        )

    @classmethod
    def from_encoder(
        cls, encoder: Any, name: str, *, threshold: float | None = None, pairs: Any = None
    ) -> DuplicateDetector:
        """A detector around any encoder, whose threshold and calibration come from labelled pairs.

        Args:
          encoder: an object with ``encode(list[str])`` (a sentence-transformers model), or a function;
            it returns float [n, d]. It must bear to be called by several threads where this is.
          name: what it is called; an index made with it keeps the name and refuses another.
          threshold: cosine above which two questions are duplicates, where there are no `pairs`.
          pairs: labelled `QuestionPairs`; see `fitted`.

        Raises:
          ArgumentError: neither `threshold` nor `pairs`, or both; an encoder that returns something else.
          DataError: see `siamese.evaluation.thresholds.fit_threshold`.

        Example:
          >>> lengths = lambda texts: np.array([[len(text), 10.0] for text in texts])
          >>> detector = DuplicateDetector.from_encoder(lengths, "lengths", threshold=0.99)
          >>> detector.predict("How far is it?", "How far is he?")
          True
        """
        from siamese.search.any_encoder import EncoderDetector

        if (threshold is None) == (pairs is None):
            raise ArgumentError("Give labelled pairs to fit the threshold on, or a threshold.")
        made = EncoderDetector(encoder, name, threshold=0.0 if threshold is None else threshold)
        return made if pairs is None else made.fitted(pairs)

    def fitted(self, pairs: Any) -> DuplicateDetector:
        """The same model with threshold and calibration of labelled pairs, 30 at least to be of use.

        Raises:
          DataError: see `siamese.evaluation.thresholds.fit_threshold`.
        """
        from siamese.evaluation.thresholds import fit_threshold

        scores = self.similarity(pairs.question1, pairs.question2)
        return self.with_fit(fit_threshold(scores, pairs.is_duplicate).to_dict())

    def with_fit(self, fit: Mapping[str, Any]) -> DuplicateDetector:
        """The same model with a threshold and a calibration of elsewhere, as plain values."""
        from siamese.evaluation.calibration import Calibration

        made, calibration = copy.copy(self), fit["calibration"]
        made.threshold = float(fit["threshold"])
        made.calibration = Calibration.from_dict(calibration) if calibration else None
        made.card = {**self.card, "threshold_fit": dict(fit)}
        return made

    @property
    def output_size(self) -> int:
        """The size of a question's vector."""
        return self.tower.output_size

    @functools.cached_property
    def checksum(self) -> str:
        """The SHA-256 of what decides the vectors: weights, vocabulary and tower."""
        digest = hashlib.sha256(repr(self.tower).encode())
        for name, array in sorted(self.weights.items()):
            digest.update(f"{name} {array.shape}".encode())
            if isinstance(array, np.ndarray):
                digest.update(array.astype("<f4", copy=False).data)
            else:
                digest.update(json.dumps(array.to_dict(), sort_keys=True).encode())
        words = self.vocabulary
        if isinstance(words, Subwords):
            tower = self.tower
            choices = tower.static_share, tower.character_share, tower.familiar_length
            digest.update(f"{words.checksum} {choices}".encode())
        else:
            digest.update(json.dumps([words.lowercase, words.words, words.unknown_ids]).encode())
        return digest.hexdigest()

    # ---- Saving ----

    def with_precision(self, precision: str) -> DuplicateDetector:
        """The same model, whose `encode` rounds for speed; a saved model or an index does not tell.

        Args:
          precision: 'float32', 'bfloat16' or 'auto', see `siamese.nn.encoder.Encoder`.

        Raises:
          ArgumentError: another precision.
        """
        made = copy.copy(self)
        made.encoder = Encoder(self.tower, self.weights, precision)
        return made

    @classmethod
    def load(cls, path: str | os.PathLike) -> DuplicateDetector:
        """Loads the directory of a model (of `save`) or of a training run; runs nothing of it.

        Raises:
          CheckpointError: missing, damaged, or of another version.
        """
        path = Path(path)
        if not is_store(path) and is_store(path / "model"):
            path = path / "model"

        def read(folder: Path, manifest: dict[str, Any]) -> DuplicateDetector:
            files = read_files(folder, manifest)
            with unreadable_explained(path):
                if "tokenizer.json" in files:
                    return cls._from_files(path, files, Subwords(files["tokenizer.json"]))
                return cls._from_files(path, files, Vocabulary.load(folder / "vocabulary.json"))

        return read_store(path, "detector", read)

    @classmethod
    def _from_files(
        cls, path: Path, files: Mapping[str, bytes], vocabulary: Vocabulary | Subwords
    ) -> DuplicateDetector:
        from safetensors.numpy import load

        facts = json.loads(files["detector.json"])
        if facts["version"] != FORMAT_VERSION:
            raise CheckpointError(
                f"{path} has format version {facts['version']!r}; this siamese reads {FORMAT_VERSION}."
            )
        try:
            tower = TowerConfig(**facts["tower"])
        except ArgumentError as error:
            raise CheckpointError(f"{path}/detector.json: {error} Take another copy.") from None
        if tower.vocab_size != vocabulary.size:
            raise CheckpointError(
                f"{path} has a vocabulary for {vocabulary.size:,} rows (padding and unknown words "
                f"included) and an embedding of {tower.vocab_size:,}: a word is missing or added, or the "
                "files belong to different models. Take another copy of the model."
            )
        threshold, calibration = facts["threshold"], facts["calibration"]
        if not math.isfinite(threshold):
            raise ValueError(f"the threshold is {threshold}")
        if calibration is not None:
            from siamese.evaluation.calibration import Calibration

            calibration = Calibration.from_dict(calibration)
        options = {"threshold": threshold, "calibration": calibration, "card": facts["card"]}
        weights = load(files["weights.safetensors"])
        if tower.static_size:
            counts = json.loads(files["characters.json"])
            weights["characters"] = CharacterTable(vocabulary.text, vocabulary.size, **counts)
        return cls(weights, vocabulary, tower, **options)

    def save(self, path: str | os.PathLike) -> Path:
        """Writes the model's directory atomically, in place of an older model there.

        Raises:
          CheckpointError: it cannot be written, or `path` holds something other than a saved model.
        """
        facts = {
            "version": FORMAT_VERSION,
            "tower": dataclasses.asdict(self.tower),
            "threshold": self.threshold,
            "calibration": self.calibration.to_dict() if self.calibration else None,
            "card": self.card,
        }

        def fill(folder: Path, older: Path | None) -> None:
            from safetensors.numpy import save

            arrays = dict(self.weights)
            if isinstance(self.vocabulary, Subwords):
                counts = json.dumps(arrays.pop("characters").to_dict(), ensure_ascii=False)
                (folder / "characters.json").write_text(counts, encoding="utf-8")
                (folder / "tokenizer.json").write_bytes(self.vocabulary.content)
            else:
                self.vocabulary.save(folder / "vocabulary.json")
            (folder / "weights.safetensors").write_bytes(save(arrays))
            text = json.dumps(facts, indent=1, ensure_ascii=False)
            (folder / "detector.json").write_text(text, encoding="utf-8")

        write_store(path, "detector", fill)
        return Path(path)

    # ---- Answering ----

    def token_ids(self, questions: Iterable[str]) -> list[list[int]]:
        """The token ids of each question, at most `MAX_TOKENS`; unknown words are 0.

        Raises:
          DataError: something that is not text; names its place.
        """
        found = []
        for place, question in enumerate(questions):
            if not isinstance(question, str):
                raise DataError(f"Question {place} is not text but {type(question).__name__}.")
            found.append(self.vocabulary.encode(question)[:MAX_TOKENS])
        return found

    def encode(self, questions: str | Sequence[str], processes: int | None = None) -> np.ndarray:
        """The questions' vectors, float32 [questions, d], of length 1; [d] for a single text.

        A question without words has no direction: its vector is zero, and its similarity to every
        question 0. The answer for a question is the same alone or in company. (A model trained with
        padding in its mean, as the course's, sees each question padded to a power of two.)

        Args:
          questions: the texts; of thousands, each distinct one is encoded once.
          processes: how many processes tokenize thousands; every core where None.
        """
        if isinstance(questions, str):
            return self.encode([questions])[0]
        questions = list(questions)
        if len(questions) < MANY or set(map(type, questions)) != {str}:
            return self.encoder.encode(self.token_ids(questions))
        from siamese.data.tokens import tokenize_questions

        options = {"processes": processes, "cache_dir": False, "progress": False}
        tokenized = tokenize_questions(questions, vocabulary=self.vocabulary, **options)
        ids = tokenized.encode(self.vocabulary)  # a row for each distinct question
        if ids.lengths.max() > MAX_TOKENS:
            ids = [row[:MAX_TOKENS].tolist() for row in ids]
        vectors = self.encoder.encode(ids)
        return vectors if len(vectors) == len(questions) else vectors[tokenized.rows]

    def similarity(self, question1, question2):
        """Cosine similarity of two questions (a float), or of two lists pair by pair (float32 [n]).

        Raises:
          ArgumentError: lists of different lengths.
        """
        single = isinstance(question1, str) and isinstance(question2, str)
        first, second = ([question1], [question2]) if single else (list(question1), list(question2))
        if len(first) != len(second):
            raise ArgumentError(
                f"similarity compares pair by pair: {len(first)} first and {len(second)} second questions."
            )
        cosines = self._cosines(first, second)
        return float(cosines[0]) if single else cosines

    def _cosines(self, first: list[str], second: list[str]) -> np.ndarray:
        """`similarity` of two lists of one length."""
        ids1, ids2 = self.token_ids(first), self.token_ids(second)
        if self.tower.mask_padding:
            vectors = self.encoder.encode([*ids1, *ids2])
        else:  # As the course's predict: both padded to the power of two of the longer one.
            longest = [max(len(a), len(b), 1) for a, b in zip(ids1, ids2)]
            lengths = [1 << (n - 1).bit_length() for n in longest]
            ids, lengths = [*ids1, *ids2], np.array([*lengths, *lengths])
            vectors = np.zeros((len(ids), self.tower.output_size), np.float32)
            for length in np.unique(lengths):
                rows = np.flatnonzero(lengths == length)
                vectors[rows] = self.encoder.encode([ids[i] for i in rows], length=int(length))
        return self.pair_cosines(vectors[: len(first)], vectors[len(first) :])

    @property
    def has_pair_shares(self) -> bool:
        """Whether pairs are judged with other shares of the blocks than searches."""
        return bool(self.tower.static_size) and self.tower.is_learned

    def pair_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """The vectors by whose dot products pairs are judged, of `encode`'s, float32 [..., d].

        Over static vectors the blocks count with other shares than in `encode`: what was learned tells
        duplicates from what merely looks alike, and a search among everything needs it less. Else they
        are the same.
        """
        if not self.has_pair_shares:
            return vectors
        tower = self.tower
        made = np.zeros_like(vectors)
        learned = vectors[..., tower.blocks["learned"]]
        learned = np.vecdot(learned, learned)[..., None]  # Its share, which depends on the length.
        pair_learned = learned * (1 - tower.pair_static_share) / (1 - tower.static_share)
        shares, wanted = tower.shares(1 - learned), tower.shares(1 - pair_learned)
        for columns, share, pair_share in zip(tower.blocks.values(), shares, wanted):
            ratio = np.divide(pair_share, share, out=np.zeros_like(learned), where=share > 0)
            made[..., columns] = vectors[..., columns] * np.sqrt(ratio)
        return made

    def pair_cosines(self, vectors1: np.ndarray, vectors2: np.ndarray) -> np.ndarray:
        """The cosines by which pairs are judged, of `encode`'s vectors of both sides."""
        return np.vecdot(self.pair_vectors(vectors1), self.pair_vectors(vectors2))

    def probability(self, question1, question2):
        """Probability that two questions (or two lists, pair by pair) are duplicates, from 0 to 1.

        Raises:
          ArgumentError: the model was saved without a calibration.
        """
        if self.calibration is None:
            raise ArgumentError(
                "This model has no calibration, so no probabilities. A model that `siamese train` "
                "fits on a file with labelled held-out pairs has one; `siamese import-weights` makes none."
            )
        return self.calibrated(self.similarity(question1, question2))

    def calibrated(self, cosine):
        """The probability that belongs to a cosine (or to each of an array of them)."""
        found = self.calibration(np.atleast_1d(np.asarray(cosine, np.float64)))
        return float(found[0]) if np.ndim(cosine) == 0 else found

    def judged(
        self, cosines: np.ndarray, threshold: float | None = None
    ) -> list[tuple[float, float | None, bool]]:
        """(cosine, probability or None, is it a duplicate) of each of some `pair_cosines`, float32 [n]."""
        cut = self.threshold if threshold is None else threshold
        known = self.calibration is not None and len(cosines)
        probabilities = self.calibrated(cosines).tolist() if known else [None] * len(cosines)
        return [(c, p, c > cut) for c, p in zip(cosines.tolist(), probabilities)]

    def predict(self, question1, question2, threshold: float | None = None):
        """Whether two questions (or two lists, pair by pair) have a cosine above the threshold.

        That is the model's own where `threshold` is None.
        """
        cut = self.threshold if threshold is None else threshold
        answer = self.similarity(question1, question2) > cut
        return bool(answer) if np.ndim(answer) == 0 else answer

    def unknown_words(self, question: str) -> list[str]:
        """The question's words that the model has never seen, in order: a usual reason for surprise."""
        return [word for word in self.vocabulary.split(question) if word not in self.vocabulary]
