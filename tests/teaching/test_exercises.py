"""The checks of the notebooks' exercises: solutions score full, and learners' mistakes are named."""

import exercise_solutions
import numpy as np
import pytest
from exercise_mistakes import (
    GET,
    WRONG,
    changed,
    failed_hints,
    global_questions,
    pads_in_place,
    two_losses,
)

from siamese.checks import EXERCISES, OUT_OF

CHECKS = {name: check for found in EXERCISES.values() for name, check in found.items()}
# Trax builds and compiles models for each.
SLOW = {"shared_towers", "Siamese", "TripletLossFn", "train_model", "symmetric_loss"}


def answer(name, change):
    """A function that stands alone, or the solution with texts replaced."""
    return change[0] if callable(change[0]) else changed(name, *change)


def marks(name):
    return pytest.mark.slow if name in SLOW else ()


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in OUT_OF])
def test_the_solution_scores_full(name, capsys):
    assert len(WRONG[name]) >= 5
    score = CHECKS[name](getattr(exercise_solutions, name))
    assert score.points == score.out_of == OUT_OF[name] >= 5 and not score.failures, score
    assert capsys.readouterr().out.startswith(f"✓ {name}: {score.out_of} of {score.out_of}")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        pytest.param(name, row, id=f"{name}-{number}", marks=marks(name))
        for name, rows in WRONG.items()
        for number, row in enumerate(rows)
    ],
)
def test_a_mistake_is_named(name, row, monkeypatch):
    *change, message = row
    if name == "data_generator":  # Two of its mistakes never end.
        monkeypatch.setattr(CHECKS[name], "seconds", 1)
    score = CHECKS[name](answer(name, change))
    assert score.points < score.out_of
    assert message in failed_hints(score)


@pytest.mark.parametrize(
    ("name", "change", "first"),
    [
        ("data_generator", (pads_in_place,), "changed its input Q1"),
        ("accuracy_at", ("== labels", "& (labels == 1)"), "only the duplicates"),
        ("data_generator", (global_questions,), "tokens that are not"),
    ],
)
def test_the_first_hint_names_the_mistake(name, change, first):
    failures = CHECKS[name](answer(name, change)).failures
    assert first in failures[0].hint
    assert all("share of wrong" not in failure.hint for failure in failures)


ARRAYS = "yield np.array(b1), np.array(b2)"


@pytest.mark.parametrize(
    ("name", "replacements", "case"),
    [
        ("data_generator", (ARRAYS, "yield b1, b2"), "one batch in order"),
        ("data_generator", ("np.array(b1)", "np.array(b1, float)"), "one batch in order"),
        ("classify", ("len(part1), vocab", "batch_size, vocab", "range(len(part1))",
         "range(batch_size)"), "a last batch that is short"),
        ("predict", (GET, "vocab[w]"), "unknown words do not enter the vocabulary"),
    ],
)  # fmt: skip
def test_one_flaw_costs_one_case(name, replacements, case):
    assert [f.case for f in CHECKS[name](changed(name, *replacements)).failures] == [case]


UNIT = "({0} / fastnp.linalg.norm({0}, axis=1, keepdims=True))"
AGAIN = "(v1, v2.T)", f"({UNIT.format('v1')}, {UNIT.format('v2')}.T)"


@pytest.mark.parametrize(
    ("name", "replacements"),
    [
        # What np.dot(v1, v2.T) > threshold gives, as in the course's own solution: [[True]].
        ("predict", ("v1[0], v2[0].T", "v1, v2.T")),
        ("classify", ("v1[j], v2[j].T", "v1[j : j + 1], v2[j : j + 1].T")),
        ("classify", ("return right", "return np.ones(1) * right")),
        ("classify", ("np.dot(v1[j], v2[j].T)", "(v1[j] * v2[j]).sum()")),
        ("classify", ("return right", "return np.float32(1) * right")),
        ("predict", ("vocab.get(w, 0)", "(vocab[w] if w in vocab else 0)")),
        ("predict", ("return d > threshold", "return bool(np.float64(d) > threshold)")),
        ("data_generator", ("b1), np.array(b2)", "b1, np.int32), np.array(b2, np.int64)")),
        ("data_generator", ("2 ** int(np.ceil(np.log2(max_len)))", "1 << (max_len - 1).bit_length()")),
        ("data_generator", ("yield np.array(b1), np.array(b2)", "yield [np.array(b1), np.array(b2)]")),
        ("cosine_similarity", (lambda a, b: a / np.linalg.norm(a) @ (b / np.linalg.norm(b)),)),
        ("cosine_similarity", (lambda a, b: np.float32(exercise_solutions.cosine_similarity(a, b)),)),
        ("mean_negative", (lambda s: (s.sum(axis=1) - np.diag(s)) / (len(s) - 1),)),
        ("mean_negative", (lambda s: np.ma.array(s, mask=np.eye(len(s))).mean(axis=1),)),
        ("mean_negative", (lambda s: s[~np.eye(len(s), dtype=bool)].reshape(len(s), -1).mean(1),)),
        ("mean_negative", (lambda s: [np.mean(np.delete(row, i)) for i, row in enumerate(s)],)),
        ("closest_negative", (lambda s: np.where(np.eye(len(s), dtype=bool), -np.inf, s).max(axis=1),)),
        ("closest_negative", (lambda s: [max(np.delete(row, i)) for i, row in enumerate(s)],)),
        ("closest_negative", (lambda s: np.sort(s - 1e9 * np.eye(len(s)), axis=1)[:, -1],)),
        ("accuracy_at", (lambda s, y, t: sum(int(a > t) == int(b) for a, b in zip(s, y)) / len(s),)),
        ("accuracy_at", (lambda s, y, t: 1 - np.mean(np.abs((s > t).astype(int) - y.astype(int))),)),
        ("best_threshold", (lambda s, y: max([-9, *s], key=lambda t: np.mean((s > t) == y)),)),
        ("masked_mean", (lambda x, t: np.einsum("bld,bl->bd", x, t != 1)
                         / np.maximum((t != 1).sum(axis=1), 1)[:, None],)),
        ("masked_mean", (lambda x, t: np.nan_to_num(np.nanmean(
            np.where((t != 1)[..., None], x, np.nan), axis=1)),)),
        ("count_false_negatives", (lambda c: sum(n * n - n for n in np.unique(c, return_counts=True)[1]),)),
        ("count_false_negatives", (lambda c: float(sum((c == a).sum() - 1 for a in c)),)),
        ("one_shot", (lambda v, e, n, t: max(
            ((x, name) for x, name in zip((e @ v).tolist(), n) if x > t), default=(0, None))[1],)),
        ("expected_calibration_error", (lambda p, y, bins=10: sum(
            abs((y[i].astype(float) - p[i]).sum()) for k in range(bins)
            for i in [np.minimum((p * bins).astype(int), bins - 1) == k]) / len(p),)),
        ("expected_calibration_error", ("np.minimum((probabilities * bins).astype(int), bins - 1)",
         "np.clip(np.digitize(probabilities, np.arange(1, bins) / bins), 0, bins - 1)")),
        # The rows have length 1, as the docstring promises: normalising once more changes nothing.
        pytest.param("TripletLossFn", AGAIN, marks=pytest.mark.slow),
        pytest.param("symmetric_loss", AGAIN, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_unusual_answers_are_right(name, replacements):
    assert CHECKS[name](answer(name, replacements)).full


@pytest.mark.slow
def test_both_answers_of_the_forum_are_right_and_told_apart():
    check, averaged = CHECKS["symmetric_loss"], exercise_solutions.symmetric_loss
    added = two_losses(lambda rows, columns: rows + columns)
    for answer, told in (
        (averaged, "negatives averaged before the hinge (what the asker"),
        (added, "the two losses added (what the mentor in the forum answered"),
    ):
        score = check(answer)
        assert score.full and told in score.note and score.note in str(score)

    def symmetric_loss(v1, v2, margin=0.25):
        return (added if margin == 0.8 else averaged)(v1, v2, margin)

    score = check(symmetric_loss)
    assert [failure.case for failure in score.failures] == ["a larger margin"]
    assert "the same one in all cases" in failed_hints(score)
