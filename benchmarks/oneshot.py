"""One-shot classes on the embedded corpus: accuracy with a few examples a class, beside TF-IDF.

Usage: python benchmarks/oneshot.py --model demo=demo [--model best=runs/best]
           [--results benchmarks/results/oneshot]

The questions are those of the corpus's test part, each once. The classes are its 60 subjects ("baking"),
or its meanings (the same question in other words, as in a list of frequent questions). A question gets
the class of its nearest example; the examples are drawn 20 times. TF-IDF knows the words of all these
questions. A model trained on the corpus (`siamese demo`) has seen other questions of the same
subjects, but none of these meanings; one trained elsewhere has seen neither.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from siamese.data.corpus import embedded_corpus
from siamese.search.detector import DuplicateDetector

CLASSES = {"subject": (1, 3, 5), "meaning": (1, 2, 3)}  # and how many examples of each


class OneShotAccuracy(NamedTuple):
    """Mean accuracy over the drawn example sets, and its standard deviation."""

    examples: int
    model: float
    model_std: float
    tfidf: float
    tfidf_std: float
    classes: int
    questions: int


def evaluate_one_shot(
    detector: DuplicateDetector,
    questions: Sequence[str],
    labels: Sequence[Hashable],
    *,
    examples: Sequence[int] = (1, 3, 5),
    repeats: int = 20,
    seed: int = 34,
) -> list[OneShotAccuracy]:
    """Accuracy with few examples a class, beside a TF-IDF nearest neighbour on the same examples.

    Args:
      detector: the model.
      questions: texts, all different.
      labels: the class of each.
      examples: how many examples a class to try; classes with too few questions are left out of all.
      repeats: how often the examples are drawn anew; the others are classified.
      seed: of the draws.

    Returns:
      A row for each of `examples`; every question gets a class (no threshold).
    """
    names = {name: i for i, name in enumerate(sorted(set(labels), key=str))}
    owners = np.array([names[label] for label in labels], np.int64)
    members = [np.flatnonzero(owners == i) for i in range(len(names))]
    members = [rows for rows in members if len(rows) > max(examples)]
    used = np.sort(np.concatenate(members))
    vectors = detector.encode(questions)
    # TF-IDF learns its word weights from all the texts, without labels: in its favour.
    words = TfidfVectorizer(sublinear_tf=True).fit([questions[i] for i in used])
    words = words.transform(questions)
    rng = np.random.default_rng(seed)

    def accuracies(count: int) -> list[float]:
        """Of the model and of TF-IDF, with `count` examples a class drawn anew."""
        shots = np.concatenate([rng.choice(group, count, replace=False) for group in members])
        rest = np.setdiff1d(used, shots)
        products = vectors[rest] @ vectors[shots].T, (words[rest] @ words[shots].T).toarray()
        nearest = (shots[scores.argmax(axis=1)] for scores in products)
        return [float((owners[found] == owners[rest]).mean()) for found in nearest]

    rows = []
    for count in examples:
        model, tfidf = zip(*(accuracies(count) for _ in range(repeats)))
        figures = map(float, (np.mean(model), np.std(model), np.mean(tfidf), np.std(tfidf)))
        rows.append(OneShotAccuracy(count, *figures, len(members), len(used)))
    return rows


def table(models: dict[str, DuplicateDetector], classes: str, repeats: int) -> tuple[dict, str]:
    """The figures of each model, and the table in Markdown."""
    asked = [question for question in embedded_corpus().questions if question.part == "test"]
    questions, labels = [q.text for q in asked], [getattr(q, classes) for q in asked]
    found, lines = {}, {}
    for name, detector in models.items():
        rows = evaluate_one_shot(
            detector, questions, labels, examples=CLASSES[classes], repeats=repeats
        )
        found[name] = [row._asdict() for row in rows]
        for column, label in (("model", f"siamese, `{name}`"), ("tfidf", "TF-IDF")):
            lines[label] = [
                f"{getattr(row, column):.3f} ± {getattr(row, f'{column}_std'):.3f}" for row in rows
            ]
    text = (
        f"## Classes: {classes}s\n\n{rows[0].questions:,} questions of {rows[0].classes} {classes}s; "
        f"guessing gives {1 / rows[0].classes:.3f}.\n\n"
        f"| nearest example by | {' | '.join(f'{row.examples} a {classes}' for row in rows)} |\n"
        f"|{'---|' * (1 + len(rows))}\n"
    )
    return found, text + "".join(f"| {label} | {' | '.join(v)} |\n" for label, v in lines.items())


def main() -> None:
    """Measures each model and writes PREFIX.json and PREFIX.md."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", action="append", required=True, metavar="NAME=DIR")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--results", default="benchmarks/results/oneshot", metavar="PREFIX")
    flags = parser.parse_args()
    named = dict(model.split("=", 1) for model in flags.model)
    models = {name: DuplicateDetector.load(folder) for name, folder in named.items()}
    found, text = (
        {},
        (
            "# One-shot classes, measured\n\nMade by `python benchmarks/oneshot.py`: questions of the "
            "embedded corpus's test part; accuracy ± standard deviation over "
            f"{flags.repeats} draws of the examples. Classes with too few questions are left out.\n"
        ),
    )
    for classes in CLASSES:
        found[classes], more = table(models, classes, flags.repeats)
        text += f"\n{more}"
    path = Path(flags.results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    path.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
