"""How a command declares its arguments, and the arguments that several commands share."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import Any

NOT_CSV = (".json", ".jsonl", ".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".gz")
Argument = Callable[[Any], Any]  # adds an argument to a parser


def arg(*names: str, **options: Any) -> Argument:
    """An argument of a command; see `argparse.ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **options)


def flag(name: str, help: str) -> Argument:
    """A flag without a value."""
    return arg(name, help=help, action="store_true")


def one_of(*arguments: Argument, required: bool = False) -> Argument:
    """Arguments that exclude each other."""

    def add(parser: argparse.ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group(required=required)
        for argument in arguments:
            argument(group)

    return add


def answers_file(path: str) -> str:
    """The file beside a list or an index that has its answers."""
    return f"{path.rstrip('/')}.answers.csv"


def command(*arguments: Argument) -> Callable:
    """Declares a function of the parsed flags as a command, with its arguments in the order of the help.

    The first line of its docstring is the help, the rest are examples; `index_build` is
    the command `siamese index build`.
    """

    def declare(function: Callable) -> Callable:
        function.arguments = (flag("--json", "print JSON, for machines"), *arguments)
        return function

    return declare


def cosine(text: str) -> float:
    """The type of a threshold."""
    with contextlib.suppress(ValueError):
        if -1 <= float(text) <= 1:  # NaN neither
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from -1 to 1")


def table_path(path: str) -> str:
    """The type of a table's file."""
    if path.lower().endswith(NOT_CSV) and not is_workbook(path):
        what = "a table is written as CSV, or as an Excel workbook (.xlsx). Name the file so"
        raise argparse.ArgumentTypeError(f"{path}: {what}")
    return path


def is_workbook(path: str) -> bool:
    """Whether a table is written as an Excel workbook, by its file's name."""
    return path.lower().endswith(".xlsx")


# ---- Models and indexes ----

MODEL_HELP = (
    "a saved model, the directory of a training run, or an encoder's name, such as use"
)
INDEX = arg(
    "index", help="the file of an index; or a list of questions, read for this once"
)
TARGET = arg(
    "index", metavar="INDEX_OR_MODEL", help="an index, a list of questions, or a model"
)
MODEL = arg(
    "--model", help=f"{MODEL_HELP} [the index's own; of a list of questions use]"
)
THRESHOLD_HELP = (
    "a duplicate is above this cosine, or probability if that decides [the model's]"
)
THRESHOLD = arg("--threshold", type=cosine, metavar="NUMBER", help=THRESHOLD_HELP)

# ---- Reading ----

BAD_HELP = (
    "a row that cannot be read: stop there, or leave it out and count it [refuse]"
)
BAD_ROWS = arg(
    "--bad-rows", choices=("refuse", "skip"), default="refuse", help=BAD_HELP
)
ENCODING = arg("--encoding", metavar="NAME", help="of the text, such as cp1252 [UTF-8]")
COLUMN_HELP = "the column of the questions; title+body joins two, :50 takes 50 words [by its name]"
COLUMN = arg("--column", metavar="NAME", help=COLUMN_HELP)
REPEATED_HELP = (
    "compare what many texts repeat, too: signatures, templates, tags, quoted mail"
)
REPEATED = flag("--keep-repeated", REPEATED_HELP)
ID_COLUMN = arg(
    "--id-column", metavar="NAME", help="the column with their ids [found by its name]"
)
COLUMNS_HELP = (
    "as question1,question2,label, each as --column of a list [found by their names]"
)
COLUMNS = arg("--columns", metavar="NAMES", help=COLUMNS_HELP)
IDS_HELP = "list or index whose ids the pairs name: id1,id2 and perhaps a label (else duplicates)"
PAIRS_OF = arg("--list", metavar="FILE", help=IDS_HELP)
READ_LIST = BAD_ROWS, ENCODING, COLUMN, ID_COLUMN, REPEATED
READ_PAIRS = BAD_ROWS, ENCODING, COLUMNS
LIST_AND_PAIRS = *READ_LIST, COLUMNS, PAIRS_OF

# ---- Tables ----

OVERWRITE = flag("--overwrite", "replace the file that is there")
OUTPUT_HELP = (
    "write there, as CSV, or as an Excel workbook by the name .xlsx [print it]"
)
TABLE = (
    arg("--output", type=table_path, metavar="FILE", help=OUTPUT_HELP),
    OVERWRITE,
)
LIST_TABLE = MODEL, *READ_LIST, *TABLE  # of a command that makes a table of a list
