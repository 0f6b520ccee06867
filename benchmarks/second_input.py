"""What the probability gains from more than one model's cosine: from TF-IDF beside it, or more models.

    python benchmarks/second_input.py --questions questions.csv.gz --splits splits.json \
        --model runs/best-1/model --model runs/best-2/model --model runs/best-3/model

Logistic regression of the label on the cosines, on the valid rows, in five-fold cross-validation: ROC AUC
and accuracy at the best threshold of all rows, and ROC AUC by how many of a row's questions were trained
on. TF-IDF is fitted on the training questions, over the stems that a search counts. Opens no test row.
Prints a table.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from quality import trained_on
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from transfer import tfidf

from siamese import DuplicateDetector, enable_compile_cache, keep_memory, read_pairs
from siamese.evaluation.thresholds import best_threshold
from siamese.search.lexical import words_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", required=True, help="labelled pairs")
    parser.add_argument("--splits", required=True, help="their rows, as quality.py reads them")
    parser.add_argument("--model", action="append", required=True, help="may be repeated")
    flags = parser.parse_args()
    keep_memory()
    enable_compile_cache()
    pairs = read_pairs(flags.questions)
    rows = json.loads(Path(flags.splits).read_text())["rows"]
    train, valid = (pairs.rows(*rows[name]) for name in ("train", "valid"))
    seen = trained_on(valid, train)
    labels = np.array(valid.is_duplicate)
    known = sorted({*train.question1, *train.question2})
    by_words = tfidf(known, analyzer=words_in)(valid.question1, valid.question2)
    models = [
        DuplicateDetector.load(path).similarity(valid.question1, valid.question2)
        for path in flags.model
    ]
    inputs = {"the first model": models[:1], "and TF-IDF": [models[0], by_words]}
    if len(models) > 1:
        inputs |= {f"{len(models)} models": models, "and TF-IDF too": [*models, by_words]}
    print("| input | ROC AUC | accuracy | none seen | one | both |\n|---|---|---|---|---|---|")
    for name, columns in inputs.items():
        model = make_pipeline(StandardScaler(), LogisticRegression())
        found = cross_val_predict(
            model, np.column_stack(columns), labels, cv=5, method="predict_proba"
        )[:, 1]
        parts = [roc_auc_score(labels[seen == n], found[seen == n]) for n in range(3)]
        figures = [roc_auc_score(labels, found), best_threshold(found, labels).value, *parts]
        print(f"| {name} |", " | ".join(f"{figure:.3f}" for figure in figures), "|")


if __name__ == "__main__":
    main()
