"""Reading of labelled pairs for the commands, whose questions may be named by the ids of a list."""

from __future__ import annotations

import contextlib
import os
from typing import Any, NamedTuple

from siamese.cli.arguments import PairReading
from siamese.cli.reading import (
    Source,
    about_list,
    findings,
    kind_of,
    question_list,
    row_options,
)
from siamese.errors import SiameseError
from siamese.reading.pairs import QuestionPairs, has_links, names_by_id, read_pairs


class ReadPairs(NamedTuple):
    """Labelled pairs as a command reads them."""

    pairs: QuestionPairs
    # id -> question of the list whose ids the pairs name; None where they name texts.
    texts: dict[str, str] | None
    notes: list[str]  # what is to be said of both


def labelled_pairs(
    path: str,
    read: PairReading,
    *,
    listed: str | None = None,
    source: Source | None = None,
    labels: bool = True,
) -> ReadPairs:
    """The pairs of a file.

    Args:
      path: the file.
      read: how it is read, and how the list is: then a `LinkReading`.
      listed: the list or index whose ids it names.
      source: the index or list whose ids it may name where no other list is given.
      labels: False for a file whose labels are not read.
    """
    notes: list[str] = []
    texts = None
    if listed:
        texts, notes = _texts_by_id(listed, read)
    elif source is not None and not read.columns and _names_by_id(path, read):
        entries = source.index().snapshot().entries
        texts = {entry["id"]: entry["question"] for entry in entries}
        notes = [f"{path} names questions of {source.path} by their ids."]
    options = {**row_options(read), "texts": texts, "labels": labels}
    pairs = read_pairs(path, columns=read.columns or (), **options)
    return ReadPairs(pairs, texts, [*notes, *findings(pairs.report)])


def _texts_by_id(path: str, read: Any) -> tuple[dict[str, str], list[str]]:
    """The questions of a list or an index by their ids, and what is to be said of it."""
    if kind_of(path) == "index":
        from siamese.index import QuestionIndex

        with QuestionIndex.open(path) as index:
            return {own["id"]: own["question"] for own in index.snapshot().entries}, []
    questions = question_list(path, read)
    texts = dict(zip(questions.ids, questions.questions))
    return texts, about_list(path, questions)


def _names_by_id(path: str, read: PairReading) -> bool:
    return os.path.isfile(path) and names_by_id(path, read.encoding)


def is_list_with_links(path: str, read: PairReading) -> bool:
    """Whether a file is a list of questions with links between them, in place of labelled pairs."""
    if read.columns or not os.path.isfile(path):
        return False
    with contextlib.suppress(SiameseError):  # What it is, `read_pairs` says.
        return has_links(path, encoding=read.encoding)
    return False
