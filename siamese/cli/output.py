"""What commands print: answers go to standard output, notes to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from siamese.compat.atomic import check_replaceable, explained, write_text_atomically
from siamese.errors import ArgumentError
from siamese.search.display import LAYOUT, csv_line, harmless, json_text, rounded

# How the tables of the commands begin.
TABLES = (
    b"group,keep,similarity,same_text",
    b"id,question,match_id,match",
    b"id1,question1,id2,question2,similarity",
    b"question1,question2,similarity,probability",
)
NOT_CSV = (".json", ".jsonl", ".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".gz")
Facts = dict[str, Any]  # what a command returns: JSON values for machines; for people see `listed`
Result = tuple[str, Facts]  # or with a text for people


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


def note(*lines: str) -> None:
    """Prints a note on standard error."""
    print(harmless("\n".join(lines), LAYOUT), file=sys.stderr, flush=True)


def claim(path: str | os.PathLike, replaces: bool, kind: str = "model") -> None:
    """Refuses, before any work, a file that is there already, of another kind, or cannot be written.

    Its directory is made where there is none.
    """
    from siamese.cli.reading import kind_of

    check_replaceable(path, ArgumentError, "Name another output.")
    empty = not os.path.isfile(path) or not os.path.getsize(path)  # as a full disk leaves it
    if not empty and kind != "table" and kind_of(str(path)) != kind:
        raise ArgumentError(f"{path} is no {kind}, and is not replaced. Name another output.")
    if os.path.lexists(path) and not replaces:
        raise ArgumentError(f"There is {path} already. Pass --overwrite, or name another output.")
    folder = os.path.dirname(path) or "."
    with explained(folder, error=ArgumentError):
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def counted(number: int, noun: str) -> str:
    """A number and a noun, such as '2,000 questions'."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def threshold_facts(detector: Any, flags: Any) -> Facts:
    """An answer's threshold, and its source: 'given' by a flag, or `DuplicateDetector.threshold_from`."""
    if flags.threshold is not None:
        return {"threshold": flags.threshold, "threshold_from": "given"}
    return {"threshold": detector.threshold, "threshold_from": detector.threshold_from}


def aligned(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Lines of text for a table: columns as wide as their longest cell."""
    table = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def listed(facts: Facts) -> str:
    """A line for each fact; those of a dictionary or a list stand below its name."""
    parts = {name: part for name, part in facts.items() if isinstance(part, (dict, list))}
    lines = aligned(
        (name.replace("_", " "), f"{value:,}" if isinstance(value, (int, float)) else value)
        for name, value in facts.items()
        if name not in parts
    )
    for name, part in parts.items():
        if part:
            lines += ["", name, *(aligned(part.items()) if isinstance(part, dict) else part)]
    return "\n".join(lines)


def claim_table(flags: Any) -> None:
    """Refuses, before any work, to write a table over a file that is none, or that the command reads."""
    path = getattr(flags, "table", None)
    if not path:
        return
    if flags.command != "index export":
        if path.lower().endswith(NOT_CSV):
            raise ArgumentError(f"{path}: a table is written as CSV. Name the file so.")
        check_replaceable(path, ArgumentError, "To print the table, leave --output out.")
    claim(path, True, "table")
    if not os.path.isfile(path):
        return
    with explained(path, "read", ArgumentError), open(path, "rb") as file:
        start = file.read(64)
    others = [v for n, v in vars(flags).items() if n not in ("table", "command")]
    files = [v for v in others if isinstance(v, str) and os.path.exists(v)]
    is_read = any(os.path.samefile(other, path) for other in files)
    is_ours = is_export(path) if flags.command == "index export" else start.startswith(TABLES)
    if is_read or (start and not is_ours):
        raise ArgumentError(
            f"There is {path} already. Only a table that siamese wrote, and that this command does not "
            "read, is replaced: name another file."
        )


def is_export(path: str) -> bool:
    """Whether a file is the Parquet table of an index."""
    import pyarrow.parquet

    with contextlib.suppress(pyarrow.ArrowException):  # It is not Parquet.
        names = pyarrow.parquet.read_schema(path).names
        return names[:2] == ["id", "question"] and names[-1] == "vector"
    return False


def table_result(
    flags: Any, rows: Iterable[dict], columns: Sequence[str], facts: Facts, summary: str = ""
) -> Result:
    """Rows as CSV, in a file or on standard output; every row gets `columns` first, and may have others.

    The summary says for people what the facts say; it is `listed` where empty.
    """
    summary = summary or listed(facts)
    rows = [rounded(dict.fromkeys(columns) | row) for row in rows]
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    text = csv_line(names)
    for row in rows:
        values = map(row.get, names)
        cells = (json_text(v) if isinstance(v, (list, dict)) else v for v in values)
        text += f"\n{csv_line(cells)}"
    if flags.table:
        write_text_atomically(flags.table, f"{text}\n")
        return f"{summary}\nWritten to {flags.table}.", {**facts, "output": flags.table}
    note(summary)
    return text, {**facts, "rows": rows}
