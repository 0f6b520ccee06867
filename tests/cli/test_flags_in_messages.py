"""A string of the package names only flags and commands that are there where it is printed."""

import ast
import re
from pathlib import Path

import pytest
from command_flags import FLAGS

import siamese
from siamese.cli.messages import in_flags

PACKAGE = Path(siamese.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
COMMAND = re.compile(
    r"(?:`|^ {2,}|(?:it|first|build|question of a file|fit it): |; )"
    r"siamese (index (?:build|add|remove|export)|[a-z][a-z-]*)([^`;\n]*)",
    re.M,
)
OTHER_PROGRAMS = re.compile(r"(?:pip install|python -m|docker) [^`;,\n]*")
LISTS = {"search", "duplicates", "match", "serve", "threshold", "evaluate"}
LISTS |= {"index build", "index add", "train"}
PAIRS = {"data", "train", "evaluate", "threshold", "predict"}
ON_INDEXES = {"search", "duplicates", "serve", "threshold", "evaluate"}
ON_INDEXES |= {"index add", "index remove", "index export"}
WRITE = {
    "train",
    "threshold",
    "import-weights",
    "predict",
    "match",
    "duplicates",
    "index build",
}
# Where a string stands -> the commands that may print it. Below cli/ and serving/ the
# package speaks Python, and `siamese.cli.messages` puts flags in its place.
PRINTED_BY = {
    "serving": {"serve"},
    "cli/answering.py": {"search"},
    "cli/answers.py": {"threshold"},
    "cli/arguments.py": set(),  # It declares them; test_effects.py has a row for each refused.
    "cli/asking.py": {"threshold"},
    "cli/duplicates.py": {"duplicates"},
    "cli/indexing.py: _check_form": {"index add"},
    "cli/pairs.py": {"duplicates"},
    "cli/labels.py": {"evaluate"},
    "cli/main.py": {""},
    "cli/messages.py": set(),  # It puts them in the place of Python's arguments.
    "cli/output.py: claim": WRITE,
    "cli/reading.py": ON_INDEXES,
    "cli/threshold.py": {"threshold"},
    "cli/training.py": {"train"},
}
ABOVE = ("cli/", "serving/", "teaching/checks/")


def docstrings(tree):
    """Which nodes are docstrings."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return {id(node.body[0].value) for node in nodes if ast.get_docstring(node)}


def strings():
    """(file, function, text) of every string; below cli/ no docstrings; of an f-string its fixed parts."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        tree = ast.parse(path.read_text("utf-8"))
        skipped = set() if file.startswith(ABOVE) else docstrings(tree)
        for top in tree.body:
            inside = set(skipped)  # an f-string's parts, which come after it
            for node in ast.walk(top):
                if id(node) in inside or not isinstance(
                    node, (ast.Constant, ast.JoinedStr)
                ):
                    continue
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                inside |= set(map(id, parts))
                texts = [getattr(part, "value", None) for part in parts]
                text = "".join(
                    text if isinstance(text, str) else "{}" for text in texts
                )
                if "siamese " in text or "--" in text:
                    found.append((file, getattr(top, "name", ""), text))
    return found


def printed_by(file, function):
    """The commands that may print a string of a function; None where that is not known."""
    command = function.replace("index_", "index ").replace("_", "-")
    if file.startswith("cli/") and command and command in FLAGS:
        return {command}
    places = [
        f"{file}: {function}",
        file,
        file.rpartition("/")[0],
        file.partition("/")[0],
    ]
    return next((PRINTED_BY[place] for place in places if place in PRINTED_BY), None)


def test_a_message_names_only_commands_and_flags_that_exist_where_it_is_printed():
    named, wrong = set(), []
    for file, function, text in strings():
        for command, rest in COMMAND.findall(text):
            named.add(command)
            if command not in FLAGS:
                wrong.append(
                    f"{file}, {function}: there is no command `siamese {command}`"
                )
            missing = set(FLAG.findall(rest)) - FLAGS.get(command, set())
            wrong += [
                f"{file}, {function}: `siamese {command}` has no {flag}"
                for flag in missing
            ]
        flags = set(FLAG.findall(OTHER_PROGRAMS.sub("", COMMAND.sub("", text)))) - {
            "--help"
        }
        commands = printed_by(file, function)
        if flags and commands is None:
            wrong.append(f"{file}, {function}: {flags}: which command prints this?")
        for command in commands or ():
            if lacking := flags - FLAGS[command]:
                wrong.append(
                    f"{file}, {function}: `siamese {command}` prints and lacks {lacking}"
                )
        if (flags or COMMAND.search(text)) and not file.startswith(ABOVE):
            wrong.append(f"{file}, {function}: {text!r} speaks to the command line")
    assert not wrong, "\n".join(wrong)
    assert named >= set(FLAGS) - {
        "",
        "index",
    }  # Each command stands in an example at least.


def test_the_reading_flags_are_the_same_wherever_questions_or_pairs_are_read():
    lists, pairs = {"--column", "--id-column"}, {"--columns"}
    lists, pairs = ({"--bad-rows", "--encoding", *flags} for flags in (lists, pairs))
    for command in FLAGS:
        assert (command in LISTS) == (lists <= FLAGS[command]), command
        assert (command in PAIRS) == (pairs <= FLAGS[command]), command
        assert command in ("", "index") or "--json" in FLAGS[command], command


def arguments_of_errors():
    """(file, argument) of each argument that an error of the package tells to pass or leave out."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_list = isinstance(node, ast.keyword) and node.arg == "arguments"
            if is_list and isinstance(node.value, (ast.Tuple, ast.List)):
                names = [part.value for part in node.value.elts]
                found |= {(str(path.relative_to(PACKAGE)), name) for name in names}
    return sorted(found)


@pytest.mark.parametrize(("file", "name"), arguments_of_errors())
def test_an_argument_that_an_error_names_is_a_flag_of_a_command(file, name):
    (flag,) = re.findall(r"^--[a-z-]+", in_flags(f"{name}=", [name]))
    assert flag in set().union(*FLAGS.values())


@pytest.mark.parametrize(
    ("python", "names", "command_line"),
    [
        ("Pass overwrite=True, or go.", ["overwrite"], "Pass --overwrite, or go."),
        ("out with bad_rows='skip'.", ["bad_rows"], "out with --bad-rows skip."),
        ('with column="it\'s"', ["column"], "with --column 'it'\"'\"'s'"),
        ("with threshold=-0.5.", ["threshold"], "with --threshold -0.5."),
        ("by_cluster=True divides", ["by_cluster"], "--split clusters divides"),
        ("a smaller batch_size, or", ["batch_size"], "a smaller --batch-size, or"),
        (
            "batch_size.csv has no column",
            ["batch_size"],
            "batch_size.csv has no column",
        ),
        ("the column of a file", ["column"], "the column of a file"),
    ],
)
def test_an_error_speaks_in_flags(python, names, command_line):
    assert in_flags(python, names) == command_line
