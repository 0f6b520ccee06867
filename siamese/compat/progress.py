"""Progress: a bar of tqdm's for long jobs."""

from __future__ import annotations

import sys

from tqdm import tqdm


def progress_bar(total: int, label: str, unit: str, *, done: int = 0, quiet: bool = False) -> tqdm:
    """A bar on stderr; nothing for jobs shorter than two seconds.

    Args:
      total: how many units there are.
      label: what is being done, such as 'training'.
      unit: what is counted, such as 'pairs'.
      done: units that were done before.
      quiet: show nothing at all.
    """
    return tqdm(
        total=total,
        initial=done,
        desc=label,
        unit=f" {unit}",
        unit_scale=True,
        delay=2.0,
        mininterval=0.5 if sys.stderr.isatty() else 10.0,
        dynamic_ncols=True,
        leave=False,
        disable=quiet,
    )
