"""The most similar pairs of a list: which of them to ask about, and what the answers fit.

Two numbers are fitted: the weight of local scaling, and from which score on pairs are
duplicates. The score is a cosine less what `siamese.groups.local` takes off it, and
less the penalty of the near-miss check where the model has one.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from siamese.errors import DataError
from siamese.evaluation.bootstrap import bootstrap_interval
from siamese.evaluation.metrics import check_scores
from siamese.evaluation.thresholds import fit_threshold
from siamese.groups.grouping import Snapshot
from siamese.groups.local import WEIGHTS, list_weight, scaled
from siamese.index.asking import (
    ENOUGH,
    best_cut,
    duplicate_share,
    log_likelihood,
    next_rank,
    pair_key,
)
from siamese.nn.nearest import SCORES, cosines_with
from siamese.reading.clusters import first_places
from siamese.system.open_types import JsonObject
from siamese.text.cleaning import folded

if TYPE_CHECKING:
    from siamese.model.detector import DuplicateDetector
    from siamese.reading.pairs import QuestionPairs

QUESTIONS = 2000  # of a list whose pairs are looked at
# of these, in the mean: in a short list three times as many pairs as questions
PAIRS_OF_EACH = 6
SPARE = 2  # times as many by cosine, from which the best by each weight are taken
EACH = np.array(WEIGHTS, np.float32)[:, None]
# Of the first so many pairs that are asked about, so many are pairs that the near-miss
# check keeps below the threshold: their answers tell whether it should.
ASKED = 30
REFUSED = 5
PREFERRED = 3.0  # Another weight than the list's must be e^3 times as likely.
Penalties = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Candidate(NamedTuple):
    """A pair that may be asked about: two rows of `ListPairs.entries`."""

    row1: int
    row2: int


@dataclass
class ListPairs:
    """The most similar pairs of a list, in their order by each of `WEIGHTS`."""

    # id, question and columns of the list's different questions
    entries: list[JsonObject]
    vectors: np.ndarray  # float32 [questions, d]
    # What is taken off the cosines of pairs of `entries`, as that of
    # `siamese.model.decision.Rule`.
    penalties: Penalties
    rows: np.ndarray  # int64 [pairs, 2]
    scores: np.ndarray  # float32 [weights, pairs]
    # int64 [weights, count]: the best pairs by each weight, best first
    order: np.ndarray
    weight: float  # that of the list without answers, see `list_weight`
    row_of: dict[str, int]  # the row of each folded text
    keys: list[frozenset[str]]  # `pair_key` of the best pairs by `weight`
    # int64 [m, 2]: the pairs that the near-miss check keeps below the threshold, the most
    # similar first
    refused: np.ndarray

    @classmethod
    def of_list(cls, snapshot: Snapshot) -> ListPairs:
        """Of the questions of an index, `QuestionIndex.snapshot`; see `of`."""
        decision = snapshot.detector.decision
        penalties = decision.rule(0.0, snapshot.questions).penalties
        cut = snapshot.detector.threshold if decision.measure == "cosine" else np.inf
        return cls.of(snapshot.entries, snapshot.vectors, penalties, cut)

    @classmethod
    def of(
        cls,
        entries: Sequence[JsonObject],
        vectors: np.ndarray,
        penalties: Penalties | None = None,
        threshold: float = np.inf,
    ) -> ListPairs:
        """Of questions and their vectors, float32 [n, d], and the threshold above which a pair is refused.

        Texts that are equal but for case, blanks and quotes are one. Of more than 2,000
        questions 2,000 are looked at, and their pairs with all. `penalties` is that of
        `siamese.model.decision.Rule`.
        """
        # The different questions, and those that are looked at.
        first = np.unique(first_places([entry["question"] for entry in entries]))
        first = np.array(
            [at for at in first if "\0" not in entries[at]["question"]], np.int64
        )
        entries = [entries[at] for at in first]
        vectors = vectors[first]
        texts = [folded(entry["question"]) for entry in entries]
        n = len(entries)
        some = np.sort(np.random.default_rng(0).permutation(n)[:QUESTIONS])

        # Their pairs; one of two that are looked at counts for both.
        count = int(PAIRS_OF_EACH * len(some) / (1 + len(some) / max(1, n)))
        rows, cosines = _best_pairs(vectors, some, SPARE * count)
        own = _penalties_at(first, penalties)
        scores = scaled(vectors, rows, cosines, EACH) - own(*rows.T)
        falling = np.argsort(-cosines, kind="stable")
        are_refused = (cosines > threshold) & (scores[0] <= threshold)
        refused = rows[falling[are_refused[falling]]]
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]

        # What they are asked and known by.
        weight = list_weight(vectors)
        pairs = rows[order[WEIGHTS.index(weight)]].tolist()
        keys = [frozenset((texts[one], texts[two])) for one, two in pairs]
        row_of = {text: row for row, text in enumerate(texts)}
        found = rows, scores, order, weight, row_of, keys, refused
        return cls(entries, vectors, own, *found)

    def next(
        self,
        answers: QuestionPairs,
        skipped: Collection[Sequence[str]] = (),
        start: float = 0.0,
    ) -> Candidate | None:
        """The pair to ask about next, neither answered nor skipped; None at the end.

        `answers` are `QuestionPairs`; for `start` see `siamese.index.asking.next_rank`.
        """
        known = set(
            map(pair_key, [*zip(answers.question1, answers.question2), *skipped])
        )
        texts = list(self.row_of)
        keys = [frozenset((texts[one], texts[two])) for one, two in self.refused]
        new = [at for at, key in enumerate(keys) if key not in known]
        asked = len(keys) - len(new)
        if new and asked < REFUSED and len(answers) >= ASKED - REFUSED + asked:
            return Candidate(*self.refused[new[0]].tolist())
        left = np.flatnonzero([key not in known for key in self.keys])
        if not len(left):
            return None
        at = WEIGHTS.index(self.weight)
        rows, labels = self._answered(answers)
        best = self.order[at]
        pair = best[next_rank(self._ranks(rows)[at], labels, len(best), left, start)]
        return Candidate(*self.rows[pair].tolist())

    def fitted(
        self, detector: DuplicateDetector, answers: QuestionPairs, resamples: int = 200
    ) -> JsonObject:
        """What answers fit, for `DuplicateDetector.with_threshold`: its threshold, curve, and `list_cut`.

        The threshold is the cosine, less the penalty of the model's near-miss check,
        above which F1 over the list's pairs is best by the answers, with a bootstrap
        interval of so many resamples. Answers of which most are to other pairs fit what
        `DuplicateDetector.fitted` fits, and so do those of a model that decides by a
        probability. DataError for answers of one kind, and for fewer than five
        duplicates.
        """
        check_scores(np.zeros(len(answers)), answers.is_duplicate)
        duplicates = int(answers.is_duplicate.sum())
        if duplicates < ENOUGH:
            raise DataError(
                f"Of {len(answers)} labels only {duplicates} are duplicates; a threshold takes {ENOUGH}."
            )
        rows, labels = self._answered_by_rank(answers)
        are_few = not ENOUGH <= labels.sum() < len(labels)
        if (
            are_few
            or 2 * len(labels) < len(answers)
            or detector.decision.measure != "cosine"
        ):
            return detector.fitted(answers, resamples=resamples).card["threshold_fit"]
        one, two = self.vectors[rows].swapaxes(0, 1)
        ranks = self._ranks(rows)
        likely = [log_likelihood(own, labels) for own in ranks]
        likely[WEIGHTS.index(self.weight)] += PREFERRED
        best = int(np.argmax(likely))
        cut = low = high = self._cut(0, ranks[0], labels)
        if resamples:
            metric = functools.partial(self._cut, 0)
            _, low, high = astuple(
                bootstrap_interval(metric, ranks[0], labels, resamples)
            )
        return {
            "threshold": cut,
            "low": low,
            "high": high,
            "pairs": len(answers),
            "duplicates": duplicates,
            "calibration": _curve_of(
                cosines_with(one, two) - self.penalties(*rows.T), labels
            ),
            "weight": WEIGHTS[best],
            "list_threshold": self._cut(best, ranks[best], labels),
        }

    def _answered(self, answers: QuestionPairs) -> tuple[np.ndarray, np.ndarray]:
        """The rows, int64 [n, 2], and labels, bool [n], of the answers to pairs of the list."""
        texts = (map(folded, side) for side in (answers.question1, answers.question2))
        sides = (map(self.row_of.get, side) for side in texts)
        known = [
            (one, two, label)
            for one, two, label in zip(*sides, answers.is_duplicate.tolist())
            if one is not None and two is not None and one != two
        ]
        rows = np.array([pair[:2] for pair in known], np.int64).reshape(-1, 2)
        return rows, np.array([label for *_, label in known], bool)

    def _answered_by_rank(
        self, answers: QuestionPairs
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `_answered`, without the pairs that the near-miss check keeps below the threshold.

        They are asked about because they are refused, not by their rank: what is answered
        to them says nothing about the other pairs of their rank.
        """
        rows, labels = self._answered(answers)
        by_rank = ~self._are_refused(rows)
        return rows[by_rank], labels[by_rank]

    def _are_refused(self, rows: np.ndarray) -> np.ndarray:
        """Which pairs of rows the near-miss check keeps below the threshold, bool [n]."""
        size = len(self.entries)
        known, refused = (
            np.sort(pairs, axis=1) @ [size, 1] for pairs in (rows, self.refused)
        )
        return np.isin(known, refused)

    def _ranks(self, rows: np.ndarray) -> np.ndarray:
        """The ranks of pairs of rows by each weight, int64 [weights, n]; below all of them the last."""
        cosines = np.vecdot(*self.vectors[rows].swapaxes(0, 1))
        scores = scaled(self.vectors, rows, cosines, EACH) - self.penalties(*rows.T)
        falling = np.take_along_axis(self.scores, self.order, axis=1)
        # Another product of the same vectors may differ in the last digit.
        ranks = [
            np.searchsorted(-own, -some - 1e-6) for own, some in zip(falling, scores)
        ]
        return np.array(ranks)

    def _cut(self, at: int, ranks: np.ndarray, labels: np.ndarray) -> float:
        """The score by a weight above which pairs are duplicates: midway to the first that is none."""
        best = self.order[at]
        count = best_cut(duplicate_share(ranks, labels, len(best)))
        ends = self.scores[at, best[count - 1 : count + 1]].astype(np.float64)
        score = ends.mean() if len(ends) > 1 else ends[0] - 1e-6
        return float(np.clip(score, -3, 1))


def _penalties_at(places: np.ndarray, penalties: Penalties | None) -> Penalties:
    """The penalties of pairs of questions by their numbers among some places, int64 [n], of a list."""

    def own(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if penalties is None:
            return np.zeros(len(i), np.float32)
        return penalties(places[i], places[j])

    return own


def _curve_of(cosines: np.ndarray, labels: np.ndarray) -> JsonObject | None:
    """The probabilities of cosines; None where duplicates do not have the higher ones."""
    with contextlib.suppress(DataError):
        return fit_threshold(cosines, labels, resamples=0).calibration.to_dict()
    return None


def _best_pairs(
    vectors: np.ndarray, some: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The most similar pairs of some rows with all, each once: rows int64 [m, 2], cosines float32 [m]."""
    n = len(vectors)
    is_some = np.isin(np.arange(n), some)
    pairs = np.zeros((0, 2), np.int64)
    cosines = np.zeros(0, np.float32)
    least = -2.0
    step = max(1, SCORES // 8 // max(1, n))
    for start in range(0, len(some), step):
        rows = some[start : start + step]
        scores = vectors[rows] @ vectors.T  # [step, n]
        at, other = np.nonzero(scores > least)
        # A pair of two of the rows comes once, and a question is no pair with itself.
        is_new = ~is_some[other] | (rows[at] < other)
        at = at[is_new]
        other = other[is_new]
        pairs = np.concatenate([pairs, np.stack([rows[at], other], axis=1)])
        cosines = np.append(cosines, scores[at, other])
        if len(cosines) > count:
            best = np.sort(np.argpartition(-cosines, count)[:count])
            pairs = pairs[best]
            cosines = cosines[best]
            least = float(cosines.min())
    return pairs, cosines
