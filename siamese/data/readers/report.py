"""What was left out or noticed while a file was read, in words and as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from siamese.errors import ArgumentError, DataError

FIRST_LINES = 5  # line numbers that a report keeps of each kind
# kind -> (what it is, what becomes of it), in the order of the printed report.
KINDS = {
    "bad": ("rows that cannot be read", "left out"),
    "header": ("rows that repeat the header", "left out"),
    "blank": ("blank lines", "left out"),
    "empty": ("rows with an empty question", "left out"),
    "cut": ("rows with a question too long for the model", "only its beginning compared"),
    "repeated": ("rows that repeat an earlier pair and its label", "kept"),
    "contradicting": ("rows that contradict the label of an earlier row", "kept"),
}


@dataclass
class Finding:
    """How often one kind of thing occurred, and the first lines (1-based) with it."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass
class ReadReport:
    """What was left out or noticed while a file was read; printing it gives a few lines of text.

    Args:
      path, format: the file, and its format in words.
      bad_rows: what becomes of a row that cannot be read: 'refuse' or 'skip'.
      unit: what the numbers count from 1: 'line', or 'row' of a table.
      rows, kept: data rows read so far, and those of them that became pairs (or questions).
      findings: kind (a key of `KINDS`) -> `Finding`; empty where there was nothing.
      first_problem: the first bad row, in words.

    Raises:
      ArgumentError: `bad_rows` is another word.

    Example:
      >>> report = ReadReport("pairs.csv", rows=3, kept=2)
      >>> report.add("empty", [4])
      >>> print(report)
      pairs.csv: 3 rows read, 2 kept
        1 row with an empty question (line 4): left out
    """

    path: str
    format: str = ""
    bad_rows: str = "refuse"
    unit: str = "line"
    rows: int = 0
    kept: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)
    first_problem: str = ""

    def __post_init__(self):
        if self.bad_rows not in ("refuse", "skip"):
            raise ArgumentError(f"bad_rows must be 'refuse' or 'skip'; it is {self.bad_rows!r}.")

    def add(self, kind: str, lines: Iterable[int]) -> None:
        """Notes that `kind` occurred on `lines`."""
        if lines := list(lines):
            finding = self.findings.setdefault(kind, Finding())
            finding.count += len(lines)
            finding.lines = sorted([*finding.lines, *lines[:FIRST_LINES]])[:FIRST_LINES]

    def bad_row(self, line: int, reason: str) -> None:
        """Notes a row that cannot be read; DataError where such rows are refused."""
        if self.bad_rows == "refuse":
            raise DataError(
                f"{self.path}, {self.unit} {line:,}: {reason} Correct it, or leave such rows out with "
                "--bad-rows skip (in Python: bad_rows='skip')."
            )
        self.first_problem = self.first_problem or reason
        self.add("bad", [line])

    def count(self, kind: str) -> int:
        """How often `kind` occurred."""
        return self.findings.get(kind, Finding()).count

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        findings = {
            kind: {"count": finding.count, f"{self.unit}s": finding.lines}
            for kind, finding in self._in_order()
        }
        facts = {name: getattr(self, name) for name in ("path", "format", "rows", "kept")}
        return {**facts, "findings": findings}

    def __str__(self) -> str:
        head = f"{self.path}: {self.rows:,} rows read, {self.kept:,} kept"
        head += f" ({self.format})" if self.format else ""
        return "\n  ".join([head, *self.finding_lines()])

    def finding_lines(self) -> list[str]:
        """One line of text for each kind: how many, where, and what became of them."""
        texts = []
        for kind, finding in self._in_order():
            what, done = KINDS[kind]
            if finding.count == 1:
                for several, one in (("rows", "row"), ("lines", "line"), ("repeat ", "repeats ")):
                    what = what.replace(several, one)
                what = what.replace("contradict ", "contradicts ")
            where = f"{self.unit}{'s' if len(finding.lines) > 1 else ''} "
            where += ", ".join(f"{line:,}" for line in finding.lines)
            where += ", …" if finding.count > len(finding.lines) else ""
            why = f" (the first: {self.first_problem.rstrip('.')})" if kind == "bad" else ""
            texts.append(f"{finding.count:,} {what} ({where}): {done}{why}")
        return texts

    def _in_order(self) -> list[tuple[str, Finding]]:
        return [(kind, self.findings[kind]) for kind in KINDS if kind in self.findings]
