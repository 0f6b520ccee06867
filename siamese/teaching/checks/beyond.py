"""Means without padding, false negatives, and one-shot classes."""

from __future__ import annotations

import numpy as np

from .engine import Case, Exercise
from .results import Fault
from .submission import Function

_STATES = np.random.default_rng(1).normal(size=(3, 4, 4))
check_masked_mean = Exercise(
    "masked_mean",
    [Case(name, (_STATES[: len(tokens), : len(tokens[0]), :d], np.array(tokens, np.int32)))
     for name, d, tokens in (
        ("two questions of three and two words", 3, [[5, 6, 7, 1], [8, 9, 1, 1]]),
        ("no padding", 4, [[5, 6, 7], [8, 9, 2]]),
        ("unknown words", 3, [[0, 6, 0, 1], [0, 0, 1, 1]]),
        ("as many positions as numbers in a state", 4, [[5, 6, 7, 1], [8, 1, 1, 1]]),
        ("padding before and between the words", 3, [[5, 1, 6], [1, 8, 1], [2, 3, 4]]),
        ("a question of padding only", 2, [[1, 1, 1], [5, 6, 1]]),
    )],
)  # fmt: skip

# ---- count_false_negatives ----

check_count_false_negatives = Exercise(
    "count_false_negatives",
    [Case(name, (np.array(clusters),)) for name, clusters in (
        ("three of one cluster", [7, 3, 7, 5, 7]),
        ("all different", [4, 1, 3, 2]),
        ("all the same", [9, 9, 9, 9]),
        ("two clusters, neighbours apart", [1, 2, 1, 2, 3, 1]),
        ("three clusters, neighbours together", [1, 1, 2, 2, 2, 3, 3, 6]),
        ("clusters with names", ["age", "name", "age", "food"]),
        ("cluster 0 and negative numbers", [0, -1, 0, -1, 0, 5]),
        ("one row", [3]),
    )],
)  # fmt: skip

# ---- one_shot ----


def _name(
    fn: Function,
    vector: np.ndarray,
    examples: np.ndarray,
    names: list[str],
    threshold: float,
) -> str:
    """The answer as text."""
    answer = fn(vector, examples, names, threshold)
    if answer is None:
        return "None"
    if isinstance(answer, str) and answer not in ("None", *names):
        return "a text that is no name"
    if isinstance(answer, str):
        return "None in quotes" if answer == "None" else str(answer)
    if isinstance(answer, (int, float, np.number)) and not isinstance(answer, bool):
        return f"the number {answer:.6g}"
    raise Fault(
        f"{type(answer).__name__}: {answer!r}", "return the text alone, or None"
    )


_COMPASS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, -0.6], [-1.0, 0.0]])
_FIVE = ["east", "north-east", "north", "south-west", "west"]
_CLASSES = (
    np.array([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [-1.0, 0.0]]),
    ["east", "sum", "sum", "east"],
)
_WEAK = (
    np.array([[0.8, 0.6], [0.6, 0.8], [0.0, 1.0], [1.0, 0.0]]),
    ["b", "c", "a", "c"],
)
check_one_shot = Exercise(
    "one_shot",
    [Case(name, (np.array(vector), *examples, threshold)) for name, vector, examples, threshold in (
        ("a vector near one example", [0.8, 0.6], (_COMPASS, _FIVE), 0.7),
        ("nothing above the threshold", [0.0, -1.0], (_COMPASS, _FIVE), 0.7),
        ("a cosine exactly at the threshold", [0.0, 1.0], (_COMPASS, _FIVE), 1.0),
        ("several above the threshold", [0.28, 0.96],
         (_COMPASS[[1, 2, 0]], ["north-east", "north", "east"]), 0.1),
        ("opposite vectors", [0.8, 0.6], (_COMPASS[[3, 0]], ["south-west", "east"]), 0.3),
        ("several examples of one class", [1.0, 0.0], _CLASSES, 0.7),
        ("names not in order", [0.96, 0.28], _WEAK, 0.65),
        ("a negative threshold", [0.0, -1.0], (_COMPASS, _FIVE), -0.7),
        ("a low threshold", [0.28, 0.96], (_COMPASS[:1], ["east"]), 0.1),
        ("one example", [1.0, 0.0], (np.array([[0.8, 0.6]]), ["only"]), 0.5),
    )],
    observe=_name,
)  # fmt: skip

# ---- The features of near misses ----


def _truth(fn: Function, question1: str, question2: str) -> str:
    """The answer as text, True or False."""
    answer = fn(question1, question2)
    if isinstance(answer, (bool, np.bool_)):
        return str(answer)
    hint = "return True or False alone: whether the questions differ in that way"
    if answer is None:
        hint = "the function returned nothing: is `return` missing?"
    raise Fault(f"{type(answer).__name__}: {answer!r}"[:200], hint)


check_turned_round = Exercise(
    "turned_round",
    [Case(name, pair) for name, pair in (
        ("from the station to the airport, and back",
         ("Which bus goes from the station to the airport?",
          "Which bus goes from the airport to the station?")),
        ("the same question twice", ("How do I tune a violin?", "How do I tune a violin?")),
        ("another word, no other order",
         ("How do I reset my password?", "How can I reset the password?")),
        ("words between them, no other order", ("Do cats eat rice?", "Do old cats ever eat brown rice?")),
        ("other words between two that changed places",
         ("Do dogs chase cats?", "Why would cats chase big dogs?")),
        ("words that only one question has", ("a dog bites", "the man bites")),
        ("no common word", ("Where is Rome?", "What do cats eat?")),
        ("one common word", ("Cats eat rice", "Rice is cheap")),
        ("capitals", ("Greek to Turkish", "turkish to GREEK")),
        ("punctuation", ("from Greek, to Turkish!", "from Turkish to Greek")),
        ("a word that question 1 has twice", ("the bus to the town", "bus to the town")),
        ("a word that question 2 has twice", ("bus to town", "to bus to town")),
        ("a word that both have twice, before and after another",
         ("the cat sees the dog", "the the cat sees dog")),
        ("the first two words exchanged", ("tea or milk first", "or tea milk first")),
        ("the last two words exchanged", ("tea or milk first", "tea or first milk")),
        ("the first and the last exchanged", ("London via Dover Paris", "Paris via Dover London")),
    )],
    observe=_truth,
)  # fmt: skip

check_other_sign = Exercise(
    "other_sign",
    [Case(name, pair) for name, pair in (
        ("30 days and 90 days",
         ("Do I need a visa for 30 days in Thailand?", "Do I need a visa for 90 days in Thailand?")),
        ("should and shouldn't",
         ("What should I eat before a long run?", "What shouldn't I eat before a long run?")),
        ("neither number nor negation", ("How do I reset my password?", "How can I reset the password?")),
        ("the same number", ("Is 30 minutes enough?", "Are 30 minutes long enough?")),
        ("the same two numbers in another order", ("From 8 to 10", "10 from 8")),
        ("a number word", ("Can I book one seat?", "Can I book two seats?")),
        ("a number in question 2 alone", ("Can I book a seat?", "Can I book 2 seats?")),
        ("a number in question 1 alone", ("Can I book 2 seats?", "Can I book a seat?")),
        ("a number before a question mark", ("Is it 5?", "Is it 5 now?")),
        ("the same number once and twice", ("Is it 5?", "Is it 5 or 5?")),
        ("without", ("Can I fly with a passport?", "Can I fly without a passport?")),
        ("never and cannot", ("Why can I never sleep?", "Why can I cannot sleep?")),
        ("capitals", ("No, is it Not here?", "no, is it not here?")),
        ("a word that only begins like a negation", ("Is there a note?", "Is there a notebook?")),
        ("a word with a digit in it", ("How do I open an mp3?", "How do I open an mp4?")),
        ("clock times", ("The 8:15 train", "The 8:45 train")),
        ("the same negation on both sides", ("Why doesn't it start?", "It doesn't start, why?")),
    )],
    observe=_truth,
)  # fmt: skip
