"""What commands share: answers go to standard output, all else to standard error; flags about reading."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from siamese.errors import ArgumentError
from siamese.search.display import LAYOUT, harmless

# What `threshold_source` returns, in words.
SOURCES = {
    "given": "given",
    "model": "saved with the model",
    "labels": "fitted to labels",
    "default": "a default, no labels behind it",
}
Result = tuple[str, Any]  # what a command returns: text for people, and one JSON value for machines


def write_out(text: str) -> None:
    """Prints an answer; ArgumentError where standard output is full or otherwise not to be written.

    Control characters, which a terminal would obey, are written as escapes.
    """
    try:
        print(harmless(text, LAYOUT), flush=True)
    except BrokenPipeError:  # `siamese ... | head`
        raise
    except OSError as error:
        with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # what is left in the buffer goes there
        raise ArgumentError(f"Standard output cannot be written: {error.strerror}.") from None


def note(text: str) -> None:
    """Tells something on stderr: stdout is for the result."""
    print(text, file=sys.stderr, flush=True)


def note_findings(report) -> None:
    """Prints what was left out while a file was read."""
    if report.findings:
        note("\n  ".join([f"{report.path}:", *report.finding_lines()]))


def threshold_source(detector, flags) -> str:
    """Where an answer's threshold comes from: 'given' by a flag, or `DuplicateDetector.threshold_from`."""
    return detector.threshold_from if flags.threshold is None else "given"


def reading(flags) -> dict[str, Any]:
    """The flags about reading labelled pairs, as `siamese.data.pairs.read_pairs` takes them."""
    names = ("bad_rows", "encoding", "columns", "duplicate_from", "duplicate_labels")
    return {name: value for name in names if (value := getattr(flags, name, None)) is not None}


def read_list(path: str, flags):
    """The questions of a file, as `data.questions.read_questions` has them; prints what was left out."""
    from siamese.data.questions import read_questions

    names = ("bad_rows", "encoding", "column", "id_column")
    found = read_questions(path, **{name: getattr(flags, name) for name in names if name in flags})
    note_findings(found.report)
    return found
