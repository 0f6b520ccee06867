"""What decides about pairs of questions: a cosine, or a probability by the cosines of a model's parts.

The near-miss check takes a penalty off a cosine, or off the logit of that probability.

A decision is given pairs of questions: their texts as the encoder reads them, and their
vectors, in which the encoder's parts stand. It gives a score, which is compared with a
threshold, and a probability. The cosine of whole vectors finds and orders candidates.

Groups of a list are joined where the mean cosine over their pairs, less the largest
penalty of a pair between them, is above a threshold (`siamese.groups.linkage`). What a
decision takes off the cosines of pairs is in its `Rule`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from siamese.encoders.protocol import Encoder
from siamese.errors import CheckpointError
from siamese.evaluation.calibration import Calibration, fit_logistic, logistic
from siamese.evaluation.metrics import check_scores
from siamese.evaluation.thresholds import SLOPE, fit_threshold
from siamese.model.near_miss_features import FEATURES
from siamese.model.near_misses import NearMissCheck
from siamese.model.trees import Trees
from siamese.nn.nearest import EQUAL, cosines_with, in_blocks
from siamese.system.open_types import JsonMapping, JsonObject

# of the pairs that are duplicates by the curve are below `candidate_cut`
LEFT_OUT = 0.01
# What the near-miss check doubts counts for so much in a logit. Held-out pairs, which
# seldom are near misses, say 1; near misses made by rule from validation rows, and those
# by hand, are behind their paraphrases the more often the more it is. At 3 it costs the
# validation rows 0.002 of ROC AUC, cross-fitted.
DOUBT = 3.0
PRECISION = 0.1  # of the normal prior on each weight of a curve


class Questions(NamedTuple):
    """Questions as a decision is given them, a row each."""

    texts: Sequence[str]  # as the encoder reads them
    vectors: np.ndarray  # float32 [n, d], of length 1 or 0
    # Of a list: as they are shown, without differences of case, blanks and quotes
    # (`siamese.text.cleaning.folded`).
    folded: Sequence[str] = ()

    def rows(self, rows: np.ndarray) -> Questions:
        """Some of them, int64 [m]."""
        folded = RowsOf(self.folded, rows) if self.folded else ()
        return Questions(RowsOf(self.texts, rows), self.vectors[rows], folded)


class RowsOf(Sequence[str]):
    """Some of a list's texts, by their rows; a text is looked up when it is asked for."""

    def __init__(self, texts: Sequence[str], rows: np.ndarray):
        self._texts = texts
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return self._texts[int(self._rows[at])]


class ReadTexts(Sequence[str]):
    """Texts as a function reads them, each when it is asked for: few decisions look at all."""

    def __init__(self, read: Callable[[str], str], texts: Sequence[str]):
        self._function = read
        self._texts = texts
        self._read: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, row: Any) -> Any:
        if row not in self._read:
            self._read[row] = self._function(self._texts[row])
        return self._read[row]


class Rule(NamedTuple):
    """How the groups of a list are joined, by questions in the list's order."""

    # Above it the mean cosine over two groups' pairs, less their largest penalty, must be.
    threshold: float
    # Function of rows i and j of the list, int64 [m] each, to what is taken off the
    # cosines of these pairs, float32 [m]; None where nothing is.
    penalties: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    # Function of the mean vectors of groups, float32 [m, d] each, and the largest penalty
    # of a pair between them, float32 [m], to whether these may be joined, bool [m]; None
    # where the cosine, less that penalty, tells alone.
    joins: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None

    def of_rows(self, rows: np.ndarray) -> Rule:
        """The rule of some of the questions, int64 [m]."""
        whole = self.penalties
        if whole is None:
            return self
        return self._replace(penalties=lambda i, j: whole(rows[i], rows[j]))


class Decision(Protocol):
    """What decides about pairs of questions, without the threshold."""

    @property
    def measure(self) -> str:
        """What the threshold is compared with: 'cosine' or 'probability'."""

    def scores(self, one: Questions, two: Questions) -> np.ndarray:
        """What is compared with the threshold, float [n], of pairs of questions."""

    def probabilities(self, scores: np.ndarray) -> np.ndarray | None:
        """The probabilities that belong to scores, float64 [n]; None where they are not known."""

    def rule(self, threshold: float, questions: Questions) -> Rule:
        """How a list is grouped: its pairs are joined whose scores are above the threshold."""


class ByCosine(NamedTuple):
    """The cosine decides, less the penalty of a near-miss check where there is one.

    A calibration of one has its probabilities.
    """

    calibration: Calibration | None
    check: NearMissCheck | None = None
    measure: str = "cosine"

    def scores(self, one: Questions, two: Questions) -> np.ndarray:
        """Their cosines, less the penalties of a check, float32 [n]."""
        cosines = cosines_with(one.vectors, two.vectors)
        if self.check is None:
            return cosines
        return cosines - self.check.penalty(list(one.texts), list(two.texts), cosines)

    def probabilities(self, scores: np.ndarray) -> np.ndarray | None:
        """Those of the calibration, float64 [n]."""
        return None if self.calibration is None else self.calibration(scores)

    def rule(self, threshold: float, questions: Questions) -> Rule:
        """The mean cosine, with a check less the largest penalty of a pair."""
        check = self.check
        if check is None:
            return Rule(threshold)
        vectors = questions.vectors

        def penalties(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            texts = [questions.texts[row] for row in i.tolist()]
            others = [questions.texts[row] for row in j.tolist()]
            cosines = in_blocks(lambda a, b: cosines_with(vectors[a], vectors[b]), i, j)
            return check.penalty(texts, others, cosines)

        return Rule(threshold, penalties)


class Compared(NamedTuple):
    """Pairs of questions as trees are asked about them: cosines of parts, and the words compared."""

    logits: np.ndarray  # float64 [n], those of the curve less `DOUBT` times the doubts
    doubts: np.ndarray  # float32 [n], those of the near-miss check
    have_common: (
        np.ndarray
    )  # bool [n]: have the two a unit in common? Of others trees say nothing.
    numbers: np.ndarray  # float32 [n, numbers_of(parts)], a row of the trees each

    @classmethod
    def of(
        cls,
        curve: PartsCurve,
        check: NearMissCheck,
        cosines: np.ndarray,
        rows: np.ndarray,
    ) -> Compared:
        """Of pairs with cosines of their parts, [n, parts], and the check's features."""
        doubts = check.doubts(rows)
        logits = curve.logits(cosines) - DOUBT * doubts
        numbers = [logits[:, None], doubts[:, None], cosines, rows[:, 1:]]
        have_common = rows[:, list(FEATURES).index("share")] > 0
        return cls(
            logits,
            doubts,
            have_common,
            np.concatenate(numbers, axis=1, dtype=np.float32),
        )

    def judged(self, trees: Trees | None) -> np.ndarray:
        """The logits, float64 [n], with what trees add; where the check doubts they hardly raise one."""
        if trees is None:
            return self.logits
        added = np.zeros(len(self.logits))
        added[self.have_common] = trees(self.numbers[self.have_common])
        return self.logits + np.where(added > 0, added * np.exp(-self.doubts), added)


def numbers_of(parts: int) -> int:
    """How many `Compared.numbers` a pair has by a model of so many parts."""
    return parts + 1 + len(FEATURES)


class ByParts(NamedTuple):
    """The probability by a curve of the parts' cosines decides.

    With a near-miss check `DOUBT` times its doubts are taken off the logit, and trees
    that were fitted on the same pairs add what the words of two questions tell beside.
    """

    calibration: PartsCurve
    encoder: Encoder
    check: NearMissCheck | None = None
    trees: Trees | None = None
    measure: str = "probability"

    def scores(self, one: Questions, two: Questions) -> np.ndarray:
        """Their probabilities, float64 [n]; that of equal vectors is 1."""
        chances = self.calibration.probabilities(self._logits(one, two))
        are_equal = cosines_with(one.vectors, two.vectors) > EQUAL
        return np.where(are_equal, 1.0, chances)

    def _logits(self, one: Questions, two: Questions) -> np.ndarray:
        """The logits of pairs, float64 [n], before they are moved by labels."""
        cosines = part_cosines(self.encoder, one.vectors, two.vectors)
        if self.check is None:
            return self.calibration.logits(cosines)
        texts = list(one.texts)
        others = list(two.texts)
        rows = self.check.features(texts, others, cosines[:, 0])
        compared = Compared.of(self.calibration, self.check, cosines, rows)
        return compared.judged(self.trees)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """The scores themselves."""
        return scores

    def refitted(
        self, one: Questions, two: Questions, labels: np.ndarray, resamples: int
    ) -> JsonObject:
        """What labelled pairs make of the curve, see `PartsCurve.refitted`."""
        return self.calibration.refitted(self._logits(one, two), labels, resamples)

    def rule(self, threshold: float, questions: Questions) -> Rule:
        """The curve of the mean cosines of the parts, less the largest penalty of a pair.

        The penalty of a pair is what its words take off the logit of the curve, as a
        cosine. Judged pair by pair, groups are worse: by the mean or the least of the
        pairs' logits B-cubed F1 on 7,661 of Quora's questions is 0.797 or 0.790, and
        0.810 so.
        """
        curve = self.calibration
        border = curve.logit_of(threshold)

        def joins(
            means: np.ndarray, others: np.ndarray, penalties: np.ndarray
        ) -> np.ndarray:
            logits = curve.logits(part_cosines(self.encoder, means, others))
            are_equal = cosines_with(means, others) > EQUAL
            return are_equal | (logits - SLOPE[0] * penalties > border)

        def penalties(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            one = questions.rows(i)
            two = questions.rows(j)
            logits = curve.logits(part_cosines(self.encoder, one.vectors, two.vectors))
            taken = np.maximum(logits - self._logits(one, two), 0) / SLOPE[0]
            return taken.astype(np.float32)

        cut = curve.candidate_cut(threshold)
        if self.check is None:
            return Rule(cut, joins=joins)
        return Rule(cut, lambda i, j: in_blocks(penalties, i, j), joins)


def decision_of(
    calibration: Calibration | PartsCurve | None,
    encoder: Encoder,
    check: NearMissCheck | None = None,
    trees: Trees | None = None,
) -> Decision:
    """The decision of a model: by a curve of its encoder's parts where it has one, or by the cosine."""
    if isinstance(calibration, PartsCurve):
        return ByParts(calibration, encoder, check, trees)
    return ByCosine(calibration, check)


def part_cosines(
    encoder: Encoder, vectors: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """The cosines of pairs by each part of an encoder, float32 [n, parts], of vectors [n, d] each.

    A part that has no vector for a text has the cosine 0, and those of the other parts
    are their own. Of the mean vectors of two groups they are the mean cosines over the
    groups' pairs.
    """
    shares = np.array(encoder.shares, np.float32)
    products = [
        np.vecdot(vectors[:, place], others[..., place]) for place in encoder.parts
    ]
    # A vector without some part was made longer, to length 1: see
    # `siamese.encoders.joined`.
    present = [
        [side[:, place].any(axis=1) for place in encoder.parts]
        for side in (vectors, others)
    ]
    # the shares that are present
    one, two = (shares @ np.stack(some) for some in present)
    scale = np.sqrt(one * two)[:, None]
    return np.clip(np.stack(products, axis=1) / shares * scale, -1, 1)


# ---- The curve of a model's parts ----


@dataclass(frozen=True)
class PartsCurve:
    """Turns the cosines of a model's parts into the probability of being a duplicate.

    It is a logistic curve of the cosines, their products and cubes; see
    docs/topics/quality.md.
    """

    n: int  # pairs it was last fitted on
    intercept: float  # of the logistic regression
    weights: tuple[float, ...]  # of `with_products`
    borders: tuple[float, ...]  # probabilities, rising
    # Of the pairs that have at least these probabilities all but `LEFT_OUT` lie above
    # these cosines of whole vectors.
    cosines: tuple[float, ...]
    steepness: float = 1.0  # `refitted` makes steepness * logit + shift of a logit.
    shift: float = 0.0

    def __post_init__(self) -> None:
        numbers = [
            self.intercept,
            *self.weights,
            *self.borders,
            *self.cosines,
            self.shift,
        ]
        good = np.isfinite(numbers).all() and len(self.borders) == len(self.cosines)
        if not good or not 0 < self.steepness < np.inf:
            raise ValueError("its numbers are not those of a curve.")

    def logits(self, cosines: np.ndarray) -> np.ndarray:
        """The model's own logits, float64 [n], before `steepness` and `shift`."""
        return with_products(cosines) @ np.array(self.weights) + self.intercept

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """The probabilities, float64 [n], that belong to logits as `logits` gives them."""
        return logistic(self.steepness * logits + self.shift)

    def logit_of(self, probability: float) -> float:
        """The logit that belongs to a probability, as `logits` gives them."""
        p = np.clip(probability, 1e-12, 1 - 1e-12)
        return float((np.log(p / (1 - p)) - self.shift) / self.steepness)

    def candidate_cut(self, probability: float) -> float:
        """The cosine of whole vectors above which nearly all pairs of this probability lie."""
        own = logistic(np.array(self.logit_of(probability)))
        return min(float(np.interp(own, self.borders, self.cosines, left=-1)), EQUAL)

    def with_cuts(self, probabilities: np.ndarray, cosines: np.ndarray) -> PartsCurve:
        """The same with the cuts of pairs by their probabilities and whole cosines, float [n] each."""
        above = (cosines[probabilities > border] for border in self.borders)
        cuts = [np.quantile(some, LEFT_OUT) if len(some) else -1.0 for some in above]
        return replace(self, cosines=tuple(np.maximum.accumulate(cuts).tolist()))

    def refitted(
        self, logits: np.ndarray, labels: np.ndarray, resamples: int
    ) -> JsonObject:
        """The curve with another intercept and steepness, of labelled pairs; former ones do not count.

        Of the pairs' logits, float64 [n], and labels, bool [n], it returns what
        `FittedThreshold.to_dict` has, with its own `fit`; the interval is of its
        probabilities. For `resamples` and errors see
        `siamese.evaluation.thresholds.fit_threshold`.
        """
        # On the scale of a cosine: the curve as it is has the slope expected of one.
        scores = 0.5 + logits / SLOPE[0]
        fit = fit_threshold(scores, labels, resamples=resamples)
        curve = fit.calibration
        now = replace(
            self,
            n=fit.pairs,
            steepness=curve.slope / SLOPE[0],
            shift=curve.slope * 0.5 + curve.intercept,
        )
        low, high = curve([fit.low, fit.high]).tolist()
        return {
            **fit.to_dict(),
            "low": low,
            "high": high,
            **now.fit,
        }

    @property
    def fit(self) -> JsonObject:
        """What `DuplicateDetector.with_threshold` takes: the curve, and the probability that decides."""
        return {"threshold": 0.5, "calibration": asdict(self)}


def calibration_of(values: JsonMapping | None) -> Calibration | PartsCurve | None:
    """A calibration from its `to_dict`; CheckpointError where anything is missing, unknown or no number."""
    if values is None:
        return None
    try:
        if "borders" not in values:
            return Calibration(**values)
        lists: JsonObject = {
            k: tuple(v) if type(v) is list else v for k, v in values.items()
        }
        return PartsCurve(**lists)
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"The calibration is damaged: {error} Train again."
        ) from None


def fit_parts(
    part_cosines: np.ndarray,
    cosines: np.ndarray,
    labels: np.ndarray,
    taken: np.ndarray | None = None,
) -> PartsCurve:
    """The curve of pairs with labels, bool [n], of both kinds.

    Their cosines are float [n, parts] of the parts, and [n] of the whole vectors. Of
    what is `taken` off their logits afterwards, float [n], the fit knows, so that the
    probabilities that remain are right. For errors see
    `siamese.evaluation.metrics.check_scores`.
    """
    cosines, labels = check_scores(cosines, labels)
    taken = np.zeros(len(labels)) if taken is None else np.asarray(taken, np.float64)
    products = with_products(part_cosines)
    means = products.mean(axis=0)
    scales = products.std(axis=0)
    scales[scales == 0] = 1
    x = np.vstack([((products - means) / scales).T, np.ones(len(products))])
    precision = np.append(np.full(len(scales), PRECISION), 0)
    *slopes, shift = fit_logistic(x, labels, np.zeros(len(x)), precision, -taken)
    weights = np.array(slopes) / scales
    borders = tuple(np.linspace(0.05, 0.95, 19).tolist())
    curve = PartsCurve(
        len(labels),
        float(shift - weights @ means),
        tuple(weights.tolist()),
        borders,
        borders,
    )
    return curve.with_cuts(logistic(curve.logits(part_cosines) - taken), cosines)


def with_products(cosines: np.ndarray) -> np.ndarray:
    """Cosines of parts, their products, squares among them, and cubes: float64 [n, parts (parts + 5) / 2].

    Example:
      >>> with_products(np.array([[0.5, 0.25]])).tolist()
      [[0.5, 0.25, 0.25, 0.125, 0.0625, 0.125, 0.015625]]
    """
    cosines = np.asarray(cosines, np.float64)
    one, two = np.triu_indices(cosines.shape[1])
    return np.concatenate(
        [cosines, cosines[:, one] * cosines[:, two], cosines**3], axis=1
    )
