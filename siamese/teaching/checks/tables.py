"""The sheets of the exercises: their solutions, hints, and mistakes as edits of the solution's text.

They stand in the text files of the folder ``sheets``. Of a section, which begins with
``= name``,

- the lines ``| code`` are the solution, called the reference, as a learner writes it in the notebook;
- a line ``? text`` is a hint, and another line that begins at the margin is a mistake's sentence;
- the indented lines below it are its forms. A form makes a function out of the reference: it is a chain of
  edits ``old -> new`` of the source, joined by " ;; ", or the one statement of a new body, in which `right`
  is the reference. ``<<a|b>>`` stands for two forms, and a line break is written ``\\n``;
- a form ``! pattern`` is that of an error: the sentence belongs to errors whose text matches;
- ``+ name`` is a right answer, and the indented line below it is its form, if it has one;
- ``@ OTHER ... | form | words`` stands for the rows of other sections: each of their forms in the braces of
  this one, and the words before each sentence.

``$NAME = text`` names a text for all files, and a line that ends with a backslash goes
on in the next.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from siamese.system.open_types import JsonObject


@cache
def _sections() -> dict[str, list[str]]:
    """Name of a section -> its lines."""
    sections: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for file in sorted(Path(__file__).with_name("sheets").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").replace("\\\n", "").splitlines():
            line = re.sub(r"\$[A-Z_]+\b(?! = )", lambda name: names[name[0]], line)
            if line.startswith("$"):
                name, _, names[name] = line.partition(" = ")
            elif line.startswith("= "):
                lines = sections[line[2:]] = []
            elif line.strip():
                lines.append(line.rstrip())
    return sections


def source(name: str) -> str:
    """The text of an exercise's solution."""
    return "".join(
        f"{line[2:]}\n" for line in _sections()[name] if line.startswith("|")
    )


@cache
def solutions() -> JsonObject:
    """The names that the solutions use and define."""
    from siamese.text.tokenizer import word_tokenize

    scope = {
        "__name__": "table",
        "np": np,
        "random": random,
        "re": re,
        "word_tokenize": word_tokenize,
    }
    for name in _sections():
        exec(compile(source(name), f"<{name}>", "exec"), scope)
    return scope


def hints(name: str) -> list[str]:
    """Of an exercise: three, each stronger than the one before."""
    return [line[2:] for line in _sections()[name] if line.startswith("? ")]


def answers(name: str) -> dict[str, str]:
    """Name of each right answer of an exercise -> its form; without a name where there is one only."""
    forms = {}
    for line, after in itertools.pairwise([*_sections()[name], ""]):
        if line.startswith("+"):
            forms[line[2:]] = after.strip() if after.startswith(" ") else ""
    return forms or {"": ""}


def rows(name: str) -> Iterator[tuple[str, str]]:
    """(sentence, form) of each mistake of a section."""
    sentence = ""
    for line in _sections()[name]:
        if line.startswith("@ "):
            parts = re.fullmatch(r"@ ([\w ]+?) \| (.*) \| ?(.*)", line + " ")
            if parts is None:
                raise ValueError(f"{name}: write '@ OTHER ... | form | words': {line}")
            others, form, words = parts.groups()
            for other in others.split():
                for inner, part in rows(other):
                    yield f"{words.rstrip()} {inner}".strip(), form.replace("{}", part)
        elif line.startswith("  "):
            if sentence:
                for form in _forms(line.strip()):
                    yield sentence, form
        else:
            sentence = "" if line.startswith(("?", "+", "|")) else line


def _forms(text: str) -> Iterator[str]:
    """A form for each choice of ``<<a|b>>``."""
    parts = re.split(r"<<(.*?\|.*?)>>", text)
    choices = [
        part.split("|") if place % 2 else [part] for place, part in enumerate(parts)
    ]
    return map("".join, itertools.product(*choices))


def edited(source: str, form: str) -> str:
    """The source with the edits of a form; empty where a text to replace is not there."""
    form = form.replace("\\n", "\n")
    if " ->" not in form:
        return re.sub(
            r"(?s)(def .*?\):\n).*", lambda head: f"{head[1]}    {form}\n", source
        )
    for edit in form.split(" ;; "):
        if " -> " in edit:
            old, new = edit.split(" -> ")
        else:  # The text goes.
            old = edit.removesuffix(" ->")
            new = ""
        if old not in source:
            return ""
        source = source.replace(old, new)
    return source
