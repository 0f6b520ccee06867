"""What the web page shows, as HTML; the page itself is `siamese.serving.app`.

Everything that a user has typed is escaped: it is shown, never run.
"""

from __future__ import annotations

import html
from typing import Any

from siamese.errors import DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.explain import (
    Explanation,
    WordEffect,
    explain,
    takes_unknown_words_for_one,
    unknown_note,
)

ASK_TWO = "<p>Write two questions, and press Compare.</p>"
MOST_SHOWN = 40  # words of a question; a longer one is cut in the picture, not in the answer

# Gradio gives tables borders of its own, hence the !important.
STYLE = """
.answer { font-size: 1.5em; font-weight: 700; margin: 0.2em 0; }
.answer.yes { color: #12436d; } .answer.no { color: #b35900; }
table.facts, table.words, table.hits { border-collapse: collapse; border: 0 !important; }
:is(table.facts, table.words, table.hits) :is(tr, td, th) {
  border: 0 !important; padding: 0.15em 0.9em 0.15em 0 !important; text-align: left; }
table.words { width: 100%; max-width: 46em; margin: 0.3em 0 1em 0; }
.words caption { text-align: left; font-weight: 700; padding-bottom: 0.3em; }
.words th { font-weight: 400; white-space: nowrap; }
.words td.number { text-align: right; width: 4.5em; font-variant-numeric: tabular-nums; }
.words td.bar { width: 60%; }
.words .half { display: inline-block; width: 50%; height: 0.9em; vertical-align: middle; }
.words .left { border-right: 1px solid #6b6b6b; text-align: right; }
.words i { display: inline-block; height: 100%; }
.words .up { background: #12436d; } .words .down { background: #e8871e; }
.words .unknown { text-decoration: underline dotted; }
table.hits { width: 100%; }
.hits td { font-variant-numeric: tabular-nums; vertical-align: top; }
.hits td.question { width: 75%; overflow-wrap: anywhere; }
.hits tr.yes td.question { font-weight: 700; }
"""


def comparison(
    detector: DuplicateDetector, question1: str, question2: str, threshold: float | None = None
) -> tuple[str, str]:
    """The answer for two questions, and what each word does to it.

    Args:
      detector: the model.
      question1: text.
      question2: text.
      threshold: cosine above which they are duplicates; the model's own where None.

    Returns:
      Two pieces of HTML: the answer, and the words with their bars. Where a question has no words
      the first says so, and the second is empty.
    """
    question1, question2 = question1 or "", question2 or ""
    if not question1.strip() and not question2.strip():
        return ASK_TWO, ""
    try:
        found = explain(detector, question1, question2)
    except DataError:
        which = "first" if not question1.strip() else "second"
        return f"<p>The {which} question has no words.</p>", ""
    cut = detector.threshold if threshold is None else float(threshold)
    return _answer(detector, found._replace(threshold=cut)), _words(found)


def hits_table(index: Any, question: str, k: int = 10, threshold: float | None = None) -> str:
    """The old questions most similar to a new one, as a table in HTML; duplicates stand out.

    Args:
      index: a `QuestionIndex`.
      question: text; nothing is found for one without words.
      k: how many.
      threshold: cosine above which they are marked as duplicates; the model's own where None.
    """
    hits = index.search(question or "", k, threshold=threshold)
    if not hits:
        return "<p>The index is empty.</p>" if not len(index) else ""
    calibrated = hits[0].probability is not None
    columns = ["similarity", *(["probability"] if calibrated else []), "id", "question"]
    rows = []
    for hit in hits:
        cells = [f"{hit.similarity:.3f}", *([f"{hit.probability:.0%}"] if calibrated else [])]
        cells.append(_escape(str(hit.id)))
        rows.append(
            f'<tr class="{"yes" if hit.is_duplicate else "no"}">'
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + f'<td class="question">{_escape(hit.question)}</td></tr>'
        )
    header = "".join(f"<th>{name}</th>" for name in columns)
    alike = takes_unknown_words_for_one(index.detector)
    unknown = _unknown(index.detector.unknown_words(question), alike)
    return f'{unknown}<table class="hits"><tr>{header}</tr>{"".join(rows)}</table>'


def _answer(detector: DuplicateDetector, found: Explanation) -> str:
    yes = found.is_duplicate
    facts = [
        ("similarity (cosine)", f"{found.similarity:.3f}"),
        ("threshold", f"{found.threshold:.3f}"),
    ]
    if detector.calibration is not None:
        facts.append(("probability", f"{detector.calibrated(found.similarity):.0%}"))
    rows = "".join(f"<tr><td>{name}</td><td><b>{value}</b></td></tr>" for name, value in facts)
    text = "Duplicate" if yes else "Not a duplicate"
    return (
        f'<p class="answer {"yes" if yes else "no"}">{text}</p>'
        f'<table class="facts">{rows}</table>'
        f"{_unknown(found.unknown_words, found.unknown_alike)}"
    )


def _unknown(words: list[str], alike: bool) -> str:
    """A sentence about words that the model has never seen."""
    if not words:
        return ""
    shown = ", ".join(dict.fromkeys(map(_escape, words[:MOST_SHOWN])))
    return f"<p>Never seen by the model: <b>{shown}</b>. {unknown_note(alike)}</p>"


def _words(found: Explanation) -> str:
    largest, tables = found.largest_effect, []
    for name, words in (("First question", found.words1), ("Second question", found.words2)):
        rows = "".join(_word(word, largest) for word in words[:MOST_SHOWN])
        if len(words) > MOST_SHOWN:
            name += f" (its first {MOST_SHOWN} of {len(words)} words)"
        tables.append(f'<table class="words"><caption>{name}</caption>{rows}</table>')
    return (
        "<p>What each word does to the similarity (with it, less without it): to the right it makes "
        "the questions more alike, to the left less.</p>" + "".join(tables)
    )


def _word(word: WordEffect, largest: float) -> str:
    text = _escape(word.word if len(word.word) <= 40 else word.word[:39] + "…")
    if not word.known:
        text = f'<span class="unknown" title="never seen by the model">{text}</span>'
    if word.effect is None:
        return f'<tr><th>{text}</th><td class="number"></td><td class="bar">the only word</td></tr>'
    width = round(100 * abs(word.effect) / largest)
    left = f'<i class="down" style="width:{width}%"></i>' if word.effect < 0 else ""
    right = f'<i class="up" style="width:{width}%"></i>' if word.effect > 0 else ""
    return (
        f'<tr><th>{text}</th><td class="number">{word.effect:+.3f}</td><td class="bar">'
        f'<span class="half left">{left}</span><span class="half">{right}</span></td></tr>'
    )


def _escape(text: str) -> str:
    """Text as HTML; a lone surrogate, which cannot be sent, becomes a question mark."""
    return html.escape(text.encode("utf-8", "replace").decode())
