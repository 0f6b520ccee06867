"""The command `siamese`: reads the command line and runs one of the declared commands."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Sequence
from typing import Any

from siamese import __version__, compat
from siamese.cli import answering, course, indexing, labels, training
from siamese.cli.output import Facts, Result, listed, write_out
from siamese.cli.reading import note_way_on
from siamese.compat.process import enable_compile_cache, keep_memory
from siamese.errors import MissingDependencyError, SiameseError, explain_missing_trax
from siamese.search.display import LAYOUT, harmless, json_text

# In the order of the help.
COMMANDS = (
    *(course.demo, training.train, labels.evaluate, answering.predict),
    *(indexing.index_build, indexing.index_add, indexing.index_remove, indexing.index_export),
    *(answering.search, indexing.duplicates, answering.match, labels.threshold, indexing.serve),
    *(labels.data, training.import_weights, course.grade, course.doctor),
)
# What a command needs beside the tool's own packages.
PACKAGES = {"serve": "fastapi uvicorn prometheus-client", "grade": "ipykernel nbclient nbformat"}


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
        name, help = function.__name__.replace("_", "-"), first[0].lower() + first[1:].rstrip(".")
        siblings, pages = commands, [parser]
        if name.startswith("index-"):
            siblings, pages = parts, [parser, index]
        options = {"help": help, "description": first, **look}
        added = siblings.add_parser(name.removeprefix("index-"), **options)
        added.epilog += "".join(lines)
        for page in pages:
            page.epilog += lines[0]
        added.set_defaults(function=function, command=name.replace("index-", "index "))
        for argument in function.arguments:
            argument(added)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0; 2 for an error that a user can mend; 130 after Ctrl-C.
    """
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  # It may be closed.
    flags = build_parser().parse_args(arguments)
    keep_memory()
    compat.after_import("jax", lambda module: enable_compile_cache())
    _set_encodings()
    try:
        result = _run(flags)
        if result is not None:  # A command that returns None has printed its answers already.
            text, values = result if isinstance(result, tuple) else (listed(result), result)
            write_out(json_text(values) if flags.json else text)
        note_way_on(flags)
        return 0
    except SiameseError as error:
        print(f"siamese {flags.command}: {harmless(error, LAYOUT)}", file=sys.stderr)
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


def _run(flags: argparse.Namespace) -> Facts | Result | None:
    """The result of a command; a package that it lacks is named."""
    try:
        return flags.function(flags)
    except ModuleNotFoundError as error:
        explain_missing_trax(error)
        packages = PACKAGES.get(flags.command, error.name)
        raise MissingDependencyError(f"This needs {error.name}: pip install {packages}") from error
