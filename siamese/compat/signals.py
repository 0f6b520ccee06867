"""Ctrl-C and SIGTERM, held back until a training step has ended."""

from __future__ import annotations

import signal
import threading


class StopSignals:
    """Within ``with StopSignals() as signals`` the first SIGINT or SIGTERM is only noted in ``received``.

    A second Ctrl-C raises KeyboardInterrupt at once and clears ``received``. Python delivers signals to
    its main thread alone; in any other thread nothing is changed.
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
            self.received = None
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
