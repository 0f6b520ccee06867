"""Likely duplicates among the issues of a GitHub project.

Usage: gh issue list --state all --limit 5000 --json number,title,body > issues.json
       python examples/github_issues.py issues.json [--top 10] [--threshold 0.6]

Prints each issue with the most similar earlier one, the most similar pairs first, and
marks those above the threshold. The model's own threshold is not fitted to your issues:
read the ranking from the top and choose one. An issue's text is its title, twice, and
the first words of its body, before its logs and versions.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from siamese import DataError, DuplicateDetector, QuestionIndex

WORDS = 50  # of the title, twice, and the body
NEAREST = 20  # similar issues that are searched for an earlier one


class Pair(NamedTuple):
    """Two issues by their numbers."""

    issue: int
    earlier: int
    similarity: float
    is_duplicate: bool


def read_issues(path: str) -> dict[int, dict]:
    """The issues of a JSON array by their numbers, the oldest first."""
    try:
        issues = json.loads(Path(path).read_text(encoding="utf-8"))
        numbered = {
            issue["number"]: issue for issue in issues if issue["title"].strip()
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path} is not the output of gh issue list --json number,title,body ({error})."
        ) from error
    return dict(sorted(numbered.items()))


def text_of(issue: dict) -> str:
    """The text that is compared: the title, twice, and the beginning of the body."""
    words = f"{issue['title']} {issue['title']} {issue.get('body') or ''}".split()
    return " ".join(words[:WORDS])


def duplicates(issues: dict[int, dict], threshold: float | None = None) -> list[Pair]:
    """For each issue the most similar earlier one, by falling similarity."""
    texts, pairs = list(map(text_of, issues.values())), []
    with QuestionIndex.build(
        DuplicateDetector.load("use"), texts, ids=list(issues)
    ) as index:
        answers = index.search(texts, NEAREST, mode="vectors", threshold=threshold)
    for number, hits in zip(issues, answers):
        earlier = [hit for hit in hits if int(hit.id) < number]
        for hit in earlier[:1]:
            pairs.append(Pair(number, int(hit.id), hit.similarity, hit.is_duplicate))
    return sorted(pairs, key=lambda pair: -pair.similarity)


def main() -> None:
    """Prints the pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("issues", help="the file that gh issue list wrote")
    parser.add_argument(
        "--top", type=int, default=10, help="how many pairs [%(default)s]"
    )
    parser.add_argument(
        "--threshold", type=float, help="cosine of a duplicate [the model's]"
    )
    flags = parser.parse_args()
    issues = read_issues(flags.issues)
    for pair in duplicates(issues, flags.threshold)[: flags.top]:
        mark = "duplicate" if pair.is_duplicate else ""
        print(
            f"{pair.similarity:.3f}  #{pair.issue}  {issues[pair.issue]['title']}  {mark}".rstrip()
        )
        print(f"       #{pair.earlier}  {issues[pair.earlier]['title']}")


if __name__ == "__main__":
    main()
