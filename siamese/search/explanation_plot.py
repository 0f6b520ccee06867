"""A picture of an explanation: what each word of two questions does to their similarity."""

from __future__ import annotations

from siamese.evaluation.picture import DARK, GREY, LIGHT, new_picture
from siamese.search.explain import Explanation, WordEffect

LINE = 0.26  # inches a word takes
MOST_WORDS = 40  # of a question; those with the largest effects stay
LONGEST_WORD = 24
LONGEST_TITLE = 70


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
    sides = [
        _shortened(explanation.question1, explanation.words1),
        _shortened(explanation.question2, explanation.words2),
    ]
    counts = [len(words) for _, words in sides]
    with new_picture(7.0, 1.5 + LINE * sum(counts)) as figure:
        panels = figure.subplots(2, 1, sharex=True, height_ratios=[n + 1 for n in counts])
        for axes, (title, words) in zip(panels, sides):
            _draw(axes, title, words, explanation.largest_effect)
        panels[1].set_xlabel("cosine with the word less the cosine without it")
        verdict = "duplicate" if explanation.is_duplicate else "not a duplicate"
        figure.suptitle(
            f"cosine {explanation.similarity:.3f}, threshold {explanation.threshold:.3f}: {verdict}",
            x=0.01,
            ha="left",
            fontweight="bold",
        )
    return figure


def _draw(axes, title: str, words: list[WordEffect], largest: float) -> None:
    places = range(len(words))
    effects = [word.effect or 0.0 for word in words]
    bars = axes.barh(places, effects, height=0.7, edgecolor=DARK, linewidth=0.5)
    for bar, word, effect in zip(bars, words, effects):
        bar.set_facecolor(DARK if effect > 0 else LIGHT)
        if effect <= 0:
            bar.set_hatch("////")
        note = "the only word" if word.effect is None else f"{effect:+.3f}"
        note += "" if word.known else "  never seen"
        right = effect >= 0
        axes.annotate(
            note,
            (effect, bar.get_y() + bar.get_height() / 2),
            xytext=(4 if right else -4, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=8,
            color=GREY,
        )
    # Room for the numbers beside the longest bars.
    axes.set_xlim(-1.6 * largest, 1.6 * largest)
    axes.set_yticks(places, [_text(word.word, LONGEST_WORD) for word in words])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    axes.set_title(title).set_parse_math(False)


def _shortened(question: str, words: list[WordEffect]) -> tuple[str, list[WordEffect]]:
    """A panel's title and the words it shows, in their order."""
    title = _text(question, LONGEST_TITLE)
    if len(words) <= MOST_WORDS:
        return title, words
    strongest = sorted(range(len(words)), key=lambda at: -abs(words[at].effect or 0))[:MOST_WORDS]
    return f"{title} ({MOST_WORDS} of {len(words)} words)", [words[at] for at in sorted(strongest)]


def _text(text: str, most: int) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= most else text[: most - 1] + "…"
