"""The command `siamese`: reads the command line and hands over to `siamese.cli.commands`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from siamese import __version__, compat
from siamese.cli.output import write_out
from siamese.compat.process import enable_compile_cache, keep_memory
from siamese.errors import SiameseError, explain_missing_trax
from siamese.search.display import LAYOUT, harmless, json_text
from siamese.training.config import add_config_flags

EXAMPLES = {
    None: """\
examples:
  siamese demo                                       train on the embedded corpus and answer
  siamese train --questions questions.csv            the course's experiment on Quora's file
  siamese export runs/course                         a model of a run that was stopped
  siamese evaluate runs/course --questions new.csv   how good a saved model is on labelled pairs
  siamese predict runs/course "How old are you?" "What is your age?"
  siamese explain runs/course "How old are you?" "What is your age?"     which words decide
  siamese index runs/course questions.csv --output old                   encode old questions once
  siamese index add old more.csv                     add to it; siamese index remove old --ids 7
  siamese search old "How old are you?"              has it been asked before?
  siamese duplicates old --output groups.csv         groups of duplicates in the whole list
  siamese app runs/course --index old                all of that on a local web page
  siamese import-weights model.pkl.gz mine --vocab vocab.json            a model of the course's file
  siamese data questions.csv                         what is in a file of pairs
  siamese grade handed-in/*.ipynb                    run and check students' notebooks
  siamese doctor                                     versions, devices, what was patched and why""",
    "demo": """\
example:
  siamese demo --output demo --steps 300""",
    "train": """\
examples:
  siamese train --questions questions.csv --train-rows 300000 --test-rows 10240
  siamese train --questions questions.csv.gz --output runs/small --d-model 64 --epochs 2
  siamese train --questions questions.csv --steps 2000    (goes on where it stopped)""",
    "export": """\
examples:
  siamese export runs/course
  siamese export runs/course --step 800 --output model800""",
    "evaluate": """\
examples:
  siamese evaluate runs/course --questions questions.csv --skip-rows 300000 --rows 10240
  siamese evaluate runs/course --questions pairs.jsonl --threshold 0.7 --json
  siamese evaluate runs/course --questions questions.csv --report report      (needs matplotlib)""",
    "predict": """\
examples:
  siamese predict runs/course "How old are you?" "What is your age?"
  siamese predict runs/course "How old are you?" "What is your age?" --threshold 0.7 --json
  siamese predict runs/course pairs.csv > answers.csv     (CSV, TSV or JSON Lines: a line for each line)
  ... | siamese predict runs/course -""",
    "explain": """\
example:
  siamese explain runs/course "How old are you?" "What is your age?"
  siamese explain runs/course "How old are you?" "What is your age?" --plot words.png""",
    "app": """\
examples:
  siamese app runs/course
  siamese app runs/course --index old --port 8000       (needs gradio: pip install gradio)""",
    "index": """\
examples:
  siamese index runs/course questions.csv --output old
  siamese index runs/course faq.jsonl --output faq --column title --storage float16
  siamese index add old more.csv         (costs kilobytes; pages that search the index see it at once)
  siamese index remove old --ids 7 12""",
    "index add": """\
example:
  siamese index add old more.csv""",
    "index remove": """\
examples:
  siamese index remove old --ids 7 12
  siamese index remove old ids.txt""",
    "search": """\
examples:
  siamese search old "How old are you?"
  siamese search old "How old are you?" -k 3 --json""",
    "duplicates": """\
examples:
  siamese duplicates old > groups.csv
  siamese duplicates old --threshold 0.9 --output groups.csv""",
    "import-weights": """\
example:
  siamese import-weights model.pkl.gz --vocab vocab.json mine""",
    "grade": """\
examples:
  siamese grade handed-in/*.ipynb
  siamese grade 04_assignment.ipynb --details
  siamese grade handed-in/*.ipynb --notebook 4 --json > grades.json""",
    "data": """\
examples:
  siamese data questions.csv
  siamese data train.tsv.gz --strict --json""",
    "doctor": """\
example:
  siamese doctor --json""",
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
    parser = _Parser(
        prog="siamese",
        description="Siamese networks for question duplicates: train, evaluate, answer.",
        epilog=EXAMPLES[None],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"siamese {__version__}")
    a_model = "directory of a saved model or of a training run"
    an_index = "directory that `siamese index` wrote"
    column = {"help": "the column with the questions [found by its name]"}
    id_column = {"help": "the column with their ids [found by its name]"}
    excel = {
        "action": "store_true",
        "help": "put ' before text that a spreadsheet would run (= + - @)",
    }
    labelled = {"required": True, "metavar": "FILE", "help": "labelled pairs, any format"}
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    bad_rows = {
        "choices": ("refuse", "skip"),
        "default": "refuse",
        "help": "rows that cannot be read: list them and stop, or leave them out [%(default)s]",
    }

    def command(name: str, help: str) -> argparse.ArgumentParser:
        options = {"help": help, "description": help, "epilog": EXAMPLES[name]}
        made = commands.add_parser(name, formatter_class=parser.formatter_class, **options)
        made.add_argument("--json", action="store_true", help="print one JSON object, for machines")
        return made

    demo = command("demo", "train on the embedded corpus, evaluate, and answer two questions")
    add = demo.add_argument
    add("--output", default="demo", help="directory of the run [%(default)s]")
    add("--steps", type=int, default=300, help="training steps [%(default)s]")
    add("--seed", type=int, default=34, help="of weights and batches [%(default)s]")

    train = command("train", "train on labelled pairs; by default the course's experiment")
    add = train.add_argument
    add("--questions", **labelled)
    add("--bad-rows", **bad_rows)
    add("--train-rows", type=int, help="the first rows train [300000, or 9 in 10]")
    add("--test-rows", type=int, help="the rows after them test [10240, or the rest]")
    add(
        "--split",
        choices=("rows", "shuffled", "clusters"),
        help="rows in the file's order, drawn by a fixed seed, or drawn so that no question stands on "
        "both sides [rows with --train-rows or above 300000 rows, else shuffled]",
    )
    add(
        "--valid-rows",
        type=int,
        help="the last of the training rows validate and choose the threshold [the last duplicates "
        "validate, the last rows choose]",
    )
    add("--output", default="runs/course", help="directory of the run [%(default)s]")
    intent = train.add_mutually_exclusive_group()
    intent.add_argument("--resume", action="store_true", help="go on under changed choices")
    intent.add_argument("--overwrite", action="store_true", help="start anew in the same directory")
    hosts = train.add_argument_group("several processes (each runs this command; one writes)")
    hosts.add_argument(
        "--distributed", action="store_true", help="join as the cluster says (Slurm, MPI)"
    )
    hosts.add_argument("--coordinator", metavar="HOST:PORT", help="address of the first process")
    hosts.add_argument("--processes", type=int, help="how many there are")
    hosts.add_argument("--process-id", type=int, help="which one this is, from 0")
    add_config_flags(train)

    add = command("export", "make a saved model of a run's checkpoint").add_argument
    add("run", help="directory of `siamese train`")
    add("--step", type=int, help="of the checkpoint [the newest]")
    add("--output", help="directory of the model [RUN/model]")

    add = command("evaluate", "measure a saved model on labelled pairs").add_argument
    add("model", help=a_model)
    add("--questions", **labelled)
    add("--bad-rows", **bad_rows)
    add("--skip-rows", type=int, default=0, help="rows to leave out at the start")
    add("--rows", type=int, help="rows to measure on [all that follow]")
    add("--threshold", type=_finite, help="cosine for a duplicate [the model's own]")
    add("--report", metavar="DIR", help="write an HTML page with plots and mistakes")

    predict = command("predict", "say whether two questions, or many pairs, are duplicates")
    add = predict.add_argument
    add("model", help=a_model)
    add("question1", help="a question; or a file of pairs, - for standard input")
    add("question2", nargs="?", help="the other question")
    add("--bad-rows", **{**bad_rows, "help": "of a file: answer with an error, or leave out"})
    add("--threshold", type=_finite, help="cosine for a duplicate [the model's own]")
    add("--excel", **excel)

    add = command("explain", "show which words make two questions alike or different").add_argument
    add("model", help=a_model)
    add("question1")
    add("question2")
    add(
        "--plot", metavar="FILE", help="draw the words there: .png, .svg or .pdf (needs matplotlib)"
    )

    app = command("app", "serve a local web page: compare two questions, search old ones")
    add = app.add_argument
    add("model", help=a_model)
    add("--index", help="directory that `siamese index` wrote, to search in")
    add("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    add("--port", type=int, default=7860, help="0 picks a free one [%(default)s]")

    add = command(
        "index", "encode a list of questions, to search it and to find duplicates in it"
    ).add_argument
    add("model", help=a_model)
    add("questions", metavar="FILE", help="CSV, TSV, JSON Lines, or a question a line")
    add("--output", help="directory of the index [FILE.index]")
    add("--bad-rows", **bad_rows)
    add("--column", **column)
    add("--id-column", **id_column)
    add("--storage", choices=("float32", "float16", "int8"), default="float32")
    add(
        "--approximate",
        action=argparse.BooleanOptionalAction,
        help="make a graph for approximate search [from 500,000 questions on]",
    )

    add = command("index add", "add a file's questions to an index").add_argument
    add("index", help=an_index)
    add("questions", metavar="FILE", help="as for `siamese index`")
    add("--bad-rows", **bad_rows)
    add("--column", **column)
    add("--id-column", **id_column)
    add("--model", help="the model [where `siamese index` found it]")

    add = command("index remove", "remove questions from an index by their ids").add_argument
    add("index", help=an_index)
    add("questions", metavar="FILE", nargs="?", help="an id a line, or questions with their ids")
    add("--ids", nargs="+", metavar="ID")
    add("--model", help="the model [where `siamese index` found it]")

    search = command("search", "find old questions that are similar to a new one")
    add = search.add_argument
    add("index", help=an_index)
    add("question")
    add("-k", type=int, default=10, help="how many to find [%(default)s]")
    add("--threshold", type=_finite, help="cosine that is marked * [the model's own]")
    add("--model", help="the model [where `siamese index` found it]")
    how = search.add_mutually_exclusive_group()
    how.add_argument("--exact", action="store_true", help="look at all [without a graph]")
    how.add_argument(
        "--approximate", action="store_true", help="through a graph [where it has one]"
    )

    add = command("duplicates", "find the groups of duplicates in an index, as CSV").add_argument
    add("index", help=an_index)
    add("--threshold", type=_finite, help="cosine that joins [the model's own]")
    add("--output", metavar="FILE", help="write the CSV there [standard output]")
    add("--excel", **excel)
    add("--model", help="the model [where `siamese index` found it]")

    add = command("import-weights", "make a saved model of the course's model.pkl.gz").add_argument
    add("weights", help="model.pkl.gz, or its directory")
    add("output", help="directory of the saved model")
    add("--vocab", required=True, metavar="FILE", help="JSON (word: id), or one word a line")
    add("--threshold", type=_finite, default=0.7, help="[%(default)s]")

    add = command("data", "tell what is in a file of question pairs").add_argument
    add("questions", metavar="FILE", help="a file of labelled pairs")
    add("--strict", action="store_true", help="refuse a file with anything amiss")
    add("--bad-rows", **bad_rows)
    add("--train-rows", type=int, help="of the split by rows that is described")
    add("--test-rows", type=int, help="likewise")

    add = command("grade", "run students' notebooks and check their functions").add_argument
    add("notebooks", metavar="NOTEBOOK", nargs="+", help="an .ipynb file")
    add("--notebook", type=int, help="which one they are, 1 to 7 [found out]")
    add("--time-limit", type=float, default=600, help="seconds for the cells of one [%(default)s]")
    add("--check-limit", type=float, default=180, help="seconds for one check [%(default)s]")
    add("--memory-limit", type=float, default=8, metavar="GIB", help="0 for none [%(default)s]")
    add("--details", action="store_true", help="show every failed case")

    command("doctor", "print versions, devices, what was patched and why, what is missing")
    return parser


def _command_function(flags: argparse.Namespace) -> Callable[[argparse.Namespace], Any]:
    from siamese.cli import commands, search_commands

    name = flags.command.replace("-", "_").replace(" ", "_")
    if name == "predict" and flags.question2 is None:
        name = "predict_many"
    return getattr(commands, name, None) or getattr(search_commands, name)


def _finite(text: str) -> float:
    """A flag's value as a number; NaN and infinity would answer without comparing anything."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0; 2 for an error that a user can mend; 1 where `predict` answered a file and some of its lines had
    an error; 130 after Ctrl-C.
    """
    flags = build_parser().parse_args(arguments)
    keep_memory()
    compat.after_import("jax", lambda module: enable_compile_cache())
    for stream in (sys.stdout, sys.stderr):  # what they cannot write becomes a question mark
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        try:
            result = _command_function(flags)(flags)
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
