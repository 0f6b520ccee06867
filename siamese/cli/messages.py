"""What the library says in Python, said in flags."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from shlex import quote

from siamese.cli.arguments import flag_of
from siamese.errors import SiameseError

# Python's argument -> the flag, where it is not called as the argument is.
FLAGS = {
    "by_cluster": "--split clusters",
    "detector": "--model",
    "texts": "--list FILE of `siamese train`, `siamese evaluate` and `siamese threshold`",
}
VALUE = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\w[\w.]*\w|\w)?"""


def in_flags(text: str, arguments: Iterable[str]) -> str:
    r"""A text with flags in place of Python's arguments, such as ``overwrite=True``.

    A name of several words, such as ``batch_size``, may also stand alone.

    Example:
      >>> in_flags("Pass column='my title' or bad_rows=.", ["column", "bad_rows"])
      "Pass --column 'my title' or --bad-rows."
    """
    for name in arguments:
        flag = FLAGS.get(name, flag_of(name))

        def said(found: re.Match, flag: str = flag) -> str:
            value = found[1]
            if value in (None, "True"):
                return flag
            if value[0] in "'\"":
                value = ast.literal_eval(value)
            return f"{flag} {quote(value)}"

        value = f"(?:={VALUE})?" if "_" in name else f"={VALUE}"
        # Not in the name of a file.
        text = re.sub(rf"(?<![\w./-]){name}(?![\w/]|\.\w){value}", said, text)
    return text


def explained_error(error: SiameseError) -> str:
    """The message of an error, as the command line says it."""
    return in_flags(error.message, error.arguments)
