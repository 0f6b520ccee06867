"""How checks treat a function: blanks, errors, endless loops, output, broken inputs; never a traceback."""

import contextlib
import functools
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from exercise_mistakes import failed_hints

import siamese
from siamese import checks
from siamese.teaching.checks.compare import Wrong, expect
from siamese.teaching.checks.score import Exercise


@pytest.fixture
def doubled():
    """An exercise of three cases."""
    exercise = Exercise(
        "doubled(x)", "twice x", lambda x: 2 * x, lambda x: [(x**2, "squared")], seconds=0.3
    )
    exercise.table((f"the number {number}", (number,), "") for number in (2, 3, 0))
    return exercise


def test_points_are_the_cases_passed(doubled, capsys):
    score = doubled(lambda x: x**2)
    assert (score.points, score.out_of, score.full, score.written) == (2, 3, False, True)
    assert capsys.readouterr().out.splitlines() == [
        "✗ doubled: 2 of 3 cases",
        "  ✗ the number 3",
        "      expected: 6",
        "      actual:   9",
        "      hint:     squared",
    ]
    assert score.to_dict()["failures"][0] == {
        "case": "the number 3", "expected": "6", "actual": "9", "hint": "squared",
    }  # fmt: skip
    assert repr(score) == "<Score doubled 2/3>" and score.mark == 6.67


BLANKS = (
    "result = None\n    return result",
    "total = max(x, None)\n    return total",
    "if None:\n        return 2\n    raise NotImplementedError",
    "'''Doubles x.'''",
    "for _ in None:\n        x += x\n    return x",
    "return np.full(x, fill_value=None)[x]",
    "return None",
)


def written(tmp_path, body):
    """A function of one argument with that body, in a file, as a notebook's cell has one."""
    file = tmp_path / "cell.py"
    file.write_text(f"def doubled(x):\n    {body}\n")
    scope = {"np": np}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["doubled"]


@pytest.mark.parametrize("unwritten", [None, 3, *BLANKS])
def test_what_is_not_written_has_no_points_and_says_so(doubled, unwritten, capsys, tmp_path):
    fn = written(tmp_path, unwritten) if isinstance(unwritten, str) else unwritten
    score = doubled(fn)
    assert (score.points, score.out_of, score.written) == (0, 3, False)
    assert capsys.readouterr().out.startswith("exercise doubled is not written yet")


def test_none_in_proper_code_is_not_a_blank(doubled):
    def first_of_many(x, default=None):
        best = None
        for candidate in (1, 2 * x):
            if best is None or candidate > best:
                best = candidate
        return np.sum([best], axis=None) + 1

    score = doubled.score(first_of_many)
    assert score.written and score.points == 0


def data_generator(*arguments, **options):
    from siamese.course.generator import data_generator as made

    yield from made(*arguments, **options)


@pytest.mark.parametrize(
    ("name", "fn", "told"),
    [
        ("data_generator", siamese.data_generator, "write your own"),
        ("data_generator", data_generator, "own data_generator"),
        ("TripletLossFn", lambda v1, v2: siamese.TripletLossFn(v1, v2), "own TripletLossFn"),
        ("TripletLossFn", functools.partial(siamese.TripletLossFn, margin=0.25), "write your own"),
        ("symmetric_loss", lambda v1, v2: siamese.TripletLossFn(v1, v2), "own TripletLossFn"),
    ],
)
def test_the_librarys_own_functions_are_no_answer(name, fn, told):
    check = next(found[name] for found in checks.EXERCISES.values() if name in found)
    score = check(fn)
    assert not score.written and told in score.failures[0].actual


def test_an_error_is_a_failed_case_with_the_learners_line(doubled, capsys):
    def broken(x):
        shape = (x, 1)
        return shape.sum()

    score = doubled(broken)
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
        ("return doubled(x)", "RecursionError"),
        ("return 'four'", "str: 'four'"),
        ("return object()", "object"),
        ("return [[1, 2], [3]]", "list"),
        ("return np.zeros((2, 2, 2))", "shape (2, 2, 2)"),
        ("return float('nan')", "nan"),
        ("return 1j", "complex"),
        ("raise ValueError('x' * 10**6)", "ValueError: xxx"),
        ("return doubled(x, x)", "the exercise asks for doubled(x)"),
    ],
)
def test_whatever_a_function_does_is_a_failed_case(doubled, statement, said, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = doubled.score(written(tmp_path, statement))
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


def test_what_the_function_prints_warns_and_draws_is_kept_back(doubled, capsys):
    def noisy(x):
        print("a" * 10**6)
        warnings.warn("listen", stacklevel=1)
        random.random(), np.random.rand()
        return 2 * x

    before = random.getstate(), np.random.get_state()[1].tolist()
    assert doubled(noisy).full
    shown = capsys.readouterr()
    assert shown.out == "✓ doubled: 3 of 3 cases\n" and shown.err == ""
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_keyboard_interrupt_gets_through(doubled):
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        doubled.score(interrupted)


@pytest.mark.parametrize(
    ("actual", "expected", "hint"),
    [
        (np.zeros((4, 4)), np.zeros(4), "broadcasting made a matrix"),
        (np.zeros((4, 1)), np.zeros(4), "axis of length 1 too many"),
        (0.0, np.zeros(4), "summed or averaged over all axes"),
        (np.zeros(4), 0.0, "one number was asked for"),
        (np.array([np.inf, 0]), np.zeros(2), "division by zero"),
    ],
)
def test_shapes_and_infinities_have_hints(actual, expected, hint):
    with pytest.raises(Wrong) as wrong:
        expect(actual, expected)
    assert hint in wrong.value.hint


def test_every_exercise_has_its_check():
    names = [name for found in checks.EXERCISES.values() for name in found]
    assert (
        sorted(checks.EXERCISES) == [1, 2, 3, 4, 5, 6, 7, 8] and len(names) == len(set(names)) == 20
    )
    for found in checks.EXERCISES.values():
        for name, check in found.items():
            assert name in check.__doc__ and getattr(checks, check.__name__) is check


def test_importing_the_checks_loads_neither_jax_nor_trax():
    code = "import sys, siamese.checks; print([m for m in ('jax', 'trax', 'nltk') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.strip() == "[]", shown.stderr


def test_every_exercise_has_three_hints_on_request(capsys):
    for exercise in checks.OUT_OF:
        for _ in range(4):
            checks.hint(exercise)
        first, second, third, again = capsys.readouterr().out.splitlines()
        assert len({first, second, third}) == 3 and third == again
        assert first.startswith("1 of 3: ") and third.startswith("3 of 3: ")
    with pytest.raises(siamese.ArgumentError, match=r"no exercise 'loss'.*closest_negative"):
        checks.hint("loss")
