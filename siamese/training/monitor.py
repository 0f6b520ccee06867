"""What watches a run: NaN, collapse, stop signals, metrics.jsonl."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from pathlib import Path

from siamese.errors import CheckpointError, SiameseError
from siamese.storage.atomic import explain, write_text_atomically

# The loss must stay at twice the margin for so long to count as collapsed. Every run of the course's model
# starts there and leaves it in a few hundred steps: Trax's LSTM adds its forget bias to all four gates.
COLLAPSE_STEPS = 600


class TrainingError(SiameseError):
    """Training cannot go on: the loss or the weights are not finite."""


def check_finite(loss: float, step: int) -> None:
    """Raises TrainingError where `loss`, that of step `step`, is NaN or infinite."""
    if not math.isfinite(loss):
        raise TrainingError(
            f"The loss is {loss} at step {step}. Try a smaller learning rate, and look for questions "
            "without tokens. Earlier checkpoints are complete: training can go on from the last."
        )


def is_collapsed(loss: float, margin: float | None) -> bool:
    """Whether a mean loss is that of equal vectors, twice the margin; never with the margin None.

    Every similarity is 1 then: the mean and the closest negative each exceed the positive by exactly the
    margin.
    """
    return margin is not None and abs(loss - 2 * margin) < 0.004 * margin


class StopSignals:
    """Within ``with StopSignals() as signals`` the first SIGINT or SIGTERM is only kept in ``received``.

    A second Ctrl-C raises KeyboardInterrupt at once. Python delivers signals to its main thread alone;
    in any other thread nothing is changed.
    """

    def __init__(self):
        self.received: signal.Signals | None = None
        self._before = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._remember)
        return self

    def _remember(self, number, frame) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def raise_received(self) -> None:
        """Raises what the signal would have raised: KeyboardInterrupt, or SystemExit(128 + number)."""
        if self.received is signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is not None:
            raise SystemExit(128 + self.received)


def forget_metrics_after(directory: str | Path, step: int) -> None:
    """Takes out of metrics.jsonl what a killed run wrote after the checkpoint that the run goes on from."""

    def is_kept(line: str) -> bool:
        try:
            return line.endswith("\n") and json.loads(line)["step"] <= step
        except (ValueError, KeyError, TypeError):
            return False

    path = Path(directory, "metrics.jsonl")
    try:
        lines = path.read_text("utf-8", "replace").splitlines(keepends=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    kept = list(filter(is_kept, lines))
    if kept != lines:
        write_text_atomically(path, "".join(kept), CheckpointError)


def add_metrics(directory: str | Path, history, step: int) -> None:
    """Appends to metrics.jsonl what Trax's `history` has for `step`: a JSON object on a line of its own."""
    figures: dict[str, float] = {"step": step, "seconds": round(time.time(), 3)}
    for mode, prefix in (("train", "metrics/"), ("train", "training/"), ("eval", "metrics/")):
        for name in history.metrics_for_mode(mode):
            points = history.get(mode, name)
            if name.startswith(prefix) and points and points[-1][0] == step:
                figures[f"{mode}/{name.removeprefix(prefix)}"] = float(points[-1][1])
    path = Path(directory, "metrics.jsonl")
    try:
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(figures) + "\n")
    except OSError as error:
        raise CheckpointError(explain(error, path)) from error
