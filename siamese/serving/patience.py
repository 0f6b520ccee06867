"""What a client may not do to the others: send slowly, or never take its answer."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = (
    10.0  # seconds in which a request's head, and after it its body, must be whole
)


def timed_protocol(patience: float) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP/1.1, which closes the connections of clients that send no whole head in time.

    It also closes those of a client that goes on sending a body after its answer, and
    of one that has taken nothing of its answer for as long. uvicorn itself limits only
    the pause between two requests.
    """

    class TimedProtocol(H11Protocol):
        timer: asyncio.TimerHandle | None = (
            None  # runs while no request is being answered
        )
        unsent = 0  # bytes of answers that the client had not taken when it was last looked at

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.set_timer()
            self.loop.call_later(patience, self.look_at_unsent)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.set_timer()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.set_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.stop_timer()

        def set_timer(self) -> None:
            """Starts the timer where no request is being answered, else stops it."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.stop_timer()
            elif self.timer is None:
                self.timer = self.loop.call_later(
                    patience, self.timeout_keep_alive_handler
                )

        def stop_timer(self) -> None:
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
                self.loop.call_later(patience, self.look_at_unsent)

    return TimedProtocol
