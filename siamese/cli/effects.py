"""Which flags have no effect on what a command is given, and why: each is an error."""

from __future__ import annotations

from typing import Any, NamedTuple

from siamese.cli.arguments import flag_of, given
from siamese.errors import ArgumentError

ROWS = ("bad_rows", "encoding")
OF_LIST = ("column", "id_column", "keep_repeated")
CHECK = ("ignore", "no_near_miss_check")
IS_INDEX = "{} is an index, which is read as it is"
NO_LIST = "There is no list of questions (--list FILE)"
SERVER = "The server answers in JSON by itself"


class NoEffect(NamedTuple):
    """Flags that a command refuses, given what it works on."""

    command: str  # "" for every command that has these flags
    target: str
    flags: tuple[str, ...]  # the fields of its options
    why: str  # {} is the name of the target


TABLE = (
    NoEffect("", "a model without a check", CHECK, "{} has no near-miss check"),
    NoEffect(
        "predict",
        "two questions",
        (*ROWS, "columns", "output", "overwrite"),
        "Two questions are given, not a file",
    ),
    NoEffect(
        "predict", "a file", ("explain",), "A file is given, and not two questions"
    ),
    NoEffect("search", "an index", (*ROWS, *OF_LIST, "language"), IS_INDEX),
    NoEffect("match", "an index alone", (*ROWS, *OF_LIST, "language"), IS_INDEX),
    NoEffect("duplicates", "an index", (*ROWS, *OF_LIST, "language"), IS_INDEX),
    NoEffect(
        "duplicates",
        "a list",
        ("regroup",),
        "The groups of a list are made each time",
    ),
    NoEffect(
        "duplicates",
        "pairs",
        ("regroup",),
        "--pairs and --differences make no groups",
    ),
    NoEffect(
        "duplicates",
        "differences without a check",
        ("differences",),
        "{} is compared without the near-miss check, which keeps pairs apart",
    ),
    NoEffect(
        "duplicates",
        "within",
        ("regroup",),
        "The groups within equal values are made each time",
    ),
    NoEffect("serve", "an index", (*ROWS, *OF_LIST, "language"), IS_INDEX),
    NoEffect("serve", "anything", ("json",), SERVER),
    NoEffect(
        "index remove",
        "ids",
        (*ROWS, "id_column"),
        "--ids names the ids themselves",
    ),
    NoEffect("evaluate", "a model", ("model",), "{} is a model itself"),
    NoEffect("evaluate", "no list", OF_LIST, NO_LIST),
    NoEffect(
        "evaluate",
        "queries",
        ("threshold", "columns", "list", *CHECK),
        "Queries have no labels",
    ),
    NoEffect(
        "evaluate",
        "groups",
        ("columns", "list"),
        "--groups reads a column of the list, no pairs",
    ),
    NoEffect("threshold", "a model", ("model",), "{} is a model itself"),
    NoEffect("threshold", "no list", OF_LIST, NO_LIST),
    NoEffect("threshold", "an index", OF_LIST, IS_INDEX),
    NoEffect(
        "threshold",
        "an index",
        ("output", "overwrite"),
        "{} keeps its threshold itself; an output is for a model",
    ),
    NoEffect(
        "threshold",
        "an index without a file of answers",
        (*ROWS, "columns", "list"),
        "{} is an index, which keeps its answers itself, and no --answers FILE is read",
    ),
    NoEffect(
        "threshold",
        "a list to label",
        ("columns", "list"),
        "--label asks about pairs and reads none",
    ),
    NoEffect("train", "no list", OF_LIST, NO_LIST),
)


def refuse_flags(command: str, target: str, options: Any, name: str = "") -> None:
    """Raises an ArgumentError where flags are given that have no effect on the target, of that name."""
    own = given(options)
    for row in TABLE:
        if (row.command, row.target) != (command, target):
            continue
        useless = [flag_of(flag) for flag in row.flags if flag in own]
        if useless:
            why = row.why.replace("{}", name)
            raise ArgumentError(f"{why}; leave out {', '.join(useless)}.")
