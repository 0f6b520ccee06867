"""Which form of the course's loss learns what: mask x reduction x bias, on the corpus and on labelled rows.

    python benchmarks/which_loss.py --questions questions.csv.gz --splits splits.json

The closest negative is the hardest one or masked as in the lecture, the rows' losses
are averaged or summed, and the LSTM's bias starts at 1 in all gates (Trax) or in the
forget gate alone. The rest is the course's: batches of 256, Adam with Trax's epsilon,
0.01 after a warm-up of 400 steps. Questions of more than 32 tokens are left out, so
that every batch has length 32. Loss and cosine are those of the first 256 validation
duplicates: the mean loss a pair, and the mean cosine of questions of different rows.
"""

import argparse
import itertools
import json
import random
from pathlib import Path

import jax
import numpy as np
from results import FOLDER, markdown_table, read_figures, rounded, write_figures

from siamese import embedded_corpus, read_pairs
from siamese.course.generator import data_generator
from siamese.encoders.lstm import Lstm
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.nn.lstm import LstmConfig, init
from siamese.nn.triplet import loss_from_scores
from siamese.text.vocabulary import tokenize_questions
from siamese.training.config import TrainConfig
from siamese.training.prepare import prepare
from siamese.training.step import (
    initial_state,
    lstm_network,
    make_optimizer,
    make_step,
)

RESULTS = FOLDER / "which_loss.json"
CHOICES = ("hardest", "semi_hard"), ("mean", "sum"), ("all_gates", "forget_gate")
WORDS = {"semi_hard": "masked", "all_gates": "all gates", "forget_gate": "forget gate"}
SEEDS = (34, 35, 36)
# Measured after so many steps.
FIRST = 100
STEPS = 300
LONGEST = 32  # tokens of a question
SHOWN = 256  # validation duplicates of the loss and the cosine
MEASURED = [
    f"{name} at {step}" for step in (FIRST, STEPS) for name in ("loss", "cosine")
]
COLUMNS = [*MEASURED, "ROC AUC", "accuracy at 0.7"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", help="labelled rows; needs --splits")
    parser.add_argument("--splits")
    flags = parser.parse_args()
    corpus = embedded_corpus()
    parts = {"corpus": (corpus.train, corpus.valid)}
    if flags.questions:
        pairs = read_pairs(flags.questions)
        rows = json.loads(Path(flags.splits).read_text())["rows"]
        parts["quora"] = (pairs.rows(*rows["train"]), pairs.rows(*rows["valid"]))
    config = TrainConfig()
    data = {
        name: prepare(short(a), config, valid=short(b))
        for name, (a, b) in parts.items()
    }
    results = read_figures(RESULTS)
    for seed, name, form in itertools.product(SEEDS, data, itertools.product(*CHOICES)):
        key = "/".join([name, *(WORDS.get(word, word) for word in form), str(seed)])
        if key not in results:  # a run that the file holds is not made again
            results[key] = measure(data[name], form, seed)
            print(key, results[key], flush=True)
            write_figures(RESULTS, results)
    write_figures(RESULTS, results, page(results))


def short(pairs):
    """The pairs whose questions both have at most `LONGEST` tokens."""
    tokenized = tokenize_questions([*pairs.question1, *pairs.question2])
    lengths = tokenized.ids.lengths[tokenized.rows].reshape(2, len(pairs))
    return pairs.select(lengths.max(axis=0) <= LONGEST)


def measure(data, form: tuple[str, str, str], seed: int) -> dict[str, float]:
    """Trains one model; returns its figures on the validation pairs."""
    closest, reduction, bias = form
    config = TrainConfig()
    lstm = LstmConfig(data.vocabulary.size)
    optimizer = make_optimizer(config, STEPS)

    def loss(scores, *_):
        losses = loss_from_scores(scores, closest=closest, reduction="none")
        return getattr(losses, reduction)(), losses.mean()

    step = make_step(lstm_network(lstm), loss, optimizer)
    state = initial_state(init(jax.random.key(seed), lstm, bias), optimizer)
    random.seed(seed)
    batches = data_generator(
        *(data.ids.take(side) for side in data.train), config.batch_size
    )
    figures: dict[str, float] = {}
    for number in range(1, STEPS + 1):
        state, _ = step(state, next(batches))
        if number in (FIRST, STEPS):
            weights = {name: np.asarray(a) for name, a in state.weights.items()}
            encoder = Lstm(lstm, weights, data.vocabulary)
            one, two = (
                encoder.encode_ids(data.ids.take(side[:SHOWN])) for side in data.valid
            )
            scores = one @ two.T
            different = (scores.sum() - np.trace(scores)) / (scores.size - len(scores))
            figures |= {
                f"loss at {number}": loss(scores)[1],
                f"cosine at {number}": different,
            }
    one, two = (encoder.encode_ids(data.ids.take(rows)) for rows in data.held_out_rows)
    cosines = np.sum(one * two, axis=1)
    labels = data.held_out.is_duplicate
    figures["ROC AUC"] = evaluate_scores(cosines, labels).roc_auc
    for name, cut in ((" at 0.7", 0.7), ("", best_threshold(cosines, labels))):
        figures[f"accuracy{name}"] = evaluate_scores(cosines, labels, cut).accuracy
    return rounded(figures)


def page(results: dict[str, dict[str, float]]) -> str:
    """The results as Markdown, a row for each form on each data set."""
    rows = []
    for form in sorted({key.rpartition("/")[0] for key in results}):
        runs = [run for key, run in results.items() if key.rpartition("/")[0] == form]
        values = {column: [run[column] for run in runs] for column in COLUMNS}
        cells = [
            f"{np.mean(v):.3f} ± {np.std(v, ddof=len(v) > 1):.3f}"
            for v in values.values()
        ]
        rows.append([*form.split("/"), *cells])
    heads = ["data", "closest", "over the batch", "bias", *COLUMNS]
    return markdown_table(heads, rows, rule="| --- ")  # as lesson 7 has it


if __name__ == "__main__":
    main()
