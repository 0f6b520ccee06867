"""How a command declares its arguments, and the arguments that several commands share."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

Argument = Callable[[Any], Any]  # adds itself to a parser


def arg(*names: str, **options: Any) -> Argument:
    """An argument of a command; see `argparse.ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **options)


def flag(name: str, help: str) -> Argument:
    """A flag without a value."""
    return arg(name, help=help, action="store_true")


def either(*arguments: Argument, required: bool = False) -> Argument:
    """Arguments that exclude each other."""

    def add(parser: Any) -> None:
        group = parser.add_mutually_exclusive_group(required=required)
        for argument in arguments:
            argument(group)

    return add


def command(*arguments: Argument) -> Callable:
    """Declares a function of the parsed flags as a command, with its arguments in the order of the help.

    The first line of its docstring is the help, the rest are examples; `index_build` is the command
    `siamese index build`.
    """

    def declare(function: Callable) -> Callable:
        function.arguments = (flag("--json", "print JSON, for machines"), *arguments)
        return function

    return declare


def finite(text: str) -> float:
    """A flag's value as a number; NaN and infinity would answer without comparing anything."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def setting(text: str) -> tuple[str, str]:
    """A flag's value of the form COLUMN=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: write COLUMN=VALUE")
    return name, value


# ---- Models and indexes ----

MODEL_HELP = "a saved model, the directory of a training run, or an encoder's name, such as use"
INDEX = arg("index", help="the file of an index; or a list of questions, read for this once")
TARGET = arg("target", metavar="INDEX_OR_MODEL", help="an index, a list of questions, or a model")
MODEL = arg("--model", help=f"{MODEL_HELP} [the index's own; of a list of questions use]")
NEW_MODEL = arg("--model", default="use", help=f"{MODEL_HELP} [%(default)s]")
THRESHOLD = arg(
    "--threshold", type=finite, help="cosine above which questions are duplicates [the model's own]"
)

# ---- Reading ----

BAD_ROWS = arg(
    "--bad-rows",
    choices=("refuse", "skip"),
    default="refuse",
    help="a row that cannot be read: stop there, or leave it out and count it [%(default)s]",
)
ENCODING = arg("--encoding", metavar="NAME", help="of the text, such as cp1252 [UTF-8]")
COLUMN = arg(
    "--column",
    help="the column with the questions; title+body joins two, of 2*title+body:50 the title weighs twice "
    "and the first 50 words count [found by its name; title+body:50 where there are both]",
)
REPEATED = flag("--drop-repeated", "leave out lines that stand in more than 1 %% of the bodies")
ID_COLUMN = arg("--id-column", help="the column with their ids [found by its name]")
COLUMNS = arg(
    "--columns",
    metavar="NAMES",
    help="the columns, as question1,question2,label; title1+body1 joins two, 2*title1+body1 lets "
    "the title weigh twice [found by their names]",
)
LABELS = (
    COLUMNS,
    arg("--duplicate-from", type=finite, metavar="NUMBER", help="the least grade of duplicates"),
    arg("--duplicate-labels", metavar="NAMES", help="labels of duplicates, with commas between"),
)
PAIRS_OF = arg(
    "--list",
    metavar="FILE",
    help="a list of questions or an index whose ids the pairs name (id1,id2 and perhaps a label; without "
    "one all are duplicates)",
)
READ_LIST = BAD_ROWS, ENCODING, COLUMN, ID_COLUMN, REPEATED
READ_PAIRS = BAD_ROWS, ENCODING, *LABELS

# ---- Tables ----

EXCEL = flag("--excel", "put ' before text that a spreadsheet would run (= + - @)")
OUTPUT = arg("--output", metavar="FILE", help="write CSV, or JSON Lines to FILE.jsonl [print CSV]")
TABLE = OUTPUT, EXCEL
