"""The command `siamese`: reads the command line and hands over to `siamese.commands`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from siamese import __version__
from siamese.config import add_config_flags
from siamese.errors import SiameseError

EXAMPLES = {
    None: """\
examples:
  siamese demo                                       train on the embedded corpus and answer
  siamese train --questions questions.csv            the course's experiment on Quora's file
  siamese evaluate runs/course --questions new.csv   how good a saved model is on labelled pairs
  siamese predict runs/course "How old are you?" "What is your age?"
  siamese data questions.csv                         what is in a file of pairs
  siamese doctor                                     versions, devices, what was patched and why""",
    "demo": """\
example:
  siamese demo --output demo --steps 300""",
    "train": """\
examples:
  siamese train --questions questions.csv --train-rows 300000 --test-rows 10240
  siamese train --questions questions.csv.gz --output runs/small --d-model 64 --epochs 2
  siamese train --questions questions.csv --steps 2000    (goes on where it stopped)""",
    "evaluate": """\
examples:
  siamese evaluate runs/course --questions questions.csv --skip-rows 300000 --rows 10240
  siamese evaluate runs/course --questions pairs.jsonl --threshold 0.7 --json""",
    "predict": """\
examples:
  siamese predict runs/course "How old are you?" "What is your age?"
  siamese predict runs/course "How old are you?" "What is your age?" --threshold 0.7 --json""",
    "data": """\
examples:
  siamese data questions.csv
  siamese data train.tsv.gz --strict --json""",
    "doctor": """\
example:
  siamese doctor --json""",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; imports nothing heavy."""
    parser = _formatted(
        argparse.ArgumentParser(
            prog="siamese",
            description="Siamese networks for question duplicates: train, evaluate, answer.",
            epilog=EXAMPLES[None],
        )
    )
    parser.add_argument("--version", action="version", version=f"siamese {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, help: str) -> argparse.ArgumentParser:
        made = _formatted(
            commands.add_parser(name, help=help, description=help, epilog=EXAMPLES[name])
        )
        made.add_argument("--json", action="store_true", help="print one JSON object, for machines")
        return made

    demo = command("demo", "train on the embedded corpus, evaluate, and answer two questions")
    demo.add_argument("--output", default="demo", help="directory of the run [%(default)s]")
    demo.add_argument("--steps", type=int, default=300, help="training steps [%(default)s]")
    demo.add_argument(
        "--seed", type=int, default=34, help="of corpus, weights, batches [%(default)s]"
    )

    train = command("train", "train on labelled pairs; by default the course's experiment")
    train.add_argument(
        "--questions", required=True, metavar="FILE", help="labelled pairs, any format"
    )
    train.add_argument("--train-rows", type=int, help="the first rows train [300000, or 9 in 10]")
    train.add_argument(
        "--test-rows", type=int, help="the rows after them test [10240, or the rest]"
    )
    train.add_argument(
        "--valid-rows",
        type=int,
        help="the last of the training rows validate and choose the threshold [the last duplicates "
        "validate, the last rows choose]",
    )
    train.add_argument("--output", default="runs/course", help="directory of the run [%(default)s]")
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

    evaluate = command("evaluate", "measure a saved model on labelled pairs")
    evaluate.add_argument("model", help="directory of a saved model or of a training run")
    evaluate.add_argument(
        "--questions", required=True, metavar="FILE", help="labelled pairs, any format"
    )
    evaluate.add_argument("--skip-rows", type=int, default=0, help="rows to leave out at the start")
    evaluate.add_argument("--rows", type=int, help="rows to measure on [all that follow]")
    evaluate.add_argument(
        "--threshold", type=float, help="cosine for a duplicate [the model's own]"
    )

    predict = command("predict", "say whether two questions are duplicates")
    predict.add_argument("model", help="directory of a saved model or of a training run")
    predict.add_argument("question1")
    predict.add_argument("question2")
    predict.add_argument("--threshold", type=float, help="cosine for a duplicate [the model's own]")

    data = command("data", "tell what is in a file of question pairs")
    data.add_argument("questions", metavar="FILE", nargs="+", help="one file, or two text files")
    data.add_argument("--strict", action="store_true", help="refuse a file with anything amiss")
    data.add_argument("--train-rows", type=int, help="of the split by rows that is described")
    data.add_argument("--test-rows", type=int, help="likewise")

    command("doctor", "print versions, devices, what was patched and why, what is missing")
    return parser


def _formatted(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code: 0, or 2 for an error that a user can mend."""
    flags = build_parser().parse_args(arguments)
    try:
        from siamese import commands

        result = getattr(commands, flags.command)(flags)
        print(json.dumps(result.as_json, ensure_ascii=False) if flags.json else result.as_text)
        return 0
    except SiameseError as error:
        print(f"siamese {flags.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `siamese ... | head`
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
