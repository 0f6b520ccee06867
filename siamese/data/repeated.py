"""Lines that stand in many texts of a list, such as signatures and templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

SHARE = 0.01  # A line in more of the texts than this is repeated.
LEAST_TEXTS = 100  # A shorter list has no repeated lines.
LEAST_TIMES = 5  # More texts than this have it.
LEAST_WORDS = 3  # Shorter lines, such as "Hello all", are never counted.


def _key(line: str) -> str:
    return " ".join(line.split()).casefold()


def repeated_lines(texts: Sequence[str], known: Collection[str] = ()) -> dict[str, int]:
    """The lines that stand in more than 1 % of at least 100 texts, the most frequent first.

    Lines are equal if they differ only in case and blanks. A line counts once for each text; a text of one
    line does not count: a question that many people ask is no signature. A line of an earlier list, one of
    `known`, is repeated however seldom it stands here.

    Returns:
      Each line, as the last text with it has it -> the number of texts that have it.
    """
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for text in texts:
        lines = text.strip().splitlines()
        if len(lines) > 1:
            long = {_key(line): line.strip() for line in lines if len(line.split()) >= LEAST_WORDS}
            counts.update(long.keys())
            shown |= long
    least = max(SHARE * len(texts), LEAST_TIMES) if len(texts) >= LEAST_TEXTS else len(texts)
    keys = set(map(_key, known))
    return {shown[k]: count for k, count in counts.most_common() if count > least or k in keys}


def without_lines(text: str, lines: Collection[str]) -> str:
    """The text without the lines of `repeated_lines`; a text of nothing else stays as it is."""
    keys = set(map(_key, lines))
    shorter = "\n".join(line for line in text.splitlines() if _key(line) not in keys)
    return shorter if shorter.strip() else text
