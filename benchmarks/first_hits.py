"""How often the first hit of a search is right, by its cosine: below which cosine nothing similar is found.

    python benchmarks/first_hits.py --quora ../shared/data/quora \\
        --forum ../shared/data/transfer/forum.csv.gz [--model use --model minilm]

Every question of a list asks for the others, as `siamese search` orders them; the
question itself does not count. Right is a hit that is known to ask the same.

Quora      asked: question1 of the valid rows, each once; the list: all questions of the valid rows;
           right by the labels of all rows, which are not complete
forum      asked: its 250 queries; the list: all their candidates; right: labelled perfect or relevant
by hand    the 300 handwritten questions, and those of each other language; right: of one group; asked with
           all words, and with the two, three, four and five words of each that fewest others have
elsewhere  Quora's questions ask the forum's list and the handwritten one: no hit is right

Writes benchmarks/results/first_hits.md.
"""

import argparse
import csv
import gzip
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from results import FOLDER, markdown_table

from siamese import DuplicateDetector, QuestionIndex, read_pairs
from siamese.corpus import HANDWRITTEN
from siamese.index.stems import stems_in
from siamese.reading.clusters import clusters
from siamese.text.cleaning import folded, has_words

EDGES = [-1.0, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 1.01]
CUTS = [0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
LANGUAGES = ("de", "es", "fr", "zh")
FEW_WORDS = (2, 3, 4, 5)
DRAWN = 300  # of Quora's questions that ask other lists
PAGE = FOLDER / "first_hits.md"


class Questions(NamedTuple):
    """Questions that are asked, the list that is searched, and which hits are right."""

    asked: list[str]
    texts: list[str]
    own: list[int]  # the place in the list of each that is asked, -1 for none
    right: list[set[int]]  # places in the list, for each that is asked


def of_quora(folder: Path) -> Questions:
    """Question1 of the valid rows, against all questions of these rows."""
    pairs = read_pairs(folder / "questions.csv.gz")
    grouped = clusters(pairs)
    cluster_of = dict(zip(grouped.questions, grouped.question_cluster.tolist()))
    first, last = json.loads((folder / "splits.json").read_text())["rows"]["valid"]
    valid = pairs.rows(first, last)
    texts = list(dict.fromkeys([*valid.question1, *valid.question2]))
    asked = list(dict.fromkeys(valid.question1))
    return of_groups(asked, texts, cluster_of)


def of_groups(
    asked: list[str], texts: list[str], group_of: dict[str, int | str]
) -> Questions:
    """Some questions of a list, for which the others of their group are right."""
    places: dict[int | str, set[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(group_of[text], set()).add(place)
    place_of = {text: place for place, text in enumerate(texts)}
    own = [place_of[text] for text in asked]
    right = [places[group_of[texts[place]]] - {place} for place in own]
    return Questions(asked, texts, own, right)


def of_forum(path: Path) -> Questions:
    """The forum's queries, against all candidates."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in rows if has_words(row["candidate"])]
    texts = list(dict.fromkeys(row["candidate"] for row in rows))
    place_of = {text: place for place, text in enumerate(texts)}
    right: dict[str, set[int]] = {row["query"]: set() for row in rows}
    for row in rows:
        if row["label"] != "Irrelevant":
            right[row["query"]].add(place_of[row["candidate"]])
    return Questions(list(right), texts, [-1] * len(right), list(right.values()))


def of_handwritten(path: Path) -> Questions:
    """Handwritten questions, each against the others of its file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [row["question"] for row in rows]
    group_of = {row["question"]: row["group"] or row["id"] for row in rows}
    return of_groups(texts, texts, group_of)


def with_rare_words(questions: Questions, most: int) -> Questions:
    """The same, asked with the words that fewest questions of the list have, in their order."""
    of_texts = [set(stems) for stems in stems_in(map(folded, questions.texts))]
    counts = Counter(stem for stems in of_texts for stem in stems)
    asked = []
    for text in questions.asked:
        words = re.findall(r"\w+", text)
        stems = [stems_in([folded(word)])[0] for word in words]
        rarity = [min((counts[stem] for stem in own), default=0) for own in stems]
        rarest = sorted(range(len(words)), key=rarity.__getitem__)[:most]
        asked.append(" ".join(words[place] for place in sorted(rarest)))
    return questions._replace(asked=asked)


def joined(sets: list[Questions], detector: DuplicateDetector) -> np.ndarray:
    """The first hits of several lists, as `first_hits` has them."""
    return np.concatenate([first_hits(questions, detector) for questions in sets])


def first_hits(questions: Questions, detector: DuplicateDetector) -> np.ndarray:
    """The cosine of each first hit, and 1 where it is right: float64 [asked, 2]."""
    rows = []
    with QuestionIndex.build(detector, questions.texts) as index:
        answers = index.search(questions.asked, k=2)
    for own, hits, right in zip(questions.own, answers, questions.right):
        others = [hit for hit in hits if int(hit.id) != own]
        rows += [(hit.similarity, int(hit.id) in right) for hit in others[:1]]
    return np.array(rows, np.float64).reshape(-1, 2)


def cell(hits: np.ndarray, low: float, high: float) -> str:
    """Right ones, and all, of the first hits with a cosine from `low` to below `high`."""
    inside = hits[(hits[:, 0] >= low) & (hits[:, 0] < high)]
    if not len(inside):
        return ""
    return f"{inside[:, 1].mean():.0%} of {len(inside):,}"


def table(columns: dict[str, np.ndarray]) -> str:
    """A row for each band of cosines, a column for each list."""
    rows = []
    for low, high in itertools.pairwise(EDGES):
        name = f"below {high:g}" if low < 0 else f"{low:g} to {min(high, 1):g}"
        cells = [cell(hits, low, high) for hits in columns.values()]
        rows.append([name, *cells])
    return markdown_table(["cosine", *columns], rows)


def below(columns: dict[str, np.ndarray]) -> str:
    """For some cosines: how many right first hits each list has below, and how many first hits at all."""
    rows = []
    for cut in CUTS:
        cells = []
        for hits in columns.values():
            inside = hits[hits[:, 0] < cut]
            cells.append(f"{inside[:, 1].sum():.0f} of {len(inside)} ({len(hits):,})")
        rows.append([f"{cut:g}", *cells])
    return markdown_table(["below", *columns], rows)


def main() -> None:
    """Measures each model, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quora", type=Path, required=True)
    parser.add_argument("--forum", type=Path, required=True)
    parser.add_argument("--model", action="append", default=[])
    flags = parser.parse_args()
    quora = of_quora(flags.quora)
    forum = of_forum(flags.forum)
    by_hand = of_handwritten(HANDWRITTEN)
    files = [HANDWRITTEN.with_stem(f"handwritten_{code}") for code in LANGUAGES]
    drawn = np.random.default_rng(0).permutation(len(quora.asked))[:DRAWN]
    asked = [quora.asked[place] for place in drawn.tolist()]
    elsewhere = [
        Questions(asked, own.texts, [-1] * DRAWN, [set()] * DRAWN)
        for own in (forum, by_hand)
    ]
    text = (
        "# First hits, by their cosine\n\nMade by `python benchmarks/first_hits.py`: "
        "how many of the first hits of `siamese search` with a cosine in a band are "
        "right, and how many there are. Below: how many are right, of how many below that "
        "cosine, and in brackets of how many at all.\n"
    )
    for name in flags.model or ["use"]:
        detector = DuplicateDetector.load(name)
        columns = {
            "Quora": first_hits(quora, detector),
            "forum": first_hits(forum, detector),
            "by hand": first_hits(by_hand, detector),
            "by hand, few words": joined(
                [with_rare_words(by_hand, most) for most in FEW_WORDS], detector
            ),
            "by hand, other languages": joined(
                [of_handwritten(path) for path in files], detector
            ),
            "elsewhere": joined(elsewhere, detector),
        }
        text += f"\n## `{name}`\n\n{table(columns)}\n{below(columns)}"
        print(name, flush=True)
    PAGE.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
