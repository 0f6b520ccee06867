"""The machinery of the checks: blanks, errors, endless loops, output, broken inputs; never a traceback."""

import contextlib
import functools
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from exercise_mistakes import changed, failed_hints

import siamese
from siamese.teaching import checks
from siamese.teaching.checks.expect import expect_close
from siamese.teaching.checks.score import Exercise, Wrong


@pytest.fixture
def doubled():
    """An exercise of three cases."""
    exercise = Exercise("doubled", "doubled(x)", seconds=0.3)
    for number in (2, 3, 0):

        @exercise.case(f"the number {number}")
        def _(fn, number=number):
            expect_close(fn(number), 2 * number, mistakes=[(number**2, "squared")])

    return exercise


def test_points_are_the_cases_passed(doubled, capsys):
    score = doubled.check(lambda x: x**2)
    assert (score.points, score.out_of, score.full, score.written) == (2, 3, False, True)
    assert capsys.readouterr().out.splitlines() == [
        "✗ doubled: 2 of 3 cases",
        "  ✗ the number 3",
        "      expected: 6",
        "      came:     9",
        "      hint:     squared",
    ]
    assert score.to_dict()["failures"][0] == {
        "case": "the number 3", "expected": "6", "came": "9", "hint": "squared",
    }  # fmt: skip
    assert repr(score) == "<Score doubled 2/3>"


def blank_assignment(x):
    """A docstring."""
    result = None
    return result


def blank_call(x):
    total = max(x, None)
    return total


def blank_branch(x):
    if None:
        return 2
    raise NotImplementedError


def blank_body(x):
    """Doubles x."""


def blank_loop(x):
    total = 0
    for _ in None:
        total += x
    return total


def blank_keyword(x):
    return np.full(x, fill_value=None)[x]


@pytest.mark.parametrize(
    "unwritten",
    [None, 3, blank_assignment, blank_call, blank_branch, blank_body, blank_loop, blank_keyword,
     lambda x: None],
)  # fmt: skip
def test_what_is_not_written_has_no_points_and_says_so(doubled, unwritten, capsys):
    score = doubled.check(unwritten)
    assert (score.points, score.out_of, score.written) == (0, 3, False)
    assert capsys.readouterr().out.startswith("exercise doubled is not written yet")


def test_none_in_proper_code_is_no_blank(doubled):
    def first_of_many(x, default=None):
        best = None
        for candidate in (1, 2 * x):
            if best is None or candidate > best:
                best = candidate
        return np.sum([best], axis=None) + 1

    score = doubled.score(first_of_many)
    assert score.written and score.points == 0


def test_the_librarys_own_functions_are_no_answer():
    score = checks.check_data_generator(siamese.data_generator)
    assert not score.written and "write your own" in score.failures[0].actual


def test_calling_the_librarys_own_function_is_no_answer():
    from siamese import TripletLossFn as loss
    from siamese.course.similarity import l2_normalize

    def TripletLossFn(v1, v2, margin=0.25):
        return siamese.TripletLossFn(v1, v2, margin)

    def data_generator(*arguments, **options):
        from siamese.course.generator import data_generator as made

        yield from made(*arguments, **options)

    assert "own TripletLossFn" in checks.check_triplet_loss_fn(TripletLossFn).failures[0].actual
    assert not checks.check_data_generator(data_generator).written
    part = functools.partial(loss, margin=0.25)
    assert "write your own" in checks.check_triplet_loss_fn(part).failures[0].actual
    exec("def normalize(x): return l2_normalize(x)", scope := {"l2_normalize": l2_normalize})
    assert "own l2_normalize" in checks.check_normalize(scope["normalize"]).failures[0].actual


def test_an_error_is_a_failed_case_with_the_learners_line(doubled, capsys):
    def broken(x):
        shape = (x, 1)
        return shape.sum()

    score = doubled.check(broken)
    assert score.points == 0 and score.written
    assert "AttributeError: 'tuple' object has no attribute 'sum'" in score.failures[0].actual
    assert "return shape.sum()" in score.failures[0].actual
    shown = capsys.readouterr().out
    assert "Traceback" not in shown and "and the same in 2 more" in shown


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("return broken(x)", "RecursionError"),
        ("return 'four'", "str: 'four'"),
        ("return object()", "object"),
        ("return [[1, 2], [3]]", "list"),
        ("return np.zeros((2, 2, 2))", "shape (2, 2, 2)"),
        ("return float('nan')", "nan"),
        ("return 1j", "complex"),
        ("raise ValueError('x' * 10**6)", "ValueError: xxx"),
    ],
)
def test_whatever_comes_is_a_failed_case(doubled, statement, said):
    scope = {"np": np}
    exec(f"def broken(x):\n    {statement}", scope)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = doubled.score(scope["broken"])
    assert score.points == 0 and len(str(score)) < 3000
    assert said in failed_hints(score)


def test_endless_loops_end_and_are_not_tried_for_ever(doubled):
    def endless(x):
        while True:
            with contextlib.suppress(Exception):
                x += 1

    score = doubled.score(endless)
    assert score.points == 0
    assert "nothing within 0 seconds" in score.failures[0].actual
    assert "not tried" in score.failures[2].actual


def test_prints_and_warnings_of_the_function_are_kept_back(doubled, capsys):
    def noisy(x):
        print("a" * 10**6)
        warnings.warn("listen", stacklevel=1)
        return 2 * x

    assert doubled.check(noisy).full
    shown = capsys.readouterr()
    assert shown.out == "✓ doubled: 3 of 3 cases\n" and shown.err == ""


def test_wrong_number_of_arguments_names_the_signature(doubled):
    def doubled_two(x, y):
        return x + y

    doubled_two.__qualname__ = "doubled"
    assert "the exercise asks for doubled(x)" in failed_hints(doubled.score(doubled_two))


def test_random_numbers_go_on_as_if_nothing_was_checked():
    random.seed(34)
    np.random.seed(34)
    expected = random.random(), np.random.rand()
    random.seed(34)
    np.random.seed(34)
    checks.check_data_generator(changed("data_generator"))
    assert (random.random(), np.random.rand()) == expected


def test_keyboard_interrupt_gets_through(doubled):
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        doubled.score(interrupted)


@pytest.mark.parametrize(
    ("came", "expected", "hint"),
    [
        (np.zeros((4, 4)), np.zeros(4), "broadcasting made a matrix"),
        (np.zeros((4, 1)), np.zeros(4), "axis of length 1 too many"),
        (0.0, np.zeros(4), "summed or averaged over all axes"),
        (np.zeros(4), 0.0, "one number was asked for"),
        (np.array([np.inf, 0]), np.zeros(2), "division by zero"),
    ],
)
def test_shapes_and_infinities_have_hints(came, expected, hint):
    with pytest.raises(Wrong) as wrong:
        expect_close(came, expected)
    assert hint in wrong.value.hint


def test_registry_is_whole():
    names = [name for found in checks.EXERCISES.values() for name in found]
    assert sorted(checks.EXERCISES) == [1, 2, 3, 4, 5, 6, 7] and len(names) == len(set(names)) == 18
    assert set(checks.OUT_OF) == set(names) and min(checks.OUT_OF.values()) >= 5
    for found in checks.EXERCISES.values():
        for name, check in found.items():
            assert check.__name__.replace("_", "") == f"check{name}".replace("_", "").lower()
            assert check.__doc__ and getattr(checks, check.__name__) is check


def test_importing_the_checks_loads_neither_jax_nor_trax():
    code = "import sys, siamese.checks; print([m for m in ('jax', 'trax', 'nltk') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.strip() == "[]", shown.stderr
