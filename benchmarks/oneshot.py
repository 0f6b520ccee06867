"""One-shot classes on the embedded corpus: accuracy with 1, 3 and 5 examples a subject, beside TF-IDF.

Usage: python benchmarks/oneshot.py --model demo=demo [--model best=runs/best]
           [--results benchmarks/results/oneshot]

The classes are the corpus's subjects, the questions those of its test part, each once. A question
gets the class of its nearest example; the examples are drawn 20 times. TF-IDF knows the words of all
these questions. A model trained on the corpus (`siamese demo`) has seen other questions of the same
subjects; one trained elsewhere has not.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from siamese.corpus import embedded_corpus
from siamese.detector import DuplicateDetector
from siamese.oneshot import evaluate_one_shot


def subject_questions() -> tuple[list[str], list[str]]:
    """The test part's distinct questions and the subject of each."""
    found = {q.text: q.subject for q in embedded_corpus().questions if q.part == "test"}
    return list(found), list(found.values())


def main() -> None:
    """Measures each model and writes PREFIX.json and PREFIX.md."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", action="append", required=True, metavar="NAME=DIR")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--results", default="benchmarks/results/oneshot", metavar="PREFIX")
    flags = parser.parse_args()
    questions, labels = subject_questions()
    found, lines = {}, []
    for model in flags.model:
        name, folder = model.split("=", 1)
        detector = DuplicateDetector.load(folder)
        rows = evaluate_one_shot(detector, questions, labels, repeats=flags.repeats)
        found[name] = [row._asdict() for row in rows]
        for column, label in (("model", f"siamese, `{name}`"), ("tfidf", "TF-IDF nearest example")):
            values = [
                f"{getattr(row, column):.3f} ± {getattr(row, f'{column}_std'):.3f}" for row in rows
            ]
            line = f"| {label} | {' | '.join(values)} |"
            if line not in lines:
                lines.append(line)
    first = rows[0]
    text = (
        "# One-shot classes, measured\n\nMade by `python benchmarks/oneshot.py`. "
        f"{first.questions:,} questions of the embedded corpus's test part about {first.classes} "
        f"subjects; accuracy ± standard deviation over {flags.repeats} draws of the examples; "
        f"guessing gives {1 / first.classes:.3f}.\n\n"
        f"| nearest example by | {' | '.join(f'{row.examples} a subject' for row in rows)} |\n"
        f"|{'---|' * (1 + len(rows))}\n" + "\n".join(lines) + "\n"
    )
    path = Path(flags.results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    path.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
