"""How right the presets are on labelled rows, beside the baselines.

    python benchmarks/quality.py --questions questions.csv.gz --splits splits.json --runs runs --test

trains the models that are not yet in the folder of runs (an interrupted run resumes), measures all on the
validation rows, and writes quality.json and its table, quality.md. `general` is a head and `best`'s tower
beside their encoder: the tower is not trained again. Names with ", both" have the encoder use+wordllama.

How test is kept out of every choice: training reads the train rows alone; the threshold, the calibration
and every setting were chosen on the valid rows. ``--test`` is the last step: it opens the saved models with
their saved threshold and calibration, and scores the test rows once.

Beside all rows stand those of whose two questions none, one or both were trained on: half of the duplicates
among all rows follow from training labels, so the figure for all of them is optimistic. The disjoint
split (``--disjoint``) divides all rows anew so that no question stands in two parts (`cluster_split`).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from siamese import DuplicateDetector, QuestionPairs, enable_compile_cache, keep_memory, read_pairs
from siamese.data.clusters import cluster_split
from siamese.evaluation.baselines import word_overlap
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.training.config import TrainConfig
from siamese.training.report import with_tower
from siamese.training.run import Trainer

FIELDS = ("accuracy_at_0.7", "accuracy", "roc_auc", "average_precision", "calibration_error")
SEEN = ("none_seen", "one_seen", "both_seen")  # how many of a row's questions were trained on
RESULTS = Path(__file__).parent / "results" / "quality.json"
CONFIGS = {
    "course": TrainConfig.course(),
    "course, forget gate": TrainConfig.course(lstm_bias="forget_gate"),
    "course of 2022": TrainConfig.course(edition=2022),
    "course of 2022, forget gate": TrainConfig.course(edition=2022, lstm_bias="forget_gate"),
    "best": TrainConfig.best(),
    "head": TrainConfig.head(),
    "head, both": TrainConfig.head(encoder="use+wordllama"),
    "general": TrainConfig.general(),
    "general, both": TrainConfig.general(encoder="use+wordllama"),
}
ENCODERS = (
    "use",
    "wordllama",
    "use+wordllama",
)  # without training; the latter two saw Quora's labels


def main() -> None:
    flags = parsed()
    keep_memory()  # as `siamese train` does: the seconds are the command's
    enable_compile_cache()
    pairs = read_pairs(flags.questions)
    rows = json.loads(Path(flags.splits).read_text())["rows"]
    parts = {name: pairs.rows(*rows[name]) for name in ("train", "valid", "test")}
    results = json.loads(flags.output.read_text()) if flags.output.exists() else {}
    for name in flags.models:
        for seed in flags.seeds if name in CONFIGS else [0]:
            measure(flags, f"{name}, seed {seed}" if seed else name, name, seed, parts, results)
    if flags.disjoint:
        sizes = np.array([len(part) for part in parts.values()])
        divided = [pairs.select(part) for part in cluster_split(pairs, sizes / sizes.sum(), 34)]
        for name in flags.disjoint:
            key = f"{name}, cluster-disjoint"
            measure(flags, key, name, flags.seeds[0], dict(zip(parts, divided)), results)
    text = table(results)
    flags.output.with_suffix(".md").write_text(
        "# How right the models are\n\nMade by `python benchmarks/quality.py`; mean ± standard deviation "
        f"over the seeds.\n\n{text}\n"
    )
    print(text)


def measure(flags, key: str, name: str, seed: int, parts: dict, results: dict) -> None:
    """Adds a model's figures on valid, and with ``--test`` on test, to the results and their file."""
    facts = results.setdefault(key, {"name": key.partition(", seed")[0]})
    if "valid" in facts and ("test" in facts or not flags.test):
        return
    detector = None if name == "word overlap" else model(flags, key, name, seed, parts, facts)
    wanted = ("valid", "test") if flags.test else ("valid",)
    for part in wanted:
        if part not in facts:
            facts[part] = figures(detector, parts[part], parts["train"], parts["valid"])
            print(key, part, facts[part], flush=True)
    flags.output.write_text(json.dumps(results, indent=1) + "\n")


def model(flags, key: str, name: str, seed: int, parts: dict, facts: dict) -> DuplicateDetector:
    """The trained model of a configuration, or an encoder with threshold and calibration of valid."""
    if name not in CONFIGS:
        return DuplicateDetector.from_encoder(name).fitted(parts["valid"])
    if name.startswith("general"):
        head_name, head_key = (text.replace("general", "head") for text in (name, key))
        head = model(flags, head_key, head_name, seed, parts, {})
        best = f"best{key[len(name) :]}"
        tower = model(flags, best, "best", seed, parts, {})
        both, facts["tower_gains"] = with_tower(head, tower, parts["valid"])
        both.save(flags.runs / f"{key.replace(', ', '-').replace(' ', '-')}.safetensors")
        return both
    folder = flags.runs / "".join(c if c.isalnum() else "-" for c in key)
    if not (folder / "model.safetensors").exists():
        config = TrainConfig(**{**vars(CONFIGS[name]), "seed": seed})
        started = time.monotonic()
        trainer = Trainer(parts["train"], config, folder, valid=parts["valid"], quiet=flags.quiet)
        trainer.train()
        facts["training_s"] = None if trainer.resumed_from else round(time.monotonic() - started, 1)
        facts["steps"] = trainer.step
        trainer.save(trainer.evaluate(parts["valid"]))
    return DuplicateDetector.load(folder)


def figures(detector, pairs: QuestionPairs, trained: QuestionPairs, valid: QuestionPairs) -> dict:
    """The figures of a model with its saved threshold and calibration; of word overlap where None."""
    labels = pairs.is_duplicate
    if detector is None:
        scores = word_overlap(pairs.question1, pairs.question2)
        chosen = word_overlap(valid.question1, valid.question2)
        threshold = best_threshold(chosen, valid.is_duplicate)
    else:
        scores, threshold = (
            detector.score(pairs.question1, pairs.question2),
            detector.threshold,
        )
    tuned = evaluate_scores(scores, labels, threshold)
    facts = {
        "accuracy_at_0.7": float(((scores > 0.7) == labels).mean()),
        "threshold": threshold,
        "accuracy": tuned.accuracy,
        "roc_auc": tuned.roc_auc,
        "average_precision": tuned.average_precision,
        "base_rate": tuned.base_rate,
    }
    if detector is not None and detector.calibration is not None:
        probabilities = detector.probabilities_of(scores)
        facts["calibration_error"] = expected_calibration_error(probabilities, labels)
    seen = trained_on(pairs, trained)
    for count, name in enumerate(SEEN):
        part = seen == count
        if len(set(labels[part].tolist())) == 2:
            facts[f"roc_auc_{name}"] = evaluate_scores(scores[part], labels[part]).roc_auc
            facts[f"rows_{name}"] = int(part.sum())
    return {name: round(float(value), 4) for name, value in facts.items()}


def trained_on(pairs: QuestionPairs, trained: QuestionPairs) -> np.ndarray:
    """How many of each row's two questions stand in the training rows, int [n]."""
    known = {*trained.question1, *trained.question2}
    return np.array([(a in known) + (b in known) for a, b in zip(pairs.question1, pairs.question2)])


def table(results: dict) -> str:
    """All seeds of a model as one line: mean and spread."""
    lines = [
        "| model | steps | seeds | rows | accuracy at 0.7 | accuracy, tuned | ROC AUC | average precision "
        "| ECE | ROC AUC, none seen | one seen | both seen | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[dict]] = {}
    for facts in results.values():
        groups.setdefault(facts["name"], []).append(facts)
    fields = (*FIELDS, *(f"roc_auc_{name}" for name in SEEN))
    for name, runs in groups.items():
        times = [run["training_s"] for run in runs if run.get("training_s")]
        steps = f"{runs[0]['steps']:,}" if "steps" in runs[0] else ""
        for part in ("valid", "test"):
            rows = [run[part] for run in runs if part in run]
            if rows:
                cells = [spread([row[field] for row in rows if field in row]) for field in fields]
                seconds = f"{np.mean(times):.0f}" if times else ""
                first = f"| {name} | {steps} | {len(rows)} | {part} | "
                lines.append(f"{first}{' | '.join(cells)} | {seconds} |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Mean, and the standard deviation where there are several."""
    if not values:
        return ""
    more = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{more}"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--questions", required=True, help="the rows, as `siamese train` reads them")
    add("--splits", required=True, help='JSON: {"rows": {"train": [first, end], ...}}')
    add("--runs", type=Path, required=True, help="folder of the trained models")
    names = ["word overlap", *ENCODERS, *CONFIGS]
    add("--models", nargs="*", default=names, choices=names)
    add("--seeds", nargs="*", type=int, default=[34])
    add("--disjoint", nargs="*", default=[], help="models on the disjoint split")
    add("--test", action="store_true", help="last: score the test rows, once")
    add("--output", type=Path, default=RESULTS)
    add("--quiet", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
