"""The near-miss check: two questions that share most of their words are compared word by word.

A cosine sees topics, not roles: "from Lyon to Geneva" and "from Geneva to Lyon" have a
cosine of 1.00. This is verification of candidate pairs by comparison features, the
numbers of `FEATURES`. It only refuses: the penalty that it takes off a cosine is at
least 0, and 0 where two questions share less than half of their units.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np

from siamese.encoders.protocol import checksum
from siamese.errors import ArgumentError
from siamese.model.near_miss_features import FEATURES, features, shipped_weights
from siamese.model.near_miss_reasons import Difference, differences_of
from siamese.model.trees import Trees

# Between these shares of common units the penalty grows to all of it.
GATE = (0.5, 0.6)
SHORT = 8  # The penalty of longer texts falls: one word of twenty says less than one of five.
MARGIN = 0.8  # of two logits: the doubt that is not yet a penalty
KINDS = (
    "number",
    "date",
    "negation",
    "direction",
    "name",
    "noun",
    "verb",
    "question word",
    "scope",
)
_N = {name: place for place, name in enumerate(FEATURES)}
# The features of each kind of difference, which `ignore` leaves out.
_OF_KIND = {
    "number": ("numbers_exchanged", "numbers_added"),
    "date": ("dates_exchanged", "dates_added"),
    "negation": ("negation",),
    "direction": ("directions", "moved", "names_moved", "breaks", "crossed", "passive"),
    "name": ("names_exchanged", "names_added", "names_alike"),
    "noun": ("words_exchanged", "words_added", "longest_left", "things"),
    "verb": ("opposites",),
    "question word": ("question_word", "whether", "modals"),
    "scope": ("scopes", "scope_added"),
}
_DIFFER = [_N[name] for some in _OF_KIND.values() for name in some]


class NearMissCheck:
    """Takes a penalty off the cosine of two questions that share most words and ask something else.

    Of a cosine s it makes ``s - strength * g * max(0, l - m - MARGIN)``. The logit l is
    that of being duplicates by the cosine alone, m that by all `FEATURES`; g rises from
    0 to 1 where the share of common units rises between the two shares of `GATE`, times
    (`SHORT` / units)² where the two have more than `SHORT` units on average. So a
    pair is never made more alike, and one that shares less than half of its units stays
    as it is. Texts of more than `MOST_UNITS` words are not compared.

    Args:
      weights: the arrays of near_misses.npz, see `tools/train_near_misses.py`.
      ignore: kinds of `KINDS` that do not count: two order numbers are two tickets and
        one entry of a FAQ.
      strength: how much of a cosine one unit of the logit takes.

    ArgumentError for an unknown kind.
    """

    def __init__(
        self,
        weights: dict[str, np.ndarray],
        ignore: Iterable[str] = (),
        strength: float | None = None,
    ):
        self.weights = weights
        self.trees = Trees.of(weights)
        self.ignore = tuple(kind for kind in KINDS if kind in set(ignore))
        unknown = sorted(set(ignore) - set(KINDS))
        if unknown:
            raise ArgumentError(
                f"ignore has {', '.join(map(repr, unknown))}; the kinds are {', '.join(KINDS)}."
            )
        self.strength = float(weights["strength"]) if strength is None else strength

    @functools.cached_property
    def fingerprint(self) -> str:
        """What tells its penalties from those of another check: 16 digits of a SHA-256."""
        return checksum(self.weights, [self.strength, self.ignore])[:16]

    @classmethod
    def shipped(cls, ignore: Iterable[str] = ()) -> NearMissCheck:
        """The check that comes with the package; near_misses.json has its data and figures."""
        return cls(shipped_weights(), ignore)

    def penalty(
        self, texts_a: Sequence[str], texts_b: Sequence[str], cosines: np.ndarray
    ) -> np.ndarray:
        """What comes off the cosines of pairs of texts, float32 [n], 0 or more.

        Example:
          >>> check = NearMissCheck.shipped()
          >>> one, other = "Which bus goes to the port?", "Which bus goes from the port?"
          >>> bool(check.penalty([one], [other], np.array([0.98]))[0] > 0.1)
          True
        """
        return self.penalty_of(features(texts_a, texts_b, cosines))

    def features(
        self, texts_a: Sequence[str], texts_b: Sequence[str], cosines: np.ndarray
    ) -> np.ndarray:
        """The `features` of pairs of texts, those of ignored kinds 0."""
        rows = features(texts_a, texts_b, cosines)
        for kind in self.ignore:
            rows[:, [_N[name] for name in _OF_KIND[kind]]] = 0
        return rows

    def penalty_of(self, rows: np.ndarray) -> np.ndarray:
        """The penalties, float32 [n], of rows of `features`."""
        return np.float32(self.strength) * self.doubts(rows)

    def doubts(self, rows: np.ndarray) -> np.ndarray:
        """The penalties as logits, float32 [n], before `strength` makes cosines of them."""
        found = np.zeros(len(rows), np.float32)
        low, high = GATE
        near = np.flatnonzero(rows[:, _N["share"]] > low)
        rows = rows[near]
        for kind in self.ignore:
            rows[:, [_N[name] for name in _OF_KIND[kind]]] = 0
        # With its kind ignored a pair may differ in nothing.
        differ = rows[:, _DIFFER].any(axis=1)
        near = near[differ]
        rows = rows[differ]
        gate = np.clip((rows[:, _N["share"]] - low) / (high - low), 0, 1)
        gate *= np.minimum(SHORT / np.maximum(rows[:, _N["units"]], 1), 1) ** 2
        slope, shift = self.weights["cosine"]
        doubt = slope * rows[:, _N["cosine"]] + shift - self.logits(rows) - MARGIN
        found[near] = gate * np.maximum(doubt, 0)
        return found

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """The logit of being duplicates by all features, float64 [n], of rows of `features`."""
        return self.trees(rows)

    def reasons(self, text_a: str, text_b: str) -> list[Difference]:
        """In what two texts differ, ignored kinds left out; other words only where nothing else does."""
        found = [d for d in differences_of(text_a, text_b) if d.kind not in self.ignore]
        return [d for d in found if d.kind != "noun"] or found
