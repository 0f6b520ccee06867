"""The near-miss check in German, French, Spanish and Chinese, and in lists of several languages."""

import csv
from pathlib import Path

import numpy as np
import pytest

from siamese import DuplicateDetector, embedded_corpus
from siamese.corpus import HANDWRITTEN_FILES, handwritten_questions
from siamese.model.detector import pairs_of
from siamese.model.near_miss_tables import table_of
from siamese.model.near_misses import NearMissCheck

BY_HAND = Path(__file__).parents[2] / "benchmarks" / "by_hand"
CHECK = NearMissCheck.shipped()
FOREIGN = ("de", "fr", "es", "zh")
# Two texts, and the kind in which they differ.
NEAR = {
    "de": (
        ("Hat der Laden am Freitag offen?", "Hat der Laden am Samstag offen?", "date"),
        (
            "Ist das Wasser trinkbar?",
            "Warum ist das Wasser nicht trinkbar?",
            "negation",
        ),
        (
            "Wie komme ich von Bonn nach Trier?",
            "Wie komme ich von Trier nach Bonn?",
            "direction",
        ),
        (
            "Wie aktiviere ich die Sperre?",
            "Wie deaktiviere ich die Sperre?",
            "negation",
        ),
    ),
    "fr": (
        ("Puis-je annuler avant lundi ?", "Puis-je annuler avant mardi ?", "date"),
        ("Où est-ce que je paie ?", "Quand est-ce que je paie ?", "question word"),
        (
            "Dois-je manger avant la course ?",
            "Dois-je manger après la course ?",
            "direction",
        ),
        ("Peut-on entrer avec un sac ?", "Peut-on entrer sans sac ?", "negation"),
    ),
    "es": (
        ("¿Puedo pagar con tres tarjetas?", "¿Puedo pagar con dos tarjetas?", "number"),
        ("¿Por qué se apaga la luz?", "¿Cuándo se apaga la luz?", "question word"),
        ("¿Es la primera parada?", "¿Es la última parada?", "scope"),
        ("¿Cómo enciendo la pantalla?", "¿Cómo apago la pantalla?", "verb"),
    ),
    "zh": (
        ("我能借三本书吗？", "我能借五本书吗？", "number"),
        ("从上海到北京怎么走？", "从北京到上海怎么走？", "direction"),
        ("什么时候可以退货？", "为什么可以退货？", "question word"),
        ("怎么打开声音？", "怎么关闭声音？", "verb"),
    ),
}
SAME = (
    ("Reichen zwei Liter für den Teig?", "Reichen 2 l für den Teig?"),
    ("Wiegt es mehr als 1,5 kg?", "Wiegt es mehr als 1.5 kg?"),
    ("In Excel, wie sortiere ich die Zeilen?", "Wie sortiere ich in Excel die Zeilen?"),
    ("Deux litres de lait suffisent-ils ?", "2 litres de lait suffisent-ils ?"),
    ("N'est-il pas trop tard pour payer ?", "Est-il trop tard pour payer ?"),
    ("¿Bastan dos litros de leche?", "¿Bastan 2 l de leche?"),
    ("¿No es tarde para pagar la multa?", "¿Es tarde para pagar la multa?"),
    ("两个鸡蛋够吗？", "2个鸡蛋够吗？"),
    ("这里的水能不能喝？", "这里的水能喝吗？"),
    ("房间超过１２平米吗？", "房间超过12平米吗？"),
)


def by_hand(name):
    rows = csv.DictReader((BY_HAND / name).read_text("utf-8").splitlines())
    return list(rows)


@pytest.mark.parametrize("code", FOREIGN)
@pytest.mark.parametrize("half", ["choose", "report"])
def test_near_misses_by_hand_are_behind_and_what_asks_the_same_stays(code, half):
    detector = DuplicateDetector.pretrained()

    def scores(rows, first, second):
        own = [
            (row[first], row[second])
            for row in rows
            if (row["language"], row["half"]) == (code, half)
        ]
        assert len(own) == 10
        pairs = pairs_of(detector, *map(list, zip(*own)))
        return detector.decision.scores(*pairs), detector.with_check(
            None
        ).decision.scores(*pairs)

    triples = by_hand("near_misses_foreign.csv")
    paraphrase, _ = scores(triples, "question", "paraphrase")
    near, _ = scores(triples, "question", "near_miss")
    assert (paraphrase > near).mean() >= 0.7
    left, cosines = scores(by_hand("same_foreign.csv"), "question1", "question2")
    accepted = cosines > detector.threshold
    assert accepted.sum() >= 8
    assert (left > detector.threshold)[accepted].mean() >= 0.85


@pytest.mark.parametrize("code", FOREIGN)
def test_the_kind_of_a_difference_is_named_in_the_words_of_the_language(code):
    for one, two, kind in NEAR[code]:
        assert table_of(one) == table_of(two) == code
        assert CHECK.penalty([one], [two], np.array([0.9]))[0] > 0.05
        found = {difference.kind: difference for difference in CHECK.reasons(one, two)}
        assert kind in found
        words = f"{found[kind].one} {found[kind].other}".lower().split()
        assert all(word in f"{one} {two}".lower() for word in words)


@pytest.mark.parametrize(("one", "two"), SAME)
def test_numbers_units_and_a_question_s_own_negation_are_no_difference(one, two):
    tables = {table_of(one), table_of(two)} - {None}
    assert len(tables) == 1 and tables <= {*FOREIGN}
    assert CHECK.penalty([one], [two], np.array([0.9]))[0] < 0.05


def test_english_lists_are_read_as_english_to_the_last_text():
    texts = {row["question"] for row in handwritten_questions()}
    texts |= {row.text for row in embedded_corpus().questions}
    titles = ("Die Hard 2", "Los Angeles", "La La Land", "iPhone 15 Pro Max", "Pro Des")
    assert {table_of(text) for text in [*texts, *titles]} <= {"en", None}


def test_other_languages_are_recognised_by_their_little_words():
    for code in HANDWRITTEN_FILES:
        tables = [table_of(row["question"]) for row in handwritten_questions(code)]
        assert tables.count(code) >= 0.9 * len(tables)


def test_a_pair_s_penalty_does_not_depend_on_what_it_is_compared_with():
    pairs = [pair[:2] for own in NEAR.values() for pair in own]
    pairs += [("How do I pay by card?", "Wie zahle ich mit der Karte?")]
    ones, twos = map(list, zip(*pairs))
    cosines = np.full(len(pairs), 0.97, np.float32)
    together = CHECK.penalty(ones, twos, cosines)
    alone = [CHECK.penalty([a], [b], cosines[:1])[0] for a, b in pairs]
    assert together.tolist() == alone
    assert CHECK.penalty(twos, ones, cosines).tolist() == alone
    assert together[-1] == 0
