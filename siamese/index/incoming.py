"""Questions that come into an index: checked, encoded, and compared with those that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from siamese.encoders.protocol import valid_unicode
from siamese.errors import ArgumentError, DataError
from siamese.model.decision import ReadTexts
from siamese.model.detector import DuplicateDetector
from siamese.system.arguments import counted
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.repeated import Repeated
from siamese.text.values import as_list, json_value, text_list
from siamese.text.wrapping import plain_lines

# Of an id that the numbers of later questions follow; longer ones are skipped.
COUNTED_DIGITS = 18


class Incoming(NamedTuple):
    """Questions that come in."""

    texts: list[str]
    ids: list[str] | None
    columns: list[JsonObject] | None  # JSON values

    @classmethod
    def checked(cls, questions: Any, ids: Any, columns: Any) -> Incoming:
        """Questions, ids as text, columns as values of JSON; for errors see `QuestionIndex.build`."""
        questions = text_list(questions, "the index")
        if ids is not None:
            ids = as_list(ids, "ids must be a list with an id of each question")
            ids = list(map(as_id, ids))
            ((i, times),) = Counter(ids).most_common(1) or [("", 0)]
            if times > 1:
                raise DataError(
                    f"The id {i!r} stands there {times} times; ids must be all different."
                )
        if columns is not None:
            what = "columns must be a list with a dict of each question"
            columns = list(map(_json_columns, as_list(columns, what)))
        for name, values in (("ids", ids), ("columns", columns)):
            if values is not None and len(values) != len(questions):
                what = f"{len(values)} {name} for {len(questions)} questions."
                raise ArgumentError(what)
        return cls(list(map(valid_unicode, questions)), ids, columns)

    def at(self, places: Sequence[int]) -> Incoming:
        """Those at some places."""
        texts, ids, columns = self
        return Incoming(
            [texts[at] for at in places],
            None if ids is None else [ids[at] for at in places],
            None if columns is None else [columns[at] for at in places],
        )


def _json_columns(values: object) -> JsonObject:
    """The columns of one question as values of JSON."""
    if values is not None and not isinstance(values, Mapping):
        raise DataError(
            f"columns must hold a dict of each question, not {values!r:.40}."
        )
    return json_value(values or {})


def as_id(value: object) -> str:
    """An id as it is stored; DataError for what is none."""
    is_one = isinstance(value, (str, int, np.integer))
    if not is_one or "\0" in str(value) or not str(value).strip():
        what = "text, neither blank nor with NUL, or a whole number"
        raise DataError(f"An id must be {what}, not {value!r:.40}.")
    return valid_unicode(str(value))


def as_compared(
    questions: list[str],
    compared: Sequence[str] | None,
    reading: JsonMapping | None,
) -> list[str]:
    """What is compared of questions: as given, or without what the index's list repeats."""
    if compared is None:
        repeated = Repeated.from_json((reading or {}).get("repeated"))
        if not repeated:
            return questions
        return [repeated.without(plain_lines(text)) for text in questions]
    texts = text_list(compared, "the index")
    if len(texts) != len(questions):
        texts_given = counted(len(texts), "compared text")
        questions_given = counted(len(questions), "question")
        raise ArgumentError(f"{texts_given} for {questions_given}.")
    return list(map(valid_unicode, texts))


def as_read(
    detector: DuplicateDetector,
    questions: Sequence[str],
    reading: JsonMapping | None,
) -> Sequence[str]:
    """What is compared of an index's questions, as the encoder reads it; each when it is asked for."""
    encoder = detector.encoder
    repeated = Repeated.from_json((reading or {}).get("repeated"))
    if not repeated:
        return ReadTexts(encoder.read, questions)
    return ReadTexts(
        lambda text: encoder.read(repeated.without(plain_lines(text))), questions
    )


# ---- Compared with those that are there ----


class Stored(NamedTuple):
    """A question that is there."""

    row: int  # its number in the index
    text: str
    columns: JsonObject


class Changes(NamedTuple):
    """What adding questions does."""

    new: list[int]  # the places of those that are written
    replaced: list[int]  # the rows that go
    # rows that get other columns, and the new ones' places
    changed: list[tuple[int, int]]
    ids: list[str | None]  # of each; None where it gets the next free number

    def ids_with(self, new_ids: Sequence[str]) -> list[str]:
        """The id of each question, those of the written ones in their order."""
        ids_of_new = dict(zip(self.new, new_ids))
        return [ids_of_new.get(at, i or "") for at, i in enumerate(self.ids)]

    def counts(self, total: int) -> tuple[int, int, int]:
        """How many of `total` questions are added, replace others, and are skipped."""
        added = len(self.new) - len(self.replaced)
        replaced = len(self.changed) + len(self.replaced)
        return added, replaced, total - added - replaced


def without_ids(folded_texts: list[str], id_of: Mapping[str, str]) -> Changes:
    """Of questions without ids: those with new folded texts are written."""
    ids = list(map(id_of.get, folded_texts))
    return Changes([at for at, i in enumerate(ids) if i is None], [], [], ids)


def by_ids(incoming: Incoming, stored: Mapping[str, Stored]) -> Changes:
    """Of questions with ids: another text replaces a stored one, and so do other columns."""
    assert incoming.ids is not None
    new: list[int] = []
    replaced: list[int] = []
    changed: list[tuple[int, int]] = []
    for at, (i, text) in enumerate(zip(incoming.ids, incoming.texts)):
        known = stored.get(i)
        if known is None or known.text != text:
            new.append(at)
            replaced += [] if known is None else [known.row]
        elif incoming.columns is not None and incoming.columns[at] != known.columns:
            changed.append((known.row, at))
    return Changes(new, replaced, changed, list(incoming.ids))


# ---- Numbers as ids ----


def number_after(number: int, ids: Sequence[str]) -> int:
    """The next free number, `number` or later, after questions with these ids have come."""
    counted_ids = (i for i in ids if i.isdecimal() and len(i) <= COUNTED_DIGITS)
    return max([number, *(int(i) + 1 for i in counted_ids)])


def free_numbers(
    number: int, count: int, taken: Callable[[list[str]], Collection[str]]
) -> tuple[list[str], int]:
    """The next numbers from `number` on that are no ids, and the number after them.

    `taken` says which of some ids questions have.
    """
    ids: list[str] = []
    while len(ids) < count:
        numbers = list(map(str, range(number, number + count - len(ids))))
        used = taken(numbers)
        ids += [i for i in numbers if i not in used]
        number += len(numbers)
    return ids, number
