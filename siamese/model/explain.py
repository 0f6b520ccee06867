"""Which words pull the similarity of two questions up or down: leave one out and look."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from siamese.errors import DataError
from siamese.model.detector import DuplicateDetector
from siamese.text.cleaning import cleaned, normalized, straightened
from siamese.text.display import harmless, rounded
from siamese.text.lists import text_list
from siamese.text.tokenizer import LONGEST, MAX_TOKENS

_NUMBER = re.compile(r"\d++(?:[.,:]\d++)*+")
_COUNTS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_BARE = re.compile(
    r"\b(are|ca|could|did|do|does|had|has|have|is|should|was|were|wo|would)nt\b"
)
# Two words or numbers on either side of a word of direction.
_DIRECTION = re.compile(
    r"(?<![\w.])(\.*+\w++(?:\.++\w++)*+)(?=\s++(from|into|to|vs\.?|versus)\s++"
    r"(?:(?:an?|my|the)\s++)?(\.*+\w++(?:\.++\w++)*+))"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # 1,000 is 1000
_WORD = re.compile(r"[^\W\d_][\w']*")
_NEGATION = re.compile(
    r"no|not|never|none|nothing|nobody|neither|nor|cannot|without|\w+n't"
)
# A word with a capital after another word, but "I"; or with two capitals; or with a
# digit.
_NAME = re.compile(
    r"(?<=[\w,;:)'] )(?!I\b)[A-Z][\w']*|\b[A-Z]\w*[A-Z][\w']*|\b[^\W\d_]\w*\d[\w']*"
)


class WordEffect(NamedTuple):
    """A word of a question, what it does to the similarity, and whether the model knows it."""

    word: str
    # The similarity with the word less that without it: above 0 where it makes the two
    # questions more alike, None where the question has no other word.
    effect: float | None
    known: bool


class Explanation(NamedTuple):
    """Two questions, their similarity, and the effect of each word; prints as a table."""

    question1: str
    question2: str
    similarity: float
    probability: float | None
    is_duplicate: bool
    threshold: float
    words1: list[WordEffect]
    words2: list[WordEffect]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        words1, words2 = (
            [rounded(w._asdict()) for w in ws] for ws in (self.words1, self.words2)
        )
        return rounded({**self._asdict(), "words1": words1, "words2": words2})

    def __str__(self) -> str:
        width = max(len(harmless(w.word)) for w in (*self.words1, *self.words2))
        lines = []
        for question, side in (
            (self.question1, self.words1),
            (self.question2, self.words2),
        ):
            lines.append(f"  {harmless(question)}")
            for word, effect, known in side:
                change = "the only word" if effect is None else f"{effect:+.3f}"
                note = "" if known else "  (never seen by the model)"
                lines.append(f"    {harmless(word):<{width}}  {change}{note}")
        return "\n".join(lines)


def explain(detector: DuplicateDetector, question1: str, question2: str) -> Explanation:
    """What each word of a pair of questions does to its similarity, by leaving the word out; print it.

    Words stand between blanks; of a question the first `MAX_TOKENS` count. DataError
    for a question without words, or that is not text.

    Source: the occlusion of Zeiler and Fergus (2014), for words: Li, Monroe and
    Jurafsky (2016).
    """
    asked = text_list([question1, question2], "explain")
    read = (detector.encoder.beginning(text)[0] for text in asked)
    words = [text[:LONGEST].split()[:MAX_TOKENS] for text in read]
    if [] in words:
        name = f"question{words.index([]) + 1}"
        raise DataError(f"{name} has no words, so there is nothing to explain.")
    texts = [" ".join(some) for some in words]
    ((similarity, *verdict),) = detector.answers(*([text] for text in texts))
    sides = []
    for some, other in zip(words, reversed(texts)):
        effects = [None]
        if len(some) > 1:
            without = [
                " ".join([*some[:at], *some[at + 1 :]]) for at in range(len(some))
            ]
            effects = (
                similarity - detector.similarity(without, other).astype(float)
            ).tolist()
        known = [not detector.unknown_words(word) for word in some]
        sides.append(list(map(WordEffect, some, effects, known)))
    return Explanation(
        question1, question2, similarity, *verdict, detector.threshold, *sides
    )


def differences(question1: str, question2: str) -> list[str]:
    """What two texts differ in that a cosine hardly sees: numbers, negations, capitalised words, direction.

    The order of capitalised words counts, too: "CSV to JSON" is not "JSON to CSV". A
    text's first word counts where it has two capitals. A word with a digit, such as
    h264, is like one with capitals. The order of other words, and of numbers, counts on
    both sides of from, into, to and versus.

    Example:
      >>> differences("How do I turn CSV into JSON?", "How do I turn JSON into CSV?")
      ['csv json / json csv']
      >>> differences("Is it safe?", "Isn't it safe at 30 degrees?")
      ['- / 30', "- / isn't"]
    """
    numbers, negations, words, ways, names = zip(*map(_parts, (question1, question2)))
    known = names[0] | names[1]
    named = [[word for word in some if word in known] for some in words]
    sides = (numbers, negations, named, _turned(*ways, known))
    shown = [[" ".join(side) or "-" for side in pair] for pair in sides]
    return [" / ".join(pair) for pair in shown if pair[0] != pair[1]]


@functools.lru_cache(1 << 14)  # A text stands in many pairs.
def _parts(text: str) -> tuple[list[str], list[str], list[str], list[tuple], set[str]]:
    """A text's numbers, negations, words, words beside those of direction, and names."""
    text = _THOUSANDS.sub("", straightened(normalized(cleaned(text), "NFKC"))).replace(
        "`", "'"
    )
    words = _WORD.findall(_BARE.sub(r"\1n't", text.lower()))
    negations = sorted(filter(_NEGATION.fullmatch, words))
    names = {word.lower() for word in _NAME.findall(text)}
    numbers = sorted(
        _NUMBER.findall(text) + [_COUNTS[word] for word in words if word in _COUNTS]
    )
    return numbers, negations, words, _DIRECTION.findall(text.lower()), names


def _turned(one: list[tuple], other: list[tuple], names: set[str]) -> list[list[str]]:
    """The words of `_DIRECTION` of two texts that stand the other way round in the other text."""
    turned = {(last, word, first) for first, word, last in other}
    ways = [way for way in one if way in turned and not names.issuperset(way[::2])]
    return [[" ".join(way) for way in ways], [" ".join(way[::-1]) for way in ways]]
