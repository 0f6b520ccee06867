"""Encodings that a text may have: each one is tried on the file before a message names it."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# Of Windows (western, central European, Cyrillic), of other scripts, of old Macs and of
# DOS.
USUAL = (
    "cp1252", "cp1250", "cp1251", "shift_jis", "gb18030", "big5", "euc_kr", "cp850", "mac_roman",
)  # fmt: skip
WIDE = ("utf-16-le", "utf-16-be")
CHUNK = 1 << 20  # bytes
LARGEST = 256 << 20  # bytes that are tried; more would take long
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f-\x9f]")  # of no text
_MARKS = re.compile(r"[ \n,;\t]")  # of nearly any text


def encodings_that_fit(chunks: Iterable[bytes], names: Sequence[str]) -> list[str]:
    """The encodings of `names` in which all bytes are text, in their order."""
    decoders = {name: codecs.getincrementaldecoder(name)() for name in names}
    has_marks = dict.fromkeys(names, False)
    for chunk in chunks:
        for name in list(decoders):
            try:
                text = decoders[name].decode(chunk)
            except UnicodeError:
                del decoders[name]
                continue
            if _CONTROL.search(text):
                del decoders[name]
            has_marks[name] = has_marks[name] or bool(_MARKS.search(text))
    return [name for name in decoders if has_marks[name] or name not in WIDE]


def chunks_of(path: str | os.PathLike) -> Iterator[bytes]:
    """The bytes of a file, unpacked, in parts; nothing of what is no file, or cannot be read."""
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            source: Any = file
            if file.read(2) == b"\x1f\x8b":
                source = gzip.GzipFile(fileobj=file)
            file.seek(0)
            for _ in range(LARGEST // CHUNK):
                chunk = source.read(CHUNK)
                if not chunk:
                    return
                yield chunk
    except (OSError, EOFError):
        return


def has_other_utf8(path: str | os.PathLike) -> bool:
    """Whether a file has lines with letters beyond ASCII that are UTF-8."""
    rest = b""
    for chunk in chunks_of(path):
        *lines, rest = (rest + chunk).split(b"\n")
        if any(map(_is_beyond_ascii, lines)):
            return True
        rest = rest[-CHUNK:]
    return _is_beyond_ascii(rest)


def _is_beyond_ascii(line: bytes) -> bool:
    if line.isascii():
        return False
    try:
        line.decode("utf-8")
    except UnicodeError:
        return False
    return True


def advice(path: str | os.PathLike, line: bytes, encoding: str) -> str:
    """What to do about a line that is not text in an encoding: which others fit, with what they make of it.

    All of a file is tried, and of a pipe the line.
    """
    is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    if is_utf8 and has_other_utf8(path):
        return "Other lines are UTF-8, so no other encoding fits the whole file."
    names = [
        name
        for name in ("utf-8", *USUAL)
        if codecs.lookup(name) != codecs.lookup(encoding)
    ]
    chunks = chunks_of(path) if os.path.isfile(path) else iter([line])
    fitting = encodings_that_fit(chunks, names)
    if not fitting:
        return "None of the usual encodings fits either."
    samples = [f"encoding={name!r} reads {_sample(line, name)!r}" for name in fitting]
    return f"Give the encoding that reads it right: {', '.join(samples)}."


def _sample(line: bytes, encoding: str) -> str:
    """What an encoding makes of a line, about its first letter beyond ASCII."""
    text = line[:4096].decode(encoding, "replace").strip()
    place = next((at for at, letter in enumerate(text) if not letter.isascii()), 0)
    return text[max(0, place - 8) : place + 8]


def wide_advice(path: str | os.PathLike) -> str:
    """What to do about a file that has not the encoding that was given."""
    fitting = encodings_that_fit(chunks_of(path), ("utf-8", *WIDE, *USUAL))
    if not fitting:
        return "Check encoding=."
    ways = ", ".join(f"encoding={name!r}" for name in fitting)
    return f"Give another encoding; these fit: {ways}."


def utf16_of(head: bytes) -> str | None:
    """Which UTF-16 the beginning of a file without its mark is; None for no text."""
    even = head[: len(head) // 2 * 2]
    return next(iter(encodings_that_fit([even], WIDE)), None)


class Text(io.TextIOWrapper):
    """A text that is read; `path` and `refuses_bad_rows` are for the message about a wrong encoding."""

    path = ""
    refuses_bad_rows = True
    _advice: str | None = None

    def problem(self, byte: int, line: str) -> str:
        """Why a line of it holds bytes that are no text, and what to do, which is looked up once."""
        name = "UTF-8" if self.encoding == "utf-8-sig" else self.encoding
        problem = f"bytes that are not {name} (0x{byte:02x})."
        if not self.refuses_bad_rows:
            return problem
        if self._advice is None:
            # without a mark
            plain = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
            raw = line.encode(plain, "surrogateescape")
            self._advice = advice(self.path, raw, self.encoding)
        return f"{problem} {self._advice}"
