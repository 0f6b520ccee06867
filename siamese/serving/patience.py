"""What a client may not do to the others: send slowly, or never take its answer."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which a request's head, and after it its body, must be whole.
PATIENCE = 10.0


class TimedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1, which closes the connections of clients that send no whole head in time.

    It also closes those of a client that goes on sending a body after its answer, and
    of one that has taken nothing of its answer for as long. uvicorn itself limits only
    the pause between two requests.
    """

    patience = PATIENCE  # seconds
    # It runs while no request is being answered.
    timer: asyncio.TimerHandle | None = None
    # Bytes of answers that the client had not taken when it was last looked at.
    unsent = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The first head must be whole in time."""
        super().connection_made(cast(asyncio.Transport, transport))
        self.set_timer()
        self.loop.call_later(self.patience, self.look_at_unsent)

    def data_received(self, data: bytes) -> None:
        """A new head has begun, or one is whole."""
        super().data_received(data)
        self.set_timer()

    def on_response_complete(self) -> None:
        """The next head must be whole in time."""
        super().on_response_complete()
        self.set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is timed any more."""
        super().connection_lost(exc)
        self.stop_timer()

    def set_timer(self) -> None:
        """Starts the timer where no request is being answered, else stops it."""
        # There is no cycle before the first request.
        if not getattr(self.cycle, "response_complete", True):
            self.stop_timer()
        elif self.timer is None:
            self.timer = self.loop.call_later(
                self.patience, self.timeout_keep_alive_handler
            )

    def stop_timer(self) -> None:
        """Stops the timer, where it runs."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def look_at_unsent(self) -> None:
        """Drops the connection where the client has taken nothing since the last look."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and unsent == self.unsent:
            self.transport.abort()
        elif unsent or self in self.connections:
            self.unsent = unsent
            self.loop.call_later(self.patience, self.look_at_unsent)


def timed_protocol(patience: float) -> type[TimedProtocol]:
    """The `TimedProtocol` with another patience, in seconds."""
    return type("TimedProtocol", (TimedProtocol,), {"patience": patience})
