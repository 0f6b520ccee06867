"""ReadReport: what was found in a file of question pairs, how often, where, and what was done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from siamese.errors import DataError

# kind -> (what was found, what was done about it). The order is the order of the printed report.
KINDS = {
    "bom": ("byte order mark at the start", "left out"),
    "crlf": ("lines that end in CRLF", "read as LF"),
    "carriage_return": ("lines with a stray carriage return", "read as a space"),
    "bytes": ("lines with bytes that are not UTF-8", "each such byte read as U+FFFD"),
    "nul": ("lines with NUL characters", "NULs left out"),
    "blank": ("blank lines", "passed over"),
    "newline": ("rows that run over several lines", "line breaks kept in the question"),
    "broken": ("lines with the wrong number of fields", "kept out of the pairs"),
    "empty": ("rows with an empty question", "kept out of the pairs"),
    "repeated": ("rows that repeat an earlier pair and its label", "kept"),
    "contradicting": ("rows that contradict the label of an earlier row", "kept"),
}
FIRST_LINES = 5  # how many line numbers are kept for each kind


@dataclass
class Finding:
    """How often one kind of thing was found, and the first lines (1-based) it was found on."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass
class ReadReport:
    """What was handled while a file was read; printing it gives a few lines of text.

    Args:
      path: the file, or both files of a pair of text files.
      format: the format that was recognised, in words.
      unit: what the numbers count, 'line' or (Parquet, TensorFlow Datasets) 'row'; from 1.
      rows: data rows read so far, those that were kept out of the pairs included.
      kept: pairs handed out so far.
      findings: kind (a key of `KINDS`) -> `Finding`; empty when the file was clean.

    Example:
      >>> report = ReadReport("pairs.csv", rows=3, kept=2)
      >>> report.add("empty", [4])
      >>> print(report)
      pairs.csv: 3 rows read, 2 pairs kept
        1 rows with an empty question (line 4): kept out of the pairs
    """

    path: str
    format: str = ""
    unit: str = "line"
    rows: int = 0
    kept: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)

    def add(self, kind: str, lines: Any, count: int | None = None) -> None:
        """Notes `count` (by default the number of `lines`) more of `kind`, seen on `lines`."""
        lines = [int(line) for line in lines]
        count = len(lines) if count is None else count
        if not count:
            return
        finding = self.findings.setdefault(kind, Finding())
        finding.count += count
        finding.lines.extend(lines[: FIRST_LINES - len(finding.lines)])

    def count(self, kind: str) -> int:
        """How often `kind` was found."""
        return self.findings[kind].count if kind in self.findings else 0

    def lacks_lines(self, kind: str) -> bool:
        """True while fewer than `FIRST_LINES` line numbers are known for `kind`."""
        return kind not in self.findings or len(self.findings[kind].lines) < FIRST_LINES

    @property
    def clean(self) -> bool:
        """True where nothing needed handling."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "path": self.path,
            "format": self.format,
            "rows": self.rows,
            "kept": self.kept,
            "findings": {
                kind: {"count": self.findings[kind].count, f"{self.unit}s": finding_lines}
                for kind, finding_lines in ((k, self.findings[k].lines) for k in self._kinds())
            },
        }

    def __str__(self) -> str:
        head = f"{self.path}: {self.rows:,} rows read, {self.kept:,} pairs kept"
        if self.format:
            head += f" ({self.format})"
        return "\n".join([head, *(f"  {line}" for line in self.finding_lines())])

    def finding_lines(self) -> list[str]:
        """One line of text for each kind found: how many, where, and what was done."""
        texts = []
        for kind in self._kinds():
            finding = self.findings[kind]
            what, done = KINDS[kind]
            where = f"{self.unit}{'s' if len(finding.lines) > 1 else ''} "
            where += ", ".join(f"{line:,}" for line in finding.lines)
            where += ", …" if finding.count > len(finding.lines) else ""
            texts.append(f"{finding.count:,} {what} ({where}): {done}")
        return texts

    def refuse_unless_clean(self) -> None:
        """Raises DataError with the whole report where anything had to be handled."""
        if not self.clean:
            found = "\n".join(f"  {line}" for line in self.finding_lines())
            raise DataError(
                f"{self.path}: strict reading refuses what would otherwise be handled so:\n{found}"
            )

    def _kinds(self) -> list[str]:
        return [kind for kind in KINDS if kind in self.findings]
