"""The near-miss check: questions that share most of their words and ask something else."""

import csv
from collections import Counter
from pathlib import Path

from siamese import embedded_corpus
from siamese.corpus import handwritten_questions

BY_HAND = Path(__file__).parents[2] / "benchmarks" / "by_hand"


def by_hand(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((BY_HAND / name).read_text("utf-8").splitlines()))


def test_what_is_written_by_hand_stands_in_no_other_set():
    rows = [*by_hand("near_misses.csv"), *by_hand("same.csv")]
    assert Counter(row["half"] for row in rows) == {"choose": 80, "report": 80}
    texts = [row[name] for row in rows for name in row if name not in ("half", "kind")]
    assert all(texts)
    known = {question.text for question in embedded_corpus().questions}
    known |= {row["question"] for row in handwritten_questions()}
    assert not known.intersection(texts)
