"""What commands print: answers go to standard output, notes to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from siamese.cli.arguments import answers_file, is_workbook
from siamese.cli.workbook import check_workbooks, workbook
from siamese.errors import ArgumentError
from siamese.model.file import model_path
from siamese.system.files import check_writable, open_atomically, refuse_existing
from siamese.text.display import LAYOUT, csv_line, harmless, json_text, rounded

Facts = dict[
    str, Any
]  # what a command returns: JSON values for machines; for people see `listed`
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
            os.dup2(
                nowhere.fileno(), sys.stdout.fileno()
            )  # what is left in the buffer goes there
        raise ArgumentError(
            f"Standard output cannot be written: {error.strerror}."
        ) from None


def note(*lines: str) -> None:
    """Prints a note on standard error."""
    print(harmless("\n".join(lines), LAYOUT), file=sys.stderr, flush=True)


def claim(path: str | os.PathLike | None, flags: Any, goes_on: bool = False) -> None:
    """Refuses, before any work, an output that is there already, or that cannot be written.

    With --overwrite, or where a run goes on, it is replaced, but never a file that the
    command reads.
    """
    if path is None:
        if flags.overwrite:
            raise ArgumentError("No output is named: leave out --overwrite.")
        return
    if is_workbook(str(path)):
        check_workbooks()
    if os.path.isfile(path) and os.path.getsize(
        path
    ):  # A full disk leaves an empty one.
        others = [v for n, v in vars(flags).items() if n not in ("output", "command")]
        values = [value for value in others if isinstance(value, str)]
        files = [file for v in values for file in (model_path(v), answers_file(v))]
        if any(os.path.exists(file) and os.path.samefile(file, path) for file in files):
            raise ArgumentError(
                f"{path} belongs to what this command reads. Name another output."
            )
        if not (flags.overwrite or goes_on):
            refuse_existing(path)
    check_writable(path)


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
    parts = {
        name: part for name, part in facts.items() if isinstance(part, (dict, list))
    }
    lines = aligned(
        (
            name.replace("_", " "),
            f"{value:,}" if isinstance(value, (int, float)) else value,
        )
        for name, value in rounded(facts).items()
        if name not in parts
    )
    for name, part in parts.items():
        if part:
            lines += [
                "",
                name,
                *(aligned(part.items()) if isinstance(part, dict) else part),
            ]
    return "\n".join(lines)


def table_result(
    flags: Any,
    rows: Iterable[dict],
    columns: Sequence[str],
    facts: Facts,
    summary: str = "",
    after: str = "",
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
    cells = [
        [
            json_text(v) if isinstance(v, (list, dict)) else v
            for v in map(row.get, names)
        ]
        for row in rows
    ]
    delimiter = getattr(flags, "delimiter", ",")
    text = "\n".join(csv_line(line, delimiter) for line in (names, *cells))
    if flags.output:
        content = f"{text}\n".encode("utf-8-sig")
        if is_workbook(flags.output):
            content = workbook([names, *cells])
        with open_atomically(flags.output, overwrite=flags.overwrite) as file:
            file.write(content)
        lines = [summary, f"Written to {flags.output}.", *([after] if after else [])]
        return "\n".join(lines), {**facts, "output": flags.output}
    note(summary, *([after] if after else []))
    return text, {**facts, "rows": rows}
