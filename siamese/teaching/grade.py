"""`siamese grade`: runs students' notebooks and checks their functions, whatever the notebooks do.

Each notebook runs in a fresh kernel in an empty directory. Cells that fail, loop or end Python do not
keep the functions of the others from being checked. The checks are a copy of `siamese.teaching.checks`
that is sent into the kernel after the notebook ran: what a notebook changes in the package, on disk or in
memory, gives no points.

What this does not do: the functions run as the user who grades, and may read, write and connect as
that user may. A notebook made to cheat, which takes over its kernel or looks through the frames of a
check, can forge a score; so can one that calls the library's own function from within its own. Grade
strangers' notebooks in a container, and look at the code behind a surprising score.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from siamese.errors import ArgumentError, DataError, MissingDependencyError, SiameseError
from siamese.teaching import copies
from siamese.teaching.checks import EXERCISES, MARK, OUT_OF


class Limits(NamedTuple):
    """What a notebook may use."""

    cells: float = (
        600.0  # seconds for all its cells together; no cell takes more than half of what is left
    )
    check: float = 180.0  # seconds for the check of one function
    # Memory, and the size of a file; 0 for no limit. Only where the system has such limits.
    gigabytes: float = 8.0
    check_of: Mapping[str, float] = {}  # function -> seconds in place of `check`


@dataclass
class Grade:
    """What became of one notebook."""

    file: str  # its path
    notebook: int | None = None  # 1 to 7; None where that is not known
    # For each function: function, points (cases passed), out_of, mark, written, failures, note.
    exercises: list[dict[str, Any]] = field(default_factory=list)
    # What went wrong in cells: {"cell": number from 1, "what": text}.
    cells: list[dict[str, Any]] = field(default_factory=list)
    # Functions of Python and NumPy that the notebook had replaced when it was checked.
    replaced: list[str] = field(default_factory=list)
    # Other hand-ins with the same code: {"what": a function or `copies.WHOLE`, "files": their paths}.
    copies: list[dict[str, Any]] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict, repr=False)  # text of each function
    error: str = ""  # why it could not be graded at all
    seconds: float = 0.0

    @property
    def points(self) -> float:
        """The marks of all exercises: each is the share of its cases that passed, of `MARK`."""
        return round(sum(exercise["mark"] for exercise in self.exercises), 2)

    @property
    def out_of(self) -> float:
        """The most that `points` can be."""
        return MARK * len(self.exercises)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; `score` is points / out_of, from 0 to 1."""
        counts = {"points": self.points, "out_of": self.out_of}
        score = round(self.points / self.out_of, 4) if self.out_of else 0.0
        facts = {**asdict(self), "seconds": round(self.seconds, 1), **counts, "score": score}
        return {name: value for name, value in facts.items() if name != "code"}


def grade_notebooks(
    paths: Sequence[str | Path],
    *,
    number: int | None = None,
    limits: Limits = Limits(),  # noqa: B008  (it is immutable)
    jobs: int = 1,
    given_out: str | Path | None = None,
    note=lambda text: None,
) -> list[Grade]:
    """Grades notebooks; what goes wrong in one is noted and stops no other.

    Args:
      paths: the notebooks, and folders with notebooks in them, however deep.
      number: which of the course's notebooks they all are; found out for each where None.
      limits: the time and memory of one notebook.
      jobs: how many are graded at a time, each in a process of its own.
      given_out: the notebook as students got it, or a folder of them; with it right answers are compared
        too, see `siamese.teaching.copies.find_copies`.
      note: called with a line of text after each notebook.

    Raises:
      ArgumentError: limits or jobs that are not positive, no such notebook number or exercise, or a
        folder without notebooks.
      DataError: `given_out` cannot be read.
      MissingDependencyError: the packages for notebooks are not installed.
    """
    times = (limits.cells, limits.check, *limits.check_of.values())
    if not (all(seconds > 0 for seconds in times) and limits.gigabytes >= 0):
        raise ArgumentError("Time limits are seconds above 0, the memory limit is gigabytes or 0.")
    if unknown := sorted(set(limits.check_of) - set(OUT_OF)):
        raise ArgumentError(f"There is no exercise {unknown[0]}; there are {', '.join(OUT_OF)}.")
    if number is not None and number not in EXERCISES:
        raise ArgumentError(f"There are notebooks 1 to {max(EXERCISES)}; number is {number}.")
    if jobs < 1:
        raise ArgumentError(f"--jobs is at least 1; it is {jobs}.")
    try:
        import jinja2  # noqa: F401  (for the pages: told before an hour of grading, not after)

        import siamese.teaching.grade_session  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"Grading notebooks needs {error.name}: pip install ipykernel jinja2 nbclient nbformat"
        ) from error
    given = None
    if given_out is not None:
        cells = [cell for path in notebooks_in(given_out) for cell in read_code_cells(path)]
        given = copies.words(copies.functions(cells, OUT_OF).values())
    files = [file for path in paths for file in notebooks_in(path)]
    grades = []
    with contextlib.ExitStack() as stack:
        run = map
        if jobs > 1:
            # Spawned: a fork would copy the threads of what is already imported.
            context = multiprocessing.get_context("spawn")
            pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context)
            run = stack.enter_context(pool).map
        for grade in run(_grade, files, itertools.repeat(number), itertools.repeat(limits)):
            grades.append(grade)
            told = grade.error or f"{grade.points:g}/{grade.out_of:g}"
            note(f"{grade.file}: {told} ({grade.seconds:.0f} s)")
    copies.find_copies(grades, given)
    return grades


def notebooks_in(path: str | Path) -> list[Path]:
    """The notebooks of a folder and of those in it, sorted; the path itself where it is no folder.

    Raises:
      ArgumentError: a folder without notebooks.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    found = [p for p in sorted(path.rglob("*.ipynb")) if ".ipynb_checkpoints" not in p.parts]
    if not found:
        raise ArgumentError(f"There is no .ipynb file in the folder {path}.")
    return found


def _grade(path: Path, number: int | None, limits: Limits) -> Grade:
    from siamese.teaching.grade_session import Session

    grade, started = Grade(str(path)), time.monotonic()
    try:
        cells = read_code_cells(path)
        grade.notebook = number or which_notebook(path, cells)
        grade.code = copies.functions(cells, EXERCISES[grade.notebook])
        with (
            tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder,
            contextlib.closing(Session(Path(folder), cells, limits)) as session,
        ):
            for function in EXERCISES[grade.notebook]:
                grade.exercises.append(session.check(grade.notebook, function))
        failed = sorted(session.failed.items())
        grade.cells = [{"cell": i + 1, "what": what} for i, what in failed]
        grade.replaced = sorted(session.replaced)
    except SiameseError as error:
        grade.error = str(error)
    except Exception as error:  # Whatever it is, the others are graded.
        grade.error = f"{type(error).__name__}: {error}"
    grade.seconds = time.monotonic() - started
    return grade


def read_code_cells(path: str | Path) -> list[str]:
    """The code of a notebook's code cells; empty for those that only check.

    Raises:
      DataError: it cannot be read, or is not a notebook.
    """
    import nbformat

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    try:
        notebook = nbformat.reads(text, as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        return ["" if _only_checks(cell) else "".join(cell.source) for cell in code]
    except Exception as error:  # nbformat raises many kinds for a damaged file
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise DataError(
            f"{path} is not a Jupyter notebook ({reason}). Give an .ipynb file."
        ) from error


def _only_checks(cell) -> bool:
    """Whether nbgrader calls it a test: the checks run later, from our own copy."""
    marks = cell.metadata.get("nbgrader")
    return isinstance(marks, dict) and bool(
        marks.get("grade") and not marks.get("solution") and "def " not in cell.source
    )


def which_notebook(path: str | Path, cells: Sequence[str]) -> int:
    """The notebook's number: by the functions it defines, then by the digits its name begins with.

    Raises:
      DataError: neither tells.
    """
    code = "\n".join(cells)
    defined = set(re.findall(r"^\s*(?:async )?def (\w+)\(", code, re.MULTILINE))
    shares = {n: len(defined & set(names)) / len(names) for n, names in EXERCISES.items()}
    digits = re.match(r"0*(\d+)", Path(path).name)
    named = int(digits.group(1)) if digits else None
    if named in shares and (shares[named] or not any(shares.values())):
        return named
    best = max(shares, key=lambda n: shares[n])
    if shares[best] == 0:
        raise DataError(
            f"Which notebook is {path}? Its name does not begin with a number from 1 to "
            f"{max(EXERCISES)}, and it defines no exercise. Pass --notebook."
        )
    return best
