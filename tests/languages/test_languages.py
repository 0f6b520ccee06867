"""Handwritten questions in several languages, and tickets in five against an English FAQ."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from siamese import DuplicateDetector, QuestionIndex
from siamese.corpus import HANDWRITTEN_FILES, handwritten_questions
from siamese.encoders import find_encoder
from siamese.errors import ArgumentError
from siamese.text.language import list_languages

HERE = Path(__file__).parent
FOREIGN = [code for code in HANDWRITTEN_FILES if code != "en"]


def rows_of(name):
    with open(HERE / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("code", FOREIGN)
def test_forty_questions_of_a_language_are_read_as_the_english_ones(code):
    english = {row["id"]: row for row in handwritten_questions()}
    rows = handwritten_questions(code)
    ids = {row["id"]: row for row in rows}
    assert len(rows) == len(ids) == len({row["question"] for row in rows}) == 40
    assert set(rows[0]) == {*english["q001"], "english"}
    groups = Counter(row["group"] for row in rows if row["group"])
    assert sum(groups.values()) == 20 and min(groups.values()) >= 2
    assert set(groups) <= {row["group"] for row in english.values()}
    missed = [row for row in rows if row["near_miss"]]
    assert len(missed) == 10 and all(row["twin"] in ids for row in missed)
    assert all(bool(row["group"]) != bool(row["english"]) for row in rows)
    others = [english[row["english"]] for row in rows if row["english"]]
    assert not any(row["group"] for row in others)
    assert {row["style"] for row in rows} <= {row["style"] for row in english.values()}
    assert list_languages([row["question"] for row in rows]).main == code


def test_a_language_without_questions_is_refused():
    with refuses(ArgumentError, "'xx'", "en, de, fr, es, zh"):
        handwritten_questions("xx")


def test_tickets_in_five_languages_find_the_entry_of_an_english_faq():
    detector = DuplicateDetector.from_encoder("use")
    tickets, entries = rows_of("tickets.csv"), rows_of("faq.csv")
    assert (len(tickets), len(entries)) == (60, 40)
    asked, known = (
        detector.encode([row["question"] for row in rows])
        for rows in (tickets, entries)
    )
    cosines = asked @ known.T
    nearest = [entries[at]["id"] for at in cosines.argmax(axis=1)]
    answers = [row["answer"] for row in tickets]
    assert sum(map(str.__eq__, nearest, answers)) >= 43
    has_none = np.array([not answer for answer in answers])
    assert has_none.sum() == 10
    assert (cosines[has_none].max(axis=1) >= detector.threshold).sum() <= 2


@pytest.mark.parametrize("code", FOREIGN)
def test_words_do_not_spoil_a_search_in_few_questions_of_a_language(code):
    rows = handwritten_questions(code)
    groups = [row["group"] for row in rows]
    asked = [at for at, group in enumerate(groups) if group]
    texts = [row["question"] for row in rows]
    index = QuestionIndex.build("use", texts)

    def mean_reciprocal_rank(mode):
        ranks = []
        for at, hits in zip(
            asked, index.search([texts[at] for at in asked], 40, mode=mode)
        ):
            others = [int(hit.id) for hit in hits if int(hit.id) != at]
            right = [groups[other] == groups[at] for other in others]
            ranks.append(1 + right.index(True))
        return np.mean(1 / np.array(ranks))

    assert mean_reciprocal_rank("hybrid") >= mean_reciprocal_rank("vectors") - 0.005


def test_words_count_in_many_questions_of_a_language():
    rows = [row["question"] for row in handwritten_questions("de")]
    fillers = [
        f"Der Drucker im Büro {n} druckt nicht mehr, was kann ich tun?"
        for n in range(4000)
    ]
    asked = "Der Drucker druckt nicht mehr und zeigt Quaxel an"
    named = "Was bedeutet Quaxel auf dem Bildschirm der Kaffeemaschine?"
    few = QuestionIndex.build("use", [*rows, named])
    many = QuestionIndex.build("use", [*rows, named, *fillers])

    def ranks(index):
        places = []
        for mode in ("vectors", "hybrid"):
            hits = index.search(asked, len(index), mode=mode)
            places.append([hit.question for hit in hits].index(named))
        return places

    by_vectors, by_both = ranks(few)
    assert by_both == by_vectors
    by_vectors, by_both = ranks(many)
    assert by_both < by_vectors


RIGHT_WORDS = (
    "Der Zeuge beschrieb den Wagen, den er gesehen hatte.",
    "Wie kann man den Schaden vermindern?",
    "Mijn telefoon is kapot, wat moet ik doen?",
    "Hij schrijft een brief aan het bedrijf.",
    "Czy ktoś mówi po angielsku?",
    "¿Dónde se aprende una lengua extranjera?",
    "Dove posso noleggiare una bicicletta?",
    "Jag vill ha en ny faktura till min familj.",
)


def test_right_words_of_other_languages_are_not_respelled():
    encoder = find_encoder("use")
    for text in RIGHT_WORDS:
        assert encoder.respelled(text) == text
    typo = "What is diffrent at the café, and what did you recieve?"
    right = "What is different at the café, and what did you receive?"
    assert encoder.respelled(typo) == right
