"""Notebooks written for the course run from a clean kernel: `import siamese` above, nothing else changed.

tests/course/notebooks holds the three labs and the assignment in our own words, with the course's
imports, in Jupytext's percent format. The references are the course's own: printed models and numbers.
"""

from __future__ import annotations

import csv
from pathlib import Path

import golden
import numpy as np
import pytest

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from siamese import embedded_corpus  # noqa: E402

NOTEBOOKS = Path(__file__).with_name("notebooks")
LOOP_2021 = "training.Loop(Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir)"
LOOP_2020 = "training.Loop(Siamese(), train_task, eval_task=eval_task, output_dir=output_dir)"


def printed_by(name: str, folder: Path, loop: str = LOOP_2021) -> str:
    """What the notebook's cells print, run in `folder` with one line above its imports."""
    notebook = jupytext.reads((NOTEBOOKS / f"{name}.py").read_text(), fmt="py:percent")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[0].source = f"import siamese\n{code[0].source}"
    for cell in code:
        cell.source = cell.source.replace(LOOP_2021, loop)
    assert loop == LOOP_2021 or any(loop in cell.source for cell in code)
    nbclient.NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return "".join(output.get("text", "") for cell in code for output in cell.outputs)


@pytest.mark.slow
def test_lab_1_the_siamese_network(tmp_path):
    printed = printed_by("lab1_siamese", tmp_path)
    tower = "  Serial[\n    Embedding_500_128\n    LSTM_128\n    Mean\n    Normalize\n  ]\n"
    for text in (
        "[[0.77132064 0.02075195 0.63364823 0.74880388 0.49850701]",
        "[[0.573937",  # the last digit is the machine's
        "] float32",
        "DeviceArray: True",
        f"Parallel_in2_out2[\n{tower}{tower}]",
        "Parallel.sublayers_1: Serial[",
        "Serial.sublayers_3: Normalize",
        "<class 'trax.layers.combinators.Parallel'> <class 'trax.layers.combinators.Serial'>",
        "shapes: (2, 128) (2, 128)",
        "lengths of 1: True",
    ):
        assert text in printed


@pytest.mark.slow
def test_lab_2_the_modified_triplet_loss(tmp_path):
    printed = printed_by("lab2_triplet_loss", tmp_path)
    for text in (
        "similar 0.9974\nidentical 1.0000\nopposite -1.0000\ndissimilar -0.5153\n",
        "batch sizes match: True",
        "outputs are the same: True",
        "mean_neg [-0.3333 -0.1333 -0.1333 -0.4667] closest_neg [ 0.3  0.1 -0.8 -0.2]",
        "cost 0.517\n",
        "cost of a matrix of losses (4, 4) 3.783",
    ):
        assert text in printed


@pytest.mark.slow
def test_lab_3_the_accuracy_of_vectors_in_files(tmp_path):
    draw = np.random.default_rng(7)
    pairs, length, d_model = 64, 16, 8
    v1 = draw.normal(size=(pairs, d_model))
    v2 = v1 + draw.uniform(0.2, 1.2, (pairs, 1)) * draw.normal(size=(pairs, d_model))
    v1, v2 = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (v1, v2))
    y_test = draw.integers(0, 2, pairs)
    for name, array in {"v1": v1, "v2": v2, "y_test": y_test}.items():
        np.save(tmp_path / f"{name}.npy", array)
    for name in ("q1", "q2"):
        np.save(tmp_path / f"{name}.npy", draw.integers(1, 99, (pairs, length)))
    printed = printed_by("lab3_evaluate", tmp_path)
    accuracy = np.mean(((v1 * v2).sum(axis=1) > 0.7) == y_test)
    assert f"accuracy {accuracy:.6f}\n" in printed and 0 < accuracy < 1
    assert "q1 (64, 16) v1 (64, 8)" in printed


@pytest.mark.slow
@pytest.mark.parametrize("loop", [LOOP_2021, LOOP_2020], ids=["2021", "2020"])
def test_the_assignment_with_the_loop_of(loop, tmp_path, monkeypatch):
    corpus = embedded_corpus(train_pairs=340, valid_pairs=10, test_pairs=10)
    with open(tmp_path / "questions.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "qid1", "qid2", "question1", "question2", "is_duplicate"])
        pairs = corpus.train
        for i in range(len(pairs)):
            row = pairs.question1[i], pairs.question2[i], int(pairs.is_duplicate[i])
            table.writerow([i, 2 * i, 2 * i + 1, *row])
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))  # a learner's machine without NLTK's data
    printed = printed_by("assignment", tmp_path, loop)
    assert golden.MODEL_PRINTED in printed
    for line in ("batch: True", "loss: 0.5", "DeviceArray: True", "accuracy: True", "prediction: "):
        assert line in printed
    assert "Step      1: train TripletLoss" in printed
    assert (tmp_path / "model" / "model.pkl.gz").exists()
