"""The checks: right answers pass, mistakes are named, and no function breaks a check."""

import contextlib
import functools
import itertools
import random
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from exercise_answers import (
    CHECKS,
    EDITION_2022,
    RIGHT,
    WRONG,
    answer,
    changed,
    defined,
)
from stock_trax import COURSE, OF_2020
from stock_trax import RIGHT as OF_2021

import siamese
from siamese import checks
from siamese.teaching.checks.results import Fault, same
from siamese.teaching.checks.submission import Watched


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Some wrong functions write where they stand, such as a loop that ignores its output_dir."""
    monkeypatch.chdir(tmp_path)


# Trax builds and compiles models for each.
SLOW = {
    "normalize",
    "shared_towers",
    "Siamese",
    "TripletLossFn",
    "train_model",
    "symmetric_loss",
}


def parameters(table):
    return [
        pytest.param(
            name, row, id=f"{name}-{i}", marks=pytest.mark.slow if name in SLOW else ()
        )
        for name, rows in table.items()
        for i, row in enumerate(rows)
    ]


each = pytest.mark.parametrize(
    ("name", "_"), parameters({name: [0] for name in CHECKS})
)


@each
def test_the_solution_scores_full(name, _, capsys):
    score = CHECKS[name](changed(name))
    assert score.points == score.out_of >= 5 and not score.failures, score
    assert checks.OUT_OF.get(name, score.out_of) == score.out_of
    assert capsys.readouterr().out.startswith(
        f"✓ {name}: {score.out_of} of {score.out_of}"
    )


@pytest.mark.parametrize(("name", "row"), parameters(WRONG))
def test_a_mistake_is_named_in_one_sentence(name, row):
    form, words = row
    score = CHECKS[name].score(answer(name, form))
    if not score.written:
        assert words in score.failures[0].actual
        return
    assert score.points < score.out_of and words in score.failures[0].hint, score
    assert bool(words) == bool(score.failures[0].hint), score
    assert not any(failure.hint for failure in score.failures[1:])
    assert not words or str(score).endswith(score.failures[0].hint)


# The assignment's cells in plain Trax, as a learner writes them, by edition.
CELLS = ("data_generator", "TripletLossFn", "Siamese", "classify", "predict")
LEARNED = {name: [OF_2021[name]] for name in CELLS}
LEARNED["train_model"] = [cells["train_model"] for cells in (OF_2021, OF_2020, COURSE)]


@pytest.mark.parametrize(("name", "row"), parameters(RIGHT) + parameters(LEARNED))
def test_odd_answers_and_the_courses_cells_are_right(name, row):
    assert CHECKS[name](answer(name, row)).full


def test_two_habits_of_the_course_cost_one_case_each_and_the_hint_says_so():
    (failure,) = checks.check_classify(COURSE["classify"]).failures
    assert failure.case.startswith("a last batch that is short")
    assert "The course's own loop takes full batches only" in failure.case
    (failure,) = checks.check_predict(COURSE["predict"]).failures
    assert failure.case == "the inputs stay as they are"
    assert failure.actual == "vocab is changed"
    assert "defaultdict" in failure.hint and "this costs one case" in failure.hint


TURNED = "(v1, v2.T)", "(v2, v1.T)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ((), "the Trax edition of 2023"),
        (EDITION_2022, "the Trax editions of 2020 to 2022"),
        (TURNED, "the TensorFlow edition: this is V2 V1^T: in Trax rows belong to v1"),
        (
            (*TURNED, "fastnp.where(masked, -2.0, scores)", "(scores - 2.0 * masked)"),
            "takes 2 off",
        ),
    ],
    ids=["2023", "2022", "TensorFlow's", "TensorFlow's, 2 taken off"],
)
def test_each_editions_loss_is_right_and_has_its_name(edits, words):
    score = CHECKS["TripletLossFn"](changed("TripletLossFn", *edits))
    assert score.full and words in score.note and score.note in str(score)


def test_the_expected_number_is_that_of_the_notebooks_own_edition():
    """Another edition's only where the answer is that edition's in all cases."""
    hardest = (
        "(np.eye(batch) == 1) | (scores > positive[:, None])",
        "np.eye(batch) == 1",
    )
    for edits in (
        ("+ margin", ""),
        (*hardest, "+ margin", ""),
        (*hardest, "sum(loss1", "mean(loss1", "(batch - 1)", "batch"),
    ):
        score = checks.check_modified_loss(changed("modified_loss", *edits))
        assert score.failures[0].expected == "0.516667"
    whole = changed("modified_loss", *hardest, "sum(loss1", "mean(loss1")
    assert "2020 to 2022" in checks.check_modified_loss(whole).note
    inverted = changed("closest_negative", "scores > positive", "scores < positive")
    score = checks.check_closest_negative(inverted)
    assert score.failures[0].expected == "[ 0.3  0.1 -0.8 -0.2]"


@pytest.mark.slow
def test_both_answers_of_the_forum_are_right_and_told_apart():
    loss = changed("TripletLossFn", *EDITION_2022)
    averaged = changed("symmetric_loss")
    added = lambda v1, v2, margin=0.25: loss(v1, v2, margin) + loss(v2, v1, margin)  # noqa: E731
    mixed = lambda *v, margin=0.25: (added if margin == 0.8 else averaged)(*v, margin)  # noqa: E731
    check = CHECKS["symmetric_loss"]
    assert "what the asker" in check(averaged).note
    assert "what the mentor in the forum answered" in check(added).note
    assert [failure.case for failure in check.score(mixed).failures] == [
        "a larger margin"
    ]


def test_predict_takes_the_signature_of_the_tensorflow_edition():
    def predict(question1, question2, threshold, model, verbose=False):
        # As a tf.data.Dataset gives them.
        batches = [(([question1], [question2]), None)]
        v1, v2 = np.split(model.predict(batches, verbose=0), 2, axis=1)
        if verbose:
            print(question1, question2)
        return np.sum(v1 * v2) > threshold

    assert checks.check_predict(predict).full


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="needs TensorFlow: make tensorflow"
)
def test_the_loss_may_be_written_in_tensorflow():
    import tensorflow as tf

    def TripletLossFn(v1, v2, margin=0.25):
        scores = tf.linalg.matmul(v2, v1, transpose_b=True)
        positive = tf.linalg.diag_part(scores)
        others = scores - tf.linalg.diag(positive)
        batch = v1.shape[0]
        masked = (tf.eye(batch) == 1) | (scores > positive[:, None])
        closest = tf.reduce_max(scores - 2.0 * tf.cast(masked, scores.dtype), axis=1)
        terms = (tf.reduce_sum(others, axis=1) / (batch - 1), closest)
        return tf.reduce_sum(sum(tf.maximum(margin - positive + n, 0.0) for n in terms))

    assert "TensorFlow edition" in checks.check_triplet_loss_fn(TripletLossFn).note


@functools.cache
def wrong_results(name):
    """(sentence, form, function, results) of each mistake of an exercise."""
    check = CHECKS[name]
    table = []
    empty = type(check.table[0])("")
    cases = (
        [(empty, check.trace)]
        if check.trace
        else [(case, None) for case in check.table]
    )

    def results(fn):
        watched = Watched(fn)
        return [check.attempt(case, watched, observe) for case, observe in cases]

    rights = [results(check.function(form)) for form in check.answers.values()]
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for sentence, form, fn in check.wrong():
            mine = results(fn)
            if not any(same(mine, answer) for answer in rights):
                table.append((sentence, form, fn, mine))
    return table


@each
def test_no_two_sentences_of_a_table_have_the_same_results(name, _):
    seen = {}  # rounded results -> (sentence, results), so that not all pairs are compared
    for sentence, form, _, mine in wrong_results(name):
        key = str([np.round(r, 2) if isinstance(r, np.ndarray) else r for r in mine])
        for other, theirs in seen.setdefault(key, []):
            assert other == sentence or not same(mine, theirs), (other, sentence, form)
        seen[key].append((sentence, mine))


def test_each_form_of_the_tables_makes_a_mistake_in_some_exercise():
    forms = {form for name in CHECKS for _, form, *_ in wrong_results(name)}
    idle = [
        row for check in CHECKS.values() for row in check.rows if row[1] not in forms
    ]
    assert not idle


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in SLOW])
def test_each_mistake_of_the_tables_is_named(name):
    table = wrong_results(name)
    ends = [
        row for row in table if not all(isinstance(result, Fault) for result in row[3])
    ]
    for sentence, form, fn, _ in random.Random(1).sample(ends, min(len(ends), 5)):
        assert CHECKS[name].score(fn).failures[0].hint == sentence, form


# ---- Whatever a function does ----


@pytest.fixture
def check():
    """That of triplet_loss, which has seven cases."""
    return checks.check_triplet_loss


def test_points_are_the_cases_passed(check, capsys):
    score = check(lambda s_ap, s_an, margin: s_an - s_ap + margin)
    assert capsys.readouterr().out.splitlines() == [
        "✗ triplet_loss: 5 of 7 cases",
        "  ✗ a triplet that is right",
        "      expected: 0",
        "      actual:   -1.05",
        "      hint:     the hinge is missing: a term is never below 0 "
        "(np.max(x, 0), the largest along an axis, is not np.maximum(x, 0))",
    ]
    assert score.mark == 7.14


def written(body):
    return defined(
        "triplet_loss", f"def triplet_loss(s_ap, s_an, margin):\n    {body}\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "result = None\n    return result",
        "if None:\n        return 2\n    raise NotImplementedError",
        "'''The loss.'''",
        "for _ in None:\n        margin += s_ap\n    return margin",
        "return None",
    ],
    ids=["a value", "an error", "a docstring alone", "a loop", "None returned"],
)
def test_what_is_not_written_has_no_points_and_says_so(check, capsys, body):
    score = check(written(body))
    assert (score.points, score.out_of, score.written) == (0, 7, False)
    shown = capsys.readouterr().out
    assert shown.startswith("exercise triplet_loss is not written yet")


def test_none_in_proper_code_is_not_a_blank(check):
    def first_of_many(s_ap, s_an, margin=None):
        best, last = None, None
        for last in (1, 2 * s_ap + s_an + margin):
            if best is None or last > best:
                best = last
        return np.sum([best], axis=None) + 1

    assert check.score(first_of_many).written


def test_the_librarys_own_functions_are_no_answer(capsys):
    checks.check_data_generator(siamese.data_generator)
    assert "not written yet (this is the function of siamese" in capsys.readouterr().out
    checks.check_mean_negative(3)
    assert (
        "not written yet (mean_negative is not a function but int"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("return triplet_loss(s_ap, s_an, margin)", "RecursionError"),
        ("return object()", "object"),
        ("return np.zeros((2, 2, 2))", "shape (2, 2, 2)"),
        ("return margin * s_ap * s_an * float('nan')", "division by zero"),
        ("raise ValueError('x' * 10**6)", "ValueError: xxx"),
        (
            "return triplet_loss(s_ap)",
            "the exercise asks for triplet_loss(s_ap, s_an, margin)",
        ),
        ("return s_ap.came", "in line 2: return s_ap.came\n  ✗ and the same in 4 more"),
        (
            "return range(object())",
            "in line 2: return range(object())\n  ✗ and the same in 5 more",
        ),
    ],
)
def test_whatever_a_function_does_is_a_failed_case(check, statement, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = check.score(written(statement))
    assert not score.full and len(str(score)) < 3000 and "Traceback" not in str(score)
    assert words in " ".join(str(score).split(" " * 16)), score


def test_endless_loops_end_and_are_not_tried_for_ever(check, monkeypatch):
    monkeypatch.setattr(check, "seconds", 0.3)

    def endless(s_ap, s_an, margin):
        while True:
            with contextlib.suppress(Exception):
                margin += s_ap * s_an

    score = check.score(endless)
    assert score.points == 0 and "nothing within 0 seconds" in score.failures[0].actual
    assert "not tried" in score.failures[2].actual


def test_what_the_function_prints_warns_and_draws_is_kept_back(check, capsys):
    def noisy(s_ap, s_an, margin):
        print("a" * 10**6)
        warnings.warn("listen", stacklevel=1)
        random.random()
        return np.maximum(0, s_an - s_ap + margin)

    before = random.getstate()
    assert check(noisy).full
    assert capsys.readouterr() == ("✓ triplet_loss: 7 of 7 cases\n", "")
    assert random.getstate() == before


def test_keyboard_interrupt_gets_through(check):
    def interrupted(s_ap, s_an, margin):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check.score(interrupted)


@pytest.fixture
def untried(monkeypatch):
    for check, counter in itertools.product(CHECKS.values(), ("failed", "hinted")):
        monkeypatch.setattr(check, counter, 0)


def test_three_failed_tries_open_the_solution(untried, capsys):
    for _ in range(3):
        checks.solution("mean_negative")
        assert "opens after" in capsys.readouterr().out.splitlines()[-1]
        checks.check_mean_negative(lambda scores: scores.mean(axis=1))
    checks.solution("mean_negative")
    assert "return (scores * negatives)" in capsys.readouterr().out


NAMES = [name for exercises in checks.EXERCISES.values() for name in exercises]


def test_the_eight_notebooks_have_exercises_of_different_names():
    assert sorted(checks.EXERCISES) == [*range(1, 9)]
    assert len(NAMES) == len(set(NAMES)) == 22


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_has_three_hints_and_then_its_solution(untried, capsys, name):
    assert name in CHECKS[name].__doc__ and CHECKS[name].__name__ in checks.__all__
    assert CHECKS[name].seconds >= 20  # JAX compiles
    for show in (checks.solution, *[checks.hint] * 4, checks.solution):
        show(name)
    closed, first, second, third, again, *solution = (
        capsys.readouterr().out.splitlines()
    )
    assert "opens after 3 tries" in closed
    assert solution[0].startswith(f"def {name}(")
    assert len({first, second, third}) == 3 and third == again
    assert first.startswith("1 of 3: ") and third.startswith("3 of 3: ")


def test_a_hint_of_no_exercise_is_refused():
    with pytest.raises(siamese.ArgumentError):
        checks.hint("loss")
