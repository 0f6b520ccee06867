"""A list of questions and its vectors, in memory."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.groups.answers import (
    AnswerChange,
    ChangedAnswers,
    bound_places,
    changed_answers,
    new_answers,
)
from siamese.groups.grouping import (
    GroupedSnapshot,
    Grouping,
    Snapshot,
    bound_labels,
    first_of_groups,
    linked_labels,
)
from siamese.groups.joining import labels_of_new
from siamese.groups.local import local_means
from siamese.index import Added, Asked, Found, ListFacts, QuestionIndex
from siamese.index.incoming import (
    Changes,
    Incoming,
    Stored,
    as_compared,
    by_ids,
    free_numbers,
    number_after,
    without_ids,
)
from siamese.index.ranking import (
    WordCounts,
    appended,
    ranked,
    read_only,
)
from siamese.index.stems import UNSURE, asked_stems, stems_of
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector, encoded
from siamese.reading.clusters import answer_key
from siamese.reading.pairs import QuestionPairs
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.cleaning import folded
from siamese.text.language import ListLanguages, list_languages
from siamese.text.values import json_value


@dataclass(frozen=True)
class Moment:
    """The list at one moment; a change makes another one."""

    detector: DuplicateDetector  # with the threshold of the list
    entries: list[JsonObject]  # id, question and columns of each question
    folded: list[str]  # their texts
    read: Sequence[str]  # what is compared of them, as the encoder reads it
    vectors: np.ndarray  # float32 [questions, d], read-only
    answers: dict[tuple[str, str], bool]  # `answer_key` -> are they the same?
    # Of each question the place of the first one of its group, int64 [questions],
    # without the answers; and how the groups were made. None before they are.
    labels: np.ndarray | None = None
    grouping: Grouping | None = None
    refused: np.ndarray | None = None  # see `GroupedSnapshot`

    def without(self, places: Sequence[int]) -> Moment:
        """Without the questions at some places."""
        if not places:
            return self
        live = np.ones(len(self.entries), bool)
        live[places] = False
        kept = np.flatnonzero(live).tolist()
        labels = self.labels
        grouping = self.grouping
        if grouping is not None and labels is not None:
            # A group whose first question goes begins with its next one.
            labels = first_of_groups(labels[live])
            if grouping.means is not None:
                grouping = grouping._replace(means=grouping.means[live])
        return replace(
            self,
            entries=[self.entries[at] for at in kept],
            folded=[self.folded[at] for at in kept],
            read=[self.read[at] for at in kept],
            vectors=read_only(self.vectors[live]),
            labels=labels,
            grouping=grouping,
            refused=None,
        )

    def followed_by(self, entries: list[JsonObject], new: Questions) -> Moment:
        """With more questions at the end, which join the groups where there are some."""
        if not entries:
            return self
        texts = list(new.folded) or [folded(entry["question"]) for entry in entries]
        now = replace(
            self,
            entries=self.entries + entries,
            folded=self.folded + texts,
            read=[*self.read, *new.texts] if self.read else new.texts,
            vectors=appended(self.vectors, new.vectors),
        )
        return now if self.grouping is None else now._extended()

    def _extended(self) -> Moment:
        """With groups of the questions that have come after the labels."""
        grouping = self.grouping
        labels = self.labels
        assert grouping is not None and labels is not None
        if grouping.means is not None:
            # Those that are there keep their r until the groups are made again.
            means = local_means(self.vectors, self.vectors[len(labels) :])
            grouping = grouping._replace(means=np.append(grouping.means, means))
        new = labels_of_new(
            self.vectors,
            len(labels),
            self._groups_with,
            grouping.rule(self.detector, self.questions()),
            self._is_known,
            grouping.shifts,
        )
        labels = np.append(labels, new)
        return replace(self, labels=labels, grouping=grouping, refused=None)

    def _groups_with(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels = self.labels
        assert labels is not None
        members = np.flatnonzero(np.isin(labels, labels[places]))
        return members, labels[members]

    def _is_known(self, places: np.ndarray) -> np.ndarray:
        knows = self.detector.encoder.knows
        return np.array([knows(self.read[at]) for at in places.tolist()], bool)

    def questions(self) -> Questions:
        """The questions as a decision is given them."""
        return Questions(self.read, self.vectors, self.folded)

    def without_lost_answers(self) -> Moment:
        """Without the answers to texts that no question has any more."""
        texts = set(self.folded)
        kept = {
            key: label for key, label in self.answers.items() if texts.issuperset(key)
        }
        return replace(self, answers=kept)

    def pairs(self) -> QuestionPairs:
        """The answers as labelled pairs, in the order in which they came."""
        first: dict[str, str] = {}
        for text, entry in zip(self.folded, self.entries):
            first.setdefault(text, entry["question"])
        return QuestionPairs(
            [first[one] for one, _ in self.answers],
            [first[two] for _, two in self.answers],
            np.array(list(self.answers.values()), bool),
        )

    def snapshot(self) -> Snapshot:
        """The questions."""
        entries = list(map(copy_of, self.entries))
        return Snapshot(entries, self.questions(), self.detector)

    def grouped_snapshot(self) -> GroupedSnapshot:
        """The questions with their groups, which obey the answers."""
        assert self.grouping is not None and self.labels is not None
        listed = self.snapshot()
        answered = {text for key in self.answers for text in key}
        texts = (
            (text, place) for place, text in enumerate(self.folded) if text in answered
        )
        answers = ((*key, label) for key, label in self.answers.items())
        same, different = bound_places(texts, answers)
        rule = self.grouping.rule(self.detector, listed.questions)
        shifts = self.grouping.shifts
        labels = bound_labels(self.vectors, self.labels, same, different, rule, shifts)
        return listed.with_groups(labels, self.grouping, self.refused)


def copy_of(entry: JsonObject) -> JsonObject:
    """An entry that the caller may change."""
    columns = {
        name: copy.deepcopy(value) if isinstance(value, (dict, list)) else value
        for name, value in entry["columns"].items()
    }
    return {"id": entry["id"], "question": entry["question"], "columns": columns}


class ListIndex(QuestionIndex):
    """A `QuestionIndex` in memory. A change makes a new `Moment`, which takes the place of the former."""

    def __init__(
        self,
        detector: DuplicateDetector,
        incoming: Incoming,
        prepared: Questions,
        reading: JsonMapping | None,
    ):
        self._model = detector
        self._reading = copy.deepcopy(dict(reading or {}))
        self._changing = threading.RLock()
        self._next_id = 0
        self._words = Words(self._reading.get("language"))
        none = read_only(np.zeros((0, detector.encoder.size), np.float32))
        self._now = Moment(detector, [], [], [], none, {})
        _, entries = self._numbered(incoming)
        self._now = self._now.followed_by(entries, prepared)

    # ---- Changing ----

    def _add(self, incoming: Incoming, compared: Sequence[str] | None) -> Added:
        with self._changing:
            now = self._now
            texts = as_compared(incoming.texts, compared, self._reading)
            changes = self._changes(incoming)
            prepared = encoded(self._model, texts, changes.new)
            entries = list(now.entries)
            columns = incoming.columns or []
            for place, at in changes.changed:
                entries[place] = {**entries[place], "columns": columns[at]}
            new_ids, new = self._numbered(incoming.at(changes.new))
            ids = changes.ids_with(new_ids)
            now = replace(now, entries=entries).without(changes.replaced)
            now = now.followed_by(new, prepared)
            self._now = now.without_lost_answers() if changes.replaced else now
        return Added(ids, *changes.counts(len(ids)))

    def _changes(self, incoming: Incoming) -> Changes:
        now = self._now
        if incoming.ids is None:
            texts = list(map(folded, incoming.texts))
            wanted = set(texts)
            id_of: dict[str, str] = {}
            for text, entry in zip(now.folded, now.entries):
                if text in wanted:
                    id_of.setdefault(text, entry["id"])
            return without_ids(texts, id_of)
        stored = {
            entry["id"]: Stored(place, entry["question"], entry["columns"])
            for place, entry in enumerate(now.entries)
        }
        return by_ids(incoming, stored)

    def _numbered(self, incoming: Incoming) -> tuple[list[str], list[JsonObject]]:
        """New questions as entries, and their ids; those without one get the next free number."""
        ids = incoming.ids
        if ids is None:
            known = {entry["id"] for entry in self._now.entries}
            ids, self._next_id = free_numbers(
                self._next_id, len(incoming.texts), known.intersection
            )
        else:
            self._next_id = number_after(self._next_id, ids)
        columns = incoming.columns or [{}] * len(ids)
        entries = [
            {"id": i, "question": text, "columns": own}
            for i, text, own in zip(ids, incoming.texts, columns)
        ]
        return ids, entries

    def _remove(self, ids: set[str]) -> None:
        with self._changing:
            now = self._now
            gone = [at for at, entry in enumerate(now.entries) if entry["id"] in ids]
            for i in ids.difference(now.entries[at]["id"] for at in gone):
                raise ArgumentError(
                    f"There is no question with the id {i!r} in the index."
                )
            self._now = now.without(gone).without_lost_answers()

    def set_threshold(self, fit: JsonMapping) -> None:
        """`QuestionIndex.set_threshold`."""
        fit = json_value(fit)
        detector = self._model.with_threshold(fit) if fit else self._model
        with self._changing:
            self._now = replace(
                self._now, detector=detector, labels=None, grouping=None
            )

    # ---- What it is ----

    @property
    def detector(self) -> DuplicateDetector:
        """`QuestionIndex.detector`."""
        return self._now.detector

    @property
    def facts(self) -> ListFacts:
        """`QuestionIndex.facts`."""
        now = self._now
        languages = self._words.languages_of(now.entries)
        return ListFacts(copy.deepcopy(self._reading), languages, False, now)

    @property
    def vectors(self) -> np.ndarray:
        """`QuestionIndex.vectors`."""
        return self._now.vectors

    def snapshot(self) -> Snapshot:
        """`QuestionIndex.snapshot`."""
        return self._now.snapshot()

    # ---- Groups and answers ----

    def _grouped(self, threshold: float | None, regroup: bool) -> GroupedSnapshot:
        with self._changing:
            now = self._now
            if now.grouping is None or regroup:
                grouping = Grouping.of(now.detector, threshold, now.questions())
                texts = [entry["question"] for entry in now.entries]
                labels, refused = linked_labels(
                    now.questions(), texts, now.detector, grouping
                )
                labels = first_of_groups(labels)
                now = replace(now, labels=labels, grouping=grouping, refused=refused)
                self._now = now
            else:
                now.grouping.check_threshold(threshold)
        return now.grouped_snapshot()

    def add_answers(self, pairs: QuestionPairs, *, forget: bool = False) -> int:
        """`QuestionIndex.add_answers`."""
        with self._changing:
            now = self._now
            texts = set(now.folded)
            keys = list(map(answer_key, pairs.question1, pairs.question2))
            known = [at for at, key in enumerate(keys) if texts.issuperset(key)]
            answers = dict(now.answers)
            if forget:
                for at in known:
                    answers.pop(keys[at], None)
            else:
                for one, two, label in new_answers(now.pairs(), pairs.select(known)):
                    answers.pop((one, two), None)  # A newer answer is a later one.
                    answers[one, two] = label
            self._now = replace(now, answers=answers)
        return len(known)

    def change_answers(self, changes: Sequence[AnswerChange]) -> ChangedAnswers:
        """`QuestionIndex.change_answers`."""
        with self._changing:
            before = self._now
            try:
                return changed_answers(
                    changes,
                    before.answers.get,
                    lambda pairs, forget: self.add_answers(pairs, forget=forget),
                )
            except DataError:
                self._now = before
                raise

    def answers(self) -> QuestionPairs:
        """`QuestionIndex.answers`."""
        return self._now.pairs()

    # ---- Asking ----

    def _found(self, asked: Asked) -> Found:
        now = self._now
        queries = self._model.encode(as_compared(asked.texts, None, self._reading))
        words = None
        stems = [(np.zeros(0, np.int32), UNSURE)] * len(asked.texts)
        if asked.mode != "vectors":
            words = self._words.counts(now.entries, now.folded)
            stems = list(map(self._words.asked, asked.texts))
        rankings = list(
            ranked(
                now.vectors,
                words,
                queries,
                [numbers for numbers, _ in stems],
                [code for _, code in stems],
                asked.k,
                asked.mode,
                asked.weight,
            )
        )
        vectors = [now.vectors[places] for places in rankings]
        entries = [
            [copy_of(now.entries[at]) for at in places.tolist()] for places in rankings
        ]
        return Found(now.detector, queries, vectors, entries, self._reading)


class Words:
    """The stems of questions; each text is stemmed once, when words are first asked for.

    The languages are those of the list that it is asked for first.
    """

    def __init__(self, main: str | None) -> None:
        self._lock = threading.Lock()
        self._main = main  # the main language where the owner says it
        self._languages: ListLanguages | None = None
        self._number_of: dict[str, int] = {}
        # Text -> the numbers of its stems, int32, and of its language.
        self._stems: dict[str, tuple[np.ndarray, int]] = {}
        self._counted: tuple[list[JsonObject], WordCounts] | None = None

    @property
    def languages(self) -> ListLanguages:
        """The languages of the list; English before it is known."""
        return self._languages or list_languages([])

    def languages_of(self, entries: list[JsonObject]) -> ListLanguages:
        """The languages of a list, or of the one that came first."""
        with self._lock:
            self._set_languages([entry["question"] for entry in entries])
            return self.languages

    def _set_languages(self, texts: list[str]) -> None:
        if texts and self._languages is None:
            self._languages = list_languages(texts, self._main)

    def counts(
        self, entries: list[JsonObject], folded_texts: Sequence[str]
    ) -> WordCounts:
        """The words of the questions of a list; the same list is counted once."""
        with self._lock:
            if self._counted is None or self._counted[0] is not entries:
                texts = [entry["question"] for entry in entries]
                self._set_languages(texts)
                self._read(dict(zip(texts, folded_texts)))
                rows = [self._stems[text][0] for text in texts]
                lengths = np.array(list(map(len, rows)), np.int64)
                flat = np.concatenate([np.zeros(0, np.int32), *rows])
                codes = np.array([self._stems[text][1] for text in texts], np.int8)
                self._counted = entries, WordCounts.of(flat, lengths, codes)
            return self._counted[1]

    def _read(self, folded_of: Mapping[str, str]) -> None:
        new = [text for text in folded_of if text not in self._stems]
        texts = [folded_of[text] for text in new]
        stems, codes = stems_of(new, texts, self.languages)
        for text, own, code in zip(new, stems, codes.tolist()):
            numbers = np.array(list(map(self._number, own)), np.int32)
            self._stems[text] = numbers, code

    def _number(self, stem: str) -> int:
        return self._number_of.setdefault(stem, len(self._number_of))

    def asked(self, text: str) -> tuple[np.ndarray, int]:
        """The numbers of a question's stems that the list has, int32, and of its language."""
        stems, code = asked_stems(text, self.languages)
        numbers = map(self._number_of.get, stems)
        return np.array([n for n in numbers if n is not None], np.int32), code
