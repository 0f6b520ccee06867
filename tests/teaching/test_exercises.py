"""The checks of the notebooks' exercises: solutions score full, and learners' mistakes are named."""

import exercise_solutions
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
from exercise_more_mistakes import MORE_WRONG
from exercise_unusual import RIGHT

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
        for name, rows in (*WRONG.items(), *MORE_WRONG.items())
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


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(name, row, id=f"{name}-{number}", marks=marks(name))
        for name, rows in RIGHT.items()
        for number, row in enumerate(rows)
    ],
)
def test_unusual_answers_are_right(name, change):
    assert CHECKS[name](answer(name, change)).full


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
