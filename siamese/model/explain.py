"""Which words pull the similarity of two questions up or down: leave one out and look."""

from __future__ import annotations

from typing import NamedTuple

from siamese.errors import DataError
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector, judged, own_borders, pairs_of
from siamese.model.near_miss_features import FEATURES
from siamese.model.near_miss_reasons import differences_of
from siamese.nn.nearest import cosines_with
from siamese.system.open_types import JsonObject
from siamese.text.display import harmless, rounded
from siamese.text.tokenizer import LONGEST, MAX_TOKENS
from siamese.text.values import text_list


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
    difference: str  # what the near-miss check took a penalty for; '' for none
    threshold: float
    words1: list[WordEffect]
    words2: list[WordEffect]
    # The comparison features of the near-miss check (`FEATURES`) that are not 0, and the
    # penalty on the cosine; empty for a model without a check.
    compared: dict[str, float]

    def as_dict(self) -> JsonObject:
        """JSON values."""
        words1, words2 = (
            [rounded(w._asdict()) for w in ws] for ws in (self.words1, self.words2)
        )
        lists = {"words1": words1, "words2": words2, "compared": rounded(self.compared)}
        return rounded(self._asdict()) | lists

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
        if self.compared:
            lines.append("  compared word by word:")
            numbers = (f"{name} {value:g}" for name, value in self.compared.items())
            lines.append(f"    {', '.join(numbers)}")
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
    pair = pairs_of(detector, *([text] for text in texts))
    (verdict,) = judged(detector, *pair)
    sides = []
    for some, other in zip(words, reversed(texts)):
        effects: list[float | None] = [None]
        if len(some) > 1:
            without = [
                " ".join([*some[:at], *some[at + 1 :]]) for at in range(len(some))
            ]
            effects = (
                verdict.similarity - detector.similarity(without, other).astype(float)
            ).tolist()
        known = [not detector.unknown_words(word) for word in some]
        sides.append(list(map(WordEffect, some, effects, known)))
    return Explanation(
        question1,
        question2,
        *verdict,
        float(own_borders(detector, *pair)[0]),
        sides[0],
        sides[1],
        compared=_compared(detector, *pair),
    )


def _compared(
    detector: DuplicateDetector, one: Questions, two: Questions
) -> dict[str, float]:
    """What the near-miss check counts in one pair of questions, see `Explanation.compared`."""
    check = detector.check
    if check is None:
        return {}
    cosines = cosines_with(one.vectors, two.vectors)
    rows = check.features(list(one.texts), list(two.texts), cosines)
    values = zip(FEATURES, rows[0].tolist())
    found = {name: round(value, 3) for name, value in values if value}
    return {**found, "penalty": round(float(check.penalty_of(rows)[0]), 3)}


def differences(question1: str, question2: str) -> list[str]:
    """What two texts differ in that a cosine hardly sees: numbers, names, negations, opposites, order.

    They are told from the units that the near-miss check compares, kinds and all (see
    `siamese.model.near_miss_units`): "80" is "eighty", "1,000 mg" is "1 g", and a
    question's own "isn't" is no negation. Other words that differ are not listed.

    Example:
      >>> differences("How do I turn CSV into JSON?", "How do I turn JSON into CSV?")
      ['CSV JSON / JSON CSV']
      >>> differences("Is it safe?", "Is it not safe at 30 degrees?")
      ['- / 30 degrees', '- / not']
    """
    found = differences_of(question1, question2)
    return [str(difference) for difference in found if difference.kind != "noun"]
