"""Progress: a bar of tqdm's for long jobs."""

from __future__ import annotations

import sys

from tqdm import tqdm


class Progress(tqdm):
    """Shows how far a job is, on stderr; nothing for jobs shorter than two seconds.

    Args:
      total: how many units there are, or None where that is not known.
      label: what is being done, such as 'training'.
      unit: what is counted, such as 'pairs'.
      done: units that were done before.
      quiet: show nothing at all.
      seconds_between_lines: how often the bar is written where stderr is not a terminal.

    Example:
      >>> with Progress(2, "reading", unit="lines", quiet=True) as progress:
      ...     _ = progress.update()
    """

    def __init__(
        self,
        total: int | None,
        label: str,
        *,
        unit: str,
        done: int = 0,
        quiet: bool = False,
        seconds_between_lines: float = 10.0,
    ):
        super().__init__(
            total=total,
            initial=done,
            desc=label,
            unit=f" {unit}",
            unit_scale=True,
            delay=2.0,
            mininterval=0.5 if sys.stderr.isatty() else seconds_between_lines,
            dynamic_ncols=True,
            leave=False,
            disable=quiet,
        )
