"""How right the presets are on labelled rows: `course`, `best`, and each choice of `best` taken away.

    python benchmarks/quality.py --questions questions.csv.gz --splits splits.json --runs runs

trains what is not yet in the folder of runs (a run that was interrupted goes on), measures everything on
the validation rows, and writes quality.json and its table, quality.md.

How test is kept out of every choice: training reads the train rows alone; the threshold, the calibration
and every choice that this file knows were made on the valid rows; without ``--test`` no test row is even
tokenized. ``--test`` is the last step: it opens the saved models of `course` and `best` as they are,
with their saved threshold and calibration, and scores the test rows once. The ablation never sees them.

Beside all rows stand those of whose two questions none, one or both were trained on: half of the duplicates
among all rows follow from training labels, so the figure for all of them flatters.

"As typed" is the share of 200 questions, made by rule from 50 (a word misspelt, greetings, HTML entities
and curly quotes, capitals), whose cosine with the question itself stays above the threshold.

The cluster-disjoint split (``--disjoint``) divides all rows anew so that no question stands in two parts
(`cluster_split`): it says what a model does on questions of which it knows none, where
the row split has a third of the pairs with a question that the train rows have too.
"""

from __future__ import annotations

import argparse
import dataclasses
import html
import json
import time
from pathlib import Path

import numpy as np

from siamese import enable_compile_cache, keep_memory
from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.search.detector import DuplicateDetector
from siamese.training.config import TrainConfig

FIELDS = ("accuracy_at_0.7", "accuracy", "roc_auc", "average_precision", "calibration_error")
RULES = ("misspelt", "greeted", "escaped", "capitals")
SEEN = ("none_seen", "one_seen", "both_seen")  # Of a row's questions, by the training.
RESULTS = Path(__file__).parent / "results" / "quality.json"
REMOVED = {  # Name -> what `best` has there, undone.
    "triplet loss, no labelled pairs": {
        "loss": "triplet", "pair_batch_size": 0, "hard_negatives": 0,
    },
    "no transitive closure": {"transitive_closure": False},
    "no labelled pairs": {"pair_batch_size": 0, "hard_negatives": 0},
    "no duplicates among the labelled": {"pair_duplicates": 0.0},
    "no hard negatives": {"hard_negatives": 0},
    "no topic-homogeneous batches": {"topic_block": 0},
    "every word known, the rest one unknown": {"min_count": 1, "unknown_ids": 0},
    "no dropout": {"embedding_dropout": 0.0, "word_dropout": 0.0},
    "Trax's first embedding": {"embedding_init": 0.0},
    "case kept": {"lowercase": False},
    "rate falls as 1/sqrt(step)": {"schedule": "rsqrt"},
}  # fmt: skip
ADDED = {"both reading directions": {"bidirectional": True}, "lazy Adam": {"lazy_adam": True}}


def main() -> None:
    flags = parsed()
    keep_memory()  # as `siamese train` does: the seconds are the command's
    enable_compile_cache()
    pairs = read_pairs(flags.questions)
    rows = json.loads(Path(flags.splits).read_text())["rows"]
    train, valid = (pairs.rows(*rows[name]) for name in ("train", "valid"))
    found = json.loads(flags.output.read_text()) if flags.output.exists() else {}
    for name, config in plan(flags).items():
        for seed in flags.seeds:
            key = key_of(name, seed, config)
            if key not in found:
                found[key] = run(flags, name, config | {"seed": seed}, train, valid)
                write(flags.output, found)
    if flags.disjoint:
        from siamese.data.clusters import cluster_split

        sizes = np.array([rows[name][1] - rows[name][0] for name in ("train", "valid", "test")])
        parts = [pairs.select(part) for part in cluster_split(pairs, sizes / sizes.sum(), 34)]
        for name in flags.disjoint:
            config = full(flags, name) | {"seed": flags.seeds[0]}
            key = f"{name}, cluster-disjoint"
            if key not in found:
                found[key] = run(flags, key, config, *parts[:2])
                found[key]["test"] = measured(
                    detector_of(flags, key, config["seed"]), parts[2], parts[0]
                )
                write(flags.output, found)
    if flags.test:
        test = pairs.rows(*rows["test"])
        for name in flags.presets:
            config = full(flags, name)
            for seed in flags.seeds:
                key = key_of(name, seed, config)
                if key in found and "test" not in found[key]:
                    found[key]["test"] = measured(detector_of(flags, name, seed), test, train)
                    write(flags.output, found)
    shown = table(json.loads(flags.output.read_text()) if flags.output.exists() else found)
    flags.output.with_suffix(".md").write_text(
        "# How right the models are\n\nMade by `python benchmarks/quality.py`; mean ± standard deviation "
        f"over the seeds.\n\n{shown}\n"
    )
    print(shown)


def plan(flags) -> dict[str, dict]:
    """Name -> the configuration's fields, of every row that was asked for."""
    wanted = {}
    for name in flags.presets:
        wanted[name] = full(flags, name)
    if flags.ablation:
        # So many steps each, whatever an epoch is: the same time and the same fall of the rate. In one
        # direction, which takes half the time.
        short = full(flags, "best") | {
            "epochs": 0.0,
            "steps": flags.ablation_steps,
            "warmup_steps": max(1, flags.ablation_steps // 5),
            "bidirectional": False,
        }
        wanted["best, shortened, one direction"] = short
        for sign, changes in (("-", REMOVED), ("+", ADDED)):
            for name, change in changes.items():
                if not flags.only or any(word in name for word in flags.only):
                    wanted[f"{sign} {name}"] = short | change
    return wanted


def key_of(name: str, seed: int, config: dict) -> str:
    """Where a run stands in quality.json."""
    return f"{name}, seed {seed}, {config['epochs'] or config['steps']}"


def full(flags, name: str) -> dict:
    """The fields of a preset, or of one with a change behind a comma."""
    preset, _, change = name.partition(", ")
    changes = {"forget gate": {"lstm_bias": "forget_gate"}}[change] if change else {}
    if preset == "best" and flags.epochs:
        changes["epochs"] = flags.epochs
    return dataclasses.asdict(TrainConfig.preset(preset, **changes))


def run(flags, name: str, config: dict, train: QuestionPairs, valid: QuestionPairs) -> dict:
    """Trains one model and saves it; its figures on the validation rows, which chose its threshold."""
    from siamese.training.trainer import Trainer

    started = time.monotonic()
    folder = folder_of(flags, name, config["seed"])
    trainer = Trainer(train, TrainConfig.from_dict(config), folder, valid=valid, quiet=flags.quiet)
    prepared = time.monotonic() - started
    trainer.train()
    seconds = time.monotonic() - started
    report = trainer.evaluate(valid)
    trainer.save(report)
    figures = measured(detector_of(flags, name, config["seed"]), valid, train)
    print(f"{name}, seed {config['seed']}: {figures}, {seconds:.0f} s", flush=True)
    return {
        "name": name,
        "seed": config["seed"],
        "epochs": config["epochs"],
        "steps": trainer.loop.step,
        "preparing_s": round(prepared, 1),
        "training_s": round(seconds, 1),
        "words": trainer.data.vocabulary.size,
        "valid": figures,
    }


def measured(
    detector: DuplicateDetector, pairs: QuestionPairs, trained: QuestionPairs
) -> dict[str, float]:
    """The figures of a saved model with its saved threshold and calibration."""
    from siamese.evaluation.calibration import expected_calibration_error

    scores = detector.similarity(pairs.question1, pairs.question2)
    labels = pairs.is_duplicate
    tuned = evaluate_scores(scores, labels, detector.threshold)
    seen = trained_on(pairs, trained)
    by_seen = {}
    for count, name in enumerate(SEEN):
        rows = seen == count
        if len(set(labels[rows].tolist())) == 2:
            part = evaluate_scores(scores[rows], labels[rows], detector.threshold)
            by_seen[f"roc_auc_{name}"] = round(part.roc_auc, 4)
            by_seen[f"accuracy_{name}"] = round(part.accuracy, 4)
            by_seen[f"rows_{name}"] = int(rows.sum())
    questions = [q for q in dict.fromkeys(pairs.question1) if len(q.split()) >= 5][:50]
    typed = [made for question in questions for made in as_typed(question)]
    kept = detector.similarity(np.repeat(questions, 4).tolist(), typed) > detector.threshold
    return {
        **by_seen,
        "as_typed": round(float(kept.mean()), 4),
        **{f"as_typed_{rule}": round(float(kept[i::4].mean()), 4) for i, rule in enumerate(RULES)},
        "accuracy_at_0.7": round(float(((scores > 0.7) == labels).mean()), 4),
        "threshold": round(detector.threshold, 4),
        "accuracy": round(tuned.accuracy, 4),
        "best_possible_accuracy": round(best_threshold(scores, labels).value, 4),
        "roc_auc": round(tuned.roc_auc, 4),
        "average_precision": round(tuned.average_precision, 4),
        "calibration_error": round(
            float(expected_calibration_error(detector.calibrated(scores), labels)), 4
        ),
        "base_rate": round(tuned.base_rate, 4),
    }


def trained_on(pairs: QuestionPairs, trained: QuestionPairs) -> np.ndarray:
    """How many of each row's two questions stand in the training rows, int [n]."""
    known = {*trained.question1, *trained.question2}
    return np.array([(a in known) + (b in known) for a, b in zip(pairs.question1, pairs.question2)])


def as_typed(question: str) -> list[str]:
    """The question as people type it, once for each of `RULES`."""
    longest = max(question.split(), key=len)
    middle = len(longest) // 2
    swapped = longest[: middle - 1] + longest[middle] + longest[middle - 1] + longest[middle + 1 :]
    return [
        question.replace(longest, swapped, 1),
        f"Hi all, {question} Thanks in advance!",
        html.escape(question).replace("&#x27;", "\u2019").replace(" ", "&nbsp;", 1),
        question.upper(),
    ]


def table(found: dict) -> str:
    """All runs of a name and length as one line: mean and spread over the seeds."""
    lines = [
        "| what | steps | seeds | rows | accuracy at 0.7 | accuracy, tuned | ROC AUC | average precision "
        "| ECE | ROC AUC, none seen | one seen | both seen | as typed | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple, list[dict]] = {}
    for facts in found.values():
        # Runs of as many epochs differ by a few steps.
        groups.setdefault((facts["name"], facts["epochs"] or facts["steps"]), []).append(facts)
    for (name, _), runs in groups.items():
        steps = runs[0]["steps"]
        for part in ("valid", "test"):
            figures = [facts[part] for facts in runs if part in facts]
            if figures:
                # None: the run was paused or resumed.
                times = [facts["training_s"] for facts in runs if facts["training_s"]]
                seconds = f"{np.mean(times):.0f}" if times else ""
                lines.append(
                    f"| {name} | {steps:,} | {len(figures)} | {part} | "
                    + " | ".join(
                        spread([figure[field] for figure in figures if field in figure])
                        for field in (*FIELDS, *(f"roc_auc_{name}" for name in SEEN), "as_typed")
                    )
                    + f" | {seconds} |"
                )
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Mean, and the standard deviation where there are several."""
    if not values:  # Of runs measured before the figure was.
        return ""
    more = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{more}"


def folder_of(flags, name: str, seed: int) -> Path:
    words = "".join(c if c.isalnum() else "-" for c in name)
    return flags.runs / f"{words}-{seed}"


def detector_of(flags, name: str, seed: int) -> DuplicateDetector:
    return DuplicateDetector.load(folder_of(flags, name, seed))


def write(path: Path, found: dict) -> None:
    """Adds to the file: another process may have added to it meanwhile."""
    path.parent.mkdir(exist_ok=True)
    there = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**there, **found}, indent=1) + "\n")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--questions", required=True, help="the rows, as `siamese train` reads them"
    )
    parser.add_argument(
        "--splits", required=True, help='JSON: {"rows": {"train": [first, end], ...}}'
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder of the trained models")
    parser.add_argument("--presets", nargs="*", default=["course", "course, forget gate", "best"])
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--epochs", type=float, default=0.0, help="of best; 0: the preset's")
    parser.add_argument("--ablation", action="store_true", help="also each choice of best undone")
    parser.add_argument("--ablation-steps", type=int, default=400, help="[%(default)s]")
    parser.add_argument("--only", nargs="*", default=[], help="words of the ablation's rows wanted")
    parser.add_argument("--disjoint", nargs="*", default=[], help="presets on the disjoint split")
    parser.add_argument("--test", action="store_true", help="last: score the test rows, once")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
