"""What the web page shows, as HTML; the page itself is `siamese.serving.app`.

Everything that a user has typed is escaped: it is shown, never run.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from siamese.errors import DataError
from siamese.search import explain
from siamese.search.detector import DuplicateDetector

ASK_TWO = "<p>Write two questions, and press Compare.</p>"
MOST_SHOWN = 40  # words of a question; a longer one is cut in the picture, not in the answer

# Gradio gives tables borders of its own, hence the !important.
STYLE = """
.answer { font-size: 1.5em; font-weight: 700; margin: 0.2em 0; }
.answer.yes { color: #12436d; } .answer.no { color: #b35900; }
table.ours, .ours :is(tr, td, th) { border: 0 !important; }
.ours :is(td, th) { padding: 0.15em 0.9em 0.15em 0 !important; text-align: left;
  vertical-align: top; font-variant-numeric: tabular-nums; }
.ours caption { text-align: left; font-weight: 700; padding-bottom: 0.3em; }
table.words { width: 100%; max-width: 46em; margin: 0.3em 0 1em 0; }
.words .bar { display: inline-block; width: 50%; height: 0.9em; text-align: right; }
.words .bar + .bar { text-align: left; border-left: 1px solid #6b6b6b; }
.words i { display: inline-block; height: 100%; background: #e8871e; }
.words .bar + .bar i { background: #12436d; }
.words .unknown { text-decoration: underline dotted; }
:is(.words, .hits) td:last-child { width: 70%; overflow-wrap: anywhere; }
.hits tr.yes td:last-child { font-weight: 700; }
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
        found = explain.explain(detector, question1, question2)
    except DataError:
        which = "first" if not question1.strip() else "second"
        return f"<p>The {which} question has no words.</p>", ""
    if threshold is not None:
        found = found._replace(threshold=float(threshold))
    kind, text = ("yes", "Duplicate") if found.is_duplicate else ("no", "Not a duplicate")
    facts = {
        "similarity (cosine)": f"{found.similarity:.3f}",
        "threshold": f"{found.threshold:.3f}",
    }
    if detector.calibration is not None:
        facts["probability"] = f"{detector.calibrated(found.similarity):.0%}"
    answer = f'<p class="answer {kind}">{text}</p>' + _table(
        "facts", (_row(f"<td>{name}</td><td><b>{value}</b></td>") for name, value in facts.items())
    )
    return answer + _unknown(found.unknown_words, found.unknown_note), _words(found)


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
    names = ["similarity", "probability", "id", "question"]
    if hits[0].probability is None:
        names.remove("probability")
    rows = [_row("".join(f"<th>{name}</th>" for name in names))]
    for hit in hits:
        values = {"similarity": f"{hit.similarity:.3f}", "id": hit.id, "question": hit.question}
        if hit.probability is not None:
            values["probability"] = f"{hit.probability:.0%}"
        cells = "".join(f"<td>{_escape(values[name])}</td>" for name in names)
        rows.append(_row(cells, "yes" if hit.is_duplicate else "no"))
    note = explain.unknown_note(index.detector)
    return _unknown(index.detector.unknown_words(question), note) + _table("hits", rows)


def _unknown(words: Sequence[str], note: str) -> str:
    """A sentence about words that the model has never seen."""
    if not words:
        return ""
    shown = ", ".join(dict.fromkeys(map(_escape, words[:MOST_SHOWN])))
    return f"<p>Never seen by the model: <b>{shown}</b>. {note}</p>"


def _words(found: explain.Explanation) -> str:
    tables = []
    for name, words in (("First question", found.words1), ("Second question", found.words2)):
        rows = [_word(word, found.largest_effect) for word in words[:MOST_SHOWN]]
        if len(words) > MOST_SHOWN:
            name += f" (its first {MOST_SHOWN} of {len(words)} words)"
        tables.append(_table("words", rows, name))
    return (
        "<p>What each word does to the similarity (with it, less without it): to the right it makes "
        "the questions more alike, to the left less.</p>" + "".join(tables)
    )


def _word(word: explain.WordEffect, largest: float) -> str:
    text = _escape(word.word if len(word.word) <= 40 else word.word[:39] + "…")
    if not word.known:
        text = f'<span class="unknown" title="never seen by the model">{text}</span>'
    if word.effect is None:
        return _row(f"<td>{text}</td><td></td><td>the only word</td>")
    bar = f'<i style="width:{round(100 * abs(word.effect) / largest)}%"></i>'
    left, right = (bar, "") if word.effect < 0 else ("", bar)
    halves = f'<span class="bar">{left}</span><span class="bar">{right}</span>'
    return _row(f"<td>{text}</td><td>{word.effect:+.3f}</td><td>{halves}</td>")


def _row(cells: str, kind: str = "") -> str:
    return f'<tr class="{kind}">{cells}</tr>' if kind else f"<tr>{cells}</tr>"


def _table(kind: str, rows: Iterable[str], caption: str = "") -> str:
    above = f"<caption>{caption}</caption>" if caption else ""
    return f'<table class="ours {kind}">{above}{"".join(rows)}</table>'


def _escape(value: Any) -> str:
    """Text as HTML; a lone surrogate, which cannot be sent, becomes a question mark."""
    return html.escape(str(value).encode("utf-8", "replace").decode())
