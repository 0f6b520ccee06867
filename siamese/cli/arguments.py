"""How a command declares its options, and the options that several commands share.

A command is a function of its options, which `COMMANDS` of `siamese.cli.main` names.
The first line of its docstring is the help, the rest are examples. Its options are a
frozen dataclass, whose fields say in their types how argparse reads them. A field of
another such dataclass stands for all of its fields. A flag that has no effect on what a
command is given is an error: `WITHOUT_EFFECT` says which, and why.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    get_args,
    get_type_hints,
)

from siamese.errors import ArgumentError
from siamese.system.open_types import Keywords

NOT_CSV = (".json", ".jsonl", ".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".gz")
Options = TypeVar("Options")


@dataclass(frozen=True)
class OneOf:
    """Arguments that exclude each other: those that are declared with the same object."""

    required: bool = False


@dataclass(frozen=True)
class Argument:
    """How argparse reads a field."""

    is_positional: bool
    name: str | None  # None: that of the field
    options: Keywords  # of `argparse.ArgumentParser.add_argument`
    one_of: OneOf | None


def positional(*, one_of: OneOf | None = None, **options: Any) -> Argument:
    """An argument that is known by its place; one with a default may be left out."""
    return Argument(True, None, options, one_of)


def option(
    name: str | None = None, *, one_of: OneOf | None = None, **options: Any
) -> Argument:
    """An option with a value; without a default it is required. Its type is the field's."""
    return Argument(False, name, options, one_of)


def flag(help: str, *, one_of: OneOf | None = None) -> Argument:
    """An option without a value, of a bool field."""
    return Argument(False, None, {"help": help, "action": "store_true"}, one_of)


def flag_of(name: str) -> str:
    """The flag of a field, such as --bad-rows of bad_rows."""
    return f"--{name.replace('_', '-')}"


def add_arguments(parser: argparse.ArgumentParser, options: type) -> None:
    """Adds the arguments of a command's options to its parser, in the order of the fields."""
    groups: dict[int, argparse._MutuallyExclusiveGroup] = {}
    for own, declared, kind in _declared(options):
        place: argparse._ActionsContainer = parser
        if declared.one_of is not None:
            key = id(declared.one_of)
            if key not in groups:
                required = declared.one_of.required
                groups[key] = parser.add_mutually_exclusive_group(required=required)
            place = groups[key]
        settings = dict(declared.options)
        is_optional = own.default is not MISSING
        if kind in (int, float):
            settings.setdefault("type", kind)
        if is_optional and "action" not in settings:
            settings["default"] = own.default
        if declared.is_positional:
            if is_optional:
                settings.setdefault("nargs", "?")
            place.add_argument(own.name, **settings)
        else:
            if not is_optional:
                settings["required"] = True
            name = declared.name or flag_of(own.name)
            place.add_argument(name, dest=own.name, **settings)


def filled(options: type[Options], values: Keywords) -> Options:
    """The options of a command, of the values that argparse has read."""
    hints = get_type_hints(options)
    own = {}
    for field in fields(options):  # type: ignore[arg-type]
        kind = hints[field.name]
        is_options = isinstance(kind, type) and is_dataclass(kind)
        own[field.name] = filled(kind, values) if is_options else values[field.name]
    return options(**own)


def _declared(options: type) -> Iterator[tuple[Field, Argument, Any]]:
    """The fields of options and of those in them, with their declarations and types."""
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        hint = hints[field.name]
        if isinstance(hint, type) and is_dataclass(hint):
            yield from _declared(hint)
            continue
        kind, declared = get_args(hint)
        own = [part for part in get_args(kind) if part is not NoneType]
        yield field, declared, own[0] if len(own) == 1 else kind


def given(options: Any) -> Keywords:
    """The values that are not the default ones, by the names of their fields."""
    own: Keywords = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if is_dataclass(value):
            own |= given(value)
        elif field.default is MISSING or value != field.default:
            own[field.name] = value
    return own


# ---- Types of arguments ----


def cosine(text: str) -> float:
    """The type of a threshold."""
    with contextlib.suppress(ValueError):
        if -1 <= float(text) <= 1:  # NaN neither
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from -1 to 1")


def kinds(text: str) -> tuple[str, ...]:
    """The type of kinds of differences that do not count."""
    from siamese.model.near_misses import KINDS

    named = tuple(kind.strip() for kind in text.split(","))
    unknown = [kind for kind in named if kind not in KINDS]
    if unknown:
        known = ", ".join(KINDS)
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {known}")
    return named


def table_path(path: str) -> str | None:
    """The type of a table's file; None, which is standard output, for "-"."""
    if path == "-":
        return None
    if path.lower().endswith(NOT_CSV) and not is_workbook(path):
        what = "a table is written as CSV, or as an Excel workbook (.xlsx). Name the file so"
        raise argparse.ArgumentTypeError(f"{path}: {what}")
    return path


def is_workbook(path: str) -> bool:
    """Whether a table is written as an Excel workbook, by its file's name."""
    return path.lower().endswith(".xlsx")


def language_code(text: str) -> str:
    """The type of a language."""
    from siamese.text.language import LANGUAGES

    if text in LANGUAGES:
        return text
    known = ", ".join(LANGUAGES)
    raise argparse.ArgumentTypeError(f"{text!r} is none of {known}")


def answers_file(path: str) -> str:
    """The file beside a list or an index that has its answers."""
    return f"{path.rstrip('/')}.answers.csv"


# ---- Every command ----


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """The options of every command."""

    json: Annotated[bool, flag("print JSON, for machines")] = False


# ---- Models and indexes ----

MODEL_HELP = (
    "a saved model, the directory of a training run, or an encoder's name, such as use"
)
INDEX_HELP = "an index, or a file of questions"
Index = Annotated[str, positional(metavar="FILE", help=INDEX_HELP)]
IndexFile = Annotated[str, positional(metavar="INDEX", help="the file of an index")]
QuestionFile = Annotated[
    str, positional(metavar="FILE", help="a list of questions, in any format")
]
Target = Annotated[
    str,
    positional(
        metavar="INDEX_OR_MODEL", help="an index, a list of questions, or a model"
    ),
]
Model = Annotated[
    str | None,
    option(help=f"{MODEL_HELP} [default: the index's own, or use]"),
]
THRESHOLD_HELP = "pairs above this similarity are duplicates [default: the model's own]"
Threshold = Annotated[
    float | None, option(type=cosine, metavar="NUMBER", help=THRESHOLD_HELP)
]

WITHIN_HELP = (
    "compare questions of equal values of this column only; may be repeated, and `language` is told "
    "by the texts"
)
Within = Annotated[
    list[str] | None, option(action="append", metavar="COLUMN", help=WITHIN_HELP)
]
VALUES_HELP = (
    "search questions with this value of a column only; may be repeated, and `language` alone is that "
    "of the question"
)
WithinValues = Annotated[
    list[str] | None, option(action="append", metavar="COLUMN=VALUE", help=VALUES_HELP)
]

# ---- The near-miss check ----

IGNORE_HELP = "kinds of differences that do not count, such as number,date,name [default: the model's]"
CHECK = OneOf()


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """What counts as a near miss."""

    ignore: Annotated[
        Sequence[str],
        option(type=kinds, metavar="KINDS", help=IGNORE_HELP, one_of=CHECK),
    ] = ()
    no_near_miss_check: Annotated[
        bool,
        flag(
            "let the cosine alone decide, whatever two questions differ in",
            one_of=CHECK,
        ),
    ] = False


# ---- Reading ----

BAD_HELP = "a row that cannot be read: stop there, or leave it out and count it [default: refuse]"
BadRows = Annotated[str, option(choices=("refuse", "skip"), help=BAD_HELP)]
Encoding = Annotated[
    str | None,
    option(metavar="NAME", help="of the text, such as cp1252 [default: UTF-8]"),
]
COLUMN_HELP = (
    "the column of the questions; title+body joins two, :50 takes 50 words "
    "[default: found by name]"
)
IdColumn = Annotated[
    str | None,
    option(metavar="NAME", help="the column with their ids [default: found by name]"),
]
REPEATED_HELP = (
    "compare what many texts repeat, too: signatures, templates, tags, quoted mail"
)
COLUMNS_HELP = (
    "as question1,question2,label, each as --column of a list [default: found by name]"
)
IDS_HELP = "list or index whose ids the pairs name: id1,id2 and perhaps a label (else duplicates)"


MAIN_HELP = (
    "the main language of the list, such as de [default: recognised from the texts]"
)
MainLanguage = Annotated[
    str | None, option(type=language_code, metavar="LANG", help=MAIN_HELP)
]


@dataclass(frozen=True, kw_only=True)
class RowReading:
    """How the rows of any file are read."""

    bad_rows: BadRows = "refuse"
    encoding: Encoding = None


@dataclass(frozen=True, kw_only=True)
class ListReading(RowReading):
    """How a list of questions is read."""

    column: Annotated[str | None, option(metavar="NAME", help=COLUMN_HELP)] = None
    id_column: IdColumn = None
    keep_repeated: Annotated[bool, flag(REPEATED_HELP)] = False


@dataclass(frozen=True, kw_only=True)
class PairReading(RowReading):
    """How a file of pairs is read."""

    columns: Annotated[str | None, option(metavar="NAMES", help=COLUMNS_HELP)] = None


@dataclass(frozen=True, kw_only=True)
class LinkReading(PairReading, ListReading):
    """How a file of pairs is read that may name its questions by the ids of a list, which is read, too."""

    list: Annotated[str | None, option(metavar="FILE", help=IDS_HELP)] = None


# ---- Tables ----

Overwrite = Annotated[bool, flag("replace the file that is there")]
OUTPUT_HELP = "write there, as CSV, or as an Excel workbook by the name .xlsx [default: standard output]"


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Where a table goes."""

    output: Annotated[
        str | None, option(type=table_path, metavar="FILE", help=OUTPUT_HELP)
    ] = None
    overwrite: Overwrite = False


# ---- Flags without effect ----

ROW_FLAGS = ("bad_rows", "encoding")
OF_LIST = ("column", "id_column", "keep_repeated")
CHECK_FLAGS = ("ignore", "no_near_miss_check")
IS_INDEX = "{} is an index, which is read as it is"
NO_LIST = "There is no list of questions (--list FILE)"
SERVER = "The server answers in JSON by itself"


class NoEffect(NamedTuple):
    """Flags that a command refuses, given what it works on."""

    command: str  # "" for every command that has these flags
    target: str
    flags: tuple[str, ...]  # the fields of its options
    why: str  # {} is the name of the target


WITHOUT_EFFECT = (
    NoEffect("", "a model without a check", CHECK_FLAGS, "{} has no near-miss check"),
    NoEffect(
        "predict",
        "two questions",
        (*ROW_FLAGS, "columns", "output", "overwrite"),
        "Two questions are given, not a file",
    ),
    NoEffect(
        "predict", "a file", ("explain",), "A file is given, and not two questions"
    ),
    NoEffect("search", "an index", (*ROW_FLAGS, *OF_LIST, "language"), IS_INDEX),
    NoEffect("match", "an index alone", (*ROW_FLAGS, *OF_LIST, "language"), IS_INDEX),
    NoEffect("duplicates", "an index", (*ROW_FLAGS, *OF_LIST, "language"), IS_INDEX),
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
    NoEffect("serve", "an index", (*ROW_FLAGS, *OF_LIST, "language"), IS_INDEX),
    NoEffect("serve", "anything", ("json",), SERVER),
    NoEffect(
        "index remove",
        "ids",
        (*ROW_FLAGS, "id_column"),
        "--ids names the ids themselves",
    ),
    NoEffect("evaluate", "a model", ("model",), "{} is a model itself"),
    NoEffect("evaluate", "no list", OF_LIST, NO_LIST),
    NoEffect(
        "evaluate",
        "queries",
        ("threshold", "columns", "list", *CHECK_FLAGS),
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
        (*ROW_FLAGS, "columns", "list"),
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


def refuse_flags(
    command: str, target: str, options: CommandOptions | CheckOptions, name: str = ""
) -> None:
    """Raises an ArgumentError where flags are given that have no effect on the target, of that name."""
    own = given(options)
    for row in WITHOUT_EFFECT:
        if (row.command, row.target) != (command, target):
            continue
        useless = [flag_of(flag) for flag in row.flags if flag in own]
        if useless:
            why = row.why.replace("{}", name)
            raise ArgumentError(f"{why}; leave out {', '.join(useless)}.")
