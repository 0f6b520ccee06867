"""Makes the weights of the near-miss check from Quora's train rows and edits of their questions.

    python tools/train_near_misses.py --questions questions.csv.gz --splits splits.json

Edits by rule make near misses of a question of a duplicate pair (another number, name
or noun, a negation, exchanged words, an opposite, another question word) and wordings
that mean the same ("2" for "two", a clause moved to the front, "isn't" for "is").
A list of requests is made as well, in which one part of a sentence changes at a time.
Trained on are labelled pairs that share most of their words, the pairs of a question
and its edit, of the other question and that edit, and pairs of the list. What a word
left on one side says is fitted first; a pair is given what the other pairs say. Trees and a small
network are fitted; the valid rows choose. The embedded corpus, the handwritten
questions and the test rows are not read: they measure. Writes
siamese/model/near_misses.npz with its card near_misses.json, and rows of features with
the library's predictions for the test that the tables predict the same.
"""

import argparse
import functools
import hashlib
import json
import random
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from siamese import DuplicateDetector, read_pairs
from siamese.encoders import find_encoder
from siamese.model.near_miss_features import (
    FALLING,
    FEATURES,
    WordTable,
    features,
    stems_left,
)
from siamese.model.near_miss_words import ENGLISH
from siamese.model.near_misses import GATE, NearMissCheck
from siamese.reading.pairs import QuestionPairs

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "siamese" / "model" / "near_misses.npz"
ROWS = ROOT / "tests" / "model" / "near_miss_rows.npz"
SEED = 34
DEPTH = 9
MADE = 0.12  # the weight of the edits of a kind, with 1 for all labelled pairs
KEPT = 0.945
STRENGTHS = np.arange(10, 46) / 100
LISTED = 0.25  # the weight of the requests of the list, the same
# Of these kinds an edit counts more than one of another kind.
HEAVY = {
    "number": 2.5,
    "negation": 2,
    "direction": 4,
    "name": 3,
    "scope": 1.5,
    "question word": 1.5,
}
EACH = 2000  # edits of a kind, at most
REQUESTS = 1000
FOLDS = 4  # of the rows that say what a word left says
TOLD = 0.3  # the least share of common units of rows that say it
LEAST = 20  # rows in which a stem is left, for it to say anything
DOUBT = 0.1  # the inverse strength of the regularization of what stems say
STORED = 2000  # rows of the test
AUX = (*ENGLISH.own_negations.values(),)
REAL = 9_000  # labelled duplicates
# Words whose opposite hardly makes a sentence, or that are other words as well.
UNCLEAR = frozenset(
    "to from in out over under am may march back into is are do does has have was were".split()  # noqa: SIM905
)
# Before a word that may be exchanged for another one.
BEFORE_NOUNS = ENGLISH.determiners | frozenset(
    "of in on at by for from with into than about do does did can are is".split()  # noqa: SIM905
)
# More of these makes no pair a duplicate; a higher cosine makes none a near miss.
RISING = ("cosine",)
# Of requests by form: beginnings, those of one line ask the same; test lists have others.
BEGINNINGS = [
    ["How do I", "How can I", "How do you"],
    ["Can I", "Could I", "May I"],
    ["Must I", "Do I have to", "Do I need to"],
    ["Should I"],
    ["When can I", "When may I"],
    ["When do I have to", "When do I need to"],
    ["When should I"],
    ["Why do I have to", "Why must I"],
    ["Why can I"],
    ["Where do I", "Where can I"],
    ["Where must I", "Where do I have to"],
    ["Who can", "Who may"],
    ["Who has to", "Who must"],
    ["What happens if I"],
    ["How often can I", "How often may I"],
    ["How long can I", "How long may I"],
]
VERBS = [
    "submit",
    "print",
    "return",
    "copy",
    "collect",
    "borrow",
    "check",
    "sign",
    "share",
    "send",
    "upload",
    "order",
    "cancel",
    "open",
    "keep",
    "correct",
    "fetch",
    "store",
    "scan",
    "move",
    "register",
    "discuss",
]
OBJECTS = [
    *"form invoice key badge ticket parcel report laptop projector essay manual".split(),  # noqa: SIM905
    *"sample drawing letter contract bicycle microscope uniform prescription".split(),  # noqa: SIM905
    *"folder poster recipe passport map".split(),  # noqa: SIM905
    *("exam results", "travel request", "safety training", "PDF document"),
    *("library card", "parking permit", "lab coat", "time sheet", "XML export"),
    *("software licence", "student ID", "guest account", "group project"),
    *("thesis draft", "cash receipt", "meeting minutes", "sports gear"),
]
PLACES = [
    "in room",
    "for course",
    "on day",
    "in chapter",
    "at counter",
    "in building",
    "before lesson",
    "on floor",
    "from shelf",
    "in term",
    "for group",
    "with machine",
]


class Edits:
    """Edits of questions by rule: near misses by kind, and wordings that mean the same."""

    def __init__(self, questions: list[str], seed: int):
        self.draw = random.Random(seed)
        self.between: dict[tuple, Counter] = defaultdict(Counter)  # words of a gap
        self.names: dict[str, Counter] = defaultdict(Counter)  # after a word
        self.known: Counter = Counter()
        for question in questions:
            words = words_of(question)
            self.known.update(word.lower() for word in words)
            for before, word, after in zip(words, words[1:], words[2:]):
                if word[0].isupper() and word.lower() not in ENGLISH.little:
                    self.names[before.lower()][word] += 1
                elif is_content(word):
                    self.between[before.lower(), after.lower()][word] += 1
        self.groups: dict[str, dict[str, list[str]]] = {}
        for kind, groups in (
            ("verb", [*ENGLISH.opposites, *ENGLISH.things]),
            ("scope", ENGLISH.scopes),
            ("direction", ENGLISH.directions),
            ("date", ENGLISH.dates),
            ("same", ENGLISH.same),
        ):
            self.groups[kind] = {
                word: group for group in groups for word in group if word not in UNCLEAR
            }
        self.different: dict[str, Callable[[str], str | None]] = {
            "number": self.number,
            "date": self.date,
            "negation": self.negation,
            "direction": self.direction,
            "before or after": lambda text: self.other(text, "direction"),
            "name": self.name,
            "noun": self.noun,
            "verb": lambda text: self.other(text, "verb"),
            "question word": self.question_word,
            "scope": lambda text: self.other(text, "scope"),
        }
        self.equal: dict[str, Callable[[str], str | None]] = {
            "number written": self.number_written,
            "clause moved": self.clause_moved,
            "own negation": self.own_negation,
            "joined words": self.joined_words,
            "synonym": lambda text: self.other(text, "same"),
            "plural": self.plural,
            "form": self.form,
        }

    def pick(self, some):
        """One of some values; None of none."""
        # The order of a set is another one each time.
        some = sorted(some) if isinstance(some, (set, frozenset)) else list(some)
        return self.draw.choice(some) if some else None

    def replaced(self, text: str, pattern: str, new: Callable) -> str | None:
        """The text with one match replaced by `new` of it."""
        match = self.pick(re.finditer(pattern, text))
        value = new(match) if match else None
        if value is None:
            return None
        return text[: match.start()] + value + text[match.end() :]

    def number(self, text: str) -> str | None:
        """Another number, unit or currency."""
        words = [w for w in ENGLISH.numbers if len(w) > 1]
        turn = self.draw.random()
        if turn < 0.15:
            units = [
                u
                for u, (base, _) in ENGLISH.units.items()
                if base in ["g", "metre", "second", "byte", "$", "€"]
            ]
            edited = self.replaced(
                text,
                rf"(?<=\d )(?:{'|'.join(units)})\b",
                lambda m: self.pick({*units} - {m[0]}),
            )
            if edited:
                return edited
        edited = self.replaced(
            text, rf"\b(?:{'|'.join(words)})\b", lambda m: self.pick({*words} - {m[0]})
        )
        return self.replaced(text, r"\d+", self.other_digits) or edited

    def other_digits(self, match: re.Match) -> str:
        """Another number of about as many digits."""
        digits = match[0]
        value = int(digits)
        ways = [
            value + 1,
            value + self.draw.randint(2, 12),
            max(value - 1, 0),
            value * 2,
            value * 10,
            int(digits[::-1]),
        ]
        if len(digits) == 4 and digits[:2] in ("19", "20"):
            ways = [value + step for step in (-10, -5, -2, -1, 1, 2, 3)]
        return str(self.pick({*ways} - {value}))

    def date(self, text: str) -> str | None:
        """Another day, month, year or time of day."""
        return self.replaced(
            text, r"\b(?:19|20)\d\d\b", self.other_digits
        ) or self.other(text, "date")

    def other(self, text: str, kind: str) -> str | None:
        """A word exchanged for another one of its group."""
        groups = self.groups[kind]

        def new(match: re.Match) -> str | None:
            word = match[0].lower()
            if word not in groups:
                return None
            found = self.pick(w for w in groups[word] if w != word)
            return found.capitalize() if match[0][0].isupper() else found

        found = [w for w in words_of(text) if w.lower() in groups]
        word = self.pick(found)
        return self.replaced(text, rf"\b{re.escape(word)}\b", new) if word else None

    def negation(self, text: str) -> str | None:
        """With a negation more, or one fewer."""
        ways = [
            lambda: (
                self.replaced(
                    text,
                    r"n't\b| not\b| never\b",
                    lambda m: " " if "n't" in m[0] else "",
                )
                if not text.lower().startswith(tuple(f"{a}n't" for a in AUX))
                else None
            ),
            lambda: self.replaced(
                text,
                rf"(?<=\w )(?:{'|'.join(a for a in AUX if a not in ('can', 'will'))})\b(?!n't| not)",
                lambda m: f"{m[0]}n't",
            ),
            lambda: self.replaced(text, r"\bwith\b", lambda m: "without"),
            lambda: self.replaced(text, r"\bwithout\b", lambda m: "with"),
            lambda: self.replaced(
                text,
                r"(?<=how )to\b|(?<=\w )can\b|(?<= I )should\b|(?<=you )should\b",
                lambda m: f"not {m[0]}" if m[0] == "to" else f"{m[0]} not",
            ),
            lambda: self.prefix(text),
        ]
        self.draw.shuffle(ways)
        return next(filter(None, (way() for way in ways)), None)

    def prefix(self, text: str) -> str | None:
        """A word exchanged for its opposite in "un" or the like, which other questions have."""

        def new(match: re.Match) -> str | None:
            word = match[0]
            return self.pick(
                p + word for p in ENGLISH.prefixes[:-1] if self.known[p + word] > 5
            )

        return self.replaced(text, r"(?<=\w )[a-z]{5,}\b", new)

    def direction(self, text: str) -> str | None:
        """Two words of content exchanged."""
        spans = [m for m in re.finditer(r"[\w'+#]+", text) if is_content(m[0])]
        pairs = [
            (one, two)
            for place, one in enumerate(spans)
            for two in spans[place + 1 : place + 4]
            if self.exchangeable(text, one, two)
        ]
        pair = self.pick(pairs)
        if not pair:
            return None
        one, two = pair
        return (
            text[: one.start()]
            + two[0]
            + text[one.end() : two.start()]
            + one[0]
            + text[two.end() :]
        )

    def exchangeable(self, text: str, one: re.Match, two: re.Match) -> bool:
        """Whether two words may play each other's part: both names, or both after "of" and the like."""
        middle = text[one.end() : two.start()].strip().lower()
        if (
            re.search(r"\b(?:and|or|vs|versus|between|with)\b|[,/&]", middle)
            or not middle
            or "between" in text
        ):
            return False
        if one[0].lower() == two[0].lower() or one.start() == 0:
            return False
        if one[0][0].isupper() != two[0][0].isupper():
            return False
        before = [re.search(r"(\w+)\W+$", text[: m.start()]) for m in (one, two)]
        is_way = (
            before[1]
            and before[1][1] == "to"
            and before[0]
            and before[0][1].lower() in ("from", "a")
        )
        after_little = is_way or all(b and b[1].lower() in BEFORE_NOUNS for b in before)
        follow = re.match(r"\W*(\w*)", text[two.end() :])[1]
        whole = not follow or follow.lower() in ENGLISH.little
        return (one[0][0].isupper() or after_little) and whole

    def name(self, text: str) -> str | None:
        """Another name that stands after the same word elsewhere."""

        def new(match: re.Match) -> str | None:
            names = self.names[match[1].lower()]
            found = self.pick(
                n for n in names.elements() if n.lower() != match[2].lower()
            )
            return f"{match[1]} {found}" if found else None

        return self.replaced(text, r"\b(\w+) ((?!I\b)[A-Z][\w'+#]*)", new)

    def noun(self, text: str) -> str | None:
        """Another word that stands between the same two elsewhere."""
        words = words_of(text)
        gaps = [
            (b, w, a)
            for b, w, a in zip(words, words[1:], words[2:])
            if is_content(w)
            and w[0].islower()
            and len(self.between[b.lower(), a.lower()]) > 1
        ]
        gap = self.pick(gaps)
        if not gap:
            return None
        before, word, after = gap
        others = self.between[before.lower(), after.lower()]
        same = {*self.groups["same"].get(word.lower(), [])}
        stem = word.lower()[:4]
        found = self.pick(
            w
            for w in others.elements()
            if w.lower()[:4] != stem and w.lower() not in same
        )
        pattern = (
            rf"(?<=\b{re.escape(before)} ){re.escape(word)}(?= {re.escape(after)})"
        )
        return self.replaced(text, pattern, lambda m: found) if found else None

    def question_word(self, text: str) -> str | None:
        """Another question word at the start."""
        words = ["How", "Why", "When", "Where", "Who"]
        return self.replaced(
            text,
            rf"^(?:{'|'.join(words)})\b(?! (?:{'|'.join(ENGLISH.measures)}))",
            lambda m: self.pick({*words} - {m[0]}),
        )

    def number_written(self, text: str) -> str | None:
        """A number in words or digits: "2" for "two", "1,000" for "1000"."""
        digits = {v: k for k, v in ENGLISH.numbers.items()}
        ways = [
            lambda: self.replaced(
                text,
                rf"\b(?:{'|'.join(ENGLISH.numbers)})\b",
                lambda m: ENGLISH.numbers[m[0]],
            ),
            lambda: self.replaced(
                text, r"(?<= )\d\d?(?= )", lambda m: digits.get(m[0])
            ),
            lambda: self.replaced(
                text, r"(?<![\d,.])\d{5,6}(?![\d,.])", lambda m: f"{int(m[0]):,}"
            ),
            lambda: self.replaced(text, r"(?<=\d),(?=\d{3}\b)", lambda m: "\0"),
            lambda: self.replaced(text, r"(?<=\d) ?%", lambda m: " percent"),
        ]
        self.draw.shuffle(ways)
        found = next(filter(None, (way() for way in ways)), None)
        return found and found.replace("\0", "")

    def clause_moved(self, text: str) -> str | None:
        """A clause at the end put first, or the other way round."""
        match = re.fullmatch(
            r"([A-Z][^,.?!]+) ((?:in|on|for|with|without|if|when|after|before|at) (?:\w+ ?){1,5})\?",
            text,
        )
        if match:
            first = (
                match[1]
                if match[1].startswith("I ")
                else match[1][0].lower() + match[1][1:]
            )
            return f"{match[2][0].upper()}{match[2][1:].strip()}, {first}?"
        match = re.fullmatch(
            r"((?:In|On|For|With|Without|If|When|After|Before|At) [^,.?!]+), ([^,.?!]+)\?",
            text,
        )
        if match:
            return f"{match[2][0].upper()}{match[2][1:]} {match[1][0].lower()}{match[1][1:]}?"
        return None

    def own_negation(self, text: str) -> str | None:
        """A negation that changes nothing: "Isn't it" for "Is it", "is not" for "isn't"."""
        return self.replaced(
            text,
            r"^(?:Is|Are|Was|Were|Does|Did|Should|Would|Could|Has|Have)\b(?!n't)",
            lambda m: f"{m[0]}n't",
        ) or self.replaced(
            text,
            r"(?<=\w)n't\b",
            lambda m: " not" if not text[: m.start()].endswith(("ca", "wo")) else None,
        )

    def joined_words(self, text: str) -> str | None:
        """Two words around "and" or "or" exchanged."""
        return self.replaced(
            text,
            r"\b(\w{3,}) (and|or|vs) (\w{3,})\b(?= ?(?:$|[?.]|(?:in|on|for|at|to|is|are|by)\b))",
            lambda m: f"{m[3]} {m[2]} {m[1]}",
        )

    def plural(self, text: str) -> str | None:
        """A noun in the plural: "shirts" for "a shirt"."""
        return self.replaced(
            text,
            r"\ban? ([a-z]{3,}[^s\W])\b(?= ?(?:$|[?.]|(?:in|on|for|at|to|with|from)\b))",
            lambda m: f"{m[1]}s",
        )

    def form(self, text: str) -> str:
        """Other marks, capitals or a polite beginning; a misspelling."""
        lower = text[0].lower() + text[1:]
        longest = max(text.split(), key=len)
        middle = len(longest) // 2
        misspelt = (
            longest[: middle - 1]
            + longest[middle]
            + longest[middle - 1]
            + longest[middle + 1 :]
        )
        swaps = [
            ("How do I", "How do you"),
            ("How can I", "How do I"),
            ("What is", "What's"),
            ("How do you", "How can I"),
            ("What are the best", "What is the best"),
        ]
        swapped = [text.replace(a, b) for a, b in swaps if text.startswith(a)]
        return self.pick(
            [
                text.rstrip("?"),
                text.lower(),
                f"Please tell me: {lower}",
                text.replace(longest, misspelt),
                *swapped * 2,
            ]
        )


class Request(NamedTuple):
    """A request by form."""

    beginning: int  # of `BEGINNINGS`
    verb: str
    object: str
    place: str
    number: str

    def text(self, wording: int = 0) -> str:
        """The request with one wording of its beginning."""
        wordings = BEGINNINGS[self.beginning]
        start = wordings[wording % len(wordings)]
        return f"{start} {self.verb} the {self.object} {self.place} {self.number}?"


def requests(seed: int) -> list[tuple[str, str, bool, str]]:
    """Pairs of requests: those of which one or two parts differ, and those that ask the same."""
    draw = random.Random(seed)
    choices = {
        "beginning": range(len(BEGINNINGS)),
        "verb": VERBS,
        "object": OBJECTS,
        "place": PLACES,
        "number": [str(n) for n in range(1, 13)],
    }
    written = {number: word for word, number in ENGLISH.numbers.items()}
    made = []
    for _ in range(REQUESTS):
        one = Request(*(draw.choice(some) for some in choices.values()))
        text = one.text()
        parts = ["beginning", "object", "number", "verb"]
        for changed in ([part] for part in [*parts, draw.choice(parts[:3])]):
            if len(made) % 3 == 0:
                changed = draw.sample(parts, 2)
            new = {
                part: draw.choice([c for c in choices[part] if c != getattr(one, part)])
                for part in changed
            }
            other = one._replace(**new)
            made.append((text, other.text(draw.randrange(3)), False, "request"))
        first = f"{one.place} {one.number}"
        main = text.removesuffix(f" {first}?")
        lower = main if main.startswith("I ") else main[0].lower() + main[1:]
        word = written.get(one.number, one.number)
        for same in (
            one.text(1),
            one.text(2),
            f"{first[0].upper()}{first[1:]}, {lower}?",
            f"{main} {one.place} {word}?",
            f"{one.text(1).lower().rstrip('?')}",
            text.replace(" the ", " my "),
        ):
            if same != text:
                made.append((text, same, True, "same request"))
    return made


def words_of(text: str) -> list[str]:
    """The words of a question."""
    return re.findall(r"[\w'+#]+", text)


def is_content(word: str) -> bool:
    """Whether a word is none of the little ones, and no number."""
    return (
        word.lower() not in ENGLISH.little
        and not any(map(str.isdigit, word))
        and len(word) > 1
    )


def main() -> None:
    """Reads the flags, makes the examples, fits and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", required=True, help="the file of labelled pairs")
    parser.add_argument(
        "--splits", required=True, help="which of its rows train and choose"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        help="a file for the vectors, to train again without encoding",
    )
    flags = parser.parse_args()
    pairs = read_pairs(flags.questions)
    rows = json.loads(Path(flags.splits).read_text())["rows"]
    train, valid = (as_read(pairs.rows(*rows[part])) for part in ("train", "valid"))
    fit(examples(train, valid, flags.keep))


@functools.cache
def read(text: str) -> str:
    """A text as the encoder reads it: the check is given texts without most slips."""
    return find_encoder("use").read(text)


def as_read(pairs: QuestionPairs) -> QuestionPairs:
    """The pairs with their texts as the encoder reads them."""
    sides = [list(map(read, side)) for side in (pairs.question1, pairs.question2)]
    return QuestionPairs(*sides, pairs.is_duplicate)


def examples(
    train: QuestionPairs, valid: QuestionPairs, keep: Path | None
) -> dict[str, np.ndarray]:
    """Features, labels and weights of the pairs that share at least half of their units."""
    shares = share_of(train)
    near = train.select(np.flatnonzero(shares >= GATE[0]))
    chosen_valid = valid.select(np.flatnonzero(share_of(valid) >= GATE[0]))
    every_fold = np.random.default_rng(SEED).integers(0, FOLDS, len(train))
    folds = every_fold[shares >= GATE[0]]
    edits = Edits([*train.question1, *train.question2], SEED)
    made = made_pairs(near, edits)
    some = np.array(
        [
            *np.flatnonzero(near.is_duplicate)[:REAL],
            *np.flatnonzero(~near.is_duplicate),
        ]
    )
    chosen = near.select(some)
    real = zip(chosen.question1, chosen.question2, chosen.is_duplicate)
    every = [
        *((*row, "real", fold) for row, fold in zip(real, folds[some])),
        *((*pair, folds[row]) for *pair, row in made),
        *((*pair, 0) for pair in requests(SEED)),
    ]
    ones, twos, labels, kinds, of_fold = map(list, zip(*every))
    ones, twos = (list(map(read, side)) for side in (ones, twos))
    sides = chosen_valid.question1, chosen_valid.question2
    texts = list(dict.fromkeys([*ones, *twos, *sides[0], *sides[1]]))
    print(
        f"{len(some):,} real of {len(every):,} pairs, {len(texts):,} texts to encode",
        flush=True,
    )
    vectors = vectors_of(texts, keep)
    rows = np.flatnonzero(shares >= TOLD)
    tables = word_tables(train.select(rows), every_fold[rows])

    def numbers(one: list[str], two: list[str], table: WordTable) -> np.ndarray:
        sides = (np.stack([vectors[text] for text in some]) for some in (one, two))
        return features(one, two, np.vecdot(*sides), table)

    x = np.zeros((len(ones), len(FEATURES)), np.float32)
    for fold in range(FOLDS):
        rows = np.flatnonzero(np.array(of_fold) == fold)
        if len(rows):
            one, two = ([side[row] for row in rows] for side in (ones, twos))
            x[rows] = numbers(one, two, tables[fold])
    return {
        "x": x,
        "y": np.array(labels, bool),
        "kind": np.array(kinds),
        "valid_x": numbers(*sides, tables[-1]),
        "valid_y": np.array(chosen_valid.is_duplicate, bool),
        "stems": tables[-1].stems,
        "stem_weights": tables[-1].weights,
    }


def word_tables(pairs: QuestionPairs, folds: np.ndarray) -> list[WordTable]:
    """What stems left say: by the rows outside of each fold, and by all."""
    none = WordTable(np.zeros(0, np.uint32), np.zeros(0, np.float32))
    rows = features(pairs.question1, pairs.question2, np.zeros(len(pairs)), none)
    rows = np.log1p(rows[:, 1:])
    rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-6)
    left = stems_left(pairs.question1, pairs.question2)
    counts = Counter(stem for some in left for stem in some)
    known = [
        stem
        for stem, count in counts.items()
        if count >= LEAST and not any(map(str.isdigit, stem))
    ]
    column = {stem: place for place, stem in enumerate(known)}
    places = [[column[stem] for stem in some if stem in column] for some in left]
    ends = np.cumsum([0, *map(len, places)])
    inner = [place for some in places for place in some]
    words = scipy.sparse.csr_matrix(
        (np.ones(len(inner)), inner, ends), (len(pairs), len(known))
    )
    columns = scipy.sparse.hstack([scipy.sparse.csr_matrix(rows), words]).tocsr()
    same = np.array(pairs.is_duplicate, bool)
    codes = np.array([zlib.crc32(stem.encode()) for stem in known], np.uint32)
    order = np.argsort(codes)
    tables = []
    for fold in range(FOLDS + 1):
        used = np.flatnonzero(folds != fold)
        if not 0 < same[used].sum() < len(used) or not len(known):
            tables.append(none)
            continue
        fitted = LogisticRegression(
            C=DOUBT, solver="liblinear", class_weight="balanced", max_iter=60
        ).fit(columns[used], same[used])
        weights = fitted.coef_[0, rows.shape[1] :][order]
        tables.append(WordTable(codes[order], weights.round(2).astype(np.float32)))
    return tables


def vectors_of(texts: list[str], keep: Path | None) -> dict[str, np.ndarray]:
    """The vectors of texts; those in the file `keep` are not made again, and it gets the others."""
    vectors: dict[str, np.ndarray] = {}
    if keep and keep.exists():
        with np.load(keep, allow_pickle=False) as kept:
            vectors = dict(zip(kept["texts"].tolist(), kept["vectors"]))
    missing = [text for text in texts if text not in vectors]
    detector = DuplicateDetector.pretrained()
    for at in range(0, len(missing), 4096):
        some = missing[at : at + 4096]
        vectors.update(zip(some, detector.encode(some)))
        print(f"{at + len(some):,} of {len(missing):,} encoded", flush=True)
    if keep and missing:
        unfinished = keep.with_name(f"unfinished-{keep.name}")
        np.savez(
            unfinished,
            texts=np.array([*vectors]),
            vectors=np.stack([*vectors.values()]),
        )
        unfinished.replace(keep)
    return vectors


def share_of(pairs: QuestionPairs) -> np.ndarray:
    """The share of common units of pairs."""
    none = WordTable(np.zeros(0, np.uint32), np.zeros(0, np.float32))
    cosines = np.zeros(len(pairs))
    return features(pairs.question1, pairs.question2, cosines, none)[:, 1]


def made_pairs(
    pairs: QuestionPairs, edits: Edits
) -> list[tuple[str, str, bool, str, int]]:
    """Pairs of edits of duplicates: texts, whether they ask the same, the kind of the edit, the row."""
    same = np.flatnonzero(pairs.is_duplicate)
    edits.draw.shuffle(same)
    made = []
    for some, equal in ((edits.different, False), (edits.equal, True)):
        for kind, edit in some.items():
            found = 0
            edits.draw.shuffle(same)
            for row in same:
                one, two = pairs.question1[row], pairs.question2[row]
                if edits.draw.random() < 0.5:
                    one, two = two, one
                edited = edit(one) if len(one) < 200 else None
                if not edited or edited in (one, two):
                    continue
                made += [(edited, text, equal, kind, row) for text in (one, two)]
                found += 1
                if found == EACH:
                    break
            print(f"{kind}: {found}, such as {edited!r}", flush=True)
    return made


def fit(data: dict[str, np.ndarray]) -> None:
    """Fits trees and a network, prints how they do on valid, and writes the trees with card and rows."""
    weights = weights_of(data)
    x, y, valid = data["x"], data["y"], data["valid_y"]
    order = [(name in RISING) - (name in FALLING) for name in FEATURES]
    trees = HistGradientBoostingClassifier(
        max_iter=120,
        learning_rate=0.15,
        max_leaf_nodes=63,
        max_depth=DEPTH,
        l2_regularization=10,
        min_samples_leaf=20,
        early_stopping=False,
        monotonic_cst=order,
        random_state=SEED,
    ).fit(x, y, sample_weight=weights)
    cosine = LogisticRegression(C=1e6).fit(x[:, :1], y, sample_weight=weights)
    tables = tables_of(trees)
    tables["stems"] = data["stems"]
    tables["stem_weights"] = data["stem_weights"]
    tables["cosine"] = np.array([cosine.coef_[0, 0], cosine.intercept_[0]])
    tables["strength"], kept = strength_of(tables, data)

    figures = {
        "valid ROC AUC, cosine": roc_auc_score(valid, data["valid_x"][:, 0]),
        "valid ROC AUC, trees": roc_auc_score(
            valid, trees.decision_function(data["valid_x"])
        ),
        "valid ROC AUC, network": network_figure(data, weights),
        "valid duplicates kept": kept,
    }
    figures = {name: round(float(value), 4) for name, value in figures.items()}
    print(json.dumps(figures, indent=1))
    np.savez_compressed(WEIGHTS, **tables)
    card = {
        "what": "trees of the near-miss check, by tools/train_near_misses.py",
        "sha256": hashlib.sha256(WEIGHTS.read_bytes()).hexdigest(),
        "features": [*FEATURES],
        "stems whose being left says something": len(data["stems"]),
        "data": {
            "labelled pairs of Quora's train rows": int((data["kind"] == "real").sum()),
            "pairs with an edit by rule": {
                str(kind): int(count)
                for kind, count in zip(*np.unique(data["kind"], return_counts=True))
                if kind != "real"
            },
            "terms": "Quora's question pairs (2017), under its terms of service; no text is in the file",
        },
        "figures": figures,
        "scikit-learn": sklearn.__version__,
    }
    WEIGHTS.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n")
    some = np.random.default_rng(SEED).choice(len(x), STORED, replace=False)
    logits = trees.decision_function(x[some])
    np.savez_compressed(ROWS, rows=x[some], logits=logits)


def weights_of(data: dict[str, np.ndarray]) -> np.ndarray:
    """Labelled pairs weigh so that the share of duplicates is that of the valid rows."""
    y = data["y"]
    real = data["kind"] == "real"
    listed = np.isin(data["kind"], ("request", "same request"))
    made = ~real & ~listed
    base = data["valid_y"].mean()
    weights = np.zeros(len(y))
    for rows, total in (
        (real & y, base),
        (real & ~y, 1 - base),
        (made & y, MADE),
        (made & ~y, MADE),
        (listed & y, LISTED),
        (listed & ~y, LISTED),
    ):
        weights[rows] = total / max(rows.sum(), 1)
    for kind, factor in HEAVY.items():
        weights[data["kind"] == kind] *= factor
    return weights * len(y)


def tables_of(trees: HistGradientBoostingClassifier) -> dict[str, np.ndarray]:
    """The trees as arrays, one node after the other; a leaf is its own child."""
    nodes = [predictors[0].nodes for predictors in trees._predictors]
    roots = np.cumsum([0, *map(len, nodes)])[:-1]
    tables = {
        "start": trees._baseline_prediction.ravel()[0],
        "roots": roots.astype(np.int32),
        "depth": np.int32(max(some["depth"].max() for some in nodes)),
    }
    own = [root + np.arange(len(some)) for root, some in zip(roots, nodes)]
    for side in ("left", "right"):
        tables[side] = np.concatenate(
            [
                np.where(some["is_leaf"], here, root + some[side])
                for root, some, here in zip(roots, nodes, own)
            ]
        ).astype(np.int32)
    every = np.concatenate(nodes)
    tables["feature"] = every["feature_idx"].astype(np.uint8)
    tables["threshold"] = np.nan_to_num(every["num_threshold"])
    tables["value"] = every["value"].astype(np.float64)
    return tables


def strength_of(tables: dict, data: dict[str, np.ndarray]) -> tuple[np.ndarray, float]:
    """The greatest strength that keeps `KEPT` of valid's duplicates above 0.8 that share most words."""
    rows = data["valid_x"]
    near = (rows[:, 0] > 0.8) & (rows[:, 1] >= GATE[1]) & data["valid_y"]
    kept = 1.0
    found = STRENGTHS[0]
    for strength in STRENGTHS:
        check = NearMissCheck(tables, strength=strength)
        share = np.mean(rows[near, 0] - check.penalty_of(rows[near]) > 0.8)
        if share >= KEPT:
            kept, found = share, strength
    return np.float64(found), kept


def network_figure(data: dict[str, np.ndarray], weights: np.ndarray) -> float:
    """The ROC AUC on valid of a small network; it takes no weights, so rows are drawn by them."""
    drawn = np.random.default_rng(SEED).choice(
        len(weights), len(weights), p=weights / weights.sum()
    )
    network = make_pipeline(
        FunctionTransformer(np.log1p),
        StandardScaler(),
        MLPClassifier((48,), alpha=0.01, max_iter=15, random_state=SEED),
    ).fit(np.maximum(data["x"][drawn], 0), data["y"][drawn])
    found = network.predict_proba(np.maximum(data["valid_x"], 0))[:, 1]
    return roc_auc_score(data["valid_y"], found)


if __name__ == "__main__":
    main()
