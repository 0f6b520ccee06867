"""What is in a file of question pairs, as numbers and as text for a terminal: `siamese data FILE`."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from siamese.data.pairs import QuestionPairs, clusters, overlap, read_pairs
from siamese.errors import DataError

COURSE_TRAIN_ROWS, COURSE_TEST_ROWS = 300_000, 10_240
BINS = 14
BAR_WIDTH = 44  # so that a line stays within 80 columns
_CLUSTER_SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, None))


def describe(
    path_or_pairs: Any,
    *,
    strict: bool = False,
    train_rows: int | None = None,
    test_rows: int | None = None,
) -> dict[str, Any]:
    """Counts what a set of question pairs holds.

    Args:
      path_or_pairs: `QuestionPairs`, or what `read_pairs` takes.
      strict: as for `read_pairs`.
      train_rows: rows of the split by rows that train; by default the course's 300,000, or the first
        nine tenths of a smaller file.
      test_rows: the rows after them that test; by default the course's 10,240, or all that follow.

    Returns:
      Plain values: pairs, duplicates, base_rate, questions (distinct), words, clusters, splits, and
      the read report under 'file'. Lengths are words between blanks.

    Raises:
      DataError: as `read_pairs`.
      ArgumentError: a split larger than the file.

    Example:
      >>> found = describe(QuestionPairs(["a b?", "c?"], ["b a?", "d?"], [1, 0]))
      >>> found["pairs"], found["questions"], found["clusters"]["largest"]
      (2, 4, 2)
    """
    pairs = path_or_pairs
    if not isinstance(pairs, QuestionPairs):
        pairs = read_pairs(path_or_pairs, strict=strict)
    if not len(pairs):
        raise DataError("There are no pairs to describe.")
    joined = clusters(pairs)
    return {
        "file": pairs.report.as_dict() if pairs.report else None,
        "handled": pairs.report.finding_lines() if pairs.report else [],
        "pairs": len(pairs),
        "duplicates": int(pairs.is_duplicate.sum()),
        "base_rate": pairs.base_rate,
        "questions": len(joined.questions),
        "words": _words(pairs),
        "clusters": {
            "count": len(joined),
            "of_two_or_more": int((joined.sizes > 1).sum()),
            "largest": int(joined.sizes.max()),
            "sizes": _cluster_sizes(joined.sizes),
            "conflicts": joined.conflicts,
            "first_conflicts": [str(pairs.ids[row]) for row in joined.conflict_rows[:5]],
        },
        "splits": _splits(pairs, train_rows, test_rows),
    }


def _words(pairs: QuestionPairs) -> dict[str, Any]:
    texts = [*pairs.question1, *pairs.question2]
    lengths = np.fromiter((len(text.split()) for text in texts), np.int64, len(texts))
    # Bins of equal width up to the 99th percentile, and one for the few longer than that.
    width = max(1, -(-int(np.percentile(lengths, 99)) // (BINS - 1)))
    counts = np.bincount(np.minimum((lengths - 1) // width, BINS - 1), minlength=1)
    histogram = []
    for at, count in enumerate(counts.tolist()):
        last = (at + 1) * width if at < BINS - 1 else None
        histogram.append({"from": at * width + 1, "to": last, "questions": count})
    return {
        "mean": float(lengths.mean()),
        "median": float(np.median(lengths)),
        "p95": float(np.percentile(lengths, 95)),
        "longest": int(lengths.max()),
        "histogram": histogram,
    }


def _cluster_sizes(sizes: np.ndarray) -> list[dict[str, Any]]:
    found = []
    for low, high in _CLUSTER_SIZES:
        inside = (sizes >= low) & (sizes <= (sizes.max() if high is None else high))
        if inside.any():
            of_size = {"clusters": int(inside.sum()), "questions": int(sizes[inside].sum())}
            found.append({"from": low, "to": high, **of_size})
    return found


def _splits(
    pairs: QuestionPairs, train_rows: int | None, test_rows: int | None
) -> dict[str, dict[str, Any]]:
    total = pairs.report.rows if pairs.report else len(pairs)
    if train_rows is None and test_rows is None and total >= COURSE_TRAIN_ROWS + COURSE_TEST_ROWS:
        train_rows, test_rows = COURSE_TRAIN_ROWS, COURSE_TEST_ROWS
    if train_rows is None:
        train_rows = total * 9 // 10 if test_rows is None else total - test_rows
    splits = {}
    try:
        if total < 2:
            raise DataError("One row cannot be split.")
        train, test = pairs.split_rows(train_rows, test_rows)
        splits["rows"] = _split_numbers(train, test)
        share = len(test) / max(1, len(train) + len(test))
        if not 0 < share < 1:
            raise DataError("One part of the split by rows holds no pairs.")
        splits["clusters"] = _split_numbers(*pairs.split_by_cluster((1 - share, share)))
    except DataError as error:
        splits["not_possible"] = str(error)
    return splits


def _split_numbers(train: QuestionPairs, test: QuestionPairs) -> dict[str, Any]:
    return {
        "train": len(train),
        "train_base_rate": train.base_rate if len(train) else None,
        "test": len(test),
        "test_base_rate": test.base_rate if len(test) else None,
        "overlap": overlap(train, test) if len(test) else None,
    }


# -- As text ----------------------------------------------------------------------------------


def render(found: dict[str, Any]) -> str:
    """The result of `describe` as text, at most 80 columns wide where the file's name allows."""
    words, joined = found["words"], found["clusters"]
    file = found["file"]
    out = []
    if file:
        out += [file["path"], f"  {file['format']}; {file['rows']:,} rows", ""]
    out += [
        f"pairs       {found['pairs']:>9,}",
        f"duplicates  {found['duplicates']:>9,}   base rate {found['base_rate']:.1%}",
        f"questions   {found['questions']:>9,}   distinct",
        "",
        f"Words in a question: mean {words['mean']:.1f}, median {words['median']:.0f}, "
        f"95 % up to {words['p95']:.0f}, longest {words['longest']}",
    ]
    out += _bars([(_range(row), row["questions"]) for row in words["histogram"]])
    out += [
        "",
        f"Clusters of duplicates: {joined['count']:,}, of two or more questions "
        f"{joined['of_two_or_more']:,}, largest {joined['largest']:,}",
    ]
    out += _bars([(_range(row), row["clusters"]) for row in joined["sizes"]])
    conflicts = f"Conflicts: {joined['conflicts']:,} pairs labelled different within one cluster"
    if joined["conflicts"]:
        more = ", …" if joined["conflicts"] > len(joined["first_conflicts"]) else ""
        conflicts += f"\n  (ids {', '.join(joined['first_conflicts'])}{more})"
    out += [conflicts, ""]
    for name, title in (("rows", "Split by rows"), ("clusters", "Split by cluster")):
        if name in found["splits"]:
            out += _split_text(title, found["splits"][name])
    if "not_possible" in found["splits"]:
        out.append(f"A split is not possible: {found['splits']['not_possible']}")
    if file:
        out += ["", "Handled while reading:" if found["handled"] else "Nothing had to be handled."]
        out += [f"  {line}" for line in found["handled"]]
    return "\n".join(out)


def _range(row: dict[str, Any]) -> str:
    if row["to"] is None:
        return f"{row['from']}+"
    return str(row["from"]) if row["from"] == row["to"] else f"{row['from']}-{row['to']}"


def _bars(rows: list[tuple[str, int]]) -> list[str]:
    """A horizontal bar for each row, in eighths of a character."""
    most = max(count for _, count in rows)
    lines = []
    for label, count in rows:
        eighths = round(count / most * BAR_WIDTH * 8)
        eighths = max(eighths, 1) if count else 0
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        lines.append(f"  {label:>9} {bar} {count:,}".rstrip())
    return lines


def _split_text(title: str, split: dict[str, Any]) -> list[str]:
    lines = [title]
    for name in ("train", "test"):
        rate = split[f"{name}_base_rate"]
        shown = "" if rate is None else f", {rate:.1%} duplicates"
        lines.append(f"  {name:<5} {split[name]:>9,} pairs{shown}")
    if split["overlap"] is not None:
        lines[-1] += f", {split['overlap']:.1%} of its questions in train"
    return lines


def describe_file(
    path: str | os.PathLike | tuple,
    *,
    strict: bool = False,
    as_json: bool = False,
    train_rows: int | None = None,
    test_rows: int | None = None,
) -> str:
    """What ``siamese data FILE`` prints: `describe` as text, or as one JSON object.

    Args:
      path: what `read_pairs` takes.
      strict: as for `read_pairs`.
      as_json: JSON instead of text.
      train_rows: as for `describe`.
      test_rows: as for `describe`.

    Raises:
      SiameseError: as `describe`.
    """
    found = describe(path, strict=strict, train_rows=train_rows, test_rows=test_rows)
    return json.dumps(found, indent=2, ensure_ascii=False) if as_json else render(found)
