"""What is in a file of question pairs, as numbers and as text for a terminal: `siamese data FILE`."""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese.data.clusters import clusters, overlap
from siamese.data.pairs import QuestionPairs
from siamese.errors import DataError

COURSE_TRAIN_ROWS, COURSE_TEST_ROWS = 300_000, 10_240


def describe(
    pairs: QuestionPairs, *, train_rows: int | None = None, test_rows: int | None = None
) -> dict[str, Any]:
    """Counts what question pairs hold, as plain values. Lengths are words between blanks.

    Args:
      pairs: at least one pair.
      train_rows: rows of the split by rows that train; by default the course's 300,000, or the first
        nine tenths of a smaller file.
      test_rows: the rows after them that test; by default the course's 10,240, or all that follow.

    Raises:
      ArgumentError: a split larger than the file.

    Example:
      >>> facts = describe(QuestionPairs(["a b?", "c?"], ["b a?", "d?"], [1, 0]))
      >>> facts["pairs"], facts["questions"], facts["clusters"]["largest"]
      (2, 4, 2)
    """
    joined, report = clusters(pairs), pairs.report
    lengths = np.array([len(text.split()) for text in [*pairs.question1, *pairs.question2]])
    facts = ("path", "format", "rows", "kept", "findings")
    return {
        "file": report and {name: getattr(report, name) for name in facts},
        "handled": report.finding_lines() if report else [],
        "pairs": len(pairs),
        "duplicates": int(pairs.is_duplicate.sum()),
        "base_rate": pairs.base_rate,
        "questions": len(joined.questions),
        "words": {
            "mean": float(lengths.mean()),
            "median": float(np.median(lengths)),
            "p95": float(np.percentile(lengths, 95)),
            "longest": int(lengths.max()),
        },
        "clusters": {
            "count": len(joined),
            "of_two_or_more": int((joined.sizes > 1).sum()),
            "largest": int(joined.sizes.max()),
            "conflicts": len(joined.conflict_rows),
            "first_conflicts": [str(pairs.ids[row]) for row in joined.conflict_rows[:5]],
        },
        "splits": _splits(pairs, train_rows, test_rows),
    }


def _splits(
    pairs: QuestionPairs, train_rows: int | None, test_rows: int | None
) -> dict[str, dict[str, Any] | str]:
    total = pairs.report.rows if pairs.report else len(pairs)
    if train_rows is None and test_rows is None and total >= COURSE_TRAIN_ROWS + COURSE_TEST_ROWS:
        train_rows, test_rows = COURSE_TRAIN_ROWS, COURSE_TEST_ROWS
    if train_rows is None:
        train_rows = total * 9 // 10 if test_rows is None else total - test_rows
    splits: dict[str, Any] = {}
    try:
        if total < 2:
            raise DataError("One row cannot be split.")
        by_rows = pairs.split_rows(train_rows, test_rows)
        if not all(map(len, by_rows)):
            raise DataError("One part of the split by rows holds no pairs.")
        splits["rows"] = _split_numbers(*by_rows)
        share = len(by_rows[1]) / sum(map(len, by_rows))
        splits["clusters"] = _split_numbers(*pairs.split_by_cluster((1 - share, share)))
    except DataError as error:
        splits["not_possible"] = str(error)
    return splits


def _split_numbers(train: QuestionPairs, test: QuestionPairs) -> dict[str, Any]:
    sizes = {"train": len(train), "test": len(test), "overlap": overlap(train, test)}
    return sizes | {"train_base_rate": train.base_rate, "test_base_rate": test.base_rate}


def render(facts: dict[str, Any]) -> str:
    """The result of `describe` as text for a terminal."""
    words, joined, file = facts["words"], facts["clusters"], facts["file"]
    ids = ", ".join(joined["first_conflicts"])
    more = ", …" if joined["conflicts"] > len(joined["first_conflicts"]) else ""
    out = [f"{file['path']}\n  {file['format']}; {file['rows']:,} rows\n"] if file else []
    out += [
        f"pairs       {facts['pairs']:>9,}",
        f"duplicates  {facts['duplicates']:>9,}   base rate {facts['base_rate']:.1%}",
        f"questions   {facts['questions']:>9,}   distinct",
        "",
        f"Words in a question: mean {words['mean']:.1f}, median {words['median']:.0f}, "
        f"95 % up to {words['p95']:.0f}, longest {words['longest']}",
        "",
        f"Clusters of duplicates: {joined['count']:,}, of two or more questions "
        f"{joined['of_two_or_more']:,}, largest {joined['largest']:,}",
        f"Conflicts: {joined['conflicts']:,} pairs labelled different within one cluster",
        *([f"  (ids {ids}{more})"] if ids else []),
        "",
    ]
    for name, title in (("rows", "Split by rows"), ("clusters", "Split by cluster")):
        if split := facts["splits"].get(name):
            out.append(title)
            for part in ("train", "test"):
                rate = split[f"{part}_base_rate"]
                out.append(f"  {part:<5} {split[part]:>9,} pairs, {rate:.1%} duplicates")
            out[-1] += f", {split['overlap']:.1%} of its questions in train"
    if why := facts["splits"].get("not_possible"):
        out.append(f"A split is not possible: {why}")
    if file:
        out += ["", "While reading:" if facts["handled"] else "Nothing was left out."]
        out += [f"  {line}" for line in facts["handled"]]
    return "\n".join(out)
