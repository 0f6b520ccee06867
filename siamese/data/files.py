"""Opening a file of questions: gzip, encodings, line ends, what it is not; and the report of it.

Everything is read in blocks of about a mebibyte, so a file of any size takes little memory, and a
block without anything odd costs a few scans in C.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from siamese.errors import DataError

BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 16  # read ahead to recognise the format
LONGEST_LINE = 16 << 20  # a longer "line" is not one of questions, and would fill the memory
FIRST_LINES = 5  # how many line numbers a report keeps of each kind

# kind -> (what was found, what was done about it). The order is the order of the printed report.
KINDS = {
    "bom": ("byte order mark at the start", "left out"),
    "crlf": ("lines that end in CRLF", "read as LF"),
    "carriage_return": ("lines with a stray carriage return", "read as a space"),
    "bytes": ("lines with bytes that are not UTF-8", "each such byte read as U+FFFD"),
    "nul": ("lines with NUL characters", "NULs left out"),
    "blank": ("blank lines", "skipped"),
    "newline": ("rows that run over several lines", "line breaks kept in the question"),
    "broken": ("lines with the wrong number of fields", "kept out of the pairs"),
    "empty": ("rows with an empty question", "kept out of the pairs"),
    "repeated": ("rows that repeat an earlier pair and its label", "kept"),
    "contradicting": ("rows that contradict the label of an earlier row", "kept"),
}
_BOM = b"\xef\xbb\xbf"
_OTHER_FORMATS = (  # first bytes -> what the file is
    (b"PK\x03\x04", "a ZIP archive; unpack it and give the file inside"),
    (b"BZh", "compressed with bzip2; decompress it first (bunzip2)"),
    (b"\xfd7zXZ", "compressed with xz; decompress it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first (unzstd)"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
    (b"%PDF", "a PDF document"),
)
_HTML = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)


@dataclass
class Finding:
    """How often one kind of thing was found, and the first lines (1-based) it was found on."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass
class ReadReport:
    """What was handled while a file was read; printing it gives a few lines of text.

    Args:
      path, format: the file (or both text files), and its format in words.
      unit: what the numbers count from 1: 'line', or (Parquet) 'row'.
      rows, kept: data rows read so far, and those of them that became pairs.
      findings: kind (a key of `KINDS`) -> `Finding`; empty where the file was clean.

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

    def add(self, kind: str, lines: Iterable[int]) -> None:
        """Notes that `kind` was found on `lines`."""
        if lines := list(lines):
            finding = self.findings.setdefault(kind, Finding())
            finding.count += len(lines)
            finding.lines += lines[: FIRST_LINES - len(finding.lines)]

    def count(self, kind: str) -> int:
        """How often `kind` was found."""
        return self.findings.get(kind, Finding()).count

    @property
    def clean(self) -> bool:
        """True where nothing needed handling."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        findings = {
            kind: {"count": found.count, f"{self.unit}s": found.lines}
            for kind, found in self._in_order()
        }
        facts = {name: getattr(self, name) for name in ("path", "format", "rows", "kept")}
        return {**facts, "findings": findings}

    def __str__(self) -> str:
        head = f"{self.path}: {self.rows:,} rows read, {self.kept:,} pairs kept"
        head += f" ({self.format})" if self.format else ""
        return "\n  ".join([head, *self.finding_lines()])

    def finding_lines(self) -> list[str]:
        """One line of text for each kind found: how many, where, and what was done."""
        texts = []
        for kind, found in self._in_order():
            what, done = KINDS[kind]
            where = f"{self.unit}{'s' if len(found.lines) > 1 else ''} "
            where += ", ".join(f"{line:,}" for line in found.lines)
            where += ", …" if found.count > len(found.lines) else ""
            texts.append(f"{found.count:,} {what} ({where}): {done}")
        return texts

    def refuse_unless_clean(self) -> None:
        """Raises DataError with the whole report where anything had to be handled."""
        if not self.clean:
            raise DataError("\n  ".join([f"{self.path}: not clean.", *self.finding_lines()]))

    def _in_order(self) -> list[tuple[str, Finding]]:
        return [(kind, self.findings[kind]) for kind in KINDS if kind in self.findings]


class OpenFile:
    """One file, opened and decompressed, with its first bytes at hand; a context manager.

    Args:
      path: the file; gzip is recognised by its first bytes, whatever the name.

    Raises:
      DataError: a missing or unreadable file, a directory, an empty file, a damaged gzip stream, a
        web page, or a binary format that is not read here.
    """

    def __init__(self, path: str | os.PathLike):
        self.path, self.name = path, str(path)
        self.lines_read = 0
        try:
            self._file = open(path, "rb")  # noqa: SIM115  closed in __exit__
        except (OSError, ValueError) as error:
            why = str(getattr(error, "strerror", error)).lower()
            raise DataError(f"{self.name[:200]} cannot be read: {why}.") from None
        try:
            self.is_gzip = self._file.peek(2).startswith(b"\x1f\x8b")
            self._stream = gzip.GzipFile(fileobj=self._file) if self.is_gzip else self._file
            self.head = self.read(HEAD_BYTES)
            self.start = self.head.removeprefix(_BOM).lstrip()[:64]
            self._check_head()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *exception) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """The next `size` decompressed bytes, fewer at the end."""
        return self._get(lambda: self._stream.read(size))

    def _get(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except EOFError:
            what = "the gzip stream ends too early: the file was cut short"
        except (gzip.BadGzipFile, zlib.error) as error:
            what = f"the gzip stream is damaged ({error})"
        except OSError as error:
            what = f"reading failed ({error})"
        where = f", after line {self.lines_read:,}" if self.lines_read else ""
        raise DataError(f"{self.name}{where}: {what}. Download or copy it again.")

    def _check_head(self) -> None:
        if not self.start:
            raise DataError(f"{self.name} is empty.")
        for magic, what in _OTHER_FORMATS:
            if self.head.startswith(magic):
                raise DataError(f"{self.name} is {what}.")
        if self.head.count(b"\0") * 10 > len(self.head) and not self.start.startswith(b"PAR1"):
            raise DataError(f"{self.name} is a binary file or UTF-16 text; save it as UTF-8 text.")
        if _HTML.match(self.start):
            raise DataError(
                f"{self.name}, line 1: a web page (it starts with "
                f"{self.start[:30].decode('utf-8', 'replace')!r}), perhaps a login or error page. "
                "Download the file again."
            )

    def raw_lines(self) -> Iterator[bytes]:
        """The lines as they stand, one at a time, from the first."""
        self._stream.seek(0)
        yield from iter(lambda: self._get(self._stream.readline), b"")

    def lines(self, report: ReadReport) -> Iterator[str]:
        r"""The lines of the file, each with its ``\n``; what was mended goes into `report`."""
        for block in self._blocks():
            if not self.lines_read and block.startswith(_BOM):
                report.add("bom", [1])
                block = block.removeprefix(_BOM)
            yield from io.StringIO(_mended(block, self.lines_read + 1, report), newline="\n")
            self.lines_read += block.count(b"\n") + (not block.endswith(b"\n"))

    def _blocks(self) -> Iterator[bytes]:
        """The content from the head on, in blocks that end at a line's end."""
        old_mac = b"\n" not in self.head and b"\r" in self.head
        parts: list[bytes] = []
        block = self.head
        while block:
            block = block.replace(b"\r", b"\n") if old_mac else block
            cut = block.rfind(b"\n") + 1
            if cut:
                yield b"".join([*parts, block[:cut]])
                parts = []
            parts.append(block[cut:])
            if sum(map(len, parts)) > LONGEST_LINE:
                raise DataError(
                    f"{self.name}, line {self.lines_read + 1:,} is longer than "
                    f"{LONGEST_LINE >> 20} MiB. Put each row on a line of its own."
                )
            block = self.read(BLOCK_BYTES)
        if last := b"".join(parts):
            yield last


def _mended(block: bytes, first: int, report: ReadReport) -> str:
    """The block as text, line ends as LF, without NULs; its first line has the number `first`."""

    def note(kind: str, is_odd: Callable[[bytes], bool]) -> None:
        lines = enumerate(io.BytesIO(block), start=first)
        report.add(kind, [number for number, line in lines if is_odd(line)])

    if b"\0" in block:
        note("nul", lambda line: b"\0" in line)
        block = block.replace(b"\0", b"")
    if b"\r" in block:
        note("crlf", lambda line: line.endswith(b"\r\n"))
        block = block.replace(b"\r\n", b"\n")
        note("carriage_return", lambda line: b"\r" in line)
        block = block.replace(b"\r", b" ")
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        # The replacement character itself may stand in a good line.
        note("bytes", lambda line: line.decode("utf-8", "replace").encode() != line)
        return block.decode("utf-8", "replace")
