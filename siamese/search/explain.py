"""Which words pull the similarity of two questions up or down: leave one out and look (text or picture)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import text_list
from siamese.errors import DataError
from siamese.evaluation.picture import DARK, GREY, LIGHT, new_picture
from siamese.search.detector import MAX_TOKENS, DuplicateDetector
from siamese.search.display import harmless

BAR = 20  # characters of the longest bar
# In a picture:
LINE = 0.26  # inches a word takes
MOST_WORDS = 40  # of a question; those with the largest effects stay
LONGEST_WORD, LONGEST_TITLE = 24, 70  # characters


class WordEffect(NamedTuple):
    """A word of a question, what it does to the similarity, and whether the model knows it.

    `effect` is the similarity with the word less that without it: above 0 where it makes the two
    questions more alike. It is None where the question has no other word.
    """

    word: str
    effect: float | None
    known: bool


class Explanation(NamedTuple):
    """Two questions, their similarity, and the effect of each word; prints as a table of bars.

    `unknown_note` says which words the model has never seen; it is empty where there are none.
    """

    question1: str
    question2: str
    similarity: float
    threshold: float
    words1: list[WordEffect]
    words2: list[WordEffect]
    unknown_note: str = ""

    @property
    def unknown_words(self) -> list[str]:
        """Words that the model has never seen."""
        return [w.word for w in (*self.words1, *self.words2) if not w.known]

    @property
    def is_duplicate(self) -> bool:
        """Whether the similarity is above the threshold."""
        return self.similarity > self.threshold

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        kind = "duplicate" if self.is_duplicate else "not a duplicate"
        return f"cosine {self.similarity:.3f}, threshold {self.threshold:.3f}: {kind}"

    @property
    def largest_effect(self) -> float:
        """The largest effect without its sign, what bars are measured by; 1 where there is none."""
        return max((abs(w.effect or 0) for w in (*self.words1, *self.words2)), default=0) or 1

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        sides = {
            name: [{**w._asdict(), "effect": w.effect and round(w.effect, 6)} for w in words]
            for name, words in (("words1", self.words1), ("words2", self.words2))
        }
        found = {**self._asdict(), **sides, "unknown_words": self.unknown_words}
        del found["unknown_note"]
        numbers = ("similarity", "threshold")
        return {**found, **{name: round(found[name], 6) for name in numbers}}

    def __str__(self) -> str:
        width = max((len(harmless(w.word)) for w in (*self.words1, *self.words2)), default=0)
        lines = [self.verdict]
        for question, words in ((self.question1, self.words1), (self.question2, self.words2)):
            lines += ["", f"  {harmless(question)}"]
            for word, effect, known in words:
                shown = "the only word"
                if effect is not None:
                    length = round(BAR * abs(effect) / self.largest_effect)
                    shown = f"{effect:+.3f}  {('+' if effect > 0 else '-') * length}"
                note = "" if known else "  (never seen by the model)"
                lines.append(f"    {harmless(word):<{width}}  {shown}{note}")
        return "\n".join([*lines, *(["", f"  {self.unknown_note}"] if self.unknown_note else [])])


def explain(detector: DuplicateDetector, question1: str, question2: str) -> Explanation:
    """What each word of a pair of questions does to its similarity, by leaving the word out; print it.

    Words stand between blanks; of a question the first `MAX_TOKENS` count.

    Raises:
      DataError: a question without words, or that is not text.

    Source: the occlusion of Zeiler and Fergus (2014), for words: Li, Monroe and Jurafsky (2016).
    """
    words = [text.split()[:MAX_TOKENS] for text in text_list([question1, question2], "explain")]
    for name, some in zip(("question1", "question2"), words):
        if not some:
            raise DataError(f"{name} has no words, so there is nothing to explain.")
    texts = [" ".join(some) for some in words]
    without = [
        [" ".join([*some[:at], *some[at + 1 :]]) for at in range(len(some))] for some in words
    ]
    others = [texts[1]] * len(words[0]), [texts[0]] * len(words[1])
    similarity = detector.similarity(*texts)
    sides = []
    for some, variants, other in zip(words, without, others):
        effects = [None]
        if len(some) > 1:
            effects = (similarity - detector.similarity(variants, other).astype(float)).tolist()
        known = [not detector.unknown_words(word) for word in some]
        sides.append(list(map(WordEffect, some, effects, known)))
    explanation = Explanation(question1, question2, similarity, detector.threshold, *sides)
    note = unknown_note(detector, explanation.unknown_words)
    return explanation._replace(unknown_note=note)


def unknown_note(detector: DuplicateDetector, words: list[str]) -> str:
    """What words that the model has never seen mean for its answer; empty where there are none."""
    if not words:
        return ""
    shown = ", ".join(dict.fromkeys(map(harmless, words[:MOST_WORDS])))
    what = "All such words look the same to it"
    if detector.vocabulary.unknown_ids:  # Several ids: not all unknown words have the same one.
        what = "It can tell such words apart but not what they mean"
    return f"Never seen by the model: {shown}. {what}, a usual reason for a strange answer."


def plot_explanation(explanation: Explanation):
    """A Matplotlib figure with bars for the words of both questions: to the right what makes them alike.

    Raises:
      MissingDependencyError: where Matplotlib is not installed.

    Example:
      >>> words = [WordEffect("old", 0.3, True), WordEffect("xyzzy", -0.1, False)]
      >>> made = Explanation("old xyzzy", "old xyzzy", 0.9, 0.7, words, words)
      >>> len(plot_explanation(made).axes)
      2
    """
    largest = explanation.largest_effect
    sides = explanation.words1, explanation.words2
    counts = [min(len(words), MOST_WORDS) for words in sides]
    with new_picture(7.0, 1.5 + LINE * sum(counts)) as figure:
        panels = figure.subplots(2, 1, sharex=True, height_ratios=[n + 1 for n in counts])
        for axes, question, words in zip(panels, explanation[:2], sides):
            title = _text(question, LONGEST_TITLE)
            if len(words) > MOST_WORDS:
                title += f" ({MOST_WORDS} of {len(words)} words)"
                strongest = np.argsort([-abs(w.effect or 0) for w in words], kind="stable")
                words = [words[at] for at in sorted(strongest[:MOST_WORDS])]
            effects = [word.effect or 0.0 for word in words]
            colours = [DARK if effect > 0 else LIGHT for effect in effects]
            hatches = ["" if effect > 0 else "////" for effect in effects]
            look = {"height": 0.7, "edgecolor": DARK, "linewidth": 0.5}
            bars = axes.barh(range(len(words)), effects, color=colours, hatch=hatches, **look)
            notes = ["the only word" if w.effect is None else f"{w.effect:+.3f}" for w in words]
            notes = [note if w.known else f"{note}  never seen" for note, w in zip(notes, words)]
            axes.bar_label(bars, notes, padding=4, fontsize=8, color=GREY)
            axes.set_xlim(-1.6 * largest, 1.6 * largest)  # Space for the numbers beside the bars.
            axes.set_yticks(range(len(words)), [_text(word.word, LONGEST_WORD) for word in words])
            axes.invert_yaxis()
            axes.axvline(0, color=GREY, linewidth=0.8)
            axes.grid(axis="y", visible=False)
            for text in (axes.set_title(title), *axes.get_yticklabels()):
                text.set_parse_math(False)
        axes.set_xlabel("cosine with the word less the cosine without it")
        figure.suptitle(explanation.verdict, x=0.01, ha="left", fontweight="bold")
    return figure


def _text(text: str, most: int) -> str:
    text = harmless(text)
    return text if len(text) <= most else text[: most - 1] + "…"
