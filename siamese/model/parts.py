"""How a model of several parts decides: a logistic curve of the parts' cosines, products and cubes.

The whole vector's cosine, the mean of the parts' cosines, finds and orders candidates.
Whether two questions are duplicates is better read off the parts one by one: see
docs/topics/quality.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from siamese.encoders.protocol import Encoder
from siamese.errors import CheckpointError
from siamese.evaluation.calibration import Calibration, logistic
from siamese.evaluation.metrics import check_scores
from siamese.evaluation.thresholds import SLOPE, fit_threshold
from siamese.nn.nearest import EQUAL, cosines_with
from siamese.system.arguments import as_number

LEFT_OUT = (
    0.01  # of the pairs that are duplicates by the curve are below `candidate_cut`
)


@dataclass(frozen=True)
class PartsCurve:
    """Turns the cosines of a model's parts into the probability of being a duplicate."""

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

    def __call__(self, cosines: np.ndarray) -> np.ndarray:
        """The probabilities, float64 [n], of pairs with these cosines of their parts, [n, parts]."""
        return logistic(self.steepness * self.logits(cosines) + self.shift)

    def candidate_cut(self, probability: float) -> float:
        """The cosine of whole vectors above which nearly all pairs of this probability lie."""
        p = np.clip(probability, 1e-12, 1 - 1e-12)
        own = logistic((np.log(p / (1 - p)) - self.shift) / self.steepness)
        return min(float(np.interp(own, self.borders, self.cosines, left=-1)), EQUAL)

    def refitted(
        self, cosines: np.ndarray, labels: np.ndarray, resamples: int
    ) -> dict[str, Any]:
        """The curve with another intercept and steepness, of labelled pairs; former ones do not count.

        Of cosines [n, parts] and labels, bool [n], it returns what
        `FittedThreshold.to_dict` has, with its own `fit`; the interval is of its
        probabilities. For `resamples` and errors see
        `siamese.evaluation.thresholds.fit_threshold`.
        """
        # The logits on the scale of a cosine: the curve as it is has the slope expected
        # of one.
        fit = fit_threshold(
            0.5 + self.logits(cosines) / SLOPE[0], labels, resamples=resamples
        )
        curve = fit.calibration
        new = {
            "steepness": curve.slope / SLOPE[0],
            "shift": curve.slope * 0.5 + curve.intercept,
        }
        low, high = curve([fit.low, fit.high]).tolist()
        return {
            **fit.to_dict(),
            "low": low,
            "high": high,
            **replace(self, n=fit.pairs, **new).fit,
        }

    @property
    def fit(self) -> dict[str, Any]:
        """What `DuplicateDetector.with_fit` takes: the curve, and the probability that decides."""
        return {"threshold": 0.5, "calibration": asdict(self)}


def calibration_of(values: Mapping[str, Any] | None) -> Calibration | PartsCurve | None:
    """A calibration from its `to_dict`; CheckpointError where anything is missing, unknown or no number."""
    if values is None:
        return None
    try:
        if "borders" not in values:
            return Calibration(**values)
        return PartsCurve(
            **{k: tuple(v) if type(v) is list else v for k, v in values.items()}
        )
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"The calibration is damaged: {error} Train again."
        ) from None


def fit_parts(
    part_cosines: np.ndarray, cosines: np.ndarray, labels: np.ndarray
) -> PartsCurve:
    """The curve of pairs with labels, bool [n], of both kinds.

    Their cosines are float [n, parts] of the parts, and [n] of the whole vectors. For
    errors see `siamese.evaluation.metrics.check_scores`.
    """
    cosines, labels = check_scores(cosines, labels)
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = with_products(part_cosines)
    scaler, regression = StandardScaler(), LogisticRegression(C=10, max_iter=5000)
    make_pipeline(scaler, regression).fit(x, labels)
    weights = regression.coef_[0] / scaler.scale_
    intercept = float(regression.intercept_[0] - weights @ scaler.mean_)
    borders = tuple(np.linspace(0.05, 0.95, 19).tolist())
    curve = PartsCurve(len(x), intercept, tuple(weights.tolist()), borders, borders)
    probabilities = curve(part_cosines)
    above = (cosines[probabilities > border] for border in borders)
    cuts = [np.quantile(some, LEFT_OUT) if len(some) else -1.0 for some in above]
    return replace(curve, cosines=tuple(np.maximum.accumulate(cuts).tolist()))


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


class Decisions:
    """What a model decides about pairs of its vectors, by its threshold, shares and calibration."""

    encoder: Encoder
    threshold: float  # what a score must exceed
    calibration: Calibration | PartsCurve | None

    @property
    def measure(self) -> str:
        """What the threshold is compared with: 'cosine', or of a `PartsCurve` 'probability'."""
        return "probability" if isinstance(self.calibration, PartsCurve) else "cosine"

    def part_cosines(self, vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The cosines of each part, float32 [n, parts], of pairs of vectors, [n, d] each.

        A part that has no vector for a text has the cosine 0, and those of the other
        parts are their own. Of the mean vectors of two groups they are the mean cosines
        over the groups' pairs.
        """
        shares = np.array(self.encoder.shares, np.float32)
        places = self.encoder.parts
        products = [
            np.vecdot(vectors[:, place], others[..., place]) for place in places
        ]
        # A vector without some part was made longer, to length 1: see
        # `siamese.encoders.joined`.
        sides = [
            [side[:, place].any(axis=1) for place in places]
            for side in (vectors, others)
        ]
        one, two = (
            shares @ np.stack(present) for present in sides
        )  # the shares that are present
        scale = np.sqrt(one * two)[:, None]
        return np.clip(np.stack(products, axis=1) / shares * scale, -1, 1)

    def scores_of(self, vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What decides about pairs of vectors, [n, d] each: float [n], compared with the threshold.

        It is their cosine, or, where the model has a curve of its parts' cosines, their
        probability.
        """
        if self.measure == "probability":
            probabilities = self.calibration(self.part_cosines(vectors, others))
            return np.where(cosines_with(vectors, others) > EQUAL, 1.0, probabilities)
        return cosines_with(vectors, others)

    def probabilities_of(self, scores: np.ndarray) -> np.ndarray:
        """The probabilities that belong to scores, float64 of the same shape."""
        return scores if self.measure == "probability" else self.calibration(scores)

    def border(self, threshold: float | None = None) -> float:
        """What a score must exceed: a threshold, the model's own where None; equal texts always do."""
        own = (
            self.threshold
            if threshold is None
            else as_number(threshold, "threshold", -1, 1)
        )
        return min(own, EQUAL)

    def rule(self, threshold: float | None = None) -> tuple[float, Callable | None]:
        """A cosine, and what decides about pairs of vectors above it; None where their cosine does.

        Hardly any pair with a score above the threshold has a lower cosine.
        """
        cut = self.border(threshold)
        if self.measure == "cosine":
            return cut, None
        return self.calibration.candidate_cut(
            cut
        ), lambda a, b: self.scores_of(a, b) > cut

    def judged(
        self, vectors: np.ndarray, others: np.ndarray, threshold: float | None = None
    ) -> list[tuple[float, float | None, bool]]:
        """(cosine, probability or None, is it a duplicate) of pairs of vectors, float32 [n, d] each."""
        scores, cut = self.scores_of(vectors, others), self.border(threshold)
        cosines = cosines_with(vectors, others)
        known = self.calibration is not None and len(scores)
        probabilities = (
            self.probabilities_of(scores).tolist() if known else [None] * len(scores)
        )
        return list(zip(cosines.tolist(), probabilities, (scores > cut).tolist()))
