"""The report of a file that was read: the rows that were left out, in words and as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from siamese.errors import DataError
from siamese.system.arguments import one_of

MOST_LINES = 1_000  # numbers that a report has of each kind
FIRST_LINES = 5  # line numbers that a report prints of each kind
# The end of the advice about a bad row.
SKIP = ", or leave such rows out with bad_rows='skip'"
# kind -> the rows that are left out for it, in the order of the printed report.
KINDS = {
    "bad": "that cannot be read",
    "header": "with the header again",
    "empty": "with an empty question",
    "wordless": "without a letter or a digit",
    "linkless": "without a link to another question",
}


@dataclass
class ReadReport:
    """The rows of a file that were left out; printing it gives a few lines of text."""

    path: str  # the file
    # the file for a row that cannot be read, or 'skip' the row
    bad_rows: str = "refuse"
    unit: str = "line"  # what the numbers count from 1, or 'row' of a table
    delimiter: str = ","  # between the cells of a text; of other formats a comma
    # their names, as the file has them
    columns: list[str] = field(default_factory=list)
    rows: int = 0  # data rows read so far
    # A key of `KINDS` -> the lines of its rows, at most the first `MOST_LINES`; and how
    # many they are.
    findings: dict[str, list[int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)  # other remarks, in words

    def __post_init__(self) -> None:
        one_of(self.bad_rows, "bad_rows", ("refuse", "skip"))

    def add(self, kind: str, lines: Sequence[int]) -> None:
        """Notes that `kind` occurred on `lines`."""
        if lines:
            known = self.findings.setdefault(kind, [])
            known.extend(lines[: MOST_LINES - len(known)])
            self.counts[kind] += len(lines)

    def forget(self, kind: str) -> None:
        """Drops the notes of `kind`."""
        self.findings.pop(kind, None)
        del self.counts[kind]

    def bad_row(self, line: int, reason: str) -> None:
        """Notes a row that cannot be read; DataError where such rows are refused."""
        if self.bad_rows == "refuse":
            raise DataError(
                f"{self.path}, {self.unit} {line:,}: {reason} Correct it{SKIP}.",
                arguments=("bad_rows", "encoding"),
            )
        self.add("bad", [line])

    def count(self, kind: str) -> int:
        """How often `kind` occurred."""
        return self.counts[kind]

    @property
    def left_out(self) -> int:
        """The data rows that became no pair (or question)."""
        return sum(map(self.count, ("bad", "empty", "wordless", "linkless")))

    def __str__(self) -> str:
        head = (
            f"{self.path}: {self.rows:,} rows read, {self.rows - self.left_out:,} kept"
        )
        return "\n  ".join([head, *self.finding_lines()])

    def finding_lines(self) -> list[str]:
        """A line of text for each kind: how many, and where; then other remarks."""
        texts = []
        for kind in filter(self.findings.get, KINDS):
            count = self.counts[kind]
            lines = self.findings[kind]
            s = "s" * (count > 1)
            where = ", ".join(f"{line:,}" for line in lines[:FIRST_LINES])
            where += ", …" * (count > FIRST_LINES)
            texts.append(
                f"{count:,} row{s} {KINDS[kind]} ({self.unit}{s} {where}): left out"
            )
        return texts + self.notes
