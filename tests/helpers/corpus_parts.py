"""The beginning of the embedded corpus; labelled pairs as a file."""

import csv

import numpy as np

from siamese import embedded_corpus


def small_corpus(train=50, valid=50, test=50):
    """The first duplicates, 37 %, and others of each part, in the corpus's order."""
    corpus = embedded_corpus()
    parts = {}
    for name, size in {"train": train, "valid": valid, "test": test}.items():
        pairs = getattr(corpus, name)
        duplicates = round(0.37 * size)
        yes = np.flatnonzero(pairs.is_duplicate)
        no = np.flatnonzero(~pairs.is_duplicate)
        parts[name] = pairs.select(
            np.sort([*yes[:duplicates], *no[: size - duplicates]])
        )
    asked = {
        text for part in parts.values() for text in (*part.question1, *part.question2)
    }
    questions = tuple(
        question for question in corpus.questions if question.text in asked
    )
    return corpus._replace(**parts, questions=questions)


def pairs_of_length(shortest, longest=None):
    """Those of the corpus whose longer question has so many words."""
    pairs = embedded_corpus().train
    sides = (
        [len(text.split()) for text in side]
        for side in (pairs.question1, pairs.question2)
    )
    lengths = np.maximum(*sides)
    return pairs.select((shortest <= lengths) & (lengths <= (longest or shortest)))


def write_pairs(path, pairs):
    labels = pairs.is_duplicate.astype(int)
    with open(path, "w", newline="", encoding="utf-8") as file:
        header = "question1", "question2", "is_duplicate"
        csv.writer(file).writerows(
            [header, *zip(pairs.question1, pairs.question2, labels)]
        )
    return path
