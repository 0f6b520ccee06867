"""Means without padding, false negatives, and one-shot classes."""

from __future__ import annotations

import numpy as np

from .engine import Case, Exercise
from .results import Odd

_STATES = np.random.default_rng(1).normal(size=(3, 4, 4))
_DIVIDED = "np.maximum(real.sum(axis=1), 1)"
_WHOLE = f"(states * real).sum(axis=1) / {_DIVIDED}"
check_masked_mean = Exercise(
    "masked_mean",
    "[batch, length, d], [batch, length] -> [batch, d].",
    """
Padding must count neither in the sum nor in the number that it is divided by.
(tokens != 1)[:, :, None] has a 1 for each word and goes with the shape of the states.
Sum states times that mask over axis=1, and divide by the mask's sum over axis=1, at least 1.
""",
    [Case(name, (_STATES[: len(tokens), : len(tokens[0]), :d], np.array(tokens, np.int32)))
     for name, d, tokens in (
        ("two questions of three and two words", 3, [[5, 6, 7, 1], [8, 9, 1, 1]]),
        ("no padding", 4, [[5, 6, 7], [8, 9, 2]]),
        ("unknown words", 3, [[0, 6, 0, 1], [0, 0, 1, 1]]),
        ("as many positions as numbers in a state", 4, [[5, 6, 7, 1], [8, 1, 1, 1]]),
        ("padding before and between the words", 3, [[5, 1, 6], [1, 8, 1], [2, 3, 4]]),
        ("a question of padding only", 2, [[1, 1, 1], [5, 6, 1]]),
    )],
    f"""
the padding is in the mean
  return states.mean(axis=1)
padding may stand anywhere: use a mask, and do not cut at the first one
  tokens != 1 -> np.arange(tokens.shape[1]) < (tokens != 1).sum(axis=1, keepdims=True)
  tokens != 1 -> np.logical_and.accumulate(tokens != 1, axis=1)
divided by the whole length: divide by the number of real words
  {_DIVIDED} -> states.shape[1]
divided by one too many: only the words count
  {_DIVIDED} -> (real.sum(axis=1) + 1)
divided by the words of the whole batch: each row has its own
  {_DIVIDED} -> real.sum()
divided by the sum of the token ids: divide by the number of words
  {_DIVIDED} -> tokens.sum(axis=1, keepdims=True)
something is added to the number of words: take the larger of it and 1
  {_DIVIDED} -> (real.sum(axis=1) + <<0.1|0.01|1e-3>>)
this is the sum of the words' states, not their mean
   / {_DIVIDED} ->
a question without words has no 0 / 0: its mean is 0
  {_DIVIDED} -> real.sum(axis=1)
the states are multiplied by the token ids: the mask is 0 or 1
  (tokens != 1) -> tokens
  states * real -> states * tokens[:, :, None]
  return (states * tokens[:, :, None]).mean(axis=1)
token 0 was left out: padding is 1, and 0 an unknown word
  != 1 -> != 0
unknown words (0) were left out with the padding (1): they are words
  != 1 -> > 1
this is the mean over the padding: the mask is turned round
  != 1 -> == 1
the mask met the wrong axis: [batch, length] lines up with the last two axes, not the first two
  states * real -> states * real[:, :, 0][:, None, :]
this is the largest of each, not the mean
  {_WHOLE} -> np.where(real, states, -9).max(axis=1)
this is the state of the last word: the mean over all words is asked for
  {_WHOLE} -> states[np.arange(len(states)), real.sum(axis=1)[:, 0] - 1]
this is the last state: the mean over all words is asked for
  return states[:, -1]
this is the first state: the mean over all words is asked for
  return states[:, 0]
one mean for the whole batch: each question has its own
  return states[tokens != 1].mean(axis=0)
the result has another shape: the words of all questions are in one list; keep [batch, length, d]
  return states[tokens != 1]
summed or averaged over the wrong axis: positions are axis 1
  {_WHOLE} -> (states * real).<<sum|mean>>(axis=<<0|2>>)
  {_WHOLE} -> ({_WHOLE}).mean(axis=1)
there is an axis of length 1 too many (keepdims, reshape)
  {_WHOLE} -> ({_WHOLE})[:, None]
""",
)  # fmt: skip

# ---- count_false_negatives ----

check_count_false_negatives = Exercise(
    "count_false_negatives",
    "labels [batch] -> ordered pairs (i, j) that share one.",
    """
Two pairs of one cluster are duplicates of each other, so off the diagonal they are no negatives.
Compare every cluster with every other: clusters[:, None] == clusters[None, :].
The number of equal entries, less those on the diagonal: one for each pair.
""",
    [Case(name, (np.array(clusters),)) for name, clusters in (
        ("three of one cluster", [7, 3, 7, 5, 7]),
        ("all different", [4, 1, 3, 2]),
        ("all the same", [9, 9, 9, 9]),
        ("two clusters, neighbours apart", [1, 2, 1, 2, 3, 1]),
        ("three clusters, neighbours together", [1, 1, 2, 2, 2, 3, 3, 6]),
        ("clusters with names", ["age", "name", "age", "food"]),
        ("cluster 0 and negative numbers", [0, -1, 0, -1, 0, 5]),
        ("one row", [3]),
    )],
    """
the diagonal is counted: a question is not a negative of itself
  int(same.sum()) - len(clusters) -> same.sum()
each pair is counted once: (i, j) and (j, i) stand in different rows
  int(same.sum()) - len(clusters) -> (same.sum() - len(clusters)) / 2
these are the rows beyond the first of each cluster: count pairs (i, j)
  return len(clusters) - len(np.unique(clusters))
0 is a cluster like any other: nothing is left out
  np.asarray(clusters) -> clusters[clusters != 0]
twice the right number: the matrix has both (i, j) and (j, i) already
  int(same.sum()) - len(clusters) -> 2 * (same.sum() - len(clusters))
this is divided by the number of rows: the count is asked for
  int(same.sum()) - len(clusters) -> (same.sum() - len(clusters)) / len(clusters)
this is a share: the count is asked for
  return right(clusters) / <<max(1, len(clusters) * (len(clusters) - 1))|len(clusters) ** 2>>
this is the number of clusters with several rows: count pairs of rows
  return sum(np.unique(clusters, return_counts=True)[1] > 1)
these are the rows that have a partner: count pairs (i, j)
  return sum((clusters == cluster).sum() > 1 for cluster in clusters)
these are all rows: count pairs (i, j)
  return len(clusters)
these are all pairs: only those of one cluster count
  return len(clusters) * (len(clusters) - 1)
these are the true negatives
  return (clusters[:, None] != clusters).sum()
this is the number of clusters: count pairs of rows
  return len(np.unique(clusters))
only neighbours are compared
  return <<1|2>> * (clusters[1:] == clusters[:-1]).sum()
clusters may be any labels, also names and negative numbers: compare them with ==
  return sum(n * n for n in np.bincount(clusters)) - len(clusters)
  np.asarray(clusters) -> np.asarray(clusters).astype(int)
one number is asked for: the matrix is not summed
  int(same.sum()) - len(clusters) -> same & ~np.eye(len(clusters), dtype=bool)
  int(same.sum()) - len(clusters) -> same
one number is asked for: this says whether there are any, or which
  return right(clusters) > 0
""",
)  # fmt: skip

# ---- one_shot ----


def _name(fn, *arguments) -> str:
    """The answer as text."""
    answer = fn(*arguments)
    if answer is None or isinstance(answer, str):
        return str(answer) + " in quotes" * (answer == "None")
    if isinstance(answer, (int, float, np.number)) and not isinstance(answer, bool):
        return f"the number {answer:.6g}"
    raise Odd(f"{type(answer).__name__}: {answer!r}", "return the text alone, or None")


_COMPASS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, -0.6], [-1.0, 0.0]])
_FIVE = ["east", "north-east", "north", "south-west", "west"]
_CLASSES = (
    np.array([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [-1.0, 0.0]]),
    ["east", "sum", "sum", "east"],
)
_WEAK = np.array([[0.8, 0.6], [0.6, 0.8], [0.0, 1.0], [1.0, 0.0]]), ["b", "c", "a", "c"]
_ABOVE = "[(c, n) for c, n in zip(cosines, names) if c > threshold]"
_NAMED = "names[best] if cosines[best] > threshold else None"
check_one_shot = Exercise(
    "one_shot",
    "the best example's name, or None.",
    """
The question gets the name of the example that is nearest to it.
Vectors have length 1, so examples @ vector are the cosines with all examples.
best = np.argmax(cosines); names[best] where cosines[best] is above the threshold, else None.
""",
    [Case(name, (np.array(vector), *examples, threshold)) for name, vector, examples, threshold in (
        ("a vector near one example", [0.8, 0.6], (_COMPASS, _FIVE), 0.7),
        ("nothing above the threshold", [0.0, -1.0], (_COMPASS, _FIVE), 0.7),
        ("a cosine exactly at the threshold", [0.0, 1.0], (_COMPASS, _FIVE), 1.0),
        ("several above the threshold", [0.28, 0.96],
         (_COMPASS[[1, 2, 0]], ["north-east", "north", "east"]), 0.1),
        ("opposite vectors", [0.8, 0.6], (_COMPASS[[3, 0]], ["south-west", "east"]), 0.3),
        ("several examples of one class", [1.0, 0.0], _CLASSES, 0.7),
        ("names not in order", [0.96, 0.28], _WEAK, 0.65),
        ("a negative threshold", [0.0, -1.0], (_COMPASS, _FIVE), -0.7),
        ("a low threshold", [0.28, 0.96], (_COMPASS[:1], ["east"]), 0.1),
        ("one example", [1.0, 0.0], (np.array([[0.8, 0.6]]), ["only"]), 0.5),
    )],
    f"""
return None itself, not the text
  return str(right(vector, examples, names, threshold))
no cosine is above the threshold: the answer is None
  threshold else None -> threshold else <<''|'unknown'|names[0]|False>>
   if cosines[best] > threshold else None ->
return its name: this is the place of the best example
  names[best] -> best
this is the cosine: return the name
  names[best] -> cosines[best]
this is the name after the best one
  names[best] -> names[best + 1]
this is the name before the best one
  names[best] -> names[best - 1]
the names are sorted, and the examples are not
  names[best] -> sorted(<<set(names)|names>>)[best]
equal is not above: > is asked for, not >=
  > -> >=
the comparison is turned round
  > threshold -> < threshold
the threshold is always the same: use the argument
  > threshold -> > <<0.7|0.5>>
a cosine of -1 is the opposite, not the same: no absolute values
  examples @ vector -> abs(examples @ vector)
this is the least similar example: larger cosines are more alike
  argmax -> argmin <<|;; names[best] if cosines[best] > threshold else None -> names[best]>>
not the first above the threshold but the best: another example has a larger cosine
  {_NAMED} -> next((n for c, n in {_ABOVE}), None)
not the last above the threshold but the best
  {_NAMED} -> ([None] + [n for c, n in {_ABOVE}])[-1]
not the one nearest to the threshold but the best
  {_NAMED} -> min({_ABOVE}, default=(0, None))[1]
not the sum over a class, their mean or a vote, but the best example
  {_NAMED} -> max(n := [n for c, n in {_ABOVE}], key=n.count, default=None)
  return -> total = {{n: np.<<sum|mean>>([c for c, m in zip(cosines, names) if m == n]) for n in names}}; \
best = max(total, key=total.get); return best if total[best] > threshold else None;
this is a distance: a cosine is asked for
  examples @ vector -> np.linalg.norm(examples - vector, axis=1) ;; argmax -> argmin ;; > -> <
this is the first name: the best example decides
  return names[0]
this is the last name: the best example decides
  return names[-1]
""",
    observe=_name,
    slips=False,
)  # fmt: skip
