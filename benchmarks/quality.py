"""How right the models are on labelled rows and on made pairs, beside baselines; and what they cost.

    python benchmarks/quality.py --questions questions.csv.gz --splits splits.json
    --runs runs --test

trains the models that are not yet in the folder of runs (an interrupted run resumes),
measures all on the validation rows, and writes quality.json and its tables, quality.md.
`ensemble` is a head and an LSTM beside their encoder; one LSTM is for both encoders.
Names with ", both" have the encoder use+wordllama, and names with ", with minilm" have use+minilm.

How test is kept out of every choice: training reads the train rows alone; the
threshold, the calibration and every setting were chosen on the valid rows. ``--test``
is the last step: it opens the saved models with their saved threshold and calibration,
and scores the test rows once.

Beside all rows stand those of whose two questions none, one or both were trained on:
half of the duplicates among all rows follow from training labels, so the figure for all
of them is optimistic. The disjoint split (``--disjoint``) divides all rows anew so that
no question stands in two parts (`cluster_split`). The made pairs are those of
made_pairs.py. Their typed questions are the first of the valid rows.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import made_pairs
import numpy as np
from results import FOLDER, markdown_table, read_figures, write_figures
from transfer import tfidf

from siamese import (
    DuplicateDetector,
    QuestionPairs,
    enable_compile_cache,
    keep_memory,
    read_pairs,
)
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.report import word_overlap
from siamese.evaluation.thresholds import best_threshold
from siamese.model.detector import pairs_of
from siamese.reading.clusters import cluster_split
from siamese.training.config import TrainConfig
from siamese.training.report import measure as measure_trained
from siamese.training.report import with_lstm
from siamese.training.run import Trainer

# How many of a row's questions were trained on.
SEEN = ("none_seen", "one_seen", "both_seen")
RESULTS = FOLDER / "quality.json"
OLDER = (
    "Not measured again since there is a check: the encoders, and models with a comma in their "
    "names, which were also trained with mined hard negatives, as `lstm` was."
)
CONFIGS = {
    "course": TrainConfig(),
    "course, forget gate": TrainConfig(lstm_bias="forget_gate"),
    "course of 2022": TrainConfig(edition=2022),
    "course of 2022, forget gate": TrainConfig(edition=2022, lstm_bias="forget_gate"),
    "lstm": TrainConfig.preset("lstm"),
    "head": TrainConfig.preset("head"),
    "head, both": TrainConfig.preset("head", encoder="use+wordllama"),
    "head, with minilm": TrainConfig.preset("head", encoder="use+minilm"),
    "lstm of ensemble": TrainConfig.preset("ensemble"),
    "ensemble": None,  # the head and the LSTM
    "ensemble, both": None,
    "ensemble, with minilm": None,
}
# Without training.
ENCODERS = ("use", "wordllama", "use+wordllama", "minilm", "use+minilm")
BASELINES = ("word overlap", "TF-IDF")
QUESTIONS = 50  # that are typed in four ways
ENCODED = 1000  # questions whose encoding is timed


def main() -> None:
    flags = parsed()
    keep_memory()  # as `siamese train` does: the seconds are the command's
    enable_compile_cache()
    pairs = read_pairs(flags.questions)
    rows = json.loads(Path(flags.splits).read_text())["rows"]
    parts = {name: pairs.rows(*rows[name]) for name in ("train", "valid", "test")}
    results = read_figures(flags.output)
    for name in flags.models:
        for seed in flags.seeds if name in CONFIGS else [0]:
            measure(
                flags,
                f"{name}, seed {seed}" if seed else name,
                name,
                seed,
                parts,
                results,
            )
    if flags.disjoint:
        sizes = np.array([len(part) for part in parts.values()])
        divided = [
            pairs.select(part) for part in cluster_split(pairs, sizes / sizes.sum(), 34)
        ]
        for name in flags.disjoint:
            key = f"{name}, cluster-disjoint"
            measure(
                flags, key, name, flags.seeds[0], dict(zip(parts, divided)), results
            )
    text = page(results)
    write_figures(flags.output, results, text)
    print(text)


class Judge(NamedTuple):
    """What is measured: a model, or a baseline."""

    score: Callable  # (texts, texts) -> float [n]
    threshold: float  # a duplicate's score exceeds it
    probability: Callable | None  # of scores


def measure(flags, key: str, name: str, seed: int, parts: dict, results: dict) -> None:
    """Adds a model's figures on valid, and with ``--test`` on test, to the results and their file."""
    facts = results.setdefault(key, {"name": key.partition(", seed")[0]})
    if "valid" in facts and ("test" in facts or not flags.test):
        return
    if name in BASELINES:
        judge = baseline(name, parts)
    else:
        detector = model(flags, key, name, seed, parts, facts)
        decision = detector.decision

        def score(*sides: list[str]) -> np.ndarray:
            return decision.scores(*pairs_of(detector, *sides))

        judge = Judge(score, detector.threshold, decision.probabilities)
        facts |= costs(detector, parts["valid"].question2[:ENCODED])
    facts["made"] = on_made_pairs(judge, parts["valid"])
    for part in ("valid", "test") if flags.test else ("valid",):
        if part not in facts:
            facts[part] = figures(judge, parts[part], parts["train"])
            print(key, part, facts[part], flush=True)
    write_figures(flags.output, results)


def baseline(name: str, parts: dict) -> Judge:
    """A count of common words with the best threshold of the valid rows."""
    valid = parts["valid"]
    train = parts["train"]
    known = [*train.question1, *train.question2]
    score = word_overlap if name == "word overlap" else tfidf(known)
    scores = score(valid.question1, valid.question2)
    return Judge(score, best_threshold(scores, valid.is_duplicate), None)


def costs(detector: DuplicateDetector, texts: list[str]) -> dict:
    """The size of the model's file, and how many questions it encodes in a second of one core."""
    with tempfile.TemporaryDirectory() as folder:
        size = detector.save(Path(folder) / "model.safetensors").stat().st_size
    detector.encode(texts[:50])
    start = time.process_time()
    detector.encode(texts)
    speed = len(texts) / (time.process_time() - start)
    return {"file_mb": round(size / 1e6, 1), "questions_per_cpu_s": round(speed)}


def model(
    flags, key: str, name: str, seed: int, parts: dict, facts: dict
) -> DuplicateDetector:
    """The trained model of a configuration, or an encoder with threshold and calibration of valid."""
    if name not in CONFIGS:
        return DuplicateDetector.from_encoder(name).fitted(parts["valid"])
    if name.startswith("ensemble"):
        head_name, head_key = (text.replace("ensemble", "head") for text in (name, key))
        head = model(flags, head_key, head_name, seed, parts, {})
        lstm = model(
            flags,
            f"lstm of ensemble{key[len(name) :]}",
            "lstm of ensemble",
            seed,
            parts,
            {},
        )
        both, facts["lstm_gains"] = with_lstm(head, lstm, parts["valid"])
        _, both = measure_trained(both, parts["valid"], parts["valid"])
        file = flags.runs / f"{key.replace(', ', '-').replace(' ', '-')}.safetensors"
        both.save(file, overwrite=True)
        return both
    folder = flags.runs / "".join(c if c.isalnum() else "-" for c in key)
    if not (folder / "model.safetensors").exists():
        config = TrainConfig(**{**vars(CONFIGS[name]), "seed": seed})
        started = time.monotonic()
        trainer = Trainer(
            parts["train"], config, folder, valid=parts["valid"], quiet=flags.quiet
        )
        trainer.train()
        if not trainer.resumed_from:
            facts["training_s"] = round(time.monotonic() - started, 1)
        facts["steps"] = trainer.step
        trainer.save(trainer.evaluate(parts["valid"]))
    return DuplicateDetector.load(folder)


def figures(judge: Judge, pairs: QuestionPairs, trained: QuestionPairs) -> dict:
    """The figures on labelled rows."""
    labels = pairs.is_duplicate
    scores = judge.score(pairs.question1, pairs.question2)
    tuned = evaluate_scores(scores, labels, judge.threshold)
    measured = ("threshold", "accuracy", "roc_auc", "average_precision", "base_rate")
    facts = {"accuracy_at_0.7": ((scores > 0.7) == labels).mean()}
    facts |= {name: getattr(tuned, name) for name in measured}
    if judge.probability:
        facts["calibration_error"] = expected_calibration_error(
            judge.probability(scores), labels
        )
    seen = trained_on(pairs, trained)
    for count, name in enumerate(SEEN):
        part = seen == count
        if len(set(labels[part].tolist())) == 2:
            facts[f"roc_auc_{name}"] = evaluate_scores(
                scores[part], labels[part]
            ).roc_auc
            facts[f"rows_{name}"] = int(part.sum())
    return {name: round(float(value), 4) for name, value in facts.items()}


def on_made_pairs(judge: Judge, valid: QuestionPairs) -> dict:
    """Shares of typed questions that stay duplicates, and of near misses that are told apart."""
    questions = list(dict.fromkeys(valid.question1))[:QUESTIONS]
    # [questions, rules]
    typed = np.array([made_pairs.typed(question) for question in questions])
    stays = [
        judge.score(questions, texts.tolist()) > judge.threshold for texts in typed.T
    ]
    facts = {
        "typed": np.mean(stays),
        **dict(zip(made_pairs.TYPED, np.mean(stays, axis=1))),
    }
    kinds, asked, same, near = map(np.array, zip(*made_pairs.near_misses()))
    same, near = (judge.score(asked.tolist(), texts.tolist()) for texts in (same, near))
    facts |= {
        "refused": (near <= judge.threshold).mean(),
        "ahead": (same > near).mean(),
    }
    facts |= {
        f"{kind}_ahead": (same > near)[kinds == kind].mean()
        for kind in made_pairs.KINDS
    }
    return {name: round(float(value), 4) for name, value in facts.items()}


def trained_on(pairs: QuestionPairs, trained: QuestionPairs) -> np.ndarray:
    """How many of each row's two questions stand in the training rows, int [n]."""
    known = {*trained.question1, *trained.question2}
    return np.array(
        [(a in known) + (b in known) for a, b in zip(pairs.question1, pairs.question2)]
    )


ROWS = {
    "accuracy at 0.7": "accuracy_at_0.7",
    "accuracy, tuned": "accuracy",
    "ROC AUC": "roc_auc",
    "average precision": "average_precision",
    "ECE": "calibration_error",
    **{f"ROC AUC, {name.replace('_', ' ')}": f"roc_auc_{name}" for name in SEEN},
}
MADE = {
    "typed questions that stay duplicates": "typed",
    **{rule: rule for rule in made_pairs.TYPED},
}
MADE |= {"near misses refused": "refused", "paraphrase ahead of near miss": "ahead"}
MADE |= {f"ahead, {kind}": f"{kind}_ahead" for kind in made_pairs.KINDS}
COSTS = {"steps": "steps", "training, s": "training_s", "file, MB": "file_mb"}
COSTS |= {"questions a CPU second": "questions_per_cpu_s"}


def page(results: dict) -> str:
    """The tables, and what the marks in them mean."""
    return (
        "# How right the models are\n\nMade by `python benchmarks/quality.py`; mean ± standard deviation "
        "over the seeds. †: the vectors of wordllama and minilm were trained on Quora's duplicates, "
        "perhaps on these rows. `head` and `ensemble` are measured with their near-miss check. "
        f"{OLDER}\n{tables(results)}"
    )


def tables(results: dict) -> str:
    """The figures on valid and test rows, on made pairs, and the costs; a line for all seeds of a model."""
    groups: dict[str, list[dict]] = {}
    for facts in results.values():
        groups.setdefault(facts["name"], []).append(facts)
    text = ""
    for part, title in (
        ("test", "Test rows"),
        ("valid", "Valid rows"),
        ("made", "Made pairs"),
    ):
        columns = MADE if part == "made" else ROWS
        rows = []
        for name, runs in groups.items():
            measured = [run[part] for run in runs if part in run]
            if measured:
                cells = [
                    spread([figures[f] for figures in measured if f in figures])
                    for f in columns.values()
                ]
                rows.append([marked(name), len(measured), *cells])
        table = markdown_table(["model", "seeds", *columns], rows)
        text += f"\n## {title}\n\n{table}"
    rows = []
    for name, runs in groups.items():
        values = [[run[f] for run in runs if run.get(f)] for f in COSTS.values()]
        cells = [f"{np.mean(v):,.5g}" if v else "" for v in values]
        if any(cells):
            rows.append([marked(name), *cells])
    return f"{text}\n## Costs\n\n{markdown_table(['model', *COSTS], rows)}"


def marked(name: str) -> str:
    """The name, with a dagger where the vectors were trained on Quora's duplicates."""
    trained = any(part in name for part in ("wordllama", "minilm", ", both"))
    return f"{name} †" if trained else name


def spread(values: list[float]) -> str:
    """Mean, and the standard deviation where there are several."""
    more = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{more}" if values else ""


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--questions", required=True, help="the rows, as `siamese train` reads them")
    add("--splits", required=True, help='JSON: {"rows": {"train": [first, end], ...}}')
    add("--runs", type=Path, required=True, help="folder of the trained models")
    names = [*BASELINES, *ENCODERS, *CONFIGS]
    add("--models", nargs="*", default=names, choices=names)
    add("--seeds", nargs="*", type=int, default=[34])
    add("--disjoint", nargs="*", default=[], help="models on the disjoint split")
    add("--test", action="store_true", help="last: score the test rows, once")
    add("--output", type=Path, default=RESULTS)
    add("--quiet", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
