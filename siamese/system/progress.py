"""Progress: a bar of tqdm's for long jobs, and a clock for those that cannot be counted."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm


def progress_bar(
    total: int, label: str, unit: str, *, done: int = 0, quiet: bool = False
) -> tqdm:
    """A bar on stderr for `total` units, such as 'pairs', of a job, such as 'training'.

    `done` of them were done before. Nothing is shown where `quiet`, or for jobs shorter
    than two seconds.
    """
    from tqdm import tqdm

    how_often = {"delay": 2.0, "mininterval": 0.5 if sys.stderr.isatty() else 10.0}
    look = {
        "unit": f" {unit}",
        "unit_scale": True,
        "dynamic_ncols": True,
        "leave": False,
    }
    return tqdm(
        total=total, initial=done, desc=label, disable=quiet, **how_often, **look
    )


@contextlib.contextmanager
def elapsed(label: str) -> Iterator[None]:
    """Shows what a block does, and for how many seconds, on a terminal, from the second second on."""
    finished = threading.Event()

    def show() -> None:
        seconds = 1
        while not finished.wait(1):
            print(f"\r{label} ... {seconds} s", end="", file=sys.stderr, flush=True)
            seconds += 1
        if seconds > 1:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # Clears the line.

    if not sys.stderr.isatty():
        yield
        return
    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
