"""Hand-ins whose code is the same. That is a reason to ask, and proves nothing."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siamese.teaching.grade import Grade

MOST_MAGICS = 200  # in a cell; IPython reads the cell anew for each, 600 took a minute
WHOLE = "all exercises, comments and names too"
# What Python and IPython raise for code that is none, or that was written to break its readers.
_UNREADABLE = SyntaxError, ValueError, RuntimeError, MemoryError, tokenize.TokenError
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings(action="ignore"):  # such as that of "\\d" in a student's text
        return ast.parse(text)


def parsed(code: str) -> tuple[str, ast.Module]:
    """A cell as Python, its magics translated: text and tree; an empty tree where it is not Python."""
    from IPython.core.inputtransformer2 import TransformerManager

    with contextlib.suppress(*_UNREADABLE):
        return code, _parse(code)
    with contextlib.suppress(*_UNREADABLE):
        if len(re.findall(r"^.*[%!?]", code, re.MULTILINE)) <= MOST_MAGICS:
            text = TransformerManager().transform_cell(code)
            return text, _parse(text)
    return "", ast.Module([], [])


def functions(cells: Iterable[str], names: Container[str]) -> dict[str, str]:
    """The text of the functions of those names, each as its last definition at top level has it."""
    found = {}
    for text, tree in map(parsed, cells):
        for node in tree.body:
            if isinstance(node, _FUNCTIONS) and node.name in names:
                node.end_col_offset = sys.maxsize  # A comment after its last word is of it.
                found[node.name] = ast.get_source_segment(text, node).rstrip()
    return found


def words(texts: Iterable[str]) -> set[str]:
    """The comments of functions, and the names of their variables: what an author chooses."""
    found: set[str] = set()
    for text in texts:
        with contextlib.suppress(*_UNREADABLE):
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            found |= {token.string for token in tokens if token.type == tokenize.COMMENT}
            found |= {getattr(*place) for place in _bound_names(_parse(text))}
    return found


def find_copies(grades: Sequence[Grade], given_out: set[str] | None = None) -> None:
    """Writes into each grade's `copies` which other hand-ins of the same notebook have the same code.

    A wrong answer counts where it is the same but for comments, docstrings, spacing and the names of
    local variables. Right answers of short exercises are alike by chance: they count only where all
    exercises are the same to the letter, with a comment or a variable that the students were not given.

    Args:
      grades: with their `code`.
      given_out: the `words` of the notebooks that the students began with; without them right answers
        are not compared.
    """
    alike: dict[tuple, list[Grade]] = defaultdict(list)
    for grade in grades:
        for one in grade.exercises:
            name = one["function"]
            if one["written"] and one["points"] < one["out_of"] and name in grade.code:
                alike[grade.notebook, name, _shape(grade.code[name])].append(grade)
        texts = tuple(sorted(grade.code.values()))
        if given_out is not None and not words(texts) <= given_out:
            alike[grade.notebook, WHOLE, texts].append(grade)
    for (_, what, _), group in alike.items():
        for grade in group:
            if others := [other.file for other in group if other is not grade]:
                grade.copies.append({"what": what, "files": others})


def _bound_names(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """Each place where a name is bound, arguments and inner functions too: (node, its attribute)."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node, "id"))
        elif isinstance(node, ast.arg):
            found.append((node, "arg"))
        elif isinstance(node, _FUNCTIONS):
            found.append((node, "name"))
    return found


def _shape(text: str) -> str:
    """A function without comments, docstrings, spacing and the names of its variables, to compare."""
    try:
        tree = _parse(text)
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS | ast.ClassDef) and ast.get_docstring(node) is not None:
                del node.body[0]
        bound = _bound_names(tree)
        numbers = {name: f"_{i}" for i, name in enumerate({getattr(*place): 0 for place in bound})}
        for node, attribute in bound:
            setattr(node, attribute, numbers[getattr(node, attribute)])
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = numbers.get(node.id, node.id)
        return ast.dump(tree)
    except _UNREADABLE:
        return text
