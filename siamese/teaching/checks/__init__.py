"""Checks of the notebooks' exercises: several cases each, and one sentence for a mistake.

Each ``check_<function>(fn)`` takes the learner's function, prints which cases it passed
and, where it failed, the expected and the actual result and the mistake, and returns a
`Score`. `hint` tells more on request, and `solution` shows the answer after three
failed tries or hints.
"""

import json
import re
import sys
from pathlib import Path

from siamese.errors import ArgumentError

from . import assignment, batch, beyond, evaluation, loss, model
from .engine import MARK, TRIES, Exercise, Failure, Score

_CHECKS = {
    1: (batch.check_cosine_similarity, batch.check_triplet_loss),
    2: (
        batch.check_mean_negative,
        batch.check_closest_negative,
        loss.check_modified_loss,
    ),
    3: (model.check_normalize, model.check_shared_towers),
    4: (evaluation.check_accuracy_at, evaluation.check_best_threshold),
    5: (
        assignment.check_data_generator,
        model.check_siamese,
        loss.check_triplet_loss_fn,
        model.check_train_model,
        assignment.check_classify,
        assignment.check_predict,
    ),
    6: (loss.check_symmetric_loss,),
    7: (beyond.check_masked_mean, beyond.check_count_false_negatives),
    8: (
        evaluation.check_expected_calibration_error,
        beyond.check_one_shot,
        beyond.check_turned_round,
        beyond.check_other_sign,
    ),
}

# Number of the notebook -> name of the function in it -> its check.
EXERCISES = {
    number: {check.name: check for check in checks}
    for number, checks in _CHECKS.items()
}
_BY_NAME = {
    name: check for checks in EXERCISES.values() for name, check in checks.items()
}
# Name of the function -> how many cases its check has.
OUT_OF = {name: len(check.cases) for name, check in _BY_NAME.items()}
UNWRITTEN = "it is not written yet"  # how the remark on an unwritten exercise begins
globals().update({check.__name__: check for check in _BY_NAME.values()})


def _exercise(name: str) -> Exercise:
    if name not in _BY_NAME:
        raise ArgumentError(
            f"There is no exercise {name!r}. There are: {', '.join(_BY_NAME)}."
        )
    return _BY_NAME[name]


def hint(exercise: str) -> None:
    """Prints an exercise's next hint of three, then the last again; ArgumentError for another name."""
    check = _exercise(exercise)
    check.hinted = min(check.hinted + 1, len(check.hints))
    print(f"{check.hinted} of {len(check.hints)}: {check.hints[check.hinted - 1]}")


def solution(exercise: str) -> None:
    """Prints an exercise's solution, after three failed tries or hints; ArgumentError for another name."""
    check = _exercise(exercise)
    if max(check.failed, check.hinted) < TRIES:
        how = f'after {TRIES} tries, or three hints of checks.hint("{exercise}").'
        print(f"The solution of {exercise} opens {how}")
    else:
        print(check.source)


def write_result(number: int, exercise: str, path: str) -> None:
    """Checks the notebook's function of that name, for `siamese grade`, in the notebook's kernel.

    The file gets a line of JSON: cases passed, the first mistake, the score as text.
    """
    function = vars(sys.modules["__main__"]).get(exercise)
    if function is None:
        missing = f"there is no function {exercise} in the notebook"
        result = [0, missing, missing]
    else:
        score = EXERCISES[number][exercise].score(function)
        mistake = ""
        if score.failures:
            mistake = score.failures[0].hint or _in_words(score.failures[0])
        if not score.written:
            mistake = f"{UNWRITTEN}: {score.failures[0].actual}"
        result = [score.points, mistake, str(score)]
    Path(path).write_text(json.dumps(result), encoding="utf-8")


def _in_words(failure: Failure) -> str:
    """A failure without a hint as a sentence."""
    if not failure.expected:
        return failure.actual
    actual = " ".join(failure.actual.split())
    if re.match(r"\w+(Error|Exception|Exit)\b", actual):
        return f"the case '{failure.case}' stops with {actual}"
    expected = " ".join(failure.expected.split())
    return (
        f"in the case '{failure.case}' the result is {actual}, and {expected} is right"
    )


__all__ = ["EXERCISES", "MARK", "OUT_OF", "Failure", "Score", "hint", "solution"]
__all__ += [check.__name__ for check in _BY_NAME.values()]
