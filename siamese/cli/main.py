"""The command `siamese`: reads the command line and runs one of the declared commands."""

from __future__ import annotations

import argparse
import inspect
import math
import sys
from collections.abc import Callable, Sequence

from siamese import __version__, compat
from siamese.cli import commands, group_commands, query_commands, search_commands
from siamese.cli.demo import demo
from siamese.cli.output import write_out
from siamese.compat.process import enable_compile_cache, keep_memory
from siamese.errors import SiameseError, explain_missing_trax
from siamese.search.display import LAYOUT, harmless, json_text
from siamese.training.config import add_config_flags


def _finite(text: str) -> float:
    """A flag's value as a number; NaN and infinity would answer without comparing anything."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def _check_limit(text: str) -> tuple[str, float]:
    """``60`` or ``train_model=60``: (the exercise's name or "", seconds)."""
    name, _, seconds = text.rpartition("=")
    try:
        return name, _finite(seconds)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not SECONDS or NAME=SECONDS") from None


# Arguments of several commands.
SHARED = {
    "--json": {"action": "store_true", "help": "print one JSON object, for machines"},
    "model": {
        "help": "a saved model, the directory of a training run, or an encoder's name, such as use"
    },
    "index": {"help": "directory that `siamese index` wrote"},
    "--questions": {"required": True, "metavar": "FILE", "help": "labelled pairs, any format"},
    "--bad-rows": {
        "choices": ("refuse", "skip"),
        "default": "refuse",
        "help": "rows that cannot be read: stop at the first, or leave them out and count them "
        "[%(default)s]",
    },
    "--columns": {
        "metavar": "NAMES",
        "help": "the columns, as question1,question2,label; title1+body1 joins two, 2*title1+body1 lets "
        "the title weigh twice; numbers (1,2,3) where there is no header [found by their names]",
    },
    "--duplicate-from": {
        "type": _finite,
        "metavar": "NUMBER",
        "help": "labels are grades: this and above is a duplicate",
    },
    "--duplicate-labels": {
        "metavar": "NAMES",
        "help": "labels are names: these, with commas between, are duplicates, all others not",
    },
    "--column": {
        "help": "the column with the questions; title+body joins two, a number counts where there is no "
        "header [found by its name]"
    },
    "--id-column": {"help": "the column with their ids [found by its name]"},
    "--threshold": {
        "type": _finite,
        "help": "cosine above which two questions are duplicates [the model's own]",
    },
    "--model": {"help": "the model [where `siamese index` found it]"},
    "--output": {
        "metavar": "FILE",
        "help": "write CSV, or JSON Lines to FILE.jsonl [standard output]",
    },
    "--excel": {
        "action": "store_true",
        "help": "put ' before text that a spreadsheet would run (= + - @)",
    },
}


class _Parser(argparse.ArgumentParser):
    """Takes `index add` and `index remove` for one name among the commands."""

    def parse_args(self, args=None, namespace=None):
        args = list(sys.argv[1:] if args is None else args)
        if " ".join(args[:2]) in ("index add", "index remove"):
            args[:2] = [" ".join(args[:2])]
        return super().parse_args(args, namespace)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; imports nothing heavy."""
    look = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = _Parser(
        prog="siamese",
        description="Siamese networks for question duplicates: train, evaluate, answer.",
        **look,
    )
    parser.add_argument("--version", action="version", version=f"siamese {__version__}")
    made = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parser.epilog = "examples:"

    def command(function: Callable, *shared: str) -> argparse.ArgumentParser:
        """A command: the first line of the function's docstring is its help, the rest examples."""
        name = function.__name__.replace("index_", "index ").replace("_", "-")
        first, _, examples = inspect.getdoc(function).partition("\n\n")
        help = first[0].lower() + first[1:].rstrip(".")
        examples = "\n  ".join(["examples:", *examples.splitlines()])
        parser.epilog += "\n" + examples.splitlines()[1]
        added = made.add_parser(name, help=help, description=help, epilog=examples, **look)
        added.set_defaults(function=function)
        for name in ("--json", *shared):
            added.add_argument(name, **SHARED[name])
        return added

    def modes(parser: argparse.ArgumentParser) -> None:
        add = parser.add_mutually_exclusive_group().add_argument
        only = {"dest": "mode", "action": "store_const"}
        add("--vectors-only", const="vectors", help="order by cosine [vectors and words]", **only)
        add("--words-only", const="words", help="order by shared words, BM25", **only)

    add = command(demo).add_argument
    add("--output", default="demo", help="directory of the run [%(default)s]")
    add("--steps", type=int, default=120, help="training steps of each model [%(default)s]")
    add("--seed", type=int, default=34, help="random seed for weights and batches [%(default)s]")

    labelled = "--bad-rows", "--columns", "--duplicate-from", "--duplicate-labels"
    train = command(commands.train, "--questions", *labelled)
    add = train.add_argument
    add("--train-rows", type=int, help="the first rows train [300000, or 9 in 10]")
    add("--test-rows", type=int, help="the rows after them test [10240, or the rest]")
    add(
        "--split",
        choices=("rows", "shuffled", "clusters"),
        help="rows in the file's order, drawn by a fixed seed, or drawn so that no question stands on "
        "both sides [rows with --train-rows or above 300000 rows, else shuffled]",
    )
    add("--test", metavar="FILE", help="test on this file; train on all of --questions")
    add("--valid", metavar="FILE", help="validation file; also sets the threshold")
    add(
        "--valid-rows",
        type=int,
        help="the last of the training rows validate and choose the threshold [the last duplicates "
        "validate, the last rows choose]",
    )
    add(
        "--init-from",
        metavar="MODEL",
        help="fine-tune this saved model: its vocabulary, weights, tower and encoder, and small steps "
        "(--learning-rate 0.0005, from 1,000 pairs on 0.002; --epochs 3; --preset has no effect)",
    )
    add("--output", help="directory of the run [runs/PRESET]")
    add = train.add_mutually_exclusive_group().add_argument
    add("--resume", action="store_true", help="resume with a changed configuration")
    add("--overwrite", action="store_true", help="discard the run there and start over")
    add_config_flags(train)

    command(commands.export, "index").add_argument(
        "parquet", metavar="FILE", help="the file to write"
    )

    shared = "model", "--questions", *labelled, "--threshold"
    add = command(commands.evaluate, *shared).add_argument
    add("--skip-rows", type=int, default=0, help="rows of the file to leave out at the start")
    add("--rows", type=int, help="rows of the file to measure on [all that follow]")
    add("--report", metavar="DIR", help="write an HTML page with plots and mistakes")

    shared = "model", "--bad-rows", "--columns", "--threshold", "--excel"
    add = command(commands.predict, *shared).add_argument
    add("question1", help="a question; or a file of pairs, - for standard input")
    add("question2", nargs="?", help="the other question")

    add = command(search_commands.explain, "model").add_argument
    add("question1")
    add("question2")
    drawn = "draw the words there: .png, .svg or .pdf (needs matplotlib)"
    add("--plot", metavar="FILE", help=drawn)

    add = command(search_commands.app, "model").add_argument
    add("--index", help="directory that `siamese index` wrote, to search in")
    add("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    add("--port", type=int, default=7860, help="0 picks a free one [%(default)s]")

    add = command(search_commands.serve, "index", "--model").add_argument
    add("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    add("--port", type=int, default=8000, help="0 picks a free one [%(default)s]")
    add("--workers", type=int, default=1, help="processes that answer [%(default)s]")
    allowed = "a name of this server, as a proxy passes it on, beside the address [none]"
    add("--allow-host", nargs="+", default=[], metavar="NAME", help=allowed)

    shared = "--bad-rows", "--column", "--id-column"
    add = command(search_commands.index, "model", *shared).add_argument
    add("questions", metavar="FILE", help="CSV, TSV, JSON Lines, or a question a line")
    add("--output", help="directory of the index [FILE.index]")

    add = command(search_commands.index_add, "index", *shared, "--model").add_argument
    add("questions", metavar="FILE", help="as for `siamese index`")

    add = command(search_commands.index_remove, "index", "--model").add_argument
    add("questions", metavar="FILE", nargs="?", help="an id a line, or questions with their ids")
    add("--ids", nargs="+", metavar="ID")

    shared = "--bad-rows", "--column", "--id-column", "--model"
    search = command(query_commands.search, "index", "--threshold", "--excel", *shared)
    add = search.add_argument
    add("question", nargs="?", help="a new question")
    add("--queries", metavar="FILE", help="a file of new questions, - for standard input")
    add("-k", type=int, default=10, help="how many to find [%(default)s]")
    add("--csv", action="store_true", help="print CSV, a line for each hit")
    add(
        "--where",
        action="append",
        metavar="COLUMN=VALUE",
        help="only old questions with this value in a column; may be repeated",
    )
    add("--min-probability", type=_finite, help="only hits at least so probable, from 0 to 1")
    help = "one hit of each text, but for case, blanks and quotes; it names the others"
    add("--merge-same", action="store_true", help=help)
    modes(search)

    measure = command(query_commands.evaluate_search, "index", *shared)
    add = measure.add_argument
    add("--queries", required=True, metavar="FILE", help="questions with their ids")
    help = "TREC qrels, or CSV with query_id, id and (1 where it is missing) relevance"
    add("--relevant", required=True, metavar="FILE", help=help)
    add("-k", type=int, default=100, help="how many answers count [%(default)s]")
    help = "queries are in the index: leave out the hit with the query's own id"
    add("--leave-out-own", action="store_true", help=help)
    help = (
        "choose the weight of the vectors in hybrid search by MRR here, and save it with the index"
    )
    add("--choose-weight", action="store_true", help=help)
    modes(measure)

    shared = "index", "--threshold", "--output", "--excel", "--bad-rows", "--model"
    duplicates = command(group_commands.duplicates, *shared)
    add = duplicates.add_argument
    add("--largest", type=int, metavar="N", help="the most questions of a group [no bound]")
    add(
        "--choose-threshold",
        metavar="LABELS",
        help="a file of labelled pairs: choose the threshold whose groups have the best B-cubed F1 on "
        "them, from --threshold up [from 0.1 below the model's own]",
    )
    add = duplicates.add_mutually_exclusive_group().add_argument
    add("--pairs", action="store_true", help="write all pairs above the threshold, no groups")
    add("--add", metavar="FILE", help="add its questions to the index; tell which group each joins")

    shared = "--threshold", "--output", "--excel", "--bad-rows"
    add = command(group_commands.match, *shared).add_argument
    add("a", metavar="A", help="the questions to match: CSV, TSV, JSON Lines, or a question a line")
    add("b", metavar="B", help="the questions to match them with")
    add("--model", required=True, help=SHARED["model"]["help"])
    add("-k", type=int, help="matches of each question [1]")
    once = "match no question twice: the best assignment of pairs above the threshold"
    add("--one-to-one", action="store_true", help=once)

    shared = *labelled, "--column", "--id-column", "--model"
    add = command(search_commands.threshold, *shared).add_argument
    help = "a saved model, the directory of a run or an index, or an encoder's name, such as use"
    add("target", metavar="MODEL_OR_INDEX", help=help)
    add("--label", type=int, default=0, metavar="N", help="ask until there are N answers")
    add("--questions", metavar="FILE", help="a list of questions to ask about [the index's]")
    add("--answers", metavar="FILE", help="labelled pairs [MODEL_OR_INDEX.answers.csv]")
    add("--output", metavar="FILE", help="the model to write [the one that was read]")

    add = command(search_commands.import_weights).add_argument
    add("weights", help="model.pkl.gz, or its directory")
    add("output", help="the model to write, one file")
    add("--vocab", required=True, metavar="FILE", help="JSON (word: id), or one word a line")
    add("--threshold", type=_finite, default=0.7, help="[%(default)s]")

    add = command(commands.data, *labelled).add_argument
    add("questions", metavar="FILE", help="a file of labelled pairs")
    add("--train-rows", type=int, help="of the split by rows that is described")
    add("--test-rows", type=int, help="likewise")

    add = command(commands.grade).add_argument
    add("notebooks", metavar="NOTEBOOK", nargs="+", help="an .ipynb file, or a folder of them")
    add("--jobs", type=int, default=1, help="how many at a time [%(default)s]")
    add("--csv", metavar="FILE", help="write a row for each exercise too")
    add(
        "--html",
        metavar="DIR",
        help="write a page for each student, and index.html for the teacher",
    )
    help = "the notebook as students got it: compare right answers too"
    add("--given-out", metavar="NOTEBOOK", help=help)
    help = "only print the docker command that grades the folder in this image"
    add("--container", metavar="IMAGE", help=help)
    add("--notebook", type=int, help="which one they are, 1 to 7 [found out]")
    add("--time-limit", type=float, default=600, help="seconds for the cells of one [%(default)s]")
    add(
        "--check-limit",
        type=_check_limit,
        action="append",
        default=[],
        metavar="[NAME=]SECONDS",
        help="for one check; with a name for that exercise only; may be repeated [180]",
    )
    add("--memory-limit", type=float, default=8, metavar="GIB", help="0 for none [%(default)s]")
    add("--details", action="store_true", help="show every failed case")

    command(commands.doctor)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0; 2 for an error that a user can correct; 130 after Ctrl-C.
    """
    flags = build_parser().parse_args(arguments)
    keep_memory()
    compat.after_import("jax", lambda module: enable_compile_cache())
    for stream in (sys.stdout, sys.stderr):  # what they cannot write becomes a question mark
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        try:
            result = flags.function(flags)
        except ModuleNotFoundError as error:
            explain_missing_trax(error)
            raise
        if isinstance(result, int):  # It has printed its answers as they were made.
            return result
        text, values = result
        write_out(json_text(values) if flags.json else text)
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


if __name__ == "__main__":
    sys.exit(main())
