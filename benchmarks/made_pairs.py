"""Two sets made by rule: near misses beside paraphrases, and questions as people type them.

Near misses come from the embedded corpus, which no model of the tables was trained on:
two of its questions that ask different things and differ in a number, a negation, a
direction or a name, beside another wording of the first one. Typed questions are made
from rows that stay outside the repository, when asked for.
"""

import html
import itertools
import random
import re
from collections import defaultdict
from typing import NamedTuple

from siamese import embedded_corpus
from siamese.corpus import CorpusQuestion

KINDS = ("number", "negation", "direction", "name")
EACH = 50  # near misses of a kind
TYPED = ("misspelt", "greeted", "entities", "capitals")
NUMBER = re.compile(
    r"\d|^(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty)$"
)
NEGATION = re.compile(r"^(not|no|never|without|cannot|\w+n't)$")


class NearMiss(NamedTuple):
    """A question, the same in other words, and one that asks something else in nearly the same words."""

    kind: str
    question: str
    paraphrase: str
    near_miss: str


def near_misses(seed: int = 34) -> list[NearMiss]:
    """`EACH` near misses of each of `KINDS`, no two of a kind from one pair of meanings."""
    same: dict[str, list[str]] = defaultdict(list)  # meaning -> its wordings
    alike: dict[tuple, list[CorpusQuestion]] = defaultdict(list)
    for question in embedded_corpus().questions:
        same[question.meaning].append(question.text)
        words = words_of(question.text)
        alike[*sorted(words)].append(question)
        # Two questions with one of these differ in one word.
        for place in range(len(words)):
            alike[*words[:place], "", *words[place + 1 :]].append(question)
    found: dict[str, dict[tuple[str, str], NearMiss]] = {kind: {} for kind in KINDS}
    draw = random.Random(seed)
    for questions in alike.values():
        for one, other in itertools.combinations(questions, 2):
            kind = kind_of(words_of(one.text), words_of(other.text))
            wordings = [text for text in same[one.meaning] if text != one.text]
            if kind and one.meaning != other.meaning and wordings:
                miss = NearMiss(kind, one.text, draw.choice(wordings), other.text)
                found[kind][one.meaning, other.meaning] = miss
    return [
        miss for kind in KINDS for miss in draw.sample([*found[kind].values()], EACH)
    ]


def words_of(text: str) -> list[str]:
    """The words of a question."""
    return re.findall(r"[\w',]+\b", text)


def kind_of(one: list[str], other: list[str]) -> str | None:
    """In what the words of two questions differ, one of `KINDS`; None where in something else."""
    if one != other and sorted(one) == sorted(other):
        return "direction"
    changed = {*one} ^ {*other}
    if any(NEGATION.match(word.lower()) for word in changed):
        return "negation"
    if len(changed) == 2 and all(NUMBER.search(word.lower()) for word in changed):
        return "number"
    return (
        "name"
        if len(changed) == 2 and all(word[0].isupper() for word in changed)
        else None
    )


def typed(question: str) -> list[str]:
    """The question as people type it, once for each of `TYPED`."""
    longest = max(question.split(), key=len)
    middle = len(longest) // 2
    swapped = (
        longest[: middle - 1]
        + longest[middle]
        + longest[middle - 1]
        + longest[middle + 1 :]
    )
    return [
        question.replace(longest, swapped, 1),
        f"Hi all, {question} Thanks in advance!",
        html.escape(question).replace("&#x27;", "\u2019").replace(" ", "&nbsp;", 1),
        question.upper(),
    ]
