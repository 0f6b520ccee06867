"""What watches a run: NaN, collapse, metrics.jsonl."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

from siamese.errors import CheckpointError, SiameseError
from siamese.storage.atomic import explained, write_text_atomically

# A loss that stays on the plateau for so long counts as collapsed. Every run of the course's model starts
# there and leaves it in a few hundred steps: Trax's LSTM adds its forget bias to all four gates.
COLLAPSE_STEPS = 600


class TrainingError(SiameseError):
    """Training cannot go on: the loss or the weights are not finite."""


def check_finite(loss: float, step: int) -> None:
    """Raises TrainingError where `loss`, that of step `step`, is NaN or infinite."""
    if not math.isfinite(loss):
        raise TrainingError(
            f"The loss is {loss} at step {step}. Try a smaller learning rate, and look for questions "
            "without tokens. The last checkpoint is complete: training can resume from it."
        )


def is_on_plateau(loss: float, plateau: float | None) -> bool:
    """Whether a mean loss is that of equal vectors (see `siamese.training.losses.plateau`), within 2 %.

    In the edition of 2023 rounding masks all negatives of about one row a batch.
    """
    return plateau is not None and abs(loss - plateau) < 0.02 * plateau


def read_metrics(directory: str | os.PathLike, step: int) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl up to a step; removes the others, which a killed run wrote later."""
    path = Path(directory, "metrics.jsonl")
    lines, figures = [], []
    with explained(path, "read"):
        text = path.read_text("utf-8", "replace") if path.exists() else ""
    for line in text.splitlines(keepends=True):
        try:
            values = json.loads(line)
            if line.endswith("\n") and values["step"] <= step:
                lines.append(line)
                figures.append(values)
        except (ValueError, KeyError, TypeError):
            continue  # The writer was killed within this line.
    if "".join(lines) != text:
        write_text_atomically(path, "".join(lines), CheckpointError)
    return figures


def add_metrics(directory: str | os.PathLike, figures: dict[str, float]) -> None:
    """Appends figures to metrics.jsonl: a JSON object on a line of its own, with the time of day."""
    path = Path(directory, "metrics.jsonl")
    line = json.dumps({**figures, "seconds": round(time.time(), 3)})
    with explained(path), open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
