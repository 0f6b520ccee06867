"""The commands about the course: grade and doctor."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from dataclasses import dataclass
from typing import Annotated

from siamese.cli.arguments import CommandOptions, option, positional
from siamese.cli.output import Facts, Result, note
from siamese.errors import ArgumentError
from siamese.system.arguments import counted

OUT_HELP = (
    "for grades.csv and the feedback; a second run goes on there [default: %(default)s]"
)
TRAX = "1.4.1"  # the version whose parts are changed


# ---- grade ----


@dataclass(frozen=True, kw_only=True)
class Grade(CommandOptions):
    """The options of `siamese grade`."""

    folder: Annotated[
        str,
        positional(
            help="with notebooks in it, or in a folder for each student; or one notebook"
        ),
    ]
    out: Annotated[str, option(metavar="FOLDER", help=OUT_HELP)] = "grades"
    jobs: Annotated[
        int, option(help="how many notebooks at a time [default: %(default)s]")
    ] = 1
    cell_limit: Annotated[
        float, option(help="seconds for a cell [default: %(default)s]")
    ] = 120
    memory_limit: Annotated[
        float, option(metavar="GIB", help="0 for none [default: %(default)s]")
    ] = 4


def grade(options: Grade) -> Result:
    """Run students' notebooks and check their functions.

    siamese grade handed-in --jobs 4 --out grades
    siamese grade handed-in --cell-limit 300
    """
    if options.jobs < 1:
        raise ArgumentError("--jobs is at least 1.")
    if not (0 < options.cell_limit < 1e9 and 0 <= options.memory_limit < 1e9):
        raise ArgumentError("--cell-limit is above 0, --memory-limit 0 or above.")
    from siamese.teaching.grade import grade_class

    out = options.out
    rows = grade_class(
        options.folder,
        out,
        seconds=options.cell_limit,
        gigabytes=options.memory_limit,
        jobs=options.jobs,
        note=note,
    )
    pages = f"marks in {out}/grades.csv, a page for each in {out}/feedback"
    text = f"{counted(len(rows), 'notebook')}: {pages}."
    return Result(text, {"notebooks": rows, "out": out})


# ---- doctor ----


def doctor(options: CommandOptions) -> Facts:
    """Print versions, devices, what is mended in Trax and why, what is missing.

    siamese doctor --json
    """
    versions = _versions()
    packages, problems = _packages(versions)
    trax = versions.get("trax")
    if trax not in (None, TRAX):
        problems.append(
            f"Trax {trax} was never tried with siamese, which changes parts of Trax {TRAX}. Install the "
            f"right one: pip install --no-deps trax=={TRAX}"
        )
    devices = []
    mended: dict[str, str] = {}
    try:
        import jax

        devices = [f"{own.platform}: {own.device_kind}" for own in jax.devices()]
        if trax:
            importlib.import_module("siamese.course.train_model")
            mended = importlib.import_module("siamese.course.trax.importing").mended
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    return {
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "devices": ", ".join(devices),
        "verdict": "see the problems" if problems else "OK: all imports work",
        "packages": packages,
        "mended": mended,
        "problems": problems,
    }


def _versions() -> dict[str, str]:
    """The versions of all packages that are installed."""
    import importlib.metadata  # Not at the top: each command would wait 50 ms for it.

    # Of two versions the first on the path counts.
    installed = reversed(list(importlib.metadata.distributions()))
    return {own.name.replace("_", "-"): own.version for own in installed}


def _packages(versions: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The versions of what siamese requires, and what of it is missing."""
    import importlib.metadata

    packages = {}
    problems = []
    for line in importlib.metadata.requires("siamese-questions") or ():
        name = re.split(r"[^\w-]", line)[0].replace("_", "-")
        extra = re.search(r'extra == "(\w+)"', line)
        packages[name] = versions.get(name, "not installed")
        if extra:
            packages[name] += f" (extra {extra[1]})"
        elif name not in versions:
            problems.append(f"{name} is missing: pip install {name}")
    return packages, problems
