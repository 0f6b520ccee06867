"""Makes siamese/corpus/corpus.jsonl.gz, the embedded corpus, from the grammar in tools/corpus.

    python -m tools.make_corpus [FILE]

A line for each question ({"question", "meaning", "part"}), then one for each pair of
questions ({"pair": their places among the questions, "kind"}). The same bytes on every
platform with the same zlib.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from tools.corpus.grammar import load_grammar
from tools.corpus.pairs import Dice, Meaning, PairMaker, meanings_by_part

SEED = 34
PAIRS = {"train": 12_000, "valid": 1_500, "test": 2_000}
DUPLICATES = 0.37  # of each part's pairs, as in the course's rows


def corpus_lines(seed: int = SEED, sizes: dict[str, int] = PAIRS) -> list[str]:
    """The corpus as lines of JSON; another seed gives another corpus."""
    grammar = load_grammar()
    dice = Dice(seed)
    taken: dict[str, Meaning] = {}
    questions = []
    pairs = []
    for part, meanings in meanings_by_part(grammar, dice).items():
        maker = PairMaker(grammar, meanings, taken, dice)
        duplicates = round(sizes[part] * DUPLICATES)
        # The others come first: their wordings are new ones that duplicates can use
        # too.
        rows = maker.negatives(sizes[part] - duplicates) + maker.duplicates(duplicates)
        number: dict[str, int] = {}
        for row in dice.shuffled(rows):
            for text, meaning in ((row.text1, row.meaning1), (row.text2, row.meaning2)):
                if text not in number:
                    number[text] = len(questions)
                    questions.append(
                        {"question": text, "meaning": meaning.id, "part": part}
                    )
            pairs.append(
                {"pair": [number[row.text1], number[row.text2]], "kind": row.kind}
            )
    return [json.dumps(line, ensure_ascii=False) + "\n" for line in questions + pairs]


def main() -> None:
    """Writes the file: by default the one in the package."""
    default = Path(__file__).parents[1] / "siamese" / "corpus" / "corpus.jsonl.gz"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    content = gzip.compress("".join(corpus_lines()).encode("utf-8"), mtime=0)
    path.write_bytes(content)
    print(f"{path}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
