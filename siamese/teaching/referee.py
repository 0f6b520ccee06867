"""Checks one exercise inside a student's kernel; `siamese grade` runs this file there by its path."""

import builtins
import importlib.util
import json
import secrets
import sys
from pathlib import Path

import numpy

CHECKS = Path(__file__).parent / "checks"
TRUSTED = builtins, json, numpy, numpy.linalg  # modules whose functions the checks call


def check(number: int, exercise: str, result: str) -> None:
    """Writes a line of JSON to the file `result`: cases passed, the first mistake, the score as text.

    It loads its own copy of the checks from the installed package, under a name that the notebook does
    not know: what a notebook has changed in `siamese.teaching.checks` counts for nothing.

    Raises:
      RuntimeError: the notebook has put functions of its own into the trusted modules.
    """
    for module in TRUSTED:
        for name, value in vars(module).items():
            if getattr(value, "__module__", "") == "__main__" and not name.startswith("_"):
                raise RuntimeError(f"the notebook replaced {module.__name__}.{name}")
    notebook = vars(sys.modules["__main__"])
    points, mistake = 0, f"there is no function {exercise} in the notebook"
    text = mistake
    if exercise in notebook:
        package = f"_checks_{secrets.token_hex(8)}"
        spec = importlib.util.spec_from_file_location(
            package, CHECKS / "__init__.py", submodule_search_locations=[str(CHECKS)]
        )
        sys.modules[package] = checks = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(checks)
        score = checks.EXERCISES[number][exercise](notebook[exercise])
        points, text = score.points, str(score)
        mistake = next((failure.hint or failure.actual for failure in score.failures), "")
    Path(result).write_text(json.dumps([points, mistake, text]), encoding="utf-8")
