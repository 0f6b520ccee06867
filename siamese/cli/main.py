"""The command `siamese`: reads the command line and runs one of the declared commands."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from siamese import __version__
from siamese.cli import answering, course, indexing, labels, training
from siamese.cli.output import Facts, Result, listed, write_out
from siamese.cli.reading import note_way_on
from siamese.errors import MissingDependencyError, SiameseError, explain_missing_trax
from siamese.system.process import keep_memory, keeping_compiled_programs
from siamese.text.display import LAYOUT, harmless, json_text

# In the order of the help.
COMMANDS = (
    *(course.demo, training.train, labels.evaluate, answering.predict),
    *(
        indexing.index_build,
        indexing.index_add,
        indexing.index_remove,
        indexing.index_export,
    ),
    *(
        answering.search,
        indexing.duplicates,
        answering.match,
        labels.threshold,
        indexing.serve,
    ),
    *(labels.data, training.import_weights, course.grade, course.doctor),
)
# What a command needs beside the tool's own packages.
PACKAGES = {"serve": '".[serve]"', "grade": "ipykernel nbclient nbformat"}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; imports nothing heavy."""
    look: dict[str, Any] = {"epilog": "examples:", "allow_abbrev": False}
    look["formatter_class"] = argparse.RawDescriptionHelpFormatter
    about = "Siamese networks for question duplicates: train, evaluate, answer."
    parser = argparse.ArgumentParser("siamese", description=about, **look)
    parser.add_argument("--version", action="version", version=f"siamese {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    about = "build, change or export an index of questions"
    index = commands.add_parser("index", help=about, description=about, **look)
    parts = index.add_subparsers(metavar="PART", required=True)
    for function in COMMANDS:
        first, _, examples = inspect.getdoc(function).partition("\n\n")
        lines = [f"\n  {line}" for line in examples.splitlines()]
        name, help = command_name(function), first[0].lower() + first[1:].rstrip(".")
        siblings, pages = commands, [parser]
        if name.startswith("index "):
            siblings, pages = parts, [parser, index]
        options = {"help": help, "description": first, **look}
        added = siblings.add_parser(name.removeprefix("index "), **options)
        added.epilog += "".join(lines)
        for page in pages:
            page.epilog += lines[0]
        added.set_defaults(function=function, command=name, usage=added.format_usage)
        for argument in function.arguments:
            argument(added)
    return parser


def command_name(function: Callable) -> str:
    """The name of a command, such as 'index build'."""
    return function.__name__.replace("_", "-").replace("index-", "index ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0; 2 for an error that a user can mend; 130 after Ctrl-C.
    """
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  # It may be closed.
    flags = _parsed(sys.argv[1:] if arguments is None else list(arguments))
    keep_memory()
    _set_encodings()
    try:
        result = _run(flags)
        if (
            result is not None
        ):  # A command that returns None has printed its answers already.
            text, values = (
                result if isinstance(result, tuple) else (listed(result), result)
            )
            write_out(json_text(values) if flags.json else text)
        note_way_on(flags)
        return 0
    except SiameseError as error:
        print(f"siamese {flags.command}: {harmless(error, LAYOUT)}", file=sys.stderr)
        return 2
    except MemoryError:
        why = "The memory does not suffice for so much. Take a part of the list."
        print(f"siamese {flags.command}: {why}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `siamese ... | head`
        sys.stderr.close()
        return 0


def _set_encodings() -> None:
    """Lets no letter be lost: a file or a pipe gets UTF-8, a terminal escapes for what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(sys.stdout, "reconfigure") and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")


def _parsed(arguments: list[str]) -> argparse.Namespace:
    """The flags of a command line; a mistyped command or flag gets the nearest one."""
    parser = build_parser()
    words = [command_name(function).split() for function in COMMANDS]
    given = arguments[:1]
    known = {name[0] for name in words}
    if given == ["index"] and len(arguments) > 1:
        given = arguments[:2]
        known = {name[1] for name in words if name[0] == "index"}
    if given and given[-1] not in known and not given[-1].startswith("-"):
        all_of_them = " ".join(["siamese", *given[:-1], "--help"])
        near = [
            " ".join(["siamese", *given[:-1], name])
            for name in get_close_matches(given[-1], sorted(known), n=2)
        ]
        parser.exit(2, _no_such("command", given[-1], near, all_of_them))
    flags, unknown = parser.parse_known_args(arguments)
    if unknown:
        options = sorted(set(re.findall(r"--[\w-]+", flags.usage())))
        near = get_close_matches(unknown[0].partition("=")[0], options, n=2)
        all_of_them = f"siamese {flags.command} --help"
        parser.exit(2, _no_such("argument", unknown[0], near, all_of_them))
    flags.words = arguments
    return flags


def _no_such(what: str, word: str, near: list[str], all_of_them: str) -> str:
    """What is printed about a word that means nothing, with those that are nearest to it."""
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"siamese: There is no {what} {harmless(word, LAYOUT)!r}.{meant} All of them: {all_of_them}\n"


def _run(flags: argparse.Namespace) -> Facts | Result | None:
    """The result of a command; a package that it lacks is named."""
    try:
        with keeping_compiled_programs():
            return flags.function(flags)
    except ModuleNotFoundError as error:
        explain_missing_trax(error)
        packages = PACKAGES.get(flags.command, error.name)
        raise MissingDependencyError(
            f"This needs {error.name}: pip install {packages}"
        ) from error
