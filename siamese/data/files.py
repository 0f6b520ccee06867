"""Opening a file of questions: gzip, pipes, encodings, line ends; a table in memory; the report of it.

Everything is read in blocks of about a mebibyte, so a file of any size takes little memory, and a
block without anything odd costs a few scans in C.
"""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import os
import queue
import re
import stat
import sys
import threading
import zlib
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Self

from siamese.errors import DataError

BLOCK_BYTES = 1 << 20
LONGEST_LINE = 16 << 20  # a longer "line" is not one of questions, and would fill the memory
FIRST_LINES = 5  # how many line numbers a report keeps of each kind
FIRST_PROBLEMS = 20  # how many bad rows a report describes
CUT_SHARE = 0.01  # up to this share of cut lines in a tab-separated file is skipped (GLUE's QQP)
FIFO_SECONDS = 10.0  # how long a named pipe is waited for

# kind -> (what was found, what was done about it). The order is the order of the printed report.
KINDS = {
    "bom": ("byte order mark at the start", "left out"),
    "crlf": ("lines that end in CRLF", "read as LF"),
    "carriage_return": ("lines with a stray carriage return", "read as a space"),
    "bytes": ("lines with bytes that are not UTF-8 (Latin-1?)", "each such byte read as U+FFFD"),
    "nul": ("lines with NUL characters", "NULs left out"),
    "blank": ("blank lines", "skipped"),
    "no_header": ("first line that names no columns", "read as a pair"),
    "newline": ("rows that run over several lines", "line breaks kept in the question"),
    "quote": ("rows with a quote that is opened and not closed", "the quote kept as a letter"),
    "bad": ("rows that cannot be read", "skipped"),
    "empty": ("rows with an empty question", "left out"),
    "repeated": ("rows that repeat an earlier pair and its label", "kept"),
    "contradicting": ("rows that contradict the label of an earlier row", "kept"),
}
_BOM = b"\xef\xbb\xbf"
_OTHER_FORMATS = (  # first bytes -> what the file is
    (b"PK\x03\x04", "a ZIP archive; unpack it and give the file inside"),
    (b"BZh", "compressed with bzip2; decompress it first (bunzip2)"),
    (b"\xfd7zXZ", "compressed with xz; decompress it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first (unzstd)"),
    (b"%PDF", "a PDF document"),
)
_HTML = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)
_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)")


@dataclass
class Finding:
    """How often one kind of thing was found, and the first lines (1-based) it was found on."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass
class ReadReport:
    """What was handled while a file was read; printing it gives a few lines of text.

    Args:
      path, format: the file, and its format in words.
      unit: what the numbers count from 1: 'line', or (Parquet) 'row'.
      rows, kept: data rows read so far, and those of them that became pairs (or questions).
      findings: kind (a key of `KINDS`) -> `Finding`; empty where the file was clean.
      problems: the first bad rows, as line and words.

    Example:
      >>> report = ReadReport("pairs.csv", rows=3, kept=2)
      >>> report.add("empty", [4])
      >>> print(report)
      pairs.csv: 3 rows read, 2 kept
        1 rows with an empty question (line 4): left out
    """

    path: str
    format: str = ""
    unit: str = "line"
    rows: int = 0
    kept: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    cut: int = 0  # bad rows that are cut lines of a tab-separated file

    def add(self, kind: str, lines: Iterable[int]) -> None:
        """Notes that `kind` was found on `lines`."""
        if lines := list(lines):
            finding = self.findings.setdefault(kind, Finding())
            finding.count += len(lines)
            finding.lines = sorted([*finding.lines, *lines[:FIRST_LINES]])[:FIRST_LINES]

    def add_bad_row(self, line: int, why: str, cut: bool = False) -> None:
        """Notes a row that cannot be read; `why` goes on after the line number."""
        self.add("bad", [line])
        self.cut += cut
        insort(self.problems, (line, f"{self.unit} {line:,}{why}"))
        del self.problems[FIRST_PROBLEMS:]

    def count(self, kind: str) -> int:
        """How often `kind` was found."""
        return self.findings.get(kind, Finding()).count

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        findings = {
            kind: {"count": found.count, f"{self.unit}s": found.lines}
            for kind, found in self._in_order()
        }
        facts = {name: getattr(self, name) for name in ("path", "format", "rows", "kept")}
        return {**facts, "findings": findings}

    def __str__(self) -> str:
        head = f"{self.path}: {self.rows:,} rows read, {self.kept:,} kept"
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
        if self.findings:
            raise DataError("\n  ".join([f"{self.path}: not clean.", *self.finding_lines()]))

    def refuse_bad_rows(self) -> None:
        """Raises DataError that lists the bad rows; a few cut lines of a tab-separated file pass."""
        count = self.count("bad")
        if not count or (self.cut == count and count <= CUT_SHARE * (self.rows + count)):
            return
        if count == 1:
            raise DataError(f"{self.path}, {self.problems[0][1]}")
        texts = [text for _, text in self.problems]
        first = f"; the first {FIRST_PROBLEMS}" if count > FIRST_PROBLEMS else ""
        head = f"{self.path}: {count:,} rows cannot be read{first}:"
        hint = "Mend them, or leave them out with --bad-rows skip (in Python: bad_rows='skip')."
        raise DataError("\n  ".join([head, *texts]) + f"\n{hint}")

    def _in_order(self) -> list[tuple[str, Finding]]:
        return [(kind, self.findings[kind]) for kind in KINDS if kind in self.findings]


class OpenFile:
    """One file, opened and decompressed, with its first bytes at hand; a context manager.

    Args:
      path: the file, a pipe, or ``-`` for standard input; gzip and UTF-16 are recognised by their first
        bytes, whatever the name.

    Raises:
      DataError: a missing or unreadable file, a directory, an empty file, a damaged gzip stream, a
        web page, a binary format that is not read here, a named pipe to which nothing writes.
    """

    def __init__(self, path: str | os.PathLike):
        self.path, self.name = path, shown_name(path)
        self.lines_read = 0
        try:
            self._file, self.is_regular = opened(str(path))
        except (OSError, ValueError) as error:
            why = str(getattr(error, "strerror", error)).lower()
            raise DataError(f"{self.name[:200]} cannot be read: {why}.") from None
        try:
            self.is_gzip = self._get(lambda: self._file.peek(2)).startswith(b"\x1f\x8b")
            self._stream = gzip.GzipFile(fileobj=self._file) if self.is_gzip else self._file
            self._utf16: codecs.IncrementalDecoder | None = None
            self.head = self._read()
            if self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                self._utf16 = codecs.getincrementaldecoder("utf-16")("replace")
                self.head = self._utf16.decode(self.head).encode()
            while (
                b"\n" not in self.head and len(self.head) < BLOCK_BYTES and (more := self._read())
            ):
                self.head += more
            self.start = self.head.removeprefix(_BOM).lstrip()[:64]  # for telling the format
            self._check_head()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def _read(self) -> bytes:
        """The next bytes, about a block; of a pipe what is there. Empty at the end only."""
        read = self._stream.read if self.is_regular else self._stream.read1
        while True:
            block = self._get(lambda: read(BLOCK_BYTES))
            if self._utf16 is None:
                return block
            text = self._utf16.decode(block, final=not block).encode()
            if text or not block:
                return text

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

    def line_blocks(self, report: ReadReport) -> Iterator[list[str]]:
        r"""The lines of each block, without their ``\n``; what was mended goes into `report`."""
        for block in self._whole_lines():
            if not self.lines_read and block.startswith(_BOM):
                report.add("bom", [1])
                block = block.removeprefix(_BOM)
            text = _mended(block, self.lines_read + 1, report)
            if text:
                found = text.removesuffix("\n").split("\n")
                yield found
                self.lines_read += len(found)

    def _whole_lines(self) -> Iterator[bytes]:
        """The content in blocks that end at a line's end."""
        stray = self.head.count(b"\r") - self.head.count(b"\r\n")
        end_at_cr = stray > self.head.count(b"\n") or re.match(rb"[^\n]*?\r(?!\n)", self.head)
        if b"\n" in self.head and self.start.startswith((b"{", b"[")):
            end_at_cr = None
        parts: list[bytes] = []
        for block in itertools.chain([self.head], iter(self._read, b"")):
            if stray and end_at_cr:  # an old Mac's file, or one pasted together
                block = re.sub(rb"\r(?!\n)", b"\n", block)
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
        if last := b"".join(parts):
            yield last


class TableRecords:
    """The rows of a table in memory, read as `Records` are: anything with columns by name.

    A pandas or polars DataFrame, a `datasets.Dataset`, a pyarrow Table, a mapping of columns. Missing
    values (None, NaN, pandas' NA) are empty cells.
    """

    is_json = is_delimited = False

    def __init__(self, table: Any, report: ReadReport):
        names = getattr(table, "column_names", getattr(table, "columns", None))
        self.name = report.path
        report.format, report.unit = "a table in memory", "row"
        if isinstance(names, Mapping):
            raise DataError(f"{self.name} holds several tables: give one, such as data['train'].")
        names = list(table) if names is None else names
        self.header = list(map(str, names))
        columns = [table[name] for name in names]
        self._columns = [getattr(column, "to_pylist", column.__iter__)() for column in columns]

    def __enter__(self) -> TableRecords:
        return self

    def __exit__(self, *exception) -> None:
        pass

    def good(self) -> Iterator[tuple[list[list[Any]], range]]:
        """All rows, counted from 1, as one chunk."""
        rows = [list(map(_cell, row)) for row in zip(*self._columns)]
        if rows:
            yield rows, range(1, len(rows) + 1)


def _cell(value: Any) -> Any:
    is_missing = type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing or (isinstance(value, float) and value != value) else value


def shown_name(path: Any) -> str:
    """What messages and reports call a file or a table; ``-`` is standard input."""
    if not isinstance(path, (str, os.PathLike)):
        return f"the {type(path).__name__}"
    return "standard input" if path == "-" else str(path)


def opened(path: str) -> tuple[BinaryIO, bool]:
    """The open file, and whether it is a regular one: of a pipe, what is there is read at once.

    Raises:
      OSError: it cannot be opened; a named pipe to which nothing was written within `FIFO_SECONDS`.
    """
    if path in ("-", "/dev/stdin"):
        stream = sys.stdin.buffer
        return (stream if hasattr(stream, "peek") else io.BufferedReader(stream)), False
    if descriptor := _DESCRIPTOR.fullmatch(path):
        return open(int(descriptor[1]), "rb", closefd=False), False
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb"), True
    if not os.access(path, os.R_OK):
        raise PermissionError(13, "permission denied")
    pipe: queue.SimpleQueue[BinaryIO] = queue.SimpleQueue()

    def wait() -> None:  # open() waits for a program that writes to the pipe
        pipe.put(open(path, "rb"))  # noqa: SIM115

    threading.Thread(target=wait, daemon=True).start()
    try:
        return pipe.get(timeout=FIFO_SECONDS), False
    except queue.Empty:
        text = f"a pipe to which nothing was written within {FIFO_SECONDS:.0f} s"
        raise OSError(0, text) from None


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
