"""Labelled pairs as a file."""

import csv
from pathlib import Path


def write_pairs(path: Path, pairs) -> Path:
    """Writes them as CSV with a header; returns the path."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["question1", "question2", "is_duplicate"])
        rows.writerows(zip(pairs.question1, pairs.question2, pairs.is_duplicate.astype(int)))
    return path
