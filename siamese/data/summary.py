"""What is in a file of question pairs, as numbers and as text for a terminal: `siamese data FILE`."""

from __future__ import annotations

from typing import Any

from siamese.data.clusters import clusters, overlap
from siamese.data.pairs import QuestionPairs
from siamese.data.split import split
from siamese.errors import ArgumentError, DataError


def describe(pairs: QuestionPairs) -> dict[str, Any]:
    """Counts what question pairs hold, as plain values; the split is that of `siamese train`.

    Example:
      >>> facts = describe(QuestionPairs(["a b?", "c?"], ["b a?", "d?"], [1, 0]))
      >>> facts["pairs"], facts["questions"], facts["clusters"]["largest"]
      (2, 4, 2)
    """
    joined, report = clusters(pairs), pairs.report
    facts = ("path", "format", "rows", "kept", "findings")
    try:
        train, _, test = split(pairs)
        divided = {"train": len(train), "test": len(test), "overlap": overlap(train, test)}
    except (ArgumentError, DataError):  # too few pairs, or of one label
        divided = None
    return {
        "file": report and {name: getattr(report, name) for name in facts},
        "handled": report.finding_lines() if report else [],
        "pairs": len(pairs),
        "duplicates": int(pairs.is_duplicate.sum()),
        "base_rate": pairs.base_rate,
        "questions": len(joined.questions),
        "clusters": {
            "count": len(joined),
            "of_two_or_more": int((joined.sizes > 1).sum()),
            "largest": int(joined.sizes.max()),
            "conflicts": len(joined.conflict_rows),
            "first_conflicts": [str(pairs.ids[row]) for row in joined.conflict_rows[:5]],
        },
        "split": divided,
    }


def render(facts: dict[str, Any]) -> str:
    """The result of `describe` as text for a terminal."""
    joined, file, divided = facts["clusters"], facts["file"], facts["split"]
    ids = ", ".join(joined["first_conflicts"])
    more = ", …" if joined["conflicts"] > len(joined["first_conflicts"]) else ""
    out = [f"{file['path']}\n  {file['format']}; {file['rows']:,} rows\n"] if file else []
    out += [
        f"pairs       {facts['pairs']:>9,}",
        f"duplicates  {facts['duplicates']:>9,}   base rate {facts['base_rate']:.1%}",
        f"questions   {facts['questions']:>9,}   distinct",
        "",
        f"Clusters of duplicates: {joined['count']:,}, of two or more questions "
        f"{joined['of_two_or_more']:,}, largest {joined['largest']:,}",
        f"Conflicts: {joined['conflicts']:,} pairs labelled different within one cluster",
        *([f"  (ids {ids}{more})"] if ids else []),
        "",
        f"siamese train divides it into {divided['train']:,} pairs to train and {divided['test']:,} to\n"
        f"test on; {divided['overlap']:.1%} of the test questions are training questions, too."
        if divided
        else "There are too few pairs of both labels to train and test on.",
    ]
    if file:
        out += ["", "While reading:" if facts["handled"] else "Nothing was left out."]
        out += [f"  {line}" for line in facts["handled"]]
    return "\n".join(out)
