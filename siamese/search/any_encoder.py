"""A detector around any encoder of sentences: a sentence-transformers model, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.nn.tower import unit_vectors
from siamese.search.detector import DuplicateDetector

PROBE = "How far is it from here to the station?"  # its vector tells encoders of one name apart
SAME = 0.99  # cosine above which two vectors of it count as one encoder's, on whatever device


class EncoderDetector(DuplicateDetector):
    """A detector whose vectors come from an encoder of elsewhere; see `DuplicateDetector.from_encoder`.

    Attributes:
      name: what the encoder is called; an index says it.
    """

    has_pair_shares = False

    def __init__(self, encoder: Any, name: str, *, threshold: float, calibration: Any = None):
        self._encode: Callable = getattr(encoder, "encode", encoder)
        if not callable(self._encode):
            raise ArgumentError(
                "An encoder is a function of a list of texts, or has one called encode; "
                f"{type(encoder).__name__} is neither."
            )
        self.name, self.card = str(name), {"encoder": str(name)}
        self.threshold, self.calibration = float(threshold), calibration
        self._size: int | None = None
        self.probe = self.encode(PROBE)

    def __repr__(self) -> str:
        return (
            f"EncoderDetector({self.name!r}, vectors of {self.output_size}, "
            f"threshold {self.threshold:.3f})"
        )

    @property
    def output_size(self) -> int:
        """The size of a question's vector."""
        return self._size

    @property
    def checksum(self) -> str:
        """The encoder's name: its weights cannot be seen."""
        return f"encoder {self.name}"

    def encode(self, questions: str | Sequence[str], processes: int | None = None) -> np.ndarray:
        """The questions' vectors, float32 [questions, d], of length 1; [d] for a single text.

        A question of blanks only has a zero vector, as with other detectors.

        Raises:
          DataError: a question that is not text; names its place.
          ArgumentError: the encoder returns something other than finite numbers [questions, d].
        """
        if isinstance(questions, str):
            return self.encode([questions])[0]
        questions = list(questions)
        for place, question in enumerate(questions):
            if not isinstance(question, str):
                raise DataError(f"Question {place} is not text but {type(question).__name__}.")
        asked = [text for text in questions if text.strip()]
        if not asked:
            return np.zeros((len(questions), self._size), np.float32)
        found = np.asarray(self._encode(asked))
        expected = (len(asked), self._size or found.shape[-1] if found.ndim else 0)
        if found.shape != expected or found.dtype.kind not in "fiu" or not np.isfinite(found).all():
            raise ArgumentError(
                f"The encoder {self.name!r} returned {found.dtype} {list(found.shape)} for {len(asked)} "
                f"texts; it must return finite numbers [{len(asked)}, {self._size or 'd'}]."
            )
        self._size = found.shape[1]
        vectors = np.zeros((len(questions), self._size), np.float32)
        vectors[[bool(text.strip()) for text in questions]] = unit_vectors(
            np, found.astype(np.float32)
        )
        return vectors

    def _cosines(self, first: list[str], second: list[str]) -> np.ndarray:
        vectors = self.encode([*first, *second])
        return self.pair_cosines(vectors[: len(first)], vectors[len(first) :])

    def unknown_words(self, question: str) -> list[str]:
        """None: the encoder does not tell which words it knows."""
        return []

    def token_ids(self, questions: Any) -> list[list[int]]:
        """Refused: the words of an encoder of elsewhere cannot be seen."""
        raise ArgumentError(
            f"{self.name!r} is an encoder of elsewhere: its words cannot be seen, so nothing is explained."
        )

    def with_precision(self, precision: str) -> DuplicateDetector:
        """Refused: how an encoder of elsewhere computes is its own."""
        raise ArgumentError(f"{self.name!r} is an encoder of elsewhere: set its precision there.")

    def save(self, path: Any):
        """Refused: an encoder of elsewhere is not saved here; an index with its name is."""
        raise CheckpointError(
            f"The encoder {self.name!r} is not saved with siamese. Save an index made with it "
            "(QuestionIndex.save), which keeps its name, threshold and calibration."
        )


def detector_of_index(path: Any, facts: Mapping[str, Any], given: Any) -> EncoderDetector:
    """The detector for an index that was made with an encoder: the encoder given, where it is the one.

    Args:
      path: the index, for messages.
      facts: what the index says: its encoder's name and probe, threshold and calibration.
      given: the encoder, or a detector made of it.

    Raises:
      CheckpointError: no encoder, or another one.
    """
    if "encoder" not in facts:
        raise CheckpointError(
            f"{path} was made by a saved model, not with the encoder {given.name!r}. Load it without."
        )
    name = facts["encoder"]["name"]
    hint = f"Pass that encoder in Python: QuestionIndex.load({str(path)!r}, encoder)."
    if isinstance(given, EncoderDetector):
        found = given
    elif isinstance(given, DuplicateDetector) or not callable(getattr(given, "encode", given)):
        other = "" if isinstance(given, DuplicateDetector) else ", which is not saved with it"
        raise CheckpointError(f"{path} was made with the encoder {name!r}{other}. {hint}")
    else:
        found = EncoderDetector(given, name, threshold=0.0).with_fit(facts["fit"])
    probe = np.array(facts["encoder"]["probe"], np.float32)
    if found.name != name:
        raise CheckpointError(
            f"{path} was made with the encoder {name!r}, not with {found.name!r}: their vectors cannot be "
            f"compared. {hint}"
        )
    if probe.shape != found.probe.shape or probe @ found.probe < SAME:
        raise CheckpointError(
            f"{path} was made with another encoder called {name!r}: this one has another vector for the "
            f"same sentence. {hint}"
        )
    return found
