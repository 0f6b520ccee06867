"""The flags of every command, read from its parser."""

import argparse

from siamese.cli.main import build_parser


def _flags(parser, name):
    found = {
        name: set(parser._option_string_actions)
    }  # argparse has no public way to ask for them
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part, below in action.choices.items():
                found |= _flags(below, f"{name} {part}".strip())
    return found


# "index add" -> {"--json", ...}; "" is `siamese` itself.
FLAGS = _flags(build_parser(), "")
