"""StopSignals: SIGINT and SIGTERM remembered while a block runs, so that it can end in good order."""

from __future__ import annotations

import signal
import threading


class StopSignals:
    """Within ``with StopSignals() as signals`` the first signal is only remembered, in ``received``.

    A second Ctrl-C raises KeyboardInterrupt at once. Python delivers signals to its main thread alone;
    in any other thread nothing is changed.

    Attributes:
      received: `signal.SIGINT` or `signal.SIGTERM`, or None so far.

    Example:
      >>> with StopSignals() as signals:
      ...     signal.raise_signal(signal.SIGTERM)
      >>> signals.received.name
      'SIGTERM'
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
