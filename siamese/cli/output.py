"""What commands print: answers go to standard output, notes to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from siamese.cli.arguments import TableOptions, answers_file, given, is_workbook
from siamese.cli.workbook import check_workbooks, workbook
from siamese.errors import ArgumentError
from siamese.model.file import model_path
from siamese.system.files import check_writable, open_atomically, refuse_existing
from siamese.system.open_types import JsonObject
from siamese.text.display import LAYOUT, csv_line, harmless, json_text, rounded

if TYPE_CHECKING:
    from siamese.cli.arguments import CommandOptions
    from siamese.model.detector import DuplicateDetector

# What a command returns: JSON values for machines; for people see `listed`.
Facts = JsonObject


class Result(NamedTuple):
    """What a command returns that has a text of its own for people."""

    text: str
    facts: Facts
    # Lines for standard error, which stand before the text, and with --json, too.
    notes: Sequence[str] = ()


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
            # What is left in the buffer goes there.
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise ArgumentError(
            f"Standard output cannot be written: {error.strerror}."
        ) from None


def note(*lines: str) -> None:
    """Prints a note on standard error; nothing where there are no lines."""
    if lines:
        print(harmless("\n".join(lines), LAYOUT), file=sys.stderr, flush=True)


def claim(
    path: str | os.PathLike | None, options: CommandOptions, *, goes_on: bool = False
) -> None:
    """Refuses, before any work, an output that is there already, or that cannot be written.

    With --overwrite, or where a run goes on, it is replaced, but never a file that the
    command reads.
    """
    values = given(options)
    overwrite = values.pop("overwrite", False)
    values.pop("output", None)
    if path is None:
        if overwrite:
            raise ArgumentError("No output is named; leave out --overwrite.")
        return
    if is_workbook(str(path)):
        check_workbooks()
    # A full disk leaves an empty one.
    if os.path.isfile(path) and os.path.getsize(path):
        if any(_is_same_file(value, path) for value in values.values()):
            raise ArgumentError(
                f"{path} belongs to what this command reads. Name another output."
            )
        if not (overwrite or goes_on):
            refuse_existing(path)
    check_writable(path)


def _is_same_file(value: object, path: str | os.PathLike) -> bool:
    """Whether an option's value is a file or model of that path, or the list of answers there."""
    if not isinstance(value, str):
        return False
    files = model_path(value), answers_file(value)
    return any(os.path.exists(file) and os.path.samefile(file, path) for file in files)


def threshold_facts(detector: DuplicateDetector, threshold: float | None) -> Facts:
    """An answer's threshold, and its source: 'given' by a flag, or `DuplicateDetector.threshold_from`."""
    if threshold is not None:
        return {"threshold": threshold, "threshold_from": "given"}
    return {"threshold": detector.threshold, "threshold_from": detector.threshold_from}


def aligned(rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of text for a table: columns as wide as their longest cell."""
    table = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def listed(facts: Facts) -> str:
    """A line for each fact; those of a dictionary or a list stand below its name."""
    parts = {}
    rows = []
    for name, value in rounded(facts).items():
        if isinstance(value, (dict, list)):
            parts[name] = value
        elif isinstance(value, (int, float)):
            rows.append((name.replace("_", " "), f"{value:,}"))
        else:
            rows.append((name.replace("_", " "), value))
    lines = aligned(rows)
    for name, part in parts.items():
        if part:
            below = aligned(part.items()) if isinstance(part, dict) else part
            lines += ["", name, *below]
    return "\n".join(lines)


def table_result(
    table: TableOptions,
    rows: Iterable[dict],
    columns: Sequence[str],
    facts: Facts,
    *,
    summary: str = "",
    after: str = "",
    delimiter: str = ",",
) -> Result:
    """Rows as CSV, in a file or on standard output, or as a workbook in a file.

    Every row gets `columns` first, and may have others. CSV has the delimiter of the
    list that was read, and in a file the mark by which Excel reads UTF-8. The summary
    says for people what the facts say; it is `listed` where empty. `after` follows it,
    and where the table was written.
    """
    summary = summary or listed(facts)
    rows = [rounded(dict.fromkeys(columns) | row) for row in rows]
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    lines: list[list[object]] = [names]
    for row in rows:
        cells = map(row.get, names)
        lines.append(
            [json_text(v) if isinstance(v, (list, dict)) else v for v in cells]
        )
    text = "\n".join(csv_line(line, delimiter) for line in lines)
    more = [after] if after else []
    if not table.output:
        return Result(text, {**facts, "rows": rows}, [summary, *more])
    content = f"{text}\n".encode("utf-8-sig")
    if is_workbook(table.output):
        content = workbook(lines)
    with open_atomically(table.output, overwrite=table.overwrite) as file:
        file.write(content)
    said = [summary, f"Written to {table.output}.", *more]
    return Result("\n".join(said), {**facts, "output": table.output})
