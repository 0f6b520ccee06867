"""Which words pull the similarity of two questions up or down: leave one word out, and look."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from siamese.data.vocabulary import word_tokenize
from siamese.errors import DataError
from siamese.nn.encoder import PAD
from siamese.search.detector import MAX_TOKENS, DuplicateDetector

BAR = 20  # characters of the longest bar


class WordEffect(NamedTuple):
    """A word of a question, what it does to the similarity, and whether the model knows it.

    `effect` is the similarity with the word less that without it: above 0 where it makes the two
    questions more alike. It is None where the question has no other word.
    """

    word: str
    effect: float | None
    known: bool


class Explanation(NamedTuple):
    """Two questions, their similarity, and the effect of each word; prints as a table of bars."""

    question1: str
    question2: str
    similarity: float
    threshold: float
    words1: list[WordEffect]
    words2: list[WordEffect]
    unknown_alike: bool = True  # whether the model takes all unknown words for one and the same

    @property
    def unknown_words(self) -> list[str]:
        """Words that the model has never seen."""
        return [w.word for w in (*self.words1, *self.words2) if not w.known]

    @property
    def is_duplicate(self) -> bool:
        """Whether the similarity is above the threshold."""
        return self.similarity > self.threshold

    @property
    def largest_effect(self) -> float:
        """The largest effect without its sign, what bars are measured by; 1 where there is none."""
        effects = [abs(w.effect) for w in (*self.words1, *self.words2) if w.effect is not None]
        return max(effects, default=0) or 1

    @property
    def unknown_note(self) -> str:
        """What unknown words mean for the answer."""
        return unknown_note(self.unknown_alike)

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "question1": self.question1,
            "question2": self.question2,
            "similarity": round(self.similarity, 6),
            "threshold": round(self.threshold, 6),
            "words1": [_plain(word) for word in self.words1],
            "words2": [_plain(word) for word in self.words2],
            "unknown_words": self.unknown_words,
        }

    def __str__(self) -> str:
        largest = self.largest_effect
        width = max((len(w.word) for w in (*self.words1, *self.words2)), default=0)
        verdict = "duplicate" if self.is_duplicate else "not a duplicate"
        lines = [f"cosine {self.similarity:.3f}, threshold {self.threshold:.3f}: {verdict}"]
        for question, words in ((self.question1, self.words1), (self.question2, self.words2)):
            lines += ["", f"  {question}"]
            for word in words:
                if word.effect is None:
                    lines.append(f"    {word.word:<{width}}  the only word")
                    continue
                bar = ("+" if word.effect > 0 else "-") * round(BAR * abs(word.effect) / largest)
                note = "" if word.known else "  (never seen by the model)"
                lines.append(f"    {word.word:<{width}}  {word.effect:+.3f}  {bar}{note}")
        if self.unknown_words:
            lines += ["", f"  Never seen by the model: {', '.join(self.unknown_words)}."]
            lines.append(f"  {self.unknown_note}")
        return "\n".join(lines)


def explain(detector: DuplicateDetector, question1: str, question2: str) -> Explanation:
    """What each word of a pair does to its similarity, by leaving the word out.

    Args:
      detector: the model.
      question1: text.
      question2: text.

    Returns:
      An `Explanation`; print it, or draw its numbers.

    Raises:
      DataError: a question without words, or that is not text.

    Source: the occlusion of Zeiler and Fergus (2014), for words: Li, Monroe and Jurafsky (2016).
    """
    ids = detector.token_ids([question1, question2])
    words = [word_tokenize(question)[:MAX_TOKENS] for question in (question1, question2)]
    for name, found in zip(("question1", "question2"), words):
        if not found:
            raise DataError(f"{name} has no words, so there is nothing to explain.")
    variants = [*ids]
    for side in ids:
        variants += [side[:at] + side[at + 1 :] for at in range(len(side))]
    length = None
    if not detector.tower.mask_padding:  # All padded to one length, as `similarity` does.
        length = 1 << (max(map(len, ids)) - 1).bit_length()
        # A question of nothing but padding still has a vector there; it says nothing.
        variants = [variant or [PAD] for variant in variants]
    vectors = detector.encoder.encode(variants, length=length)
    similarity = float(np.vecdot(vectors[0], vectors[1]))
    without1 = vectors[2 : 2 + len(ids[0])] @ vectors[1]
    without2 = vectors[2 + len(ids[0]) :] @ vectors[0]
    effects = []
    for side, without in zip(words, (without1, without2)):
        effects.append(
            [
                WordEffect(
                    word,
                    similarity - float(left) if len(side) > 1 else None,
                    word in detector.vocabulary,
                )
                for word, left in zip(side, without)
            ]
        )
    alike = takes_unknown_words_for_one(detector)
    return Explanation(question1, question2, similarity, detector.threshold, *effects, alike)


def takes_unknown_words_for_one(detector: DuplicateDetector) -> bool:
    """Whether all words that the model has never seen have one id."""
    return not getattr(detector.vocabulary, "unknown_ids", 0)


def unknown_note(alike: bool) -> str:
    """What unknown words mean for an answer; `alike`: the model takes all of them for one."""
    if alike:
        return "All such words look the same to it, a usual reason for a strange answer."
    return (
        "It can tell such words apart but not what they mean, a usual reason for a strange answer."
    )


def _plain(word: WordEffect) -> dict[str, Any]:
    effect = None if word.effect is None else round(word.effect, 6)
    return {"word": word.word, "effect": effect, "known": word.known}
