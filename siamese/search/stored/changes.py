"""What a change of an index does: questions, ids and columns checked, compared with the file, written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import text_list
from siamese.data.text import folded
from siamese.errors import ArgumentError, DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.encoders import valid_unicode
from siamese.search.lexical import stems_of
from siamese.search.stored import file as index_file
from siamese.search.stored.file import text_key


class Added(NamedTuple):
    """What `QuestionIndex.add` did: each question's id; how many were new, replaced one, were there."""

    ids: list[str]
    added: int
    replaced: int
    skipped: int


def checked(questions: Any, ids: Any, columns: Any) -> tuple[list[str], list | None, list | None]:
    """Questions, ids and columns as lists; ids as text."""
    questions = [questions] if isinstance(questions, str) else text_list(questions, "the index")
    for name, values in (("ids", ids), ("columns", columns)):
        if values is not None and len(values) != len(questions):
            raise ArgumentError(f"{len(values)} {name} for {len(questions)} questions.")
    if ids is not None:
        ids = list(map(_id, ids))
        for i, times in Counter(ids).items():
            if times > 1:
                raise DataError(
                    f"The id {i!r} stands there {times} times; ids must be all different."
                )
    return list(map(valid_unicode, questions)), ids, None if columns is None else list(columns)


def _id(value: Any) -> str:
    if (
        isinstance(value, bool)
        or not isinstance(value, (str, int, np.integer))
        or "\0" in str(value)
    ):
        raise DataError(f"An id must be text or a whole number, not {value!r:.40}.")
    return valid_unicode(str(value))


def encoded(
    detector: DuplicateDetector, questions: list[str], places: Sequence[int], **options: Any
) -> np.ndarray:
    """The vectors of the questions at some places; DataError for one without words."""
    vectors = detector.encode([questions[at] for at in places], **options)
    for at in np.flatnonzero(~vectors.any(axis=1)):
        place = places[int(at)]
        raise DataError(
            f"Question {place} (from 0) has no words: {questions[place][:40]!r}. Leave it out."
        )
    return vectors


def compared(
    db: Any, questions: list[str], ids: list[str] | None
) -> tuple[list[int], list[int], list[str | None]]:
    """What `add` does: the places of what it writes, the rows that go, and the ids that are known."""
    if ids is None:
        keys = [text_key(folded(question)) for question in questions]
        stored = index_file.rows_where(db, "key", [*set(keys)])
        id_of = {key: i for _, i, key, *_ in sorted(stored, reverse=True)}
        known = [id_of.get(key) for key in keys]
        return [at for at, i in enumerate(known) if i is None], [], known
    stored = {row[1]: row for row in index_file.rows_where(db, "id", ids)}
    texts = {i: text for i, (_, _, _, text, _) in stored.items()}
    new = [at for at, i in enumerate(ids) if texts.get(i) != questions[at]]
    return new, [stored[ids[at]][0] for at in new if ids[at] in stored], list(ids)


def update_columns(db: Any, ids: list[str] | None, columns: list | None) -> int:
    """Writes the columns that changed of stored questions, whose groups and answers stay; how many."""
    if ids is None or columns is None:
        return 0
    stored = {row[1]: entry(row)["columns"] for row in index_file.rows_where(db, "id", ids)}
    changed = [(json_columns(c), i) for i, c in zip(ids, columns) if stored.get(i, c) != c]
    db.executemany("update question set columns = ? where id = ?", changed)
    if changed:  # Readers look at the columns again.
        removals = index_file.settings(db)["removals"]
        index_file.write_settings(db, removals=removals + 1)
    return len(changed)


def json_columns(columns: Any) -> str | None:
    """A question's columns as the file has them."""
    return json.dumps(columns, ensure_ascii=True) if columns else None


def written(
    db: Any,
    detector: DuplicateDetector,
    questions: list[str],
    ids: list[str] | None,
    columns: list | None,
    vectors: Sequence,
) -> list[str]:
    """Writes new questions; returns their ids, the next free numbers where there are none."""
    following = index_file.settings(db)["next_id"]
    if ids is None:
        ids = [str(following + n) for n in range(len(questions))]
    numbers = [int(i) for i in ids if i.isdecimal() and len(i) < 18]
    index_file.write_settings(db, next_id=max([following, *(n + 1 for n in numbers)]))
    texts = list(map(folded, questions))
    stems = index_file.term_numbers(db, list(map(stems_of, texts)))
    columns = [None] * len(questions) if columns is None else columns
    others = list(map(json_columns, columns))
    keys = list(map(text_key, texts))
    unknown = np.flatnonzero(detector.without_known_words(questions))
    index_file.insert(db, ids, keys, questions, others, stems, vectors, unknown)
    return ids


def stored(db: Any, ids: Iterable[str | int]) -> list[tuple]:
    """The stored questions with some ids, each once; ArgumentError for an id that is not there."""
    ids = list(dict.fromkeys(map(str, ids)))
    stored = {row[1]: row for row in index_file.rows_where(db, "id", ids)}
    for i in ids:
        if i not in stored:
            raise ArgumentError(f"There is no question with the id {i!r} in the index.")
    return [stored[i] for i in ids]


def entry(stored: tuple) -> dict[str, Any]:
    """A row of the table of questions as id, question and columns."""
    _, i, _, text, columns = stored
    return {"id": i, "question": text, "columns": json.loads(columns) if columns else {}}


def entries_at(
    db: Any, rows: np.ndarray, places: list[np.ndarray]
) -> dict[int, dict[str, Any]] | None:
    """The questions at some places of a state's rows; None where one of them was removed since."""
    distinct = np.unique(np.concatenate([np.zeros(0, np.int64), *places]))
    some = rows[distinct].tolist()
    stored = {row[0]: entry(row) for row in index_file.rows_where(db, "row", some)}
    if len(stored) < len(some):
        return None
    return {place: stored[row] for place, row in zip(distinct.tolist(), some)}
