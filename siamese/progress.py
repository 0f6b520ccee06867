"""Progress on the terminal: a bar where there is one, plain lines where there is none."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Shows how far a long job is, on stderr; says nothing for jobs shorter than two seconds.

    Args:
      total: how many units there are, or None where that is not known.
      label: what is being done, such as 'training'.
      unit: what is counted, such as 'pairs'.
      units_per_step: how many units one `update` stands for.
      stream: where to write; stderr by default, so that stdout stays clean for machines.
      quiet: show nothing at all.
      seconds_between_lines: how often a plain line is written where the stream is no terminal.

    Example:
      >>> with Progress(2, "reading", quiet=True) as progress:
      ...     progress.update()
    """

    DELAY = 2.0  # seconds

    def __init__(
        self,
        total: int | None,
        label: str,
        *,
        unit: str = "step",
        units_per_step: int = 1,
        done: int = 0,
        stream: TextIO | None = None,
        quiet: bool = False,
        seconds_between_lines: float = 10.0,
    ):
        self._stream = stream or sys.stderr
        self._label, self._unit, self._scale = label, unit, units_per_step
        self._total, self._done, self._first = total, done, done
        self._start = self._last_line = time.monotonic()
        self._every = seconds_between_lines
        self._bar = None
        self._quiet = quiet
        if not quiet and self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=None if total is None else total * units_per_step,
                initial=done * units_per_step,
                desc=label,
                unit=f" {unit}",
                unit_scale=True,
                delay=self.DELAY,
                file=self._stream,
                dynamic_ncols=True,
                leave=False,
            )

    def due(self) -> bool:
        """Whether figures given to `update` would be shown now: computing them may cost something."""
        if self._quiet:
            return False
        if self._bar is not None:
            return time.monotonic() - self._bar.last_print_t >= 0.5
        return time.monotonic() - self._last_line >= self._every

    def update(self, steps: int = 1, **figures: float) -> None:
        """Counts `steps` more as done; `figures` such as loss=0.12 are shown beside the count."""
        self._done += steps
        if self._quiet:
            return
        if self._bar is not None:
            if figures:
                self._bar.set_postfix({k: f"{v:.4f}" for k, v in figures.items()}, refresh=False)
            self._bar.update(steps * self._scale)
        elif time.monotonic() - self._last_line >= self._every:
            self._last_line = time.monotonic()
            self._write_line(figures)

    def _write_line(self, figures: dict[str, float]) -> None:
        elapsed = time.monotonic() - self._start
        rate = (self._done - self._first) / max(elapsed, 1e-9)
        parts = [f"{self._label}: {self._done}" + (f"/{self._total}" if self._total else "")]
        parts += [f"{name} {value:.4f}" for name, value in figures.items()]
        parts.append(f"{rate * self._scale:,.0f} {self._unit}/s")
        if self._total and rate:
            parts.append(f"{(self._total - self._done) / rate:.0f} s left")
        print(", ".join(parts), file=self._stream, flush=True)

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self.close()
