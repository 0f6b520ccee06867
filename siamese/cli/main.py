"""The command `siamese`: reads the command line and runs one of the declared commands."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

from siamese import __version__
from siamese.cli import (
    answering,
    course,
    demo,
    duplicates,
    indexing,
    labels,
    threshold,
    training,
)
from siamese.cli.arguments import add_arguments, filled
from siamese.cli.messages import explained_error
from siamese.cli.output import Facts, Result, listed, note, write_out
from siamese.cli.reading import UnreadList
from siamese.cli.way_out import complete_command
from siamese.errors import MissingDependencyError, SiameseError, explain_missing_trax
from siamese.system.open_types import Keywords
from siamese.system.process import keeping_compiled_programs, share_heap
from siamese.text.display import LAYOUT, harmless, json_text

if TYPE_CHECKING:
    from siamese.cli.arguments import CommandOptions

# In the order of the help.
COMMANDS: dict[str, Callable] = {
    "demo": demo.demo,
    "train": training.train,
    "evaluate": labels.evaluate,
    "predict": answering.predict,
    "index build": indexing.index_build,
    "index add": indexing.index_add,
    "index remove": indexing.index_remove,
    "index export": indexing.index_export,
    "search": answering.search,
    "duplicates": duplicates.duplicates,
    "match": answering.match,
    "threshold": threshold.threshold,
    "serve": indexing.serve,
    "data": labels.data,
    "import-weights": training.import_weights,
    "grade": course.grade,
    "doctor": course.doctor,
}
# What a command needs beside the tool's own packages.
PACKAGES = {"serve": '".[serve]"', "grade": "ipykernel nbclient nbformat"}
NO_MEMORY = "The memory does not suffice for so much. Take a part of the list."


class Call(NamedTuple):
    """A command line, read."""

    command: str  # one of `COMMANDS`
    options: CommandOptions  # of its function
    words: list[str]  # as they were given


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line; imports nothing heavy.

    Where words are given, only the command that they begin with gets its arguments.
    """
    look: Keywords = {"epilog": "examples:", "allow_abbrev": False}
    look["formatter_class"] = argparse.RawDescriptionHelpFormatter
    about = "Siamese networks for question duplicates: train, evaluate, answer."
    parser = argparse.ArgumentParser("siamese", description=about, **look)
    parser.add_argument("--version", action="version", version=f"siamese {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    about = "build, change or export an index of questions"
    index = commands.add_parser("index", help=about, description=about, **look)
    parts = index.add_subparsers(metavar="PART", required=True)
    for name, function in COMMANDS.items():
        first, _, examples = (inspect.getdoc(function) or "").partition("\n\n")
        lines = [f"\n  {line}" for line in examples.splitlines()]
        siblings = commands
        pages = [parser]
        if name.startswith("index "):
            siblings = parts
            pages = [parser, index]
        help = first[0].lower() + first[1:].rstrip(".")
        own = name.removeprefix("index ")
        added = siblings.add_parser(own, help=help, description=first, **look)
        added.epilog = "".join([added.epilog or "", *lines])
        for page in pages:
            page.epilog = f"{page.epilog}{lines[0]}"
        added.set_defaults(command=name, usage=added.format_usage)
        if words is None or list(words[: name.count(" ") + 1]) == name.split():
            options = get_type_hints(function)["options"]
            add_arguments(added, options)
            added.set_defaults(options_class=options)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0; 2 for an error that a user can mend; 130 after Ctrl-C.
    """
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  # It may be closed.
    call = parsed(sys.argv[1:] if arguments is None else list(arguments))
    share_heap()
    _set_encodings()
    try:
        result = _run(call)
        # A command that returns None has printed its answers already.
        if isinstance(result, Result):
            note(*result.notes)
            write_out(json_text(result.facts) if call.options.json else result.text)
        elif result is not None:
            write_out(json_text(result) if call.options.json else listed(result))
        return 0
    except SiameseError as error:
        why = explained_error(error)
        if isinstance(error, UnreadList):
            why += complete_command(error.path, error.options, call.words)
        note(f"siamese {call.command}: {why}")
        return 2
    except MemoryError:
        note(f"siamese {call.command}: {NO_MEMORY}")
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


def parsed(arguments: list[str]) -> Call:
    """A command line, read; a mistyped command or flag gets the nearest one, and the program ends."""
    parser = build_parser(arguments)
    _check_command(parser, arguments)
    values, unknown = parser.parse_known_args(arguments)
    if unknown:
        flags = sorted(set(re.findall(r"--[\w-]+", values.usage())))
        near = get_close_matches(unknown[0].partition("=")[0], flags, n=2)
        all_of_them = f"siamese {values.command} --help"
        parser.exit(2, _no_such("argument", unknown[0], near, all_of_them))
    options = filled(values.options_class, vars(values))
    return Call(values.command, options, arguments)


def _check_command(parser: argparse.ArgumentParser, arguments: list[str]) -> None:
    """Ends the program where the first words are no command."""
    words = [name.split() for name in COMMANDS]
    given = arguments[:1]
    known = {name[0] for name in words}
    if given == ["index"] and len(arguments) > 1:
        given = arguments[:2]
        known = {name[1] for name in words if name[0] == "index"}
    if given and given[-1] not in known and not given[-1].startswith("-"):
        before = ["siamese", *given[:-1]]
        near = [
            " ".join([*before, name])
            for name in get_close_matches(given[-1], sorted(known), n=2)
        ]
        all_of_them = " ".join([*before, "--help"])
        parser.exit(2, _no_such("command", given[-1], near, all_of_them))


def _no_such(what: str, word: str, near: list[str], all_of_them: str) -> str:
    """What is printed about a word that means nothing, with those that are nearest to it."""
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"siamese: There is no {what} {harmless(word, LAYOUT)!r}.{meant} All of them: {all_of_them}\n"


def _run(call: Call) -> Facts | Result | None:
    """The result of a command; a package that it lacks is named."""
    try:
        with keeping_compiled_programs():
            return COMMANDS[call.command](call.options)
    except ModuleNotFoundError as error:
        explain_missing_trax(error)
        packages = PACKAGES.get(call.command, error.name)
        raise MissingDependencyError(
            f"This needs {error.name}: pip install {packages}"
        ) from error
