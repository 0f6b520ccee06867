"""Makes files of questions that are odd, damaged or hostile."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

ROWS = [
    ("How far is it?", "What is the distance?", "1"),
    ('What does "sic" mean?', "Is it cold, wet and dark there?", "0"),
    ("Où est la gare — là?", "Where is the station?", "1"),
    ("Why?\nReally, why?", "How\tcome?", "0"),
    ("How old are you?", "What is your age?", "1"),
]
LONG = "a very long question " * 10_000  # 210,000 characters, beyond the csv module's own limit


def cell(text: str) -> str:
    """A field as RFC 4180 writes it."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',;\t\n"') else text


def table(rows, header: tuple[str, ...], mark: str = ",") -> bytes:
    """A delimited file."""
    return "".join(mark.join(map(cell, row)) + "\n" for row in [header, *rows]).encode()


def json_lines(rows, header: tuple[str, ...]) -> bytes:
    """A JSON Lines file."""
    return "".join(json.dumps(dict(zip(header, row))) + "\n" for row in rows).encode()


PAIRS = ("question1", "question2", "is_duplicate")
LIST = [(str(number), row[0]) for number, row in enumerate(ROWS)]
GOOD = {
    "pairs.csv": table(ROWS, PAIRS),
    "pairs.tsv": table(ROWS, PAIRS, "\t"),
    "pairs.jsonl": json_lines(ROWS, PAIRS),
    "list.csv": table(LIST, ("id", "question")),
    "list.txt": "\n".join(question.replace("\n", " ") for _, question in LIST).encode(),
}


def _in_line(number: int, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        lines = content.split(b"\n")
        lines[number] = change(lines[number])
        return b"\n".join(lines)

    return changed


def _garbled(content: bytes) -> bytes:
    draw = random.Random(len(content))
    return bytes(byte ^ draw.randrange(256) if draw.random() < 0.02 else byte for byte in content)


# What is done to each of the good files.
CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "good": lambda content: content,
    "bom": lambda content: b"\xef\xbb\xbf" + content,
    "crlf": lambda content: content.replace(b"\n", b"\r\n"),
    "old-mac": lambda content: content.replace(b"\n", b"\r"),
    "mixed-ends": _in_line(2, lambda line: line + b"\r"),
    "cr-then-lf": lambda content: content.replace(b"\n", b"\r", 2),
    "latin-1": lambda content: content.decode().encode("latin-1", "replace"),
    "utf-16": lambda content: content.decode().encode("utf-16"),
    "utf-16-be": lambda content: b"\xfe\xff" + content.decode().encode("utf-16-be"),
    "utf-16-no-mark": lambda content: content.decode().encode("utf-16-le"),
    "utf-16-odd": lambda content: content.decode().encode("utf-16")[:-1],
    "nul": lambda content: content.replace(b"a", b"a\0", 2),
    "no-last-end": lambda content: content.rstrip(b"\n"),
    "blank-lines": lambda content: content.replace(b"\n", b"\n\n"),
    "cut": lambda content: content[: len(content) * 2 // 3],
    "garbled": _garbled,
    "stray-quote": _in_line(1, lambda line: b'"' + line),
    "quote-inside": _in_line(1, lambda line: line.replace(b"far", b'f"ar')),
    "quote-at-the-end": lambda content: content.rstrip(b"\n") + b'"',
    "a-field-more": _in_line(1, lambda line: line + b",x\tx"),
    "a-field-less": _in_line(1, lambda line: line[: len(line) // 2]),
    "long-question": lambda content: content.replace(b"How far is it?", LONG.encode()),
    "escapes": lambda content: content.replace(b"far", b"\x1b[31mfar\x07\x1b]0;x\x07"),
    "header-twice": lambda content: content.split(b"\n")[0] + b"\n" + content,
    "gzip": gzip.compress,
    "gzip-twice": lambda content: gzip.compress(gzip.compress(content)),
    "gzip-cut": lambda content: gzip.compress(content)[:-9],
    "gzip-garbage": lambda content: gzip.compress(content) + b"garbage",
}


def special() -> Iterator[tuple[str, bytes]]:
    """Yields (name, content) of files that are one of a kind."""
    head = ",".join(PAIRS) + "\n"
    yield from {
        "empty": b"",
        "blank": b" \n\n\t\n",
        "mark-only": b"\xef\xbb\xbf",
        "header-only.csv": head.encode(),
        "no-header.csv": b"how far,how old\n",
        "three-columns.csv": b"a,b,c\n1,2,3\n",
        "title.csv": b"title1,title2\nhow far,how old\n",
        "title-and-text.csv": b"title,text\nhow far,how old\n",
        "question-twice.csv": b"question,question\nhow far,how old\n",
        "pairs-twice.csv": b"question1,question1,question2,is_duplicate\na,b,c,1\n",
        "semicolons.csv": table(ROWS, PAIRS, ";"),
        "bars.csv": table(ROWS, PAIRS, "|"),
        "hub.csv": table(ROWS, ("sentence1", "sentence2", "label")),
        "all-bad.csv": (head + "a,b\n" * 5000).encode(),
        "bad-labels.csv": (head + "a?,b?,2\nc?,d?,yes\ne?,f?,\n" * 30).encode(),
        "all-empty.csv": (head + ",,1\n" * 50).encode(),
        "quote-never-closed.csv": (head + '"a?,b?,1\n' + "c?,d?,0\n" * 2000).encode(),
        "quotes-everywhere.csv": (head + '"a"b"?,""c,1\n""",""",0\n' * 50).encode(),
        "quoted-49-lines.csv": (head + '"' + "a\n" * 48 + 'b",c,1\n').encode(),
        "quoted-99-lines.csv": (head + '"' + "a\n" * 98 + 'b",c,1\n').encode(),
        "long-header.csv": (f"{LONG},{head}").encode(),
        "many-columns.csv": (",".join(map(str, range(20_000))) + "\n").encode() * 3,
        "20-MiB-line.csv": head.encode() + b"a" * (20 << 20),
        "20-MiB-line.json": b'{"question1": "' + b"a" * (20 << 20),
        "bomb.csv.gz": gzip.compress(head.encode() + b"a" * (200 << 20)),
        "bomb-of-nul.gz": gzip.compress(bytes(200 << 20)),
        "bomb-of-lines.gz": gzip.compress(head.encode() + b"\n" * 300_000),
        "breaks.txt": b"How far?<br>Who?<br>",
        "separator.csv": b"sep=;\n" + head.replace(",", ";").encode(),
        "backslashes.csv": (head + 'a \\"b\\","c \\"d\\"",1\n').encode(),
        "jira.csv": b"id,question,Sprint,Sprint\n1,how far?,a,b\n",
        "unknown-names.txt": b"Ticket;Subject\n1;how far?\n",
        "title-and-body.csv": b"title,body\nhow far?,soon\n",
        "ids.csv": b"id\n1\n2\n",
        "old-excel.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        "page.html": b"<!DOCTYPE html><html><body>Sign in</body></html>",
        "archive.zip": b"PK\x03\x04pairs.csv",
        "pairs.bz2": bz2.compress(head.encode()),
        "paper.pdf": b"%PDF-1.7\n%\xe2\xe3",
        "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
        "program": b"\x7fELF\x02\x01\x01" + bytes(500),
        "noise": random.Random(0).randbytes(100_000),
        "parquet-start": b"PAR1 and so on",
        "parquet-cut.gz": gzip.compress(b"PAR1" + bytes(500) + b"PAR1"),
        "pickle": b"\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01e.",
        "notebook.ipynb": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    }.items()
    one = '{"question1": "a?", "question2": "b?", "is_duplicate": 1}\n'
    odd = {
        "array": "[" + one.strip() + "]",
        "pretty": json.dumps(json.loads(one), indent=2),
        "cut": one + '{"question1": "a',
        "list": one + "[1, 2]\n",
        "texts": '["a?", "b?"]\n["a?"]\n[1, 2]\n',
        "number": one + one.replace('"a?"', "5"),
        "null": one + one.replace('"a?"', "null"),
        "nested": one + one.replace('"a?"', '{"text": "a?"}'),
        "deep": one + "[" * 100_000,
        "deep-object": one + '{"a":' * 50_000,
        "key-twice": one + one.replace("{", '{"question1": "c?", '),
        "key-in-two-cases": one.replace("{", '{"Question1": "c?", '),
        "keys-change": one + '{"sentence1": "a?", "sentence2": "b?", "label": 0}\n',
        "surrogate": one + one.replace("a?", "\\ud800 a?"),
        "nan": one + one.replace("1}", "NaN}") + one.replace("1}", '1, "x": Infinity}'),
        "long-number": one.replace("1}", "1" * 9000 + "}"),
        "control": one.replace("a?", "a\\u0000\\u001b[31m?\\u2028"),
        "no-questions": '{"a": 1}\n{"b": 2}\n',
        "empty-object": "{}\n{}\n",
        "list-of-text": '{"text": "a?"}\n{"text": "b?"}\n',
        "text-and-title": '{"text": "a?", "title": "b?"}\n',
    }
    for name, text in odd.items():
        yield f"odd-{name}.jsonl", text.encode()


def write_files(folder: Path) -> list[Path]:
    """Writes all of them into `folder`; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = dict(special())
    for good, content in GOOD.items():
        files |= {f"{change}-{good}": make(content) for change, make in CHANGES.items()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]
