"""How a model of several parts decides: a logistic curve of the parts' cosines and their products.

The whole vector's cosine, the mean of the parts' cosines, finds and orders candidates. Whether two
questions are duplicates is better read off the parts one by one: see docs/quality.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.evaluation.calibration import Calibration
from siamese.evaluation.thresholds import SLOPE, fit_threshold

LEFT_OUT = 0.01  # of the pairs that are duplicates by the curve are below `candidate_cut`


@dataclass(frozen=True)
class PartsCurve:
    """Turns the cosines of a model's parts into the probability of being a duplicate.

    Attributes:
      n: pairs it was fitted on.
      intercept, weights: of the logistic regression; the weights are those of `with_products`.
      borders: probabilities, rising.
      cosines: the cosine of whole vectors above which all but `LEFT_OUT` of the pairs lie that have at
        least these probabilities.
    """

    n: int
    intercept: float
    weights: tuple[float, ...]
    borders: tuple[float, ...]
    cosines: tuple[float, ...]

    def __post_init__(self):
        numbers = [self.intercept, *self.weights, *self.borders, *self.cosines]
        if not np.isfinite(numbers).all() or len(self.borders) != len(self.cosines):
            raise CheckpointError("The curve of the parts is damaged: train the model again.")

    def __call__(self, cosines: np.ndarray) -> np.ndarray:
        """The probabilities, float64 [n], of pairs with these cosines of their parts, [n, parts]."""
        logits = with_products(cosines) @ np.array(self.weights) + self.intercept
        return 0.5 + 0.5 * np.tanh(logits / 2)

    def candidate_cut(self, probability: float) -> float:
        """The cosine of whole vectors above which nearly all pairs of this probability lie."""
        return float(np.interp(probability, self.borders, self.cosines))

    def refitted(self, probabilities: np.ndarray, labels: np.ndarray) -> PartsCurve:
        """The curve with another intercept and steepness, of labelled pairs with these probabilities.

        Raises:
          DataError: see `siamese.evaluation.thresholds.fit_threshold`.
        """
        p = np.clip(probabilities, 1e-12, 1 - 1e-12)
        # The logits on the scale of a cosine: the curve as it is has the slope expected of one.
        scores = 0.5 + np.log(p / (1 - p)) / SLOPE[0]
        curve = fit_threshold(scores, labels, resamples=0).calibration
        factor = curve.slope / SLOPE[0]
        return replace(
            self,
            n=len(p),
            intercept=factor * self.intercept + curve.slope * 0.5 + curve.intercept,
            weights=tuple(factor * weight for weight in self.weights),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold; see `calibration_of`."""
        return asdict(self)


def calibration_of(values: Mapping[str, Any]) -> Calibration | PartsCurve:
    """A calibration from the plain values of its `to_dict`.

    Raises:
      CheckpointError: anything is missing, unknown or no number.
    """
    if "borders" not in values:
        return Calibration.from_dict(values)
    try:
        return PartsCurve(**{
            k: tuple(v) if isinstance(v, (list, tuple)) else v for k, v in values.items()
        })  # fmt: skip
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"The curve of the parts is damaged: {error} Train the model again."
        ) from None


def fit_parts(part_cosines: np.ndarray, cosines: np.ndarray, labels: np.ndarray) -> PartsCurve:
    """The curve of labelled pairs.

    Args:
      part_cosines: float [n, parts].
      cosines: float [n], of the whole vectors.
      labels: bool [n].
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = with_products(part_cosines)
    scaler, regression = StandardScaler(), LogisticRegression(max_iter=5000)
    make_pipeline(scaler, regression).fit(x, labels)
    weights = regression.coef_[0] / scaler.scale_
    intercept = float(regression.intercept_[0] - weights @ scaler.mean_)
    borders = tuple(np.linspace(0.05, 0.95, 19).tolist())
    curve = PartsCurve(len(x), intercept, tuple(weights.tolist()), borders, borders)
    probabilities = curve(part_cosines)
    lowest, cosine_cuts = -1.0, []
    for border in borders:
        above = cosines[probabilities > border]
        lowest = max(lowest, float(np.quantile(above, LEFT_OUT))) if len(above) else lowest
        cosine_cuts.append(lowest)
    return replace(curve, cosines=tuple(cosine_cuts))


def with_products(cosines: np.ndarray) -> np.ndarray:
    """Cosines of parts and their products, squares among them: float64 [n, parts * (parts + 3) / 2].

    Example:
      >>> with_products(np.array([[0.5, 0.25]])).tolist()
      [[0.5, 0.25, 0.25, 0.125, 0.0625]]
    """
    cosines = np.asarray(cosines, np.float64)
    one, two = np.triu_indices(cosines.shape[1])
    return np.concatenate([cosines, cosines[:, one] * cosines[:, two]], axis=1)
