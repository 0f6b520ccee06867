"""Progress: a bar of tqdm's for long jobs."""

from __future__ import annotations

import sys
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
