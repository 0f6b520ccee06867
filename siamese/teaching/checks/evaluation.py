"""Accuracy at a threshold, the best threshold, and the error of calibrated probabilities."""

from __future__ import annotations

import numpy as np

from .engine import Case, Exercise
from .reference import accuracy_at

_SCORES = np.array([0.95, 0.2, 0.71, 0.55, -0.3, 0.88, 0.64, 0.1])
_LABELS = np.array([1, 0, 1, 0, 0, 0, 1, 0])

check_accuracy_at = Exercise(
    "accuracy_at",
    "the share of right answers, with ``>``.",
    """
A pair is called a duplicate where its cosine is above the threshold.
Compare the answers with the labels: how large is the share of agreement?
np.mean of (scores > threshold) == labels.
""",
    [
        Case("eight pairs at 0.6", (_SCORES, _LABELS, 0.6)),
        Case("the same pairs at another threshold", (_SCORES, _LABELS, 0.15)),
        Case("scores exactly at the threshold",
             (np.array([0.5, 0.5, 0.5, 0.75, 0.25]), np.array([0, 0, 1, 1, 0]), 0.5)),
        Case("labels True and False", (_SCORES, _LABELS.astype(bool), 0.6)),
        Case("a negative threshold", (_SCORES, _LABELS, -0.4)),
        Case("no duplicates at all", (np.array([0.9, 0.1, 0.2]), np.zeros(3, int), 0.7)),
        Case("nine pairs, two wrong", (np.r_[_SCORES, 0.52], np.r_[_LABELS, 0], 0.62)),
    ],
    """
this is the number of right answers, not their share
  mean -> sum
this is the share of wrong answers
  == labels -> != labels
only the duplicates that were found are counted: a right 'no' counts too
  mean((scores > threshold) == labels) -> <<mean|sum>>((scores > threshold) & (labels == 1))
this is 0: / is asked for, not //, and ==, not is
  return 0.0
divide by the number of pairs
  return right(scores, labels, threshold) * len(scores) / <<(len(scores) - 1)|(len(scores) + 1)|8|100>>
the answers minus the labels: a miss and a false alarm cancel
  == labels -> * 1 - labels * 1
or is not ==: an answer is right where it equals the label
  == labels -> | (labels == 1)
the labels are in the reverse order
  == labels -> == labels[::-1]
this is F1: non-duplicates count as well
  return 2 * sum((scores > threshold) & (labels == 1)) / max(1, sum(scores > threshold) + sum(labels))
this is the precision: non-duplicates count as well
  return sum((scores > threshold) & (labels == 1)) / max(1, sum(scores > threshold))
this is the recall: non-duplicates count as well
  return sum((scores > threshold) & (labels == 1)) / max(1, sum(labels == 1))
this is the balanced accuracy, the mean over both kinds: each pair counts alike
  return np.mean([right(scores[labels == k], k, threshold) for k in set(labels)])
  return (np.mean(scores[labels == 1] > threshold) + np.mean(scores[labels == 0] <= threshold)) / 2
use the scores as they are: cosines from -1 to 1
  scores > -> (scores + 1) / 2 >
the scores are rounded before they are compared
  scores > -> scores.round() >
the scores are sorted, and the labels are not
  scores > -> np.sort(scores) >
absolute values: a cosine of -0.8 is no duplicate
  scores > -> abs(scores) >
a score equal to the threshold counted as a duplicate: > is asked for, not >=
  > -> >=
the comparison is turned round
  > -> <
this is the share above the threshold: compare it with the labels
   == labels ->
the threshold is always the same: use the argument
  > threshold -> > <<0.7|0.5|0.0>>
the labels are compared with the scores: compare answers, score > threshold
  return 1 - np.mean(abs(scores - labels))
  return np.mean((scores - labels) ** 2)
each answer met every label: a [n, 1] array was compared with a [n] one
  > threshold) -> > threshold)[:, None]
the answers are not averaged: one number is asked for
  np.mean( -> (
only the first pair counts: does return stand in the loop?
  return right(scores[:1], labels[:1], threshold)
""",
)  # fmt: skip

# ---- best_threshold ----


def _is_best(actual, expected, scores, labels) -> bool:
    if np.shape(actual):
        return False
    return accuracy_at(scores, labels, actual) >= accuracy_at(scores, labels, expected) - 1e-9


_ACCURACY = "accuracy_at(scores, labels, threshold)"
_CANDIDATES = "np.append(scores.min() - 1, np.sort(scores))"
check_best_threshold = Exercise(
    "best_threshold",
    "a threshold with the highest accuracy (``>``).",
    """
Between two neighbouring scores every threshold gives the same answers. So few are worth trying.
Try each score, and one value below all of them, which calls every pair a duplicate.
candidates: scores.min() - 1 and np.sort(scores). Take the one at np.argmax of accuracy_at for each.
""",
    [Case(name, (np.array(scores, float), np.array(labels))) for name, scores, labels in (
        ("eight pairs", _SCORES, _LABELS),
        ("duplicates and others well apart", [0.1, 0.9, 0.3, 0.85, 0.2, 0.8], [0, 1, 0, 1, 0, 1]),
        ("scores close together", [0.7012, 0.7011, 0.7013, 0.7009, 0.7008, 0.7010], [1, 1, 1, 0, 0, 0]),
        ("all scores below 0", [-0.9, -0.2, -0.7, -0.1, -0.6], [0, 1, 0, 1, 0]),
        ("every pair a duplicate", [0.4, 0.9, 0.6], [1, 1, 1]),
        ("no pair a duplicate", [0.4, 0.9, 0.6], [0, 0, 0]),
        ("equal scores", [0.5, 0.5, 0.5, 0.8, 0.2, 0.5], [1, 0, 0, 1, 0, 0]),
        ("labels True and False", _SCORES[::-1], _LABELS[::-1].astype(bool)),
    )],
    f"""
it is always the same: it must depend on these scores
  return <<0.0|0.5|0.7|0.75>>
this is the best accuracy: the threshold that reaches it is asked for
  candidates[np.argmax(right)] -> max(right)
it is best with >=, but a pair is a duplicate where its score is > the threshold
  {_ACCURACY} -> np.mean((scores >= threshold) == labels) <<|;; scores.min() - 1 -> []>>
it is the worst one: the comparison or the labels are turned round
  argmax -> argmin
  {_ACCURACY} -> <<np.mean((scores < threshold) == labels)|accuracy_at(scores, 1 - labels, threshold)>>
the lowest candidate, below the lowest score, is missing
  {_CANDIDATES} -> <<np.sort(scores)|np.append(0.5, np.sort(scores))>>
the highest score is a candidate too
  {_CANDIDATES} -> {_CANDIDATES}[:-1]
this has the highest recall: the accuracy is asked for
  {_ACCURACY} -> sum((scores > threshold) & (labels == 1))
this has the highest precision: the accuracy is asked for
  {_ACCURACY} -> sum((scores > threshold) & (labels == 1)) / max(sum(scores > threshold), 1)
this has the highest F1: the accuracy is asked for
  {_ACCURACY} -> sum((scores > threshold) & (labels == 1)) / max(sum((scores > threshold) * 1 + labels), 1)
a grid of thresholds is too coarse: only the scores themselves tell where to cut
  {_CANDIDATES} -> np.arange(-1, 1, <<0.1|0.05|0.01>>)
cosines go from -1 to 1, and so may thresholds
  {_CANDIDATES} -> np.linspace(0, 1, <<11|21|101|1001>>)
  np.sort(scores) -> np.sort(scores[scores > 0])
the lowest duplicate lets others pass too: count the right answers at each cut
  return scores[labels == 1].min() if labels.any() else <<scores.min()|9>>
the highest non-duplicate leaves duplicates out: count the right answers at each cut
  return scores[labels == 0].max() if not labels.all() else <<scores.max()|-1>>
this is the best candidate's place: return the candidate
  candidates[np.argmax(right)] -> np.argmax(right)
  candidates[np.argmax(right)] -> np.argmax(right) ;; {_CANDIDATES} -> np.sort(scores)
it is rounded: give the number as it is
  return round(float(right(scores, labels)), <<1|2>>)
a value in the middle is seldom the best cut: count the right answers at each
  return <<scores.mean()|np.median(scores)|(scores.min() + scores.max()) / 2>>
  return (scores[labels == 1].mean() + scores[labels == 0].mean()) / 2
one number is asked for, the threshold with the highest accuracy: return it alone
  return candidates[np.argmax(right)] -> return <<candidates|right|max(right), candidates[np.argmax(right)]>>
  return np.sort(scores)
this is the largest score
  return scores.max()
this is the smallest score
  return scores.min()
""",
    variants=("", "np.sort(scores) -> scores"),
    passes=_is_best,
    slips=False,
)  # fmt: skip

# ---- expected_calibration_error ----

_P = np.array([0.03, 0.08, 0.17, 0.22, 0.24, 0.41, 0.47, 0.66, 0.68, 0.83, 0.94, 0.97])
_Y = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1])
_BIN = "np.minimum((probabilities * bins).astype(int), bins - 1)"
_GAP = "abs(labels[inside].mean() - probabilities[inside].mean())"
check_expected_calibration_error = Exercise(
    "expected_calibration_error",
    "with bins of equal width (Naeini, Cooper and Hauskrecht, 2015).",
    """
In each bin compare two means: the mean probability and the share of duplicates.
The bin of p is int(p * bins); p = 1 belongs to the last one. Empty bins count nothing.
Sum over the bins: its share of the pairs times abs(labels[inside].mean() - probabilities[inside].mean()).
""",
    [
        Case("twelve pairs in ten bins", (_P, _Y)),
        Case("the same in four bins", (_P, _Y, 4)),
        Case("one bin", (_P, _Y, 1)),
        Case("most bins empty", (np.array([0.32, 0.33, 0.36, 0.92]), np.array([0, 1, 0, 1]))),
        Case("a probability of exactly 1", (np.array([1.0, 1, 0.45, 0.55]), np.array([0, 1, 1, 0]))),
        Case("a probability of exactly 0", (np.array([0.0, 0, 0, 0.55]), np.array([1, 0, 1, 0]))),
        Case("labels True and False", (_P, _Y.astype(bool))),
        Case("perfectly calibrated", (np.repeat([0.25, 0.75], 4), np.array([0, 0, 1, 0, 1, 1, 0, 1]))),
    ],
    f"""
all bins count alike: weigh with the share of pairs in each
  inside.mean() * gap -> gap<<| / bins| / len(np.unique(index))>>
this is the largest gap (maximum calibration error)
  error += inside.mean() * gap -> error = max(error, gap)
only the last bin is counted: += adds them up
  error += -> error =
the first bin is left out, or only the first one is counted: the range is all bins
  range(bins) -> range(<<1, bins|1>>)
the last bin is left out: look at where the range ends
  range(bins) -> range(bins - 1)
the gaps are squared: take their absolute value
  {_GAP} -> {_GAP} ** 2
  return error -> return np.sqrt(error) ;; {_GAP} -> {_GAP} ** 2
the accuracy in the bin is compared: the share of duplicates is asked for
  labels[inside].mean() -> ((probabilities > 0.5) == labels)[inside].mean()
this is the median of the bin's probabilities: their mean is asked for
  probabilities[inside].mean() -> np.median(probabilities[inside])
numbers are compared: the mean probability and the share of duplicates are asked for
  [inside].mean() -> [inside].sum()
the edge of the bin was taken: it is the mean probability of the pairs in it that counts
  probabilities[inside].mean() -> <<k|(k + 1)>> / bins
the middle of the bin was taken: it is the mean probability of the pairs in it that counts
  probabilities[inside].mean() -> (k + 0.5) / bins
a probability of exactly 1 falls out of the last bin
  {_BIN} -> (probabilities * bins).astype(int)
a probability of exactly 0 falls out of the first bin
  {_BIN} -> np.ceil(probabilities * bins).astype(int) - 1
the bin is rounded: it is floor(probability * bins)
  {_BIN} -> np.<<minimum(np.round|round(np.round>>(probabilities * bins).astype(int), bins - 1)
  {_BIN} -> np.round(probabilities * bins).astype(int)
the bins go from the lowest to the highest probability: from 0 to 1 is asked for
  {_BIN} -> np.digitize(probabilities, \
np.linspace(min(probabilities), max(probabilities), bins + <<0|1>>)) - <<0|1>>
these bins hold equally many pairs: the exercise has bins of equal width
  {_BIN} -> np.argsort(np.argsort(probabilities)) * bins // len(labels)
the absolute value of each bin's gap is missing: gaps of opposite sign cancel
  abs(labels -> (labels <<|;; return error -> return -error|;; return error -> return abs(error)>>
  return abs(probabilities.mean() - labels.mean())
divided by the number of bins: the weights are the shares
  return error -> return error / bins
divide by the number of pairs
  inside.mean() * gap -> inside.sum() * gap
there are always 10 bins: use the argument
  index = np -> bins = 10; index = np
the default is 10 bins
  bins=10 -> bins=<<5|15|20>>
there is one bin too many or too few: look at the edges
  index = np -> bins = max(1, bins <<- 1|+ 1>>); index = np
this is the Brier score
  return np.mean((probabilities - labels) ** 2)
this is the log loss
  return -np.mean(np.log(np.clip(np.where(labels == 1, probabilities, 1 - probabilities), 1e-9, 1)))
this is the accuracy
  return np.mean((probabilities > 0.5) == labels)
this is each pair's own gap: average within the bins first
  return np.mean(abs(probabilities - labels))
there is 0 / 0 where a bin is empty: it adds nothing
  inside.any() -> True
""",
)  # fmt: skip
