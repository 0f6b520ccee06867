"""Counts of requests and their seconds, in Prometheus' text format, over all processes that serve.

Each process maps a file of its own, so nothing is locked; `text` adds up the files. Those of processes that
have ended stay, so no count falls.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

STATUSES = (200, 400, 401, 403, 404, 409, 411, 413, 422, 429, 500, 503)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # bounds of the histogram


class Measured:
    """A layer around an ASGI application that counts what it answers under each path.

    Args:
      app: the application.
      paths: those that are counted by name; any other is counted as "other".
      folder: shared by the processes of one service; None for one process alone.
    """

    def __init__(self, app: Any, paths: Sequence[str], folder: str | os.PathLike | None = None):
        self.app, self.paths, self.folder = app, [*paths, "other"], folder
        # For each path: requests by status, requests by seconds, and the sum of seconds.
        self._shape = len(self.paths), len(STATUSES) + len(SECONDS) + 2
        self._own = np.zeros(self._shape)
        if folder is not None:
            self._own = np.memmap(Path(folder, str(os.getpid())), float, "w+", shape=self._shape)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, begun = 500, time.perf_counter()

        async def noted(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - begun
            path = scope["path"] if scope["path"] in self.paths else "other"
            row = self._own[self.paths.index(path)]
            row[STATUSES.index(status if status in STATUSES else 500)] += 1
            row[len(STATUSES) + bisect_left(SECONDS, seconds)] += 1
            row[-1] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """All counts, and gauges: name -> value."""
        files = [] if self.folder is None else Path(self.folder).iterdir()
        counts = sum((np.fromfile(file).reshape(self._shape) for file in files), np.zeros(1))
        counts = self._own if self.folder is None else counts
        name, seconds = "siamese_requests_total", "siamese_request_seconds"
        lines, histogram = [f"# TYPE {name} counter"], [f"# TYPE {seconds} histogram"]
        for path, row in zip(self.paths, counts):
            for status, count in zip(STATUSES, row):
                if count:
                    lines.append(f'{name}{{path="{path}",status="{status}"}} {count:.0f}')
            below = np.cumsum(row[len(STATUSES) : -1])
            if below[-1]:
                for bound, count in zip((*SECONDS, "+Inf"), below):
                    histogram.append(f'{seconds}_bucket{{path="{path}",le="{bound}"}} {count:.0f}')
                histogram.append(f'{seconds}_sum{{path="{path}"}} {row[-1]:.6f}')
                histogram.append(f'{seconds}_count{{path="{path}"}} {below[-1]:.0f}')
        for name, value in gauges.items():
            histogram += [f"# TYPE {name} gauge", f"{name} {value:.10g}"]
        return "\n".join([*lines, *histogram, ""])
