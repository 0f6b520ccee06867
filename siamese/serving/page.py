"""What the web page shows, as the values of Gradio's components; the page is `siamese.serving.app`."""

from __future__ import annotations

from siamese.errors import DataError, SiameseError
from siamese.search.detector import DuplicateDetector
from siamese.search.display import NO_LABELS, harmless
from siamese.search.explain import WordEffect, explain, unknown_note
from siamese.serving.service import QuestionService

ASK_TWO = "Write two questions, and press Compare."
RANKS = "rank: by vectors and words together (by vectors alone, by words alone; –: not found)"
MOST_SHOWN = 40  # words of a question; a longer one is cut on the page, not in the answer
COLUMNS = ("rank", "cosine", "question", "id")
PAIRS = [  # to begin with
    ["How can I learn Spanish quickly?", "What is the fastest way to learn Spanish?"],
    ["How old are you?", "How old is your dog?"],
]

Words = list[tuple[str, float | None]]  # of a question: text, and its effect from -1 to 1


def comparison(
    detector: DuplicateDetector, question1: str, question2: str, threshold: float | None = None
) -> tuple[str, str, Words, Words]:
    """The answer in two words, its numbers in sentences, and each question's words with their effects.

    Effects are shares of the largest of both questions. Where a question has no words the answer says so.
    """
    question1, question2 = question1 or "", question2 or ""
    if not question1.strip() and not question2.strip():
        return ASK_TWO, "", [], []
    try:
        found = explain(detector, question1, question2)
    except DataError:
        which = "first" if not question1.strip() else "second"
        return f"The {which} question has no words.", "", [], []
    if threshold is not None:
        found = found._replace(threshold=float(threshold))
    facts = f"Cosine {found.similarity:.3f}, threshold {found.threshold:.3f}"
    if detector.calibration is not None:
        facts += f", probability {detector.calibrated(found.similarity):.0%}"
    notes = [f"{facts}.", found.unknown_note]
    if detector.threshold_from == "default" and found.threshold == detector.threshold:
        notes.append(NO_LABELS)
    if max(map(len, (found.words1, found.words2))) > MOST_SHOWN:
        notes.append(f"Of a longer question the first {MOST_SHOWN} words are shown.")
    words = [_words(side, found.largest_effect) for side in (found.words1, found.words2)]
    answer = "Duplicate" if found.is_duplicate else "Not a duplicate"
    return answer, "\n".join(filter(None, notes)), *words


def hits_table(
    service: QuestionService, question: str, k: int = 10, threshold: float | None = None
) -> tuple[list[list[str]], str]:
    """The old questions most similar to a new one as rows of `COLUMNS`, and what is to be noted.

    What others have added to the index's directory meanwhile is searched too.
    """
    try:
        hits = service.search([question or ""], k, threshold=threshold).result()[0]
    except SiameseError as error:
        return [], str(error)
    rows = []
    for rank, hit in enumerate(hits, start=1):
        figures = f"{'* ' if hit.is_duplicate else ''}{hit.similarity:.3f}"
        figures += "" if hit.probability is None else f" ({hit.probability:.0%})"
        ranks = f"{rank} ({hit.vector_rank or '–'}, {hit.word_rank or '–'})"
        rows.append([ranks, figures, harmless(hit.question), harmless(hit.id)])
    notes = [service.trouble, "" if len(service.index) else "The index is empty."]
    if any(hit.is_duplicate for hit in hits):
        notes.append("* a duplicate")
    if hits:
        notes.append(RANKS)
        notes.append(unknown_note(service.detector, service.detector.unknown_words(question)))
    return rows, "\n".join(filter(None, notes))


def _words(words: list[WordEffect], largest: float) -> Words:
    found: Words = []
    for word in words[:MOST_SHOWN]:
        text = harmless(word.word if len(word.word) <= 40 else f"{word.word[:39]}…")
        if word.effect is None:
            found.append((f"{text} (the only word)", None))
        else:
            found.append((f"{text} {word.effect:+.2f}", word.effect / largest))
    return found
