"""Which words pull the similarity of two questions up or down: leave one out and look (text or picture)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from siamese.data.vocabulary import word_tokenize
from siamese.errors import DataError
from siamese.evaluation.picture import DARK, GREY, LIGHT, new_picture
from siamese.nn.encoder import PAD
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

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {**self._asdict(), "effect": self.effect and round(self.effect, 6)}


class Explanation(NamedTuple):
    """Two questions, their similarity, and the effect of each word; prints as a table of bars."""

    question1: str
    question2: str
    similarity: float
    threshold: float
    words1: list[WordEffect]
    words2: list[WordEffect]
    unknown_note: str = ""  # what unknown words mean for this model's answers

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
    def sides(self) -> tuple[tuple[str, list[WordEffect]], tuple[str, list[WordEffect]]]:
        """Each question with its words."""
        return (self.question1, self.words1), (self.question2, self.words2)

    @property
    def largest_effect(self) -> float:
        """The largest effect without its sign, what bars are measured by; 1 where there is none."""
        effects = [abs(w.effect) for w in (*self.words1, *self.words2) if w.effect is not None]
        return max(effects, default=0) or 1

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "question1": self.question1,
            "question2": self.question2,
            "similarity": round(self.similarity, 6),
            "threshold": round(self.threshold, 6),
            "words1": [word.as_dict() for word in self.words1],
            "words2": [word.as_dict() for word in self.words2],
            "unknown_words": self.unknown_words,
        }

    def __str__(self) -> str:
        largest = self.largest_effect
        width = max((len(harmless(w.word)) for w in (*self.words1, *self.words2)), default=0)
        lines = [self.verdict]
        for question, words in self.sides:
            lines += ["", f"  {harmless(question)}"]
            for word in words:
                text = harmless(word.word)
                if word.effect is None:
                    lines.append(f"    {text:<{width}}  the only word")
                    continue
                bar = ("+" if word.effect > 0 else "-") * round(BAR * abs(word.effect) / largest)
                note = "" if word.known else "  (never seen by the model)"
                lines.append(f"    {text:<{width}}  {word.effect:+.3f}  {bar}{note}")
        if self.unknown_words:
            lines += ["", f"  Never seen by the model: {harmless(', '.join(self.unknown_words))}."]
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
    variants = [*ids, *(side[:at] + side[at + 1 :] for side in ids for at in range(len(side)))]
    length = None
    if not detector.tower.mask_padding:  # All padded to one length, as `similarity` does.
        length = 1 << (max(map(len, ids)) - 1).bit_length()
        # A question of nothing but padding still has a vector there; it says nothing.
        variants = [variant or [PAD] for variant in variants]
    vectors = detector.encoder.encode(variants, length=length)
    similarity = float(np.vecdot(vectors[0], vectors[1]))
    split = 2 + len(ids[0])
    left_out = vectors[2:split] @ vectors[1], vectors[split:] @ vectors[0]
    effects = [
        [
            WordEffect(
                word,
                similarity - float(without) if len(side) > 1 else None,
                word in detector.vocabulary,
            )
            for word, without in zip(side, products)
        ]
        for side, products in zip(words, left_out)
    ]
    note = unknown_note(detector)
    return Explanation(question1, question2, similarity, detector.threshold, *effects, note)


def unknown_note(detector: DuplicateDetector) -> str:
    """What words that the model has never seen mean for its answer."""
    if detector.vocabulary.unknown_ids:  # Several ids: not all unknown words have the same one.
        return "It can tell such words apart but not what they mean, a usual reason for a strange answer."
    return "All such words look the same to it, a usual reason for a strange answer."


def plot_explanation(explanation: Explanation):
    """Bars for the words of both questions: to the right what makes them alike, to the left what does not.

    Args:
      explanation: what `siamese.explain` returned.

    Returns:
      A Matplotlib figure; `siamese.evaluation.picture.save_picture` writes it to a file.

    Raises:
      MissingDependencyError: where Matplotlib is not installed.

    Example:
      >>> words = [WordEffect("old", 0.3, True), WordEffect("xyzzy", -0.1, False)]
      >>> made = Explanation("old xyzzy", "old xyzzy", 0.9, 0.7, words, words)
      >>> len(plot_explanation(made).axes)
      2
    """
    sides = explanation.sides
    counts = [min(len(words), MOST_WORDS) for _, words in sides]
    with new_picture(7.0, 1.5 + LINE * sum(counts)) as figure:
        panels = figure.subplots(2, 1, sharex=True, height_ratios=[n + 1 for n in counts])
        for axes, side in zip(panels, sides):
            _draw(axes, *side, explanation.largest_effect)
        panels[1].set_xlabel("cosine with the word less the cosine without it")
        figure.suptitle(explanation.verdict, x=0.01, ha="left", fontweight="bold")
    return figure


def _draw(axes, question: str, words: list[WordEffect], largest: float) -> None:
    title = _text(question, LONGEST_TITLE)
    if len(words) > MOST_WORDS:
        title += f" ({MOST_WORDS} of {len(words)} words)"
        strongest = sorted(range(len(words)), key=lambda at: -abs(words[at].effect or 0))
        words = [words[at] for at in sorted(strongest[:MOST_WORDS])]
    effects = [word.effect or 0.0 for word in words]
    colours = [DARK if effect > 0 else LIGHT for effect in effects]
    hatches = ["" if effect > 0 else "////" for effect in effects]
    bars = axes.barh(range(len(words)), effects, height=0.7, color=colours, hatch=hatches,
                     edgecolor=DARK, linewidth=0.5)  # fmt: skip
    notes = ["the only word" if word.effect is None else f"{word.effect:+.3f}" for word in words]
    notes = [note if w.known else f"{note}  never seen" for note, w in zip(notes, words)]
    axes.bar_label(bars, notes, padding=4, fontsize=8, color=GREY)
    axes.set_xlim(-1.6 * largest, 1.6 * largest)  # space for the numbers beside the longest bars
    axes.set_yticks(range(len(words)), [_text(word.word, LONGEST_WORD) for word in words])
    axes.invert_yaxis()
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    for text in (axes.set_title(title), *axes.get_yticklabels()):
        text.set_parse_math(False)


def _text(text: str, most: int) -> str:
    text = harmless(text)
    return text if len(text) <= most else text[: most - 1] + "…"
