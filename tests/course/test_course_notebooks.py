"""The course's lab and assignment, in our words, run from a clean kernel with `import siamese` above."""

import os
from pathlib import Path

import golden
import pytest
from corpus_parts import pairs_of_length, write_pairs
from programs import COMPILED

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = Path(__file__).with_name("notebooks")


def printed_by(source, folder, **environment):
    notebook = jupytext.reads(source, fmt="py:percent")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[0].source = f"import siamese\n{code[0].source}"
    nbclient.NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute(env={**os.environ, **COMPILED, **environment})
    return "".join(output.get("text", "") for cell in code for output in cell.outputs)


@pytest.mark.slow
def test_the_assignment_with_the_loops_of_2021_and_2020_and_then_the_lab(tmp_path):
    # Batches of 16.
    write_pairs(tmp_path / "questions.csv", pairs_of_length(9, 13).rows(0, 340))
    source = (NOTEBOOKS / "assignment.py").read_text()
    # The cell that trains runs again as the notebooks of 2020 have it, in a folder of
    # its own.
    (cell,) = (cell for cell in source.split("# %%") if "training_loop.run" in cell)
    again = cell.replace("eval_tasks=[eval_task]", "eval_task=eval_task")
    source = source.replace(cell, f"{cell}# %%{again.replace('model/', 'model_2020/')}")
    lab = (NOTEBOOKS / "lab1_siamese.py").read_text()
    # A learner's machine without NLTK's data.
    printed = printed_by(f"{source}\n\n{lab}", tmp_path, NLTK_DATA=str(tmp_path))
    for line in (
        *(
            "batch: True",
            "loss: 0.5",
            "DeviceArray: True",
            "accuracy: True",
            "prediction: ",
        ),
        *(golden.MODEL_PRINTED, golden.MODEL_PRINTED.replace("41699", "500")),
        "[[0.77132064 0.02075195 0.63364823 0.74880388 0.49850701]",
        *("[[0.573937", "] float32 True"),  # the last digit is the machine's
        *("Parallel.sublayers_1: Serial[", "Serial.sublayers_3: Normalize"),
        "<class 'trax.layers.combinators.Parallel'> <class 'trax.layers.combinators.Serial'>",
        *("shapes: (2, 128) (2, 128)", "lengths of 1: True"),
    ):
        assert line in printed
    assert printed.count("Step      1: train TripletLoss") == 2
    for folder in ("model", "model_2020"):
        assert (tmp_path / folder / "model.pkl.gz").exists()
