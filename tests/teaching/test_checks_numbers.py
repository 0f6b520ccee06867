"""The checks of notebooks 01, 03, 06 and 07: solutions score full, and learners' mistakes are named."""

import itertools

import exercise_solutions
import numpy as np
import pytest
from exercise_mistakes import changed, failed_hints

from siamese.teaching.checks import EXERCISES

CHECKS = {name: check for number in (1, 3, 6, 7) for name, check in EXERCISES[number].items()}
NORMS = "(np.sqrt(np.dot(v1, v1)) * np.sqrt(np.dot(v2, v2)))"
MASKED = "(scores * (1 - np.eye(batch)), axis=1)"
MASK = "scores - 2.0 * np.eye(len(scores))"
REAL, MEAN = "(tokens != 1)[:, :, None]", "np.maximum(real.sum(axis=1), 1)"
SAME = "int(same.sum()) - len(clusters)"
NAMED = "names[best] if cosines[best] > threshold else None"


def in_place(scores):
    np.fill_diagonal(scores, -2)
    return scores.max(axis=1)


def mean_in_place(scores):
    np.fill_diagonal(scores, 0)
    return scores.sum(axis=1) / (len(scores) - 1)


def cosine_in_place(v1, v2):
    v1 /= np.linalg.norm(v1)
    v2 /= np.linalg.norm(v2)
    return v1 @ v2


def grid_threshold(scores, labels):
    grid = np.arange(-1, 1, 0.05)
    return grid[np.argmax([np.mean((scores > t) == labels) for t in grid])]


def first_above(vector, examples, names, threshold):
    for example, name in zip(examples, names):
        if example @ vector > threshold:
            return name
    return None


def class_sums(vector, examples, names, threshold):
    sums = dict.fromkeys(names, 0.0)
    for example, name in zip(examples, names):
        sums[name] += example @ vector
    best = max(sums, key=sums.get)
    return best if sums[best] > threshold else None


def of(name, *replacements):
    return lambda: changed(name, *replacements)


WRONG = [
    # exercise, function () -> wrong solution, what the check must say
    ("cosine_similarity", of("cosine_similarity", f" / {NORMS}", ""), "this is the dot product"),
    ("cosine_similarity", of("cosine_similarity", "np.sqrt(", "("), "a length has a square root"),
    ("cosine_similarity", of("cosine_similarity", " * np.sqrt(np.dot(v2, v2))", ""), "only the first"),
    ("cosine_similarity", of("cosine_similarity", "v1)) * np", "v1)) + np"), "lengths are added"),
    ("cosine_similarity", of("cosine_similarity", "np.dot(v1, v2) /", "np.abs(np.dot(v1, v2)) /"),
     "the sign is lost"),
    ("cosine_similarity", of("cosine_similarity", "return np", "return 1 - np"), "cosine distance"),
    ("cosine_similarity", lambda: lambda v1, v2: np.linalg.norm(v1 - v2), "Euclidean distance"),
    ("cosine_similarity", lambda: cosine_in_place, "changed its input v1"),
    ("cosine_similarity", of("cosine_similarity", NORMS, f"{NORMS}[0]"), "IndexError"),
    ("mean_negative", of("mean_negative", "(batch - 1)", "batch"), "divided by the batch size"),
    ("mean_negative", of("mean_negative", "scores * (1 - np.eye(batch))", "scores"),
     "the diagonal is left in"),
    ("mean_negative", of("mean_negative", "axis=1", "axis=0"), "the wrong axis"),
    ("mean_negative", of("mean_negative", " / (batch - 1)", ""), "the sum of the negatives"),
    ("mean_negative", of("mean_negative", f"np.sum{MASKED}", "np.sum(scores * (1 - np.eye(batch)))"),
     "the result is one number"),
    ("mean_negative", of("mean_negative", "axis=1", "axis=1, keepdims=True"), "axis of length 1"),
    ("mean_negative", of("mean_negative", "(batch - 1)", "np.sum(scores != 0, axis=1)"),
     "divided by the batch size"),
    ("mean_negative", of("mean_negative", "batch = len(scores)", "batch = 4"), "ValueError"),
    ("mean_negative", lambda: mean_in_place, "changed its input scores"),
    ("closest_negative", of("closest_negative", f"{MASK}, axis=1", "scores, axis=1"),
     "the diagonal is left in"),
    ("closest_negative", of("closest_negative", "axis=1", "axis=0"), "the wrong axis"),
    ("closest_negative", of("closest_negative", MASK, "scores * (1 - np.eye(len(scores)))"),
     "the diagonal counts as 0"),
    ("closest_negative", of("closest_negative", MASK,
     "np.where(scores <= np.diag(scores)[:, None], scores - 3 * np.eye(len(scores)), -2)"),
     "only negatives below the positive"),
    ("closest_negative", of("closest_negative", "np.max", "np.argmax"), "the places of the closest"),
    ("closest_negative", of("closest_negative", "np.max", "np.min", "scores -", "scores +"),
     "the smallest negative"),
    ("closest_negative", of("closest_negative", ", axis=1", ""), "one maximum for all rows"),
    ("closest_negative", lambda: in_place, "changed its input scores"),
    ("accuracy_at", of("accuracy_at", ">", ">="), "> is asked for, not >="),
    ("accuracy_at", of("accuracy_at", "np.mean", "np.sum"), "the number of right answers"),
    ("accuracy_at", of("accuracy_at", "np.mean", "100 * np.mean"), "a percentage"),
    ("accuracy_at", of("accuracy_at", "> threshold", "> 0.7"), "always 0.7"),
    ("accuracy_at", of("accuracy_at", "> threshold)", "> threshold)[:, None]"),
     "each answer met every label"),
    ("accuracy_at", of("accuracy_at", "== labels", "* labels"), "only the duplicates"),
    ("accuracy_at", of("accuracy_at", " > ", " < "), "the comparison is turned round"),
    ("accuracy_at", of("accuracy_at", " == labels", ""), "compare it with the labels"),
    ("accuracy_at", of("accuracy_at", "== labels", "== (labels == 1.0)", "scores >",
     "np.sort(scores) >"), "eight pairs at 0.6"),
    ("best_threshold", lambda: grid_threshold, "a grid of thresholds is too coarse"),
    ("best_threshold", of("best_threshold", "accuracy_at(scores, labels, threshold)",
     "np.mean((scores >= threshold) == labels)"), "best with >="),
    ("best_threshold", of("best_threshold", "candidates[int(np.argmax(found))]", "max(found)"),
     "this is the best accuracy"),
    ("best_threshold", lambda: lambda scores, labels: 0.7, "is it always 0.7?"),
    ("best_threshold", of("best_threshold", "np.argmax", "np.argmin"), "the worst one"),
    ("best_threshold", of("best_threshold", "[scores.min() - 1], ", "[], "), "below the lowest score"),
    ("best_threshold", of("best_threshold", "np.sort(scores)", "np.sort(scores[scores > 0])"),
     "cosines go from -1 to 1"),
    ("best_threshold", of("best_threshold", "return ", "return max(found), "), "return it alone"),
    ("best_threshold", of("best_threshold", "candidates = ", "scores.sort(); candidates = "),
     "changed its input"),
    ("masked_mean", of("masked_mean", REAL, "np.ones_like(tokens)[:, :, None]"), "padding is in the mean"),
    ("masked_mean", of("masked_mean", MEAN, "states.shape[1]"), "divided by the whole length"),
    ("masked_mean", of("masked_mean", f" / {MEAN}", ""), "the sum of the words' states"),
    ("masked_mean", of("masked_mean", "!= 1", "!= 0"), "padding is 1, and 0 an unknown word"),
    ("masked_mean", of("masked_mean", "!= 1", "> 1"), "unknown words (0) were left out"),
    ("masked_mean", of("masked_mean", MEAN, "real.sum()"), "the words of the whole batch"),
    ("masked_mean", of("masked_mean", MEAN, "real.sum(axis=1)"), "division by zero"),
    ("masked_mean", of("masked_mean", "!= 1", "== 1"), "the mask is turned round"),
    ("masked_mean", of("masked_mean", "(states * real)", "(states * real[:, :, 0][:, None, :])",
     "real.sum(axis=1)", "real.sum(axis=1)"), "the mask met the wrong axis"),
    ("masked_mean", of("masked_mean", "    return (states * real)",
     "    states *= real\n    return states"), "changed its input states"),
    ("count_false_negatives", of("count_false_negatives", SAME, "int(same.sum())"),
     "the diagonal is counted"),
    ("count_false_negatives", of("count_false_negatives", SAME, f"({SAME}) // 2"),
     "each pair is counted once"),
    ("count_false_negatives", lambda: lambda c: sum(a == b for a, b in itertools.pairwise(c)),
     "only neighbours are compared"),
    ("count_false_negatives", lambda: lambda c: len(c) - len(set(c.tolist())), "beyond the first"),
    ("count_false_negatives", of("count_false_negatives", "==", "!=", "- len(clusters)", ""),
     "these are the true negatives"),
    ("count_false_negatives", of("count_false_negatives", "int(same.sum()) - len(clusters)",
     "same & ~np.eye(len(clusters), dtype=bool)"), "one number was asked for"),
    ("count_false_negatives", of("count_false_negatives", "np.asarray(clusters)",
     "np.asarray(clusters).astype(int)"), "clusters with names"),
    ("one_shot", of("one_shot", NAMED, "best if cosines[best] > threshold else None"),
     "return its name"),
    ("one_shot", of("one_shot", ">", ">="), "> is asked for, not >="),
    ("one_shot", of("one_shot", NAMED, "names[best]"), "the answer is None"),
    ("one_shot", of("one_shot", "examples @ vector", "np.abs(examples @ vector)"), "absolute values"),
    ("one_shot", lambda: first_above, "not the first above the threshold"),
    ("one_shot", of("one_shot", "np.argmax", "np.argmin"), "the best cosine, the largest"),
    ("one_shot", of("one_shot", "threshold else", "0.7 else"), "use the argument threshold"),
    ("one_shot", lambda: class_sums, "not the sum over a class"),
    ("expected_calibration_error", of("expected_calibration_error", "inside.mean() * gap", "gap / bins"),
     "weigh"),
    ("expected_calibration_error", of("expected_calibration_error", "abs(", "("), "absolute value"),
    ("expected_calibration_error", of("expected_calibration_error", "error += inside.mean() * gap",
     "error = max(error, gap)"), "maximum calibration error"),
    ("expected_calibration_error", of("expected_calibration_error",
     "np.minimum((probabilities * bins).astype(int), bins - 1)", "(probabilities * bins).astype(int)"),
     "exactly 1 falls out"),
    ("expected_calibration_error", of("expected_calibration_error",
     "np.minimum((probabilities * bins).astype(int), bins - 1)",
     "np.ceil(probabilities * bins).astype(int) - 1"), "exactly 0 falls out"),
    ("expected_calibration_error", of("expected_calibration_error", "probabilities[inside].mean()",
     "(k + 0.5) / bins"), "the middle of the bin"),
    ("expected_calibration_error", of("expected_calibration_error", "error = 0.0",
     "error, bins = 0.0, 10", "index = ", "bins = 10; index = "), "always 10 bins"),
    ("expected_calibration_error", of("expected_calibration_error", "if inside.any():", "if True:"),
     "division by zero"),
    ("expected_calibration_error", of("expected_calibration_error",
     "np.minimum((probabilities * bins).astype(int), bins - 1)",
     "(np.argsort(np.argsort(probabilities)) * bins // len(labels))"), "equally many pairs"),
]  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_the_solution_scores_full(name, capsys):
    score = CHECKS[name](getattr(exercise_solutions, name))
    assert score.points == score.out_of >= 5 and not score.failures, score
    assert capsys.readouterr().out.startswith(f"✓ {name}: {score.out_of} of {score.out_of}")


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda n: f"{WRONG[n][0]}-{n}")
def test_a_mistake_is_named(number):
    name, wrong, message = WRONG[number]
    score = CHECKS[name](wrong())
    assert score.points < score.out_of and score.written
    assert message in failed_hints(score)


def test_every_exercise_has_five_mistakes():
    counts = {name: sum(row[0] == name for row in WRONG) for name in CHECKS}
    assert min(counts.values()) >= 5, counts
