"""From a file's bytes to lines of text: gzip, byte order mark, stray bytes, NULs and line ends.

Everything is read in blocks of about a mebibyte, so a file of any size takes little memory, and a
block without anything odd costs a few scans in C.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from siamese.data.read_report import ReadReport
from siamese.errors import DataError

BLOCK_BYTES = 1 << 20
LONGEST_LINE = 16 << 20  # a "line" beyond this is no line of questions; it would fill the memory
HEAD_BYTES = 1 << 16  # read ahead to recognise the format

_UTF8_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_OTHER_FORMATS = (  # first bytes -> what the file is, for files that are named and not read
    (b"PK\x03\x04", "a ZIP archive; unpack it and give the file inside"),
    (b"BZh", "compressed with bzip2; decompress it (bunzip2) first"),
    (b"\xfd7zXZ", "compressed with xz; decompress it (unxz) first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it (unzstd) first"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
    (b"%PDF", "a PDF document"),
)
_HTML = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)


class OpenFile:
    """One file, opened and decompressed, with its first bytes at hand; a context manager.

    Args:
      path: the file; gzip is recognised by its first bytes, whatever the name.

    Raises:
      DataError: a missing or unreadable file, a directory, an empty file, a damaged gzip stream, a
        web page, or a binary format that is not read here.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self.name = str(path)
        try:
            self._file: BinaryIO = open(self.path, "rb")  # noqa: SIM115  closed in __exit__
        except IsADirectoryError:
            raise DataError(
                f"{self.name} is a directory; give the file with the question pairs."
            ) from None
        except FileNotFoundError:
            raise DataError(f"{self.name}: there is no such file.") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", error)
            raise DataError(f"{self.name[:200]} cannot be read: {why}.") from None
        self.is_gzip = self._file.read(2) == _GZIP
        self._file.seek(0)
        self._stream = gzip.GzipFile(fileobj=self._file) if self.is_gzip else self._file
        self._lines_read = 0
        try:
            self.head = self.read(HEAD_BYTES)
            self._check_head()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *exception) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """The next `size` decompressed bytes (fewer at the end); a damaged gzip is a DataError."""
        try:
            return self._stream.read(size)
        except EOFError:
            what = "the gzip stream ends too early: the file was cut short"
        except (gzip.BadGzipFile, zlib.error) as error:
            what = f"the gzip stream is damaged ({error})"
        except OSError as error:
            what = f"reading failed ({error})"
        raise DataError(
            f"{self.name}, after line {self._lines_read:,}: {what}. Download or copy it again."
        )

    def _check_head(self) -> None:
        if not self.head.removeprefix(_UTF8_BOM).strip():
            raise DataError(f"{self.name} is empty.")
        for magic, what in _OTHER_FORMATS:
            if self.head.startswith(magic):
                raise DataError(f"{self.name} is {what}.")
        if self.head.count(b"\0") * 10 > len(self.head) and not self.head.startswith(b"PAR1"):
            raise DataError(f"{self.name} is a binary file or UTF-16 text; save it as UTF-8 text.")
        if _HTML.match(self.head.removeprefix(_UTF8_BOM)):
            raise DataError(
                f"{self.name}, line 1: this is a web page, not question pairs (it starts with "
                f"{self.head.strip()[:30].decode('utf-8', 'replace')!r}); often a login or error "
                "page was saved in place of the file. Download it again."
            )

    def byte_blocks(self) -> Iterator[bytes]:
        """The whole content in blocks that end at a line's end."""
        line_end = b"\n" if b"\n" in self.head or b"\r" not in self.head else b"\r"
        rest = [self.head]
        while True:
            block = self.read(BLOCK_BYTES)
            cut = block.rfind(line_end) + 1
            if not block:
                break
            if not cut:
                rest.append(block)
                if sum(map(len, rest)) > LONGEST_LINE:
                    raise DataError(
                        f"{self.name}, line {self._lines_read + 1:,} is longer than "
                        f"{LONGEST_LINE >> 20} MiB; this is no file with one pair per line."
                    )
                continue
            whole = b"".join([*rest, block[:cut]])
            rest = [block[cut:]]
            self._lines_read += whole.count(line_end)
            yield whole.replace(b"\r", b"\n") if line_end == b"\r" else whole
        last = b"".join(rest)
        if last:
            yield last.replace(b"\r", b"\n") if line_end == b"\r" else last

    def lines(self, report: ReadReport) -> Iterator[str]:
        r"""The lines of the file, each with its ``\n``; what was mended goes into `report`."""
        before = 0  # lines in earlier blocks
        for block in self.byte_blocks():
            if not before and block.startswith(_UTF8_BOM):
                report.add("bom", [1])
                block = block.removeprefix(_UTF8_BOM)
            count = block.count(b"\n")
            yield from io.StringIO(_mended(block, before, report), newline="\n")
            before += count


def _mended(block: bytes, before: int, report: ReadReport) -> str:
    """The block as text, its line ends as LF, without NULs; `before` lines came earlier."""
    if b"\0" in block:
        _note(report, "nul", block, b"\0", before)
        block = block.replace(b"\0", b"")
    if b"\r" in block:
        if b"\r\n" in block:
            _note(report, "crlf", block, b"\r\n", before)
            block = block.replace(b"\r\n", b"\n")
        if b"\r" in block:
            _note(report, "carriage_return", block, b"\r", before)
            block = block.replace(b"\r", b" ")
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        lines = block.split(b"\n")
        bad = [before + 1 + i for i, line in enumerate(lines) if not _is_utf8(line)]
        report.add("bytes", bad)
        return block.decode("utf-8", "replace")


def _note(report: ReadReport, kind: str, block: bytes, what: bytes, before: int) -> None:
    """Counts the lines that hold `what`; `before` lines came earlier."""
    if what == b"\r\n" and not report.lacks_lines(kind):
        report.add(kind, [], block.count(what))  # commonly every line of the file: count in C
        return
    lines = block.split(b"\n")
    if what == b"\r\n":
        found = (i for i, line in enumerate(lines[:-1]) if line.endswith(b"\r"))
    else:
        found = (i for i, line in enumerate(lines) if what in line)
    report.add(kind, [before + 1 + i for i in found])


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
