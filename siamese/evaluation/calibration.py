"""From a score to a probability that means what it says: Platt and isotonic, fitted on validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.arguments import one_of, whole_number
from siamese.errors import ArgumentError, CheckpointError
from siamese.evaluation.metrics import check_scores

# Method -> the fields it uses.
_PARAMETERS = {"platt": ("slope", "intercept"), "isotonic": ("scores", "probabilities")}
STRATEGIES = ("equal_mass", "equal_width")


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities of being a duplicate, with NumPy alone.

    Made by `fit_calibration`; travels with a saved model as `to_dict`.

    Attributes:
      method: 'platt': ``1 / (1 + exp(-(slope * score + intercept)))`` (Platt, 1999); 'isotonic': the
        best rising step function, straight lines between its points and level beyond them
        (Zadrozny and Elkan, 2002).
      n: pairs it was fitted on.
      slope, intercept: of 'platt'.
      scores, probabilities: the points of 'isotonic', both rising.

    Example:
      >>> calibration = Calibration("platt", n=100, slope=10.0, intercept=-5.0)
      >>> calibration([0.5, 0.9]).round(3).tolist()
      [0.5, 0.982]
    """

    method: str
    n: int
    slope: float | None = None
    intercept: float | None = None
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()

    def __post_init__(self):
        one_of(self.method, "method", tuple(_PARAMETERS))
        used = [np.array(getattr(self, name), float) for name in _PARAMETERS[self.method]]
        good = used[0].size == used[1].size > 0 and np.isfinite(used).all()
        if good and self.method == "isotonic":
            good = (np.diff(used) >= 0).all() and used[1].min() >= 0 and used[1].max() <= 1
        if not good:
            raise ArgumentError(
                "A calibration needs finite numbers and, if isotonic, as many rising probabilities "
                "from 0 to 1 as rising scores."
            )

    def __call__(self, scores: Any) -> np.ndarray:
        """Probabilities, float64 from 0 to 1, of scores of any shape; ArgumentError if not finite."""
        scores = np.asarray(scores)
        if scores.dtype.kind not in "biuf" or not np.isfinite(scores).all():
            raise ArgumentError("Only finite scores have a probability; some are not.")
        scores = scores.astype(np.float64)
        if self.method == "isotonic":
            return np.interp(scores, self.scores, self.probabilities)
        # tanh never overflows, unlike 1 / (1 + exp(-x)).
        return 0.5 + 0.5 * np.tanh((self.slope * scores + self.intercept) / 2)

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold; `from_dict` gives the same calibration again."""
        names = ("method", "n", *_PARAMETERS[self.method])
        values = {name: getattr(self, name) for name in names}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """From what `to_dict` made; CheckpointError where anything is missing, unknown or no number."""
        try:
            values = dict(values).items()
            return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in values})
        except (ArgumentError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"The calibration is damaged: {error} Train the model again."
            ) from None


def fit_calibration(scores: Any, labels: Any, method: str = "best") -> Calibration:
    """Fits a calibration on validation pairs.

    Args:
      scores: float [n].
      labels: bool or 0/1 [n].
      method: 'platt', 'isotonic', or 'best': the one with the lower Brier score in five-fold
        cross-validation. The Brier score is lowest for true probabilities and, unlike the log loss,
        finite where an isotonic step is 0 or 1.

    Raises:
      ArgumentError, DataError: another method; see `siamese.evaluation.metrics.check_scores`.

    Example:
      >>> calibration = fit_calibration([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], method="isotonic")
      >>> calibration([0.1, 0.5, 0.95]).tolist()
      [0.0, 0.5, 1.0]
    """
    one_of(method, "method", (*_PARAMETERS, "best"))
    scores, truth = check_scores(scores, labels)
    folds = min(5, int(truth.sum()), int((~truth).sum()))
    if (
        method == "best" and folds < 2
    ):  # With two numbers the safer choice where nothing can be left out.
        method = "platt"
    if method == "best":
        from sklearn.model_selection import StratifiedKFold

        squared = dict.fromkeys(_FITS, 0.0)
        divide = StratifiedKFold(folds, shuffle=True, random_state=0)
        for fitted, left_out in divide.split(scores, truth):
            for name, fit in _FITS.items():
                found = fit(scores[fitted], truth[fitted])(scores[left_out])
                squared[name] += float(((found - truth[left_out]) ** 2).sum())
        method = min(squared, key=squared.__getitem__)
    return _FITS[method](scores, truth)


def _platt(scores: np.ndarray, truth: np.ndarray) -> Calibration:
    """Logistic regression of the label on the score, without regularisation.

    Platt's targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2) in place of 1 and 0, keep the slope finite
    where the scores separate the classes; on thousands of pairs they change nothing visible.
    """
    from sklearn.linear_model import LogisticRegression

    centre, scale = scores.mean(), scores.std() or 1.0
    ones, zeros = truth.sum(), (~truth).sum()
    target = np.where(truth, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    x = ((scores - centre) / scale)[:, None]
    # A soft target is a one and a zero, weighted by it and by the rest.
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(
        np.concatenate([x, x]),
        np.repeat([1, 0], len(x)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope = float(model.coef_[0, 0] / scale)
    intercept = float(model.intercept_[0] - slope * centre)
    return Calibration("platt", len(truth), slope=slope, intercept=intercept)


def _isotonic(scores: np.ndarray, truth: np.ndarray) -> Calibration:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, truth)
    return Calibration(
        "isotonic",
        len(truth),
        scores=tuple(fitted.X_thresholds_.tolist()),
        probabilities=tuple(fitted.y_thresholds_.tolist()),
    )


_FITS = {"platt": _platt, "isotonic": _isotonic}


def reliability_curve(
    probabilities: Any, labels: Any, *, bins: int = 15, strategy: str = "equal_mass"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often pairs of a probability really are duplicates.

    Args:
      probabilities: float [n], from 0 to 1.
      labels: bool or 0/1 [n].
      bins: at most so many.
      strategy: 'equal_mass' cuts at the quantiles, so that bins hold about as many pairs each (pairs
        of one probability stay together); 'equal_width' cuts 0 to 1 into equal parts.

    Returns:
      For each bin that holds pairs: their mean probability, float64; the share of duplicates among
      them, float64; their number, int64.

    Raises:
      ArgumentError, DataError: see `siamese.evaluation.metrics.check_scores`; probabilities outside 0 to 1.
    """
    found, truth = check_scores(probabilities, labels, both=False)
    if found.min() < 0 or found.max() > 1:
        raise ArgumentError(
            f"Probabilities lie from 0 to 1; these from {found.min():.4g} to {found.max():.4g}. "
            "Give calibrated probabilities, not scores."
        )
    whole_number(bins, "bins", 1)
    one_of(strategy, "strategy", STRATEGIES)
    shares = np.arange(1, bins) / bins
    edges = np.quantile(found, shares) if strategy == "equal_mass" else shares
    index = np.searchsorted(edges, found, side="right")  # bin k: edges[k-1] <= p < edges[k]
    count = np.bincount(index, minlength=bins)
    used = count > 0
    total = np.bincount(index, found, minlength=bins)[used]
    hits = np.bincount(index, truth, minlength=bins)[used]
    return total / count[used], hits / count[used], count[used]


def expected_calibration_error(
    probabilities: Any, labels: Any, *, bins: int = 15, strategy: str = "equal_mass"
) -> float:
    """Mean gap between the predicted probability and the share of duplicates, over bins.

    ``sum over bins of count / n * |share of duplicates - mean probability|`` (Naeini, Cooper and
    Hauskrecht, 2015). Arguments and errors as `reliability_curve`; say which bins were used beside
    a figure: equal mass is the steadier.

    Example:
      >>> expected_calibration_error([0.25, 0.25, 0.75, 0.75], [0, 0, 1, 1])
      0.25
    """
    probability, share, count = reliability_curve(
        probabilities, labels, bins=bins, strategy=strategy
    )
    return float((count * np.abs(share - probability)).sum() / count.sum())
