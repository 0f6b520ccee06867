"""What a trained model's own near-miss check is worth, by the number of labelled pairs it is fitted on.

    python benchmarks/own_check.py --questions questions.csv.gz --splits splits.json
    --model head=runs/head--seed-34 --model ensemble=runs/ensemble-seed-34.safetensors

The encoder of each model stays; what decides is fitted on draws of the valid rows, and
measured on the test rows, the handwritten questions (average precision over all pairs)
and the made pairs of made_pairs.py (how often the near miss is behind the paraphrase).

curve      the curve of the parts' cosines alone, what decided before there was a check
penalty    the curve fitted less what the shipped check doubts, and less that; what
           `siamese train` fits from 100 pairs on
own check  with trees beside both; what it fits from 3,000 pairs on
cosine     the cosine less the shipped penalty; what it fits where all labels train a head

Every choice was made by valid rows, edits of them by rule, and the choosing half of the
pairs by hand. Writes results/own_check.json and .md.
"""

import argparse
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import made_pairs
import numpy as np
from quality import spread, trained_on
from results import (
    FOLDER,
    markdown_table,
    read_figures,
    rounded,
    titled,
    write_figures,
)
from sklearn.metrics import average_precision_score, roc_auc_score

from siamese import DuplicateDetector, read_pairs
from siamese.corpus import handwritten_questions
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.thresholds import fit_threshold
from siamese.model.decision import (
    DOUBT,
    ByCosine,
    ByParts,
    Decision,
    Questions,
    calibration_of,
    fit_parts,
    part_cosines,
)
from siamese.model.near_misses import NearMissCheck
from siamese.nn.nearest import cosines_with
from siamese.training.few_labels import CURVE_PAIRS
from siamese.training.own_check import TREE_PAIRS, fit_own_check

RESULTS = FOLDER / "own_check.json"
DRAWS = {100: 5, 300: 5, 1000: 5, 3000: 3, 6000: 1}


class Pairs(NamedTuple):
    """Pairs of questions, encoded."""

    one: Questions
    two: Questions

    @classmethod
    def of(
        cls, detector: DuplicateDetector, ones: Sequence[str], others: Sequence[str]
    ) -> "Pairs":
        """The pairs of texts."""
        texts = list(dict.fromkeys([*ones, *others]))
        place = {text: row for row, text in enumerate(texts)}
        read = [detector.encoder.read(text) for text in texts]
        every = Questions(read, detector.encode(texts))
        rows = (np.array([place[text] for text in side]) for side in (ones, others))
        return cls(*map(every.rows, rows))

    def rows(self, rows: np.ndarray) -> "Pairs":
        """Some of them."""
        return Pairs(self.one.rows(rows), self.two.rows(rows))


class Remembering(NearMissCheck):
    """The shipped check; it compares the texts of a set once."""

    def __init__(self, weights: dict[str, np.ndarray]):
        super().__init__(weights)
        self._known: dict[tuple, np.ndarray] = {}

    def features(self, texts_a, texts_b, cosines) -> np.ndarray:
        """`NearMissCheck.features`."""
        key = (*texts_a, *texts_b)
        if key not in self._known:
            self._known[key] = super().features(texts_a, texts_b, cosines)
        rows = self._known[key].copy()
        rows[:, 0] = cosines
        return rows


class Sets:
    """The pairs of each set, encoded by a model."""

    def __init__(self, detector: DuplicateDetector, parts: dict):
        self.encoder = detector.encoder
        self.check = Remembering(NearMissCheck.shipped().weights)
        sides = {name: (part.question1, part.question2) for name, part in parts.items()}
        self.valid = Pairs.of(detector, *sides["valid"])
        self.test = Pairs.of(detector, *sides["test"])
        self.labels = {name: part.is_duplicate for name, part in parts.items()}
        self.none_seen = trained_on(parts["test"], parts["train"]) == 0
        both = [*itertools.combinations(handwritten_questions(), 2)]
        texts = ([pair[side]["question"] for pair in both] for side in (0, 1))
        self.handwritten = Pairs.of(detector, *texts)
        self.same = np.array([a["group"] == b["group"] != "" for a, b in both])
        kinds, asked, same, near = zip(*made_pairs.near_misses())
        self.kinds = np.array(kinds)
        self.made = [Pairs.of(detector, asked, texts) for texts in (same, near)]

    def figures(self, decision: Decision) -> dict[str, float]:
        """What a decision is worth."""
        labels = self.labels["test"]
        scores = decision.scores(*self.test)
        chances = decision.probabilities(scores)
        none = self.none_seen
        found = {
            "test ROC AUC": roc_auc_score(labels, scores),
            "none seen": roc_auc_score(labels[none], scores[none]),
            "ECE": expected_calibration_error(chances, labels),
            "accuracy": ((chances > 0.5) == labels).mean(),
            "handwritten AP": average_precision_score(
                self.same, decision.scores(*self.handwritten)
            ),
        }
        same, near = (decision.scores(*pairs) for pairs in self.made)
        for kind in made_pairs.KINDS:
            of_kind = self.kinds == kind
            found[f"behind, {kind}"] = (near < same)[of_kind].mean()
        return rounded(found)


def curve(sets: Sets, pairs: Pairs, labels: np.ndarray) -> Decision:
    """The curve of the parts alone."""
    one, two = (side.vectors for side in pairs)
    cosines = part_cosines(sets.encoder, one, two)
    return ByParts(fit_parts(cosines, cosines_with(one, two), labels), sets.encoder)


def penalty(sets: Sets, pairs: Pairs, labels: np.ndarray) -> Decision:
    """The curve less what the shipped check doubts."""
    one, two = pairs
    cosines = part_cosines(sets.encoder, one.vectors, two.vectors)
    rows = sets.check.features(list(one.texts), list(two.texts), cosines[:, 0])
    taken = DOUBT * sets.check.doubts(rows)
    whole = cosines_with(one.vectors, two.vectors)
    fitted = fit_parts(cosines, whole, labels, taken)
    return ByParts(fitted, sets.encoder, sets.check)


def own_check(sets: Sets, pairs: Pairs, labels: np.ndarray) -> Decision:
    """What a trained model decides by."""
    fit = fit_own_check(sets.encoder, *pairs, labels)
    calibration = calibration_of(fit["calibration"])
    return ByParts(calibration, sets.encoder, sets.check, fit["trees"])


def cosine(sets: Sets, pairs: Pairs, labels: np.ndarray) -> Decision:
    """The cosine less the shipped penalty."""
    scores = ByCosine(None, sets.check).scores(*pairs)
    fit = fit_threshold(scores, labels, resamples=0)
    return ByCosine(fit.calibration, sets.check)


WAYS: dict[str, Callable[[Sets, Pairs, np.ndarray], Decision]] = {
    "curve": curve,
    "penalty": penalty,
    "own check": own_check,
    "cosine": cosine,
}


def main() -> None:
    flags = parsed()
    pairs = read_pairs(flags.questions)
    rows = json.loads(Path(flags.splits).read_text())["rows"]
    parts = {name: pairs.rows(*rows[name]) for name in ("train", "valid", "test")}
    results = read_figures(RESULTS)
    for named in flags.model:
        name, _, path = named.partition("=")
        sets = Sets(DuplicateDetector.load(path), parts)
        results[name] = measured(sets, name)
        write_figures(RESULTS, results)
    text = page(results)
    write_figures(RESULTS, results, text)
    print(text)


def measured(sets: Sets, name: str) -> dict[str, dict[str, list]]:
    """The figures of each number of labels and each way, over its draws."""
    found: dict[str, dict[str, list]] = {}
    labels = sets.labels["valid"]
    for count, draws in DRAWS.items():
        for way, fit in WAYS.items():
            is_left_out = {
                "own check": count < TREE_PAIRS,
                "cosine": count >= CURVE_PAIRS,
            }
            if is_left_out.get(way):
                continue
            for draw in range(draws):
                order = np.random.default_rng(draw).permutation(len(labels))
                some = np.sort(order[:count])
                decision = fit(sets, sets.valid.rows(some), labels[some])
                figures = sets.figures(decision)
                found.setdefault(str(count), {}).setdefault(way, []).append(figures)
            print(name, count, way, found[str(count)][way][0], flush=True)
    return found


def page(results: dict) -> str:
    """A line for each model, number of labels, and way."""
    words = (
        "Made by `python benchmarks/own_check.py`; mean ± standard deviation over the draws "
        "of valid rows."
    )
    rows = []
    figures: list[str] = []
    for name, counts in results.items():
        for count, ways in counts.items():
            for way, draws in ways.items():
                figures = figures or [*draws[0]]
                cells = [spread([one[figure] for one in draws]) for figure in draws[0]]
                rows.append([name, f"{int(count):,}", way, *cells])
    table = markdown_table(["model", "labels", "decides", *figures], rows)
    return titled("A trained model's own near-miss check", words, table)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", required=True)
    parser.add_argument("--splits", required=True)
    parser.add_argument("--model", action="append", default=[], metavar="NAME=MODEL")
    return parser.parse_args()


if __name__ == "__main__":
    main()
