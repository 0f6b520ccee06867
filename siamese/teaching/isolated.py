"""Runs one check inside a student's kernel, from a copy of these modules that the notebook never saw.

`siamese grade` sends the text of this file and of the checks; nothing of it is imported from where the
notebook could have changed it. What the notebook replaced in NumPy and a few modules of Python is put
back before the check, and reported.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import types

GUARDED = (
    "builtins", "copy", "inspect", "io", "json", "linecache", "numpy", "numpy.linalg", "os", "random",
    "re", "time", "traceback", "types",
)  # fmt: skip
KERNELS_OWN = {"builtins._", "builtins.print", "builtins.input"}


def remember(gigabytes: float) -> None:
    """Called before the notebook's first cell: sets limits, keeps the guarded modules' contents.

    Args:
      gigabytes: the most memory that the kernel may take, and the largest file; 0 sets no limits.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):  # There are none on Windows.
        import resource

        for kind in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE) if gigabytes else ():
            resource.setrlimit(kind, (int(gigabytes * 2**30),) * 2)
    kept = {name: dict(vars(importlib.import_module(name))) for name in GUARDED}
    sys.modules["_siamese_grading"] = kept


def put_back() -> list[str]:
    """Puts the guarded modules' functions back; returns the names of what was replaced."""
    found = []
    for module, values in (sys.modules.get("_siamese_grading") or {}).items():
        here = sys.modules.get(module)
        for key, value in values.items() if here else ():
            name, private = f"{module}.{key}", key.startswith("__") and key != "__import__"
            replaced = callable(value) and vars(here).get(key) is not value
            if replaced and not private and name not in KERNELS_OWN:
                found.append(name)
                setattr(here, key, value)
    return found


def grade(sources: dict, namespace: dict, number: int, function: str, nonce: str, result: str):
    """Checks ``namespace[function]`` and writes the score as JSON, with the nonce, to the file `result`.

    Args:
      sources: the text of each module of the checks, those that others import first.
      namespace: what the notebook defined.
      number: of the notebook.
      function: of which exercise.
      nonce: shows that it is this function that wrote the file.
      result: path of the file.
    """
    score, replaced, package = None, put_back(), f"_checks_{nonce}"
    with contextlib.redirect_stdout(io.StringIO()):
        for name, text in sources.items() if function in namespace else ():
            full = package if name == "__init__" else f"{package}.{name}"
            module = sys.modules[full] = types.ModuleType(full)
            module.__package__ = package
            # `learner` knows its own frames by this beginning.
            exec(compile(text, f"<siamese.checks.{name}>", "exec"), vars(module))
        if function in namespace:
            check = sys.modules[package].EXERCISES[number][function]
            score = check(namespace[function]).to_dict()
        with open(result + ".part", "w", encoding="utf-8") as file:
            file.write(json.dumps({"score": score, "replaced": replaced, "nonce": nonce}))
        os.replace(result + ".part", result)
        for name in [name for name in sys.modules if name.startswith(package)]:
            del sys.modules[name]
